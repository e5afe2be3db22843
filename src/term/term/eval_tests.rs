//! The evaluator against doubles and integers, and the constructors against the evaluator.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use proptest::prelude::*;

use super::dyadic::Interval;
use super::eval::{Cone, Inputs, Mode, Value, evaluate};
use super::*;

const EXACT: Mode = Mode::exact(128);
const IN: ArrayId = ArrayId(0);

fn inputs(values: &[f32]) -> Inputs {
    let mut i = Inputs::default();
    for (k, v) in values.iter().enumerate() {
        i.set(IN, 4 * k as u64, 4, v.to_bits() as u64);
    }
    i
}

/// One step of a random program over the terms so far: what it does, and two operands.
type Step = (u8, u8, u8);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0u8..21, any::<u8>(), any::<u8>()), 1..24)
}

fn small() -> impl Strategy<Value = f32> {
    (-24i32..=24).prop_map(|i| i as f32 / 4.0)
}

fn build(s: &mut TermStore, steps: &[Step]) -> Vec<TermId> {
    let mut terms: Vec<TermId> = (0..4).map(|i| s.elem(IN, Fmt::F32, 4 * i)).collect();
    terms.push(s.rational(BigRational::new(3.into(), 4.into())));
    for &(op, a, b) in steps {
        let a = terms[a as usize % terms.len()];
        let b = terms[b as usize % terms.len()];
        let t = match op {
            0 | 1 => s.add(a, b),
            2 => s.sub(a, b),
            3 | 4 => s.mul(a, b),
            5 => s.div(a, b),
            6 => s.max(a, b),
            7 => s.min(a, b),
            8 => s.fun(Fun::Sqrt, a),
            9 => s.fun(Fun::Rsqrt, a),
            10 => s.fun(Fun::Exp2, a),
            11 => s.fun(Fun::Log2, a),
            12 => s.fun(Fun::Sin, a),
            13 => s.fun(Fun::Tanh, a),
            14 => s.fun(Fun::Abs, a),
            15 => s.fun(Fun::Floor, a),
            16 => s.fun(Fun::RoundEven, a),
            17 => {
                let p = s.rcmp(RCmp::Lt, a, b);
                s.select(p, b, a)
            }
            19 => s.fun(Fun::Erf, a),
            18 => s.sum(&[(a, b), (b, b), (a, a)]),
            _ => {
                let p = s.rcmp(RCmp::Le, a, b);
                let n = s.not(p);
                let x = s.neg(a);
                s.select(n, x, b)
            }
        };
        terms.push(t);
    }
    terms
}

