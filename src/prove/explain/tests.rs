//! Pairs of hand-made outcomes, and that every witness holds when it is evaluated again.

use std::collections::BTreeMap;

use super::*;
use crate::decide::Coverage;
use crate::decide::goal::Pairs;
use crate::decide::refute::{self, Budget};
use crate::kernel::Fmt;
use crate::number::random::Random;
use crate::sim::{Outcome, Writes};
use crate::spec::{Array, ElemTy, Origin, Role};
use crate::term::TermStore;
use crate::term::eval::{self, Inputs, Mode, Value};

mod choices;
mod probable;

const IN: ArrayId = ArrayId(0);
const OUT: ArrayId = ArrayId(1);

fn arrays(role: Option<Role>) -> Arrays {
    let array = |name: &str, role| Array {
        name: name.to_string(),
        origin: Origin::Pointer,
        role,
        elem: Some(ElemTy::Float(Fmt::F32)),
        shape: vec![8],
        extent: Some(32),
        initial: None,
        only: None,
        align: None,
        pointers: None,
        handed_on: false,
    };
    Arrays(vec![array("in", Some(Role::In)), array("out", role)])
}

/// The outcome of a kernel that writes the reals that `f` makes to the elements of `out`.
fn kernel(f: impl FnOnce(&mut TermStore, [TermId; 4]) -> Vec<TermId>) -> Clean {
    let mut store = TermStore::new();
    let x = [0, 4, 8, 12].map(|o| store.elem(IN, Fmt::F32, o));
    let mut writes = Writes::new();
    for (i, t) in f(&mut store, x).into_iter().enumerate() {
        let bits = store.of_real(Fmt::F32, t);
        writes.insert(4 * i as u64, bits);
    }
    let outcome = Outcome {
        store,
        writes: BTreeMap::from([(OUT, writes)]),
        ..Outcome::default()
    };
    outcome.into_clean(true).expect("nothing is wrong with it")
}

fn ratio(n: i64, d: i64) -> num_rational::BigRational {
    num_rational::BigRational::new(n.into(), d.into())
}

fn run(
    r: impl FnOnce(&mut TermStore, [TermId; 4]) -> Vec<TermId>,
    o: impl FnOnce(&mut TermStore, [TermId; 4]) -> Vec<TermId>,
) -> Decision {
    decide(
        kernel(r),
        kernel(o),
        &arrays(Some(Role::Out)),
        &Options::default(),
    )
}

#[test]
fn equal_terms_built_in_another_order_are_equivalent() {
    let d = run(
        |s, [a, b, c, _]| {
            let t = s.mul(a, b);
            vec![s.add(t, c)]
        },
        |s, [a, b, c, _]| {
            let _ = s.add(b, c);
            let t = s.mul(b, a);
            vec![s.add(c, t)]
        },
    );
    assert_eq!(d.verdict, Verdict::Equivalent);
    assert_eq!((d.outputs[0].elements, d.outputs[0].proved), (1, 1));
}

#[test]
fn a_missing_summand_is_refuted_with_a_small_input() {
    let d = run(
        |s, [a, b, c, _]| {
            let t = s.add(a, b);
            vec![s.add(t, c)]
        },
        |s, [a, b, _, _]| vec![s.add(a, b)],
    );
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    let c = d.counterexample.expect("a witness");
    assert_eq!(c.inputs.len(), 1);
    assert_eq!(
        (c.inputs[0].element[0], &c.inputs[0].value.text[..]),
        (2, "1")
    );
    assert_eq!(c.reference.expect("a value").text, "1");
    assert_eq!(c.optimized.expect("a value").text, "0");
}

