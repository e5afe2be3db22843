//! Bit tricks: what they are recognised as, against the floats that the instructions compute.

use proptest::prelude::*;

use super::*;
use crate::sim::int_sym::{compare_sym, lop3, symbolic};
use crate::sim::{int, int_sym};
use crate::term::eval::{Cone, Inputs};
use crate::term::{ArrayId, BitsOp};

mod masks;

const U32: IntTy = IntTy {
    width: 32,
    signed: false,
};
const S32: IntTy = IntTy {
    width: 32,
    signed: true,
};
const U16: IntTy = IntTy {
    width: 16,
    signed: false,
};

/// The value of a real term in doubles, array i holding `arrays[i]`.
fn real(s: &TermStore, t: TermId, arrays: &[u64]) -> f64 {
    assert_eq!(s.sort(t), Sort::Real);
    approx(s, t, arrays).f
}

fn truth(s: &TermStore, t: TermId, arrays: &[u64]) -> bool {
    assert_eq!(s.sort(t), Sort::Bool);
    approx(s, t, arrays).b != 0
}

fn approx(s: &TermStore, t: TermId, arrays: &[u64]) -> crate::term::approx::Fast {
    let mut inputs = Inputs::default();
    for (i, &v) in arrays.iter().enumerate() {
        inputs.set(ArrayId(i as u32), 0, 8, v);
    }
    let cone = Cone::new(s, &[t]);
    let constants = cone.constants(s);
    cone.approximate(s, &constants, &inputs, &mut Vec::new())[0]
}

/// True if nothing opaque stands below: the trick was recognised.
fn recognised(s: &TermStore, t: TermId) -> bool {
    s.reachable(&[t])
        .iter()
        .all(|&t| !matches!(s.get(t), Term::OfBits { .. } | Term::ICmp(..)))
}

/// True if the bits were read as something.
fn is_known(s: &TermStore, t: TermId) -> bool {
    !matches!(s.get(t), Term::OfBits { .. })
}

fn int_op(s: &mut TermStore, op: IntOp, ty: IntTy, args: &[TermId]) -> TermId {
    let zero = s.bits(32, 0);
    let mut all = [zero; 4];
    all[..args.len()].copy_from_slice(args);
    recognise(s, op, ty, all)
        .or_else(|| symbolic(s, op, ty, all))
        .unwrap()
}

/// An f32 that is an element, or a computed value (its double), with the float it has for input x.
fn float32(s: &mut TermStore, computed: bool, array: u32) -> TermId {
    let x = s.bytes(ArrayId(array), 0, 32);
    if !computed {
        return x;
    }
    let (r, two) = (s.of_bits(Fmt::F32, x), s.integer(2));
    let r = s.mul(r, two);
    s.of_real(Fmt::F32, r)
}

fn actual(computed: bool, x: f32) -> f32 {
    if computed { 2.0 * x } else { x }
}

/// Floats whose double is finite.
fn finite() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>().prop_map(|x| if (2.0 * x).is_finite() { x } else { 1.5 }),
        (-1000i32..1000).prop_map(|i| i as f32 / 8.0),
    ]
}

