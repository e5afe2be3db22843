//! Maxima, comparisons and choices of numbers that may be infinite.
//!
//! The problem: where one of them is -inf a maximum is the other, and a comparison has its answer,
//! whatever the value beside the infinity says. Where it matters that value is replaced, by the
//! number below all others or by 0.

use super::cond::Cond;
use super::{Extended, Lift, NOTHING};
use crate::scalar::Fmt;
use crate::term::{ArrayId, RCmp, Term, TermId};

impl Lift<'_> {
    /// The number below all others.
    fn lowest(&mut self) -> TermId {
        self.store.elem(ArrayId::LOWEST, Fmt::F64, 0)
    }

    /// The value, with a low number where the term is -inf.
    pub(super) fn low(&mut self, x: Extended) -> TermId {
        if x.is_low {
            return x.value;
        }
        let lowest = self.lowest();
        self.choose(x.neg, lowest, x.value)
    }

    /// The same beside the other operand of a maximum: where that is +inf, so is the maximum, whatever the value.
    fn low_beside(&mut self, x: Extended, other: Extended) -> TermId {
        match x.neg == other.pos {
            true => x.value,
            false => self.low(x),
        }
    }

    /// The value of a term that is read, with a number where it is special: it has one on every input,
    /// and nothing that has no value is left in it.
    pub(super) fn guarded(&mut self, x: Extended) -> Option<TermId> {
        let special = self.special(x)?;
        let zero = self.store.integer(0);
        let t = self.choose(special, zero, x.value);
        self.defined.insert(t);
        Some(t)
    }

    pub(super) fn choose(&mut self, c: Cond, yes: TermId, no: TermId) -> TermId {
        match c {
            Cond::Never => no,
            Cond::Always => yes,
            c => {
                let p = self.term(c);
                self.store.select(p, yes, no)
            }
        }
    }

    /// match `max(a, b)`; result: -inf where both are, +inf where one is; because -inf is below and
    /// +inf above all. What is not a number is dropped, so that it counts as -inf unless both are none.
    pub(super) fn max(&mut self, a: Extended, b: Extended) -> Option<Extended> {
        if a.undefined == Cond::Never && b.undefined == Cond::Never {
            return self.larger(a, b, Cond::Never);
        }
        // Where one is always a number it stands for the other, too. What is wild says nothing of where it is no number.
        for (x, y) in [(a, b), (b, a)] {
            if y.undefined == Cond::Never {
                let none = self.truth(x.undefined, Cond::Never)?;
                let undefined = Cond::Never;
                let number = self.select(none, y, Extended { undefined, ..x })?;
                let wild = self.or(number.wild, x.wild)?;
                return self.larger(Extended { wild, ..number }, y, Cond::Never);
            }
        }
        // Nothing is dropped where both are numbers or neither is.
        if a.undefined == b.undefined {
            let number = |x: Extended| Extended {
                undefined: Cond::Never,
                ..x
            };
            let mut out = self.larger(number(a), number(b), a.undefined)?;
            out.undefined = self.or(out.undefined, a.undefined)?;
            let number = self.not(a.undefined)?;
            out.neg = self.and(out.neg, number)?;
            out.pos = self.and(out.pos, number)?;
            out.pole = self.and(out.pole, number)?;
            return Some(out);
        }
        let mut dropped = |x: Extended| {
            let number = self.not(x.undefined)?;
            Some(Extended {
                undefined: Cond::Never,
                pole: self.and(x.pole, number)?,
                neg: self.or(x.neg, x.undefined)?,
                pos: self.and(x.pos, number)?,
                is_low: false,
                ..x
            })
        };
        let (x, y) = (dropped(a)?, dropped(b)?);
        let mut out = self.larger(x, y, Cond::Never)?;
        out.undefined = self.and(a.undefined, b.undefined)?;
        let number = self.not(out.undefined)?;
        out.neg = self.and(out.neg, number)?;
        Some(out)
    }

    /// The same of two that are numbers, or of which nobody asks where they are none.
    fn larger(&mut self, a: Extended, b: Extended, none: Cond) -> Option<Extended> {
        let (wild, undefined) = self.troubles(a, b)?;
        let of = |x: Extended| Extended {
            wild,
            undefined,
            zero: Cond::Never,
            positive: false,
            elsewhere: None,
            ..x
        };
        match (a.neg, b.neg) {
            (Cond::Always, _) => return Some(of(b)),
            (_, Cond::Always) => return Some(of(a)),
            _ => {}
        }
        let (x, y) = (self.low_beside(a, b), self.low_beside(b, a));
        let mut out = Extended {
            wild,
            undefined,
            neg: self.and(a.neg, b.neg)?,
            pos: self.or(a.pos, b.pos)?,
            is_low: true,
            ..Extended::plain(self.store.max(x, y))
        };
        // One that is -inf leaves the other's value.
        let whole = [a, b].map(|x| Extended {
            undefined: none,
            ..x
        });
        self.hide(&[(whole[0], a.pos), (whole[1], b.pos)], &mut out)?;
        self.note_largest_pole(a, b, &mut out)?;
        Some(out)
    }

    /// +inf is made of finite operands if no operand is another one; -inf, if both are.
    fn note_largest_pole(&mut self, a: Extended, b: Extended, out: &mut Extended) -> Option<()> {
        let poles = self.or(a.pole, b.pole)?;
        if poles == Cond::Never {
            return Some(());
        }
        let both = self.and(a.pole, b.pole)?;
        let mut above = self.and(out.pos, poles)?;
        for x in [a, b] {
            let pole = self.not(x.pole)?;
            let constant = self.and(x.pos, pole)?;
            let none = self.not(constant)?;
            above = self.and(above, none)?;
        }
        let below = self.and(out.neg, both)?;
        out.pole = self.or(above, below)?;
        Some(())
    }

    /// match `a < b` (`<=`, `=`); result by cases of what is infinite; because -inf is below and +inf
    /// above all numbers, and each equal to itself; what is not a number is not ordered.
    pub(super) fn compare(&mut self, op: RCmp, a: Extended, b: Extended) -> Option<Extended> {
        for (x, y) in [(a, b), (b, a)] {
            if op == RCmp::Eq && self.zero_of(x) == Cond::Always && x.is_plain() && y.positive {
                let zero = self.is_zero(y)?;
                return self.truth(zero, y.wild);
            }
        }
        let (x, y) = (self.guarded(a)?, self.guarded(b)?);
        let numbers = self.rcmp(op, x, y);
        let mut holds = self.cond(numbers)?;
        for c in [a.neg, a.pos, b.neg, b.pos] {
            let not = self.not(c)?;
            holds = self.and(holds, not)?;
        }
        // Pairs of conditions under which it holds where one side is infinite.
        let mut cases = Vec::new();
        if op == RCmp::Eq {
            cases.extend([(a.neg, b.neg), (a.pos, b.pos)]);
        } else {
            let (above, below) = (self.not(b.neg)?, self.not(a.pos)?);
            cases.extend([(a.neg, above), (b.pos, below)]);
            if op == RCmp::Le {
                cases.extend([(a.neg, b.neg), (a.pos, b.pos)]);
            }
        }
        for (x, y) in cases {
            let both = self.and(x, y)?;
            holds = self.or(holds, both)?;
        }
        for c in [a.undefined, b.undefined] {
            let number = self.not(c)?;
            holds = self.and(holds, number)?;
        }
        let wild = self.or(a.wild, b.wild)?;
        self.truth(holds, wild)
    }

    /// match `p ? a : b`; result: each condition of the branch that is taken.
    pub(super) fn select(&mut self, p: Extended, a: Extended, b: Extended) -> Option<Extended> {
        let yes = self.cond(p.value)?;
        let no = self.not(yes)?;
        let (p_zero, q_zero) = (self.zero_of(a), self.zero_of(b));
        let mut taken = |x: Cond, y: Cond| {
            if x == y {
                return Some(x);
            }
            let (x, y) = (self.and(yes, x)?, self.and(no, y)?);
            self.or(x, y)
        };
        let (wild, undefined) = (taken(a.wild, b.wild)?, taken(a.undefined, b.undefined)?);
        let (neg, pos) = (taken(a.neg, b.neg)?, taken(a.pos, b.pos)?);
        let pole = taken(a.pole, b.pole)?;
        let zero = taken(p_zero, q_zero)?;
        let infinite = |x: &Extended| x.neg == Cond::Always || x.pos == Cond::Always;
        let (value, is_low) = match (infinite(&a), infinite(&b)) {
            (true, _) => (b.value, false),
            (_, true) => (a.value, false),
            _ => self.chosen(p.value, a, b),
        };
        let elsewhere = match (p_zero, q_zero) {
            (Cond::Always, _) => Some((yes, b.value)),
            (_, Cond::Always) => Some((no, a.value)),
            _ => None,
        };
        Some(Extended {
            wild: self.or(p.wild, wild)?,
            undefined: self.or(p.undefined, undefined)?,
            neg,
            pos,
            pole,
            value,
            is_low,
            zero,
            positive: self.is_above(&a) && self.is_above(&b),
            elsewhere,
            hidden: NOTHING,
        })
    }

    /// match `p ? max(x, y) : y`; result `max(p ? x : L, y)`, where one of them may be -inf; because L is
    /// below all.
    fn chosen(&mut self, p: TermId, a: Extended, b: Extended) -> (TermId, bool) {
        let (x, y) = (self.low(a), self.low(b));
        if !(a.is_finite() && b.is_finite()) {
            let lowest = self.lowest();
            for (larger, other, holds) in [(x, y, true), (y, x, false)] {
                let Term::Max(u, v) = self.store.get(larger) else {
                    continue;
                };
                if u != other && v != other {
                    continue;
                }
                let more = if u == other { v } else { u };
                let masked = match holds {
                    true => self.store.select(p, more, lowest),
                    false => self.store.select(p, lowest, more),
                };
                return (self.store.max(masked, other), true);
            }
        }
        let value = self.store.select(p, a.value, b.value);
        (value, a.is_low && b.is_low)
    }
}
