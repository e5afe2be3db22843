//! Sets of index tuples as ranges and bounds.
//!
//! For each member of a family there is a set of tuples. Ranges whose ends are expressions of what stands further out
//! are tried first, one dimension after the other; they cover boxes, triangles and prefixes. Where a set is a box of
//! which parts are missing, as at the border of a convolution, it is the smallest box with bounds: on what subscripts
//! arrays, which have to stay inside of them, then on sums and differences of few variables.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::expr::Bounds;
use super::linear::{Feature, Linear, Material};

/// Values of the variables in scope.
pub(super) type Env = Rc<[i64]>;

/// Tuples of a box that are looked at.
const MAX_BOX: usize = 1 << 17;

/// Bounds of one set.
const MAX_BOUNDS: usize = 4;

/// What a window of a sum may move by from one element to the next.
const MAX_STRIDE: i64 = 8;

/// Sets of tuples, one for each member, over variables that follow those of its environment.
pub(super) struct Sets<'a> {
    /// The members.
    pub members: &'a [(Env, Vec<Vec<i64>>)],
    /// Number of values of a tuple.
    pub width: usize,
    /// Number of variables in scope.
    pub scope: usize,
}

/// Ranges, first and one after the last, and bounds.
pub(super) type Region = (Vec<(Linear, Linear)>, Vec<Bounds>);

/// An environment with more values.
pub(super) fn extended(env: &Env, more: &[i64]) -> Env {
    env.iter().chain(more).copied().collect()
}

impl Sets<'_> {
    /// Ranges that describe the sets.
    pub(super) fn nested(&self, material: &Material) -> Option<Vec<(Linear, Linear)>> {
        let mut out = Vec::new();
        let mut material = material.clone();
        for d in 0..self.width {
            let mut groups: BTreeMap<(usize, &[i64]), BTreeSet<i64>> = BTreeMap::new();
            for (m, (_, tuples)) in self.members.iter().enumerate() {
                for t in tuples {
                    groups.entry((m, &t[..d])).or_default().insert(t[d]);
                }
            }
            let mut first = Vec::new();
            let mut end = Vec::new();
            for ((m, prefix), values) in groups {
                let (lo, hi) = (*values.first()?, *values.last()? + 1);
                if hi - lo != values.len() as i64 {
                    return None;
                }
                let env = extended(&self.members[m].0, prefix);
                first.push((env.clone(), lo));
                end.push((env, hi));
            }
            let fit = |rows: &[(Env, i64)]| {
                let rows: Vec<(&[i64], i64)> = rows.iter().map(|(e, v)| (&**e, *v)).collect();
                material.fit(&rows)
            };
            out.push((fit(&first)?, fit(&end)?));
            material.vars.insert(0, self.scope + d);
        }
        Some(out)
    }

    /// The smallest box with bounds that describe the sets; `subscripts` are expressions that index arrays, with the
    /// extents there.
    pub(super) fn bounded(
        &self,
        material: &Material,
        subscripts: &[(Linear, Linear)],
    ) -> Option<Region> {
        let ranges = self.hull(material)?;
        let mut missing: Vec<Env> = Vec::new();
        for (env, tuples) in self.members {
            let inside: BTreeSet<&[i64]> = tuples.iter().map(|t| &t[..]).collect();
            let ends: Vec<(i64, i64)> = ranges
                .iter()
                .map(|(a, b)| (a.value(env), b.value(env)))
                .collect();
            let mut t: Vec<i64> = ends.iter().map(|e| e.0).collect();
            'tuples: loop {
                if !inside.contains(&t[..]) {
                    missing.push(extended(env, &t));
                    if missing.len() > MAX_BOX {
                        return None;
                    }
                }
                for d in (0..t.len()).rev() {
                    t[d] += 1;
                    if t[d] < ends[d].1 {
                        continue 'tuples;
                    }
                    t[d] = ends[d].0;
                }
                break;
            }
        }
        let present: Vec<Env> = self
            .members
            .iter()
            .flat_map(|(env, tuples)| tuples.iter().map(|t| extended(env, t)))
            .collect();
        let bounds = exclude(
            material,
            self.directions(material),
            subscripts,
            &present,
            missing,
        )?;
        Some((ranges, bounds))
    }

    /// The smallest box around all sets, its ends expressions of the sizes.
    fn hull(&self, material: &Material) -> Option<Vec<(Linear, Linear)>> {
        let sizes = Material {
            vars: material.sizes.clone(),
            ..material.clone()
        };
        let mut out = Vec::new();
        for d in 0..self.width {
            let mut ends: BTreeMap<Vec<i64>, (Env, i64, i64)> = BTreeMap::new();
            for (env, tuples) in self.members {
                let key: Vec<i64> = sizes.vars.iter().map(|&v| env[v]).collect();
                for t in tuples {
                    let own = ends.entry(key.clone());
                    let e = own.or_insert_with(|| (env.clone(), t[d], t[d] + 1));
                    (e.1, e.2) = (e.1.min(t[d]), e.2.max(t[d] + 1));
                }
            }
            let first: Vec<(&[i64], i64)> = ends.values().map(|(e, lo, _)| (&**e, *lo)).collect();
            let end: Vec<(&[i64], i64)> = ends.values().map(|(e, _, hi)| (&**e, *hi)).collect();
            out.push((sizes.fit(&first)?, sizes.fit(&end)?));
        }
        Some(out)
    }

    /// Sums and differences of at most three variables, one of which is of a tuple.
    fn directions(&self, material: &Material) -> Vec<Linear> {
        let own: Vec<usize> = (self.scope..self.scope + self.width).collect();
        let outer: Vec<usize> = material
            .vars
            .iter()
            .copied()
            .filter(|v| !material.sizes.contains(v))
            .collect();
        directions(&own, &outer, &material.divisors)
    }
}

