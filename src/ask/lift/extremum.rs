//! Where the largest or the least element stands.
//!
//! A kernel finds the place of an extremum by comparisons, and what it leaves is a nest of choices among numbers. A formula says
//! `min(k if x[i,k] = max(l: x[i,l]): k)`: the first place at which the extremum is. Which elements take part is read
//! off the conditions; the four formulas that there are, first or last place of the largest or the least, are all to be tried.
//! None is claimed of a kernel before it is proved of it.

use std::collections::BTreeSet;

use super::expr::{Expr, Fold};
use super::print::PrintNames;
use super::tree::{Id, Tree};
use super::unify::{Family, Unifier};

impl Unifier<'_> {
    /// Texts for elements that choose among places; none where conditions compare something else than one range of elements.
    pub(super) fn indices_of_extrema(
        &mut self,
        family: &Family,
        (names, head): (&PrintNames, &str),
    ) -> Vec<String> {
        let mut compared = Family::new();
        for (env, id) in family {
            let reads = self.compared(*id);
            if reads.len() < 2 {
                return Vec::new();
            }
            let list: Vec<Id> = reads.into_iter().map(|r| self.forest.alone(r)).collect();
            compared.push((env.clone(), self.forest.put(Tree::Max(list.into()))));
        }
        let Ok(Expr::Reduce {
            fold: Fold::Max,
            ranges,
            bounds,
            body,
        }) = self.tree(&compared)
        else {
            return Vec::new();
        };
        match (ranges.as_slice(), bounds.is_empty()) {
            ([range], true) => names.indices_of_extrema(head, range, &body),
            _ => Vec::new(),
        }
    }

    /// The elements that the conditions of a tree compare; none if it reads others too, which no place does.
    fn compared(&self, id: Id) -> BTreeSet<Id> {
        let mut out = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(id, false)];
        while let Some((id, inside)) = open.pop() {
            if !seen.insert((id, inside)) {
                continue;
            }
            match self.forest.get(id) {
                Tree::Read(..) if inside => {
                    out.insert(id);
                }
                Tree::Read(..) | Tree::Gather(..) => return BTreeSet::new(),
                Tree::Choose(c, a, b) => open.extend([(*c, true), (*a, inside), (*b, inside)]),
                other => open.extend(other.children().into_iter().map(|x| (x, inside))),
            }
        }
        out
    }
}
