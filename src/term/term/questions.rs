//! Tests whose answers rounding may turn over, and what each of them asks.
//!
//! Problem: where only the reals decide a test, the machine may find the opposite answer, and which one depends on how
//! the operands were computed. So each such test has an unknown of its own, which no other equals. Code that is the
//! same but for the operands of its tests is recognised all the same, as the code of a library function is, by what was
//! asked of which numbers.
//!
//! Not claimed: that an unknown has its question. One that was copied without its operands has none.

use super::{Class, RCmp, Term, TermId, TermStore};
use crate::scalar::Fmt;

/// In the serials of flips, and in those of no other unknown: the bit above it tells the kernels apart.
pub(super) const FLIP: u32 = 1 << 30;

/// What a test asks of two numbers of the machine, or of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// How two are ordered.
    Order(RCmp),
    /// Whether one, which stands for both, is of a class.
    Class(Class),
}

/// A test: what is asked, in which format, and the reals that the numbers of the machine stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// What is asked.
    pub asked: Asked,
    /// The format of the operands.
    pub fmt: Fmt,
    /// What it is asked of.
    pub operands: [TermId; 2],
}

impl Question {
    /// The same of other operands.
    pub fn of(self, f: impl Fn(TermId) -> Option<TermId>) -> Option<Question> {
        let [a, b] = self.operands;
        let (a, b) = (f(a)?, f(b)?);
        let swapped = self.asked == Asked::Order(RCmp::Eq) && b < a;
        let operands = if swapped { [b, a] } else { [a, b] };
        Some(Question { operands, ..self })
    }
}

impl TermStore {
    /// Whether rounding turns the answer of one test over, which nothing says; the unknown has a number of its own.
    ///
    /// The machine's answer is that of the reals, exclusive-or this.
    pub fn flip(&mut self, serial: u32, question: Question) -> TermId {
        self.has_flips = true;
        let serial = serial | FLIP;
        self.questions
            .extend(question.of(Some).map(|q| (serial, q)));
        let bit = self.fresh(1, serial);
        let set = self.bits(1, 1);
        self.icmp(super::ICmp::Eq, bit, set)
    }

    /// True for the bit of such an unknown.
    pub fn is_flip(&self, t: TermId) -> bool {
        matches!(self.get(t), Term::Fresh { serial, .. } if serial & FLIP != 0)
    }

    /// What the test asks that a flip, or an overflow, stands for.
    pub fn question(&self, t: TermId) -> Option<Question> {
        match self.get(t) {
            Term::Fresh { serial, .. } if serial & FLIP != 0 => {
                self.questions.get(&serial).copied()
            }
            Term::Overflows(class, fmt, x) => Some(Question {
                asked: Asked::Class(class),
                fmt,
                operands: [x, x],
            }),
            _ => None,
        }
    }

    /// True if a test was met that rounding may turn over.
    pub fn has_flips(&self) -> bool {
        self.has_flips
    }

    /// True if some test asks how two terms are ordered.
    pub fn asks_order(&self, op: RCmp, operands: [TermId; 2]) -> bool {
        let mut all = self.questions.values();
        all.any(|q| q.asked == Asked::Order(op) && q.operands == operands)
    }

    /// Takes over the question of an unknown of another store, whose terms are those of this one by a map.
    pub(super) fn take_question(
        &mut self,
        other: &TermStore,
        (from, to): (u32, u32),
        map: impl Fn(TermId) -> Option<TermId>,
    ) {
        let question = other.questions.get(&from).and_then(|q| q.of(map));
        if let Some(q) = question {
            self.questions.insert(to, q);
        }
    }

    /// Roots with the operands of all that is asked below them.
    pub fn with_questions(&self, roots: &[TermId]) -> Vec<TermId> {
        let mut all = roots.to_vec();
        if self.questions.is_empty() {
            return all;
        }
        let mut seen = rustc_hash::FxHashSet::default();
        loop {
            let before = all.len();
            for t in self.reachable(&all) {
                if let Some(q) = self.question(t)
                    && seen.insert(t)
                {
                    all.extend(q.operands);
                }
            }
            if all.len() == before {
                return all;
            }
        }
    }
}
