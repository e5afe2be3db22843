//! Bringing the terms of one store into another.
//!
//! The problem: two kernels are simulated side by side, each into a store of its own, and one
//! store must hold both before equal terms have equal ids. Terms are copied in id order, children
//! before parents. What takes long are long sums, whose products are mapped, put in order and
//! hashed; that is done for many of them at once, in parallel.
//!
//! To have many at once the terms are taken by level: the number of long sums below them, one
//! on another. A level's other terms come first, in id order, then its long sums. The order
//! depends on nothing but the store that is copied, so that the ids do not either.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{ArrayId, Entry, Node, Term, TermId, TermStore, hash_list, products, questions, view};
use crate::work;

/// Entries of a list from which on a sum is long, and of the lists that are mapped at once.
const LONG: usize = 128;
const AT_ONCE: usize = 1 << 22;

/// Levels that are told apart; what has more long sums below it comes last, one by one.
const LEVELS: u8 = 32;

/// The entries of a node's list.
fn list_of<'s>(store: &'s TermStore, n: &Node) -> &'s [u32] {
    &store.lists[n.a as usize..][..n.b as usize]
}

fn is_long(n: &Node) -> bool {
    view::is_sum(n.tag) && n.b as usize >= LONG
}

/// The level of each of these terms, children before parents; `None` if no sum is long.
fn levels(store: &TermStore, terms: &[u32]) -> Option<Vec<u8>> {
    let node = |i: u32| &store.nodes[i as usize];
    let first = *terms.iter().find(|&&i| is_long(node(i)))?;
    let mut levels = vec![0; store.len()];
    for &i in terms {
        let mut level = 0;
        let mut above = |c: TermId| {
            if c.0 < first {
                return;
            }
            let long = is_long(node(c.0)) as u8;
            level = level.max(levels[c.0 as usize] + long);
        };
        store.children(TermId(i), &mut above);
        if let Some(q) = store.question(TermId(i)) {
            q.operands.into_iter().for_each(above);
        }
        levels[i as usize] = level.min(LEVELS - 1);
    }
    Some(levels)
}

/// The id of a term that was not copied.
const ABSENT: TermId = TermId(u32::MAX);

/// What becomes of the serials of fresh symbols: those from the first one on are moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serials {
    /// The first one that is moved.
    pub from: u32,
    /// By how much.
    pub by: u32,
}

impl Serials {
    fn moved(self, serial: u32) -> u32 {
        match serial & !questions::FLIP >= self.from {
            true => serial.wrapping_add(self.by),
            false => serial,
        }
    }
}

/// Terms of another store that were copied when they were asked for, by their ids there.
#[derive(Clone, Debug, Default)]
pub struct Copied(FxHashMap<u32, TermId>);

impl TermStore {
    /// Copies every term of `other` into this store, children before parents; the result maps ids of
    /// `other` to ids here. Array ids mean the same in both, but for those of places.
    pub fn import(&mut self, other: &TermStore) -> Vec<TermId> {
        self.import_shifted(other, Serials::default())
    }

    /// As [`import`](Self::import), with the serials of fresh symbols moved: runs that number theirs alike
    /// share none then.
    pub fn import_shifted(&mut self, other: &TermStore, serials: Serials) -> Vec<TermId> {
        self.import_terms(other, (0..other.len() as u32).collect(), serials)
    }

    /// Copies one term of `other` with what stands below it, apart from what was `copied` before; `made` is told what
    /// became of each term that is copied now.
    pub fn import_one(
        &mut self,
        other: &TermStore,
        root: TermId,
        copied: &mut Copied,
        mut made: impl FnMut(TermId, TermId),
    ) -> TermId {
        if let Some(&known) = copied.0.get(&root.0) {
            return known;
        }
        let (mut below, mut stack) = (FxHashSet::default(), vec![root]);
        while let Some(t) = stack.pop() {
            if copied.0.contains_key(&t.0) || !below.insert(t.0) {
                continue;
            }
            other.children(t, |c| stack.push(c));
            stack.extend(other.question(t).into_iter().flat_map(|q| q.operands));
        }
        self.take_settings(other);
        let mut below: Vec<u32> = below.into_iter().collect();
        below.sort_unstable();
        for i in below {
            let known = &copied.0;
            let there = |c: u32| known.get(&c).copied().unwrap_or(ABSENT);
            let new = self.import_node(other, i as usize, &there, Serials::default());
            copied.0.insert(i, new);
            made(TermId(i), new);
        }
        copied.0[&root.0]
    }

    /// Copies what stands below `roots` of `other` into this store; the result is what they became.
    pub fn import_below(&mut self, other: &TermStore, roots: &[TermId]) -> Vec<TermId> {
        let all: Vec<TermId> = roots.iter().chain(&other.premises).copied().collect();
        let below = other.reachable(&other.with_questions(&all));
        let terms = below.into_iter().map(|t| t.0).collect();
        let map = self.import_terms(other, terms, Serials::default());
        roots.iter().map(|r| map[r.0 as usize]).collect()
    }