#[test]
fn rounding_to_the_nearest_is_one_function_by_trunc_and_by_floor() {
    use crate::term::{Fun, RCmp};
    // trunc(x + (x < 0 ? -h : h)) against (x < 0 ? -y : y) with y = floor(|x| + h).
    let by_trunc = |s: &mut TermStore, [a, ..]: [TermId; 4]| {
        let (zero, h, minus) = (s.integer(0), ratio(1, 2), ratio(-1, 2));
        let (h, minus) = (s.rational(h), s.rational(minus));
        let below = s.rcmp(RCmp::Lt, a, zero);
        let k = s.select(below, minus, h);
        let t = s.add(a, k);
        vec![s.fun(Fun::Trunc, t)]
    };
    let by_floor = |h: num_rational::BigRational| {
        move |s: &mut TermStore, [a, ..]: [TermId; 4]| {
            let (zero, h) = (s.integer(0), s.rational(h));
            let m = s.fun(Fun::Abs, a);
            let t = s.add(m, h);
            let y = s.fun(Fun::Floor, t);
            let n = s.neg(y);
            let below = s.rcmp(RCmp::Lt, a, zero);
            vec![s.select(below, n, y)]
        }
    };
    let d = run(by_trunc, by_floor(ratio(1, 2)));
    assert_eq!(d.verdict, Verdict::Equivalent);
    let d = run(by_trunc, by_floor(ratio(1, 4)));
    assert_eq!(d.verdict, Verdict::NotEquivalent);
}

#[test]
fn an_expanded_power_is_one_power_in_every_region() {
    use crate::term::{Fun, RCmp};
    // max(0, x) + min(0, p - 1) with p = 2^(t - n) * 2^n, t = 3/2 x and n = floor(t) within bounds,
    // against (0 < x ? x : 2^(3/2 x) - 1).
    let expanded = |s: &mut TermStore, [x, ..]: [TermId; 4]| {
        let (zero, one, k) = (s.integer(0), s.integer(1), ratio(3, 2));
        let (k, lo, hi) = (s.rational(k), s.integer(-100), s.integer(100));
        let t = s.mul(x, k);
        let n = s.max(t, lo);
        let n = s.min(n, hi);
        let n = s.fun(Fun::Floor, n);
        let rest = s.sub(t, n);
        let (p, q) = (s.fun(Fun::Exp2, rest), s.fun(Fun::Exp2, n));
        let p = s.mul(p, q);
        let p = s.sub(p, one);
        let (a, b) = (s.max(x, zero), s.min(p, zero));
        vec![s.add(a, b)]
    };
    let plain = |k: i64| {
        move |s: &mut TermStore, [x, ..]: [TermId; 4]| {
            let (zero, one, k) = (s.integer(0), s.integer(1), s.rational(ratio(k, 2)));
            let t = s.mul(x, k);
            let p = s.fun(Fun::Exp2, t);
            let p = s.sub(p, one);
            let above = s.rcmp(RCmp::Lt, zero, x);
            vec![s.select(above, x, p)]
        }
    };
    assert_eq!(run(expanded, plain(3)).verdict, Verdict::Equivalent);
    assert_eq!(run(expanded, plain(4)).verdict, Verdict::NotEquivalent);
}

#[test]
fn log2_e_is_a_number_and_no_input() {
    // exp(x) against exp(2 x), by the exact log2(e).
    let exp = |k: i64| {
        move |s: &mut TermStore, [a, ..]: [TermId; 4]| {
            let (e, k) = (s.log2_e(), s.integer(k));
            let t = s.mul(a, e);
            let t = s.mul(t, k);
            vec![s.fun(crate::term::Fun::Exp2, t)]
        }
    };
    let d = run(exp(1), exp(2));
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    let inputs = d.counterexample.expect("a witness").inputs;
    assert!(inputs.iter().all(|i| i.array == IN), "{inputs:?}");
    assert_eq!(run(exp(3), exp(3)).verdict, Verdict::Equivalent);
}

