//! What is said of the sides of 0 against exact numbers and single precision.

use num_bigint::BigInt;
use num_traits::Zero;
use proptest::prelude::*;

use super::*;
use crate::scalar::Fmt;

/// A number of a random program: its term, what it is, and what the machine has.
#[derive(Clone, Debug)]
struct Number {
    term: TermId,
    exact: BigRational,
    value: f32,
}

/// One instruction; `None` where it leaves the normal numbers or divides by 0.
fn step(s: &mut TermStore, op: u8, x: &Number, y: &Number) -> Option<Number> {
    let (p, q) = (x.exact.clone(), y.exact.clone());
    let (term, exact, value) = match op % 8 {
        0 => (s.add(x.term, y.term), p + q, x.value + y.value),
        1 => (s.sub(x.term, y.term), p - q, x.value - y.value),
        2 => (s.mul(x.term, y.term), p * q, x.value * y.value),
        3 => (s.max(x.term, y.term), p.max(q), x.value.max(y.value)),
        4 => (s.min(x.term, y.term), p.min(q), x.value.min(y.value)),
        5 => (s.neg(x.term), -p, -x.value),
        6 => (s.fun(Fun::Abs, x.term), p.abs(), x.value.abs()),
        _ if q.is_zero() || y.value == 0.0 => return None,
        _ => (s.div(x.term, y.term), p / q, x.value / y.value),
    };
    let vanished = value == 0.0 && op % 8 >= 2 && x.value != 0.0 && y.value != 0.0;
    let fits = exact.numer().bits() < 4000 && exact.denom().bits() < 4000;
    (fits && (value.is_normal() || value == 0.0 && (!vanished || matches!(op % 8, 3 | 4))))
        .then_some(Number { term, exact, value })
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        (-4i32..=4).prop_map(|i| i as f32 / 2.0),
        (1e-6f32..1e6).prop_map(|x| x),
        (-1e6f32..-1e-6).prop_map(|x| x),
        Just(1e-9f32),
        Just(16777216.0f32),
    ]
}

fn sign(x: &BigRational) -> i32 {
    i32::from(x.is_positive()) - i32::from(x.is_negative())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The exact number lies in the interval, and the machine's number has the sign of a plain one.
    #[test]
    fn intervals_and_signs_hold(
        steps in proptest::collection::vec((0u8..8, any::<u8>(), any::<u8>()), 1..16),
        x in proptest::array::uniform3(number()),
        c in proptest::array::uniform2(number()),
    ) {
        let mut s = TermStore::new();
        let exact = |v: f32| BigRational::from_float(v).unwrap();
        let mut numbers: Vec<Number> = Vec::new();
        for (i, value) in x.into_iter().enumerate() {
            let term = s.elem(ArrayId(0), Fmt::F32, 4 * i as u64);
            numbers.push(Number { term, exact: exact(value), value });
        }
        for value in c.into_iter().chain([0.0, 1.0]) {
            let term = s.rational(exact(value));
            numbers.push(Number { term, exact: exact(value), value });
        }
        for (op, a, b) in steps {
            let n = numbers.len();
            let (x, y) = (numbers[a as usize % n].clone(), numbers[b as usize % n].clone());
            // Arithmetic on known numbers is the machine's, operation by operation, before it gets here.
            let known = |n: &Number| s.as_const(n.term).is_some();
            if !(known(&x) && (known(&y) || matches!(op, 5 | 6))) {
                numbers.extend(step(&mut s, op, &x, &y));
            }
        }
        let mut apart = Apart::default();
        for n in &numbers {
            let known = apart.known(&s, n.term);
            for ((end, closed), x) in [(known.lo, n.exact.clone()), (known.negated().lo, -n.exact.clone())] {
                if let Some(end) = BigRational::from_float(end) {
                    prop_assert!(end < x || closed && end == x, "{known:?} {n:?}");
                }
            }
            if known.plain {
                prop_assert_eq!(sign(&n.exact), n.value.partial_cmp(&0.0).map_or(0, |o| o as i32));
            }
        }
    }
}

/// Whether a number made of x and y is found on one side of 0, or plain.
fn has_sign(make: impl Fn(&mut TermStore, TermId, TermId) -> TermId) -> bool {
    let mut s = TermStore::new();
    let (x, y) = (
        s.elem(ArrayId(0), Fmt::F32, 0),
        s.elem(ArrayId(0), Fmt::F32, 4),
    );
    let t = make(&mut s, x, y);
    Apart::default().has_sign(&s, t)
}

fn exp(s: &mut TermStore, x: TermId) -> TermId {
    s.fun(Fun::Exp2, x)
}

#[test]
fn guards_of_ordinary_kernels_have_a_side() {
    assert!(has_sign(|s, x, _| exp(s, x)));
    assert!(has_sign(|s, x, y| {
        let (p, q) = (exp(s, x), exp(s, y));
        s.add(p, q)
    }));
    // 1 - 1 / (1 + exp(x))
    assert!(has_sign(|s, x, _| {
        let (one, e) = (s.integer(1), exp(s, x));
        let d = s.add(one, e);
        let q = s.div(one, d);
        s.sub(one, q)
    }));
    // 1 + tanh(x)
    assert!(has_sign(|s, x, _| {
        let (one, t) = (s.integer(1), s.fun(Fun::Tanh, x));
        s.add(one, t)
    }));
    // What is masked is 0 for the machine too.
    assert!(has_sign(|s, x, y| {
        let (zero, inf) = (s.integer(0), s.infinity(true));
        let p = s.rcmp(crate::term::RCmp::Lt, y, zero);
        let z = s.select(p, inf, x);
        exp(s, z)
    }));
    assert!(has_sign(|s, x, y| {
        let (p, q) = (s.mul(x, x), s.mul(y, y));
        s.add(p, q)
    }));
}

#[test]
fn what_cancels_has_none() {
    // (x + 1) - x, and (x + 1) - 1 - x
    assert!(!has_sign(|s, x, _| {
        let one = s.rational(BigRational::from_integer(BigInt::from(1)));
        let t = s.add(x, one);
        s.sub(t, x)
    }));
    assert!(!has_sign(|s, x, _| {
        let one = s.integer(1);
        let t = s.add(x, one);
        let t = s.sub(t, one);
        let t = s.sub(t, x);
        s.fun(Fun::Abs, t)
    }));
    // (x x + 1) - 1 - x x / 2
    assert!(!has_sign(|s, x, _| {
        let (one, square) = (s.integer(1), s.mul(x, x));
        let t = s.add(square, one);
        let t = s.sub(t, one);
        let half = s.rational(BigRational::new(BigInt::from(1), BigInt::from(2)));
        let h = s.mul(square, half);
        s.sub(t, h)
    }));
    assert!(!has_sign(|s, x, y| {
        let (p, q) = (exp(s, x), exp(s, y));
        s.sub(p, q)
    }));
}
