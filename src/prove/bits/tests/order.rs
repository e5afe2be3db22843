//! What is called the same does not depend on the order in which terms were made.

use super::*;
use crate::term::rebuild::copy;

/// A number below n.
fn drawn(seed: &mut u64, n: usize) -> usize {
    *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    (*seed >> 33) as usize % n.max(1)
}

/// The same terms in another store, made in another order behind others; `place` renames the elements of the inputs.
fn reordered(
    from: &TermStore,
    into: &mut TermStore,
    roots: &[TermId],
    mut seed: u64,
    place: impl Fn(ArrayId, u64) -> (ArrayId, u64),
) -> Vec<TermId> {
    let all = from.reachable(roots);
    let mut images: Vec<Option<TermId>> = vec![None; from.len()];
    let mut parents: Vec<Vec<TermId>> = vec![Vec::new(); from.len()];
    let mut missing = vec![0; from.len()];
    for &t in &all {
        let mut below = Vec::new();
        from.children(t, |c| below.push(c));
        below.sort_unstable();
        below.dedup();
        missing[t.0 as usize] = below.len();
        below.iter().for_each(|c| parents[c.0 as usize].push(t));
    }
    let mut ready: Vec<TermId> = all
        .iter()
        .copied()
        .filter(|t| missing[t.0 as usize] == 0)
        .collect();
    while !ready.is_empty() {
        let t = ready.swap_remove(drawn(&mut seed, ready.len()));
        let image = match from.get(t) {
            crate::term::Term::Bytes { array, off, width } => {
                let (array, off) = place(array, off);
                into.bytes(array, off, width)
            }
            _ => copy(from, t, into, |c| {
                images[c.0 as usize].expect("children come first")
            }),
        };
        images[t.0 as usize] = Some(image);
        for &p in &parents[t.0 as usize] {
            missing[p.0 as usize] -= 1;
            if missing[p.0 as usize] == 0 {
                ready.push(p);
            }
        }
    }
    let image = |t: &TermId| images[t.0 as usize].expect("all are met");
    roots.iter().map(image).collect()
}

/// The readers of values of a format.
fn readers(fmt: Fmt) -> [Reader; 2] {
    [Reader::of(fmt), Reader::Bits]
}

fn roots(all: &[TermId], fmt: Fmt) -> Vec<(TermId, Reader)> {
    let of = |&t: &TermId| readers(fmt).map(|r| (t, r));
    all.iter().flat_map(of).collect()
}

/// The values of a program as their readers see them.
struct Seen {
    canon: Canon,
    images: Vec<[TermId; 2]>,
}

impl Seen {
    fn new(mut canon: Canon, s: &TermStore, all: &[TermId], fmt: Fmt) -> Seen {
        let of = canon.add(s, &roots(all, fmt));
        let images = all.iter().map(|&t| readers(fmt).map(|r| of.get(t, r)));
        Seen {
            images: images.collect(),
            canon,
        }
    }

    /// The first value that is the same for a reader.
    fn first(&self, i: usize, reader: usize) -> Option<usize> {
        let same = |of: &[TermId; 2]| of[reader] == self.images[i][reader];
        self.images.iter().position(same)
    }

    /// Fails if values fall into other classes elsewhere.
    fn is_as(&self, other: &Seen, what: &str) {
        for i in 0..self.images.len() {
            for reader in 0..2 {
                let (a, b) = (self.first(i, reader), other.first(i, reader));
                let says = |seen: &Seen, first: Option<usize>| {
                    let of = |i: usize| seen.images[i][reader];
                    let all = [i, first.unwrap_or(i)];
                    all.map(|i| (i, shown(&seen.canon.store, of(i))))
                };
                let of = |seen| [says(seen, a), says(seen, b)];
                assert_eq!(a, b, "{what}: {:?}, {:?}", of(self), of(other));
            }
        }
    }
}

fn check(fmt: Fmt, steps: &[Step], other: &[Step], seed: u64) {
    let mut s = TermStore::new();
    let all: Vec<TermId> = program(&mut s, fmt, steps).iter().map(|v| v.0).collect();
    let seen = Seen::new(canon(fmt), &s, &all, fmt);
    // Behind other computations, some of which are the same.
    let mut t = TermStore::new();
    program(&mut t, fmt, other);
    let same = reordered(&s, &mut t, &all, seed, |array, off| (array, off));
    let behind = Seen::new(canon(fmt), &t, &same, fmt);
    seen.is_as(&behind, "behind others");
    // One run against the other, in either order.
    for (first, (second, values)) in [
        (Seen::new(canon(fmt), &s, &all, fmt), (&t, &same)),
        (Seen::new(canon(fmt), &t, &same, fmt), (&s, &all)),
    ] {
        let images = first.images.clone();
        let second = Seen::new(first.canon, second, values, fmt);
        seen.is_as(&second, "as the second run");
        for (i, (a, b)) in images.iter().zip(&second.images).enumerate() {
            let says = |t: &[TermId; 2]| t.map(|t| shown(&second.canon.store, t));
            assert_eq!(a, b, "value {i}: {:?}, {:?}", says(a), says(b));
        }
    }
    // Other threads: the same code at other places of its inputs, which stand in another order.
    let mut u = TermStore::new();
    let moved = reordered(&s, &mut u, &all, seed ^ 5, |array, off| {
        (array, 0x100 - off / 8 * 8 + off % 8)
    });
    let thread = Seen::new(canon(fmt), &u, &moved, fmt);
    seen.is_as(&thread, "another thread");
}

#[test]
fn classes_do_not_depend_on_the_order_of_terms() {
    let mut seed = 11;
    for n in 0..96 {
        let mut steps = || -> Vec<Step> {
            let count = 40 + drawn(&mut seed, 120);
            let mut byte = || drawn(&mut seed, 256) as u8;
            (0..count)
                .map(|_| (byte(), byte(), [byte(), byte(), byte()]))
                .collect()
        };
        let (steps, other) = (steps(), steps());
        let fmt = [Fmt::F16, Fmt::Bf16, Fmt::F32, Fmt::F64][n % 4];
        check(fmt, &steps, &other, n as u64);
    }
}
