//! Whatever is called a renaming has, by the independent evaluator, the value of the first pair
//! with the inputs read at the places that the substitution names.

use proptest::prelude::*;

use super::*;
use crate::decide::Options;
use crate::kernel::Fmt;
use crate::term::eval::{self, Inputs, Mode};
use crate::term::{BitsOp, Fun, RCmp};

/// One step of building a term: what to do, with which of what is there.
type Step = (u8, u8, u8);

/// Elements and bytes of three arrays, at places that `shift` chooses.
fn leaves(s: &mut TermStore, places: &[u8; 6], mixed: bool) -> Vec<TermId> {
    let off = |i: usize| 4 * (places[i] % 8) as u64;
    let mut out: Vec<TermId> = (0..4)
        .map(|i| s.elem(ArrayId(i as u32 % 2), Fmt::F32, off(i)))
        .collect();
    let bits = s.bytes(ArrayId(2), off(4), 32);
    out.push(s.of_int(true, bits));
    if mixed {
        let low = s.bytes(ArrayId(0), off(5) + 2, 16);
        out.push(s.of_int(false, low));
    }
    out
}

fn build(s: &mut TermStore, leaves: &[TermId], steps: &[Step]) -> TermId {
    let mut t = leaves.to_vec();
    for &(op, i, j) in steps {
        let (a, b) = (t[i as usize % t.len()], t[j as usize % t.len()]);
        t.push(match op % 9 {
            0 => s.add(a, b),
            1 => s.mul(a, b),
            2 => s.max(a, b),
            3 => {
                let c = t[(i as usize + j as usize) % t.len()];
                s.sum(&[(a, b), (b, c), (c, a)])
            }
            4 => s.fun(Fun::Abs, a),
            5 => {
                let p = s.rcmp(RCmp::Lt, a, b);
                s.select(p, b, a)
            }
            6 => s.div(a, b),
            7 => {
                let two = s.integer(2);
                s.add(a, two)
            }
            _ => {
                let (x, y) = (s.bytes(ArrayId(2), 0, 32), s.bytes(ArrayId(2), 4, 32));
                let z = s.bits_op(BitsOp::Xor, x, y);
                let z = s.of_int(true, z);
                s.add(a, z)
            }
        });
    }
    t[t.len() - 1]
}

