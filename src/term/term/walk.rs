//! Walks over what stands below some terms.

use rustc_hash::FxHashSet;

use super::{Term, TermId, TermStore};

/// Part of a store from which on a mark for each of its terms is cheaper than a set.
pub(super) const GOOD_PART: usize = 16;

impl TermStore {
    /// The ids below `roots`, the roots included, in ascending order: children before parents.
    pub fn reachable(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<TermId> = roots.to_vec();
        let mut out = Vec::new();
        while let Some(t) = stack.pop() {
            if seen.insert(t) {
                out.push(t);
                if out.len() > self.len() / GOOD_PART {
                    stack.extend(out);
                    return self.reachable_by_marks(&stack);
                }
                self.children(t, |c| {
                    if !seen.contains(&c) {
                        stack.push(c);
                    }
                });
            }
        }
        out.sort_unstable();
        out
    }

    /// The serials of the unknowns below some terms.
    pub fn serials_below(&self, roots: &[TermId]) -> FxHashSet<u32> {
        let serial = |t: TermId| match self.get(t) {
            Term::Fresh { serial, .. } => Some(serial),
            _ => None,
        };
        self.reachable(roots)
            .into_iter()
            .filter_map(serial)
            .collect()
    }

    /// The same, by a mark for each term of the store.
    fn reachable_by_marks(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut marks = vec![false; self.len()];
        for t in roots {
            marks[t.0 as usize] = true;
        }
        let mut n = 0;
        for i in (0..self.len()).rev() {
            if marks[i] {
                n += 1;
                self.children(TermId(i as u32), |c| marks[c.0 as usize] = true);
            }
        }
        let mut out = Vec::with_capacity(n);
        let marked = marks.iter().enumerate().filter(|(_, m)| **m);
        out.extend(marked.map(|(i, _)| TermId(i as u32)));
        out
    }

    /// The terms that are met from roots on, each once, operands before what uses them; `next` says whether
    /// a term is met and what is met from there. None if there are more than `most`.
    pub fn met(
        &self,
        roots: &[TermId],
        most: usize,
        mut next: impl FnMut(TermId, &mut Vec<TermId>) -> bool,
    ) -> Option<Vec<TermId>> {
        let mut seen = FxHashSet::default();
        let mut open: Vec<TermId> = roots.to_vec();
        let mut out = Vec::new();
        while let Some(t) = open.pop() {
            if !seen.contains(&t) && next(t, &mut open) {
                seen.insert(t);
                out.push(t);
                if out.len() > most {
                    return None;
                }
            }
        }
        out.sort_unstable();
        Some(out)
    }

    /// The terms that may lack a value below some, these included, operands before what uses them.
    pub fn partial(&self, roots: &[TermId], most: usize) -> Option<Vec<TermId>> {
        self.met(roots, most, |t, open| {
            let partial = !self.is_total(t);
            if partial {
                self.children(t, |c| open.push(c));
            }
            partial
        })
    }

    /// A term below `roots` of which `test` holds, among those that may lack a value.
    ///
    /// What is total has only total children, so nothing below it is looked at.
    pub fn find_partial(&self, roots: &[TermId], test: impl Fn(TermId) -> bool) -> Option<TermId> {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<TermId> = roots.to_vec();
        while let Some(t) = stack.pop() {
            if self.is_total(t) || !seen.insert(t) {
                continue;
            }
            if test(t) {
                return Some(t);
            }
            self.children(t, |c| stack.push(c));
        }
        None
    }

    /// Number of terms below some roots, the roots included, and of edges between them.
    pub fn cone_size(&self, roots: impl IntoIterator<Item = TermId>) -> usize {
        let mut seen = vec![false; self.len()];
        let mut stack: Vec<TermId> = Vec::new();
        let mut size = 0;
        for root in roots {
            stack.push(root);
            while let Some(t) = stack.pop() {
                if std::mem::replace(&mut seen[t.0 as usize], true) {
                    continue;
                }
                size += 1;
                self.children(t, |c| {
                    size += 1;
                    if !seen[c.0 as usize] {
                        stack.push(c);
                    }
                });
            }
        }
        size
    }
}
