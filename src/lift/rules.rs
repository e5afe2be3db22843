//! Names for what is known: one table of rewrites of expressions, each with its reason.
//!
//! They are applied from the leaves up until none applies. A rule is a matter of taste: what it makes is proved
//! with the rest of the formula.

use num_traits::{One, Zero};

use super::expr::Expr;
use super::tree::{Call, Q};

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
        apply: relu,
        because: "relu(x) is max(0, x)",
    },
    Rule {
        name: "abs",
        apply: absolute,
        because: "max(x, -x) is the absolute value",
    },
    Rule {
        name: "sigmoid",
        apply: sigmoid,
        because: "1/(1 + exp(-x)) is exp(x)/(1 + exp(x))",
    },
    Rule {
        name: "tanh",
        apply: tanh,
        because: "1 - 2*sigmoid(x) is tanh(-x/2)",
    },
    Rule {
        name: "abs-of-relu",
        apply: absolute_of_relu,
        because: "2*relu(x) - x is x where x > 0, else -x",
    },
    Rule {
        name: "relu-of-choice",
        apply: relu_of_choice,
        because: "x^n where x > 0, else 0, is relu(x)^n",
    },
    Rule {
        name: "leaky-relu",
        apply: leaky_relu,
        because: "a*x + (1 - a)*relu(x) is x where x > 0, else a*x, and a is below 1",
    },
    Rule {
        name: "common-factor",
        apply: common_factor,
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

fn is_zero(e: &Expr) -> bool {
    matches!(e, Expr::Number(q) if q.is_zero())
}

fn relu(e: &Expr) -> Option<Expr> {
    let Expr::Max(list) = e else {
        return None;
    };
    let (zeros, mut rest): (Vec<Expr>, Vec<Expr>) = list.iter().cloned().partition(is_zero);
    if zeros.is_empty() || rest.is_empty() {
        return None;
    }
    let inner = if rest.len() == 1 {
        rest.remove(0)
    } else {
        Expr::Max(rest)
    };
    Some(Expr::Relu(Box::new(inner)))
}

fn absolute(e: &Expr) -> Option<Expr> {
    let Expr::Max(list) = e else {
        return None;
    };
    let [a, b] = list.as_slice() else {
        return None;
    };
    let (a, b) = if a.is_negative() { (b, a) } else { (a, b) };
    (a.clone().negated() == *b).then(|| Expr::Call(Call::Abs, Box::new(a.clone())))
}

/// The x of 1 + exp(x).
fn one_and_exponential(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let [(p, a), (q, b)] = list.as_slice() else {
        return None;
    };
    if !p.is_one() || !q.is_one() {
        return None;
    }
    let is_one = |e: &Expr| matches!(e, Expr::Product(l) if l.is_empty());
    match (a, b) {
        (one, Expr::Call(Call::Exp, x)) | (Expr::Call(Call::Exp, x), one) if is_one(one) => {
            Some((**x).clone())
        }
        _ => None,
    }
}

fn sigmoid(e: &Expr) -> Option<Expr> {
    let Expr::Product(list) = e else {
        return None;
    };
    let at = |f: &(Expr, i32)| (f.1 < 0).then(|| one_and_exponential(&f.0)).flatten();
    let (i, x) = list
        .iter()
        .enumerate()
        .find_map(|(i, f)| Some((i, at(f)?)))?;
    let power = -list[i].1;
    let exponential = Expr::Call(Call::Exp, Box::new(x.clone()));
    let above = list.iter().position(|f| *f == (exponential.clone(), power));
    let inner = if above.is_some() { x } else { x.negated() };
    let mut out: Vec<(Expr, i32)> = list.clone();
    out[i] = (Expr::Sigmoid(Box::new(inner)), power);
    if let Some(j) = above {
        out.remove(j);
    }
    Some(Expr::product(out))
}

/// Factors of an expression.
fn factors(e: &Expr) -> Vec<(Expr, i32)> {
    match e {
        Expr::Product(l) => l.clone(),
        e => vec![(e.clone(), 1)],
    }
}

fn tanh(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let minus_two = Q::from_integer((-2).into());
    for (i, (q, e)) in list.iter().enumerate() {
        let all = factors(e);
        for (k, (f, p)) in all.iter().enumerate() {
            let (Expr::Sigmoid(x), 1) = (f, p) else {
                continue;
            };
            let mut rest = all.clone();
            rest.remove(k);
            let rest = Expr::product(rest);
            let partner = |(j, (r, e)): (usize, &(Q, Expr))| {
                (j != i && r * &minus_two == *q && Expr::product(factors(e)) == rest).then_some(j)
            };
            let Some(j) = list.iter().enumerate().find_map(partner) else {
                continue;
            };
            let half = Q::new((-1).into(), 2.into());
            let argument = (**x).clone().times(half);
            let turn = argument.is_negative();
            let argument = if turn { argument.negated() } else { argument };
            let mut with = factors(&rest);
            with.push((Expr::Call(Call::Tanh, Box::new(argument)), 1));
            let mut out = list.clone();
            out[j].1 = Expr::product(with);
            if turn {
                out[j].0 *= -Q::one();
            }
            out.remove(i);
            return Some(Expr::sum(out));
        }
    }
    None
}

/// The summand with a factor relu(x), the other factors, and x.
fn relu_of(e: &Expr) -> Option<(Expr, Expr)> {
    let mut all = factors(e);
    let at = all.iter().position(|f| matches!(f, (Expr::Relu(_), 1)))?;
    let (Expr::Relu(x), _) = all.remove(at) else {
        return None;
    };
    Some((Expr::product(all), *x))
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

/// A sum without some summands, with another in front.
fn without(list: &[(Q, Expr)], gone: &[usize], instead: (Q, Expr)) -> Expr {
    let kept = list.iter().enumerate().filter(|(i, _)| !gone.contains(i));
    let kept = kept.map(|(_, s)| s.clone());
    Expr::sum([instead].into_iter().chain(kept).collect())
}

fn absolute_of_relu(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    list.iter().enumerate().find_map(|(i, (q, e))| {
        let (rest, x) = relu_of(e)?;
        let half = q / Q::from_integer(2.into());
        let mut gone = places(list, &-half.clone(), &rest, &x)?;
        gone.push(i);
        let size = Expr::Call(Call::Abs, Box::new(x));
        Some(without(
            list,
            &gone,
            (half, Expr::product(vec![(rest, 1), (size, 1)])),
        ))
    })
}

fn leaky_relu(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    list.iter().enumerate().find_map(|(i, (q, e))| {
        let (rest, x) = relu_of(e)?;
        let below = Q::one() - q;
        if below <= Q::zero() || below >= Q::one() || rest != Expr::Product(Vec::new()) {
            return None;
        }
        let mut gone = places(list, &below, &rest, &x)?;
        gone.push(i);
        let max = Expr::Max(vec![x.clone(), x.times(below)]);
        Some(without(list, &gone, (Q::one(), max)))
    })
}

fn relu_of_choice(e: &Expr) -> Option<Expr> {
    let Expr::Product(list) = e else {
        return None;
    };
    let number = |e: &Expr, n: i64| matches!(e, Expr::Number(q) if *q == Q::from_integer(n.into()));
    let positive = |c: &Expr, yes: &Expr, no: &Expr| match c {
        Expr::Call(Call::Below, x) if number(yes, 1) && number(no, 0) => {
            Some((**x).clone().negated())
        }
        Expr::Call(Call::Below, x) if number(yes, 0) && number(no, 1) => Some((**x).clone()),
        _ => None,
    };
    let (i, x) = list.iter().enumerate().find_map(|(i, (e, p))| match e {
        Expr::Choose(c, yes, no) if *p == 1 => Some((i, positive(c, yes, no)?)),
        _ => None,
    })?;
    let j = list.iter().position(|(e, p)| *e == x && *p > 0)?;
    let mut out = list.clone();
    out[j].0 = Expr::Relu(Box::new(x));
    out.remove(i);
    Some(Expr::product(out))
}

/// The factor that most summands share, in front of them.
fn common_factor(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let mut best: Option<((Expr, i32), usize)> = None;
    for (_, e) in list {
        for f in factors(e) {
            let count = list.iter().filter(|(_, e)| factors(e).contains(&f)).count();
            if count > 1 && best.as_ref().is_none_or(|b| count > b.1) {
                best = Some((f, count));
            }
        }
    }
    let (factor, _) = best?;
    let mut inside = Vec::new();
    let mut out = Vec::new();
    for (q, e) in list {
        let mut all = factors(e);
        match all.iter().position(|f| *f == factor) {
            Some(k) => {
                all.remove(k);
                inside.push((q.clone(), Expr::product(all)));
            }
            None => out.push((q.clone(), e.clone())),
        }
    }
    let product = Expr::product(vec![(Expr::sum(inside), 1), factor]);
    out.insert(0, (Q::one(), product));
    Some(Expr::sum(out))
}
