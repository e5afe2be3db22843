//! Common parts of an expression as intermediate arrays.
//!
//! Problem: the scores of attention stand above and below the quotient, and four times in its gradient. What occurs more than
//! once, with the same variables around it, becomes an array over those of them that it depends on, if that saves
//! enough. An intermediate array is read at its own variables only, so that its elements are those that stood there.

use std::collections::BTreeSet;

use super::expr::Expr;
use super::linear::{Divisor, Feature, Linear};
use super::print::{Level, PrintNames};

/// Nodes that an intermediate array has to save.
const LEAST: usize = 24;

/// Intermediate arrays of one formula.
const MOST: usize = 6;

/// An intermediate array: its number, its variables, and its value below so many variables.
struct Shared {
    /// The number by which it is read, above those of all arrays.
    array: u32,
    /// The variables that it depends on.
    vars: Vec<usize>,
    /// Variables in scope.
    scope: usize,
    /// Its value.
    value: Expr,
}

/// The expression with its common parts taken out, and these; `first` is the number of the first of them.
fn shared(e: Expr, scope: usize, first: u32) -> (Expr, Vec<Shared>) {
    let mut roots: Vec<(usize, Expr)> = vec![(scope, e)];
    let mut out: Vec<(u32, Vec<usize>)> = Vec::new();
    while out.len() < MOST {
        let Some((depth, part)) = best(&roots) else {
            break;
        };
        let array = first + out.len() as u32;
        let vars: Vec<usize> = variables(&part, depth).into_iter().collect();
        let read = Expr::Read(array, vars.iter().map(|&v| Linear::var(v)).collect());
        for (own, root) in &mut roots {
            let whole = std::mem::replace(root, Expr::Infinity(false));
            *root = replaced(whole, *own, (depth, &part), &read);
        }
        roots.push((depth, part));
        out.push((array, vars));
    }
    let mut roots = roots.into_iter();
    let main = roots.next().map_or(Expr::Infinity(false), |r| r.1);
    let all = out.into_iter().zip(roots);
    let made = |((array, vars), (scope, value))| Shared {
        array,
        vars,
        scope,
        value,
    };
    (main, all.map(made).collect())
}

impl PrintNames {
    /// The definition of an output, its common parts as intermediate arrays.
    pub(super) fn with_shared(&self, head: &str, value: Expr) -> String {
        let first = self.arrays.len() as u32;
        let (value, parts) = shared(value, self.vars.len(), first);
        let mut names = self.clone();
        let free = |n: &String| !self.arrays.contains(n) && !self.taken.contains(n);
        let mut free = (1..).map(|i| format!("t{i}")).filter(free);
        for _ in &parts {
            names.arrays.extend(free.next());
            names.extents.push(Vec::new());
            names.scalars.push(false);
        }
        let mut out = names.definition(head, &value);
        for p in parts {
            let head = names.head(&names.arrays[p.array as usize], &p.vars, &[]);
            let value = names.text(&p.value, p.scope, Level::Open);
            out.push_str(&format!(" where {head} = {value}"));
        }
        out
    }
}

/// Calls `f` with all parts, outer ones first, each with the number of variables in scope.
fn parts<'e>(e: &'e Expr, scope: usize, f: &mut dyn FnMut(&'e Expr, usize)) {
    f(e, scope);
    let inner = match e {
        Expr::Reduce { ranges, .. } => scope + ranges.len(),
        _ => scope,
    };
    e.children_of(&mut |c| parts(c, inner, f));
}

/// Nodes of an expression.
fn size(e: &Expr) -> usize {
    let mut n = 0;
    parts(e, 0, &mut |_, _| n += 1);
    n
}

/// The part that saves most where it stands once.
fn best(roots: &[(usize, Expr)]) -> Option<(usize, Expr)> {
    let mut seen: Vec<(usize, &Expr, usize)> = Vec::new();
    for (scope, root) in roots {
        parts(root, *scope, &mut |e, depth| {
            if !matches!(
                e,
                Expr::Reduce { .. } | Expr::Call(..) | Expr::Sum(_) | Expr::Product(_)
            ) {
                return;
            }
            match seen.iter_mut().find(|s| s.0 == depth && s.1 == e) {
                Some(known) => known.2 += 1,
                None => seen.push((depth, e, 1)),
            }
        });
    }
    let gain = |&(_, e, n): &(usize, &Expr, usize)| (n - 1) * size(e);
    let found = seen
        .iter()
        .filter(|s| s.2 > 1 && gain(s) >= LEAST && has_sum(s.1));
    let (depth, e, _) = found.max_by_key(|s| gain(s))?;
    Some((*depth, (*e).clone()))
}