/// An element of a fourth array, and its content after both runs.
pub(super) fn element(content: [TermId; 2]) -> Element {
    Element {
        array: ArrayId(3),
        off: 0,
        bytes: 4,
        content,
        only: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn renamings_have_the_value_of_the_first_pair(
        places in any::<[[u8; 6]; 3]>(),
        reference in prop::collection::vec(any::<Step>(), 1..10),
        optimized in prop::collection::vec(any::<Step>(), 1..10),
        mixed in prop::bool::weighted(0.2),
        by_inputs in any::<bool>(),
        content in prop::collection::vec(-3i8..4, 24),
    ) {
        let mut stores = [TermStore::new(), TermStore::new()];
        // The optimized kernel meets the inputs in another order.
        leaves(&mut stores[1], &places[2], mixed);
        let pairs = places.map(|p| {
            let side = |s: &mut TermStore, steps: &[Step]| {
                let l = leaves(s, &p, mixed);
                build(s, &l, steps)
            };
            [side(&mut stores[0], &reference), side(&mut stores[1], &optimized)]
        });
        let elements = pairs.map(element);
        let shapes = Shapes::new(stores.each_ref(), &elements, &Arrays::default());
        let mut walker = Walker::new(&shapes, None);
        // The second walk may extend what the first has found.
        let order = if by_inputs { Order::Inputs } else { Order::Ids };
        walker.renames(pairs[0], pairs[2], order);
        if !walker.renames(pairs[0], pairs[1], order) {
            return Ok(());
        }
        // The content for the second pair, and the same read at other places for the first.
        let mut second = Inputs::default();
        let value = |array: u32, off: u64| {
            let v = content[(array as usize * 8 + off as usize / 4) % content.len()];
            if array == 2 { v as i32 as u32 as u64 } else { (v as f32).to_bits() as u64 }
        };
        for array in 0..3 {
            for off in (0..32).step_by(4) {
                second.set(ArrayId(array), off, 4, value(array, off));
            }
        }
        let mut first = second.clone();
        let n = stores[0].len();
        let numbered = |p: usize| match p.checked_sub(n) {
            None => input(&stores[0], TermId(p as u32)),
            Some(p) => input(&stores[1], TermId(p as u32)),
        };
        for (i, &(walk, to)) in walker.tables.moves.iter().enumerate() {
            if walk != walker.tables.walk {
                continue;
            }
            if let (Some((a, from, n)), Some((b, to, _))) = (numbered(i), numbered(to as usize)) {
                prop_assert_eq!(a, b);
                first.set(a, from, n as u8, second.read(b, to, n as u8));
            }
        }
        let mode = Mode::exact(64);
        for (k, store) in stores.iter().enumerate() {
            let at = |t, inputs: &Inputs| eval::evaluate(store, &[t], inputs, mode).remove(0);
            prop_assert_eq!(at(pairs[0][k], &first), at(pairs[1][k], &second));
        }
    }
}

/// Whether the second of two terms, and twice that, is found to rename the first.
fn rename(f: impl Fn(&mut TermStore, u64) -> TermId) -> bool {
    let mut stores = [TermStore::new(), TermStore::new()];
    let pairs = [0, 4].map(|o| {
        let [a, b] = &mut stores;
        let (x, y) = (f(a, o), f(b, o));
        let two = b.integer(2);
        [x, b.mul(y, two)]
    });
    let shapes = Shapes::new(stores.each_ref(), &pairs.map(element), &Arrays::default());
    let mut walker = Walker::new(&shapes, None);
    let found = walker.renames(pairs[0], pairs[1], Order::Ids);
    assert_eq!(walker.renames(pairs[0], pairs[1], Order::Inputs), found);
    found
}

#[test]
fn what_may_move_and_what_may_not() {
    let x = |s: &mut TermStore, off| s.elem(ArrayId(0), Fmt::F32, off);
    // An element for another.
    assert!(rename(|s, o| {
        let (a, k) = (x(s, o), s.elem(ArrayId(1), Fmt::F32, 0));
        s.add(a, k)
    }));
    // A constant for another.
    assert!(!rename(|s, o| {
        let (a, k) = (x(s, o), s.integer(o as i64));
        s.mul(a, k)
    }));
    // A part that both share, of the array in which an element moves.
    assert!(!rename(|s, o| {
        let (a, b, c) = (x(s, o), x(s, 0), x(s, 4));
        let bc = s.mul(b, c);
        s.add(a, bc)
    }));
    // Two elements to one.
    assert!(!rename(|s, o| {
        let (a, b) = (x(s, 8 + o), x(s, 16 - 2 * o));
        let b = s.fun(Fun::Exp2, b);
        let c = x(s, 12);
        let c = s.fun(Fun::Abs, c);
        let bc = s.add(b, c);
        s.add(a, bc)
    }));
    // An array that is also read as something else.
    assert!(!rename(|s, o| {
        let (a, h) = (x(s, o), s.bytes(ArrayId(0), 64, 16));
        let h = s.of_int(false, h);
        s.add(a, h)
    }));
    // Elements that are not aligned may overlap.
    assert!(!rename(|s, o| s.elem(ArrayId(0), Fmt::F32, 2 + o)));
    // What depends on the schedule.
    assert!(!rename(|s, o| {
        let t = s.fresh(32, o as u32);
        s.of_int(true, t)
    }));
}

#[test]
fn tables_of_a_walker_that_is_done_tell_nothing() {
    // The inputs of the second pair are met the other way round.
    let mut stores = [TermStore::new(), TermStore::new()];
    for s in &mut stores {
        for off in [0, 4, 12, 8] {
            s.elem(ArrayId(0), Fmt::F32, off);
        }
    }
    let pairs = [0, 8].map(|off| {
        stores.each_mut().map(|s| {
            let [a, b] = [off, off + 4].map(|o| s.elem(ArrayId(0), Fmt::F32, o));
            let product = s.mul(a, b);
            let a = s.fun(Fun::Abs, a);
            s.add(product, a)
        })
    });
    let shapes = Shapes::new(stores.each_ref(), &pairs.map(element), &Arrays::default());
    let mut walker = Walker::new(&shapes, None);
    assert!(!walker.renames(pairs[0], pairs[1], Order::Ids));
    assert!(walker.renames(pairs[0], pairs[1], Order::Inputs));
    // What has been found serves the walker that has found it, and no other.
    assert!(walker.renames(pairs[0], pairs[1], Order::Ids));
    let mut walker = Walker::new(&shapes, Some(walker.tables));
    assert!(!walker.renames(pairs[0], pairs[1], Order::Ids));
}

#[test]
fn elements_stand_for_their_like() {
    // Rows times a column; the optimized kernel reads the rows backwards, takes the absolute value of
    // all but one of them, of which it takes twice.
    let row = |s: &mut TermStore, r: u64, then: fn(&mut TermStore, TermId) -> TermId| {
        let products: Vec<(TermId, TermId)> = (0..8)
            .map(|k| {
                let x = s.elem(ArrayId(0), Fmt::F32, 4 * (8 * r + k));
                (x, s.elem(ArrayId(1), Fmt::F32, 4 * k))
            })
            .collect();
        let sum = s.sum(&products);
        let real = then(s, sum);
        s.of_real(Fmt::F32, real)
    };
    let mut stores = [TermStore::new(), TermStore::new()];
    let [a, b] = &mut stores;
    for r in (0..32).rev() {
        row(b, r, |_, t| t);
    }
    let elements: Vec<Element> = (0..32)
        .map(|r| {
            let optimized = match r {
                20 => row(b, r, |s, t| s.add(t, t)),
                _ => row(b, r, |s, t| s.fun(Fun::Abs, t)),
            };
            Element {
                off: 4 * r,
                ..element([row(a, r, |_, t| t), optimized])
            }
        })
        .collect();
    let found = representatives(
        stores.each_ref(),
        &elements,
        &Arrays::default(),
        &Options::default().limits,
    );
    let expected: Vec<usize> = (0..32).map(|r| if r == 20 { 20 } else { 0 }).collect();
    assert_eq!(found, expected);
}
