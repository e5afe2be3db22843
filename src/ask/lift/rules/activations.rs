//! Names of activation functions.

use num_traits::{One, Zero};

use super::{difference, factors, maxima, places, without};
use crate::lift::expr::Expr;
use crate::lift::tree::{Call, Q};

fn is_zero(e: &Expr) -> bool {
    matches!(e, Expr::Number(q) if q.is_zero())
}

pub(super) fn relu(e: &Expr) -> Option<Expr> {
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

pub(super) fn absolute(e: &Expr) -> Option<Expr> {
    let Expr::Max(list) = e else {
        return None;
    };
    let [a, b] = list.as_slice() else {
        return None;
    };
    let (a, b) = if a.is_negative() { (b, a) } else { (a, b) };
    (a.clone().negated() == *b).then(|| Expr::Call(Call::Abs, Box::new(a.clone())))
}

pub(super) fn absolute_of_maximum(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let one = Expr::Product(Vec::new());
    maxima(list).find_map(|(i, q, [x, y])| {
        let half = q / Q::from_integer(2.into());
        let mut gone = vec![i];
        for operand in [x, y] {
            gone.extend(places(list, &-half.clone(), &one, operand)?);
        }
        let size = Expr::Call(Call::Abs, Box::new(difference(x, y)));
        Some(without(list, &gone, (half, size)))
    })
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

pub(super) fn sigmoid(e: &Expr) -> Option<Expr> {
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

pub(super) fn tanh(e: &Expr) -> Option<Expr> {
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

pub(super) fn absolute_of_relu(e: &Expr) -> Option<Expr> {
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

pub(super) fn leaky_relu(e: &Expr) -> Option<Expr> {
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

pub(super) fn relu_of_choice(e: &Expr) -> Option<Expr> {
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