    /// Copies what stands below `roots` and nothing else; the result maps ids, of what was copied only.
    pub(super) fn import_only(&mut self, other: &TermStore, roots: &[TermId]) -> Vec<TermId> {
        let below = other.reachable(&other.with_questions(roots));
        let below = below.into_iter().map(|t| t.0).collect();
        self.import_terms(other, below, Serials::default())
    }

    /// Takes over what holds of a store as a whole.
    fn take_settings(&mut self, other: &TermStore) {
        if self.facts.is_empty() {
            self.facts = other.facts.clone();
        }
        self.merged |= other.merged;
        self.nan_by_order |= other.nan_by_order;
        self.has_flips |= other.has_flips;
    }

    /// Copies these terms, children before parents.
    fn import_terms(
        &mut self,
        other: &TermStore,
        mut terms: Vec<u32>,
        serials: Serials,
    ) -> Vec<TermId> {
        let mut map = vec![ABSENT; other.len()];
        self.take_settings(other);
        self.nodes.reserve(terms.len());
        let hashed = other.table.len().min(terms.len());
        self.table.reserve(hashed, Entry::place);
        let Some(levels) = levels(other, &terms) else {
            for i in terms {
                let there = |c: u32| map[c as usize];
                map[i as usize] = self.import_node(other, i as usize, &there, serials);
            }
            self.import_premises(other, &map);
            return map;
        };
        let step = |i: u32| {
            let level = levels[i as usize];
            let last = level == LEVELS - 1;
            (level, is_long(&other.nodes[i as usize]) && !last)
        };
        terms.sort_by_key(|&i| step(i));
        for terms in terms.chunk_by(|&i, &j| step(i) == step(j)) {
            if step(terms[0]).1 {
                self.import_sums(other, terms, &mut map);
                continue;
            }
            for &i in terms {
                let there = |c: u32| map[c as usize];
                map[i as usize] = self.import_node(other, i as usize, &there, serials);
            }
        }
        self.import_premises(other, &map);
        map
    }

    /// Keeps what holds of all inputs of another store, as far as its terms were copied.
    fn import_premises(&mut self, other: &TermStore, map: &[TermId]) {
        for p in &other.premises {
            let p = map[p.0 as usize];
            if p != ABSENT && !self.premises.contains(&p) {
                self.premises.push(p);
            }
        }
    }

    /// Copies sums whose children are all there.
    fn import_sums(&mut self, other: &TermStore, sums: &[u32], map: &mut [TermId]) {
        let node = |i: u32| &other.nodes[i as usize];
        let mut rest = sums;
        while !rest.is_empty() {
            let mut entries = 0;
            let fits = |&&i: &&u32| {
                entries += node(i).b as usize;
                entries <= AT_ONCE
            };
            let n = rest.iter().take_while(fits).count().max(1);
            let (now, later) = rest.split_at(n);
            rest = later;
            let mapped = work::side_by_side(now.par_iter(), |&i| {
                let list = list_of(other, node(i)).iter();
                let mut list: Vec<u32> = list.map(|&c| map[c as usize].0).collect();
                products::sort(&mut list);
                let hash = hash_list(&list);
                (list, hash)
            });
            for (&i, (list, hash)) in now.iter().zip(mapped) {
                let start = self.lists.len();
                self.lists.extend_from_slice(&list);
                let (n, total) = (node(i), other.is_total(TermId(i)));
                let copy = self.insert_hashed((n.tag, n.width), start, hash, total);
                self.copy_maker(other, i, copy);
                map[i as usize] = copy;
            }
        }
    }

    /// Copies a term; `map` says what became of those below it.
    fn import_node(
        &mut self,
        other: &TermStore,
        i: usize,
        map: &impl Fn(u32) -> TermId,
        serials: Serials,
    ) -> TermId {
        let copy = self.copy_node(other, i, map, serials);
        self.copy_maker(other, i as u32, copy);
        copy
    }

    /// Takes over how a term was made that was copied.
    #[inline]
    fn copy_maker(&mut self, other: &TermStore, i: u32, copy: TermId) {
        if !other.makers.is_empty() {
            self.makers.copy(&other.makers, TermId(i), copy);
        }
    }

