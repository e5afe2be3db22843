//! Decisions for people: what was proved, what differs and why something stayed open, as sentences.
//!
//! Nothing here changes a ruling. Conditions of one array that stay open for one kind of reason are
//! reported once, with their number.

use std::collections::BTreeMap;

mod difference;
mod example;
pub(crate) mod reason;
pub mod text;
mod types;

pub use types::*;

use example::Examples;

use crate::answer::AssumptionKind;
use crate::decide::goal::Condition;
use crate::decide::ruling::{Ruling, Why};
use crate::decide::{self, Decided, Options};
use crate::sim::{Clean, UnknownKind};
use crate::spec::Arrays;
use crate::term::{ArrayId, TermId};

/// Decides whether two runs compute the same, and says it.
pub fn decide(reference: Clean, optimized: Clean, arrays: &Arrays, options: &Options) -> Decision {
    explained(
        decide::decide(reference, optimized, arrays, options),
        arrays,
        options,
    )
}

/// The array of the first of some open conditions, what is said of them, and its pair of terms.
type Undecided = (ArrayId, Unresolved, Option<(TermId, TermId)>);

/// The answer with its sentences.
fn explained(decided: Decided, arrays: &Arrays, options: &Options) -> Decision {
    let mut decision = summary(&decided.conditions, arrays);
    decision.counts.terms = decided.terms;
    decision.counts.candidates = decided.rulings.tried;
    decision.chance = decided.rulings.chance;
    decision
        .assumptions
        .clone_from(&decided.rulings.assumptions);
    if let Some((kind, message)) = decided.cannot {
        let message = message.to_string();
        decision.unknowns.push(Unresolved {
            kind,
            message,
            count: 1,
            difference: None,
        });
        return decision;
    }
    tally(&decided, arrays, options, &mut decision);
    if let Some(chance) = &mut decision.chance {
        let by = &decision.counts.by;
        chance.elements = by.get("points").copied().unwrap_or_default();
        decision.assumptions.push(chance.assumption());
    }
    decision
}

/// Adds the rulings up.
fn tally(decided: &Decided, arrays: &Arrays, options: &Options, decision: &mut Decision) {
    let mut open: Vec<Undecided> = Vec::new();
    let (mut logarithms, mut proved) = (false, 0);
    let all = decided.conditions.iter().zip(&decided.rulings.of);
    let refuted = all.clone().find(|(_, r)| r.is_refuted());
    for (c, ruling) in all {
        match ruling {
            Ruling::Proved(p) => {
                *decision.counts.by.entry(p.by.name).or_default() += 1;
                if c.alike > 0 {
                    *decision.counts.by.entry("renaming").or_default() += c.alike;
                }
                logarithms |= p.positive_logarithms;
                proved += 1;
                let mut outputs = decision.outputs.iter_mut();
                if let Some(o) = outputs.find(|o| o.array == c.array) {
                    o.proved += c.elements();
                    *o.by.entry(p.by.name).or_default() += c.elements() - c.alike;
                    if c.alike > 0 {
                        *o.by.entry("renaming").or_default() += c.alike;
                    }
                }
            }
            Ruling::Open(why) if refuted.is_none() => {
                let (u, pair) = unresolved(decided, arrays, c, why);
                let same = |(a, o, _): &&mut Undecided| *a == c.array && o.kind == u.kind;
                match open.iter_mut().find(same) {
                    Some((_, o, _)) => o.count += u.count,
                    None => open.push((c.array, u, pair)),
                }
            }
            // Beside a refutation there is what nobody has looked at.
            Ruling::Open(_) | Ruling::Deferred(_) => {}
            Ruling::Refuted { .. } | Ruling::OneSided(_) => {}
        }
    }
    let said = open
        .into_iter()
        .map(|(_, u, pair)| with_difference(decided, arrays, options, u, pair));
    decision.unknowns = said.collect();
    if let Some((i, distance)) = decided.rulings.suspect
        && let Some(first) = decision.unknowns.first_mut()
        && decided.rulings.of.get(i).is_some_and(Ruling::is_open)
    {
        let c = &decided.conditions[i];
        let name = text::element(arrays, c.array, c.off, c.bytes as u64);
        let distance = match (1e-2..1e6).contains(&distance) {
            true => format!("{distance:.2}"),
            false => format!("{distance:.1e}"),
        };
        let suspect = format!("; probably wrong at {name}: {distance} apart on a drawn input");
        first.message.push_str(&suspect);
    }
    let mut of = decided.rulings.of.iter().filter(|r| r.is_open());
    decision.by_rounding = !decision.unknowns.is_empty() && of.all(Ruling::is_for_rounding);
    if logarithms {
        let sentence = "arguments of logarithms are positive, not 0";
        decision
            .assumptions
            .push(AssumptionKind::PositiveLogarithm.says(sentence));
    }
    if let Some((c, ruling)) = refuted {
        let examples = Examples::new(decided, arrays, options);
        let (example, assumed) = examples.of(c, ruling);
        decision.counterexample = example.map(|e| Counterexample {
            writes: examples.writes(),
            ..e
        });
        decision.assumptions.extend(assumed);
    }
    decision.verdict = if decision.counterexample.is_some() {
        Verdict::NotEquivalent
    } else if decision.unknowns.is_empty() && proved == decided.conditions.len() {
        Verdict::Equivalent
    } else {
        Verdict::Unknown
    };
}

