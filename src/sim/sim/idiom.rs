//! Bit tricks on floats, recognised as what they mean while the simulator meets them.
//!
//! Problem: kernels work on the encodings of floats with integer instructions, and round with
//! float additions of large constants. Two places recognise that. What integer *moves* of fields
//! mean (signs, exponents, truncations) is decided where the result is read as a float, in
//! `term::encoding`, because until then it may as well be an integer. Here is what has to be
//! decided at once: integer arithmetic and comparisons that order floats, and float additions
//! that round.
//!
//! How encodings order: read as signed integers, encodings without sign bit order as their
//! numbers, and lie above all encodings with sign bit. Zero has two encodings, and which one a
//! computed zero has is not a function of the real. Each rule therefore says what it needs:
//!
//! * signed max and min: one operand has a clear sign bit for certain (an absolute value, a power,
//!   a positive constant), or both are at least 0 as reals;
//! * unsigned max and min, and comparisons of two floats: both have a clear sign bit;
//! * comparisons with a positive constant, and `> 0` and `<= 0`, signed: any float.
//!
//! A sign test (`shr 31`, `< 0`) tells -0 from 0 and stays an opaque bit.
//!
//! Rounding additions: x + c with |c| >= 2^(p-2), p the precision. It is a plain addition where
//! both lie on a grid on which the sum is exact, and otherwise x rounded to the grid of the
//! binade that the sum lies in, if bounds of x show that it lies in one. nvcc's `expf` is
//! recognised through this: the rounded value is an integer n with bounds, its bits shifted into
//! the exponent field read as 2^n, and 2^(x log2(e) - n) * 2^n is what the normal form simplifies.
//!
//! An addition to a double whose operand has no bounds is the float that the sum is rounded to,
//! written out. What is not claimed: such an addition in a narrower format is not recognised, even
//! where programs use it to round values that they know to be small.

use crate::sim::limits::LIMITS;
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

use crate::kernel::{Cmp, FloatMods, FloatOp, Fmt, IntOp, IntTy, Rnd};
use crate::term::made::{Kind, Shape};
use crate::term::overflow::Narrow;
use crate::term::questions::{Asked, Question};
use crate::term::{Class, Fun, ICmp, RCmp, Sort, Term, TermId, TermStore, decode, pow2};

/// The number that bits encode, if they are known to be the encoding of a float.
fn float_of(s: &TermStore, t: TermId) -> Option<(Fmt, TermId)> {
    match s.get(t) {
        Term::OfReal { fmt, real } if fmt.bits() >= 16 => Some((fmt, s.face(real))),
        _ => None,
    }
}

/// True for the encoding of a number that remembers how it was made, whose bits stay its own.
fn is_made(s: &TermStore, t: TermId) -> bool {
    match s.get(t) {
        Term::OfReal { real, .. } => s.as_made(real).is_some(),
        _ => false,
    }
}

/// Two operands as floats of one format, at least one of which is known to be a float; a constant
/// or an element of an input is then the encoding that it must be. With each, whether its sign
/// bit is clear for certain.
fn floats(
    s: &mut TermStore,
    ty: IntTy,
    a: TermId,
    b: TermId,
) -> Option<(Fmt, [(TermId, bool); 2])> {
    let (fmt, _) = float_of(s, a).or_else(|| float_of(s, b))?;
    if fmt.bits() != ty.width as u32 {
        return None;
    }
    let mut out = [(a, false); 2];
    for (slot, t) in out.iter_mut().zip([a, b]) {
        *slot = match s.get(t) {
            Term::OfReal { fmt: f, real } if f == fmt => {
                let real = s.face(real);
                (real, s.has_clear_sign(real))
            }
            Term::BitsConst { value, .. } => {
                // NaN patterns order as integers but not as numbers.
                if decode(fmt, value) == Err(crate::term::NotFinite::Nan) {
                    return None;
                }
                let clear = value >> (ty.width - 1) & 1 == 0;
                (s.of_bits(fmt, t), clear)
            }
            Term::Bytes { .. } => (s.of_bits(fmt, t), false),
            _ => return None,
        };
    }
    Some((fmt, out))
}

/// An integer operation on the encoding of a float; the result is bits again.
pub fn recognise(s: &mut TermStore, op: IntOp, ty: IntTy, a: [TermId; 4]) -> Option<TermId> {
    match op {
        IntOp::And | IntOp::Or | IntOp::Xor if a[..2].iter().any(|&t| is_made(s, t)) => None,
        IntOp::And | IntOp::Or | IntOp::Xor => sign(s, op, ty, a[0], a[1]),
        IntOp::Min | IntOp::Max => extremum(s, op, ty, a[0], a[1]),
        _ => None,
    }
}

