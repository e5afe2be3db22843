//! One case for each sentence that a difference can be, and random pairs for the rest.

use proptest::prelude::*;

use crate::norm::{Difference, Limits, Normalizer};
use crate::scalar::Fmt;
use crate::term::{ArrayId, BitsOp, Fun, RCmp, TermId, TermStore};

struct Pair {
    s: TermStore,
    x: Vec<TermId>,
    y: Vec<TermId>,
}

fn pair() -> Pair {
    let mut s = TermStore::new();
    let x = (0..8)
        .map(|i| s.elem(ArrayId(0), Fmt::F32, 4 * i))
        .collect();
    let y = (0..8)
        .map(|i| s.elem(ArrayId(1), Fmt::F32, 4 * i))
        .collect();
    Pair { s, x, y }
}

fn difference(s: &TermStore, a: TermId, b: TermId) -> Option<Difference> {
    let names = |a: ArrayId, off: u64, bytes: u64| {
        let name = ["x", "y"][a.0 as usize];
        format!("{name}[{}]", off / bytes)
    };
    Normalizer::new(s, Limits::default()).difference(a, b, &names)
}

/// The sentences of a pair, and of the pair with its sides exchanged.
#[track_caller]
fn says(f: impl FnOnce(&mut Pair) -> (TermId, TermId), there: &str, back: &str) {
    let mut p = pair();
    let (a, b) = f(&mut p);
    for (a, b, text) in [(a, b, there), (b, a, back)] {
        let d = difference(&p.s, a, b).expect("they differ");
        assert_eq!(d.message, text, "{d:?}");
        assert!(d.specific);
    }
}

fn product(p: &mut Pair, n: usize, at: usize) -> TermId {
    let terms: Vec<(TermId, TermId)> = (0..n).map(|i| (p.x[i], p.y[(i + at) % 8])).collect();
    p.s.sum(&terms)
}

#[test]
fn equal_forms_have_no_difference() {
    let mut p = pair();
    let (a, b) = (p.s.add(p.x[0], p.x[1]), p.s.add(p.x[1], p.x[0]));
    assert_eq!(difference(&p.s, a, b), None);
}

#[test]
fn operations_that_one_side_lacks() {
    let zero = |p: &mut Pair| p.s.integer(0);
    says(
        |p| {
            let (a, z) = (product(p, 4, 0), zero(p));
            (p.s.max(a, z), a)
        },
        "the optimized kernel lacks `max(0, .)`",
        "only the optimized kernel has `max(0, .)`",
    );
    for (f, name) in [
        (Fun::Sqrt, "sqrt(.)"),
        (Fun::Exp2, "exp2(.)"),
        (Fun::Log2, "log2(.)"),
        (Fun::Tanh, "tanh(.)"),
        (Fun::Abs, "|.|"),
    ] {
        says(
            |p| {
                let a = product(p, 3, 0);
                (p.s.fun(f, a), a)
            },
            &format!("the optimized kernel lacks `{name}`"),
            &format!("only the optimized kernel has `{name}`"),
        );
    }
    // In each summand of a second layer.
    says(
        |p| {
            let z = zero(p);
            let h: Vec<TermId> = (0..4).map(|i| product(p, 3, i)).collect();
            let with: Vec<(TermId, TermId)> = h
                .iter()
                .zip(p.y.clone())
                .map(|(&h, y)| (p.s.max(h, z), y))
                .collect();
            let without: Vec<(TermId, TermId)> = h.iter().copied().zip(p.y.clone()).collect();
            (p.s.sum(&with), p.s.sum(&without))
        },
        "the optimized kernel lacks `max(0, .)` in 4 summands",
        "only the optimized kernel has `max(0, .)` in 4 summands",
    );
}

