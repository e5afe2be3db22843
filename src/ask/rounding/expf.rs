//! The compilers' exponential, whose two halves jump where each is looked at alone.

use crate::kernel::{FloatOp, Fmt, Rnd};
use crate::term::word::Does;
use crate::term::{Sort, Term, TermId};

use super::bound::{Enclosed, Sweep};
use super::enclosure;

impl Sweep<'_> {
    /// The factor beside a constant.
    fn beside(&self, factors: &[TermId], bits: u64) -> Option<TermId> {
        let is_constant =
            |t: TermId| matches!(self.store.get(t), Term::BitsConst { value, .. } if value == bits);
        match *factors {
            [a, b] if is_constant(b) => Some(a),
            [a, b] if is_constant(a) => Some(b),
            _ => None,
        }
    }

    /// `expf(x)`, if two numbers are the factors that the compilers make it of: `2^(x log2(e) - n)` and the bits of `2^n`.
    ///
    /// With t = fma.rm(sat(x/(252 ln 2) + 1/2), 252, 2^23 + 2^22 + 1), whose low bits are n + 127, and n = t - (2^23 + 2^22 +
    /// 127) exactly, both halves are given to the last constant, and x lies where nothing is limited. The exponent is off by
    /// at most 2^-23 (two roundings of numbers below 1.1), the approximation by 2^-22 of itself, and the product is exact.
    pub(super) fn exponential(&self, power: TermId, scale: TermId) -> Option<Enclosed> {
        const REACH: f64 = 80.0;
        let Term::Concat(&[low, high]) = self.store.get(scale) else {
            return None;
        };
        let is_shifted = matches!(
            self.store.get(TermId(low)),
            Term::BitsConst {
                value: 0,
                width: 23
            }
        );
        let Term::Extract {
            bits: t,
            low: 0,
            width: 9,
        } = self.store.get(TermId(high))
        else {
            return None;
        };
        let fma = |t: TermId, rnd: Rnd| {
            let (m, operands) = self.float(t, &[FloatOp::Fma])?;
            let &[a, b, c] = &operands[..] else {
                return None;
            };
            (m.rnd == rnd && self.store.sort(t) == Sort::Bits(32)).then_some((m, [a, b], c))
        };
        let (_, factors, big) = fma(t, Rnd::Rm)?;
        let limited = self.beside(&factors, 0x437c_0000)?;
        let inside = match self.store.as_word(limited) {
            Some(w) if w.operation(self.store).does == Does::Convert => {
                let is_limited = w.operation(self.store).mods.sat;
                w.operands().next().filter(|_| is_limited)?
            }
            _ => limited,
        };
        let (m, factors, half) = fma(inside, Rnd::Rn)?;
        let x = self.beside(&factors, 0x3bbb_989d)?;
        let is_limited = inside != limited || m.sat;
        let (m, of_power) = self.float(power, &[FloatOp::Ex2])?;
        let (_, factors, sum) = fma(*of_power.first()?, Rnd::Rn)?;
        let same = self.beside(&factors, 0x32a5_7060)? == x;
        let (_, factors, minus_n) = fma(sum, Rnd::Rn)?;
        let same = same && self.beside(&factors, 0x3fb8_aa3b)? == x;
        let (_, n) = self.float(minus_n, &[FloatOp::Neg])?;
        let (_, summands) = self.float(*n.first()?, &[FloatOp::Add])?;
        let same = same && self.beside(&summands, 0xcb40_007f)? == t;
        let ends = self.beside(&[half, half], 0x3f00_0000).is_some()
            && self.beside(&[big, big], 0x4b40_0001).is_some();
        if !(is_shifted && is_limited && same && ends && m.approx) {
            return None;
        }
        let known = self.operand(x, Fmt::F32)?;
        let range = known.range.filter(|r| r.largest() + r.off <= REACH);
        let range = range.map(|r| {
            let e = enclosure::exponential(r);
            let own = f64::exp2(-21.0);
            e.off_by(e.off + own * (e.hi + e.off))
                .parted(e.part + own * (1.0 + e.part))
                .widened()
        });
        Some(Enclosed {
            longest: known.longest + 3,
            part: None,
            range,
        })
    }
}
