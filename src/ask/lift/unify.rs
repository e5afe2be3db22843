//! Anti-unification: one expression for a family of trees.
//!
//! Problem: the elements of an output, and the parts of a sum, are alike; what varies among them follows from their
//! indices. A family is a list of trees of one shape, each with the values of the variables in scope. What all have
//! in common becomes the expression, what is read becomes an array at an index expression. Of a sum, a product or a
//! maximum the parts of one shape are a reduction: subscripts that tell the parts of a member apart are its
//! variables, and the family goes on with the parts of all members. Source: Plotkin's least general generalisation,
//! with sets of operands in place of lists, and with terms that are functions of positions in place of variables.
//!
//! What comes out is a guess that fits the members. Nothing is claimed of it: the formula is proved.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::columns;
use super::expr::{Expr, Fold};
use super::linear::{Linear, Material, Rows};
use super::numbers::over_one;
use super::region::{Env, Sets, extended};
use super::tree::{Forest, Id, Q, Shape, Subscript, Tree};
use crate::work;

/// An element with the tuples of its bound variables.
type Member = (Env, Vec<Vec<i64>>);

/// Trees, each with the values of the variables in scope.
pub(super) type Family = Vec<(Env, Id)>;

/// Some members of many: those at the ends, and others that follow no pattern which subscripts could have.
fn thinned<T>(members: Vec<T>, weight: impl Fn(&T) -> usize) -> Vec<T> {
    const ENDS: usize = 6;
    let total: usize = members.iter().map(&weight).sum();
    let n = members.len();
    if total <= ENOUGH || n <= 4 * ENDS {
        return members;
    }
    let keep = (ENOUGH as f64 / total as f64).max(2.0 * ENDS as f64 / n as f64);
    let below = (keep * f64::from(u32::MAX)) as u32;
    let chosen = |i: usize| {
        let mixed = (i as u32).wrapping_mul(0x9e37_79b9);
        i < ENDS || i + ENDS >= n || (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) <= below
    };
    let list = members.into_iter().enumerate();
    list.filter(|(i, _)| chosen(*i)).map(|(_, m)| m).collect()
}

/// Parts of one shape that each member has, with their coefficients.
pub(super) type Parts = Vec<(Env, Vec<(Q, Id)>)>;

/// Alike parts that may stay single, where no reduction is found: more are spelled out.
pub(super) const FEW: usize = 3;

/// A sum of more parts with 2 over their number in front is twice a mean.
const MANY: usize = 4;

/// Parts of all members that are looked at: of more members, some stand for all.
const ENOUGH: usize = 1 << 13;

/// Members of a family.
const MAX_MEMBERS: usize = 1 << 18;

/// What is known beside the trees.
pub(super) struct Unifier<'a> {
    /// The trees.
    pub forest: &'a mut Forest,
    /// Variables that indices may be made of.
    pub material: Material,
    /// Number of variables in scope.
    pub scope: usize,
    /// Extents of each array as expressions of the sizes.
    pub extents: Vec<Vec<Linear>>,
}

