//! Conditions that are others with their inputs renamed.
//!
//! The problem: the elements of an output are mostly the same function of different inputs. What
//! was proved of one pair of terms for all inputs holds of every pair that comes from it by a
//! substitution of input elements, and a substitution is found by walking two pairs of terms side
//! by side: far cheaper than a canonical form.
//!
//! match `a1 = b1` proved, and one substitution of input elements takes a1 to a2 and b1 to b2;
//! result `a2 = b2`, with b2 defined wherever a2 is; because the proof held for every content of
//! memory, and a content of memory for the second pair is one for the first, read at other places.
//!
//! Conditions: an element goes to one of the same array and the same type, no two go to one, and
//! all that the conditions read of an array in which elements move are aligned elements of one
//! type, so that they are independent of each other. Constants, unknowns and everything else stay
//! what they are. A part that both pairs share stays as it is, and nothing of it may move.
//!
//! Not claimed: that a substitution that exists is found. Operands are paired in their order.

use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::elements::Condition;
use crate::term::{ArrayId, Term, TermId, TermStore};

/// Fewer conditions than this are decided one by one, and classes with fewer members.
const MIN_CONDITIONS: usize = 16;
const MIN_MEMBERS: usize = 4;
/// Most classes, the largest ones.
const MAX_CLASSES: usize = 64;
/// Arrays that are told apart; elements of further ones do not move.
const ARRAYS: usize = 63;
/// Pairs of terms that one walk may visit.
const MAX_VISITS: usize = 1 << 22;

/// The terms of all conditions, with what they look like apart from where they read.
pub(super) struct Shapes<'s> {
    store: &'s TermStore,
    /// Equal for terms that differ in offsets at most; 0 for terms of no condition.
    shape: Vec<u64>,
    /// The arrays below each term, a bit each; the last bit for all from [`ARRAYS`] on.
    arrays: Vec<u64>,
    /// Arrays whose elements may move.
    movable: u64,
    bits: FxHashMap<u32, u64>,
}

fn mix(h: u64, v: u64) -> u64 {
    (h.rotate_left(5) ^ v).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// The array, type and offset of an input.
fn input(store: &TermStore, t: TermId) -> Option<(u32, u64, u64)> {
    match store.get(t) {
        Term::Elem { array, off, fmt } => Some((array.0, off, fmt.bits() as u64 / 8)),
        Term::Bytes { array, off, width } => Some((array.0, off, width as u64 / 8)),
        _ => None,
    }
}

impl<'s> Shapes<'s> {
    /// Looks at everything below the conditions' terms.
    pub(super) fn new<'c>(
        store: &'s TermStore,
        conditions: impl Iterator<Item = &'c Condition>,
    ) -> Self {
        let n = store.len();
        let mut used = vec![false; n];
        for (a, b) in conditions.flat_map(|c| c.pairs.iter().copied()) {
            used[a.0 as usize] = true;
            used[b.0 as usize] = true;
        }
        // Children have smaller ids than their parents.
        for i in (0..n).rev() {
            if used[i] {
                store.children(TermId(i as u32), |c| used[c.0 as usize] = true);
            }
        }
        let mut s = Shapes {
            store,
            shape: vec![0; n],
            arrays: vec![0; n],
            movable: (1 << ARRAYS) - 1,
            bits: FxHashMap::default(),
        };
        let mut types: FxHashMap<u32, [u32; 4]> = FxHashMap::default();
        for i in (0..n).filter(|&i| used[i]) {
            let t = TermId(i as u32);
            let label = store.label(t);
            let mut h = label.iter().fold(1, |h, &l| mix(h, l as u64));
            let mut arrays = 0;
            match input(store, t) {
                Some((array, off, bytes)) => {
                    arrays = s.bit(array);
                    let same = *types.entry(array).or_insert(label) == label;
                    if !same || bytes == 0 || off % bytes != 0 {
                        s.movable &= !arrays;
                    }
                }
                None if store.commutes(t) => {
                    let mut sum = 0u64;
                    store.children(t, |c| {
                        sum = sum.wrapping_add(s.shape[c.0 as usize]);
                        arrays |= s.arrays[c.0 as usize];
                    });
                    h = mix(h, sum);
                }
                None => store.children(t, |c| {
                    h = mix(h, s.shape[c.0 as usize]);
                    arrays |= s.arrays[c.0 as usize];
                }),
            }
            s.shape[i] = h.max(1);
            s.arrays[i] = arrays;
        }
        s
    }

    fn bit(&mut self, array: u32) -> u64 {
        if array == ArrayId::CONSTANTS.0 {
            return 1 << ARRAYS;
        }
        let next = self.bits.len();
        *self.bits.entry(array).or_insert(1 << next.min(ARRAYS))
    }

    /// What conditions have in common that may be each other's renaming.
    fn class(&self, c: &Condition) -> u64 {
        let shape = |t: TermId| self.shape[t.0 as usize];
        c.pairs
            .iter()
            .fold(1, |h, &(a, b)| mix(mix(h, shape(a)), shape(b)))
    }
}

