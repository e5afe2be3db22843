//! Sums and products of f32 that are rounded towards zero or an infinity, by the processor's doubles.
//!
//! A product of two singles is a double, and a sum that is rounded to odd ([`super::half`]) lies on the same side of every
//! single as the exact one. Its nearest single is the result, or the neighbour on the side that the direction says.
//!
//! Not claimed: exact zeros, whose sign the operands and the direction decide, and what is not finite.

use crate::scalar::{FloatOp, Rnd};

use super::half::sum_to_odd;

/// The bits of a result; `None` where the general way decides.
pub(super) fn operation(op: FloatOp, rnd: Rnd, bits: [u64; 3]) -> Option<u64> {
    let [x, y, z] = bits.map(|b| f64::from(f32::from_bits(b as u32)));
    let exact = match op {
        FloatOp::Add => sum_to_odd(x, y),
        FloatOp::Sub => sum_to_odd(x, -y),
        FloatOp::Mul => x * y,
        FloatOp::Fma => sum_to_odd(x * y, z),
        _ => return None,
    };
    if exact == 0.0 || !exact.is_finite() {
        return None;
    }
    let near = exact as f32;
    let (is_above, is_below) = (f64::from(near) > exact, f64::from(near) < exact);
    let (down, up) = match rnd {
        Rnd::Rz => (is_above && exact > 0.0, is_below && exact < 0.0),
        Rnd::Rm => (is_above, false),
        Rnd::Rp => (false, is_below),
        _ => return None,
    };
    // Encodings are in the order of the magnitudes.
    let grows = if near.is_sign_negative() { down } else { up };
    let bits = near.to_bits();
    let bits = match (down || up, grows) {
        (false, _) => bits,
        (true, true) => bits + 1,
        (true, false) => bits - 1,
    };
    Some(bits.into())
}
