//! Maxima and minima as people write them.

use num_traits::{One, Zero};

use super::{difference, maxima, places, without};
use crate::lift::expr::Expr;
use crate::lift::tree::{Call, Q};

/// A sum in which numbers stand once.
fn collected(list: Vec<(Q, Expr)>) -> Expr {
    let is_number = |e: &Expr| matches!(e, Expr::Product(l) if l.is_empty());
    let list = match Expr::sum(list) {
        Expr::Sum(list) => list,
        other => return other,
    };
    let (numbers, mut rest): (Vec<_>, Vec<_>) = list.into_iter().partition(|s| is_number(&s.1));
    let number = numbers.into_iter().fold(Q::zero(), |n, s| n + s.0);
    rest.push((Q::one(), Expr::Number(number)));
    Expr::sum(rest)
}

pub(super) fn minimum(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let one = Expr::Product(Vec::new());
    maxima(list).find_map(|(i, q, [a, b])| {
        let mut gone = vec![i];
        for x in [a, b] {
            gone.extend(places(list, &-q, &one, x)?);
        }
        Some(without(
            list,
            &gone,
            (-q, Expr::Min(vec![a.clone(), b.clone()])),
        ))
    })
}

pub(super) fn relu_of_difference(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let one = Expr::Product(Vec::new());
    maxima(list).find_map(|(i, q, [a, b])| {
        [(a, b), (b, a)].into_iter().find_map(|(x, y)| {
            let mut gone = places(list, &-q, &one, y)?;
            gone.push(i);
            let above = Expr::Relu(Box::new(difference(x, y)));
            Some(without(list, &gone, (q.clone(), above)))
        })
    })
}

/// match max(x, a) or relu(x + b) / result x, a, and what max(x, a) is more than the expression.
fn limited(e: &Expr) -> Option<(Expr, Q, Q)> {
    match e {
        Expr::Max(l) => match l.as_slice() {
            [x, Expr::Number(a)] | [Expr::Number(a), x] => Some((x.clone(), a.clone(), Q::zero())),
            _ => None,
        },
        Expr::Relu(x) => {
            let Expr::Sum(l) = &**x else {
                return Some(((**x).clone(), Q::zero(), Q::zero()));
            };
            let is_number = |s: &&(Q, Expr)| matches!(&s.1, Expr::Product(l) if l.is_empty());
            let b = l.iter().find(is_number).map_or(Q::zero(), |s| s.0.clone());
            let rest = l.iter().filter(|s| !is_number(s)).cloned().collect();
            Some((Expr::sum(rest), -b.clone(), -b))
        }
        _ => None,
    }
}

pub(super) fn clamp(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    list.iter().enumerate().find_map(|(i, (q, e))| {
        let (x, low, below) = limited(e)?;
        let partner = |(j, (p, e)): (usize, &(Q, Expr))| {
            let (y, high, above) = limited(e)?;
            (*p == -q && y == x && low < high).then_some((j, high, above))
        };
        let (j, high, above) = list.iter().enumerate().find_map(partner)?;
        let number = (above - below - &high) * q;
        let max = Expr::Max(vec![x, Expr::Number(low)]);
        let kept = list.iter().enumerate().filter(|(k, _)| *k != i && *k != j);
        let mut out = vec![(q.clone(), Expr::Min(vec![max, Expr::Number(high)]))];
        out.extend(kept.map(|(_, s)| s.clone()));
        out.push((number, Expr::Product(Vec::new())));
        Some(collected(out))
    })
}

pub(super) fn root_of_maximum(e: &Expr) -> Option<Expr> {
    let Expr::Call(Call::Sqrt, x) = e else {
        return None;
    };
    let Expr::Max(list) = &**x else {
        return None;
    };
    let number = |e: &Expr| match e {
        Expr::Product(l) => match l.as_slice() {
            [(c @ Expr::Constant(_), 2)] => Some(c.clone()),
            _ => None,
        },
        _ => None,
    };
    let (i, c) = list
        .iter()
        .enumerate()
        .find_map(|(i, e)| Some((i, number(e)?)))?;
    let mut rest = list.clone();
    rest.remove(i);
    let inner = match rest.len() {
        1 => rest.remove(0),
        _ => Expr::Max(rest),
    };
    Some(Expr::Max(vec![Expr::Call(Call::Sqrt, Box::new(inner)), c]))
}