fn enclosure(v: &Value) -> Option<Interval> {
    v.interval(128)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn doubles_lie_near_the_enclosure(steps in steps(), x in proptest::array::uniform4(small())) {
        let mut s = TermStore::new();
        let terms = build(&mut s, &steps);
        let cone = Cone::new(&s, &terms);
        let exact = cone.evaluate(&s, &inputs(&x), EXACT);
        let fast = cone.approximate(&s, &cone.constants(&s), &inputs(&x), &mut Vec::new());
        for (v, f) in exact.iter().zip(fast) {
            // Rounding errors of doubles grow where numbers cancel; only sane sizes are compared,
            // and discontinuous functions may fall on either side.
            let Some(i) = enclosure(v) else { continue };
            prop_assert!(i.lo <= i.hi);
            if !f.f.is_finite() || f.f.abs() > 1e6 || steps.iter().any(|s| (8..18).contains(&s.0) || s.0 == 19) {
                continue;
            }
            let tolerance = 1e-6 * (1.0 + f.f.abs());
            prop_assert!(i.lo.to_f64() <= f.f + tolerance && i.hi.to_f64() >= f.f - tolerance);
        }
    }

    #[test]
    fn intervals_contain_exact_values(steps in steps(), x in proptest::array::uniform4(small())) {
        // A coarse evaluation rounds more, and must enclose what a finer one finds.
        let mut s = TermStore::new();
        let terms = build(&mut s, &steps);
        let fine = evaluate(&s, &terms, &inputs(&x), Mode::exact(256));
        for mode in [Mode::exact(24), EXACT] {
            for (v, w) in fine.iter().zip(evaluate(&s, &terms, &inputs(&x), mode)) {
                match (v, w) {
                    (_, Value::Undecided) => {}
                    (Value::Exact(q), Value::Exact(r)) => prop_assert_eq!(q, &r),
                    (Value::Exact(q), Value::Interval(i)) => prop_assert!(i.contains(q)),
                    (Value::Interval(a), Value::Interval(i)) => {
                        prop_assert!(!a.disjoint(&i));
                        prop_assert!(i.lo <= a.hi && a.lo <= i.hi);
                    }
                    (Value::Undecided, _) => {}
                    (v, w) => prop_assert_eq!(v, &w),
                }
            }
        }
    }

    #[test]
    fn constructors_keep_the_value(
        steps in steps(), x in proptest::array::uniform4(small()), fixed in 0u8..16,
    ) {
        // The same program over constants, which the constructors fold, and over inputs.
        let mut s = TermStore::new();
        let open = build(&mut s, &steps);
        let mut t = TermStore::new();
        let mut folded: Vec<TermId> = (0..4)
            .map(|i| {
                if fixed >> i & 1 == 1 {
                    t.rational(BigRational::from_float(x[i]).unwrap_or_else(BigRational::zero))
                } else {
                    t.elem(IN, Fmt::F32, 4 * i as u64)
                }
            })
            .collect();
        // Import by substitution: build again with the leaves replaced.
        let map = substitute(&s, &open, &mut t, &folded);
        folded.clear();
        let (v, w) = (
            evaluate(&s, &open, &inputs(&x), EXACT),
            evaluate(&t, &map, &inputs(&x), EXACT),
        );
        for (v, w) in v.iter().zip(&w) {
            match (enclosure(v), enclosure(w)) {
                (Some(a), Some(b)) => prop_assert!(!a.disjoint(&b)),
                // Folding may decide what an interval leaves open. The infinity that known operands make is a known one,
                // and no longer one that inputs made.
                _ => {
                    let (v, w) = (as_infinity(v), as_infinity(w));
                    prop_assert!(
                        v == w || v == Value::Undecided || w == Value::Undecided, "{:?} {:?}", v, w
                    );
                }
            }
        }
    }

    #[test]
    fn bit_operations_agree_with_the_constructors(
        op in 0usize..12, width in prop::sample::select(vec![8u8, 16, 32, 64]),
        a in any::<u64>(), b in prop_oneof![any::<u64>(), 0u64..70],
    ) {
        let mut s = TermStore::new();
        let op = BitsOp::ALL[op];
        let (x, y) = (s.bytes(IN, 0, width), s.bytes(IN, 8, width));
        let t = s.bits_op(op, x, y);
        let keep = u64::MAX >> (64 - width as u32);
        let mut i = Inputs::default();
        i.set(IN, 0, width / 8, a & keep);
        i.set(IN, 8, width / 8, b & keep);
        let (ca, cb) = (s.bits(width, a), s.bits(width, b));
        let folded = s.bits_op(op, ca, cb);
        let v = evaluate(&s, &[t, folded], &i, EXACT);
        prop_assert_eq!(&v[0], &v[1]);
    }
}

/// An infinity of known sign that finite operands made, as an infinity.
fn as_infinity(v: &Value) -> Value {
    match v {
        Value::Pole(Some(true)) => Value::NegInf,
        Value::Pole(Some(false)) => Value::PosInf,
        v => v.clone(),
    }
}

/// Builds the terms again in another store, with the four input elements replaced.
fn substitute(
    s: &TermStore,
    roots: &[TermId],
    t: &mut TermStore,
    leaves: &[TermId],
) -> Vec<TermId> {
    let mut map = std::collections::HashMap::new();
    for id in s.reachable(roots) {
        let m = |i: TermId| map[&i];
        let new = match s.get(id) {
            Term::Const(c) => t.rational(s.constant(c).clone()),
            Term::Elem { off, .. } => leaves[off as usize / 4],
            Term::Inf { neg } => t.infinity(neg),
            Term::Undefined => t.undefined(),
            Term::Add(a, b) => t.add(m(a), m(b)),
            Term::Mul(a, b) => t.mul(m(a), m(b)),
            Term::Neg(a) => t.neg(m(a)),
            Term::Div(a, b) => t.div(m(a), m(b)),
            Term::Fun(f, a) => t.fun(f, m(a)),
            Term::Max(a, b) => t.max(m(a), m(b)),
            Term::Min(a, b) => t.min(m(a), m(b)),
            Term::Select(p, a, b) => t.select(m(p), m(a), m(b)),
            Term::RCmp(op, a, b) => t.rcmp(op, m(a), m(b)),
            Term::Not(a) => t.not(m(a)),
            Term::Bool(b) => t.bool(b),
            Term::Sum(l) => {
                let (pairs, _) = l.as_chunks::<2>();
                let pairs: Vec<_> = pairs
                    .iter()
                    .map(|[a, b]| (m(TermId(*a)), m(TermId(*b))))
                    .collect();
                t.sum(&pairs)
            }
            other => panic!("no such term is built here: {other:?}"),
        };
        map.insert(id, new);
    }
    roots.iter().map(|r| map[r]).collect()
}