proptest! {
    #[test]
    fn signs(x in finite(), computed in any::<bool>()) {
        let v = actual(computed, x) as f64;
        for (op, mask, want) in [
            (IntOp::And, 0x7fff_ffff, v.abs()),
            (IntOp::Xor, 0x8000_0000, -v),
            (IntOp::Or, 0x8000_0000, -v.abs()),
        ] {
            let s = &mut TermStore::new();
            let t = float32(s, computed, 0);
            let m = s.bits(32, mask);
            let r = int_op(s, op, U32, &[t, m]);
            let r = s.of_bits(Fmt::F32, r);
            prop_assert!(recognised(s, r));
            prop_assert_eq!(real(s, r, &[x.to_bits() as u64]), want);
            // The general operation says the same without knowing that it is a float.
            let r = symbolic(s, op, U32, [t, m, m, m]).unwrap();
            let r = s.of_bits(Fmt::F32, r);
            prop_assert!(recognised(s, r));
            prop_assert_eq!(real(s, r, &[x.to_bits() as u64]), want);
        }
    }

    #[test]
    fn sign_transfer(x in finite(), y in finite(), computed in any::<bool>()) {
        prop_assume!(y != 0.0);
        let s = &mut TermStore::new();
        let (a, b) = (float32(s, computed, 0), float32(s, computed, 1));
        let m = s.bits(32, 0x7fff_ffff);
        // (a & m) | (b & ~m), as lop3.
        let r = lop3(s, 0xe2, a, m, b);
        let r = s.of_bits(Fmt::F32, r);
        let (va, vb) = (actual(computed, x), actual(computed, y));
        let arrays = [x.to_bits() as u64, y.to_bits() as u64];
        prop_assert!(is_known(s, r));
        prop_assert_eq!(real(s, r, &arrays), va.copysign(vb) as f64);
    }

    #[test]
    fn packed_halves(bits in any::<u32>(), flip in any::<bool>()) {
        let s = &mut TermStore::new();
        let x = s.bytes(ArrayId(0), 0, 32);
        let (op, mask) = if flip { (IntOp::Xor, 0x8000_8000) } else { (IntOp::And, 0x7fff_7fff) };
        let m = s.bits(32, mask);
        let r = int_op(s, op, U32, &[x, m]);
        for fmt in [Fmt::F16, Fmt::Bf16] {
            for i in 0..2 {
                let h = bits >> (16 * i) & 0xffff;
                let Ok(v) = decode(fmt, h as u64) else { continue };
                let e = s.extract(r, 16 * i, 16);
                let t = s.of_bits(fmt, e);
                let want = if flip { -v } else { v.abs() };
                let half = s.bytes(ArrayId(0), 2 * i as u64, 16);
                let elem = s.of_bits(fmt, half);
                let expected = if flip { s.neg(elem) } else { s.fun(Fun::Abs, elem) };
                prop_assert_eq!(t, expected);
                let k = s.rational(want);
                prop_assert_eq!(real(s, t, &[bits as u64]), real(s, k, &[]));
            }
        }
    }

    #[test]
    fn widening_bf16(h in any::<u32>()) {
        let s = &mut TermStore::new();
        let x = s.bytes(ArrayId(0), 0, 32);
        let (k, m) = (s.bits(32, 16), s.bits(32, 0xffff_0000));
        let sel = s.bits(32, 0x1044);
        let zero = s.bits(32, 0);
        let elems = [0u64, 2].map(|o| s.elem(ArrayId(0), Fmt::Bf16, o));
        let low = int_op(s, IntOp::Shl, U32, &[x, k]);
        let perm = int_op(s, IntOp::Prmt, U32, &[x, zero, sel]);
        let high = int_op(s, IntOp::And, U32, &[x, m]);
        prop_assert_eq!(s.of_bits(Fmt::F32, low), elems[0]);
        prop_assert_eq!(s.of_bits(Fmt::F32, perm), elems[0]);
        prop_assert_eq!(s.of_bits(Fmt::F32, high), elems[1]);
        let want = f32::from_bits(h << 16);
        if want.is_finite() {
            prop_assert_eq!(real(s, elems[0], &[h as u64]), want as f64);
        }
    }

    #[test]
    fn extrema_by_integers(x in finite(), y in finite(), clear in 0u8..3) {
        let s = &mut TermStore::new();
        let mut pair = [x, y];
        let mut terms = [float32(s, true, 0), float32(s, true, 1)];
        let m = s.bits(32, 0x7fff_ffff);
        for i in 0..2 {
            pair[i] = actual(true, pair[i]);
            if clear >> i & 1 == 1 || clear == 2 {
                pair[i] = pair[i].abs();
                terms[i] = int_op(s, IntOp::And, U32, &[terms[i], m]);
            }
        }
        let arrays = [x.to_bits() as u64, y.to_bits() as u64];
        for (ty, op) in [(S32, IntOp::Max), (S32, IntOp::Min), (U32, IntOp::Max), (U32, IntOp::Min)] {
            let bits = [pair[0].to_bits() as u64, pair[1].to_bits() as u64, 0, 0];
            let want = f32::from_bits(int::eval(op, ty, bits).0 as u32);
            let z = s.bits(32, 0);
            let got = recognise(s, op, ty, [terms[0], terms[1], z, z]);
            let enough = if ty.signed { clear != 0 } else { clear == 2 };
            prop_assert_eq!(got.is_some(), enough);
            if let Some(t) = got {
                let t = s.of_bits(Fmt::F32, t);
                prop_assert_eq!(real(s, t, &arrays), want as f64);
            }
        }
    }

    #[test]
    fn orders_by_integers(x in finite(), y in finite(), k in finite(), clear in 0u8..4, signed in any::<bool>()) {
        let s = &mut TermStore::new();
        let ty = IntTy { width: 32, signed };
        let arrays = [x.to_bits() as u64, y.to_bits() as u64];
        let (mut a, mut va) = (float32(s, true, 0), actual(true, x));
        let (mut b, mut vb) = (float32(s, true, 1), actual(true, y));
        let m = s.bits(32, 0x7fff_ffff);
        if clear & 1 == 1 {
            (a, va) = (int_op(s, IntOp::And, U32, &[a, m]), va.abs());
        }
        if clear & 2 == 2 {
            (b, vb) = (int_op(s, IntOp::And, U32, &[b, m]), vb.abs());
        }
        let c = s.bits(32, k.to_bits() as u64);
        for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
            for (p, q, u, v) in [(a, b, va, vb), (a, c, va, k), (c, b, k, vb)] {
                let want = int::compare(cmp, ty, u.to_bits() as u64, v.to_bits() as u64);
                if let Some(t) = compare(s, cmp, ty, p, q) {
                    prop_assert_eq!(truth(s, t, &arrays), want, "{:?} {} {}", cmp, u, v);
                }
            }
            let z = s.bits(32, 0);
            let want = int::compare(cmp, ty, va.to_bits() as u64, 0);
            if let Some(t) = compare(s, cmp, ty, a, z) {
                prop_assert_eq!(truth(s, t, &arrays), want);
            }
        }
    }

    #[test]
    fn rounding_additions(i in -4096i32..=4096, c in 0u32..64, rnd in 0usize..4) {
        // x in [0, 512] after clamping, in steps that make ties.
        let x = i as f32 / 4.0;
        let magic = 12_582_912.0f32 + c as f32;
        let s = &mut TermStore::new();
        let elem = s.elem(ArrayId(0), Fmt::F32, 0);
        let (lo, hi) = (s.integer(0), s.integer(512));
        let t = s.max(elem, lo);
        let t = s.min(t, hi);
        let k = s.integer(magic as i64);
        prop_assert!(may_round(s, Fmt::F32, t, k));
        let rnd = [Rnd::Rn, Rnd::Rm, Rnd::Rp, Rnd::Rz][rnd];
        let v = x.clamp(0.0, 512.0) as f64 + magic as f64;
        let want = match rnd {
            Rnd::Rn => v.round_ties_even(),
            Rnd::Rp => v.ceil(),
            _ => v.floor(),
        };
        let r = rounding_sum(s, Fmt::F32, rnd, t, k).unwrap();
        prop_assert_eq!(real(s, r, &[x.to_bits() as u64]), want);
        // Taking the constant away again is exact.
        let n = s.neg(k);
        let back = rounding_sum(s, Fmt::F32, Rnd::Rn, r, n).unwrap();
        prop_assert_eq!(real(s, back, &[x.to_bits() as u64]), want - magic as f64);
        // An unbounded operand is not recognised.
        prop_assert_eq!(rounding_sum(s, Fmt::F32, rnd, elem, k), None);
    }

    #[test]
    fn rounding_additions_of_odd_constants(i in 0i32..=2048, c in 0u32..64, rnd in 0usize..4, minus in any::<bool>()) {
        // The sum lies above 2^24, where floats are two apart, and the constant may be odd.
        let x = i as f32 / 4.0;
        let (magic, first) = (12_582_912i64 + c as i64, 8_388_607i64);
        let sign = if minus { -1 } else { 1 };
        let s = &mut TermStore::new();
        let elem = s.elem(ArrayId(0), Fmt::F32, 0);
        let (lo, hi) = (s.integer(0), s.integer(512));
        let t = s.max(elem, lo);
        let t = s.min(t, hi);
        let (near, by) = (s.integer(first), s.integer(sign));
        let t = s.add(t, near);
        let t = s.mul(t, by);
        let k = s.integer(sign * magic);
        let rnd = [Rnd::Rn, Rnd::Rm, Rnd::Rp, Rnd::Rz][rnd];
        let v = sign as f64 * (x as f64 + (first + magic) as f64);
        let want = 2.0 * match rnd {
            Rnd::Rn => (v / 2.0).round_ties_even(),
            Rnd::Rp => (v / 2.0).ceil(),
            Rnd::Rm => (v / 2.0).floor(),
            _ => (v / 2.0).trunc(),
        };
        let r = rounding_sum(s, Fmt::F32, rnd, t, k).unwrap();
        prop_assert_eq!(real(s, r, &[x.to_bits() as u64]), want);
    }

    #[test]
    fn rounding_additions_of_known_numbers(i in 0i32..=2048, c in 0u32..128, rnd in 0usize..4) {
        let (x, magic) = (i as f32 / 4.0, 12_582_912.0f32 + c as f32);
        let s = &mut TermStore::new();
        let exact = |v: f32| BigRational::from_float(v).unwrap();
        prop_assert!(is_magic(Fmt::F32, &exact(-magic)) && !is_magic(Fmt::F32, &exact(x)));
        prop_assert!(!is_magic(Fmt::F32, &exact(1e7)));
        let (a, b) = (s.rational(exact(x)), s.rational(exact(magic)));
        let rnd = [Rnd::Rn, Rnd::Rm, Rnd::Rp, Rnd::Rz][rnd];
        let v = x as f64 + magic as f64;
        let want = match rnd {
            Rnd::Rn => v.round_ties_even(),
            Rnd::Rp => v.ceil(),
            _ => v.floor(),
        };
        for (a, b) in [(a, b), (b, a)] {
            let r = rounding_sum(s, Fmt::F32, rnd, a, b).unwrap();
            prop_assert_eq!(real(s, r, &[0]), want);
        }
    }

    #[test]
    fn rounding_additions_of_doubles(bits in any::<u64>(), large in any::<bool>()) {
        // Numbers of every size, and those of which some bits are left.
        let x = f64::from_bits(if large { (bits % (1 << 52)) | (0x43 << 56) } else { bits });
        if !x.is_finite() || x.abs() > 1e100 {
            return Ok(());
        }
        let magic = 6_755_399_441_055_744.0f64;
        let s = &mut TermStore::new();
        let (t, k) = (s.elem(ArrayId(0), Fmt::F64, 0), s.integer(magic as i64));
        let r = rounded_sum(s, Fmt::F64, Rnd::Rn, t, k).unwrap();
        let mut inputs = Inputs::default();
        inputs.set(ArrayId(0), 0, 8, x.to_bits());
        let mode = crate::term::eval::Mode::exact(200);
        let want = BigRational::from_float(x + magic).unwrap();
        match &crate::term::eval::evaluate(s, &[r], &inputs, mode)[0] {
            crate::term::eval::Value::Exact(v) => prop_assert_eq!(v, &want),
            v => prop_assert!(false, "{:?} at {}", v, x),
        }
    }

    #[test]
    fn exponents_from_integers(n in any::<i8>()) {
        // (n + 127) << 23.
        let s = &mut TermStore::new();
        let byte = s.bytes(ArrayId(0), 0, 8);
        let n32 = int_sym::extend(s, byte, true, 32);
        let (bias, k) = (s.bits(32, 127), s.bits(32, 23));
        let raw = int_op(s, IntOp::Add, S32, &[n32, bias]);
        let up = int_op(s, IntOp::Shl, S32, &[raw, k]);
        let t = s.of_bits(Fmt::F32, up);
        // -128 and -127 are no normal exponents, so the whole range is not recognised.
        prop_assert!(!is_known(s, t));
        let nibble = s.extract(byte, 0, 4);
        let n32 = int_sym::extend(s, nibble, true, 32);
        let raw = int_op(s, IntOp::Add, S32, &[n32, bias]);
        let up = int_op(s, IntOp::Shl, S32, &[raw, k]);
        let t = s.of_bits(Fmt::F32, up);
        prop_assert!(recognised(s, t));
        let want = 2f64.powi(((n << 4) >> 4) as i32);
        prop_assert_eq!(real(s, t, &[n as u8 as u64]), want);
    }

    #[test]
    fn dequantisation(word in any::<u32>()) {
        let s = &mut TermStore::new();
        let x = s.bytes(ArrayId(0), 0, 32);
        // Nibbles 0 and 4 of a word over the exponents of 1024 in both halves.
        let (m, e) = (s.bits(32, 0x000f_000f), s.bits(32, 0x6400_6400));
        let r = int_op(s, IntOp::Lop3(0xea), U32, &[x, m, e]);
        for (half, shift) in [(0u8, 0), (16, 16)] {
            let h = s.extract(r, half, 16);
            let f = s.of_bits(Fmt::F16, h);
            prop_assert!(recognised(s, f));
            let want = (1024 + (word >> shift & 15)) as f64;
            prop_assert_eq!(real(s, f, &[word as u64]), want);
            let k = s.integer(-1032);
            prop_assert!(may_round(s, Fmt::F16, f, k));
            let d = rounding_sum(s, Fmt::F16, Rnd::Rn, f, k).unwrap();
            prop_assert_eq!(real(s, d, &[word as u64]), want - 1032.0);
        }
        // High nibbles, where the mantissa counts in sixteens.
        let m = s.bits(32, 0x00f0_00f0);
        let r = int_op(s, IntOp::Lop3(0xea), U32, &[x, m, e]);
        let h = s.extract(r, 0, 16);
        let f = s.of_bits(Fmt::F16, h);
        prop_assert_eq!(real(s, f, &[word as u64]), (1024 + (word & 0xf0)) as f64);
        // A byte under the exponent of 2^23: prmt, then subtract 2^23 + 128.
        let (c, sel) = (s.bits(32, 0x4b00_0000), s.bits(32, 0x7650));
        let b = int_op(s, IntOp::Prmt, U32, &[x, c, sel]);
        let f = s.of_bits(Fmt::F32, b);
        let k = s.integer(-(8_388_608 + 128));
        let d = rounding_sum(s, Fmt::F32, Rnd::Rn, f, k).unwrap();
        prop_assert_eq!(real(s, d, &[word as u64]), (word & 0xff) as f64 - 128.0);
    }

    #[test]
    fn integer_polynomials(word in any::<u64>(), k in any::<i8>()) {
        // Dot products of bytes, signed and unsigned, converted to float.
        let s = &mut TermStore::new();
        let (x, y) = (s.bytes(ArrayId(0), 0, 32), s.bytes(ArrayId(0), 4, 32));
        let c = s.bits(32, k as u64);
        let v = [word & 0xffff_ffff, word >> 32, k as u64, 0];
        for (sa, sb) in [(true, true), (false, false), (true, false)] {
            let op = IntOp::Dp4a(sa, sb);
            let t = int_op(s, op, S32, &[x, y, c]);
            let r = s.of_int(true, t);
            let opaque = s.reachable(&[r]).iter().any(|&t| {
                matches!(s.get(t), Term::OfInt { bits, .. } if matches!(s.get(bits), Term::BitsOp(..)))
            });
            prop_assert!(!opaque);
            let want = int::eval(op, S32, v).0 as i32 as f64;
            prop_assert_eq!(real(s, r, &[word]), want);
        }
        // Any expression has the value of its bits, recognised or not.
        for ty in [S32, U32] {
            for op in [IntOp::MulLo, IntOp::Add, IntOp::Sub, IntOp::Min, IntOp::Shr] {
                let t = int_op(s, op, ty, &[x, y]);
                let r = s.of_int(ty.signed, t);
                let bits = int::eval(op, ty, v).0;
                let want = if ty.signed { bits as i32 as f64 } else { bits as f64 };
                prop_assert_eq!(real(s, r, &[word]), want);
            }
            let b = int_op(s, IntOp::Bfe, ty, &[x, c, c]);
            let sum = int_op(s, IntOp::MadLo, ty, &[b, y, x]);
            let r = s.of_int(ty.signed, sum);
            let f = int::eval(IntOp::Bfe, ty, [v[0], v[2], v[2], 0]).0;
            let bits = int::eval(IntOp::MadLo, ty, [f, v[1], v[0], 0]).0;
            let want = if ty.signed { bits as i32 as f64 } else { bits as f64 };
            prop_assert_eq!(real(s, r, &[word]), want);
        }
    }
}

