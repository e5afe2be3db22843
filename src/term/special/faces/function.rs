//! Functions and conversions of what may be special.
//!
//! The problem: each has its own limits at infinities, and its own operands at which it is no real.

use super::cond::Cond;
use super::{Extended, Lift};
use crate::term::{Class, Fun, RCmp, TermId};

impl Lift<'_> {
    /// match `is_nan(x)`, `is_inf(x)`; result the condition.
    pub(super) fn is(&mut self, class: Class, x: Extended) -> Option<Extended> {
        let number = self.not(x.undefined)?;
        let c = match class {
            Class::Nan => x.undefined,
            Class::PosInf => self.and(number, x.pos)?,
            Class::NegInf => self.and(number, x.neg)?,
        };
        self.truth(c, x.wild)
    }

    /// A truth value, which there is on every input.
    pub(super) fn truth(&mut self, c: Cond, wild: Cond) -> Option<Extended> {
        let value = self.term(c);
        self.defined.insert(value);
        Some(Extended {
            wild,
            ..Extended::plain(value)
        })
    }

    /// An integer that a real was converted to: at infinities the ends of its range. What is not a number has some
    /// integer that nobody looks at.
    pub(super) fn clamp(&mut self, (width, signed): (u8, bool), x: Extended) -> Option<Extended> {
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

    /// match `exp2(x)`; result `neg ? 0 : exp2(value)`; because 2^-inf is 0. The other functions have
    /// their limits: -1 and 1, 0, or an infinity; roots and logarithms of what is negative are not numbers.
    pub(super) fn fun(&mut self, t: TermId, f: Fun, x: Extended) -> Option<Extended> {
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
                        out.elsewhere = out.elsewhere.filter(|_| x.pos == Cond::Never);
                        out.value = self.choose(x.pos, nothing, value);
                        if at_zero != Cond::Never {
                            let minus = self.sign_of_zero(x)?;
                            self.signed(at_zero, minus, &mut out)?;
                        }
                    }
                }
            }
        }
        let infinite = self.infinite(out)?;
        out.pole = self.and(out.pole, infinite)?;
        Some(out)
    }
}
