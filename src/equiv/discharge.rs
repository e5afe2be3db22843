//! The obligations that a run leaves: are two unordered writes equal?
//!
//! Equal for every input: the warning. Different on an input that was found: the defect, with the
//! input in its message. Neither: `undecided`, so that the outcome does not become clean.

use rayon::prelude::*;

use super::elements;
use super::prove::{Proof, Prover};
use super::types::Options;
use super::{explain, text, witness};
use crate::sim::{DefectKind, Finding, Obligation, Outcome, UnknownKind, WarningKind};
use crate::spec::Arrays;

/// Obligations that share a scratch.
const CHUNK: usize = 64;

/// What may be spent on the refutation of one obligation.
const STEPS: u64 = 20_000_000;

enum Settled {
    Warning(Finding<WarningKind>),
    Defect(Finding<DefectKind>),
    Unknown(Finding<UnknownKind>),
}

/// Settles every obligation of an outcome; none is left. Findings of one kind at the same places
/// are merged.
pub fn discharge(outcome: &mut Outcome, arrays: &Arrays, options: &Options) {
    let obligations = std::mem::take(&mut outcome.obligations);
    if obligations.is_empty() {
        return;
    }
    let pairs: Vec<elements::Pairs> = obligations
        .iter()
        .map(|o| elements::pairs(&mut outcome.store, o.equal.0, o.equal.1, None))
        .collect();
    let store = &outcome.store;
    let work: Vec<(Obligation, elements::Pairs)> = obligations.into_iter().zip(pairs).collect();
    let settled: Vec<Vec<Settled>> = work
        .par_chunks(CHUNK)
        .map(|chunk| {
            let mut prover = Prover::new(store);
            chunk
                .iter()
                .map(|(o, pairs)| settle(store, o, pairs, arrays, options, &mut prover))
                .collect()
        })
        .collect();
    for s in settled.into_iter().flatten() {
        match s {
            Settled::Warning(f) => merge(&mut outcome.warnings, f),
            Settled::Defect(f) => merge(&mut outcome.defects, f),
            Settled::Unknown(f) => merge(&mut outcome.unknowns, f),
        }
    }
}

fn settle(
    store: &crate::term::TermStore,
    o: &Obligation,
    pairs: &elements::Pairs,
    arrays: &Arrays,
    options: &Options,
    prover: &mut Prover<'_>,
) -> Settled {
    let mut open = None;
    for &(a, b) in pairs {
        // Both writes must have a value wherever one has.
        let proof = match prover.implied(a, b) {
            Proof::Yes { .. } => prover.implied(b, a),
            p => p,
        };
        if !matches!(proof, Proof::Yes { .. }) {
            open = Some((proof, a, b));
            break;
        }
    }
    let Some((proof, a, b)) = open else {
        return Settled::Warning(o.warning.clone());
    };
    let budget = witness::Budget {
        steps: STEPS,
        deadline: options.limits.deadline,
    };
    let search = witness::search(store, pairs, arrays, options.seed, budget);
    if let Some(found) = search.found {
        let mut defect = o.defect.clone();
        let show = |v| text::value(v, None).map_or("undefined".to_string(), |s| s.text);
        let inputs: Vec<String> = found
            .inputs
            .iter()
            .take(4)
            .map(|(c, bits)| {
                let name = text::element(arrays, c.array, c.off, c.bytes as u64);
                format!("{name} = {}", text::bits(*bits, Some(c.ty)).text)
            })
            .collect();
        let given = match (&inputs[..], found.inputs.len()) {
            ([], _) => "all inputs 0".to_string(),
            (list, n) if n > 4 => format!("{}, and {} more inputs", list.join(", "), n - 4),
            (list, _) => list.join(", "),
        };
        defect.message.push_str(&format!(
            "; the values differ: {} and {} with {given}",
            show(&found.reference),
            show(&found.optimized)
        ));
        return Settled::Defect(defect);
    }
    let (kind, what) = explain::unequal(store, arrays, proof, (a, b), search.within_rounding);
    Settled::Unknown(Finding {
        kind,
        message: format!(
            "{}; whether the values are equal is open: {what}",
            o.defect.message
        ),
        count: o.defect.count,
        sites: o.defect.sites.clone(),
    })
}

/// Adds a finding; one of the same kind at the same instructions is counted.
pub fn merge<K: PartialEq>(list: &mut Vec<Finding<K>>, f: Finding<K>) {
    let places = |f: &Finding<K>| f.sites.iter().map(|s| s.pc).collect::<Vec<_>>();
    let same = list
        .iter_mut()
        .find(|g| g.kind == f.kind && places(g) == places(&f));
    match same {
        Some(g) => g.count += f.count,
        None => list.push(f),
    }
}
