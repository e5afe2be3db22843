//! Atomic maxima and minima of floats by integer atomics that the sign bit chooses.
//!
//! Problem: no target has `atom.max.f32`, so that compilers order encodings: `max.s32` where the sign bit of the operand is
//! clear, `min.u32` where it is set. Encodings without sign bit order as their numbers and lie above all others; of two
//! with it the lesser one encodes the larger number. So either of the two leaves the larger of memory and operand in one
//! order of all encodings, and both change places with each other whatever memory holds.
//!
//! match `max.sN` of an operand whose sign bit is clear, `min.uN` of one whose sign bit is set / result the larger number
//!
//! match `min.sN` of an operand whose sign bit is clear, `max.uN` of one whose sign bit is set / result the smaller number
//!
//! That the sign bit is so must be known, or be what the condition says under which the atomic happens: a test of the bits,
//! or that the number is above or below 0. That it is at least 0 says nothing of -0.
//!
//! Not claimed: what memory is as a number where one of both is none; there it stays a choice among bits.

use crate::kernel::{AtomOp, FloatOp, Fmt, IntTy, NumTy, Src};
use crate::sim::limits::LIMITS;
use crate::spec::ElemTy;
use crate::term::{ICmp, RCmp, Sort, Term, TermId, TermStore};

use super::machine::Core;
use super::memory::RegionKind;
use super::region::RegionId;
use super::step::Under;
use super::val::Val;
use super::value::Values;
use super::warp::lanes;

/// What a condition says of a sign bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    set: bool,
    /// The condition says no more of it than that.
    exact: bool,
}

impl Values {
    /// The sign bit of a value of this width, where a condition holds.
    fn sign_bit(&mut self, v: Val, width: u8, cond: Option<TermId>) -> Option<bool> {
        if let Val::Conc(bits) = v {
            return Some(bits >> (width - 1) & 1 == 1);
        }
        if v == Val::Absent || v == Val::Unset {
            return None;
        }
        let (bits, real) = (self.bits(v, width), self.real(v, format(width)?));
        if self.store.has_clear_sign(real) {
            return Some(false);
        }
        let (signs, _) = split(&self.store, cond?, (bits, real));
        signs.first().map(|s| s.set)
    }
}

impl Core<'_> {
    /// The operation on floats that an integer atomic is in all lanes that execute it.
    pub(super) fn extremum_by_sign(
        &mut self,
        (w, exec): (usize, u32),
        (op, ty): (AtomOp, NumTy),
        srcs: &[Src],
        under: &Under,
    ) -> Option<(AtomOp, Fmt)> {
        let (NumTy::Int(IntTy { width, signed }), [src]) = (ty, srcs) else {
            return None;
        };
        // Where floats are words, integer atomics are what they are.
        if self.values.words.is_some() {
            return None;
        }
        let fmt = format(width)?;
        let larger = match op {
            AtomOp::Max => signed,
            AtomOp::Min => !signed,
            _ => return None,
        };
        for lane in lanes(exec | under.mask) {
            let cond = (under.mask >> lane & 1 == 1).then(|| under.cond[lane]);
            let v = self.src(w, *src, lane);
            if self.values.sign_bit(v, width, cond)? == signed {
                return None;
            }
        }
        let op = if larger { AtomOp::Max } else { AtomOp::Min };
        Some((op, fmt))
    }

    /// What memory holds after such an atomic; nothing where it is not known that floats are ordered.
    pub(super) fn after_extremum(
        &mut self,
        (op, fmt): (AtomOp, Fmt),
        (region, cond): (RegionId, Option<TermId>),
        [old, given]: [Val; 2],
    ) -> Option<Val> {
        let width = fmt.bits() as u8;
        let folds = |v: Val| matches!(v, Val::Absent | Val::Unset);
        if folds(old) || folds(given) || matches!((old, given), (Val::Conc(_), Val::Conc(_))) {
            return None;
        }
        let array = match self.memory.regions[region.0 as usize].kind {
            RegionKind::Array(a) => self.fixed.arrays[a].elem,
            _ => None,
        };
        let [o, b] = [old, given].map(|v| self.values.bits(v, width));
        let store = &self.values.store;
        let encodes = |t| matches!(store.get(t), Term::OfReal { fmt: f, .. } if f == fmt);
        if array != Some(ElemTy::Float(fmt)) && !encodes(o) && !encodes(b) {
            return None;
        }
        let [x, y] = [old, given].map(|v| self.values.real(v, fmt));
        let s = &mut self.values.store;
        if !s.is_number(x) || !s.is_number(y) {
            return None;
        }
        let below = s.infinity(op == AtomOp::Max);
        let held = s.face(x);
        let (t, other) = match cond {
            None => (extremum(s, op, x, y), y),
            Some(c) => match other_half(s, op, held, (b, y), c) {
                Some((rest, whole)) => {
                    let y = whole.map_or(y, |c| s.select(c, y, below));
                    (rest.map_or(y, |r| extremum(s, op, r, y)), y)
                }
                None => {
                    let y = s.select(c, y, below);
                    (extremum(s, op, x, y), y)
                }
            },
        };
        let float = match op {
            AtomOp::Max => FloatOp::Max,
            _ => FloatOp::Min,
        };
        let operands = [old, Val::Real(fmt, other)];
        let t = self.values.extremum(float, fmt, operands, t);
        Some(Val::Real(fmt, t))
    }
}