/// What a walk writes down; kept from one walk to the next.
struct Tables {
    /// For each term the walk in which it was met, and the term it goes to.
    image: Vec<(u32, u32)>,
    /// The same the other way round, for inputs.
    origin: Vec<(u32, u32)>,
    walk: u32,
    /// True if what the walk has written down is a substitution.
    valid: bool,
    /// Arrays of which elements move, and of which parts stay as they are.
    moved: u64,
    fixed: u64,
    stack: Vec<(TermId, TermId)>,
}

impl Tables {
    fn new(terms: usize) -> Self {
        Tables {
            image: vec![(0, 0); terms],
            origin: vec![(0, 0); terms],
            walk: 0,
            valid: false,
            moved: 0,
            fixed: 0,
            stack: Vec::new(),
        }
    }
}

/// Looks for substitutions.
pub(super) struct Walker<'w, 's> {
    shapes: &'w Shapes<'s>,
    tables: Tables,
}

impl Walker<'_, '_> {
    /// True if one substitution takes each pair of `from` to its counterpart of `to`.
    ///
    /// The last substitution is tried first, extended by what else is needed: conditions of one
    /// row share most of theirs, and what it covers is not walked again.
    pub(super) fn renames(&mut self, from: &[(TermId, TermId)], to: &[(TermId, TermId)]) -> bool {
        if from.len() != to.len() {
            return false;
        }
        for fresh in [false, true] {
            if fresh || !self.tables.valid {
                self.tables.walk += 1;
                (self.tables.moved, self.tables.fixed) = (0, 0);
            }
            self.tables.valid = self.extend(from, to);
            if self.tables.valid {
                return true;
            }
        }
        false
    }

    /// Extends the substitution of this walk; if that fails it is not one any more.
    fn extend(&mut self, from: &[(TermId, TermId)], to: &[(TermId, TermId)]) -> bool {
        self.tables.stack.clear();
        for (x, y) in from.iter().zip(to) {
            self.tables.stack.extend([(x.0, y.0), (x.1, y.1)]);
        }
        let (store, walk) = (self.shapes.store, self.tables.walk);
        let mut visits = 0;
        while let Some((x, y)) = self.tables.stack.pop() {
            let i = x.0 as usize;
            if self.tables.image[i].0 == walk {
                if self.tables.image[i].1 != y.0 {
                    return false;
                }
                continue;
            }
            visits += 1;
            if visits > MAX_VISITS || store.label(x) != store.label(y) {
                return false;
            }
            self.tables.image[i] = (walk, y.0);
            let arrays = self.shapes.arrays[i];
            // Inputs with one label have one array and type.
            if let (Some(p), Some(q)) = (store.input_offset(x), store.input_offset(y)) {
                let origin = &mut self.tables.origin[y.0 as usize];
                if origin.0 == walk && origin.1 != x.0 {
                    return false;
                }
                *origin = (walk, x.0);
                if p != q {
                    self.tables.moved |= arrays;
                }
            } else if x == y {
                self.tables.fixed |= arrays;
            } else if self.shapes.shape[i] != self.shapes.shape[y.0 as usize] {
                return false;
            } else {
                self.descend(x, y);
                continue;
            }
            let Tables { moved, fixed, .. } = self.tables;
            if moved & fixed != 0 || moved & !self.shapes.movable != 0 {
                return false;
            }
        }
        true
    }