#[test]
fn coefficients_signs_and_scales() {
    let scaled = |p: &mut Pair, t, n: i64, d: i64| {
        let q =
            p.s.rational(num_rational::BigRational::new(n.into(), d.into()));
        p.s.mul(q, t)
    };
    says(
        |p| {
            let t = p.s.mul(p.x[0], p.y[3]);
            let (a, b) = (scaled(p, t, 1, 8), scaled(p, t, 1, 4));
            (p.s.add(a, p.x[1]), p.s.add(b, p.x[1]))
        },
        "coefficient 1/8 against 1/4 of `x[0]*y[3]`",
        "coefficient 1/4 against 1/8 of `x[0]*y[3]`",
    );
    says(
        |p| {
            let a = product(p, 4, 0);
            (a, scaled(p, a, 1, 4))
        },
        "the optimized kernel divides by 4 more than the reference",
        "the optimized kernel lacks a division by 4, or multiplies by 4 more",
    );
    let sign = "the sign: the optimized kernel has the negative of the reference";
    says(
        |p| (p.s.sub(p.x[0], p.x[1]), p.s.sub(p.x[1], p.x[0])),
        sign,
        sign,
    );
    says(
        |p| {
            let (two, three) = (p.s.integer(2), p.s.integer(3));
            (p.s.add(p.x[0], two), p.s.add(p.x[0], three))
        },
        "constant summand 2 against 3",
        "constant summand 3 against 2",
    );
}

#[test]
fn summands_and_indices() {
    says(
        |p| (product(p, 4, 0), product(p, 3, 0)),
        "the optimized kernel lacks the summand `x[3]*y[3]`",
        "`x[3]*y[3]` is only in the optimized kernel",
    );
    says(
        |p| {
            let (a, b) = (product(p, 3, 0), product(p, 3, 2));
            (a, b)
        },
        "another index: `y[0]` against `y[2]`, and so in all 3 summands",
        "another index: `y[2]` against `y[0]`, and so in all 3 summands",
    );
    says(
        |p| (p.x[0], p.y[0]),
        "another array: `x[0]` against `y[0]`",
        "another array: `y[0]` against `x[0]`",
    );
    says(
        |p| {
            let t = p.s.mul(p.x[0], p.y[0]);
            (t, p.x[0])
        },
        "the optimized kernel lacks the factor `y[0]`",
        "only the optimized kernel has the factor `y[0]`",
    );
}

#[test]
fn the_way_to_the_difference_is_named() {
    says(
        |p| {
            let mut fraction = |k: usize| {
                let e: Vec<TermId> = p.x[..k].to_vec();
                let e: Vec<TermId> = e.iter().map(|&x| p.s.fun(Fun::Exp2, x)).collect();
                let sum = e[1..].iter().fold(e[0], |a, &b| p.s.add(a, b));
                p.s.div(p.y[0], sum)
            };
            (fraction(4), fraction(3))
        },
        "the optimized kernel lacks the summand `2^(x[3])`, in the denominator",
        "`2^(x[3])` is only in the optimized kernel, in the denominator",
    );
    says(
        |p| {
            let mut exp = |i: usize| {
                let t = p.s.sub(p.x[0], p.x[i]);
                let e = p.s.fun(Fun::Exp2, t);
                p.s.mul(e, p.y[0])
            };
            (exp(1), exp(2))
        },
        "another index: `x[1]` against `x[2]`, in the exponent",
        "another index: `x[2]` against `x[1]`, in the exponent",
    );
}

#[test]
fn extremes_and_cases() {
    says(
        |p| (p.s.max(p.x[0], p.x[1]), p.s.min(p.x[0], p.x[1])),
        "the reference takes the maximum where the optimized kernel takes the minimum",
        "the reference takes the minimum where the optimized kernel takes the maximum",
    );
    says(
        |p| {
            let c = p.s.rcmp(RCmp::Lt, p.y[0], p.y[1]);
            let a = p.s.select(c, p.x[0], p.x[1]);
            (a, p.s.select(c, p.x[1], p.x[0]))
        },
        "the two cases are swapped",
        "the two cases are swapped",
    );
}

#[test]
fn integers() {
    let byte = |p: &mut Pair, i: u64| p.s.bytes(ArrayId(1), 4 * i, 32);
    says(
        |p| {
            let (a, b, c) = (byte(p, 0), byte(p, 1), byte(p, 2));
            let ab = p.s.bits_op(BitsOp::Add, a, b);
            (p.s.bits_op(BitsOp::Add, ab, c), ab)
        },
        "the optimized kernel lacks the operand `y[2]` of `+`",
        "`y[2]` is an operand of `+` only in the optimized kernel",
    );
    says(
        |p| {
            let (a, b) = (byte(p, 0), byte(p, 1));
            let and = p.s.bits_op(BitsOp::And, a, b);
            (and, p.s.bits_op(BitsOp::Or, a, b))
        },
        "`&` against `|` of `y[0]` and `y[1]`",
        "`|` against `&` of `y[0]` and `y[1]`",
    );
}

