//! The first operation that tells two values apart.
//!
//! Problem: two trees of operations differ, and a user wants to know where. From the results down: where both
//! sides have the same operation and all operands but one are the same, that operand is where they differ; where
//! operations differ, or several operands do, this is the place. Which operands are the same is asked of the images that
//! compared them.

use crate::kernel::Pc;
use crate::term::word::Operation;
use crate::term::{Term, TermId, TermStore};

use super::canon::{Images, Reader};

/// One side: its terms, and what they became.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The terms.
    pub store: &'a TermStore,
    /// Their images.
    pub images: &'a Images,
}

impl Side<'_> {
    /// What a term became for either reader.
    fn same(self, t: TermId, other: Side<'_>, u: TermId) -> bool {
        Reader::ALL.into_iter().any(|r| {
            let (a, b) = (self.images.get(t, r), other.images.get(u, r));
            a == b && a != super::canon::NONE
        })
    }

    fn operation(self, t: TermId) -> Option<Operation> {
        let word = self.store.as_word(t)?;
        Some(Operation {
            place: 0,
            ..word.operation(self.store)
        })
    }

    /// The number of the code and the instruction that made a term.
    pub fn origin(self, t: TermId) -> Option<(u32, Pc)> {
        self.store.origin(t)
    }

    fn operands(self, t: TermId) -> Vec<TermId> {
        match self.store.get(t) {
            Term::Word(word) => word.operands().collect(),
            Term::BitsSelect(_, a, b) => vec![a, b],
            _ => Vec::new(),
        }
    }
}

/// Where two terms that are not the same differ first.
pub fn first(a: Side<'_>, b: Side<'_>, mut pair: (TermId, TermId)) -> (TermId, TermId) {
    loop {
        let (t, u) = pair;
        let alike = a.operation(t) == b.operation(u);
        let (xs, ys) = (a.operands(t), b.operands(u));
        if !alike || xs.len() != ys.len() {
            return pair;
        }
        // Operands that have no partner on the other side, which stand in any order.
        let mut rest: Vec<TermId> = ys.clone();
        let mut open: Vec<TermId> = Vec::new();
        for &x in &xs {
            match rest.iter().position(|&y| a.same(x, b, y)) {
                Some(i) => {
                    rest.remove(i);
                }
                None => open.push(x),
            }
        }
        let is_made =
            |s: Side<'_>, t: TermId| matches!(s.store.get(t), Term::Word(_) | Term::BitsSelect(..));
        match (&open[..], &rest[..]) {
            // Children are older than their parents, so that this ends.
            (&[x], &[y]) if is_made(a, x) && is_made(b, y) => pair = (x, y),
            _ => return pair,
        }
    }
}