    /// Pairs the children of two nodes with one label.
    fn descend(&mut self, x: TermId, y: TermId) {
        let store = self.shapes.store;
        let shape = &self.shapes.shape;
        let swapped = |a: u32, b: u32, c: u32| {
            shape[a as usize] != shape[b as usize] && shape[a as usize] == shape[c as usize]
        };
        match (store.get(x), store.get(y)) {
            (Term::Sum(p), Term::Sum(q)) => {
                let (p, _) = p.as_chunks::<2>();
                let (q, _) = q.as_chunks::<2>();
                for (&[a, b], &[c, d]) in p.iter().zip(q) {
                    let (c, d) = if swapped(a, c, d) { (d, c) } else { (c, d) };
                    self.tables.stack.push((TermId(a), TermId(c)));
                    self.tables.stack.push((TermId(b), TermId(d)));
                }
            }
            _ => {
                let start = self.tables.stack.len();
                store.children(x, |c| self.tables.stack.push((c, c)));
                let mut k = start;
                store.children(y, |c| {
                    if let Some(p) = self.tables.stack.get_mut(k) {
                        p.1 = c;
                    }
                    k += 1;
                });
                if store.commutes(x)
                    && let [p, q] = &mut self.tables.stack[start..]
                    && swapped(p.0.0, p.1.0, q.1.0)
                {
                    std::mem::swap(&mut p.1, &mut q.1);
                }
            }
        }
    }
}

/// Conditions that may be renamings of each other, with one of each class to be proved first.
struct Classes<'s> {
    shapes: Shapes<'s>,
    /// The class of each condition.
    of: Vec<Option<u32>>,
    /// The first condition of each class.
    first: Vec<usize>,
}

impl<'s> Classes<'s> {
    /// The classes of the conditions that `open` selects; `None` if there is nothing to gain.
    fn new(
        store: &'s TermStore,
        conditions: &[&Condition],
        open: impl Fn(&Condition) -> bool,
    ) -> Option<Self> {
        let wanted = || conditions.iter().copied().filter(|c| open(c));
        if wanted().count() < MIN_CONDITIONS {
            return None;
        }
        let shapes = Shapes::new(store, wanted());
        let mut members: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
        for (i, c) in conditions.iter().enumerate().filter(|(_, c)| open(c)) {
            members.entry(shapes.class(c)).or_insert((i, 0)).1 += 1;
        }
        let mut large: Vec<(usize, usize)> = members.into_values().collect();
        large.retain(|&(_, n)| n >= MIN_MEMBERS);
        large.sort_unstable_by_key(|&(i, n)| (std::cmp::Reverse(n), i));
        large.truncate(MAX_CLASSES);
        if large.is_empty() {
            return None;
        }
        let first: Vec<usize> = large.into_iter().map(|(i, _)| i).collect();
        let numbers: FxHashMap<u64, u32> = first
            .iter()
            .enumerate()
            .map(|(k, &i)| (shapes.class(conditions[i]), k as u32))
            .collect();
        let of = conditions
            .iter()
            .map(|c| open(c).then(|| numbers.get(&shapes.class(c)).copied())?)
            .collect();
        Some(Classes { shapes, of, first })
    }
}