#[test]
fn long_and_deep_terms_end() {
    let mut p = pair();
    let (mut a, mut b) = (p.x[0], p.x[1]);
    for i in 0..2_000 {
        let step = |s: &mut TermStore, t, y| {
            let t = s.add(t, y);
            s.fun(Fun::Sin, t)
        };
        let y = p.y[i % 8];
        (a, b) = (step(&mut p.s, a, y), step(&mut p.s, b, y));
    }
    let d = difference(&p.s, a, b).expect("they differ");
    assert!(d.message.len() + d.reference.len() + d.optimized.len() < 2_000);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing panics, texts are bounded, and two runs say the same.
    #[test]
    fn any_pair_gets_a_short_and_steady_answer(ops in prop::collection::vec((0u8..9, 0usize..12, 0usize..12), 2..24)) {
        let mut p = pair();
        let mut made = p.x.clone();
        made.extend(p.y.clone());
        for (op, a, b) in ops {
            let n = made.len();
            let (a, b) = (made[n - 1 - a % n], made[n - 1 - b % n]);
            let t = match op {
                0 | 1 => p.s.add(a, b),
                2 | 3 => p.s.mul(a, b),
                4 => p.s.max(a, b),
                5 => p.s.div(a, b),
                6 => p.s.fun(Fun::Exp2, a),
                7 => p.s.fun(Fun::Sqrt, a),
                _ => p.s.sub(a, b),
            };
            made.push(t);
        }
        let n = made.len();
        let (a, b) = (made[n - 1], made[n - 2]);
        let first = difference(&p.s, a, b);
        prop_assert_eq!(&first, &difference(&p.s, a, b));
        if let Some(d) = first {
            let length = d.message.len() + d.reference.len() + d.optimized.len();
            prop_assert!(length < 4_000, "{:?}", d);
        }
    }
}

/// Sums without a summand, a factor or a partner in common.
#[test]
fn sums_that_are_unlike() {
    let mut p = pair();
    let e: Vec<TermId> = (0..6).map(|i| p.s.fun(Fun::Exp2, p.x[i])).collect();
    let sum = |p: &mut Pair, terms: &[TermId]| {
        let zero = p.s.integer(0);
        terms.iter().fold(zero, |a, b| p.s.add(a, *b))
    };
    let d = sum(&mut p, &e);
    let parts: Vec<TermId> = e.iter().map(|e| p.s.div(*e, d)).collect();
    let a = sum(&mut p, &parts[..5]);
    let f: Vec<TermId> = (0..6).map(|i| p.s.fun(Fun::Sin, p.y[i])).collect();
    let b = sum(&mut p, &f);
    let found = difference(&p.s, a, b).expect("they differ");
    assert!(!found.specific);
    let text =
        "the optimized kernel has the summands `sin(y[0])`, `sin(y[1])` and 4 more instead of ";
    assert!(found.message.starts_with(text), "{found:?}");
}

/// A factor that is taken twice, in front of a difference whose sign depends on the factor.
#[test]
fn a_factor_instead_of_another() {
    let (mut messages, mut specific) = (Vec::new(), true);
    for swapped in [false, true] {
        let mut p = pair();
        let (x, y, z) = (p.x[0], p.x[1], p.x[2]);
        let one = p.s.integer(1);
        let e = p.s.fun(Fun::Exp2, z);
        let below = p.s.add(e, one);
        let part = |p: &mut Pair, a: TermId, b: TermId| {
            let ab = p.s.mul(a, b);
            let q = p.s.div(ab, below);
            p.s.sub(ab, q)
        };
        let (a, b) = (part(&mut p, x, y), part(&mut p, x, x));
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let found = difference(&p.s, a, b).expect("they differ");
        specific &= found.specific;
        messages.push(found.message);
    }
    assert!(specific, "{messages:?}");
    assert!(messages[0].starts_with("another index"), "{messages:?}");
}
