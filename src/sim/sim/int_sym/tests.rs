//! Every symbolic rule against concrete evaluation with values put in for the leaves.

use proptest::prelude::*;

use super::*;
use crate::sim::int::samples::{all_ops, only_32};
use crate::sim::int::tests::word64;
use crate::sim::int::{compare, cvt_int, eval, eval_packed};
use crate::term::eval::{Inputs, Mode, Value, evaluate};
use crate::term::{ArrayId, Term};

/// The value of a bit-vector or truth term whose leaves are bytes of arrays.
pub(in crate::sim) fn value(s: &TermStore, root: TermId, arrays: &[u64]) -> u64 {
    let mut inputs = Inputs::default();
    for (i, &x) in arrays.iter().enumerate() {
        inputs.set(ArrayId(i as u32), 0, 8, x);
    }
    match evaluate(s, &[root], &inputs, Mode::exact(64))[..] {
        [Value::Bits(v)] => v,
        [Value::Bool(b)] => b.into(),
        ref other => panic!("unexpected value {other:?}"),
    }
}

/// What a leaf of a test looks like.
#[derive(Clone, Debug)]
enum Leaf {
    /// A constant.
    Known(u64),
    /// Bytes of an array.
    Input(u64),
    /// A field of an input between constant bits: low position, width, value around it.
    Masked(u64, u8, u8, u64),
    /// A sign-extended field.
    Extended(u64, u8),
}

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        word64().prop_map(Leaf::Known),
        word64().prop_map(Leaf::Input),
        word64().prop_map(Leaf::Input),
        (word64(), 0u8..64, 1u8..64, prop_oneof![Just(0), word64()])
            .prop_map(|(x, l, w, k)| Leaf::Masked(x, l, w, k)),
        (word64(), 1u8..64).prop_map(|(x, w)| Leaf::Extended(x, w)),
    ]
}

/// The term of a leaf in `w` bits; its array's content is pushed, its value returned.
fn build(s: &mut TermStore, leaf: &Leaf, w: u8, arrays: &mut Vec<u64>) -> (TermId, u64) {
    let mut input = |s: &mut TermStore, x: u64, w: u8| {
        arrays.push(x);
        let bytes = s.bytes(ArrayId(arrays.len() as u32 - 1), 0, w.next_multiple_of(8));
        s.extract(bytes, 0, w)
    };
    let t = match *leaf {
        Leaf::Known(k) => s.bits(w, k),
        Leaf::Input(x) => input(s, x, w),
        Leaf::Masked(x, low, n, k) => {
            let low = low % w;
            let n = n.min(w - low);
            let middle = input(s, x, n);
            let mut parts = Vec::new();
            if low > 0 {
                parts.push(s.bits(low, k));
            }
            parts.push(middle);
            if low + n < w {
                parts.push(s.bits(w - low - n, k >> (low + n)));
            }
            s.concat(&parts)
        }
        Leaf::Extended(x, n) => {
            let x = input(s, x, n.min(w));
            s.sign_extend(x, w)
        }
    };
    let v = value(s, t, arrays);
    (t, v)
}

const TYPES: [IntTy; 8] = {
    const fn ty(width: u8, signed: bool) -> IntTy {
        IntTy { width, signed }
    }
    [
        ty(8, false),
        ty(8, true),
        ty(16, false),
        ty(16, true),
        ty(32, false),
        ty(32, true),
        ty(64, false),
        ty(64, true),
    ]
};

/// Operand widths as the simulator passes them.
fn operand_width(op: IntOp, ty: IntTy, i: usize) -> u8 {
    match (op, i) {
        (IntOp::MadWide, 2) if ty.width < 64 => ty.width * 2,
        (IntOp::Shl | IntOp::Shr, 1) | (IntOp::Bfe, 1 | 2) | (IntOp::Bfi, 2 | 3) => 32,
        (IntOp::AddCarry | IntOp::SubBorrow, 2) | (IntOp::MadLoCarry | IntOp::MadHiCarry, 3) => 1,
        _ => ty.width,
    }
}