#[test]
fn a_logarithm_of_zero_hides_no_nan() {
    use crate::term::Fun;
    // The sum of the logarithms of x - max(x, y) and y - max(x, y): of the two one is that of zero,
    // the other that of a negative number.
    let wrong = |s: &mut TermStore, [a, b, ..]: [TermId; 4]| {
        let m = s.max(a, b);
        let (x, y) = (s.sub(a, m), s.sub(b, m));
        let (x, y) = (s.fun(Fun::Log2, x), s.fun(Fun::Log2, y));
        vec![s.add(x, y)]
    };
    let plain = |s: &mut TermStore, [a, b, ..]: [TermId; 4]| vec![s.add(a, b)];
    let d = run(plain, wrong);
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    assert!(d.counterexample.expect("a witness").optimized.is_none());
    // The logarithm of zero alone is minus infinity, and tells nothing.
    let zero = |s: &mut TermStore, [a, b, ..]: [TermId; 4]| {
        let d = s.sub(a, a);
        let x = s.fun(Fun::Log2, d);
        let x = s.fun(Fun::Exp2, x);
        let t = s.add(x, a);
        vec![s.add(t, b)]
    };
    assert_ne!(run(plain, zero).verdict, Verdict::NotEquivalent);
}

#[test]
fn rounded_constants_do_not_refute() {
    // exp(x) by log2(e) rounded to f32, and by log2(e) rounded to f64.
    let exp = |bits: u64, fmt: Fmt| {
        move |s: &mut TermStore, [a, ..]: [TermId; 4]| {
            let c = s.rational(crate::term::decode(fmt, bits).expect("finite"));
            let t = s.mul(a, c);
            vec![s.fun(crate::term::Fun::Exp2, t)]
        }
    };
    let f32_bits = std::f32::consts::LOG2_E.to_bits() as u64;
    let f64_bits = std::f64::consts::LOG2_E.to_bits();
    let exactly = Options {
        exact_constants: true,
        ..Options::default()
    };
    let (r, o) = (exp(f32_bits, Fmt::F32), exp(f64_bits, Fmt::F64));
    let d = decide(kernel(r), kernel(o), &arrays(Some(Role::Out)), &exactly);
    assert_eq!(d.verdict, Verdict::Unknown);
    assert!(d.unknowns[0].message.contains("rounding of constants"));
    // Both are log2(e) if one may say so.
    let d = run(r, o);
    assert_eq!(d.verdict, Verdict::Equivalent);
    assert_eq!(d.assumptions.len(), 2);
    // Another base is another function.
    let two = 1.5f32.to_bits() as u64;
    let d = run(exp(f32_bits, Fmt::F32), exp(two, Fmt::F32));
    assert_eq!(d.verdict, Verdict::NotEquivalent);
}

#[test]
fn an_input_where_only_the_optimized_kernel_is_undefined_refutes() {
    let d = run(
        |_, [a, ..]| vec![a],
        |s, [a, b, ..]| {
            let t = s.mul(a, b);
            vec![s.div(t, b)]
        },
    );
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    let c = d.counterexample.expect("a witness");
    assert!(c.optimized.is_none() && c.inputs.is_empty());
    // The other way round the reference has no value there.
    let d = run(
        |s, [a, b, ..]| {
            let t = s.mul(a, b);
            vec![s.div(t, b)]
        },
        |_, [a, ..]| vec![a],
    );
    assert_ne!(d.verdict, Verdict::NotEquivalent);
}

#[test]
fn an_element_that_one_kernel_writes_differs_only_in_an_output() {
    let one = |_: &mut TermStore, [a, ..]: [TermId; 4]| vec![a];
    let two = |_: &mut TermStore, [a, b, ..]: [TermId; 4]| vec![a, b];
    let d = run(one, two);
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    let c = d.counterexample.expect("a witness");
    assert_eq!((c.element, c.reference), (vec![1], None));
    // Where other CTAs may write it nothing is known.
    let partial = Options {
        reference: Coverage::SelectedCtas,
        ..Options::default()
    };
    let d = decide(kernel(one), kernel(two), &arrays(Some(Role::Out)), &partial);
    assert_eq!(d.verdict, Verdict::Unknown);
    // In an array with initial content the input is compared with that content.
    let d = decide(kernel(one), kernel(two), &arrays(None), &Options::default());
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    assert_eq!(d.counterexample.expect("a witness").inputs.len(), 1);
}

