//! All sizes of a launch together: the texts that the elements of an output may have.

use std::rc::Rc;

use indexmap::IndexSet;

use super::elements::Output;
use super::expr::Expr;
use super::linear::{Linear, Material};
use super::print::PrintNames;
use super::region::Env;
use super::rules;
use super::tree::{Forest, Q};
use super::unify::{Family, Unifier};
use crate::spec::{self, Sizes};
use crate::term::ArrayId;

/// Elements that a formula may name: one that has more spells the kernel out.
const MAX_READS: usize = 48;

/// All sizes together.
pub(super) struct Joint<'a> {
    pub sizes: &'a [Sizes],
    /// The arrays at each size.
    pub arrays: &'a [Vec<spec::Array>],
    pub taken: &'a [String],
    /// The launch does not run all CTAs, so that elements that it does not write may have any value.
    pub is_part: bool,
}

impl Joint<'_> {
    /// Texts for an output, in the order in which they are to be tried.
    pub(super) fn texts(
        &self,
        array: ArrayId,
        outputs: &[&Output],
        forest: &mut Forest,
        constants: &IndexSet<Q>,
    ) -> Result<Vec<String>, String> {
        let info = &self.arrays[0][array.0 as usize];
        let rank = info.shape.len();
        if self
            .arrays
            .iter()
            .any(|a| a[array.0 as usize].shape.len() != rank)
        {
            return Err("its number of dimensions depends on the size".into());
        }
        let named: Vec<String> = self.sizes[0].0.keys().cloned().collect();
        // Sizes that do not vary explain nothing.
        let varies = |name: &String| {
            let mut values = self.sizes.iter().map(|s| s.0.get(name));
            let first = values.next();
            values.any(|v| Some(v) != first)
        };
        let mut family = Family::new();
        for (output, sizes) in outputs.iter().zip(self.sizes) {
            for (at, tree) in &output.elements {
                let env: Vec<i64> = at
                    .iter()
                    .copied()
                    .chain(sizes.0.values().copied())
                    .collect();
                family.push((Rc::from(env), *tree));
            }
        }
        let scope = rank + named.len();
        let varying = |v: &usize| varies(&named[v - rank]);
        let sizes: Vec<usize> = (rank..scope).filter(varying).collect();
        let extents = self.extents(rank, &sizes);
        let mut unifier = Unifier {
            forest,
            material: Material {
                vars: (0..rank).chain(sizes.iter().copied()).collect(),
                sizes,
                divisors: self.divisors(),
            },
            scope,
            extents: extents.clone(),
        };
        let letters = [
            "i", "j", "k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w",
        ];
        let mut free = letters
            .iter()
            .map(|l| l.to_string())
            .filter(|l| !self.taken.contains(l));
        let mut vars: Vec<String> = free.by_ref().take(rank).collect();
        vars.extend(named);
        let names = PrintNames {
            arrays: self.arrays[0].iter().map(|a| a.name.clone()).collect(),
            vars,
            taken: self.taken.to_vec(),
            constants: constants.iter().cloned().collect(),
            scalars: self.arrays[0]
                .iter()
                .map(|a| a.origin == spec::Origin::Scalar)
                .collect(),
            extents,
        };
        let indices: Vec<usize> = (0..rank).collect();
        let absent = self.absent(outputs);
        let written: Vec<Env> = family.iter().map(|m| m.0.clone()).collect();
        let bounds = match absent.is_empty() {
            true => Vec::new(),
            false => unifier
                .guard(&written, &absent)
                .ok_or("which of its elements are written follows no rule that formulas can say")?,
        };
        let head = names.head(&info.name, &indices, &bounds);
        let text = |e: Expr| {
            let e = rules::named(e);
            match e.reads() > MAX_READS {
                true => Err("its formula would spell elements out".to_string()),
                false => Ok(names.with_shared(&head, e)),
            }
        };
        let classes = unifier.classes(&family);
        let mut out = unifier.indices_of_extrema(&family, (&names, &head));
        // Few elements may be what most are where a sum has one summand or none.
        if let ([_, .., most], true) = (&*classes, classes.len() > 1) {
            out.extend(unifier.tree(most).and_then(&text));
        }
        match unifier.guarded(&family).and_then(text) {
            Ok(t) => out.push(t),
            Err(why) if out.is_empty() => return Err(why),
            Err(_) => {}
        }
        Ok(out)
    }

    /// Elements that are not written, where that says something.
    fn absent(&self, outputs: &[&Output]) -> Vec<Env> {
        if self.is_part {
            return Vec::new();
        }
        let all = outputs.iter().zip(self.sizes);
        let env = |at: &Vec<i64>, sizes: &Sizes| -> Env {
            at.iter()
                .copied()
                .chain(sizes.0.values().copied())
                .collect()
        };
        all.flat_map(|(o, sizes)| o.absent.iter().map(move |at| env(at, sizes)))
            .collect()
    }

    /// Extents as expressions of the sizes.
    fn extents(&self, rank: usize, sizes: &[usize]) -> Vec<Vec<Linear>> {
        let material = Material {
            vars: sizes.to_vec(),
            sizes: sizes.to_vec(),
            divisors: self.divisors(),
        };
        let envs: Vec<Vec<i64>> = self
            .sizes
            .iter()
            .map(|s| {
                vec![0; rank]
                    .into_iter()
                    .chain(s.0.values().copied())
                    .collect()
            })
            .collect();
        let of = |array: usize, d: usize| {
            let rows: Vec<(&[i64], i64)> = envs
                .iter()
                .zip(self.arrays)
                .map(|(e, a)| (&e[..], a[array].shape.get(d).map_or(0, |&n| n as i64)))
                .collect();
            material.fit(&rows).unwrap_or(Linear::number(i64::MAX))
        };
        let arrays = self.arrays[0].iter().enumerate();
        arrays
            .map(|(i, a)| (0..a.shape.len()).map(|d| of(i, d)).collect())
            .collect()
    }

    /// Numbers that an index may be divided by: extents, and small powers of 2.
    fn divisors(&self) -> Vec<i64> {
        let mut out: Vec<i64> = Vec::new();
        for a in self.arrays.iter().flatten() {
            out.extend(a.shape.iter().map(|&n| n as i64));
        }
        out.extend([2, 4, 8, 16, 32]);
        out.retain(|&n| n > 1);
        out.sort_unstable();
        out.dedup();
        out
    }
}
