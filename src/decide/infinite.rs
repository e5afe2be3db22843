//! Infinities that depend on data, taken out of terms.
//!
//! The problem: where a mask is data, a masked score is `p ? x : -inf`, its maximum is -inf where all
//! are masked, and the difference of both is minus infinity, a number, or undefined. Canonical forms
//! are forms of real numbers. So a term becomes four: the condition under which it has no value, those
//! under which it is -inf or +inf, and a term of numbers that is its value elsewhere:
//!
//! * `exp2(t)` is `neg ? 0 : exp2(value)`, a number again;
//! * a sum is infinite where an operand is, and has no value where two are with different signs;
//! * a maximum is -inf where all its operands are. Elsewhere it is that of `neg ? L : value` for all
//!   operands, where L is a symbol that stands for a number below all others.
//!
//! Two terms are equal if their conditions are and their values are for every L: at a given input
//! every low enough L gives the values of the terms. The value of a term is defined wherever the
//! term has one that is finite, for low enough L, since what is infinite there stands in branches that
//! are not taken.
//!
//! Not claimed: products, quotients and functions other than these where an operand is infinite. A term
//! for which such a place may matter stays as it is.

use num_traits::{Signed, Zero};
use rustc_hash::FxHashMap;

mod choice;
mod cond;

use cond::{Cond, Literal};

use super::goal::Pairs;
use crate::term::rebuild::{copy, rebuild};
use crate::term::{Fun, Term, TermId, TermStore};