    fn copy_node(
        &mut self,
        other: &TermStore,
        i: usize,
        map: &impl Fn(u32) -> TermId,
        serials: Serials,
    ) -> TermId {
        let mut n = other.nodes[i];
        let total = other.is_total(TermId(i as u32));
        let m = |i: u32| map(i).0;
        if view::is_list(n.tag) {
            if let Term::Word(word) = other.get(TermId(i as u32)) {
                let copy = word.copy(other, self, |t| TermId(m(t.0)));
                if let Some(origin) = other.origin(TermId(i as u32)) {
                    self.note_origin(copy, origin);
                }
                return copy;
            }
            let start = self.lists.len();
            self.lists.extend(list_of(other, &n).iter().map(|&i| m(i)));
            // The order inside products and sums follows ids, which the import changes.
            if view::is_sum(n.tag) {
                products::sort(&mut self.lists[start..]);
            }
            if n.tag == view::MADE && n.width == view::COMMUTES {
                self.lists[start + view::FIRST_OPERAND..][..2].sort_unstable();
            }
            return self.insert_list((n.tag, n.width), start, total);
        }
        if matches!(n.tag, view::ELEM | view::BYTES) {
            n.a = other.moved_array(ArrayId(n.a), self, |t| map(t.0)).0;
            return self.insert_input(n);
        }
        if n.tag == view::FRESH {
            let serial = serials.moved(n.a);
            let there = |t: TermId| Some(map(t.0)).filter(|&t| t != ABSENT);
            self.take_question(other, (n.a, serial), there);
            n.a = serial;
        } else if n.tag == view::CONST {
            let id = self.const_id(other.consts[n.a as usize].clone());
            n.a = id.0;
        } else {
            let children = view::child_count(n.tag);
            if children > 0 {
                n.a = m(n.a);
            }
            if children > 1 {
                n.b = m(n.b);
            }
            if children > 2 {
                n.c = m(n.c);
            }
            if view::is_commutative(n.tag, n.aux) && n.a > n.b {
                std::mem::swap(&mut n.a, &mut n.b);
            }
        }
        self.insert(n, total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scalar::Fmt;

    const PRIME: u64 = (1 << 31) - 1;

    /// Every term at one point, modulo a prime.
    fn residues(s: &TermStore) -> Vec<u64> {
        let mut v: Vec<u64> = Vec::new();
        for i in 0..s.len() {
            let at = |t: u32| v[t as usize];
            let value = match s.get(TermId(i as u32)) {
                Term::Elem { off, .. } => (off + 3) * (off + 7) % PRIME,
                Term::Add(a, b) => at(a.0) + at(b.0),
                Term::Mul(a, b) => at(a.0) * at(b.0),
                Term::Sum(list) => {
                    let (pairs, _) = list.as_chunks::<2>();
                    let products = pairs.iter().map(|&[a, b]| at(a) * at(b) % PRIME);
                    products.sum()
                }
                other => panic!("{other:?}"),
            };
            v.push(value % PRIME);
        }
        v
    }

    /// Sums of products of what was there before, each built on the last few.
    fn store(seeds: &[(u32, u32, bool)], reversed: bool) -> TermStore {
        let mut s = TermStore::new();
        let place = |i: u64| 4 * if reversed { 299 - i } else { i };
        let mut all: Vec<TermId> = (0..300)
            .map(|i| s.elem(ArrayId(0), Fmt::F32, place(i)))
            .collect();
        for &(seed, n, nested) in seeds {
            let newest = all.len() - 1;
            let pick = |k: u32| all[seed.wrapping_mul(k + 1) as usize % 300];
            let mut products: Vec<(TermId, TermId)> =
                (0..n).map(|k| (pick(2 * k), pick(2 * k + 1))).collect();
            if nested {
                products[0].0 = all[newest];
            }
            let sum = s.sum(&products);
            let more = s.mul(sum, all[newest / 2]);
            all.extend([sum, more]);
        }
        s
    }

    proptest! {
        #[test]
        fn what_is_copied_is_the_same(
            seeds in proptest::collection::vec((1u32.., 2u32..200, any::<bool>()), 1..60),
            reversed in any::<bool>(),
        ) {
            let from = store(&seeds, false);
            let mut to = store(&seeds[..1], reversed);
            let before = to.len();
            let map = to.import(&from);
            let (a, b) = (residues(&from), residues(&to));
            for (i, t) in map.iter().enumerate() {
                prop_assert_eq!(a[i], b[t.0 as usize]);
            }
            for i in 0..to.len() {
                to.children(TermId(i as u32), |c| assert!((c.0 as usize) < i));
            }
            // What is there is found again.
            let n = to.len();
            prop_assert!(n >= before);
            prop_assert_eq!(to.import(&from), map);
            prop_assert_eq!(to.len(), n);
            // A part is what it is in the whole.
            let root = TermId((from.len() - 1) as u32);
            let mut part = TermStore::new();
            let copied = part.import_below(&from, &[root]);
            prop_assert_eq!(part.len(), from.reachable(&[root]).len());
            let value = residues(&part)[copied[0].0 as usize];
            prop_assert_eq!(value, a[root.0 as usize]);
            // So are parts that are asked for one after the other.
            let (mut asked, mut copied) = (TermStore::new(), Copied::default());
            for t in [from.len() / 2, from.len() - 1, from.len() / 2] {
                let t = TermId(t as u32);
                let there = asked.import_one(&from, t, &mut copied, |_, _| {});
                prop_assert_eq!(residues(&asked)[there.0 as usize], a[t.0 as usize]);
            }
        }
    }
}
