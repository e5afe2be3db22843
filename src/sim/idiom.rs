//! Bit tricks on floats, recognised as what they mean.
//!
//! Only tricks that are exact for every encoding of a real are here: clearing the sign is the
//! absolute value, flipping it the negation, setting it the negated absolute value.

use crate::kernel::{Cmp, Fmt, IntOp, IntTy};
use crate::term::{Fun, RCmp, Term, TermId, TermStore};

/// The number that bits encode, if they are known to be the encoding of a float of this width.
fn float_of(s: &mut TermStore, t: TermId) -> Option<(Fmt, TermId)> {
    match s.get(t) {
        Term::OfReal { fmt, real } => Some((fmt, real)),
        _ => None,
    }
}

/// An integer operation on the encoding of a float; the result is bits again.
pub fn recognise(s: &mut TermStore, op: IntOp, ty: IntTy, a: [TermId; 4]) -> Option<TermId> {
    let (x, mask) = match (s.as_bits(a[0]), s.as_bits(a[1])) {
        (None, Some(m)) => (a[0], m),
        (Some(m), None) => (a[1], m),
        _ => return None,
    };
    let (fmt, real) = float_of(s, x)?;
    if fmt.bits() != ty.width as u32 || fmt.bits() < 16 {
        return None;
    }
    let sign = 1u64 << (fmt.bits() - 1);
    // match `bits(x) & ~sign`, `bits(x) ^ sign`, `bits(x) | sign`; result the encodings of |x|,
    // -x, -|x|; because the sign of a float is its top bit.
    let t = match op {
        IntOp::And if mask == sign - 1 => s.fun(Fun::Abs, real),
        IntOp::Xor if mask == sign => s.neg(real),
        IntOp::Or if mask == sign => {
            let m = s.fun(Fun::Abs, real);
            s.neg(m)
        }
        _ => return None,
    };
    Some(s.of_real(fmt, t))
}

/// A signed comparison of the encoding of a float with zero.
///
/// match `bits(x) > 0` (signed); result `x > 0`; because positive floats have positive encodings,
/// and those of zero and of negative floats are zero or have the sign bit. `bits(x) <= 0` is its
/// negation. Comparisons that tell -0 from 0 are not recognised.
pub fn compare(s: &mut TermStore, cmp: Cmp, ty: IntTy, a: TermId, b: TermId) -> Option<TermId> {
    if !ty.signed || s.as_bits(b) != Some(0) {
        return None;
    }
    let (fmt, real) = float_of(s, a)?;
    if fmt.bits() != ty.width as u32 {
        return None;
    }
    let zero = s.integer(0);
    match cmp {
        Cmp::Gt => Some(s.rcmp(RCmp::Lt, zero, real)),
        Cmp::Le => {
            let p = s.rcmp(RCmp::Lt, zero, real);
            Some(s.not(p))
        }
        _ => None,
    }
}
