//! Enclosures: where a real value lies, and how far the machine's number may be from it.
//!
//! The problem: a bound of an error for all inputs of a range needs each operation's own. The way: an interval of the real
//! value and one number for the distance go through every operation together (R. E. Moore, "Interval Analysis"; the distance
//! is the first row of a running error analysis, N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section
//! 3.3, kept for all inputs at once). Errors of approximations are those of the PTX manual, sections 9.7.3 and 9.7.4.
//!
//! Sound: the distance of a result is at most what the operation makes of operands that are off by theirs, plus one rounding
//! of the largest magnitude that the machine's operands allow, or what flushing or underflow takes ([`super::step`]); a number
//! that becomes an integer may become the next one as soon as it is off. Ends are computed in
//! doubles and widened by more than the doubles lose. Whatever may overflow, divide by 0 or leave the domain of a function
//! has no enclosure. Infinities are enclosed where constants make them, which have no error.
//!
//! Not claimed: that the distance is reached; operands are taken to be independent.

use std::f64::consts::LN_2;

use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::term::word::{Does, Operation};

use super::step::{self, Roundoff};

/// What the doubles of this analysis may be off after an operation, as a part of the result.
const OWN: f64 = 1e-12;

/// A real value and the machine's number for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub lo: f64,
    pub hi: f64,
    /// The distance of the machine's number from the real value.
    pub off: f64,
    /// The same as a part of the real value; infinite where nothing is known.
    pub part: f64,
}

impl Range {
    /// One number that the machine has too.
    pub(super) fn known(x: f64) -> Range {
        Range {
            lo: x,
            hi: x,
            off: 0.0,
            part: 0.0,
        }
    }

    /// A hull of values, at most so far off.
    pub(super) fn of(values: &[f64], off: f64) -> Range {
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Range {
            lo,
            hi,
            ..Range::known(0.0)
        }
        .off_by(off)
    }

    /// The same values, so far off.
    pub(super) fn off_by(self, off: f64) -> Range {
        let part = if off == 0.0 { 0.0 } else { f64::INFINITY };
        Range { off, part, ..self }
    }

    /// The same values, off by a part of themselves too. A part of 1 or more leaves the sign open.
    pub(super) fn parted(self, part: f64) -> Range {
        let part = if part < 1.0 { part } else { f64::INFINITY };
        Range { part, ..self }
    }

    /// The same where the part is known in another way.
    fn with(self, part: f64) -> Range {
        self.parted(self.part.min(part)).settled()
    }

    /// The distance is at most the part of the largest value, and the part at most that of the least one.
    fn settled(self) -> Range {
        let (least, most) = (self.least(), self.largest());
        let off = match self.part.is_finite() {
            true => self.off.min(self.part * most),
            false => self.off,
        };
        let part = match least > 0.0 {
            true => self.part.min(off / least),
            false => self.part,
        };
        Range { off, ..self }.parted(part)
    }

    /// The largest magnitude of the real value.
    pub(super) fn largest(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The least magnitude of the real value.
    fn least(self) -> f64 {
        match self.lo <= 0.0 && self.hi >= 0.0 {
            true => 0.0,
            false => self.lo.abs().min(self.hi.abs()),
        }
    }

    /// The least that the machine may have for a number that is no less than one.
    fn beneath(self, x: f64) -> f64 {
        let by_part = match x >= 0.0 {
            true => x * (1.0 - self.part),
            false => f64::NEG_INFINITY,
        };
        (x - self.off).max(by_part)
    }

    /// True for an infinity, which only constants make.
    fn is_infinite(self) -> bool {
        self.lo == self.hi && self.lo.is_infinite() && self.off == 0.0
    }

    /// The same, no narrower than exact arithmetic would have it.
    pub(super) fn widened(self) -> Range {
        if self.is_infinite() {
            return self;
        }
        let more = |x: f64| x.abs() * OWN + f64::MIN_POSITIVE;
        let off = match self.off {
            0.0 => 0.0,
            off => off + more(off),
        };
        let part = self.part * (1.0 + OWN);
        Range {
            lo: self.lo - more(self.lo),
            hi: self.hi + more(self.hi),
            off,
            part,
        }
    }
}

/// How operands depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// In no way that is known.
    None,
    /// The first is not above the second.
    NotAbove,
    /// The first two are one.
    Same,
    /// The first is one of the numbers that are not negative of which the second, or its inverse, is the sum.
    Share,
}