#[test]
fn definedness_is_exact() {
    let mut s = TermStore::new();
    let (x, y) = (s.elem(IN, Fmt::F32, 0), s.elem(IN, Fmt::F32, 4));
    let zero = s.integer(0);
    let quotient = s.div(x, y);
    let root = s.fun(Fun::Sqrt, y);
    let log = s.fun(Fun::Log2, y);
    let cancel = s.sub(log, log);
    let exp = s.fun(Fun::Exp2, log);
    let p = s.rcmp(RCmp::Eq, y, zero);
    let guarded = s.select(p, x, quotient);
    let roots = [quotient, root, log, cancel, exp, guarded];
    let one = Value::Exact(BigRational::from_integer(1.into()));
    let nought = Value::Exact(BigRational::zero());
    let v = evaluate(&s, &roots, &inputs(&[1.0, 0.0]), EXACT);
    let undefined = Value::Undefined;
    // Finite operands made an infinity, whose sign is that of a zero.
    assert_eq!(v[0], Value::Pole(None));
    assert_eq!(v[1], nought);
    assert_eq!(v[2], Value::Pole(Some(true)));
    assert_eq!(v[3], undefined);
    assert_eq!((&v[4], &v[5]), (&nought, &one));
    let v = evaluate(&s, &roots, &inputs(&[1.0, -1.0]), EXACT);
    assert_eq!((&v[1], &v[2]), (&undefined, &undefined));
    assert_eq!(v[5], Value::Exact(BigRational::from_integer((-1).into())));
}

/// match `is(class, round(x))` / result `is(class, x)` / because an integer near a number is one, and what is none stays
/// what it is. The other functions change some class.
#[test]
fn roundings_keep_what_is_no_number() {
    let mut s = TermStore::new();
    let (x, y) = (s.elem(IN, Fmt::F32, 0), s.elem(IN, Fmt::F32, 4));
    let (root, log) = (s.fun(Fun::Sqrt, x), s.fun(Fun::Log2, y));
    let minus = s.neg(log);
    for f in Fun::ALL {
        for t in [x, root, log, minus] {
            let whole = s.fun(f, t);
            for class in Class::ALL {
                let (outer, inner) = (s.is(class, whole), s.is(class, t));
                assert!(!f.is_rounding() || outer == inner, "{f:?} {class:?}");
                for values in [[1.25, 0.0], [-1.25, 0.0], [0.5, 0.5]] {
                    let v = evaluate(&s, &[whole, outer], &inputs(&values), EXACT);
                    let own = super::arith::is(class, &v[0]);
                    let is_open = [&own, &v[1]].iter().any(|v| !matches!(v, Value::Bool(_)));
                    assert!(is_open || own == v[1], "{f:?} {class:?} {values:?}");
                }
            }
        }
    }
}

/// match `x + (-1) * z`, z the low bits of x / result x without them; no other bits of x are taken off so.
#[test]
fn low_bits_are_taken_off_without_a_borrow() {
    let mut s = TermStore::new();
    let byte = s.bytes(IN, 0, 8);
    for x in [s.zero_extend(byte, 32), s.sign_extend(byte, 32), byte] {
        let w = s.width(x);
        let minus = s.bits(w, u64::MAX);
        let taken_off = |s: &mut TermStore, mask: u64| {
            let mask = s.bits(w, mask);
            let low = s.bits_op(BitsOp::And, x, mask);
            let low = s.bits_op(BitsOp::Mul, low, minus);
            s.bits_op(BitsOp::Add, x, low)
        };
        let all: Vec<(u64, TermId)> = [1, 7, 15, 0x1e, 0xf0]
            .map(|m| (m, taken_off(&mut s, m)))
            .into();
        for (mask, t) in &all {
            let is_sum = matches!(s.get(*t), Term::BitsOp(BitsOp::Add, ..));
            assert!(!is_sum || *mask > 15, "{mask:#x}");
        }
        for v in 0..256 {
            let mut at = Inputs::default();
            at.set(IN, 0, 1, v);
            let terms: Vec<TermId> = all.iter().map(|p| p.1).chain([x]).collect();
            let values = evaluate(&s, &terms, &at, EXACT);
            let Value::Bits(whole) = values[all.len()] else {
                panic!("bits have a value")
            };
            for ((mask, _), value) in all.iter().zip(&values) {
                assert_eq!(*value, Value::Bits(whole & !mask), "{v} {mask:#x}");
            }
        }
    }
}