/// u + 0x7fff + (u >> 16 & 1), cut to the high half.
#[test]
fn rounding_to_bf16_in_software() {
    let s = &mut TermStore::new();
    for computed in [false, true] {
        let u = float32(s, computed, 0);
        let want = s.of_bits(Fmt::F32, u);
        let (k, one, half) = (s.bits(32, 16), s.bits(32, 1), s.bits(32, 0x7fff));
        let shifted = int_op(s, IntOp::Shr, U32, &[u, k]);
        let bit = int_op(s, IntOp::And, U32, &[shifted, one]);
        let bias = int_op(s, IntOp::Add, U32, &[bit, half]);
        for sum in [int_op(s, IntOp::Add, U32, &[u, bias]), {
            let t = int_op(s, IntOp::Add, U32, &[u, half]);
            int_op(s, IntOp::Add, U32, &[bit, t])
        }] {
            let high = int_op(s, IntOp::Shr, U32, &[sum, k]);
            let h = s.extract(high, 0, 16);
            assert_eq!(s.of_bits(Fmt::Bf16, h), want);
        }
        // Other constants are not this rounding.
        let wrong = s.bits(32, 0x7ffe);
        let bias = int_op(s, IntOp::Add, U32, &[bit, wrong]);
        let sum = int_op(s, IntOp::Add, U32, &[u, bias]);
        let high = int_op(s, IntOp::Shr, U32, &[sum, k]);
        let h = s.extract(high, 0, 16);
        let t = s.of_bits(Fmt::Bf16, h);
        assert!(matches!(s.get(t), Term::OfBits { .. }));
    }
    // The truncating conversion of a computed value, by shift, mask and permutation.
    let u = float32(s, true, 0);
    let want = s.of_bits(Fmt::F32, u);
    let (k, m, sel) = (s.bits(32, 16), s.bits(32, 0xffff_0000), s.bits(32, 0x7632));
    let high = int_op(s, IntOp::Shr, U32, &[u, k]);
    let h = s.extract(high, 0, 16);
    assert_eq!(s.of_bits(Fmt::Bf16, h), want);
    let cut = int_op(s, IntOp::And, U32, &[u, m]);
    assert_eq!(s.of_bits(Fmt::F32, cut), want);
    let both = int_op(s, IntOp::Prmt, U32, &[u, u, sel]);
    for low in [0, 16] {
        let h = s.extract(both, low, 16);
        assert_eq!(s.of_bits(Fmt::Bf16, h), want);
    }
    // tf32, cut and rounded; any other mask is opaque.
    for (bias, mask, known) in [
        (0, 0xffff_e000u64, true),
        (0x1000, 0xffff_e000, true),
        (0, 0xffff_f000, false),
        (0x0800, 0xffff_e000, false),
    ] {
        let (b, m) = (s.bits(32, bias), s.bits(32, mask));
        let t = int_op(s, IntOp::Add, U32, &[u, b]);
        let t = int_op(s, IntOp::And, U32, &[t, m]);
        let t = s.of_bits(Fmt::F32, t);
        assert_eq!(t == want, known, "{bias:x} {mask:x}");
    }
}