/// The range of a result: what the exact operation makes of the operands, and one rounding.
pub(super) fn result(operation: &Operation, operands: &[Range], tie: Tie) -> Option<Range> {
    let mut all = operands.to_vec();
    for (k, r) in all.iter_mut().enumerate() {
        let flushed = step::flushed(operation, k);
        if !r.is_infinite() && r.least() - r.off < flushed {
            *r = r.off_by(r.off + flushed).widened();
        }
    }
    let m = &operation.mods;
    let exact = match operation.does {
        Does::Convert | Does::OfInt(_) => all[0],
        Does::Float(op) => tied(op, &all, tie)?.widened(),
        Does::ToInt(_) | Does::Compare(_) | Does::Test(_) | Does::Product(..) => return None,
    };
    if exact.is_infinite() {
        return (!m.sat && !m.relu && !m.oob).then_some(exact);
    }
    let step = Roundoff::of(operation)?;
    let exact = match step.whole {
        Some(to) => whole(exact, to),
        None => exact,
    };
    let (least, most) = (exact.least() - exact.off, exact.largest() + exact.off);
    let (lost, part, most) = match operation.does {
        Does::Float(op) if m.approx => {
            let (part, flat) = approximate(op, operation.fmt, &all)?;
            let small = match least >= 2.0 * step.normal {
                true => 0.0,
                false => step.small.max(2.0 * step.unit * step.normal),
            };
            let lost = part * most + flat + small;
            let is_part = flat == 0.0 && small == 0.0;
            (
                lost,
                if is_part { part } else { f64::INFINITY },
                most + lost,
            )
        }
        _ => {
            let is_part = least >= step.normal || step.small == 0.0;
            let part = if is_part { step.unit } else { f64::INFINITY };
            (step.lost(least, most), part, most)
        }
    };
    // A number that is no larger than the largest one is rounded to no larger one.
    let fits = step.unit == 0.0 || most <= step.largest;
    let rounded = match lost > 0.0 {
        true => Range {
            off: exact.off + lost,
            ..exact
        }
        .parted(exact.part + part * (1.0 + exact.part))
        .settled()
        .widened(),
        false => exact,
    };
    fits.then(|| clamped(m, rounded))
}

/// A number rounded to an integer: the next one, or one more for each whole that the operand may be off, and the same one
/// where all that the operand may be has the same next one.
pub(super) fn whole(r: Range, to: Rnd) -> Range {
    let next = |x: f64| match to {
        Rnd::Rmi => x.floor(),
        Rnd::Rpi => x.ceil(),
        Rnd::Rzi => x.trunc(),
        _ => x.round_ties_even(),
    };
    let spread = next(r.hi + r.off) - next(r.lo - r.off);
    let off = match r.off {
        0.0 => 0.0,
        off => (off.floor() + 1.0).min(spread),
    };
    Range::of(&[next(r.lo), next(r.hi)], off)
}

/// `.sat` and `.relu` bring two numbers no further apart.
fn clamped(m: &FloatMods, r: Range) -> Range {
    let clamp = |x: f64| match (m.sat, m.relu) {
        (true, _) => x.clamp(0.0, 1.0),
        (_, true) => x.max(0.0),
        _ => x,
    };
    Range {
        lo: clamp(r.lo),
        hi: clamp(r.hi),
        ..r
    }
}

/// The relative and the absolute error of an approximation by the manual; `None` where it states none.
fn approximate(op: FloatOp, fmt: Fmt, operands: &[Range]) -> Option<(f64, f64)> {
    let part = |bits: f64| libm::exp2(-bits);
    match (fmt, op) {
        (Fmt::F32, FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Rsqrt | FloatOp::Ex2) => {
            Some((part(22.0), 0.0))
        }
        // Two units in the last place, for divisors from 2^-126 to 2^126.
        (Fmt::F32, FloatOp::Div) => {
            let by = operands.get(1)?;
            let is_inside =
                by.least() - by.off >= part(126.0) && by.largest() + by.off <= libm::exp2(126.0);
            is_inside.then(|| (part(22.0), 0.0))
        }
        (Fmt::F32, FloatOp::Lg2) => Some((part(22.0), part(22.0))),
        (Fmt::F32, FloatOp::Tanh) => Some((part(11.0), 0.0)),
        (Fmt::F16, FloatOp::Ex2) => Some((part(9.9), 0.0)),
        (Fmt::F16, FloatOp::Tanh) => Some((0.0, part(10.987))),
        (Fmt::Bf16, FloatOp::Ex2) => Some((part(7.0), 0.0)),
        (Fmt::Bf16, FloatOp::Tanh) => Some((0.0, part(8.0))),
        // Sines and cosines are bounded near 0 only, approximations in f64 by no number.
        _ => None,
    }
}

