//! Sums with what they share in front or inside.

use num_traits::{One, Signed};

use super::{factors, places, without};
use crate::lift::expr::{Expr, Fold};
use crate::lift::tree::{Call, Q};

pub(super) fn one_fold(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let linear = |e: &Expr| match e {
        Expr::Reduce {
            fold,
            ranges,
            bounds,
            body,
        } if matches!(fold, Fold::Sum | Fold::Mean) => {
            Some((*fold, ranges.clone(), bounds.clone(), (**body).clone()))
        }
        _ => None,
    };
    for (_, e) in list {
        let Some((fold, ranges, bounds, _)) = linear(e) else {
            continue;
        };
        let alike =
            |e: &Expr| linear(e).filter(|(f, r, b, _)| (*f, r, b) == (fold, &ranges, &bounds));
        let bodies: Vec<(Q, Expr)> = list
            .iter()
            .filter_map(|(q, e)| Some((q.clone(), alike(e)?.3)))
            .collect();
        if bodies.len() < 2 {
            continue;
        }
        let rest = list.iter().filter(|(_, e)| alike(e).is_none()).cloned();
        let rest: Vec<(Q, Expr)> = rest.collect();
        let whole = Expr::Reduce {
            fold,
            ranges,
            bounds,
            body: Box::new(Expr::sum(bodies)),
        };
        let whole = [(Q::one(), whole)].into_iter();
        return Some(Expr::sum(whole.chain(rest).collect()));
    }
    None
}

pub(super) fn square_of_difference(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let roots: Vec<(usize, &Q, Expr)> = list
        .iter()
        .enumerate()
        .filter_map(|(i, (q, e))| {
            let all = factors(e);
            let halves = all.iter().all(|f| f.1 % 2 == 0) && !all.is_empty();
            let root = || Expr::product(all.into_iter().map(|(e, p)| (e, p / 2)).collect());
            halves.then(|| (i, q, root()))
        })
        .collect();
    for (k, (i, q, x)) in roots.iter().enumerate() {
        for (j, r, y) in &roots[k + 1..] {
            if q != r {
                continue;
            }
            for sign in [-1, 1] {
                let twice = *q * Q::from_integer((2 * sign).into());
                let Some(both) = places(list, &twice, x, y) else {
                    continue;
                };
                let sign = Q::from_integer(sign.into());
                let base = Expr::sum(vec![(Q::one(), x.clone()), (sign, y.clone())]);
                let gone: Vec<usize> = both.into_iter().chain([*i, *j]).collect();
                return Some(without(
                    list,
                    &gone,
                    ((*q).clone(), Expr::Product(vec![(base, 2)])),
                ));
            }
        }
    }
    None
}

pub(super) fn choice_of_multiples(e: &Expr) -> Option<Expr> {
    let Expr::Sum(list) = e else {
        return None;
    };
    let [(q, Expr::Choose(c, a, b))] = list.as_slice() else {
        return None;
    };
    let times = |e: &Expr| Box::new(e.clone().times(q.clone()));
    Some(Expr::Choose(c.clone(), times(a), times(b)))
}

pub(super) fn root_of_quotient(e: &Expr) -> Option<Expr> {
    let Expr::Product(list) = e else {
        return None;
    };
    let under = |(f, p): &(Expr, i32), power: i32| match f {
        Expr::Call(Call::Sqrt, x) if *p == power => Some((**x).clone()),
        _ => None,
    };
    let number = |f: &(Expr, i32)| match under(f, -1)? {
        Expr::Number(n) if n.is_positive() => Some(n),
        _ => None,
    };
    let find = |of: &dyn Fn(&(Expr, i32)) -> bool| list.iter().position(of);
    let below = find(&|f| number(f).is_some())?;
    let above = find(&|f| under(f, 1).is_some())?;
    let inner = under(&list[above], 1)?.times(number(&list[below])?.recip());
    let mut out = list.clone();
    out[above].0 = Expr::Call(Call::Sqrt, Box::new(inner));
    out.remove(below);
    Some(Expr::product(out))
}

/// The factor that most summands share, in front of them.
pub(super) fn common_factor(e: &Expr) -> Option<Expr> {
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
    let content = content(&inside).unwrap_or(Q::one());
    inside.iter_mut().for_each(|(q, _)| *q /= &content);
    let product = Expr::product(vec![(Expr::sum(inside), 1), factor]);
    out.insert(0, (content, product));
    Some(Expr::sum(out))
}

/// What all coefficients of a sum are multiples of, where that is worth writing in front.
fn content(list: &[(Q, Expr)]) -> Option<Q> {
    let least = list.iter().map(|(q, _)| q.abs()).min()?;
    let sign = match list.iter().all(|(q, _)| q.is_negative()) {
        true => -Q::one(),
        false => Q::one(),
    };
    let same = list.iter().all(|(q, _)| q.abs() == least);
    let out = if same { least * sign } else { sign };
    (list.len() > 1 && !out.is_one()).then_some(out)
}

pub(super) fn content_of_factor(e: &Expr) -> Option<Expr> {
    let Expr::Product(list) = e else {
        return None;
    };
    let (i, inner, q) = list.iter().enumerate().find_map(|(i, f)| match f {
        (Expr::Sum(l), 1) => Some((
            i,
            l,
            if l.len() == 1 {
                l[0].0.clone()
            } else {
                content(l)?
            },
        )),
        _ => None,
    })?;
    let inner = inner.iter().map(|(p, e)| (p / &q, e.clone())).collect();
    let mut out = list.clone();
    out[i].0 = Expr::sum(inner);
    Some(Expr::sum(vec![(q, Expr::product(out))]))
}
