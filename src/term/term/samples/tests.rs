//! Enclosures at the sample inputs against exact evaluation.

use num_rational::BigRational;
use proptest::prelude::*;

use super::*;
use crate::scalar::Fmt;
use crate::term::eval::{Inputs, Mode, Value, evaluate};

const IN: ArrayId = ArrayId(3);

type Step = (u8, u8, u8);

fn build(s: &mut TermStore, steps: &[Step]) -> Vec<TermId> {
    let mut terms: Vec<TermId> = (0..4).map(|i| s.elem(IN, Fmt::F64, 8 * i)).collect();
    terms.push(s.rational(BigRational::new(1.into(), 3.into())));
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
                let p = s.rcmp(RCmp::Le, a, b);
                s.select(p, b, a)
            }
            18 => s.sum(&[(a, b), (b, b), (a, a)]),
            _ => s.fun(Fun::Erf, a),
        };
        terms.push(t);
    }
    terms
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_enclose_the_values(steps in proptest::collection::vec((0u8..20, any::<u8>(), any::<u8>()), 1..16)) {
        let mut s = TermStore::new();
        let terms = build(&mut s, &steps);
        let mut samples = Samples::default();
        terms.iter().for_each(|&t| samples.keep(&s, t));
        for point in 0..POINTS {
            let mut inputs = Inputs::default();
            for i in 0..4 {
                inputs.set(IN, 8 * i, 8, input(IN, 8 * i, point).to_bits());
            }
            let values = evaluate(&s, &terms, &inputs, Mode::exact(200));
            for (t, v) in terms.iter().zip(values) {
                let Real(lo, hi) = samples.kept[t][point] else { continue };
                let Some(i) = v.interval(200) else {
                    let infinite = lo == hi && v == if lo < 0.0 { Value::NegInf } else { Value::PosInf };
                    prop_assert!(infinite || v == Value::Undecided, "{v:?} in {lo} to {hi}");
                    continue;
                };
                prop_assert!(lo <= i.hi.to_f64() && i.lo.to_f64() <= hi, "{v:?} in {lo} to {hi}");
                if lo == hi {
                    let exact = BigRational::from_float(lo);
                    prop_assert!(matches!(&v, Value::Exact(q) if Some(q) == exact.as_ref()) || matches!(v, Value::Interval(_)));
                }
            }
        }
    }
}

#[test]
fn what_varies_and_what_does_not() {
    let mut s = TermStore::new();
    let [x, y] = [0, 4].map(|off| s.elem(IN, Fmt::F32, off));
    let (one, mut all) = (s.integer(1), Samples::default());
    let more = s.add(x, one);
    let back = s.sub(more, one);
    assert_eq!(all.orders(&s, back, x), Orders::SAME);
    assert_eq!(all.scaled(&s, back, x), Orders::SAME);
    assert_eq!(all.exact(&s, back, x), Orders::SAME);
    assert_eq!(all.orders(&s, more, x), Orders::MORE);
    // Of independent numbers each may be the larger.
    let (a, b) = (s.mul(x, x), s.mul(y, y));
    let found = all.orders(&s, a, b).or(all.scaled(&s, a, b));
    assert_eq!(found, Orders::ANY);
    // The largest of many squares is each of them somewhere.
    let squares: Vec<TermId> = (0..500)
        .map(|i| {
            let x = s.elem(IN, Fmt::F32, 4 * i);
            s.mul(x, x)
        })
        .collect();
    let mut most = squares[0];
    for &t in &squares[1..] {
        let found = all.orders(&s, most, t).or(all.scaled(&s, most, t));
        assert!(found.has(Orders::LESS.or(Orders::MORE)), "{found:?}");
        most = s.max(most, t);
    }
    assert!(
        all.orders(&s, squares[250], most)
            .has(Orders::SAME.or(Orders::LESS))
    );
}