fn extremum(s: &mut TermStore, op: AtomOp, a: TermId, b: TermId) -> TermId {
    match op {
        AtomOp::Max => s.max(a, b),
        _ => s.min(a, b),
    }
}

/// The format whose encodings integers of a width order.
fn format(width: u8) -> Option<Fmt> {
    match width {
        32 => Some(Fmt::F32),
        64 => Some(Fmt::F64),
        _ => None,
    }
}

/// The other half of an update that the sign bit takes apart, among the operands of what memory holds.
///
/// match `max(o, p ? v : -inf)`, then `max` with `q ? v : -inf`, where p is `r and the sign bit of v is clear` and q is `r and it
/// is set` / result o, r / because one of both signs is that of v.
///
/// Given back are the other operands, if there are any, and r, if there is one.
fn other_half(
    s: &mut TermStore,
    op: AtomOp,
    old: TermId,
    (bits, v): (TermId, TermId),
    cond: TermId,
) -> Option<(Option<TermId>, Option<TermId>)> {
    let (own, rest) = split(s, cond, (bits, v));
    let [Sign { set, exact: true }] = own[..] else {
        return None;
    };
    let below = s.infinity(op == AtomOp::Max);
    let (mut open, mut operands) = (vec![old], Vec::new());
    while let Some(t) = open.pop() {
        match (op, s.get(t)) {
            (AtomOp::Max, Term::Max(a, b)) | (AtomOp::Min, Term::Min(a, b)) => open.extend([b, a]),
            _ => operands.push(t),
        }
        if operands.len() + open.len() > LIMITS.maximum_operands {
            return None;
        }
    }
    let is_other = |s: &TermStore, t: TermId| {
        let Term::Select(p, a, b) = s.get(t) else {
            return false;
        };
        let (signs, others) = split(s, p, (bits, v));
        let opposite = Sign {
            set: !set,
            exact: true,
        };
        (a, b) == (v, below) && signs[..] == [opposite] && others == rest
    };
    let at = operands.iter().position(|&t| is_other(s, t))?;
    operands.remove(at);
    let left = operands.into_iter().reduce(|a, b| extremum(s, op, a, b));
    let all = rest.into_iter().reduce(|a, b| s.and(a, b));
    Some((left, all))
}

/// What the parts of a conjunction say of the sign bit of a number, and those that say nothing of it.
fn split(s: &TermStore, cond: TermId, (bits, v): (TermId, TermId)) -> (Vec<Sign>, Vec<TermId>) {
    let (mut signs, mut others) = (Vec::new(), Vec::new());
    let mut open = vec![cond];
    while let Some(t) = open.pop() {
        match s.get(t) {
            Term::And(a, b) if open.len() < LIMITS.update_conditions => open.extend([b, a]),
            _ => match sign(s, t, (bits, v)) {
                Some(sign) => signs.push(sign),
                None => others.push(t),
            },
        }
    }
    others.sort_unstable();
    (signs, others)
}