/// What is said of an element that stays open, and the terms at which, where what differs is worth
/// saying.
fn unresolved(
    decided: &Decided,
    arrays: &Arrays,
    c: &Condition,
    why: &Why,
) -> (Unresolved, Option<(TermId, TermId)>) {
    let mut pair = None;
    let (kind, what) = match why {
        Why::Failed {
            failure: (proof, a, b),
            seen,
        } => {
            let reason = reason::unresolved(&decided.store, arrays, *proof, (*a, *b), *seen);
            pair = reason.differs.then_some((*a, *b));
            (reason.kind, reason.text)
        }
        Why::OneSided(only) => (UnknownKind::Undecided, example::one_sided(only)),
        Why::Nothing => (
            UnknownKind::Undefined,
            "no input was found on which the reference is a number".to_string(),
        ),
        Why::Limit(what) => (UnknownKind::Limit, format!("{what} before it was decided")),
    };
    let name = text::element(arrays, c.array, c.off, c.bytes as u64);
    let unresolved = Unresolved {
        kind,
        message: format!("{name}: {what}"),
        count: c.elements(),
        difference: None,
    };
    (unresolved, pair)
}

/// The same with what differs, and of how many elements it is said.
fn with_difference(
    decided: &Decided,
    arrays: &Arrays,
    options: &Options,
    mut u: Unresolved,
    pair: Option<(TermId, TermId)>,
) -> Unresolved {
    if let Some(pair) = pair {
        let d = difference::between(&decided.store, arrays, options, pair);
        u.message.push_str(&format!(": {}", d.message));
        // A short sentence quotes both sides itself.
        if !(d.message.contains(&d.reference) && d.message.contains(&d.optimized)) {
            let (a, b) = (&d.reference, &d.optimized);
            let sides = format!(": reference has {a}, optimized kernel has {b}");
            u.message.push_str(&sides);
        }
        u.difference = Some(d);
    }
    if u.count > 1 {
        let more = u.count - 1;
        let s = if more == 1 { "" } else { "s" };
        let others = format!(" (and {more} more element{s})");
        u.message.push_str(&others);
    }
    u
}

fn summary(conditions: &[Condition], arrays: &Arrays) -> Decision {
    let mut outputs: BTreeMap<ArrayId, OutputSummary> = BTreeMap::new();
    let mut elements = 0;
    for c in conditions {
        let o = outputs.entry(c.array).or_insert_with(|| OutputSummary {
            array: c.array,
            name: text::array_name(arrays, c.array),
            elements: 0,
            proved: 0,
            by: BTreeMap::new(),
        });
        o.elements += c.elements();
        elements += c.elements();
    }
    Decision {
        verdict: Verdict::Unknown,
        outputs: outputs.into_values().collect(),
        counterexample: None,
        unknowns: Vec::new(),
        by_rounding: false,
        warnings: Vec::new(),
        assumptions: Vec::new(),
        chance: None,
        counts: Counts {
            conditions: elements,
            ..Counts::default()
        },
    }
}

#[cfg(test)]
mod tests;