/// The classes of some conditions, with what was proved of the first of each.
pub(super) struct Reuse<'s, 'c> {
    conditions: &'c [&'c Condition],
    classes: Option<Classes<'s>>,
    first: Vec<Option<(usize, bool)>>,
    /// Tables of walkers that are done; their content is of no consequence.
    tables: Mutex<Vec<Tables>>,
}

impl<'s, 'c> Reuse<'s, 'c> {
    /// Proves the first condition of each class. `prove` tells whether arguments of logarithms
    /// are taken to be positive, if there is a proof.
    pub(super) fn new(
        store: &'s TermStore,
        conditions: &'c [&'c Condition],
        open: impl Fn(&Condition) -> bool,
        prove: impl Fn(&Condition) -> Option<bool> + Sync,
    ) -> Self {
        let classes = Classes::new(store, conditions, open);
        let prove = |&i: &usize| prove(conditions[i]).map(|l| (i, l));
        let first = match &classes {
            Some(c) => c.first.par_iter().map(prove).collect(),
            None => Vec::new(),
        };
        Reuse {
            conditions,
            classes,
            first,
            tables: Mutex::default(),
        }
    }

    /// The first conditions of classes that have no proof; `None` if there are no classes.
    pub(super) fn unproved(&self) -> Option<Vec<&'c Condition>> {
        let first = &self.classes.as_ref()?.first;
        let open = first.iter().zip(&self.first).filter(|(_, p)| p.is_none());
        Some(open.map(|(&i, _)| self.conditions[i]).collect())
    }

    /// For ruling on a part of the conditions in order.
    pub(super) fn known(&self) -> Known<'_, 's> {
        let tables = self.tables.lock().ok().and_then(|mut t| t.pop());
        Known {
            reuse: self,
            walker: self.classes.as_ref().map(|c| Walker {
                shapes: &c.shapes,
                tables: tables.unwrap_or_else(|| Tables::new(c.shapes.store.len())),
            }),
            proved: vec![None; self.first.len()],
        }
    }
}

impl Drop for Known<'_, '_> {
    fn drop(&mut self) {
        if let (Some(w), Ok(mut free)) = (self.walker.take(), self.reuse.tables.lock()) {
            free.push(w.tables);
        }
    }
}

/// A proof that is at hand.
pub(super) struct Found {
    /// False if it is the condition's own.
    pub(super) renamed: bool,
    /// Arguments of logarithms are taken to be positive.
    pub(super) logarithms: bool,
}

/// What is known of the classes while conditions are ruled on in order.
pub(super) struct Known<'r, 's> {
    reuse: &'r Reuse<'s, 'r>,
    walker: Option<Walker<'r, 's>>,
    /// The member of each class that was proved last.
    proved: Vec<Option<(usize, bool)>>,
}

impl Known<'_, '_> {
    fn class(&self, i: usize) -> Option<usize> {
        Some(self.reuse.classes.as_ref()?.of[i]? as usize)
    }

    /// The proof of a condition that was proved first, or is a renaming of one that was proved.
    pub(super) fn proof(&mut self, i: usize) -> Option<Found> {
        let class = self.class(i)?;
        let walker = self.walker.as_mut()?;
        let to = &self.reuse.conditions[i].pairs;
        let members = [self.proved[class], self.reuse.first[class]];
        for (known, logarithms) in members.into_iter().flatten() {
            if known == i || walker.renames(&self.reuse.conditions[known].pairs, to) {
                self.proved[class] = Some((i, logarithms));
                return Some(Found {
                    renamed: known != i,
                    logarithms,
                });
            }
        }
        None
    }

    /// Takes note of a proof by other means.
    pub(super) fn keep(&mut self, i: usize, logarithms: bool) {
        if let Some(class) = self.class(i) {
            self.proved[class] = Some((i, logarithms));
        }
    }
}

#[cfg(test)]
mod tests;