#[test]
fn nothing_to_compare_is_unknown() {
    let d = decide(
        kernel(|_, [a, ..]| vec![a]),
        kernel(|_, [a, ..]| vec![a]),
        &arrays(Some(Role::Scratch)),
        &Options::default(),
    );
    assert_eq!(d.verdict, Verdict::Unknown);
    assert_eq!(d.unknowns[0].kind, UnknownKind::NothingToCompare);
}

#[test]
fn packed_halves_are_compared_part_by_part() {
    let halves = |swap: bool| {
        let mut store = TermStore::new();
        let x = store.elem(IN, Fmt::F16, 0);
        let y = store.elem(IN, Fmt::F16, 2);
        let s = store.add(x, y);
        let p = store.mul(x, y);
        let s = store.of_real(Fmt::F16, s);
        let p = store.of_real(Fmt::F16, p);
        let word = store.concat(&if swap { [p, s] } else { [s, p] });
        let outcome = Outcome {
            store,
            writes: BTreeMap::from([(OUT, Writes::from([(0, word)]))]),
            ..Outcome::default()
        };
        outcome.into_clean(true).expect("clean")
    };
    let mut a = arrays(None);
    a.0[1].elem = None;
    a.0[0].elem = None;
    let d = decide(halves(false), halves(false), &a, &Options::default());
    assert_eq!((d.verdict, d.outputs[0].elements), (Verdict::Equivalent, 2));
    let d = decide(halves(false), halves(true), &a, &Options::default());
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    // Bound as one 32-bit word it is one element of bits, which reals do not have.
    a.0[1].elem = Some(ElemTy::Int {
        width: 32,
        signed: false,
    });
    let d = decide(halves(false), halves(true), &a, &Options::default());
    assert_eq!((d.verdict, d.outputs[0].elements), (Verdict::Unknown, 1));
}

#[test]
fn the_result_is_the_same_for_any_number_of_threads() {
    let many = |wrong: usize| {
        move |s: &mut TermStore, [a, b, ..]: [TermId; 4]| -> Vec<TermId> {
            (0..200)
                .map(|i| {
                    let c = s.integer(i);
                    let t = s.mul(a, c);
                    let u = s.add(t, b);
                    // Shapes that only a normal form would equate stay open.
                    let v = if i % 3 == 0 { s.mul(u, u) } else { u };
                    if i as usize == wrong { s.add(v, b) } else { v }
                })
                .collect()
        }
    };
    let results: Vec<Decision> = [1, 2, 7]
        .iter()
        .map(|&n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
            pool.expect("threads")
                .install(|| run(many(1000), many(150)))
        })
        .collect();
    assert_eq!(results[0].verdict, Verdict::NotEquivalent);
    assert!(results.iter().all(|r| r == &results[0]));
}