/// What one condition says of the sign bit of a number.
fn sign(s: &TermStore, cond: TermId, (bits, v): (TermId, TermId)) -> Option<Sign> {
    let (inner, holds) = match s.get(cond) {
        Term::Not(p) => (p, false),
        _ => (cond, true),
    };
    let exactly = |set: bool| {
        Some(Sign {
            set: set == holds,
            exact: true,
        })
    };
    let number = |t| s.as_bits(t);
    match s.get(inner) {
        Term::ICmp(op, a, b) => {
            let Sort::Bits(width) = s.sort(bits) else {
                return None;
            };
            let minus_one = u64::MAX >> (64 - width);
            match op {
                // b < 0, 0 <= b, -1 < b, b <= -1
                ICmp::SLt if a == bits && number(b) == Some(0) => exactly(true),
                ICmp::SLe if b == bits && number(a) == Some(0) => exactly(false),
                ICmp::SLt if b == bits && number(a) == Some(minus_one) => exactly(false),
                ICmp::SLe if a == bits && number(b) == Some(minus_one) => exactly(true),
                _ => None,
            }
        }
        Term::RCmp(RCmp::Lt, a, b) if holds => {
            let set = match () {
                () if a == v && s.is_zero(b) => true,
                () if b == v && s.is_zero(a) => false,
                () => return None,
            };
            Some(Sign { set, exact: false })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::kernel::{AtomOp, IntTy};
    use crate::sim::int::atom_int;

    /// The larger of two encodings in the order of all of them.
    fn larger(a: u32, b: u32) -> u32 {
        let key = |x: u32| if x >> 31 == 1 { !x } else { x | 1 << 31 };
        if key(a) >= key(b) { a } else { b }
    }

    fn after(op: AtomOp, signed: bool, old: u32, b: u32) -> u32 {
        let ty = IntTy { width: 32, signed };
        atom_int(op, ty, u64::from(old), u64::from(b), 0) as u32
    }

    /// Encodings near those that matter.
    fn encoding() -> impl Strategy<Value = u32> {
        let special = [
            0.0f32,
            -0.0,
            1.0,
            -1.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN,
            1e-45,
        ];
        let special = special.map(f32::to_bits);
        prop_oneof![
            any::<u32>(),
            (0..special.len(), -1i32..2).prop_map(move |(i, d)| special[i].wrapping_add_signed(d)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

        /// Each of the four is the extremum of one order where the sign bit is as the rule asks, and none is elsewhere.
        #[test]
        fn the_sign_bit_chooses(old in encoding(), b in encoding()) {
            let set = b >> 31 == 1;
            let smaller = |a: u32, b: u32| if larger(a, b) == a { b } else { a };
            let [more, less] = match set {
                true => [AtomOp::Min, AtomOp::Max],
                false => [AtomOp::Max, AtomOp::Min],
            };
            prop_assert_eq!(after(more, !set, old, b), larger(old, b));
            prop_assert_eq!(after(less, !set, old, b), smaller(old, b));
            let (x, y) = (f32::from_bits(old), f32::from_bits(b));
            if !x.is_nan() && !y.is_nan() {
                prop_assert_eq!(f32::from_bits(larger(old, b)), x.max(y));
            }
        }
    }

    #[test]
    fn the_other_sign_is_another_operation() {
        let [one, two] = [-1.0f32, -2.0].map(f32::to_bits);
        // Signed, the encoding of -2 is above that of -1; -0 is below every number as a signed integer.
        assert_ne!(after(AtomOp::Max, true, two, one), larger(two, one));
        let [five, three] = [5.0f32, 3.0].map(f32::to_bits);
        assert_ne!(after(AtomOp::Min, false, five, three), larger(five, three));
        let minus_zero = (-0.0f32).to_bits();
        assert_ne!(
            after(AtomOp::Max, true, one, minus_zero),
            larger(one, minus_zero)
        );
    }
}