/// What a term is.
#[derive(Clone, Copy, Debug)]
struct Extended {
    /// Nothing is known of it.
    wild: Cond,
    /// It has no value.
    undefined: Cond,
    neg: Cond,
    pos: Cond,
    /// Its value where none of the conditions holds.
    value: TermId,
    /// The value is L wherever the term is -inf.
    is_low: bool,
    /// Where the term is 0, as far as it is known.
    zero: Cond,
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
            value,
            is_low: false,
            zero: Cond::Never,
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
}

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

    /// The term for an operation of which nothing is known where its operand is infinite.
    fn tamed(&mut self, x: Extended) -> Option<Extended> {
        let infinite = self.or(x.neg, x.pos)?;
        Some(Extended {
            wild: self.or(x.wild, infinite)?,
            neg: Cond::Never,
            pos: Cond::Never,
            ..x
        })
    }

    /// Where the result of an operation on two has no value, or nothing is known of it.
    fn troubles(&mut self, a: Extended, b: Extended) -> Option<(Cond, Cond)> {
        Some((self.or(a.wild, b.wild)?, self.or(a.undefined, b.undefined)?))
    }

    fn negated(&mut self, x: Extended) -> Extended {
        Extended {
            neg: x.pos,
            pos: x.neg,
            value: self.store.neg(x.value),
            is_low: false,
            elsewhere: x.elsewhere.map(|(c, t)| (c, self.store.neg(t))),
            ..x
        }
    }

    /// Where a term is 0.
    fn zero_of(&self, x: Extended) -> Cond {
        match x.is_plain() && self.store.is_zero(x.value) {
            true => Cond::Always,
            false => x.zero,
        }
    }

    /// True if one condition implies another.
    fn implies(&mut self, a: Cond, b: Cond) -> bool {
        a == b || self.and(a, b) == Some(a)
    }

    /// What two terms are where the conditions of both do not hold; only for one condition.
    fn both_elsewhere(a: Extended, b: Extended) -> Option<(Cond, TermId, TermId)> {
        match (a.elsewhere, b.elsewhere) {
            (Some((c, x)), Some((d, y))) if c == d => Some((c, x, y)),
            (Some((c, x)), None) => Some((c, x, b.value)),
            (None, Some((d, y))) => Some((d, a.value, y)),
            _ => None,
        }
    }

    /// An infinite operand decides a result, and another may have no value there: then the result has none,
    /// though nothing of that operand is left in it.
    fn hide(&mut self, operands: &[Extended], out: &mut Extended) -> Option<()> {
        let partial = |s: &TermStore, x: &Extended| !s.is_total(x.value);
        for (i, x) in operands.iter().enumerate() {
            let mut others = operands.iter().enumerate();
            if partial(self.store, x) && others.any(|(j, y)| i != j && !y.is_finite()) {
                let one = self.hidden.insert_full(Box::new([x.value])).0;
                out.hidden = self.hide_both(out.hidden, one)?;
            }
        }
        Some(())
    }

    /// The infinities of a sum of some products, given its value and what that is elsewhere.
    fn add(
        &mut self,
        parts: &[Extended],
        value: TermId,
        elsewhere: Option<(Cond, TermId)>,
    ) -> Option<Extended> {
        let mut out = Extended {
            zero: Cond::Always,
            elsewhere,
            ..Extended::plain(value)
        };
        self.hide(parts, &mut out)?;
        for x in parts {
            out.wild = self.or(out.wild, x.wild)?;
            out.undefined = self.or(out.undefined, x.undefined)?;
            out.neg = self.or(out.neg, x.neg)?;
            out.pos = self.or(out.pos, x.pos)?;
            let zero = self.zero_of(*x);
            out.zero = self.and(out.zero, zero)?;
        }
        let both = self.and(out.neg, out.pos)?;
        out.undefined = self.or(out.undefined, both)?;
        // Where both hold there is no value: one of them is enough.
        if both != Cond::Never {
            let not_neg = self.not(out.neg)?;
            out.pos = self.and(out.pos, not_neg)?;
        }
        Some(out)
    }

    /// A product and its factors; of what may be infinite only with a constant.
    ///
    /// match `x * y` with y = z but where x is 0 anyhow; result `x * z`; because both are 0 there.
    fn mul(&mut self, a: Extended, b: Extended) -> Option<(Extended, TermId, TermId)> {
        let factor = |s: &TermStore, x: &Extended, y: &Extended| {
            let k = s.as_const(y.value).filter(|_| y.is_finite())?;
            (!x.is_finite() && !k.is_zero()).then(|| k.is_negative())
        };
        let signs = (factor(self.store, &a, &b), factor(self.store, &b, &a));
        let (x, y, negative) = match signs {
            (Some(n), _) => (a, b, n),
            (_, Some(n)) => (b, a, n),
            _ => (self.tamed(a)?, self.tamed(b)?, false),
        };
        let (wild, undefined) = self.troubles(x, y)?;
        let (p, q) = (self.zero_of(x), self.zero_of(y));
        let (mut x, mut y) = (x, y);
        for (zero, other) in [(p, &mut y), (q, &mut x)] {
            if let Some((c, t)) = other.elsewhere
                && zero != Cond::Never
                && self.store.is_total(t)
                && self.implies(c, zero)
            {
                (other.value, other.elsewhere) = (t, None);
                break;
            }
        }
        let elsewhere = match Lift::both_elsewhere(x, y) {
            Some((c, s, t)) => Some((c, self.store.mul(s, t))),
            None => None,
        };
        let product = Extended {
            wild,
            undefined,
            neg: if negative { x.pos } else { x.neg },
            pos: if negative { x.neg } else { x.pos },
            zero: self.or(p, q)?,
            elsewhere,
            ..Extended::plain(self.store.mul(x.value, y.value))
        };
        Some((product, x.value, y.value))
    }

    /// What a sum is where the condition of all its operands that have one does not hold.
    fn sum_elsewhere(&mut self, products: &[Extended]) -> Option<(Cond, TermId)> {
        let mut conditions = products.iter().filter_map(|p| p.elsewhere);
        let (c, _) = conditions.next()?;
        if conditions.any(|(d, _)| c != d) {
            return None;
        }
        let one = self.store.integer(1);
        let terms = products.iter();
        let terms = terms.map(|p| (p.elsewhere.map_or(p.value, |e| e.1), one));
        let terms: Vec<(TermId, TermId)> = terms.collect();
        Some((c, self.store.sum(&terms)))
    }

    /// match `exp2(x)`; result `neg ? 0 : exp2(value)`; because 2^-inf is 0. The other functions have
    /// their limits: -1 and 1, or +inf.
    fn fun(&mut self, f: Fun, x: Extended) -> Option<Extended> {
        let mut x = x;
        // What counts is the value where the term is not -inf.
        if f == Fun::Exp2
            && let Some((c, t)) = x.elsewhere
            && self.implies(c, x.neg)
        {
            (x.value, x.elsewhere) = (t, None);
        }
        let value = self.store.fun(f, x.value);
        let mut out = Extended {
            wild: x.wild,
            undefined: x.undefined,
            elsewhere: x.elsewhere.map(|(c, t)| (c, self.store.fun(f, t))),
            ..Extended::plain(value)
        };
        match f {
            _ if x.is_finite() => {}
            Fun::Exp2 => {
                let zero = self.store.integer(0);
                out.value = self.choose(x.neg, zero, value);
                out.pos = x.pos;
                out.zero = x.neg;
                out.elsewhere = x.elsewhere.is_none().then_some((x.neg, value));
            }
            Fun::Tanh | Fun::Erf => {
                let (one, minus) = (self.store.integer(1), self.store.integer(-1));
                out.value = self.choose(x.neg, minus, value);
                out.value = self.choose(x.pos, one, out.value);
                out.elsewhere = None;
            }
            Fun::Abs => out.pos = self.or(x.neg, x.pos)?,
            _ => out.wild = self.tamed(x)?.wild,
        }
        Some(out)
    }

    /// What a term of `from` is, whose children are done.
    fn step(&mut self, from: &TermStore, t: TermId) -> Option<Extended> {
        let arithmetic = matches!(
            from.get(t),
            Term::Add(..)
                | Term::Neg(_)
                | Term::Sum(_)
                | Term::Mul(..)
                | Term::Select(..)
                | Term::Fun(Fun::Exp2, _)
        );
        let mut plain = true;
        let mut fails = false;
        from.children(t, |c| match self.done[&c] {
            Some(x) if arithmetic => plain &= x.is_bare(),
            Some(x) => plain &= x.is_plain(),
            None => fails = true,
        });
        if fails {
            return None;
        }
        let of = |l: &Self, t: TermId| l.done[&t];
        match from.get(t) {
            Term::Inf { neg } => {
                let mut x = Extended::plain(self.store.integer(0));
                *(if neg { &mut x.neg } else { &mut x.pos }) = Cond::Always;
                return Some(x);
            }
            Term::Undefined => {
                let undefined = Cond::Always;
                let zero = self.store.integer(0);
                return Some(Extended {
                    undefined,
                    ..Extended::plain(zero)
                });
            }
            _ if plain => {
                return Some(Extended::plain(copy(from, t, self.store, |c| {
                    self.values[&c]
                })));
            }
            _ => {}
        }
        match from.get(t) {
            Term::Add(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                let value = self.store.add(x.value, y.value);
                let elsewhere = Lift::both_elsewhere(x, y);
                let elsewhere = elsewhere.map(|(c, s, t)| (c, self.store.add(s, t)));
                self.add(&[x, y], value, elsewhere)
            }
            Term::Neg(a) => {
                let x = of(self, a)?;
                Some(self.negated(x))
            }
            Term::Sum(list) => {
                let (pairs, _) = list.as_chunks::<2>();
                let mut products = Vec::new();
                let mut factors = Vec::with_capacity(pairs.len());
                for &[a, b] in pairs {
                    let (x, y) = (of(self, TermId(a))?, of(self, TermId(b))?);
                    let (product, x, y) = self.mul(x, y)?;
                    products.push(product);
                    factors.push((x, y));
                }
                let value = self.store.sum(&factors);
                let elsewhere = self.sum_elsewhere(&products);
                self.add(&products, value, elsewhere)
            }
            Term::Mul(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.mul(x, y).map(|m| m.0)
            }
            Term::Max(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.max(x, y)
            }
            Term::Min(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                let (x, y) = (self.negated(x), self.negated(y));
                let m = self.max(x, y)?;
                Some(self.negated(m))
            }
            Term::Select(p, a, b) => {
                let (p, x, y) = (of(self, p)?, of(self, a)?, of(self, b)?);
                let plain = p.is_plain() && x.is_plain() && y.is_plain();
                if plain && !self.store.is_total(p.value) {
                    let value = copy(from, t, self.store, |c| self.values[&c]);
                    return Some(Extended::plain(value));
                }
                self.select(p, x, y)
            }
            Term::RCmp(op, a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.compare(op, x, y)
            }
            Term::Fun(f, a) => {
                let x = of(self, a)?;
                self.fun(f, x)
            }
            // Anything else has no value where an operand has none.
            _ => {
                let mut out = Extended::plain(copy(from, t, self.store, |c| self.values[&c]));
                let mut children = Vec::new();
                from.children(t, |c| children.push(c));
                for c in children {
                    let x = of(self, c)?;
                    let x = self.tamed(x)?;
                    (out.wild, out.undefined) = self.troubles(out, x)?;
                }
                Some(out)
            }
        }
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

    fn run(&mut self, from: &TermStore, roots: &[TermId]) {
        for t in from.reachable(roots) {
            let x = self.step(from, t).and_then(|x| self.inherit(from, t, x));
            if let Some(x) = x {
                self.values.insert(t, x.value);
            }
            self.done.insert(t, x);
        }
    }

    /// The pairs that say that `b` is `a` wherever `a` has a value.
    fn pairs(&mut self, a: TermId, b: TermId) -> Option<Pairs> {
        let (x, y) = (self.done[&a]?, self.done[&b]?);
        if x.wild != Cond::Never || y.wild != Cond::Never {
            return None;
        }
        let mut out = Pairs::new();
        for (c, d) in [(x.neg, y.neg), (x.pos, y.pos)] {
            if c != d {
                out.push((self.term(c), self.term(d)));
            }
        }
        if y.undefined != Cond::Never && x.undefined != y.undefined {
            out.push((self.term(x.undefined), self.term(y.undefined)));
        }
        out.push((x.value, y.value));
        // 0 * h is 0 wherever h has a value.
        for h in self.hidden[y.hidden].clone() {
            let zero = self.store.integer(0);
            let nothing = self.store.mul(zero, h);
            out.push((x.value, self.store.add(x.value, nothing)));
        }
        Some(out)
    }
}

/// True if an infinity, or what has no value, stands below a term.
pub(crate) fn stand_below(store: &TermStore, roots: &[TermId]) -> bool {
    let infinite = |t: TermId| matches!(store.get(t), Term::Inf { .. } | Term::Undefined);
    store.find_partial(roots, infinite).is_some()
}

/// For each pair of roots of `from` the pairs of `into` that say the same without infinities.
pub(crate) fn without(from: &TermStore, roots: &[TermId], into: &mut TermStore) -> Vec<Pairs> {
    let mut lift = Lift::new(into);
    lift.run(from, roots);
    let (pairs, _) = roots.as_chunks::<2>();
    let lifted: Vec<Option<Pairs>> = pairs.iter().map(|&[a, b]| lift.pairs(a, b)).collect();
    let kept = lifted.iter().zip(pairs).filter(|(l, _)| l.is_none());
    let kept: Vec<TermId> = kept.flat_map(|(_, p)| *p).collect();
    let mut kept = rebuild(from, &kept, into, |_, _, _| None).into_iter();
    let mut original = || -> Option<Pairs> { Some([(kept.next()?, kept.next()?)].into()) };
    lifted
        .into_iter()
        .map(|l| l.or_else(&mut original).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests;