fn check(op: IntOp, ty: IntTy, leaves: &[Leaf; 4]) -> Result<bool, TestCaseError> {
    let (mut s, mut arrays) = (TermStore::new(), Vec::new());
    let mut args = [TermId(0); 4];
    let mut vals = [0; 4];
    for i in 0..4 {
        let w = operand_width(op, ty, i);
        (args[i], vals[i]) = build(&mut s, &leaves[i], w, &mut arrays);
    }
    let (want, carry) = eval(op, ty, vals);
    let Some(t) = symbolic(&mut s, op, ty, args) else {
        return Ok(false);
    };
    prop_assert_eq!(
        s.sort(t),
        Sort::Bits(int::result_width(op, ty)),
        "{:?} {:?}",
        op,
        ty
    );
    prop_assert_eq!(value(&s, t, &arrays), want, "{:?} {:?} {:x?}", op, ty, vals);
    if let Some(t) = symbolic_carry(&mut s, op, ty, args) {
        prop_assert_eq!(
            value(&s, t, &arrays),
            carry as u64,
            "{:?} {:?} {:x?}",
            op,
            ty,
            vals
        );
    }
    Ok(true)
}

proptest! {
    #[test]
    fn terms_agree_with_values(leaves in prop::array::uniform4(leaf()), k in any::<u8>()) {
        for op in all_ops(k) {
            for ty in TYPES {
                if only_32(op) && ty.width != 32 {
                    continue;
                }
                check(op, ty, &leaves)?;
            }
        }
    }

    #[test]
    fn constant_amounts_have_terms(x in word64(), y in word64(), n in 0u64..70, m in 0u64..70) {
        let s = [Leaf::Input(x), Leaf::Known(n), Leaf::Known(m), Leaf::Known(0)];
        let f = [Leaf::Input(x), Leaf::Input(y), Leaf::Known(n), Leaf::Known(m)];
        for ty in TYPES {
            prop_assert!(check(IntOp::Shl, ty, &s)?);
            prop_assert!(check(IntOp::Shr, ty, &s)?);
            prop_assert!(check(IntOp::Bfe, ty, &s)?);
            prop_assert!(check(IntOp::Bfi, ty, &f)?);
        }
        for op in [IntOp::Prmt, IntOp::ShfLClamp, IntOp::ShfLWrap, IntOp::ShfRClamp] {
            prop_assert!(check(op, TYPES[4], &f)?);
        }
        let p = [Leaf::Input(x), Leaf::Input(y), Leaf::Known(n << 8 | m), Leaf::Known(0)];
        prop_assert!(check(IntOp::Prmt, TYPES[4], &p)?);
        let p = [Leaf::Input(x), Leaf::Input(y), Leaf::Known(x & 0xffff), Leaf::Known(0)];
        prop_assert!(check(IntOp::Prmt, TYPES[4], &p)?);
    }

    #[test]
    fn programs_agree_with_values(
        leaves in prop::collection::vec(leaf(), 4),
        steps in prop::collection::vec((0usize..80, 0usize..8, 0usize..8, 0usize..8, 0usize..8), 1..12),
        k in any::<u8>(),
    ) {
        let ty = IntTy { width: 32, signed: k & 4 == 4 };
        let ops = all_ops(k);
        let (mut s, mut arrays) = (TermStore::new(), Vec::new());
        let mut pool: Vec<(TermId, u64)> = Vec::new();
        for l in &leaves {
            let v = build(&mut s, l, 32, &mut arrays);
            pool.push(v);
        }
        for n in [0u64, 1, 4, 8, 16, 24, 31, 0xff, 0xffff, 0x7fff_ffff, 0xff00_ff00] {
            let t = s.bits(32, n);
            pool.push((t, n));
        }
        for (op, a, b, c, d) in steps {
            let op = ops[op % ops.len()];
            let at = |i: usize| pool[(i * 7 + pool.len() - 1 - i) % pool.len()];
            let args = [a, b, c, d].map(at);
            let Some(t) = symbolic(&mut s, op, ty, args.map(|x| x.0)) else { continue };
            let v = eval(op, ty, args.map(|x| x.1)).0;
            if int::result_width(op, ty) != 32 {
                continue;
            }
            prop_assert_eq!(value(&s, t, &arrays), v, "{:?} {:x?}", op, args);
            pool.push((t, v));
        }
    }

    #[test]
    fn packed_terms_agree(leaves in prop::array::uniform4(leaf())) {
        let (mut s, mut arrays) = (TermStore::new(), Vec::new());
        let built = leaves.map(|l| build(&mut s, &l, 32, &mut arrays));
        for op in [IntOp::Add, IntOp::Sub, IntOp::Min, IntOp::Max, IntOp::MaxRelu] {
            for ty in [TYPES[2], TYPES[3]] {
                let t = symbolic_packed(&mut s, op, ty, 2, built.map(|x| x.0)).unwrap();
                let want = eval_packed(op, ty, 2, built.map(|x| x.1)).0;
                prop_assert_eq!(value(&s, t, &arrays), want);
            }
        }
    }

    #[test]
    fn conversions_agree(l in leaf(), sat in any::<bool>()) {
        for from in TYPES {
            for to in TYPES {
                let width = to.width.max(16);
                let (mut s, mut arrays) = (TermStore::new(), Vec::new());
                let (t, v) = build(&mut s, &l, from.width, &mut arrays);
                let r = cvt_int_sym(&mut s, from, to, sat, t, width);
                prop_assert_eq!(s.sort(r), Sort::Bits(width));
                let want = cvt_int(from, to, sat, v, width);
                prop_assert_eq!(value(&s, r, &arrays), want, "{:?} {:?} {:x}", from, to, v);
            }
        }
    }

    #[test]
    fn comparisons_agree(a in leaf(), b in leaf()) {
        for ty in TYPES {
            for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
                let (mut s, mut arrays) = (TermStore::new(), Vec::new());
                let (x, u) = build(&mut s, &a, ty.width, &mut arrays);
                let (y, v) = build(&mut s, &b, ty.width, &mut arrays);
                let p = compare_sym(&mut s, cmp, ty, x, y);
                prop_assert_eq!(s.sort(p), Sort::Bool);
                prop_assert_eq!(value(&s, p, &arrays) == 1, compare(cmp, ty, u, v));
            }
        }
    }

    #[test]
    fn boolean_functions_agree(leaves in prop::array::uniform4(leaf())) {
        for table in 0..=255 {
            check(IntOp::Lop3(table), TYPES[4], &leaves)?;
        }
    }
}