impl Unifier<'_> {
    /// The expression of trees of one shape.
    pub(super) fn tree(&mut self, family: &Family) -> Result<Expr, String> {
        let Some(&(_, first)) = family.first() else {
            return Err("there is no element".into());
        };
        work::spend(family.len() as u64);
        if family.len() > MAX_MEMBERS {
            return Err(format!("there are {} alike parts", family.len()));
        }
        match self.forest.get(first).clone() {
            Tree::Infinity(neg) => Ok(Expr::Infinity(neg)),
            Tree::Constant(c) => Ok(Expr::Constant(c)),
            Tree::Read(array, at) => self.read(array, at.len(), family),
            Tree::Gather(array, at) => self.gather(array, &at, family),
            Tree::Sum(_) => self.sum(family),
            Tree::Product(_) => self.product(family),
            Tree::Max(_) => self.extremum(family, Fold::Max),
            Tree::Min(_) => self.extremum(family, Fold::Min),
            Tree::All(_) => {
                let parts = self.children(family, |t| match t {
                    Tree::All(l) => l.to_vec(),
                    _ => Vec::new(),
                });
                let mut all = Vec::new();
                for (_, list) in self.by_shape(&parts)? {
                    if list.iter().any(|(_, l)| l.len() != 1) {
                        return Err("a condition of many alike parts".into());
                    }
                    all.push(self.tree(&singles(&list))?);
                }
                Ok(Expr::All(all))
            }
            Tree::Call(call, _) => {
                let below = self.child(family, |t| match t {
                    Tree::Call(_, x) => *x,
                    _ => first,
                });
                Ok(Expr::Call(call, Box::new(self.tree(&below)?)))
            }
            Tree::Choose(..) => {
                let mut part = |which: usize| {
                    let below = self.child(family, |t| match t {
                        Tree::Choose(c, a, b) => [*c, *a, *b][which],
                        _ => first,
                    });
                    self.tree(&below).map(Box::new)
                };
                Ok(Expr::Choose(part(0)?, part(1)?, part(2)?))
            }
        }
    }

    fn extremum(&mut self, family: &Family, fold: Fold) -> Result<Expr, String> {
        let parts = self.children(family, |t| match t {
            Tree::Max(l) | Tree::Min(l) => l.to_vec(),
            _ => Vec::new(),
        });
        let list = self.folded(fold, parts)?;
        let mut list: Vec<Expr> = list.into_iter().map(|e| e.1).collect();
        Ok(match (list.len(), fold) {
            (1, _) => list.remove(0),
            (_, Fold::Min) => Expr::Min(list),
            _ => Expr::Max(list),
        })
    }

    fn child(&self, family: &Family, f: impl Fn(&Tree) -> Id) -> Family {
        let below = family.iter();
        below
            .map(|(env, id)| (env.clone(), f(self.forest.get(*id))))
            .collect()
    }

    fn children(&self, family: &Family, f: impl Fn(&Tree) -> Vec<Id>) -> Parts {
        let part = |id: Id| (Q::one(), id);
        family
            .iter()
            .map(|(env, id)| {
                let list = f(self.forest.get(*id));
                (env.clone(), list.into_iter().map(part).collect())
            })
            .collect()
    }

    fn read(&mut self, array: u32, rank: usize, family: &Family) -> Result<Expr, String> {
        let mut at = Vec::new();
        for d in 0..rank {
            let value = |id: Id| match self.forest.get(id) {
                Tree::Read(_, at) => at.get(d).copied().unwrap_or(0),
                _ => 0,
            };
            let rows: Vec<(&[i64], i64)> =
                family.iter().map(|(e, id)| (&**e, value(*id))).collect();
            at.push(self.subscript(&rows)?);
        }
        Ok(Expr::Read(array, at))
    }

    /// A subscript with these values.
    fn subscript(&self, rows: &Rows) -> Result<Linear, String> {
        let found = self
            .material
            .fit(rows)
            .or_else(|| self.material.irregular(rows));
        found.ok_or_else(|| "a subscript is no expression of the indices".to_string())
    }

    /// An element at a place that data choose; `at` is that of one member, and the others are alike.
    fn gather(&mut self, array: u32, at: &[Subscript], family: &Family) -> Result<Expr, String> {
        let subscript = |forest: &Forest, id: Id, d: usize| match forest.get(id) {
            Tree::Gather(_, at) => at[d].clone(),
            _ => at[d].clone(),
        };
        let mut out = Vec::new();
        for (d, first) in at.iter().enumerate() {
            let value = |m: &(Env, Id)| subscript(self.forest, m.1, d).constant;
            let rows: Vec<(&[i64], i64)> = family.iter().map(|m| (&*m.0, value(m))).collect();
            let index = self.subscript(&rows)?;
            let mut parts = Vec::new();
            for (i, (k, _)) in first.parts.iter().enumerate() {
                let below: Family = family
                    .iter()
                    .map(|(e, id)| (e.clone(), subscript(self.forest, *id, d).parts[i].1))
                    .collect();
                parts.push((*k, self.tree(&below)?));
            }
            out.push((index, parts));
        }
        Ok(Expr::Gather(array, out))
    }

    fn sum(&mut self, family: &Family) -> Result<Expr, String> {
        let of = |id: Id| match self.forest.get(id) {
            Tree::Sum(l) => l.to_vec(),
            _ => Vec::new(),
        };
        let parts: Parts = family.iter().map(|(e, id)| (e.clone(), of(*id))).collect();
        Ok(Expr::sum(self.folded(Fold::Sum, parts)?))
    }

    fn product(&mut self, family: &Family) -> Result<Expr, String> {
        let mut powers: BTreeMap<(Shape, i32), Parts> = BTreeMap::new();
        for (i, (env, id)) in family.iter().enumerate() {
            let Tree::Product(list) = self.forest.get(*id) else {
                continue;
            };
            for &(f, p) in list.iter() {
                let parts = powers.entry((self.forest.shape(f), p)).or_default();
                if parts.len() == i {
                    parts.push((env.clone(), Vec::new()));
                }
                if let Some(last) = parts.last_mut() {
                    last.1.push((Q::one(), f));
                }
            }
        }
        let mut out = Vec::new();
        for ((_, power), parts) in powers {
            if parts.len() != family.len() {
                return Err("its products have different factors".into());
            }
            for (_, e) in self.parts(Fold::Product, parts)? {
                out.push((e, power));
            }
        }
        Ok(Expr::product(out))
    }

    /// The parts of each shape, which all members must have.
    fn by_shape(&self, parts: &Parts) -> Result<Vec<(Shape, Parts)>, String> {
        let mut out: BTreeMap<Shape, Parts> = BTreeMap::new();
        for (i, (env, list)) in parts.iter().enumerate() {
            for (q, id) in list {
                let class = out.entry(self.forest.shape(*id)).or_default();
                if class.len() == i {
                    class.push((env.clone(), Vec::new()));
                }
                match class.last_mut() {
                    Some(last) if class_is_at(&last.0, env) => last.1.push((q.clone(), *id)),
                    _ => return Err("its parts have different shapes".into()),
                }
            }
        }
        if out.values().any(|c| c.len() != parts.len()) {
            return Err("its parts have different shapes".into());
        }
        Ok(out.into_iter().collect())
    }

    /// The summands, or operands of a maximum, that stand for all parts.
    fn folded(&mut self, fold: Fold, parts: Parts) -> Result<Vec<(Q, Expr)>, String> {
        let mut out = Vec::new();
        for (_, class) in self.by_shape(&parts)? {
            let (class, odd) = match fold {
                Fold::Sum => regular(class),
                Fold::Mean | Fold::Product | Fold::Max | Fold::Min => (class, Vec::new()),
            };
            out.extend(self.parts(fold, class)?);
            if !odd.is_empty() {
                out.extend(self.parts(fold, odd)?);
            }
        }
        Ok(out)
    }

    /// Parts of one shape.
    pub(super) fn parts(&mut self, fold: Fold, parts: Parts) -> Result<Vec<(Q, Expr)>, String> {
        let parts = thinned(parts, |p| p.1.len());
        let count = parts.first().map_or(0, |p| p.1.len());
        let same = parts.iter().all(|(_, l)| l.len() == count);
        if same && count == 1 {
            let (number, factor) = self.coefficient(&parts)?;
            let value = self.tree(&singles(&parts))?;
            return Ok(vec![(number, with(factor, value))]);
        }
        let (common, parts) = match fold {
            Fold::Sum => self.shared(parts),
            Fold::Mean | Fold::Product | Fold::Max | Fold::Min => (Vec::new(), parts),
        };
        let common = match common.is_empty() {
            true => None,
            false => Some(self.tree(&common)?),
        };
        let few = same && count <= FEW;
        let list = match (few && fold == Fold::Product).then(|| self.spelled(&parts)) {
            Some(Ok(list)) => list,
            _ => {
                let scope = self.scope;
                let material = self.material.clone();
                let reduced = self.reduction(fold, &parts);
                self.scope = scope;
                self.material = material;
                match reduced {
                    Err(why) => self.slots(fold, parts).ok_or(why)?,
                    Ok(one) => vec![one],
                }
            }
        };
        let whole = |(q, e): (Q, Expr)| {
            (
                q,
                with(Some(e), common.clone().unwrap_or(Expr::Product(Vec::new()))),
            )
        };
        Ok(list.into_iter().map(whole).collect())
    }

    /// The product that all parts of a member share, and what is left of them.
    fn shared(&mut self, parts: Parts) -> (Family, Parts) {
        let mut steady: Option<BTreeSet<(Shape, i32)>> = None;
        for (_, list) in &parts {
            let mut each = list.iter().map(|p| self.factors(p.1));
            let first = each.next().unwrap_or_default();
            let rest: Vec<_> = each.collect();
            let own = first
                .iter()
                .filter(|(k, f)| rest.iter().all(|r| r.get(k) == Some(f)));
            let own = own.map(|(k, _)| *k).collect();
            steady = Some(match steady {
                None => own,
                Some(s) => s.intersection(&own).copied().collect(),
            });
        }
        let steady = steady.unwrap_or_default();
        if steady.is_empty() {
            return (Family::new(), parts);
        }
        let mut common = Family::new();
        let mut left = Parts::new();
        for (env, list) in parts {
            let mut own = Vec::new();
            let mut rest = Vec::new();
            for (q, id) in list {
                let (out, keep): (Vec<_>, Vec<_>) = self
                    .factors(id)
                    .into_iter()
                    .partition(|(k, _)| steady.contains(k));
                let flat = |l: Vec<((Shape, i32), Vec<Id>)>| {
                    let each = |((_, p), ids): ((Shape, i32), Vec<Id>)| {
                        ids.into_iter().map(move |f| (f, p)).collect::<Vec<_>>()
                    };
                    l.into_iter().flat_map(each).collect::<Vec<_>>()
                };
                own = flat(out);
                rest.push((q, self.forest.product(flat(keep))));
            }
            common.push((env.clone(), self.forest.product(own)));
            left.push((env, rest));
        }
        (common, left)
    }

    /// The factors of a product by shape and power.
    fn factors(&self, product: Id) -> BTreeMap<(Shape, i32), Vec<Id>> {
        let mut out: BTreeMap<(Shape, i32), Vec<Id>> = BTreeMap::new();
        if let Tree::Product(list) = self.forest.get(product) {
            for &(f, p) in list.iter() {
                out.entry((self.forest.shape(f), p)).or_default().push(f);
            }
        }
        out
    }

    /// The coefficient of single parts: a number, and an expression of the indices where it is none.
    pub(super) fn coefficient(&self, parts: &Parts) -> Result<(Q, Option<Expr>), String> {
        let all = || parts.iter().flat_map(|(_, l)| l.iter().map(|p| &p.0));
        let Some(first) = all().next() else {
            return Ok((Q::one(), None));
        };
        if all().all(|q| q == first) {
            return Ok((first.clone(), None));
        }
        let expression = |inverse: bool| -> Option<(Q, Expr)> {
            let values: Vec<Q> = all()
                .map(|q| match inverse {
                    true => (!q.is_zero()).then(|| q.recip()),
                    false => Some(q.clone()),
                })
                .collect::<Option<_>>()?;
            let (whole, over) = over_one(&values);
            let whole: Vec<i64> = whole.iter().map(|v| v.to_i64()).collect::<Option<_>>()?;
            let rows: Vec<(&[i64], i64)> =
                parts.iter().zip(whole).map(|(p, v)| (&*p.0, v)).collect();
            let (linear, divisor) = self.material.fit_fraction(&rows)?;
            let q = Q::new(BigInt::one(), over * BigInt::from(divisor));
            let e = Expr::Index(linear);
            Some(match inverse {
                true => (q.recip(), Expr::Product(vec![(e, -1)])),
                false => (q, e),
            })
        };
        let found = expression(false).or_else(|| expression(true));
        let (q, e) = found.ok_or("a coefficient is no expression of the indices")?;
        Ok((q, Some(e)))
    }

    fn reduction(&mut self, fold: Fold, parts: &Parts) -> Result<(Q, Expr), String> {
        let tuples = self.tuples(parts)?;
        let width = tuples.first().and_then(|t| t.1.first()).map_or(0, Vec::len);
        let mut below: Parts = Vec::new();
        for ((env, tuples), (_, list)) in tuples.iter().zip(parts) {
            for (t, part) in tuples.iter().zip(list) {
                below.push((extended(env, t), vec![part.clone()]));
            }
        }
        // A mean: each part has the coefficient 1 over their number.
        let share = |(_, l): &(Env, Vec<(Q, Id)>)| {
            let count = Q::from_integer(l.len().into());
            l.iter().map(|p| &p.0 * &count).collect::<Vec<Q>>()
        };
        let shares: Vec<Q> = parts.iter().flat_map(share).collect();
        let equal = shares.windows(2).all(|w| w[0] == w[1]);
        let weight = shares.first().filter(|_| equal && fold == Fold::Sum);
        let is_mean = weight.is_some_and(|w| w.abs().is_one())
            && parts.iter().any(|p| p.1.len() > 1)
            || weight.is_some() && !self.is_constant(parts)
            || weight.is_some_and(|w| w.abs() == Q::from_integer(2.into()))
                && parts.iter().all(|p| p.1.len() > MANY);
        let sets = Sets {
            members: &tuples,
            width,
            scope: self.scope,
        };
        let inner = Material {
            vars: (self.scope..self.scope + width)
                .chain(self.material.vars.iter().copied())
                .collect(),
            ..self.material.clone()
        };
        // Ends that are multiples of variables are tried first, then bounds, then ends with quotients.
        let plain = Material {
            divisors: Vec::new(),
            sizes: Vec::new(),
            ..self.material.clone()
        };
        let whole = |r: Option<Vec<(Linear, Linear)>>| r.map(|r| (r, Vec::new()));
        let plain = whole(sets.nested(&plain));
        let outer = std::mem::replace(&mut self.material, inner);
        self.scope += width;
        let (number, factor) = match (is_mean, weight) {
            (true, Some(w)) => (w.clone(), None),
            _ => self.coefficient(&below)?,
        };
        let body = with(factor, self.tree(&singles(&below))?);
        let found = plain
            .or_else(|| sets.bounded(&outer, &self.subscripts(&body)))
            .or_else(|| whole(sets.nested(&outer)));
        let (ranges, bounds) =
            found.ok_or("the range of a sum follows no rule that formulas can say")?;
        let fold = if is_mean { Fold::Mean } else { fold };
        let reduced = Expr::Reduce {
            fold,
            ranges,
            bounds,
            body: Box::new(body),
        };
        Ok((number, reduced))
    }

    fn is_constant(&self, parts: &Parts) -> bool {
        let mut all = parts.iter().flat_map(|(_, l)| l.iter().map(|p| &p.0));
        let first = all.next();
        all.all(|q| Some(q) == first)
    }

    /// What the body of a reduction subscripts arrays with, and the extents there.
    fn subscripts(&self, body: &Expr) -> Vec<(Linear, Linear)> {
        let mut out = Vec::new();
        let mut open = vec![body.clone()];
        while let Some(e) = open.pop() {
            if let Expr::Read(array, at) = &e {
                for (index, extent) in at.iter().zip(&self.extents[*array as usize]) {
                    let pair = (index.clone(), extent.clone());
                    let outside = |f: &super::linear::Feature| match f {
                        super::linear::Feature::Var(v)
                        | super::linear::Feature::Div(v, _)
                        | super::linear::Feature::Mod(v, _)
                        | super::linear::Feature::Digit(v, ..)
                        | super::linear::Feature::Times(v, _) => *v >= self.scope,
                    };
                    if !out.contains(&pair) && !index.terms.iter().any(|(_, f)| outside(f)) {
                        out.push(pair);
                    }
                }
            }
            e.children(&mut |c| open.push(c.clone()));
        }
        out
    }

    /// What tells the parts of a member apart: for each of them the values of few subscripts.
    fn tuples(&mut self, parts: &Parts) -> Result<Vec<Member>, String> {
        let mut rows: Vec<Vec<Vec<(i64, i64)>>> = Vec::new();
        for (_, list) in parts {
            let of = |p: &(Q, Id)| -> Vec<(i64, i64)> {
                let places = self.forest.places(p.1);
                places.iter().map(|&(_, lo, hi)| (lo, hi)).collect()
            };
            let list: Vec<Vec<(i64, i64)>> = list.iter().map(of).collect();
            rows.push(list);
        }
        let first = rows.iter().flatten().next().map_or(0, Vec::len);
        if rows.iter().flatten().any(|r| r.len() != first) {
            return Err("alike parts read different places".into());
        }
        let tuples = columns::tuples(&rows, first)?;
        let envs = parts.iter().map(|(env, _)| env.clone());
        Ok(envs.zip(tuples).collect())
    }
}

