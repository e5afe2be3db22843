//! Elements of different shapes: a formula for each shape, and guards that say which elements have it.

use std::collections::BTreeMap;

use super::expr::{Bounds, Expr};
use super::region::{self, Env};
use super::tree::{Q, Shape, Tree};
use super::unify::{Family, Unifier};

/// Shapes that an output may have.
const MAX_SHAPES: usize = 6;

impl Unifier<'_> {
    /// The expression of a family of which some members may have another shape, by guards.
    pub(super) fn guarded(&mut self, family: &Family) -> Result<Expr, String> {
        let mut classes = Vec::new();
        for class in self.classes(family) {
            match self.tree(&class) {
                Ok(e) => classes.push((class, Ok(e))),
                // Where signs or weights go by the index, each is a class of its own.
                Err(why) => {
                    let parts = self.by_coefficients(&class);
                    let whole = parts.len() == 1;
                    for part in parts {
                        let e = if whole {
                            Err(why.clone())
                        } else {
                            self.tree(&part)
                        };
                        classes.push((part, e));
                    }
                }
            }
        }
        classes.sort_by_key(|c| c.0.len());
        if classes.len() > MAX_SHAPES {
            return Err(format!(
                "its elements have {} different shapes",
                classes.len()
            ));
        }
        let Some(last) = classes.pop() else {
            return Err("there is no element".into());
        };
        let mut out = last.1?;
        let mut rest: Vec<Env> = last.0.iter().map(|m| m.0.clone()).collect();
        while let Some((class, value)) = classes.pop() {
            let value = value?;
            let here: Vec<Env> = class.iter().map(|m| m.0.clone()).collect();
            let ways = [(&here, &rest, false), (&rest, &here, true)];
            let ways = ways.map(|(a, b, flip)| Some((self.guard(a, b)?, flip)));
            let lower = |b: &[Bounds]| b.iter().filter(|b| b.first.is_some()).count();
            let best = ways
                .into_iter()
                .flatten()
                .min_by_key(|(b, _)| (b.len(), lower(b)));
            let (bounds, flip) = best.ok_or(
                "which of its elements have which shape follows no rule that formulas can say",
            )?;
            let (yes, no) = if flip { (out, value) } else { (value, out) };
            out = Expr::Guard(bounds, Box::new(yes), Box::new(no));
            rest.extend(here);
        }
        Ok(out)
    }

    /// The members by their shapes, the largest class last.
    pub(super) fn classes(&self, family: &Family) -> Vec<Family> {
        let mut classes: BTreeMap<Shape, Family> = BTreeMap::new();
        for (env, id) in family {
            let class = classes.entry(self.forest.shape(*id)).or_default();
            class.push((env.clone(), *id));
        }
        let mut out: Vec<Family> = classes.into_values().collect();
        out.sort_by_key(Vec::len);
        out
    }

    /// The members by the coefficients of the summands of each shape.
    fn by_coefficients(&self, family: &Family) -> Vec<Family> {
        let mut out: BTreeMap<Vec<(Shape, Q)>, Family> = BTreeMap::new();
        for (env, id) in family {
            let mut key: Vec<(Shape, Q)> = match self.forest.get(*id) {
                Tree::Sum(l) => l
                    .iter()
                    .map(|(q, p)| (self.forest.shape(*p), q.clone()))
                    .collect(),
                _ => Vec::new(),
            };
            key.sort();
            out.entry(key).or_default().push((env.clone(), *id));
        }
        out.into_values().collect()
    }

    /// Bounds that hold at some elements and not elsewhere.
    pub(super) fn guard(&self, here: &[Env], elsewhere: &[Env]) -> Option<Vec<Bounds>> {
        let own: Vec<usize> = self
            .material
            .vars
            .iter()
            .copied()
            .filter(|v| !self.material.sizes.contains(v))
            .collect();
        let directions = region::directions(&own, &[], &self.material.divisors);
        region::exclude(&self.material, directions, &[], here, elsewhere.to_vec())
    }
}