/// True if both have one sign.
fn is_one_sided(a: Range, b: Range) -> bool {
    a.lo >= 0.0 && b.lo >= 0.0 || a.hi <= 0.0 && b.hi <= 0.0
}

/// A sum; of numbers of one sign it is off by no larger part than they are.
pub(super) fn add(a: Range, b: Range) -> Range {
    let part = match is_one_sided(a, b) {
        true => a.part.max(b.part),
        false => f64::INFINITY,
    };
    Range {
        lo: a.lo + b.lo,
        hi: a.hi + b.hi,
        ..a
    }
    .off_by(a.off + b.off)
    .with(part)
}

/// A number turned round.
pub(super) fn neg(a: Range) -> Range {
    Range {
        lo: -a.hi,
        hi: -a.lo,
        ..a
    }
}

/// A product of independent factors.
pub(super) fn mul(a: Range, b: Range) -> Range {
    let corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
    let off = a.off * b.largest() + b.off * a.largest() + a.off * b.off;
    Range::of(&corners, off).with(a.part + b.part + a.part * b.part)
}

fn div(a: Range, b: Range) -> Option<Range> {
    let least = b.beneath(b.least());
    let is_apart_from_zero = least > 0.0;
    if !is_apart_from_zero {
        return None;
    }
    let corners = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi];
    let quotient = Range::of(&corners, 0.0);
    let off = (a.off + quotient.largest() * b.off) / least;
    Some(
        quotient
            .off_by(off)
            .with((a.part + b.part) / (1.0 - b.part)),
    )
}

/// The distance of roots is the distance by their sum, and at most its own root.
fn root(a: Range) -> Option<Range> {
    let off = match a.lo > 0.0 {
        true => (a.off / a.lo.sqrt()).min(a.off.sqrt()),
        false => a.off.sqrt(),
    };
    // The root of 1 - p is at least 1 - p.
    (a.beneath(a.lo) >= 0.0).then(|| Range::of(&[a.lo.sqrt(), a.hi.sqrt()], off).with(a.part))
}

/// The exponential to the base e.
pub(super) fn exponential(a: Range) -> Range {
    let (top, part) = (libm::exp(a.hi), libm::expm1(a.off));
    Range::of(&[libm::exp(a.lo), top], top * part)
        .with(part)
        .widened()
}

/// The same of operands that depend on each other.
fn tied(op: FloatOp, all: &[Range], tie: Tie) -> Option<Range> {
    let square = |a: Range| Range {
        lo: a.least() * a.least(),
        ..mul(a, a)
    };
    match (op, tie, all) {
        (FloatOp::Mul, Tie::Same, &[a, _]) if !a.is_infinite() => Some(square(a)),
        (FloatOp::Fma, Tie::Same, &[a, _, c]) if !a.is_infinite() && !c.is_infinite() => {
            let square = square(a).widened();
            let lo = square.lo.max(0.0);
            Some(add(Range { lo, ..square }, c))
        }
        (FloatOp::Sub, Tie::NotAbove, all) => {
            let r = exact(op, all)?;
            let hi = r.hi.min(0.0);
            Some(Range { hi, ..r })
        }
        (FloatOp::Div | FloatOp::Mul, Tie::Share, all) => {
            let r = exact(op, all)?.widened();
            let [lo, hi] = [r.lo, r.hi].map(|x| x.clamp(0.0, 1.0));
            Some(Range { lo, hi, ..r }.settled())
        }
        _ => exact(op, all),
    }
}

