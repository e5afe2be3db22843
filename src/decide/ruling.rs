//! How a condition was decided, and what all rulings say together.
//!
//! `Equivalent` needs a proof of every condition; one refutation is `NotEquivalent` whatever else
//! is open; conditions of one array that stay open for one kind of reason are reported once, with
//! their number.

use super::elements::Condition;
use super::prove::Proof;
use super::types::*;
use super::witness::Found;
use crate::term::{ArrayId, TermId};

/// How a condition was decided.
pub(super) enum Ruling {
    Identical,
    SameForm {
        positive_logarithms: bool,
    },
    ByCases {
        positive_logarithms: bool,
    },
    /// By evaluation at random points.
    Probable {
        positive_logarithms: bool,
    },
    /// Refuted by an element that one kernel writes, or by an input, whose search is kept for the
    /// report.
    Refuted(Box<Counterexample>, Option<Box<Found>>),
    /// Not equal by form, and not searched yet.
    Deferred(Failure),
    /// Undecided, and the pair of terms at which, where what differs is worth saying.
    Open(Unresolved, Option<(TermId, TermId)>),
}

impl Ruling {
    /// True for a proof.
    pub(super) fn is_proof(&self) -> bool {
        match self {
            Ruling::Identical
            | Ruling::SameForm { .. }
            | Ruling::ByCases { .. }
            | Ruling::Probable { .. } => true,
            Ruling::Refuted(..) | Ruling::Deferred(_) | Ruling::Open(..) => false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, Ruling::Open(..) | Ruling::Deferred(_))
    }
}

/// What a proof failed with, and the pair of terms at which it did.
pub(super) type Failure = (Proof, TermId, TermId);

/// The array of the first of some open conditions, what is said of them, and its pair of terms.
type Undecided = (ArrayId, Unresolved, Option<(TermId, TermId)>);

/// Adds the rulings up; `between` says where a pair of terms differs.
pub(super) fn tally(
    conditions: &[Condition],
    rulings: Vec<Ruling>,
    decision: &mut Decision,
    between: impl Fn((TermId, TermId)) -> Difference,
) {
    let mut open: Vec<Undecided> = Vec::new();
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
            Ruling::ByCases {
                positive_logarithms,
            } => {
                counts.by_cases += 1;
                logarithms |= positive_logarithms;
            }
            Ruling::Probable {
                positive_logarithms,
            } => {
                counts.by_evaluation += 1;
                logarithms |= positive_logarithms;
            }
            Ruling::Refuted(w, _) => {
                decision.counterexample = Some(*w);
                continue;
            }
            // Only beside a refutation is there something that nobody has searched.
            Ruling::Deferred(_) => continue,
            Ruling::Open(mut u, pair) => {
                u.count += c.alike;
                let same = open
                    .iter_mut()
                    .find(|(a, o, _)| *a == c.array && o.kind == u.kind);
                match same {
                    Some((_, o, _)) => o.count += u.count,
                    None => open.push((c.array, u, pair)),
                }
                continue;
            }
        }
        proved += 1;
        counts.by_renaming += c.alike;
        if let Some(o) = decision.outputs.iter_mut().find(|o| o.array == c.array) {
            o.proved += c.elements();
        }
    }
    let explained = |(_, mut u, pair): Undecided| {
        if let Some(pair) = pair {
            let d = between(pair);
            u.message.push_str(&format!(": {}", d.message));
            // A short sentence quotes both sides itself.
            if !(d.message.contains(&d.reference) && d.message.contains(&d.optimized)) {
                let (a, b) = (&d.reference, &d.optimized);
                u.message
                    .push_str(&format!(": reference has {a}, optimized kernel has {b}"));
            }
            u.difference = Some(d);
        }
        u
    };
    decision.unknowns = open.into_iter().map(explained).collect();
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
    if let Some(chance) = &mut decision.chance {
        chance.elements = decision.counts.by_evaluation;
        decision.assumptions.push(chance.assumption());
    }
    decision.verdict = if decision.counterexample.is_some() {
        Verdict::NotEquivalent
    } else if decision.unknowns.is_empty() && proved == conditions.len() {
        Verdict::Equivalent
    } else {
        Verdict::Unknown
    };
}
