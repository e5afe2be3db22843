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

use num_traits::{Signed, Zero};
use rustc_hash::FxHashMap;

mod choice;
mod cond;

use cond::{Cond, Literal};

use super::{Signs, Survey};
use crate::term::rebuild::copy;
use crate::term::{Class, Fun, ICmp, RCmp, Term, TermId, TermStore};

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
    /// Where it is an infinity, finite operands may have made it.
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
    overflows: indexmap::IndexSet<(Class, crate::kernel::Fmt, TermId), rustc_hash::FxBuildHasher>,
}

/// Serial numbers of unknown truth values, counted downwards: those of simulators are counted upwards.
const LAST_ZERO: u32 = u32::MAX - 1;
const LAST_OVERFLOW: u32 = u32::MAX / 2;

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
            positive: false,
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

    /// An operand that is infinite decides a result, and another may have no value there: then the result has none,
    /// though nothing of that operand is left in it. Where the conditions of that operand say what it is, its
    /// value is not asked. Given with each operand is where it decides.
    fn hide(&mut self, operands: &[(Extended, Cond)], out: &mut Extended) -> Option<()> {
        for (i, (x, _)) in operands.iter().enumerate() {
            let mut others = operands.iter().enumerate();
            if self.store.is_total(x.value) || !others.any(|(j, o)| i != j && o.1 != Cond::Never) {
                continue;
            }
            let (special, zero) = (self.special(*x)?, self.store.integer(0));
            let real = self.choose(special, zero, x.value);
            let one = self.hidden.insert_full(Box::new([real])).0;
            out.hidden = self.hide_both(out.hidden, one)?;
        }
        Some(())
    }

    /// Operands with where they are infinite.
    fn deciding(&mut self, operands: &[Extended]) -> Option<Vec<(Extended, Cond)>> {
        let all = operands.iter().map(|&x| Some((x, self.infinite(x)?)));
        all.collect()
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
            positive: parts.iter().all(|x| self.is_above(x)),
            elsewhere,
            ..Extended::plain(value)
        };
        let deciding = self.deciding(parts)?;
        self.hide(&deciding, &mut out)?;
        for x in parts {
            out.wild = self.or(out.wild, x.wild)?;
            out.undefined = self.or(out.undefined, x.undefined)?;
            out.neg = self.or(out.neg, x.neg)?;
            out.pos = self.or(out.pos, x.pos)?;
            out.pole = self.or(out.pole, x.pole)?;
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
            _ if !a.is_finite() || !b.is_finite() => {
                let product = self.infinite_product(a, b)?;
                return Some((product, a.value, b.value));
            }
            _ => (a, b, false),
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
            pole: x.pole,
            zero: self.or(p, q)?,
            positive: self.is_above(&x) && self.is_above(&y),
            elsewhere,
            ..Extended::plain(self.store.mul(x.value, y.value))
        };
        Some((product, x.value, y.value))
    }

    /// A product of which a factor may be infinite, and none is a constant.
    fn infinite_product(&mut self, a: Extended, b: Extended) -> Option<Extended> {
        let (wild, mut undefined) = self.troubles(a, b)?;
        let (x, y) = (self.infinite(a)?, self.infinite(b)?);
        for (infinite, other) in [(x, b), (y, a)] {
            let zero = self.is_zero(other)?;
            let none = self.and(infinite, zero)?;
            undefined = self.or(undefined, none)?;
        }
        let infinite = self.or(x, y)?;
        let (m, n) = (self.is_negative(a)?, self.is_negative(b)?);
        let minus = self.differ(m, n)?;
        let mut out = Extended {
            wild,
            undefined,
            pole: self.or(a.pole, b.pole)?,
            ..Extended::plain(self.store.mul(a.value, b.value))
        };
        let deciding = self.deciding(&[a, b])?;
        self.hide(&deciding, &mut out)?;
        self.signed(infinite, minus, &mut out)?;
        Some(out)
    }

    /// match `x / y`; result: 0 where y is infinite, an infinity where x is; and where y is read and 0, what is not
    /// a number if x is 0 too, else an infinity.
    fn div(&mut self, t: TermId, a: Extended, b: Extended) -> Option<Extended> {
        let (wild, mut undefined) = self.troubles(a, b)?;
        let (x, y) = (self.infinite(a)?, self.infinite(b)?);
        let both = self.and(x, y)?;
        undefined = self.or(undefined, both)?;
        let quotient = self.store.div(a.value, b.value);
        let zero = self.store.integer(0);
        let mut out = Extended {
            wild,
            undefined,
            pole: a.pole,
            ..Extended::plain(self.choose(y, zero, quotient))
        };
        let deciding = self.deciding(&[a, b])?;
        self.hide(&deciding, &mut out)?;
        let reads = self.read.contains(&t);
        let mut infinite = x;
        let is_constant = self.store.as_const(b.value).is_some_and(|c| !c.is_zero());
        let mut minus = Cond::Never;
        if reads && self.survey.operand(t).0 && !is_constant {
            let at_zero = self.is_zero(b)?;
            let none = self.is_zero(a)?;
            let none = self.and(none, at_zero)?;
            out.undefined = self.or(out.undefined, none)?;
            out.pole = self.or(out.pole, at_zero)?;
            infinite = self.or(infinite, at_zero)?;
            let sign = self.sign_of_zero(b)?;
            let sign = self.and(at_zero, sign)?;
            minus = self.is_negative(b)?;
            minus = self.or(minus, sign)?;
        } else if x != Cond::Never {
            minus = self.is_negative(b)?;
        }
        if infinite != Cond::Never {
            let m = self.is_negative(a)?;
            minus = self.differ(m, minus)?;
            self.signed(infinite, minus, &mut out)?;
        }
        Some(out)
    }

    /// Makes a term infinite where a condition holds, minus infinity where another does too.
    fn signed(&mut self, infinite: Cond, minus: Cond, out: &mut Extended) -> Option<()> {
        let plus = self.not(minus)?;
        let (neg, pos) = (self.and(infinite, minus)?, self.and(infinite, plus)?);
        let number = self.not(out.undefined)?;
        out.neg = self.and(neg, number)?;
        out.pos = self.and(pos, number)?;
        Some(())
    }

    fn differ(&mut self, a: Cond, b: Cond) -> Option<Cond> {
        let (x, y) = (self.not(a)?, self.not(b)?);
        let (p, q) = (self.and(a, y)?, self.and(x, b)?);
        self.or(p, q)
    }

    /// Where a term is an infinity.
    fn infinite(&mut self, x: Extended) -> Option<Cond> {
        self.or(x.neg, x.pos)
    }

    /// Where a term is not a real.
    fn special(&mut self, x: Extended) -> Option<Cond> {
        let infinite = self.infinite(x)?;
        self.or(infinite, x.undefined)
    }

    /// A comparison of a value with 0 where the term is a real.
    fn compared(&mut self, op: RCmp, x: Extended) -> Option<Cond> {
        let zero = self.store.integer(0);
        let value = self.guarded(x)?;
        let p = self.rcmp(op, value, zero);
        let holds = self.cond(p)?;
        let special = self.special(x)?;
        let real = self.not(special)?;
        self.and(real, holds)
    }

    /// True for what is not below 0, and 0 nowhere but where it is known to be.
    fn is_above(&self, x: &Extended) -> bool {
        let positive = self
            .store
            .as_const(x.value)
            .is_some_and(|c| !c.is_negative());
        x.positive || positive && x.is_plain()
    }

    /// Where a term is 0.
    fn is_zero(&mut self, x: Extended) -> Option<Cond> {
        if self.is_above(&x) {
            let special = self.special(x)?;
            let (real, zero) = (self.not(special)?, self.zero_of(x));
            return self.and(real, zero);
        }
        self.compared(RCmp::Eq, x)
    }

    /// Where a term is below 0, minus infinity with it.
    fn is_negative(&mut self, x: Extended) -> Option<Cond> {
        if self.is_above(&x) {
            return Some(x.neg);
        }
        let below = self.compared(RCmp::Lt, x)?;
        self.or(below, x.neg)
    }

    /// A comparison of terms that have a value on every input.
    fn rcmp(&mut self, op: RCmp, a: TermId, b: TermId) -> TermId {
        let t = self.store.rcmp(op, a, b);
        self.defined.insert(t);
        t
    }

    /// The sign of the zero that a value is, true for minus: an unknown of its own, unless the term cannot be -0.
    fn sign_of_zero(&mut self, x: Extended) -> Option<Cond> {
        if x.positive || self.store.has_clear_sign(x.value) {
            return Some(Cond::Never);
        }
        let i = self.zeros.insert_full(x.value).0 as u32;
        self.unknown(LAST_ZERO - i)
    }

    fn unknown(&mut self, serial: u32) -> Option<Cond> {
        let bit = self.store.fresh(1, serial);
        let one = self.store.bits(1, 1);
        let p = self.store.icmp(ICmp::Eq, bit, one);
        self.cond(p)
    }

    /// match `is_nan(x)`, `is_inf(x)`; result the condition.
    fn is(&mut self, class: Class, x: Extended) -> Option<Extended> {
        let number = self.not(x.undefined)?;
        let c = match class {
            Class::Nan => x.undefined,
            Class::PosInf => self.and(number, x.pos)?,
            Class::NegInf => self.and(number, x.neg)?,
        };
        self.truth(c, x.wild)
    }

    /// A truth value, which there is on every input.
    fn truth(&mut self, c: Cond, wild: Cond) -> Option<Extended> {
        let value = self.term(c);
        self.defined.insert(value);
        Some(Extended {
            wild,
            ..Extended::plain(value)
        })
    }

    /// An integer that a real was converted to: at infinities the ends of its range. What is not a number has some
    /// integer that nobody looks at.
    fn clamp(&mut self, (width, signed): (u8, bool), x: Extended) -> Option<Extended> {
        let real = self.guarded(x)?;
        let top = 1u64 << (width - 1);
        let (least, most) = match signed {
            true => (top, top - 1),
            false => (0, top | (top - 1)),
        };
        let inside = self.store.clamp(width, signed, real);
        let (least, most) = (self.store.bits(width, least), self.store.bits(width, most));
        let value = self.choose(x.pos, most, inside);
        let value = self.choose(x.neg, least, value);
        self.defined.insert(value);
        Some(Extended {
            wild: x.wild,
            ..Extended::plain(value)
        })
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
    /// their limits: -1 and 1, 0, or an infinity; roots and logarithms of what is negative are not numbers.
    fn fun(&mut self, t: TermId, f: Fun, x: Extended) -> Option<Extended> {
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
            pole: x.pole,
            elsewhere: x.elsewhere.map(|(c, t)| (c, self.store.fun(f, t))),
            ..Extended::plain(value)
        };
        let (zero, negative) = match self.read.contains(&t) {
            true => self.survey.operand(t),
            false => (false, false),
        };
        match f {
            Fun::Exp2 if x.neg != Cond::Never => {
                out.positive = true;
                let zero = self.store.integer(0);
                out.value = self.choose(x.neg, zero, value);
                out.pos = x.pos;
                out.zero = x.neg;
                out.elsewhere = x.elsewhere.is_none().then_some((x.neg, value));
            }
            Fun::Exp2 => (out.pos, out.positive) = (x.pos, true),
            Fun::Tanh | Fun::Erf if !x.is_finite() => {
                let (one, minus) = (self.store.integer(1), self.store.integer(-1));
                out.value = self.choose(x.neg, minus, value);
                out.value = self.choose(x.pos, one, out.value);
                out.elsewhere = None;
            }
            Fun::Tanh | Fun::Erf => {}
            Fun::Abs => out.pos = self.infinite(x)?,
            Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven => {
                (out.neg, out.pos) = (x.neg, x.pos)
            }
            Fun::Sin | Fun::Cos => {
                let infinite = self.infinite(x)?;
                out.undefined = self.or(out.undefined, infinite)?;
            }
            Fun::Sqrt | Fun::Rsqrt | Fun::Log2 => {
                out.undefined = self.or(out.undefined, x.neg)?;
                if negative {
                    let below = self.compared(RCmp::Lt, x)?;
                    out.undefined = self.or(out.undefined, below)?;
                }
                let at_zero = match zero && f != Fun::Sqrt {
                    true => self.is_zero(x)?,
                    false => Cond::Never,
                };
                out.pole = self.or(out.pole, at_zero)?;
                match f {
                    Fun::Sqrt => out.pos = x.pos,
                    Fun::Log2 => (out.neg, out.pos) = (at_zero, x.pos),
                    _ => {
                        let nothing = self.store.integer(0);
                        out.value = self.choose(x.pos, nothing, value);
                        if at_zero != Cond::Never {
                            let minus = self.sign_of_zero(x)?;
                            self.signed(at_zero, minus, &mut out)?;
                        }
                    }
                }
            }
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
            Term::Is(class, a) => {
                let x = of(self, a)?;
                return self.is(class, x);
            }
            Term::Overflows(class, fmt, a) => {
                let i = self.overflows.insert_full((class, fmt, a)).0 as u32;
                let c = self.unknown(LAST_OVERFLOW - i)?;
                return self.truth(c, Cond::Never);
            }
            _ if plain && !self.read.contains(&t) => {
                let value = copy(from, t, self.store, |c| self.values[&c]);
                self.note_defined(from, t, value);
                return Some(Extended {
                    positive: matches!(self.store.get(value), Term::Fun(Fun::Exp2, _)),
                    ..Extended::plain(value)
                });
            }
            _ => {}
        }
        match from.get(t) {
            // Any bits: of what they are nothing is known.
            Term::OfBits { .. } if plain => {
                let value = copy(from, t, self.store, |c| self.values[&c]);
                Some(Extended {
                    wild: Cond::Always,
                    ..Extended::plain(value)
                })
            }
            Term::Div(a, b) => {
                let (x, y) = (of(self, a)?, of(self, b)?);
                self.div(t, x, y)
            }
            Term::Clamp {
                width,
                signed,
                real,
            } => {
                let x = of(self, real)?;
                self.clamp((width, signed), x)
            }
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
                if plain && !self.is_defined(p.value) {
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
                self.fun(t, f, x)
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

    /// True for what has a value on every input.
    fn is_defined(&self, t: TermId) -> bool {
        self.store.is_total(t) || self.defined.contains(&t)
    }

    /// Notes that a truth value or bits have a value on every input, where all that they are made of has one, or a
    /// comparison reads nothing that may be special.
    fn note_defined(&mut self, from: &TermStore, t: TermId, value: TermId) {
        if from.is_total(t) || self.store.is_total(value) {
            return;
        }
        let comparison = matches!(from.get(t), Term::RCmp(..));
        let mut all = from.sort(t) == crate::term::Sort::Bool;
        from.children(t, |c| {
            let has_value = match comparison {
                true => !self.survey.is_special(c),
                false => self.is_defined(self.values[&c]),
            };
            all &= has_value;
        });
        if all {
            self.defined.insert(value);
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
        let infinite = self.infinite(x)?;
        let pole = self.and(infinite, x.pole)?;
        let excused = self.and(pole, y.undefined)?;
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
        let special = self.special(x)?;
        let (mut u, mut v) = (x.value, y.value);
        // Below a condition of data alone the values are compared everywhere, which is more, and simpler.
        if !self.read.is_empty() {
            let zero = self.store.integer(0);
            (u, v) = (self.choose(special, zero, u), self.choose(special, zero, v));
        }
        out.push((u, v));
        // 0 * h is 0 wherever h has a value.
        for h in self.hidden[y.hidden].clone() {
            let zero = self.store.integer(0);
            let nothing = self.store.mul(zero, h);
            out.push((u, self.store.add(u, nothing)));
        }
        Some(out)
    }
}

/// Pairs of terms that must all be equal wherever the first has a value.
pub(crate) type Pairs = smallvec::SmallVec<[(TermId, TermId); 1]>;

/// For each pair of roots of `from` the pairs of `into` that say the same without special values; `None` where
/// there is no form.
pub(crate) fn without(
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