const U32: IntTy = TYPES[4];

fn op(s: &mut TermStore, op: IntOp, args: &[TermId]) -> TermId {
    let zero = s.bits(32, 0);
    let mut all = [zero; 4];
    all[..args.len()].copy_from_slice(args);
    symbolic(s, op, U32, all).unwrap()
}

#[test]
fn packing_and_unpacking_give_back_the_same_terms() {
    let s = &mut TermStore::new();
    let [x, y] = [0, 2].map(|off| s.bytes(ArrayId(0), off, 16));
    let both = s.bytes(ArrayId(0), 0, 32);
    let k = |s: &mut TermStore, v: u64| s.bits(32, v);
    let (wx, wy) = (s.zero_extend(x, 32), s.zero_extend(y, 32));
    // x | y << 16.
    let n = k(s, 16);
    let high = op(s, IntOp::Shl, &[wy, n]);
    assert_eq!(op(s, IntOp::Or, &[wx, high]), both);
    assert_eq!(op(s, IntOp::Add, &[wx, high]), both);
    // prmt x, y, 0x5410; bfi.
    let sel = k(s, 0x5410);
    assert_eq!(op(s, IntOp::Prmt, &[wx, wy, sel]), both);
    assert_eq!(op(s, IntOp::Bfi, &[wy, wx, n, n]), both);
    // And apart again.
    assert_eq!(op(s, IntOp::Shr, &[both, n]), wy);
    let m = k(s, 0xffff);
    assert_eq!(op(s, IntOp::And, &[both, m]), wx);
    let sel = k(s, 0x7732);
    let swapped = op(s, IntOp::Prmt, &[both, both, sel]);
    assert_eq!(s.extract(swapped, 0, 16), y);
    // lop3 (a & b) | c with masks.
    let (m, e) = (k(s, 0x000f_000f), k(s, 0x6400_6400));
    let r = op(s, IntOp::Lop3(0xea), &[both, m, e]);
    let masked = op(s, IntOp::And, &[both, m]);
    assert_eq!(r, op(s, IntOp::Or, &[masked, e]));
    assert!(matches!(s.get(r), Term::Concat(_)));
}