/// Sums and differences of at most three variables, the first of which is one of `own`.
pub(super) fn directions(own: &[usize], outer: &[usize], divisors: &[i64]) -> Vec<Linear> {
    let term = |k: i64, v: usize| (k, Feature::Var(v));
    let mut out = Vec::new();
    for &v in own {
        out.push(Linear::var(v));
    }
    for &v in own {
        for &w in outer.iter().chain(own).filter(|&&w| w != v) {
            for k in [-1, 1] {
                out.push(Linear {
                    terms: vec![term(1, v), term(k, w)],
                    ..Linear::default()
                });
            }
        }
    }
    // Windows that move by more than one.
    for &v in own {
        for &w in outer {
            for k in 2..=MAX_STRIDE {
                out.push(Linear {
                    terms: vec![term(1, v), term(-k, w)],
                    ..Linear::default()
                });
            }
        }
    }
    for &v in own {
        for &d in divisors {
            let d = super::linear::Divisor::Number(d);
            for f in [Feature::Mod(v, d), Feature::Div(v, d)] {
                out.push(Linear {
                    terms: vec![(1, f)],
                    ..Linear::default()
                });
            }
        }
    }
    let all: Vec<usize> = outer.iter().chain(own).copied().collect();
    for &v in own {
        for (i, &w) in all.iter().enumerate().filter(|(_, w)| **w != v) {
            for &x in all[i + 1..].iter().filter(|&&x| x != v) {
                for (k, l) in [(-1, -1), (-1, 1), (1, -1), (1, 1)] {
                    out.push(Linear {
                        terms: vec![term(1, v), term(k, w), term(l, x)],
                        ..Linear::default()
                    });
                }
            }
        }
    }
    out
}

/// Bounds that hold where the present ones are and exclude all that are missing.
pub(super) fn exclude(
    material: &Material,
    directions: Vec<Linear>,
    subscripts: &[(Linear, Linear)],
    present: &[Env],
    missing: Vec<Env>,
) -> Option<Vec<Bounds>> {
    let all = missing.clone();
    let mut missing = missing;
    let mut out: Vec<Bounds> = Vec::new();
    let sizes = Material {
        vars: material.sizes.clone(),
        ..material.clone()
    };
    let natural = subscripts
        .iter()
        .map(|(index, extent)| (index.clone(), Some((Linear::number(0), extent.clone()))));
    let others = directions.into_iter().map(|d| (d, None));
    for (index, ends) in natural.chain(others) {
        if missing.is_empty() {
            break;
        }
        let (lo, hi) = match ends {
            Some(ends) => ends,
            None => {
                let Some(ends) = tight(&sizes, &index, present) else {
                    continue;
                };
                ends
            }
        };
        let before = missing.len();
        let below = missing.iter().any(|e| index.value(e) < lo.value(e));
        let above = missing.iter().any(|e| index.value(e) >= hi.value(e));
        missing.retain(|e| index.value(e) >= lo.value(e) && index.value(e) < hi.value(e));
        if missing.len() < before {
            // One value reads best as an equation.
            let single = (below || above) && lo.terms == hi.terms && hi.constant == lo.constant + 1;
            out.push(Bounds {
                first: (below || single).then_some(lo),
                index,
                end: (above || single).then_some(hi),
            });
        }
        if out.len() > MAX_BOUNDS {
            return None;
        }
    }
    // What later bounds exclude too need not be said first.
    let mut i = 0;
    while i < out.len() {
        let bound = out.remove(i);
        if !all.iter().all(|e| out.iter().any(|b| !b.holds(e))) {
            out.insert(i, bound);
            i += 1;
        }
    }
    missing.is_empty().then_some(out)
}

/// The least value of an expression and the one after the greatest, as expressions of the sizes.
fn tight(sizes: &Material, index: &Linear, present: &[Env]) -> Option<(Linear, Linear)> {
    let mut ends: BTreeMap<Vec<i64>, (&Env, i64, i64)> = BTreeMap::new();
    for env in present {
        let v = index.value(env);
        let key = sizes.vars.iter().map(|&s| env[s]).collect();
        let e = ends.entry(key).or_insert((env, v, v + 1));
        (e.1, e.2) = (e.1.min(v), e.2.max(v + 1));
    }
    let first: Vec<(&[i64], i64)> = ends.values().map(|(e, lo, _)| (&***e, *lo)).collect();
    let end: Vec<(&[i64], i64)> = ends.values().map(|(e, _, hi)| (&***e, *hi)).collect();
    Some((sizes.fit(&first)?, sizes.fit(&end)?))
}