#[test]
fn long_chains_need_no_stack() {
    let mut s = TermStore::new();
    let x = s.elem(IN, Fmt::F32, 0);
    let mut t = x;
    for _ in 0..200_000 {
        t = s.add(t, x);
    }
    let v = evaluate(&s, &[t], &inputs(&[0.5]), EXACT);
    assert_eq!(v[0].approx(), Some(100_000.5));
    let q = BigRational::new(200_001.into(), 2.into());
    assert_eq!(v[0], Value::Exact(q));
}

/// A random program over bit vectors of 32 bits: sums, products, sign and zero extensions.
fn integers(s: &mut TermStore, steps: &[Step]) -> Vec<TermId> {
    let mut terms: Vec<TermId> = (0..4).map(|i| s.bytes(IN, 4 * i, 32)).collect();
    terms.push(s.bits(32, 0xffff_fff1));
    for &(op, a, b) in steps {
        let a = terms[a as usize % terms.len()];
        let b = terms[b as usize % terms.len()];
        let t = match op % 8 {
            0 | 1 => s.bits_op(BitsOp::Add, a, b),
            2 | 3 => s.bits_op(BitsOp::Mul, a, b),
            4 => {
                let low = s.extract(a, 0, 8);
                s.sign_extend(low, 32)
            }
            5 => {
                let (low, high) = (s.extract(a, 8, 16), s.extract(b, 0, 16));
                s.concat(&[low, high])
            }
            6 => {
                let zero = s.bits(16, 0);
                let low = s.extract(a, 0, 16);
                s.concat(&[low, zero])
            }
            _ => {
                let p = s.icmp(ICmp::SLt, a, b);
                s.select(p, b, a)
            }
        };
        terms.push(t);
    }
    terms
}

proptest! {
    /// `residue`: the integer is congruent to the bits for every input.
    #[test]
    fn residues_are_congruent(steps in steps(), words in proptest::array::uniform4(any::<u32>())) {
        let mut s = TermStore::new();
        let terms = integers(&mut s, &steps);
        let mut i = Inputs::default();
        for (k, w) in words.iter().enumerate() {
            i.set(IN, 4 * k as u64, 4, *w as u64);
        }
        for t in terms {
            let Some(real) = s.residue(t) else { continue };
            let values = Cone::new(&s, &[t, real]).evaluate(&s, &i, EXACT);
            if let [Value::Bits(bits), Value::Exact(x)] = &values[..] {
                prop_assert!(x.is_integer());
                let modulus = BigInt::from(1u64 << 32);
                let rest = ((x.to_integer() % &modulus) + &modulus) % &modulus;
                prop_assert_eq!(rest, BigInt::from(*bits));
            } else {
                prop_assert!(false, "{:?}", values);
            }
        }
    }
}

proptest! {
    /// `without_low_field`: what is left of a number without its lowest bits.
    #[test]
    fn a_low_field_is_taken_away(word: u32, k in 1u8..31, of in 0usize..3, shift in 0u8..2) {
        let mut s = TermStore::new();
        let whole = s.bytes(IN, 0, 32);
        let byte = s.bytes(IN, 0, 8);
        let x = [whole, s.zero_extend(byte, 32), s.sign_extend(byte, 32)][of];
        // The field from bit 1 on is none of the lowest: the rule must leave that alone.
        let field = s.extract(x, shift, k);
        let taken = s.zero_extend(field, 32);
        let minus = s.bits(32, u64::MAX);
        let negative = s.bits_op(BitsOp::Mul, taken, minus);
        let t = s.bits_op(BitsOp::Add, x, negative);
        if of == 0 {
            prop_assert_eq!(matches!(s.get(t), Term::BitsOp(..)), shift == 1);
        }
        let mut i = Inputs::default();
        i.set(IN, 0, 4, word.into());
        let values = evaluate(&s, &[x, t], &i, EXACT);
        let (Value::Bits(x), Value::Bits(left)) = (&values[0], &values[1]) else {
            panic!("{values:?}");
        };
        let field = (*x as u32 >> shift) & ((1 << k) - 1);
        prop_assert_eq!(*left as u32, (*x as u32).wrapping_sub(field));
    }
}

