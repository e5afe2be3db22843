//! How a condition was decided, and what all rulings say together.
//!
//! `Equivalent` needs a proof of every condition; one refutation is `NotEquivalent` whatever else
//! is open; conditions of one array that stay open for one kind of reason are reported once, with
//! their number.

use super::elements::Condition;
use super::prove::Proof;
use super::renaming::{Found, Known};
use super::types::*;
use crate::term::{ArrayId, TermId};

/// How a condition was decided.
pub(super) enum Ruling {
    Identical,
    SameForm {
        positive_logarithms: bool,
    },
    /// As another condition, with inputs renamed.
    Renamed {
        positive_logarithms: bool,
    },
    ByCases {
        positive_logarithms: bool,
    },
    Refuted(Box<Counterexample>),
    /// Not equal by form, and not searched yet.
    Deferred(Failure),
    Open(Unresolved),
}

impl Ruling {
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Ruling::Open(_) | Ruling::Deferred(_))
    }

    /// Takes note of a proof that renamings of the condition can use.
    pub(super) fn remember(&self, i: usize, known: &mut Known<'_, '_>) {
        if let Ruling::SameForm {
            positive_logarithms,
        }
        | Ruling::ByCases {
            positive_logarithms,
        } = self
        {
            known.keep(i, *positive_logarithms);
        }
    }
}

impl From<Found> for Ruling {
    fn from(found: Found) -> Self {
        let positive_logarithms = found.logarithms;
        match found.renamed {
            true => Ruling::Renamed {
                positive_logarithms,
            },
            false => Ruling::SameForm {
                positive_logarithms,
            },
        }
    }
}

/// What a proof failed with, and the pair of terms at which it did.
pub(super) type Failure = (Proof, TermId, TermId);

/// Adds the rulings up.
pub(super) fn tally(conditions: &[Condition], rulings: Vec<Ruling>, decision: &mut Decision) {
    let mut open: Vec<(ArrayId, Unresolved)> = Vec::new();
    let mut logarithms = false;
    let mut proved = 0;
    let counts = &mut decision.counts;
    for (ruling, c) in rulings.into_iter().zip(conditions) {
        match ruling {
            Ruling::Identical => counts.by_identity += 1,
            Ruling::SameForm {
                positive_logarithms,
            } => {
                counts.by_form += 1;
                logarithms |= positive_logarithms;
            }
            Ruling::Renamed {
                positive_logarithms,
            } => {
                counts.by_renaming += 1;
                logarithms |= positive_logarithms;
            }
            Ruling::ByCases {
                positive_logarithms,
            } => {
                counts.by_cases += 1;
                logarithms |= positive_logarithms;
            }
            Ruling::Refuted(w) => {
                decision.counterexample = Some(*w);
                continue;
            }
            // Only beside a refutation is there something that nobody has searched.
            Ruling::Deferred(_) => continue,
            Ruling::Open(u) => {
                let same = |(a, o): &&mut (ArrayId, Unresolved)| *a == c.array && o.kind == u.kind;
                match open.iter_mut().find(same) {
                    Some((_, o)) => o.count += 1,
                    None => open.push((c.array, u)),
                }
                continue;
            }
        }
        proved += 1;
        if let Some(o) = decision.outputs.iter_mut().find(|o| o.array == c.array) {
            o.proved += 1;
        }
    }
    decision.unknowns = open.into_iter().map(|(_, u)| u).collect();
    for u in decision.unknowns.iter_mut().filter(|u| u.count > 1) {
        let more = u.count - 1;
        let s = if more == 1 { "" } else { "s" };
        u.message
            .push_str(&format!(" (and {more} more element{s})"));
    }
    if logarithms {
        decision
            .assumptions
            .push("arguments of logarithms are positive, not 0".to_string());
    }
    decision.verdict = if decision.counterexample.is_some() {
        Verdict::NotEquivalent
    } else if decision.unknowns.is_empty() && proved == conditions.len() {
        Verdict::Equivalent
    } else {
        Verdict::Unknown
    };
}