#[test]
fn the_sign_of_zero_is_not_decided() {
    let s = &mut TermStore::new();
    let x = float32(s, true, 0);
    let zero = s.bits(32, 0);
    for (cmp, known) in [
        (Cmp::Gt, true),
        (Cmp::Le, true),
        (Cmp::Lt, false),
        (Cmp::Ge, false),
        (Cmp::Eq, false),
    ] {
        assert_eq!(compare(s, cmp, S32, x, zero).is_some(), known, "{cmp:?}");
        assert_eq!(compare(s, mirrored(cmp), S32, zero, x).is_some(), known);
    }
    let k = s.bits(32, 31);
    let sign = int_op(s, IntOp::Shr, U32, &[x, k]);
    let one = s.bits(32, 1);
    let p = compare_sym(s, Cmp::Eq, U32, sign, one);
    assert!(matches!(s.get(p), Term::ICmp(..)));
    // Maximum of something that may be -0 and of something negative.
    let y = float32(s, true, 1);
    assert_eq!(recognise(s, IntOp::Max, S32, [x, y, zero, zero]), None);
}

/// The instructions that nvcc 13 emits for `expf` without fast math.
#[test]
fn expf_is_a_power_of_two() {
    let s = &mut TermStore::new();
    let x = s.elem(ArrayId(0), Fmt::F32, 0);
    let f = |s: &mut TermStore, bits: u64| {
        let b = s.bits(32, bits);
        s.of_bits(Fmt::F32, b)
    };
    let fma = |s: &mut TermStore, rnd, a, b, c| {
        let p = s.mul(a, b);
        if may_round(s, Fmt::F32, p, c) {
            rounding_sum(s, Fmt::F32, rnd, p, c).unwrap()
        } else {
            s.add(p, c)
        }
    };
    let (half, scale) = (f(s, 0x3f00_0000), f(s, 0x3bbb_989d));
    let t = fma(s, Rnd::Rn, x, scale, half);
    let (zero, one) = (s.integer(0), s.integer(1));
    let t = s.max(t, zero);
    let t = s.min(t, one);
    let (magic, steps) = (f(s, 0x4b40_0001), f(s, 0x437c_0000));
    let j = fma(s, Rnd::Rm, t, steps, magic);
    let back = f(s, 0xcb40_007f);
    let k = fma(s, Rnd::Rn, j, one, back);
    let j_bits = s.of_real(Fmt::F32, j);
    let n = s.bits(32, 23);
    let power = int_op(s, IntOp::Shl, U32, &[j_bits, n]);
    let power = s.of_bits(Fmt::F32, power);
    assert!(recognised(s, power));
    let Term::Fun(Fun::Exp2, e) = s.get(power) else {
        panic!("not a power: {:?}", s.get(power));
    };
    for v in [
        -200.0f32, -87.3, -1.0, -0.3, 0.0, 0.6, 1.0, 33.3, 88.0, 200.0,
    ] {
        let arrays = [v.to_bits() as u64];
        assert_eq!(real(s, e, &arrays), real(s, k, &arrays), "at {v}");
        let want = (v * f32::from_bits(0x3bbb_989d) + 0.5).clamp(0.0, 1.0) as f64 * 252.0;
        assert_eq!(real(s, k, &arrays), want.floor() - 126.0, "at {v}");
    }
    // One constant off, and the shifted bits are not a power of two for certain.
    let wrong = f(s, 0x4b40_0000);
    let j = fma(s, Rnd::Rm, t, steps, wrong);
    let j_bits = s.of_real(Fmt::F32, j);
    let power = int_op(s, IntOp::Shl, U32, &[j_bits, n]);
    let power = s.of_bits(Fmt::F32, power);
    assert!(matches!(s.get(power), Term::OfBits { .. }));
}

#[test]
fn nested_readings_end() {
    let s = &mut TermStore::new();
    let mut t = s.bytes(ArrayId(0), 0, 32);
    let (k, half, ones) = (s.bits(32, 16), s.bits(32, 0x8000), s.bits(32, 0x8000_0000));
    for i in 0..100_000 {
        let y = s.bytes(ArrayId(1), 4 * i, 32);
        t = match i % 3 {
            0 => {
                let r = s.bits_op(BitsOp::Add, t, half);
                let r = int_op(s, IntOp::Shr, U32, &[r, k]);
                int_op(s, IntOp::Shl, U32, &[r, k])
            }
            1 => s.bits_op(BitsOp::Xor, t, ones),
            _ => s.bits_op(BitsOp::Xor, t, y),
        };
    }
    let r = s.of_bits(Fmt::F32, t);
    assert_eq!(s.sort(r), Sort::Real);
    let r = s.of_int(true, t);
    assert_eq!(s.sort(r), Sort::Real);
    assert_eq!(int::result_width(IntOp::Add, U16), 16);
}
