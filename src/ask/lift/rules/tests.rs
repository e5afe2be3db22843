//! Each rule keeps the value of what it matches, by an evaluator that shares no code with rules and printer.

use super::RULES;
use crate::lift::expr::{Expr, Fold};
use crate::lift::linear::Linear;
use crate::lift::tree::{Call, Q};

fn q(n: i64, d: i64) -> Q {
    Q::new(n.into(), d.into())
}

fn over_three() -> Vec<(Linear, Linear)> {
    vec![(Linear::number(0), Linear::number(3))]
}

fn read(array: u32) -> Expr {
    Expr::Read(array, Vec::new())
}

/// The value where array n holds the n-th number; independent of the rules and of the printer.
fn value(e: &Expr, at: &[f64]) -> f64 {
    use num_traits::ToPrimitive;
    let of = |e: &Expr| value(e, at);
    match e {
        Expr::Number(q) => q.to_f64().expect("a number"),
        Expr::Read(array, _) => at[*array as usize],
        Expr::Sum(l) => l
            .iter()
            .map(|(q, e)| q.to_f64().expect("a number") * of(e))
            .sum(),
        Expr::Product(l) => l.iter().map(|(e, p)| of(e).powi(*p)).product(),
        Expr::Call(Call::Exp, x) => of(x).exp(),
        Expr::Call(Call::Tanh, x) => of(x).tanh(),
        Expr::Call(Call::Abs, x) => of(x).abs(),
        Expr::Relu(x) => of(x).max(0.0),
        Expr::Sigmoid(x) => 1.0 / (1.0 + (-of(x)).exp()),
        Expr::Max(l) => l.iter().map(of).fold(f64::NEG_INFINITY, f64::max),
        Expr::Min(l) => l.iter().map(of).fold(f64::INFINITY, f64::min),
        Expr::Call(Call::Sqrt, x) => of(x).sqrt(),
        // The constants of the samples are the roots of 0.5.
        Expr::Constant(_) => 0.5f64.sqrt(),
        Expr::Reduce { ranges, body, .. } => {
            assert_eq!(*ranges, over_three(), "the range of the samples");
            3.0 * of(body)
        }
        Expr::Choose(c, a, b) => match &**c {
            Expr::Call(Call::Below, x) if of(x) < 0.0 => of(a),
            Expr::Call(Call::Below, _) => of(b),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// For each rule expressions that it matches.
fn samples(rule: &str) -> Vec<Expr> {
    let (x, y) = (read(0), read(1));
    let one = || Expr::Product(Vec::new());
    let exp = |e: Expr| Expr::Call(Call::Exp, Box::new(e));
    let relu = |e: Expr| Expr::Relu(Box::new(e));
    let sum = |l: Vec<(Q, Expr)>| Expr::Sum(l);
    let minus = |e: Expr| sum(vec![(q(-1, 1), e)]);
    match rule {
        "relu" => vec![Expr::Max(vec![Expr::Number(q(0, 1)), x])],
        "abs" => vec![Expr::Max(vec![minus(x.clone()), x])],
        "sigmoid" => {
            let below = |e: Expr| (sum(vec![(q(1, 1), one()), (q(1, 1), exp(e))]), -1);
            let with = Expr::Product(vec![(exp(x.clone()), 1), below(x.clone()), (y, 2)]);
            vec![Expr::Product(vec![below(minus(x.clone()))]), with]
        }
        "tanh" => {
            let s = Expr::Sigmoid(Box::new(minus(x)));
            vec![
                sum(vec![(q(1, 1), one()), (q(-2, 1), s.clone())]),
                sum(vec![
                    (q(3, 1), y.clone()),
                    (q(-6, 1), Expr::Product(vec![(y, 1), (s, 1)])),
                ]),
            ]
        }
        "abs-of-relu" => vec![sum(vec![(q(2, 1), relu(x.clone())), (q(-1, 1), x)])],
        "abs-of-maximum" => vec![sum(vec![
            (q(3, 1), Expr::Max(vec![x.clone(), y.clone()])),
            (q(-3, 2), x),
            (q(-3, 2), y),
        ])],
        "relu-of-choice" => {
            let choice = Expr::Choose(
                Box::new(Expr::Call(Call::Below, Box::new(x.clone()))),
                Box::new(Expr::Number(q(0, 1))),
                Box::new(Expr::Number(q(1, 1))),
            );
            vec![Expr::Product(vec![(x, 2), (choice, 1)])]
        }
        "leaky-relu" => vec![sum(vec![(q(1, 4), x.clone()), (q(3, 4), relu(x))])],
        "minimum" => vec![sum(vec![
            (q(3, 1), x.clone()),
            (q(-3, 1), Expr::Max(vec![x, y.clone()])),
            (q(3, 1), y),
        ])],
        "clamp" => {
            let max = |a: i64| Expr::Max(vec![x.clone(), Expr::Number(q(a, 2))]);
            let plus = sum(vec![(q(1, 1), x.clone()), (q(1, 1), one())]);
            vec![
                sum(vec![(q(2, 1), max(-3)), (q(-2, 1), max(1))]),
                sum(vec![(q(1, 1), relu(plus.clone())), (q(-1, 1), max(2))]),
                sum(vec![
                    (q(1, 3), relu(plus)),
                    (q(-1, 3), max(3)),
                    (q(5, 1), one()),
                ]),
                sum(vec![(q(-1, 1), max(3)), (q(1, 1), relu(x.clone()))]),
            ]
        }
        "root-of-maximum" => vec![Expr::Call(
            Call::Sqrt,
            Box::new(Expr::Max(vec![
                Expr::Product(vec![(x, 2)]),
                Expr::Product(vec![(Expr::Constant(0), 2)]),
            ])),
        )],
        "relu-of-difference" => vec![
            sum(vec![
                (q(2, 1), Expr::Max(vec![x.clone(), y.clone()])),
                (q(-2, 1), y.clone()),
            ]),
            sum(vec![
                (q(-1, 1), x.clone()),
                (q(1, 1), Expr::Max(vec![x, Expr::Number(q(1, 1))])),
            ]),
        ],
        "choice-of-multiples" => {
            let choice = Expr::Choose(
                Box::new(Expr::Call(Call::Below, Box::new(x.clone()))),
                Box::new(sum(vec![(q(1, 1), one()), (q(-2, 1), y)])),
                Box::new(Expr::Product(vec![(x, 2)])),
            );
            vec![sum(vec![(q(-1, 2), choice)])]
        }
        "root-of-quotient" => {
            let root = |e: Expr| Expr::Call(Call::Sqrt, Box::new(e));
            let square = Expr::Product(vec![(x, 2)]);
            vec![Expr::Product(vec![
                (root(sum(vec![(q(6, 1), square)])), 1),
                (root(Expr::Number(q(30, 1))), -1),
            ])]
        }
        "one-fold" => {
            let all = |e: Expr| Expr::Reduce {
                fold: Fold::Sum,
                ranges: over_three(),
                bounds: Vec::new(),
                body: Box::new(e),
            };
            vec![sum(vec![
                (q(2, 1), all(x.clone())),
                (q(1, 1), y.clone()),
                (q(-3, 1), all(y)),
            ])]
        }
        "square-of-difference" => {
            let square = |e: &Expr| Expr::Product(vec![(e.clone(), 2)]);
            let both = || Expr::Product(vec![(y.clone(), 1), (x.clone(), 1)]);
            vec![
                sum(vec![
                    (q(3, 1), square(&x)),
                    (q(-6, 1), both()),
                    (q(3, 1), square(&y)),
                ]),
                sum(vec![
                    (q(1, 1), square(&x)),
                    (q(1, 1), square(&y)),
                    (q(2, 1), both()),
                ]),
            ]
        }
        "content" => vec![Expr::Product(vec![
            (sum(vec![(q(-1, 2), x.clone()), (q(-3, 2), y.clone())]), 1),
            (y, 1),
        ])],
        "common-factor" => vec![sum(vec![
            (q(2, 1), Expr::Product(vec![(x.clone(), 1), (y.clone(), 1)])),
            (q(-5, 1), Expr::Product(vec![(x, 2), (y, 1)])),
            (q(1, 3), one()),
        ])],
        other => panic!("the rule {other} has no sample"),
    }
}

#[test]
fn what_a_rule_makes_is_equal() {
    for rule in RULES {
        assert!(!rule.because.is_empty());
        for e in samples(rule.name) {
            let to =
                (rule.apply)(&e).unwrap_or_else(|| panic!("{} does not match {e:?}", rule.name));
            assert_ne!(e, to, "{}", rule.name);
            for at in [
                [0.7, -1.3],
                [-0.4, 2.0],
                [1.9, 0.6],
                [-2.5, -0.1],
                [0.0, 1.0],
            ] {
                let (a, b) = (value(&e, &at), value(&to, &at));
                assert!((a - b).abs() < 1e-9, "{}: {a} and {b} at {at:?}", rule.name);
            }
        }
    }
}