/// What an operation without rounding makes of operands that are off.
fn exact(op: FloatOp, all: &[Range]) -> Option<Range> {
    match all.iter().any(|r| r.is_infinite()) {
        true => of_infinities(op, all),
        // What is beyond the doubles is no infinity.
        false => of_numbers(op, all).filter(|r| [r.lo, r.hi, r.off].iter().all(|x| x.is_finite())),
    }
}

/// The same of numbers.
fn of_numbers(op: FloatOp, all: &[Range]) -> Option<Range> {
    match (op, all) {
        (FloatOp::Add, &[a, b]) => Some(add(a, b)),
        (FloatOp::Sub, &[a, b]) => Some(add(a, neg(b))),
        (FloatOp::Mul, &[a, b]) => Some(mul(a, b)),
        (FloatOp::Fma, &[a, b, c]) => Some(add(mul(a, b).widened(), c)),
        (FloatOp::Div, &[a, b]) => div(a, b),
        (FloatOp::Rcp, &[a]) => div(Range::known(1.0), a),
        (FloatOp::Sqrt, &[a]) => root(a),
        (FloatOp::Rsqrt, &[a]) => div(Range::known(1.0), root(a)?.widened()),
        (FloatOp::Neg, &[a]) => Some(neg(a)),
        (FloatOp::Abs, &[a]) => Some(Range {
            lo: a.least(),
            hi: a.largest(),
            ..a
        }),
        (FloatOp::Min | FloatOp::Max | FloatOp::Min3 | FloatOp::Max3, all) => {
            let is_max = matches!(op, FloatOp::Max | FloatOp::Max3);
            let pick = |x: f64, y: f64| if is_max { x.max(y) } else { x.min(y) };
            // Parts below 1 leave the signs as they are, and so each is beside the larger (smaller) one.
            let both = |a: Range, b: Range| Range {
                lo: pick(a.lo, b.lo),
                hi: pick(a.hi, b.hi),
                off: a.off.max(b.off),
                part: a.part.max(b.part),
            };
            all.iter().copied().reduce(both)
        }
        (FloatOp::Ex2, &[a]) => {
            let (top, part) = (libm::exp2(a.hi), libm::expm1(a.off * LN_2));
            Some(Range::of(&[libm::exp2(a.lo), top], top * part).with(part))
        }
        (FloatOp::Lg2, &[a]) if a.beneath(a.lo) > 0.0 => {
            let off = a.off / a.beneath(a.lo) / LN_2;
            Some(Range::of(&[libm::log2(a.lo), libm::log2(a.hi)], off))
        }
        (FloatOp::Sin | FloatOp::Cos, &[a]) => Some(Range::of(&[-1.0, 1.0], a.off)),
        // Concave above 0, it is off by no larger part than its operand.
        (FloatOp::Tanh, &[a]) => {
            let ends = [libm::tanh(a.lo), libm::tanh(a.hi)];
            Some(Range::of(&ends, a.off).with(a.part))
        }
        _ => None,
    }
}