#[test]
fn witnesses_hold_when_evaluated_again() {
    // Random pairs of small terms: whatever is refuted is refuted by its witness.
    let mut random = Random(1);
    let mut refuted = 0;
    for _ in 0..60 {
        let mut store = TermStore::new();
        let mut terms: Vec<TermId> = (0..4).map(|i| store.elem(IN, Fmt::F32, 4 * i)).collect();
        terms.push(store.rational(ratio(1, 2)));
        for _ in 0..12 {
            let n = terms.len() as u64;
            let (a, b) = (random.below(n) as usize, random.below(n) as usize);
            let (a, b) = (terms[a], terms[b]);
            let t = match random.below(6) {
                0 => store.add(a, b),
                1 => store.mul(a, b),
                2 => store.max(a, b),
                3 => store.div(a, b),
                4 => store.fun(crate::term::Fun::Tanh, a),
                _ => store.sub(a, b),
            };
            terms.push(t);
        }
        let (a, b) = (terms[terms.len() - 1], terms[terms.len() - 2]);
        let pairs = Pairs::from_slice(&[(a, b)]);
        let budget = Budget {
            steps: 1_000_000,
            deadline: None,
            climb: false,
        };
        let found = refute::search(&store, &pairs, &arrays(None), 7, budget).found;
        let Some(found) = found else { continue };
        refuted += 1;
        let mut inputs = Inputs::default();
        for (c, bits) in &found.inputs {
            inputs.set(c.array, c.off, c.bytes, *bits);
        }
        let mode = Mode::exact(400);
        let v = eval::evaluate(&store, &[a, b], &inputs, mode);
        let enclosed = |v: &Value| v.interval(400);
        // The sign of an infinity, where it is known.
        let infinity = |v: &Value| match v {
            Value::PosInf | Value::Pole(Some(false)) => Some(Some(false)),
            Value::NegInf | Value::Pole(Some(true)) => Some(Some(true)),
            Value::Pole(None) | Value::NotFinite => Some(None),
            _ => None,
        };
        match (enclosed(&v[0]), enclosed(&v[1])) {
            (Some(x), Some(y)) => assert!(x.disjoint(&y)),
            (Some(_), None) => {
                assert!(
                    v[1] == Value::Undefined || infinity(&v[1]).is_some(),
                    "{:?}",
                    v[1]
                );
            }
            // An infinity is a value: a number in its place refutes, and the other infinity does.
            (None, other) => {
                let sign = infinity(&v[0]).unwrap_or_else(|| panic!("no value: {:?}", v[0]));
                let opposite = sign.is_some() && infinity(&v[1]) == Some(sign.map(|n| !n));
                assert!(other.is_some() || opposite, "{:?} and {:?}", v[0], v[1]);
            }
        }
    }
    assert!(refuted > 20, "{refuted}");
}

/// exp(x - m) with log2(e) rounded to f32.
fn exp(s: &mut TermStore, x: TermId, m: Option<TermId>) -> TermId {
    let bits = std::f32::consts::LOG2_E.to_bits() as u64;
    let c = s.rational(crate::term::decode(Fmt::F32, bits).expect("finite"));
    let d = match m {
        Some(m) => s.sub(x, m),
        None => x,
    };
    let t = s.mul(d, c);
    s.fun(crate::term::Fun::Exp2, t)
}

fn naive_softmax(s: &mut TermStore, x: [TermId; 4]) -> Vec<TermId> {
    let e = x.map(|x| exp(s, x, None));
    let t = s.add(e[0], e[1]);
    let t = s.add(t, e[2]);
    let sum = s.add(t, e[3]);
    e.map(|e| s.div(e, sum)).to_vec()
}

/// With a running maximum and a running sum; `wrong` forgets to rescale once.
fn online_softmax(wrong: bool) -> impl FnOnce(&mut TermStore, [TermId; 4]) -> Vec<TermId> {
    move |s, x| {
        let mut m = x[0];
        let mut sum = s.integer(1);
        for (i, &v) in x.iter().enumerate().skip(1) {
            let next = s.max(m, v);
            let scale = exp(s, m, Some(next));
            let e = exp(s, v, Some(next));
            let old = if wrong && i == 2 {
                sum
            } else {
                s.mul(sum, scale)
            };
            sum = s.add(old, e);
            m = next;
        }
        x.map(|v| {
            let e = exp(s, v, Some(m));
            s.div(e, sum)
        })
        .to_vec()
    }
}

