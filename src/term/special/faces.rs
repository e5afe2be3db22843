//! The conditions under which terms are special, and their real values elsewhere.
//!
//! The problem: where a mask is data, a masked score is `p ? x : -inf`, its maximum is -inf where all
//! are masked, and the difference of both is minus infinity, a number, or not a number. Canonical forms
//! are forms of real numbers. So a term becomes four: the condition under which it is not a number, those
//! under which it is -inf or +inf, and a term of numbers that is its value elsewhere:
//!
//! * `exp2(t)` is `neg ? 0 : exp2(value)`, a number again;
//! * a sum is infinite where an operand is, and not a number where two are with different signs;
//! * a maximum is -inf where all its operands are. Elsewhere it is that of `neg ? L : value` for all
//!   operands, where L is a symbol that stands for a number below all others. What is not a number is
//!   dropped, as -inf is;
//! * a quotient by 0 is an infinity, or not a number where the numerator is 0 too.
//!
//! The last kind, roots and logarithms become conditions only below what reads them (`super::Survey`): elsewhere
//! they stay in the value, which then has no real value exactly where the term is special.
//!
//! Two terms are equal if their conditions are and their values are for every L: at a given input
//! every low enough L gives the values of the terms. The value of a term is defined wherever the
//! term has one that is finite, for low enough L, since what is infinite there stands in branches that
//! are not taken. Where the first is not a number nothing is claimed of the second, and where the first is an infinity
//! that finite operands made, the second may be not a number.
//!
//! Not claimed: bits of what is infinite. A term for which such a place may matter stays as it is.

use rustc_hash::FxHashMap;

mod arithmetic;
mod choice;
mod cond;
mod function;
mod sign;
mod step;

use cond::{Cond, Literal};

use super::{Signs, Survey};
use crate::term::{Class, TermId, TermStore};

/// What a term is.
#[derive(Clone, Copy, Debug)]
struct Extended {
    /// Nothing is known of it.
    wild: Cond,
    /// It is not a number.
    undefined: Cond,
    /// It is an infinity, where it is a number.
    neg: Cond,
    pos: Cond,
    /// It is an infinity, and one that finite operands made.
    pole: Cond,
    /// Its value where none of the conditions holds.
    value: TermId,
    /// The value is L wherever the term is -inf.
    is_low: bool,
    /// Where the term is 0, as far as it is known.
    zero: Cond,
    /// It is above 0 wherever else it is a real: a sum of powers, for one.
    positive: bool,
    /// A condition, and what the value is wherever it does not hold.
    elsewhere: Option<(Cond, TermId)>,
    /// Terms that must have values wherever this has one, though an infinity beside them decides it: a
    /// number of a set.
    hidden: usize,
}

impl Extended {
    fn plain(value: TermId) -> Extended {
        Extended {
            wild: Cond::Never,
            undefined: Cond::Never,
            neg: Cond::Never,
            pos: Cond::Never,
            pole: Cond::Never,
            value,
            is_low: false,
            zero: Cond::Never,
            positive: false,
            elsewhere: None,
            hidden: NOTHING,
        }
    }

    fn is_finite(&self) -> bool {
        self.neg == Cond::Never && self.pos == Cond::Never
    }

    fn is_plain(&self) -> bool {
        self.is_finite() && self.undefined == Cond::Never && self.wild == Cond::Never
    }

    /// True if no more is known than a value.
    fn is_bare(&self) -> bool {
        self.is_plain() && self.zero == Cond::Never && self.elsewhere.is_none()
    }
}

/// The empty set of terms.
const NOTHING: usize = 0;

/// Terms of one set, beyond which nothing is known.
const MAX_HIDDEN: usize = 64;

/// Conditions over the terms of a store.
struct Lift<'a> {
    store: &'a mut TermStore,
    /// Sets of terms that infinities hide, the empty one first.
    hidden: indexmap::IndexSet<Box<[TermId]>, rustc_hash::FxBuildHasher>,
    sets: indexmap::IndexSet<Box<[Literal]>, rustc_hash::FxBuildHasher>,
    entries: usize,
    /// What each term became; `None` where there is no form.
    done: FxHashMap<TermId, Option<Extended>>,
    /// The value of each term, for what copies it.
    values: FxHashMap<TermId, TermId>,
    /// Terms of the source that something reads: what they are is said in full by their conditions.
    read: rustc_hash::FxHashSet<TermId>,
    /// Where the operands of partial operations may be 0 or negative.
    survey: Survey,
    /// Terms that have a value on every input, though the store does not know it.
    defined: rustc_hash::FxHashSet<TermId>,
    /// Unknown truth values: the sign of the zero that a denominator may be, by that denominator, and what the machine
    /// finds in a format.
    zeros: indexmap::IndexSet<TermId, rustc_hash::FxBuildHasher>,
    overflows: indexmap::IndexSet<(Class, crate::scalar::Fmt, TermId), rustc_hash::FxBuildHasher>,
}