/// match `bits(x) & ~sign`, `bits(x) | sign`, `bits(x) ^ sign`
/// result the encodings of |x|, -|x|, -x
/// because the sign of a float is its top bit.
fn sign(s: &mut TermStore, op: IntOp, ty: IntTy, a: TermId, b: TermId) -> Option<TermId> {
    let (x, mask) = match (s.as_bits(a), s.as_bits(b)) {
        (None, Some(m)) => (a, m),
        (Some(m), None) => (b, m),
        _ => return None,
    };
    let (fmt, real) = float_of(s, x)?;
    if fmt.bits() != ty.width as u32 {
        return None;
    }
    let sign = 1u64 << (fmt.bits() - 1);
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

/// match `max(bits(x), bits(y))`, `min(bits(x), bits(y))`
/// result the encoding of the larger or smaller number
/// because encodings order as above; at zeros of either sign the result is a zero or the other
/// operand, whichever the real extremum is.
fn extremum(s: &mut TermStore, op: IntOp, ty: IntTy, a: TermId, b: TermId) -> Option<TermId> {
    let (fmt, [(x, x_clear), (y, y_clear)]) = floats(s, ty, a, b)?;
    // What is not a number is above all others as bits, and dropped as a number.
    if !s.is_number(x) || !s.is_number(y) {
        return None;
    }
    let sound = if ty.signed {
        x_clear || y_clear || s.is_nonnegative(x) && s.is_nonnegative(y)
    } else {
        x_clear && y_clear
    };
    if !sound {
        return None;
    }
    let t = if op == IntOp::Max {
        s.max(x, y)
    } else {
        s.min(x, y)
    };
    if !is_made(s, a) && !is_made(s, b) {
        return Some(s.of_real(fmt, t));
    }
    let op = match op {
        IntOp::Max => FloatOp::Max,
        _ => FloatOp::Min,
    };
    let shape = Shape::new(Kind::Float(op), fmt, fmt, FloatMods::default());
    let t = s.made(t, shape, &[a, b]);
    Some(s.of_real(fmt, t))
}

/// The ordered comparison of numbers that an integer comparison of two encodings is or negates, with the numbers in its order.
pub fn ordered(cmp: Cmp, (a, b): (TermId, TermId)) -> Option<(RCmp, TermId, TermId)> {
    Some(match cmp {
        Cmp::Eq | Cmp::Ne => (RCmp::Eq, a, b),
        Cmp::Lt => (RCmp::Lt, a, b),
        Cmp::Le => (RCmp::Le, a, b),
        Cmp::Gt => (RCmp::Lt, b, a),
        Cmp::Ge => (RCmp::Le, b, a),
        _ => return None,
    })
}

/// The format of encodings that are compared as integers of a width.
pub fn encoded(s: &TermStore, ty: IntTy, a: TermId, b: TermId) -> Option<Fmt> {
    let (fmt, _) = float_of(s, a).or_else(|| float_of(s, b))?;
    (fmt.bits() == u32::from(ty.width)).then_some(fmt)
}

/// An integer comparison of encodings of floats, as a comparison of the numbers.
pub fn compare(s: &mut TermStore, cmp: Cmp, ty: IntTy, a: TermId, b: TermId) -> Option<TermId> {
    let zero = |s: &TermStore, t| s.as_bits(t) == Some(0);
    let (cmp, a, b) = if zero(s, a) {
        (mirrored(cmp), b, a)
    } else {
        (cmp, a, b)
    };
    let (fmt, [(x, x_clear), (y, y_clear)]) = floats(s, ty, a, b)?;
    let positive = |s: &TermStore, t: TermId, clear: bool| {
        clear
            && (s.as_const(t).is_some_and(|c| c.is_positive())
                || matches!(s.get(t), Term::Inf { .. }))
    };
    let sound = x_clear && y_clear
        || ty.signed && (positive(s, x, x_clear) || positive(s, y, y_clear))
        // Zeros of both signs are not above 0, and are at most 0.
        || ty.signed && zero(s, b) && matches!(cmp, Cmp::Gt | Cmp::Le);
    if !sound {
        return None;
    }
    match cmp {
        Cmp::Eq | Cmp::Ne => {
            if !s.is_number(x) || !s.is_number(y) {
                return None;
            }
            let p = s.rcmp(RCmp::Eq, x, y);
            Some(if cmp == Cmp::Eq { p } else { s.not(p) })
        }
        Cmp::Lt => below(s, fmt, (x, y), RCmp::Lt),
        Cmp::Le => below(s, fmt, (x, y), RCmp::Le),
        Cmp::Gt => below(s, fmt, (y, x), RCmp::Lt),
        Cmp::Ge => below(s, fmt, (y, x), RCmp::Le),
        _ => None,
    }
}

/// Whether the encoding of x is below that of y.
///
/// match `bits(x) < bits(y)` / result `x < y`, or y is not a number and x is one / because what is not a number
/// has the largest encodings, of which it may be any; so one of both has to be a number.
fn below(s: &mut TermStore, fmt: Fmt, (x, y): (TermId, TermId), op: RCmp) -> Option<TermId> {
    if !s.is_number(x) && !s.is_number(y) {
        return None;
    }
    let holds = s.rcmp(op, x, y);
    // With its sign what is not a number has encodings below all others too.
    let clear = |s: &TermStore, t| s.is_number(t) || s.has_clear_sign(t);
    if !clear(s, x) || !clear(s, y) {
        return None;
    }
    let narrow = Narrow::default();
    if s.may_overflow(Class::Nan, y, &narrow) && !s.has_one_tree(y, &narrow) {
        return None;
    }
    let p = s.is_found(Class::Nan, (fmt, y), &narrow);
    Some(s.or(holds, p))
}

/// An unsigned comparison of bits that are encodings of floats, as [`compare`] has it.
pub fn unsigned_order(
    s: &mut TermStore,
    op: ICmp,
    a: TermId,
    b: TermId,
) -> Option<(TermId, Question)> {
    let (cmp, order) = match op {
        ICmp::ULt => (Cmp::Lt, RCmp::Lt),
        ICmp::ULe => (Cmp::Le, RCmp::Le),
        _ => return None,
    };
    let Sort::Bits(width) = s.sort(a) else {
        return None;
    };
    let ty = IntTy {
        width,
        signed: false,
    };
    let (fmt, [(x, _), (y, _)]) = floats(s, ty, a, b)?;
    let holds = compare(s, cmp, ty, a, b)?;
    let question = Question {
        asked: Asked::Order(order),
        fmt,
        operands: [x, y],
    };
    Some((holds, question))
}

fn mirrored(cmp: Cmp) -> Cmp {
    match cmp {
        Cmp::Lt => Cmp::Gt,
        Cmp::Le => Cmp::Ge,
        Cmp::Gt => Cmp::Lt,
        Cmp::Ge => Cmp::Le,
        other => other,
    }
}

/// True if the addition of these reals in a format must not be taken for a plain one: one is a
/// constant so large that the sum keeps few or no fraction bits, the other is not a constant.
pub fn may_round(s: &TermStore, fmt: Fmt, a: TermId, b: TermId) -> bool {
    let limit = pow2(fmt.precision() as i64 - 2);
    let large = |t: TermId| s.as_const(t).is_some_and(|c| c.abs() >= limit);
    large(a) || large(b)
}

/// True for the constants that programs add only to round: 2^(p-1), and 3 * 2^(p-2) with a little on
/// top that becomes an exponent. With any other, the sum of two known numbers is one of reals.
pub fn is_magic(fmt: Fmt, c: &BigRational) -> bool {
    let p = fmt.precision() as i64;
    let (c, middle) = (c.abs(), pow2(p - 1) + pow2(p - 2));
    c == pow2(p - 1) || c >= middle && c <= middle + pow2(8) && c.is_integer()
}

/// The sum of a constant and a real in a float format where [`may_round`] says that it may be a
/// rounding; `None` if it is not recognised.
///
/// match x + c, exact on a common grid / result the sum / because every multiple of 2^g up to
/// 2^(p+g) is a float.
///
/// match x + c within one binade / result c + u * round(x / u), u the distance of floats there /
/// because the sum is rounded to a multiple of u and c is one; to nearest, ties go to even
/// multiples, which an odd c / u shifts by one.
///
/// match x + c within one binade, c no multiple of u / result u * round((x + c) / u) / because an
/// even multiple of u is a float whose significand is even.
pub fn rounding_sum(s: &mut TermStore, fmt: Fmt, rnd: Rnd, a: TermId, b: TermId) -> Option<TermId> {
    if !matches!(s.sort(a), Sort::Real) || fmt.bits() < 16 {
        return None;
    }
    let (x, c) = if s.as_const(b).is_some() {
        (a, b)
    } else {
        (b, a)
    };
    let k = s.as_const(c)?.clone();
    let p = fmt.precision() as i64;
    let bounds = s.bounds_or_facts(x);
    let (lo, hi) = (bounds.lo? + &k, bounds.hi? + &k);
    let size = if lo.abs() > hi.abs() { &lo } else { &hi }.abs();
    let constant_grid = s.grid(c)?;
    if let Some(g) = s.grid(x).map(|g| g.min(constant_grid))
        && g > -1000
        && size <= pow2((p + g).min(1000))
    {
        return Some(s.add(x, c));
    }
    if !(lo.is_positive() || hi.is_negative()) {
        return None;
    }
    let smallest = if lo.is_positive() { &lo } else { &hi }.abs();
    let e = exponent(&smallest);
    if size > pow2(e + 1) {
        return None;
    }
    let u = e - p + 1;
    let steps = &k / pow2(u);
    // Where the constant is no multiple of the unit, only the whole sum can be rounded.
    let (x, steps) = match steps.is_integer() {
        true => (x, steps),
        false => (s.add(x, c), BigRational::zero()),
    };
    let (f, odd) = match rnd {
        Rnd::None | Rnd::Rn => (Fun::RoundEven, steps.to_integer().is_odd()),
        Rnd::Rm => (Fun::Floor, false),
        Rnd::Rp => (Fun::Ceil, false),
        Rnd::Rz if lo.is_positive() => (Fun::Floor, false),
        Rnd::Rz => (Fun::Ceil, false),
        _ => return None,
    };
    let shift = BigRational::from_integer(BigInt::from(odd as i64));
    let (scale, unit) = (s.rational(pow2(-u)), s.rational(pow2(u)));
    let mut y = s.mul(x, scale);
    if !shift.is_zero() {
        let one = s.rational(shift.clone());
        y = s.add(y, one);
    }
    let rounded = s.fun(f, y);
    let rounded = s.mul(rounded, unit);
    let rest = s.rational((steps - shift) * pow2(u));
    Some(s.add(rounded, rest))
}

/// The large constant among two terms if it is what programs mask with, as a number to show: its
/// floats lie so far apart, or it is such a number, that nobody rounds with it. The sum with it is
/// meant to lie below all others, or to be compared with such.
///
/// match x + c with c < 0, |c| a power of ten, the largest number of a format, or at least 2^(p+5), and
/// c not a few bits wide, as what rounds is / result the sum of the reals / because what adds and
/// takes away a large number to round adds a positive one.
pub fn mask(s: &TermStore, fmt: Fmt, a: TermId, b: TermId) -> Option<String> {
    let (x, y) = (s.as_const(a), s.as_const(b));
    let c = x.or(y).filter(|c| c.is_negative())?;
    let size = c.abs();
    let odd = size.numer() >> size.numer().trailing_zeros().unwrap_or(0);
    if odd.bits() < LIMITS.mask_bits {
        return None;
    }
    let wide = size >= pow2(fmt.precision() as i64 + 5);
    let (bits, width) = (crate::term::encode_exact(fmt, &size)?, fmt.bits());
    // One more in the last place is infinity.
    let largest = decode(fmt, bits + 1).is_err();
    let shown = num_traits::ToPrimitive::to_f64(c)?;
    let shown = if width > 32 {
        format!("{shown:e}")
    } else {
        format!("{:e}", shown as f32)
    };
    let ten = shown.trim_start_matches('-').starts_with("1e");
    (wide || largest || ten).then_some(shown)
}

/// The sum of a constant and a real in binary64 as the float that it is rounded to, whatever the
/// real is: the library's functions of doubles round to integers before they look at the size of
/// their argument.
///
/// match x + c, to the nearest / result u * round((x + c) / u) with u = 2^(floor(log2(m)) - p + 1),
/// m = max(|x + c|, the least normal) / because floats of the binade of a number, and below the
/// least normal, lie u apart.
pub fn rounded_sum(s: &mut TermStore, fmt: Fmt, rnd: Rnd, a: TermId, b: TermId) -> Option<TermId> {
    let constant = |t| s.as_const(t).is_some_and(|c| is_magic(fmt, c));
    let nearest = matches!(rnd, Rnd::None | Rnd::Rn);
    if fmt != Fmt::F64 || !nearest || !(constant(a) || constant(b)) {
        return None;
    }
    let (least, last) = (
        s.rational(pow2(-1022)),
        s.integer(1 - fmt.precision() as i64),
    );
    let sum = s.add(a, b);
    let size = s.fun(Fun::Abs, sum);
    let size = s.max(size, least);
    let e = s.fun(Fun::Log2, size);
    let e = s.fun(Fun::Floor, e);
    let e = s.add(e, last);
    let unit = s.fun(Fun::Exp2, e);
    let steps = s.div(sum, unit);
    let steps = s.fun(Fun::RoundEven, steps);
    Some(s.mul(steps, unit))
}

/// The e with 2^e <= x < 2^(e+1), for positive x.
fn exponent(x: &BigRational) -> i64 {
    let e = x.numer().bits() as i64 - x.denom().bits() as i64;
    if pow2(e) <= *x { e } else { e - 1 }
}

#[cfg(test)]
mod tests;