fn class_is_at(a: &Env, b: &Env) -> bool {
    std::rc::Rc::ptr_eq(a, b)
}

pub(super) fn singles(parts: &Parts) -> Family {
    let all = parts
        .iter()
        .flat_map(|(e, l)| l.iter().map(move |p| (e.clone(), p.1)));
    all.collect()
}

pub(super) fn with(factor: Option<Expr>, value: Expr) -> Expr {
    match factor {
        Some(f) => Expr::product(vec![(f, 1), (value, 1)]),
        None => value,
    }
}

/// Parts with the coefficient that most of a member have, and what few of them have beyond it; if members have
/// none that most of their parts have, then with the one that most parts of all members have.
///
/// A value minus a mean has all summands with one coefficient but for its own, which is one larger.
fn regular(class: Parts) -> (Parts, Parts) {
    let most = |list: &mut dyn Iterator<Item = &(Q, Id)>| {
        let mut counts: BTreeMap<Q, usize> = BTreeMap::new();
        list.for_each(|p| *counts.entry(p.0.clone()).or_default() += 1);
        counts.into_iter().max_by_key(|c| c.1)
    };
    let own: Vec<Option<(Q, usize)>> = class.iter().map(|c| most(&mut c.1.iter())).collect();
    let of_member = |i: usize| {
        let (most, n) = own[i].clone()?;
        let count = class[i].1.len();
        (n < count && count - n <= FEW && n >= 2).then_some(most)
    };
    let common = most(&mut class.iter().flat_map(|c| c.1.iter())).map(|c| c.0);
    let of_all = |i: usize| {
        let common = common.clone()?;
        let odd = class[i].1.iter().filter(|p| p.0 != common).count();
        (odd == 1 && class[i].1.len() > 1).then_some(common)
    };
    let is_long = class.iter().any(|c| c.1.len() > 2);
    let ways: [&dyn Fn(usize) -> Option<Q>; 2] = [&of_member, &of_all];
    for way in ways.iter().take(1 + usize::from(is_long)) {
        let chosen: Option<Vec<Q>> = (0..class.len()).map(way).collect();
        let Some(chosen) = chosen else {
            continue;
        };
        let (mut even, mut odd) = (Parts::new(), Parts::new());
        for ((env, list), most) in class.iter().zip(chosen) {
            let beyond = list.iter().filter(|p| p.0 != most);
            odd.push((env.clone(), beyond.map(|p| (&p.0 - &most, p.1)).collect()));
            even.push((
                env.clone(),
                list.iter().map(|p| (most.clone(), p.1)).collect(),
            ));
        }
        return (even, odd);
    }
    (class, Parts::new())
}
