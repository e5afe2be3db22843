//! Names for what is known: one table of rewrites of expressions, each with its reason.
//!
//! They are applied from the leaves up until none applies. A rule is a matter of taste: what it makes is proved
//! with the rest of the formula.

mod activations;
mod extrema;
mod sums;
#[cfg(test)]
mod tests;

use num_traits::One;

use super::expr::Expr;
use super::tree::Q;

/// A rewrite.
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The expression that stands for the one it matches.
    pub apply: fn(&Expr) -> Option<Expr>,
    /// Why they are equal.
    pub because: &'static str,
}

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "relu",
        apply: activations::relu,
        because: "relu(x) is max(0, x)",
    },
    Rule {
        name: "abs",
        apply: activations::absolute,
        because: "max(x, -x) is the absolute value",
    },
    Rule {
        name: "sigmoid",
        apply: activations::sigmoid,
        because: "1/(1 + exp(-x)) is exp(x)/(1 + exp(x))",
    },
    Rule {
        name: "tanh",
        apply: activations::tanh,
        because: "1 - 2*sigmoid(x) is tanh(-x/2)",
    },
    Rule {
        name: "abs-of-relu",
        apply: activations::absolute_of_relu,
        because: "2*relu(x) - x is x where x > 0, else -x",
    },
    Rule {
        name: "abs-of-maximum",
        apply: activations::absolute_of_maximum,
        because: "2*max(x, y) - x - y is x - y where that is above 0, else y - x",
    },
    Rule {
        name: "relu-of-choice",
        apply: activations::relu_of_choice,
        because: "x^n where x > 0, else 0, is relu(x)^n",
    },
    Rule {
        name: "leaky-relu",
        apply: activations::leaky_relu,
        because: "a*x + (1 - a)*relu(x) is x where x > 0, else a*x, and a is below 1",
    },
    Rule {
        name: "minimum",
        apply: extrema::minimum,
        because: "x + y - max(x, y) is the smaller of both",
    },
    Rule {
        name: "clamp",
        apply: extrema::clamp,
        because: "max(x, a) - max(x, b) is min(max(x, a), b) - b where a is below b",
    },
    Rule {
        name: "root-of-maximum",
        apply: extrema::root_of_maximum,
        because: "the root of max(x, a^2) is max(sqrt(x), a) for a number above 0",
    },
    Rule {
        name: "relu-of-difference",
        apply: extrema::relu_of_difference,
        because: "max(x, y) - y is relu(x - y)",
    },
    Rule {
        name: "choice-of-multiples",
        apply: sums::choice_of_multiples,
        because: "a number times a choice is the choice of the multiples",
    },
    Rule {
        name: "root-of-quotient",
        apply: sums::root_of_quotient,
        because: "sqrt(a*x)/sqrt(b) is sqrt(a/b*x) for a number b above 0",
    },
    Rule {
        name: "one-fold",
        apply: sums::one_fold,
        because: "sums over one range are the sum of what they add",
    },
    Rule {
        name: "square-of-difference",
        apply: sums::square_of_difference,
        because: "x^2 + y^2 - 2*x*y is (x - y)^2, and alike with plus",
    },
    Rule {
        name: "content",
        apply: sums::content_of_factor,
        because: "(a*x + a*y)*z is a*(x + y)*z",
    },
    Rule {
        name: "common-factor",
        apply: sums::common_factor,
        because: "a*x + a*y is a*(x + y)",
    },
];

/// The expression with all names that it can have.
pub fn named(e: Expr) -> Expr {
    /// Rewrites of one node.
    const MOST: usize = 32;
    let mut e = e.map(&mut named);
    for _ in 0..MOST {
        let Some(next) = RULES.iter().find_map(|r| (r.apply)(&e)) else {
            break;
        };
        e = next.map(&mut named);
    }
    e
}

/// Factors of an expression.
fn factors(e: &Expr) -> Vec<(Expr, i32)> {
    match e {
        Expr::Product(l) => l.clone(),
        e => vec![(e.clone(), 1)],
    }
}

/// The places of the summands of q * rest * x in a sum.
fn places(list: &[(Q, Expr)], q: &Q, rest: &Expr, x: &Expr) -> Option<Vec<usize>> {
    let parts = match x {
        Expr::Sum(l) => l.clone(),
        x => vec![(Q::one(), x.clone())],
    };
    let sorted = |e: Expr| {
        let mut all = factors(&Expr::product(vec![(e, 1)]));
        all.sort_by_key(|f| format!("{f:?}"));
        all
    };
    let place = |(k, t): &(Q, Expr)| {
        let whole = sorted(Expr::product(vec![(rest.clone(), 1), (t.clone(), 1)]));
        let same = |(p, e): &(Q, Expr)| *p == k * q && sorted(e.clone()) == whole;
        list.iter().position(same)
    };
    parts.iter().map(place).collect()
}

/// The summands that are a multiple of the larger of two: their places, the multiples, and the two.
fn maxima(list: &[(Q, Expr)]) -> impl Iterator<Item = (usize, &Q, [&Expr; 2])> {
    list.iter().enumerate().filter_map(|(i, (q, e))| {
        let Expr::Max(operands) = e else {
            return None;
        };
        let [a, b] = operands.as_slice() else {
            return None;
        };
        Some((i, q, [a, b]))
    })
}

/// x - y.
fn difference(x: &Expr, y: &Expr) -> Expr {
    Expr::sum(vec![(Q::one(), x.clone()), (-Q::one(), y.clone())])
}

/// A sum without some summands, with another in front.
fn without(list: &[(Q, Expr)], gone: &[usize], instead: (Q, Expr)) -> Expr {
    let kept = list.iter().enumerate().filter(|(i, _)| !gone.contains(i));
    let kept = kept.map(|(_, s)| s.clone());
    Expr::sum([instead].into_iter().chain(kept).collect())
}
