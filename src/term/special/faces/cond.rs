//! Conditions: sets of literals of which all hold, or one.
//!
//! The problem: a maximum of a thousand masked values is -inf where all masks say so, and the difference
//! of one of them and the maximum is +inf where they do and that one's does not: never. As sets such
//! contradictions and implications are found, however the maximum was nested; what is neither set
//! becomes a term.

use super::Lift;
use crate::term::{Term, TermId};

/// Entries of all sets of literals together.
const MAX_ENTRIES: usize = 1 << 22;

/// A condition. Sets hold literals, a term and whether it is negated, and are ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    Never,
    Always,
    /// All literals of a set.
    All(u32),
    /// One literal of a set at least, which has two or more.
    Any(u32),
    Other(TermId),
}

/// A literal: twice the term, plus one if it is negated.
pub(super) type Literal = u64;

fn literal(t: TermId, holds: bool) -> Literal {
    (t.0 as u64) << 1 | !holds as u64
}

fn is_below(a: &[Literal], b: &[Literal]) -> bool {
    a.iter().all(|l| b.binary_search(l).is_ok())
}

impl Lift<'_> {
    fn set(&mut self, literals: Vec<Literal>) -> Option<u32> {
        let found = self.sets.get_index_of(&literals[..]);
        if found.is_none() {
            self.entries += literals.len();
            if self.entries > MAX_ENTRIES {
                return None;
            }
        }
        let (i, _) = self.sets.insert_full(literals.into_boxed_slice());
        Some(i as u32)
    }

    fn literals(&self, set: u32) -> &[Literal] {
        &self.sets[set as usize]
    }

    /// All of some literals, in any order.
    fn all(&mut self, mut literals: Vec<Literal>) -> Option<Cond> {
        literals.sort_unstable();
        literals.dedup();
        if literals.windows(2).any(|w| w[0] ^ 1 == w[1]) {
            return Some(Cond::Never);
        }
        match literals.is_empty() {
            true => Some(Cond::Always),
            false => self.set(literals).map(Cond::All),
        }
    }

    pub(super) fn not(&mut self, c: Cond) -> Option<Cond> {
        let opposite = |l: &[Literal]| -> Vec<Literal> { l.iter().map(|l| l ^ 1).collect() };
        Some(match c {
            Cond::Never => Cond::Always,
            Cond::Always => Cond::Never,
            Cond::All(s) => {
                let set = opposite(self.literals(s));
                match set.len() {
                    1 => Cond::All(self.set(set)?),
                    _ => Cond::Any(self.set(set)?),
                }
            }
            Cond::Any(s) => {
                let set = opposite(self.literals(s));
                Cond::All(self.set(set)?)
            }
            Cond::Other(t) => Cond::Other(self.store.not(t)),
        })
    }

    /// Both of two conditions.
    pub(super) fn and(&mut self, a: Cond, b: Cond) -> Option<Cond> {
        Some(match (a, b) {
            _ if a == b => a,
            (Cond::Never, _) | (_, Cond::Never) => Cond::Never,
            (Cond::Always, c) | (c, Cond::Always) => c,
            (Cond::All(s), Cond::All(t)) => {
                let mut both = self.literals(s).to_vec();
                both.extend_from_slice(self.literals(t));
                self.all(both)?
            }
            (Cond::All(s), Cond::Any(t)) | (Cond::Any(t), Cond::All(s)) => {
                let (s, t) = (self.literals(s), self.literals(t));
                if t.iter().any(|l| s.binary_search(l).is_ok()) {
                    return Some(if let Cond::All(_) = a { a } else { b });
                }
                let open = |l: &&Literal| s.binary_search(&(**l ^ 1)).is_err();
                let open: Vec<Literal> = t.iter().filter(open).copied().collect();
                match open[..] {
                    [] => Cond::Never,
                    [l] => {
                        let mut all = s.to_vec();
                        all.push(l);
                        self.all(all)?
                    }
                    _ => self.both(a, b),
                }
            }
            (Cond::Any(s), Cond::Any(t)) if is_below(self.literals(s), self.literals(t)) => a,
            (Cond::Any(s), Cond::Any(t)) if is_below(self.literals(t), self.literals(s)) => b,
            _ => self.both(a, b),
        })
    }

    fn both(&mut self, a: Cond, b: Cond) -> Cond {
        let (x, y) = (self.term(a), self.term(b));
        Cond::Other(self.store.and(x, y))
    }

    pub(super) fn or(&mut self, a: Cond, b: Cond) -> Option<Cond> {
        let (x, y) = (self.not(a)?, self.not(b)?);
        let neither = self.and(x, y)?;
        self.not(neither)
    }

    /// The condition as a term.
    pub(super) fn term(&mut self, c: Cond) -> TermId {
        match c {
            Cond::Never => self.store.bool(false),
            Cond::Always => self.store.bool(true),
            Cond::Other(t) => t,
            Cond::All(s) | Cond::Any(s) => {
                let any = matches!(c, Cond::Any(_));
                let mut out = None;
                for &l in &self.sets[s as usize] {
                    let t = TermId((l >> 1) as u32);
                    let t = match l & 1 == 1 {
                        true => self.store.not(t),
                        false => t,
                    };
                    out = Some(match out {
                        None => t,
                        Some(o) if any => self.store.or(o, t),
                        Some(o) => self.store.and(o, t),
                    });
                }
                out.unwrap_or_else(|| self.store.bool(!any))
            }
        }
    }

    /// A term as a condition; only one that has a value for all inputs, since conditions are looked at
    /// together.
    pub(super) fn cond(&mut self, p: TermId) -> Option<Cond> {
        if !self.is_defined(p) {
            return None;
        }
        // What a conjunction, or the opposite of a disjunction, consists of.
        let parts = |root: TermId, any: bool| {
            let mut literals = Vec::new();
            let mut stack = vec![(root, true)];
            while let Some((t, holds)) = stack.pop() {
                match self.store.get(t) {
                    Term::Not(q) => stack.push((q, !holds)),
                    Term::And(a, b) if holds != any => stack.extend([(a, holds), (b, holds)]),
                    Term::Or(a, b) if holds == any => stack.extend([(a, holds), (b, holds)]),
                    _ => literals.push(literal(t, holds)),
                }
            }
            literals
        };
        match self.store.get(p) {
            Term::Bool(b) => Some(if b { Cond::Always } else { Cond::Never }),
            Term::Not(q) if matches!(self.store.get(q), Term::And(..)) => {
                let literals = parts(q, false);
                let all = self.all(literals)?;
                self.not(all)
            }
            Term::Or(..) => {
                let mut literals = parts(p, true);
                literals.iter_mut().for_each(|l| *l ^= 1);
                let none = self.all(literals)?;
                self.not(none)
            }
            _ => {
                let literals = parts(p, false);
                self.all(literals)
            }
        }
    }
}