fn has_sum(e: &Expr) -> bool {
    let mut found = false;
    parts(e, 0, &mut |p, _| found |= matches!(p, Expr::Reduce { .. }));
    found
}

/// The variables in scope that an expression depends on.
fn variables(e: &Expr, scope: usize) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    parts(e, scope, &mut |p, _| {
        p.indices(&mut |l| out.extend(of_index(l)));
    });
    out.retain(|&v| v < scope);
    out
}

fn of_index(l: &Linear) -> Vec<usize> {
    let divisor = |d: &Divisor| match d {
        Divisor::Number(_) => None,
        Divisor::Var(v) => Some(*v),
    };
    let feature = |f: &Feature| match f {
        Feature::Var(v) | Feature::Digit(v, ..) => vec![*v],
        Feature::Div(v, d) | Feature::Mod(v, d) => {
            [Some(*v), divisor(d)].into_iter().flatten().collect()
        }
        Feature::Times(v, w) => vec![*v, *w],
    };
    l.terms.iter().flat_map(|(_, f)| feature(f)).collect()
}

fn replaced(e: Expr, scope: usize, of: (usize, &Expr), read: &Expr) -> Expr {
    if scope == of.0 && e == *of.1 {
        return read.clone();
    }
    let inner = match &e {
        Expr::Reduce { ranges, .. } => scope + ranges.len(),
        _ => scope,
    };
    e.map(&mut |c| replaced(c, inner, of, read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lift::expr::Fold;
    use crate::lift::tree::Call;

    /// A sum over the rows of array 0 of products with array 1.
    fn score(query: usize, key: usize, inner: usize) -> Expr {
        let read = |array, at: [usize; 2]| Expr::Read(array, at.map(Linear::var).to_vec());
        let factors = vec![
            (read(0, [query, inner]), 1),
            (read(1, [key, inner]), 1),
            (read(2, [inner, inner]), 1),
        ];
        let body = Expr::Call(Call::Exp, Box::new(Expr::Product(factors)));
        reduce(Expr::Call(Call::Tanh, Box::new(body)))
    }

    fn reduce(body: Expr) -> Expr {
        Expr::Reduce {
            fold: Fold::Sum,
            ranges: vec![(Linear::number(0), Linear::number(4))],
            bounds: Vec::new(),
            body: Box::new(body),
        }
    }

    /// The expression with the intermediate arrays put back.
    fn whole(e: Expr, parts: &[Shared]) -> Expr {
        match &e {
            Expr::Read(array, at) if *array >= 3 => {
                let part = &parts[*array as usize - 3];
                let own: Vec<Linear> = part.vars.iter().map(|&v| Linear::var(v)).collect();
                assert_eq!(*at, own, "it is read at its own variables");
                whole(part.value.clone(), parts)
            }
            _ => e.map(&mut |c| whole(c, parts)),
        }
    }

    #[test]
    fn common_parts_can_be_put_back() {
        // The variables are 0 and 1; both sums bind 2, the scores below them 3.
        let exp = |e: Expr| Expr::Call(Call::Exp, Box::new(e));
        let above = reduce(Expr::Product(vec![
            (exp(score(0, 2, 3)), 1),
            (Expr::Read(2, vec![Linear::var(2), Linear::var(1)]), 1),
        ]));
        let below = reduce(exp(score(0, 2, 3)));
        let square = reduce(exp(score(1, 2, 3)));
        let powers = [-1, 1, 2, 3].map(|p| (below.clone(), p));
        let mut factors = vec![(above, 1), (square, 2)];
        factors.extend(powers);
        let e = Expr::Product(factors);
        let (main, parts) = shared(e.clone(), 2, 3);
        assert!(!parts.is_empty());
        assert!(size(&main) < size(&e));
        assert_eq!(whole(main, &parts), e);
        // What stands once stays.
        let once = Expr::Call(Call::Sqrt, Box::new(score(0, 1, 2)));
        let (main, parts) = shared(once.clone(), 2, 3);
        assert!(parts.is_empty() && main == once);
    }
}