proptest! {
    /// `low_part`: sums, products and logic of halves of which the higher ones were never written.
    #[test]
    fn undefined_bits_go_upwards(steps in proptest::collection::vec((0u8..5, any::<u8>(), any::<u8>()), 1..12), words: [u16; 3], other: u16, n in 1u8..=16) {
        use BitsOp::{Add, And, Mul, Or, Xor};
        let mut s = TermStore::new();
        let mut inputs = Inputs::default();
        let (mut poisoned, mut written) = (Vec::new(), Vec::new());
        for (k, w) in words.iter().enumerate() {
            let half = s.bytes(IN, 2 * k as u64, 16);
            let (hole, any) = (s.poison(16, 7), s.bits(16, other.into()));
            poisoned.push(s.concat(&[half, hole]));
            written.push(s.concat(&[half, any]));
            inputs.set(IN, 2 * k as u64, 2, u64::from(*w));
        }
        for (op, a, b) in steps {
            let op = [Add, And, Mul, Or, Xor][op as usize];
            for terms in [&mut poisoned, &mut written] {
                let (a, b) = (terms[a as usize % terms.len()], terms[b as usize % terms.len()]);
                let t = s.bits_op(op, a, b);
                terms.push(t);
            }
        }
        let (t, u) = (poisoned[poisoned.len() - 1], written[written.len() - 1]);
        let (low, wanted) = (s.extract(t, 0, n), s.extract(u, 0, n));
        prop_assert!(s.is_total(low));
        let values = evaluate(&s, &[low, wanted], &inputs, EXACT);
        prop_assert_eq!(format!("{:?}", values[0]), format!("{:?}", values[1]));
        // A bit above the written half depends on what was not written.
        let whole = s.bits_op(Add, poisoned[0], poisoned[1]);
        let above = s.extract(whole, 8, 16);
        prop_assert!(!s.is_total(above));
    }
}

#[test]
fn a_quotient_of_bytes_is_a_field() {
    // (w - w % 16) / 16, as a formula writes it, is what a shift and a mask take.
    let mut s = TermStore::new();
    let w = s.bytes(IN, 0, 8);
    let (high, wide) = (s.extract(w, 4, 4), s.zero_extend(w, 32));
    let fifteen = s.bits(32, 15);
    let low = s.bits_op(BitsOp::And, wide, fifteen);
    let minus = s.bits(32, u64::MAX);
    let negative = s.bits_op(BitsOp::Mul, low, minus);
    let difference = s.bits_op(BitsOp::Add, wide, negative);
    let (sixteen, difference) = (s.integer(16), s.of_int(true, difference));
    let shifted = s.zero_extend(high, 32);
    let shifted = s.of_int(true, shifted);
    assert_eq!(difference, s.mul(shifted, sixteen));
}

#[test]
fn the_error_function_is_enclosed_tightly() {
    for i in -700..=700 {
        let x = i as f64 / 64.0;
        let mut s = TermStore::new();
        let a = s.elem(IN, Fmt::F32, 0);
        let t = s.fun(Fun::Erf, a);
        let mut inputs = Inputs::default();
        inputs.set(IN, 0, 4, (x as f32).to_bits() as u64);
        let cone = Cone::new(&s, &[t]);
        let v = cone.evaluate(&s, &inputs, EXACT);
        let i = enclosure(&v[0]).unwrap();
        let y = libm::erf(x);
        assert!(i.lo.to_f64() <= y + 1e-15 && i.hi.to_f64() >= y - 1e-15);
        assert!(i.hi.to_f64() - i.lo.to_f64() <= 1e-15, "wide at {x}");
    }
}

/// The formats that are said to have no infinity and no NaN have none, and the others of a byte have one.
#[test]
fn formats_that_are_always_finite() {
    use crate::scalar::Fmt;
    for fmt in [
        Fmt::E2m1,
        Fmt::E2m3,
        Fmt::E3m2,
        Fmt::E4m3,
        Fmt::E5m2,
        Fmt::Ue8m0,
    ] {
        let all = (0..256).all(|bits| crate::term::decode(fmt, bits).is_ok());
        assert_eq!(all, fmt.is_always_finite(), "{}", fmt.name());
    }
}