#[test]
fn sign_extension_has_one_form() {
    let s = &mut TermStore::new();
    let x = s.bytes(ArrayId(0), 0, 8);
    let word = s.bytes(ArrayId(0), 0, 32);
    let want = s.sign_extend(x, 32);
    let k = |s: &mut TermStore, v: u64| s.bits(32, v);
    let wx = s.zero_extend(x, 32);
    let n = k(s, 24);
    let up = op(s, IntOp::Shl, &[wx, n]);
    let signed = IntTy {
        width: 32,
        signed: true,
    };
    let zero = k(s, 0);
    assert_eq!(
        symbolic(s, IntOp::Shr, signed, [up, n, zero, zero]),
        Some(want)
    );
    let sel = k(s, 0x8880);
    assert_eq!(op(s, IntOp::Prmt, &[word, zero, sel]), want);
    let eight = k(s, 8);
    assert_eq!(
        symbolic(s, IntOp::Bfe, signed, [word, zero, eight, zero]),
        Some(want)
    );
    let (from, to) = (TYPES[1], TYPES[5]);
    assert_eq!(cvt_int_sym(s, from, to, false, x, 32), want);
    assert_eq!(s.extract(want, 0, 8), x);
    let half = s.sign_extend(x, 16);
    assert_eq!(s.sign_extend(half, 32), want);
}

#[test]
fn long_chains_do_not_recurse() {
    let s = &mut TermStore::new();
    let mut t = s.bytes(ArrayId(0), 0, 32);
    let y = s.bytes(ArrayId(0), 4, 32);
    let ops = [
        IntOp::Add,
        IntOp::Xor,
        IntOp::Or,
        IntOp::Min,
        IntOp::And,
        IntOp::Shr,
    ];
    let one = s.bits(32, 1);
    for i in 0..200_000 {
        let o = ops[i % ops.len()];
        let rhs = if o == IntOp::Shr { one } else { y };
        let ty = IntTy {
            width: 32,
            signed: i % 5 == 0,
        };
        t = symbolic(s, o, ty, [t, rhs, one, one]).unwrap();
        if i % 3 == 0 {
            let b = s.extract(t, 8, 8);
            t = s.sign_extend(b, 32);
        }
    }
    assert_eq!(s.sort(t), Sort::Bits(32));
}

#[test]
fn masks_remove_what_was_never_written() {
    let s = &mut TermStore::new();
    let k = |s: &mut TermStore, v: u64| s.bits(32, v);
    let old = s.poison(32, 7);
    // The low byte is set field by field; then the rest is replaced.
    let m = k(s, 0xffff_ff01);
    let a = op(s, IntOp::And, &[old, m]);
    let six = k(s, 6);
    let a = op(s, IntOp::Or, &[a, six]);
    let m = k(s, 0xffff_fffe);
    let a = op(s, IntOp::And, &[a, m]);
    assert!(!s.is_total(a));
    let low = k(s, 0xff);
    let byte = op(s, IntOp::And, &[a, low]);
    assert_eq!(s.as_bits(byte), Some(6));
    let (x, eight) = (s.bytes(ArrayId(0), 0, 32), k(s, 8));
    let high = op(s, IntOp::Shl, &[x, eight]);
    let word = op(s, IntOp::Or, &[byte, high]);
    assert!(s.is_total(word));
    // What is kept of it stays unwritten.
    let kept = op(s, IntOp::Shr, &[a, eight]);
    assert!(!s.is_total(kept));
}

#[test]
fn a_select_within_a_select_is_what_is_reached() {
    let s = &mut TermStore::new();
    let [x, y, z] = [0, 4, 8].map(|off| s.bytes(ArrayId(0), off, 32));
    let p = s.icmp(ICmp::ULt, x, y);
    let n = s.not(p);
    let poison = s.poison(32, 1);
    // if (!p) r = x; if (p) r = y; r was never written before.
    let inner = s.select(n, x, poison);
    let outer = s.select(p, y, inner);
    assert_eq!(outer, s.select(p, y, x));
    let again = s.select(p, outer, z);
    assert_eq!(again, s.select(p, y, z));
}