/// The same where a constant is infinite, as the start of a maximum is.
fn of_infinities(op: FloatOp, all: &[Range]) -> Option<Range> {
    let below = Range::known(f64::NEG_INFINITY);
    let above = Range::known(f64::INFINITY);
    let is_max = matches!(op, FloatOp::Max | FloatOp::Max3);
    match (op, all) {
        (FloatOp::Min | FloatOp::Max | FloatOp::Min3 | FloatOp::Max3, all) => {
            let (spare, ruling) = if is_max {
                (below, above)
            } else {
                (above, below)
            };
            let rest: Vec<Range> = all.iter().copied().filter(|r| *r != spare).collect();
            match rest[..] {
                [] => Some(spare),
                _ if rest.contains(&ruling) => None,
                _ => of_numbers(op, &rest),
            }
        }
        (FloatOp::Add, &[a, b]) if a == below && !b.is_infinite() => Some(below),
        (FloatOp::Add, &[a, b]) if b == below && !a.is_infinite() => Some(below),
        (FloatOp::Sub, &[a, b]) if a == below && !b.is_infinite() => Some(below),
        (FloatOp::Mul, &[a, b]) if a == below && b.lo - b.off > 0.0 && !b.is_infinite() => {
            Some(below)
        }
        (FloatOp::Mul, &[a, b]) if b == below && a.lo - a.off > 0.0 && !a.is_infinite() => {
            Some(below)
        }
        (FloatOp::Ex2, &[a]) if a == below => Some(Range::known(0.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lo: f64, hi: f64, off: f64) -> Range {
        Range::of(&[lo, hi], off)
    }

    /// The distance that operands may be off, at the ends of their ranges, is within the bound of the result.
    #[test]
    fn what_operands_are_off_reaches_the_result() {
        let apply = |op: FloatOp, x: &[f64]| match op {
            FloatOp::Add => x[0] + x[1],
            FloatOp::Sub => x[0] - x[1],
            FloatOp::Mul => x[0] * x[1],
            FloatOp::Fma => x[0] * x[1] + x[2],
            FloatOp::Div => x[0] / x[1],
            FloatOp::Rcp => 1.0 / x[0],
            FloatOp::Sqrt => x[0].sqrt(),
            FloatOp::Rsqrt => 1.0 / x[0].sqrt(),
            FloatOp::Neg => -x[0],
            FloatOp::Abs => x[0].abs(),
            FloatOp::Min | FloatOp::Min3 => x.iter().copied().fold(f64::INFINITY, f64::min),
            FloatOp::Max | FloatOp::Max3 => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            FloatOp::Ex2 => x[0].exp2(),
            FloatOp::Lg2 => x[0].log2(),
            FloatOp::Sin => x[0].sin(),
            FloatOp::Cos => x[0].cos(),
            FloatOp::Tanh => x[0].tanh(),
            FloatOp::Copysign => x[1].copysign(x[0]),
        };
        let all = [
            FloatOp::Add,
            FloatOp::Sub,
            FloatOp::Mul,
            FloatOp::Fma,
            FloatOp::Div,
            FloatOp::Rcp,
            FloatOp::Sqrt,
            FloatOp::Rsqrt,
            FloatOp::Neg,
            FloatOp::Abs,
            FloatOp::Min,
            FloatOp::Max3,
            FloatOp::Ex2,
            FloatOp::Lg2,
            FloatOp::Sin,
            FloatOp::Cos,
            FloatOp::Tanh,
        ];
        // The last three are off by a part of what they are, where that is less.
        let ranges = [
            range(0.5, 3.0, 1e-3),
            range(1.0, 1.5, 1e-2),
            range(-2.0, 0.25, 1e-3),
            range(0.25, 3.0, 1.0).parted(1e-2),
            range(-3.0, -0.5, 1.0).parted(3e-2),
            range(0.0, 2.0, 1.0).parted(2e-2),
        ];
        let mut bounded = 0;
        for (op, set) in all.into_iter().flat_map(|op| [(op, 0), (op, 3)]) {
            for first in 0..3 {
                let own: Vec<Range> = (0..op.arity())
                    .map(|k| ranges[set + (first + k) % 3])
                    .collect();
                let Some(bound) = exact(op, &own) else {
                    continue;
                };
                bounded += 1;
                // Each operand at five places of its range, as it is and off either way.
                for choice in 0..15usize.pow(op.arity() as u32) {
                    let part = |k: usize| choice / 15usize.pow(k as u32) % 15;
                    let real =
                        |k: usize| own[k].lo + (own[k].hi - own[k].lo) * (part(k) % 5) as f64 / 4.0;
                    let far = |k: usize| own[k].off.min((own[k].part * real(k)).abs());
                    let moved = |k: usize| real(k) + far(k) * (part(k) / 5) as f64 - far(k);
                    let of = |f: &dyn Fn(usize) -> f64| {
                        apply(op, &(0..op.arity()).map(f).collect::<Vec<f64>>())
                    };
                    let (x, y) = (of(&real), of(&moved));
                    let slack = 1e-12;
                    assert!(
                        bound.lo - slack <= x && x <= bound.hi + slack,
                        "{op:?} {x} {bound:?}"
                    );
                    assert!(
                        (x - y).abs() <= bound.off + slack,
                        "{op:?} {x} {y} {bound:?}"
                    );
                    assert!(
                        (x - y).abs() <= (bound.part * x).abs() + slack || !bound.part.is_finite(),
                        "{op:?} {x} {y} {bound:?}"
                    );
                }
            }
        }
        assert!(bounded > 70, "{bounded}");
    }
}
