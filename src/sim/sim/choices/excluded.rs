//! Values of a few bits that a condition excludes.
//!
//! The free bits are the exponent of a float, or its upper bits, and the condition compares the float or its magnitude with a
//! constant; or they are the upper bits of an integer that the condition compares with one.
//!
//! Sound: what is excluded cannot happen. Nothing is claimed of what is not.

use num_rational::BigRational;
use num_traits::{Signed, Zero};
use rustc_hash::FxHashMap;

use crate::kernel::FloatOp;
use crate::term::made::Kind;
use crate::term::{ArrayId, Fun, ICmp, RCmp, Term, TermId, TermStore, layout, pow2};

use super::{leaf_width, low};

/// A comparison of the magnitude of a float with a constant, where the free bits hold its exponent,
/// or the upper bits of it.
pub(super) struct Magnitude {
    /// First of the free bits in a trial, and how many there are.
    from: u8,
    width: u8,
    /// Lower bits of the exponent, which are not among them.
    rest: u8,
    bias: i64,
    op: RCmp,
    /// True if the constant is the first operand.
    constant_first: bool,
    constant: BigRational,
}

impl Magnitude {
    pub(super) fn of(
        s: &mut TermStore,
        (fact, tested): (TermId, &Tested),
        leaves: &[(TermId, u8)],
    ) -> Option<Magnitude> {
        let Term::RCmp(op, a, b) = s.get(fact) else {
            return None;
        };
        let mut constant_first = s.as_const(a).is_some();
        let (c, t) = if constant_first { (a, b) } else { (b, a) };
        let mut constant = s.as_const(c)?.clone();
        // A number beyond a positive constant has a magnitude beyond it, and so has one below a negative constant.
        if !matches!(s.get(t), Term::Fun(Fun::Abs, _)) && !s.is_nonnegative(t) {
            let is_far = constant_first == constant.is_positive() && !constant.is_zero();
            if op != RCmp::Eq && !is_far {
                return None;
            }
            constant_first = true;
            constant = constant.abs();
        }
        let x = unsigned(s, t);
        // The exponent is read from the bytes of an input element, or from what a number was
        // rounded to: the bits from `at` on, `width` of them, up to the sign.
        let upper = |at: u64, width: u8, start: u64, fmt| {
            let (exponent, mantissa) = layout(fmt)?;
            let rest = u8::try_from(at.checked_sub(start + mantissa as u64)?).ok()?;
            (rest.checked_add(width)? == exponent).then_some((exponent, rest))
        };
        let exponent = |s: &mut TermStore, l: &(TermId, u8)| {
            if let (Term::Elem { array, fmt, off }, Some(((of, at), width))) =
                (s.get(x), field(s, l.0))
                && of == array
            {
                return upper(at, width, off * 8, fmt);
            }
            let Term::Extract { bits, low, width } = s.get(l.0) else {
                return None;
            };
            match s.get(bits) {
                Term::OfReal { fmt, real }
                    if s.is_rounded_once(real) || tested.asks(s, fact, bits) =>
                {
                    let face = s.face(real);
                    let is_it = unsigned(s, face) == x || s.fun(Fun::Abs, face) == t;
                    is_it.then(|| upper(low as u64, width, 0, fmt))?
                }
                _ => None,
            }
        };
        let (from, (exponent, rest)) = leaves.iter().find_map(|l| Some((l.1, exponent(s, l)?)))?;
        let bias = (1 << (exponent - 1)) - 1;
        Some(Magnitude {
            from,
            width: exponent - rest,
            rest,
            bias,
            op,
            constant_first,
            constant,
        })
    }

    /// True if no float with the exponent of this trial is as the comparison says.
    pub(super) fn excludes(&self, trial: u64) -> bool {
        let first = (low(trial >> self.from, self.width) as i64) << self.rest;
        let last = first + (1 << self.rest) - 1;
        // What is read from an input is finite, and so is what a real is rounded to.
        let last = last.min((1 << (self.width + self.rest)) - 2);
        if first > last {
            return true;
        }
        let least = if first == 0 {
            BigRational::zero()
        } else {
            pow2(first - self.bias)
        };
        let below = pow2(last.max(1) - self.bias + (last != 0) as i64);
        let c = &self.constant;
        let twice = c + c;
        // least <= |x| < below, or rather what x is rounded to: rounding is monotone and leaves
        // powers of two alone, and moves nothing by a factor of two.
        match (self.op, self.constant_first) {
            (RCmp::Lt | RCmp::Le, true) => below <= *c,
            (RCmp::Lt | RCmp::Le, false) => least > twice,
            (RCmp::Eq, _) => least > twice || below <= *c,
        }
    }
}

