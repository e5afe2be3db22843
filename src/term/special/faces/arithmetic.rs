//! Sums, products and quotients of what may be infinite.

use num_traits::Zero;

use super::cond::Cond;
use super::{Extended, Lift};
use crate::term::{TermId, TermStore};

impl Lift<'_> {
    /// Where the result of an operation on two has no value, or nothing is known of it.
    pub(super) fn troubles(&mut self, a: Extended, b: Extended) -> Option<(Cond, Cond)> {
        Some((self.or(a.wild, b.wild)?, self.or(a.undefined, b.undefined)?))
    }

    pub(super) fn negated(&mut self, x: Extended) -> Extended {
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

    /// True if one condition implies another.
    pub(super) fn implies(&mut self, a: Cond, b: Cond) -> bool {
        a == b || self.and(a, b) == Some(a)
    }

    /// An operation where the condition of all its operands that have one does not hold, by what they are there.
    pub(super) fn elsewhere(
        &mut self,
        operands: &[Extended],
        make: impl Fn(&mut TermStore, &[TermId]) -> TermId,
    ) -> Option<(Cond, TermId)> {
        let mut conditions = operands.iter().filter_map(|x| x.elsewhere);
        let (c, _) = conditions.next()?;
        if conditions.any(|(d, _)| c != d) {
            return None;
        }
        let values = operands.iter();
        let values = values.map(|x| x.elsewhere.map_or(x.value, |e| e.1));
        let values: Vec<TermId> = values.collect();
        Some((c, make(self.store, &values)))
    }

    /// An operand that is infinite decides a result, and another may have no value there: then the result has none,
    /// though nothing of that operand is left in it. Where the conditions of that operand say what it is, its
    /// value is not asked. Given with each operand is where it decides.
    pub(super) fn hide(&mut self, operands: &[(Extended, Cond)], out: &mut Extended) -> Option<()> {
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
    pub(super) fn deciding(&mut self, operands: &[Extended]) -> Option<Vec<(Extended, Cond)>> {
        let all = operands.iter().map(|&x| Some((x, self.infinite(x)?)));
        all.collect()
    }

    /// An infinity is made of finite operands if an operand is, and no other operand is another infinity.
    pub(super) fn note_poles(&mut self, parts: &[Extended], out: &mut Extended) -> Option<()> {
        if parts.iter().all(|x| x.pole == Cond::Never) {
            return Some(());
        }
        let (mut some, mut other) = (Cond::Never, Cond::Never);
        for x in parts {
            some = self.or(some, x.pole)?;
            let (infinite, no_pole) = (self.infinite(*x)?, self.not(x.pole)?);
            let constant = self.and(infinite, no_pole)?;
            other = self.or(other, constant)?;
        }
        let (infinite, none) = (self.infinite(*out)?, self.not(other)?);
        let some = self.and(some, none)?;
        out.pole = self.and(some, infinite)?;
        Some(())
    }

    /// The infinities of a sum of some products, given its value and what that is elsewhere.
    pub(super) fn add(
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
        self.note_poles(parts, &mut out)?;
        Some(out)
    }

    /// A product and its factors: infinite where one is and the other is not 0.
    pub(super) fn mul(&mut self, a: Extended, b: Extended) -> Option<(Extended, TermId, TermId)> {
        let (wild, undefined) = self.troubles(a, b)?;
        let (p, q) = (self.zero_of(a), self.zero_of(b));
        let (x, y) = self.nonzero_factors((a, p), (b, q));
        let mut out = Extended {
            wild,
            undefined,
            zero: self.or(p, q)?,
            positive: self.is_above(&x) && self.is_above(&y),
            elsewhere: self.elsewhere(&[x, y], |s, f| s.mul(f[0], f[1])),
            ..Extended::plain(self.store.mul(x.value, y.value))
        };
        for (x, y) in [(a, b), (b, a)] {
            if x.is_finite() {
                continue;
            }
            let (zero, below) = (self.is_zero(y)?, self.is_negative(y)?);
            let infinite = self.infinite(x)?;
            let none = self.and(infinite, zero)?;
            out.undefined = self.or(out.undefined, none)?;
            let not_above = self.or(below, zero)?;
            let above = self.not(not_above)?;
            for (of, same, other) in [(&mut out.neg, x.neg, x.pos), (&mut out.pos, x.pos, x.neg)] {
                let (same, other) = (self.and(same, above)?, self.and(other, below)?);
                let either = self.or(same, other)?;
                *of = self.or(*of, either)?;
            }
        }
        let deciding = self.deciding(&[a, b])?;
        self.hide(&deciding, &mut out)?;
        self.note_poles(&[a, b], &mut out)?;
        Some((out, x.value, y.value))
    }

    /// match `x * y` with y = z but where x is 0 anyhow; result `x * z`; because both are 0 there. Given with each
    /// factor is where it is 0.
    fn nonzero_factors(
        &mut self,
        a: (Extended, Cond),
        b: (Extended, Cond),
    ) -> (Extended, Extended) {
        let (mut x, mut y) = (a.0, b.0);
        for (zero, other) in [(a.1, &mut y), (b.1, &mut x)] {
            if let Some((c, t)) = other.elsewhere
                && zero != Cond::Never
                && self.store.is_total(t)
                && self.implies(c, zero)
            {
                (other.value, other.elsewhere) = (t, None);
                break;
            }
        }
        (x, y)
    }

    /// match `x / y`; result: 0 where y is infinite, an infinity where x is; and where y is read and 0, what is not
    /// a number if x is 0 too, else an infinity.
    pub(super) fn div(&mut self, t: TermId, a: Extended, b: Extended) -> Option<Extended> {
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
            let finite = self.not(x)?;
            let made = self.and(finite, at_zero)?;
            out.pole = self.or(out.pole, made)?;
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
        let infinite = self.infinite(out)?;
        out.pole = self.and(out.pole, infinite)?;
        Some(out)
    }

    /// Makes a term infinite where a condition holds, minus infinity where another does too.
    pub(super) fn signed(&mut self, infinite: Cond, minus: Cond, out: &mut Extended) -> Option<()> {
        let plus = self.not(minus)?;
        let (neg, pos) = (self.and(infinite, minus)?, self.and(infinite, plus)?);
        let number = self.not(out.undefined)?;
        out.neg = self.and(neg, number)?;
        out.pos = self.and(pos, number)?;
        Some(())
    }

    pub(super) fn differ(&mut self, a: Cond, b: Cond) -> Option<Cond> {
        let (x, y) = (self.not(a)?, self.not(b)?);
        let (p, q) = (self.and(a, y)?, self.and(x, b)?);
        self.or(p, q)
    }
}
