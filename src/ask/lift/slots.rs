//! Alike parts that are no reduction: few of them, or few classes of them.
//!
//! Problem: `x[i] + x[n - 1 - i]` has two parts of one shape in each element, and which of them is which does not follow
//! from their order: sorted by what they read, the first is `x[min(i, n - 1 - i)]`. Parts go to slots, so that in each
//! slot the subscripts follow from the indices: in the order of what they read, in that of their coefficients, or by a
//! function of the indices that is guessed from few elements and that a subscript of some part of every element has.
//! Where two parts are one by chance, each slot has its share of it.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{Expr, Fold};
use super::linear::{Feature, Linear, Wrap};
use super::region::Env;
use super::tree::{Id, Q};
use super::unify::{FEW, Parts, Unifier, singles, with};

/// Functions that are tried for one slot.
const MAX_GUESSES: usize = 1 << 10;

/// A part with its coefficient.
type WeightedPart = (Q, Id);

impl Unifier<'_> {
    /// The parts in slots, if they are few or of few classes.
    pub(super) fn slots(&mut self, fold: Fold, parts: Parts) -> Option<Vec<(Q, Expr)>> {
        let common = most(parts.clone(), Vec::len)?;
        let count = common.first()?.1.len();
        if count == 0 {
            return None;
        }
        if count <= FEW
            && let Ok(list) = self.spelled(&common)
        {
            return Some(list);
        }
        let classes = self.by_function(&parts)?;
        let mut out = Vec::new();
        for class in classes {
            out.extend(self.parts(fold, class).ok()?);
        }
        Some(out)
    }

    /// Few parts, each for itself, in the order of what they read, or of their coefficients.
    pub(super) fn spelled(&mut self, parts: &Parts) -> Result<Vec<(Q, Expr)>, String> {
        let by_place = self.single_slots(parts, false);
        by_place.or_else(|why| self.single_slots(parts, true).map_err(|_| why))
    }

    fn single_slots(
        &mut self,
        parts: &Parts,
        by_coefficient: bool,
    ) -> Result<Vec<(Q, Expr)>, String> {
        let mut sorted = Parts::new();
        for (env, list) in parts {
            let mut list: Vec<_> = list
                .iter()
                .map(|p| {
                    (
                        by_coefficient.then(|| p.0.clone()),
                        self.forest.places(p.1),
                        p,
                    )
                })
                .collect();
            list.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
            sorted.push((env.clone(), list.into_iter().map(|p| p.2.clone()).collect()));
        }
        let count = sorted.first().map_or(0, |p| p.1.len());
        let mut out = Vec::new();
        for k in 0..count {
            let one: Parts = sorted
                .iter()
                .map(|(e, l)| (e.clone(), vec![l[k].clone()]))
                .collect();
            let (number, factor) = self.coefficient(&one)?;
            let value = self.tree(&singles(&one))?;
            out.push((number, with(factor, value)));
        }
        Ok(out)
    }

    /// Classes of parts, each of which has a function of the indices at one place; at least two.
    fn by_function(&mut self, parts: &Parts) -> Option<Vec<Parts>> {
        let places = self.forest.places(parts.first()?.1.first()?.1).len();
        (0..places).find_map(|place| {
            let mut values: Vec<Vec<(i64, WeightedPart)>> = Vec::new();
            for (_, list) in parts {
                let mut own = Vec::new();
                for p in list {
                    let at = self.forest.places(p.1);
                    let &(_, lo, hi) = at.get(place).filter(|_| at.len() == places)?;
                    (lo == hi).then_some(())?;
                    own.push((lo, p.clone()));
                }
                values.push(own);
            }
            let envs = parts.iter().map(|p| p.0.clone());
            self.split(&envs.zip(values).collect::<Vec<_>>())
        })
    }

    /// The parts at a place by functions of the indices. Where functions have one value, each has its share of the part.
    fn split(&self, members: &[(Env, Vec<(i64, WeightedPart)>)]) -> Option<Vec<Parts>> {
        let set = |l: &[(i64, WeightedPart)]| l.iter().map(|p| p.0).collect::<BTreeSet<i64>>();
        let all: Vec<(&[i64], BTreeSet<i64>)> =
            members.iter().map(|(e, l)| (&**e, set(l))).collect();
        let mut left = most(all.clone(), BTreeSet::len)?;
        let count = left.first()?.1.len();
        if !(2..=FEW).contains(&count) || all.iter().any(|m| m.1.len() > count) {
            return None;
        }
        let mut functions: Vec<Linear> = Vec::new();
        for _ in 0..count {
            let f = self.function(&left, &all)?;
            for (env, set) in &mut left {
                set.remove(&f.value(env));
            }
            functions.push(f);
        }
        let mut out = vec![Parts::new(); count];
        for (env, list) in members {
            out.iter_mut()
                .for_each(|class| class.push((env.clone(), Vec::new())));
            for (value, (q, id)) in list {
                let here: Vec<usize> = (0..count)
                    .filter(|&s| functions[s].value(env) == *value)
                    .collect();
                let share = Q::new(1.into(), here.len().max(1).into());
                for s in here {
                    out[s].last_mut()?.1.push((q * &share, *id));
                }
            }
        }
        Some(out)
    }

    /// A function of the indices that is one of the values of each member.
    fn function(
        &self,
        sets: &[(&[i64], BTreeSet<i64>)],
        all: &[(&[i64], BTreeSet<i64>)],
    ) -> Option<Linear> {
        let (origin, first) = sets.first()?;
        let vars = self
            .material
            .vars
            .iter()
            .filter(|v| !self.material.sizes.contains(v));
        let mut seeds: Vec<(usize, i64, &BTreeSet<i64>)> = Vec::new();
        for &v in vars {
            let differs = |env: &[i64]| {
                let others = (0..env.len()).all(|w| w == v || env[w] == origin[w]);
                (others && env[v] != origin[v]).then(|| env[v] - origin[v])
            };
            let found = sets
                .iter()
                .filter_map(|(env, set)| Some((differs(env)?, set)));
            if let Some((step, set)) = found.min_by_key(|f| f.0.abs()) {
                seeds.push((v, step, set));
            }
        }
        let most = all.iter().flat_map(|s| s.1.iter()).max()?;
        let larger = self.material.divisors.iter().copied().filter(|d| d > most);
        let wraps = [Wrap::None, Wrap::Modulo(most + 1)];
        let wraps: Vec<Wrap> = wraps.into_iter().chain(larger.map(Wrap::Modulo)).collect();
        let mut guesses: Vec<(i64, Vec<(i64, Feature)>)> =
            first.iter().map(|&at| (at, Vec::new())).collect();
        for (v, step, set) in seeds {
            let mut next = Vec::new();
            for (at, terms) in &guesses {
                for &value in set {
                    if (value - at) % step != 0 {
                        continue;
                    }
                    let mut terms = terms.clone();
                    terms.push(((value - at) / step, Feature::Var(v)));
                    next.push((*at, terms));
                }
            }
            next.truncate(MAX_GUESSES);
            guesses = next;
        }
        guesses.into_iter().find_map(|(at, terms)| {
            wraps.iter().find_map(|&wrap| {
                let mut l = Linear {
                    constant: 0,
                    terms: terms.iter().copied().filter(|t| t.0 != 0).collect(),
                    wrap: Wrap::None,
                };
                l.constant = at - l.value(origin);
                l.wrap = wrap;
                let has = |(env, set): &(&[i64], BTreeSet<i64>)| set.contains(&l.value(env));
                let holds = sets.iter().all(has) && all.iter().all(has);
                holds.then_some(l)
            })
        })
    }
}

/// The members whose lists have the size that most of them have, if these are nearly all.
fn most<M, L>(members: Vec<(M, L)>, size: impl Fn(&L) -> usize) -> Option<Vec<(M, L)>> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    members
        .iter()
        .for_each(|m| *counts.entry(size(&m.1)).or_default() += 1);
    let (&common, &n) = counts.iter().max_by_key(|c| c.1)?;
    if 4 * n < 3 * members.len() {
        return None;
    }
    Some(
        members
            .into_iter()
            .filter(|m| size(&m.1) == common)
            .collect(),
    )
}