/// An unsigned comparison of bits with a constant, where the free bits are the upper ones of them.
pub(super) struct Upper {
    /// First of the free bits in a trial, and how many there are.
    from: u8,
    width: u8,
    /// Lower bits, which are not among them.
    rest: u8,
    op: ICmp,
    constant_first: bool,
    constant: u64,
}

impl Upper {
    pub(super) fn of(s: &TermStore, fact: TermId, leaves: &[(TermId, u8)]) -> Option<Upper> {
        let Term::ICmp(op @ (ICmp::ULt | ICmp::ULe | ICmp::Eq), a, b) = s.get(fact) else {
            return None;
        };
        let constant_first = s.as_bits(a).is_some();
        let (c, x) = if constant_first { (a, b) } else { (b, a) };
        let constant = s.as_bits(c)?;
        let part = |t: TermId| match s.get(t) {
            Term::Extract { bits, low, width } => (bits, low, width),
            _ => (t, 0, leaf_width(s, t)),
        };
        let (of, low, width) = part(x);
        leaves.iter().find_map(|&(leaf, from)| {
            let (bits, first, wide) = part(leaf);
            let is_upper = bits == of && first >= low && first + wide == low + width;
            is_upper.then(|| Upper {
                from,
                width: wide,
                rest: first - low,
                op,
                constant_first,
                constant,
            })
        })
    }

    /// True if no bits whose upper ones are those of this trial are as the comparison says.
    pub(super) fn excludes(&self, trial: u64) -> bool {
        let first = low(trial >> self.from, self.width) << self.rest;
        let last = first | ((1 << self.rest) - 1);
        let c = self.constant;
        match (self.op, self.constant_first) {
            (ICmp::ULt, true) => last <= c,
            (ICmp::ULe, true) => last < c,
            (ICmp::ULt, false) => first >= c,
            (ICmp::ULe, false) => first > c,
            _ => c < first || last < c,
        }
    }
}

/// Of which number of the machine a comparison of a real with a constant asks, where numbers remember how they were made.
/// Several computations of one real may round otherwise each.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Tested(FxHashMap<TermId, Option<TermId>>);

impl Tested {
    /// Adds a comparison that was made of an encoding.
    pub(in crate::sim) fn note(&mut self, s: &mut TermStore, test: TermId, encoding: TermId) {
        let encoding = magnitude(s, encoding);
        for test in [test, s.not(test)] {
            let only = self.0.entry(test).or_insert(Some(encoding));
            if *only != Some(encoding) {
                *only = None;
            }
        }
    }

    /// True if each such comparison was made of this number, or of it with another sign.
    fn asks(&self, s: &TermStore, test: TermId, encoding: TermId) -> bool {
        self.0.get(&test) == Some(&Some(magnitude(s, encoding)))
    }
}

/// The encoding of which one differs in its sign at most: the operand of what changes that alone, as an operation or as the
/// bits below the sign with another one.
fn magnitude(s: &TermStore, mut encoding: TermId) -> TermId {
    loop {
        let inner = match s.get(encoding) {
            Term::OfReal { real, .. } => s.as_made(real).and_then(|made| {
                let shape = made.shape(s);
                let is_sign = matches!(shape.kind, Kind::Float(FloatOp::Abs | FloatOp::Neg));
                made.operands()
                    .next()
                    .filter(|_| is_sign && !shape.mods.ftz)
            }),
            Term::Concat(parts) => match parts.first().map(|&p| s.get(TermId(p))) {
                Some(Term::Extract {
                    bits,
                    low: 0,
                    width,
                }) if parts.len() == 2
                    && width + 1 == s.width(bits)
                    && s.width(bits) == s.width(encoding) =>
                {
                    Some(bits)
                }
                _ => None,
            },
            _ => None,
        };
        match inner {
            Some(x) => encoding = x,
            None => return encoding,
        }
    }
}

/// A number without what tells its sign alone.
fn unsigned(s: &TermStore, mut t: TermId) -> TermId {
    while let Term::Fun(Fun::Abs, x) | Term::Neg(x) = s.get(t) {
        t = x;
    }
    t
}

/// The bits of an array, by number of the first, that a term is, and their width.
fn field(s: &TermStore, t: TermId) -> Option<((ArrayId, u64), u8)> {
    match s.get(t) {
        Term::Bytes { array, off, width } => Some(((array, off * 8), width)),
        Term::Extract { bits, low, width } => match s.get(bits) {
            Term::Bytes { array, off, .. } => Some(((array, off * 8 + low as u64), width)),
            _ => None,
        },
        _ => None,
    }
}