/// Serial numbers of unknown truth values, counted downwards: those of simulators are counted upwards.
const LAST_ZERO: u32 = (3 << 30) - 1;
const LAST_OVERFLOW: u32 = (1 << 30) - 1;

impl<'a> Lift<'a> {
    fn new(store: &'a mut TermStore) -> Lift<'a> {
        let nothing: Box<[TermId]> = Box::new([]);
        Lift {
            store,
            hidden: [nothing].into_iter().collect(),
            sets: indexmap::IndexSet::default(),
            entries: 0,
            done: FxHashMap::default(),
            values: FxHashMap::default(),
            read: rustc_hash::FxHashSet::default(),
            survey: Survey::default(),
            defined: rustc_hash::FxHashSet::default(),
            zeros: indexmap::IndexSet::default(),
            overflows: indexmap::IndexSet::default(),
        }
    }

    /// All terms of two sets; `None` if they are too many.
    fn hide_both(&mut self, a: usize, b: usize) -> Option<usize> {
        if a == b || b == NOTHING {
            return Some(a);
        }
        if a == NOTHING {
            return Some(b);
        }
        let all = self.hidden[a].iter().chain(&self.hidden[b]).copied();
        let all: std::collections::BTreeSet<TermId> = all.collect();
        (all.len() <= MAX_HIDDEN).then(|| self.hidden.insert_full(all.into_iter().collect()).0)
    }

    /// What infinities hide below a term they hide in it.
    fn inherit(&mut self, from: &TermStore, t: TermId, x: Extended) -> Option<Extended> {
        let mut hidden = Some(x.hidden);
        from.children(t, |c| {
            let below = self.done[&c].map_or(NOTHING, |c| c.hidden);
            hidden = hidden.and_then(|h| self.hide_both(h, below));
        });
        Some(Extended {
            hidden: hidden?,
            ..x
        })
    }

    fn run(&mut self, from: &TermStore, roots: &[TermId], signs: &mut dyn Signs) {
        self.read = self.survey.read_ones(from, roots, signs);
        for t in from.reachable(roots) {
            let x = self.step(from, t).and_then(|x| self.inherit(from, t, x));
            if let Some(x) = x {
                self.values.insert(t, x.value);
            }
            self.done.insert(t, x);
        }
    }

    /// The pairs that say that `b` is `a` wherever `a` is a number.
    fn pairs(&mut self, a: TermId, b: TermId) -> Option<Pairs> {
        let (x, y) = (self.done[&a]?, self.done[&b]?);
        if x.wild != Cond::Never || y.wild != Cond::Never {
            return None;
        }
        // Where the first is not a number nothing is claimed; where finite operands made it infinite, the second may
        // be not a number.
        let excused = self.and(x.pole, y.undefined)?;
        let unclaimed = self.or(x.undefined, excused)?;
        let claimed = self.not(unclaimed)?;
        let mut out = Pairs::new();
        for (c, d) in [(x.neg, y.neg), (x.pos, y.pos)] {
            let (c, d) = (self.and(claimed, c)?, self.and(claimed, d)?);
            if c != d {
                out.push((self.term(c), self.term(d)));
            }
        }
        let none = self.and(claimed, y.undefined)?;
        if none != Cond::Never {
            out.push((self.store.bool(false), self.term(none)));
        }
        let (special, zero) = (self.special(x)?, self.store.integer(0));
        let u = self.choose(special, zero, x.value);
        // Values are compared everywhere where nothing is read of divisions, which is more, and simpler.
        out.push(match self.read.is_empty() {
            true => (x.value, y.value),
            false => (u, self.choose(special, zero, y.value)),
        });
        // 0 * h is 0 wherever h has a value. Where the first is an infinity, its own value may be none, and h is asked.
        for h in self.hidden[y.hidden].clone() {
            let zero = self.store.integer(0);
            let nothing = self.store.mul(zero, h);
            out.push((u, self.store.add(u, nothing)));
        }
        Some(out)
    }
}

/// Pairs of terms that must all be equal wherever the first has a value.
pub type Pairs = smallvec::SmallVec<[(TermId, TermId); 1]>;

/// For each pair of roots of `from` the pairs of `into` that say the same without special values; `None` where
/// there is no form.
pub fn without(
    from: &TermStore,
    roots: &[TermId],
    into: &mut TermStore,
    signs: &mut dyn Signs,
) -> Vec<Option<Pairs>> {
    let mut lift = Lift::new(into);
    lift.run(from, roots, signs);
    let (pairs, _) = roots.as_chunks::<2>();
    pairs.iter().map(|&[a, b]| lift.pairs(a, b)).collect()
}

#[cfg(test)]
mod tests;