#[test]
fn online_softmax_is_equivalent_and_a_wrong_one_is_refuted() {
    let d = run(naive_softmax, online_softmax(false));
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
    let d = run(naive_softmax, online_softmax(true));
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    assert!(d.counterexample.expect("a witness").inputs.len() <= 2);
}

#[test]
fn a_division_needs_a_reason() {
    let square = |s: &mut TermStore, x: TermId| s.mul(x, x);
    // x = x (1 + y^2) / (1 + y^2): the denominator is positive.
    let d = run(
        |_, [a, ..]| vec![a],
        |s, [a, b, ..]| {
            let q = square(s, b);
            let one = s.integer(1);
            let den = s.add(one, q);
            let num = s.mul(a, den);
            vec![s.div(num, den)]
        },
    );
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
    // (x + y) / z = x/z + y/z: the reference divides by z as well.
    let d = run(
        |s, [a, b, c, _]| {
            let t = s.add(a, b);
            vec![s.div(t, c)]
        },
        |s, [a, b, c, _]| {
            let (x, y) = (s.div(a, c), s.div(b, c));
            vec![s.add(x, y)]
        },
    );
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
}

#[test]
fn cases_prove_what_forms_do_not() {
    let select = |s: &mut TermStore, x: TermId, op, y: TermId| {
        let zero = s.integer(0);
        let p = s.rcmp(op, zero, x);
        s.select(p, x, y)
    };
    use crate::term::RCmp;
    // x > 0 ? x : y/2 and x >= 0 ? x : y/2 differ at 0 alone, unless y is x.
    let leaky = |op, other: usize| {
        move |s: &mut TermStore, x: [TermId; 4]| {
            let half = s.rational(ratio(1, 2));
            let y = s.mul(x[other], half);
            vec![select(s, x[0], op, y)]
        }
    };
    let d = run(leaky(RCmp::Lt, 0), leaky(RCmp::Le, 0));
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
    let d = run(leaky(RCmp::Lt, 1), leaky(RCmp::Le, 1));
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    // Leaky relu as a maximum.
    let d = run(leaky(RCmp::Lt, 0), |s, x| {
        let half = s.rational(ratio(1, 2));
        let y = s.mul(x[0], half);
        vec![s.max(x[0], y)]
    });
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
    // Clamping from below first or from above first, and with the bounds the wrong way round.
    let clamp = |lo: i64, hi: i64, below_first: bool| {
        move |s: &mut TermStore, x: [TermId; 4]| {
            let (lo, hi) = (s.integer(lo), s.integer(hi));
            vec![if below_first {
                let t = s.max(x[0], lo);
                s.min(t, hi)
            } else {
                let t = s.min(x[0], hi);
                s.max(t, lo)
            }]
        }
    };
    let d = run(clamp(0, 6, true), clamp(0, 6, false));
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
    let d = run(clamp(6, 0, true), clamp(6, 0, false));
    assert_eq!(d.verdict, Verdict::NotEquivalent);
    // The median of three in two ways.
    let d = run(
        |s, [a, b, c, _]| {
            let (lo, hi) = (s.min(a, b), s.max(a, b));
            let t = s.min(hi, c);
            vec![s.max(lo, t)]
        },
        |s, [a, b, c, _]| {
            let (lo, hi) = (s.min(b, c), s.max(b, c));
            let t = s.min(hi, a);
            vec![s.max(lo, t)]
        },
    );
    assert_eq!(d.verdict, Verdict::Equivalent, "{:?}", d.unknowns);
    // A split does not excuse a division.
    let d = run(
        |s, [a, ..]| {
            let z = s.integer(0);
            vec![s.max(a, z)]
        },
        |s, [a, b, ..]| {
            let z = s.integer(0);
            let p = s.rcmp(RCmp::Lt, z, a);
            let t = s.mul(a, b);
            let t = s.div(t, b);
            vec![s.select(p, t, z)]
        },
    );
    assert_ne!(d.verdict, Verdict::Equivalent);
}
