//! The obligations that a run leaves: are two unordered writes equal?
//!
//! Equal for every input: the warning. Different on an input that was found: the defect, with the
//! input in its message. Neither: `undecided`, so that the outcome does not become clean.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::decide::Options;
use crate::decide::bounds;
use crate::decide::goal;
use crate::decide::prove::{Proof, Prover};
use crate::decide::refute::cells::{self, Cell};
use crate::decide::refute::{self, Budget, DifferingInput, minimise};
use crate::decide::tactics::{self, FORMS};
use crate::explain::{reason, text};
pub(super) use crate::sim::merge_finding as merge;
use crate::sim::{Conditional, DefectKind, Finding, Obligation, Otherwise, Outcome};
use crate::sim::{UnknownKind, WarningKind};
use crate::spec::{Arrays, ElemTy, Origin};
use crate::term::eval::{Cone, Value};
use crate::term::rebuild::{Images, rebuild};
use crate::term::{Term, TermId, TermStore};
use crate::work;

/// What the message of a defect says before the input that brings it, of one place and of two.
pub const HAPPENS: [&str; 2] = ["; it happens with ", "; both happen with "];

/// Obligations that share a scratch.
const CHUNK: usize = 64;

/// What may be spent on the refutation of one obligation: at first, when most of the racing writes
/// show that they differ, and after a proof has failed. A proof can be far dearer than a look.
const FIRST_STEPS: u64 = 200_000;
const STEPS: u64 = 20_000_000;

enum Settled {
    Warning(Finding<WarningKind>),
    /// The writes differ on an input.
    Differs(Box<DifferingInput>),
    Unknown(Finding<UnknownKind>),
}

/// Settles every obligation of an outcome; none is left. Findings of one kind at the same places
/// are merged.
pub fn discharge(outcome: &mut Outcome, arrays: &Arrays, options: &Options) {
    bounds::note_premises(outcome, arrays);
    for c in std::mem::take(&mut outcome.conditionals) {
        settle_conditional(outcome, c, arrays, options);
    }
    let obligations = std::mem::take(&mut outcome.obligations);
    if obligations.is_empty() {
        return;
    }
    let pairs: Vec<goal::Pairs> = obligations
        .iter()
        .map(|o| goal::pairs(&mut outcome.store, o.equal.0, o.equal.1, None))
        .collect();
    let refuted = !outcome.defects.is_empty();
    let store = &outcome.store;
    let open: Vec<(Obligation, goal::Pairs)> = obligations.into_iter().zip(pairs).collect();
    let settled: Vec<Vec<Settled>> = work::side_by_side(open.par_chunks(CHUNK), |chunk| {
        let mut prover = Prover::new(store, options.limits);
        chunk
            .iter()
            .map(|(o, pairs)| {
                let prover = (!refuted).then_some(&mut prover);
                settle(store, o, pairs, arrays, options, prover)
            })
            .collect()
    });
    let mut differing = Vec::new();
    for ((o, pairs), s) in open.into_iter().zip(settled.into_iter().flatten()) {
        match s {
            Settled::Warning(f) => merge(&mut outcome.warnings, f),
            Settled::Differs(found) => differing.push((o, pairs, found)),
            Settled::Unknown(f) => merge(&mut outcome.unknowns, f),
        }
    }
    for (o, pairs, found) in differing {
        let store = &outcome.store;
        // Making an input simple takes longer than finding it, and one that is merged is not shown.
        let more = || {
            let found = minimise(
                store,
                &turned(store, &pairs),
                arrays,
                *found,
                options.limits,
            );
            differs(store, &found, arrays)
        };
        match o.otherwise {
            Otherwise::Defect(f) => merge_told(&mut outcome.defects, f, more),
            Otherwise::Open(f) => merge_told(&mut outcome.unknowns, f, more),
        }
    }
}

/// Merges a finding whose message has one more part if it is the first at its places.
fn merge_told<K: PartialEq>(
    list: &mut Vec<Finding<K>>,
    f: Finding<K>,
    more: impl FnOnce() -> String,
) {
    let known = list.len();
    merge(list, f);
    if list.len() > known
        && let Some(f) = list.last_mut()
    {
        f.message.push_str(&more());
    }
}

/// A defect if an input satisfies its condition, and open if none was found. That none does says
/// nothing: the finding stands for other pairs too, with conditions of their own.
fn settle_conditional(outcome: &mut Outcome, c: Conditional, arrays: &Arrays, options: &Options) {
    let astray = matches!(
        c.defect.kind,
        DefectKind::OutOfBounds | DefectKind::MisalignedAccess
    );
    // Where an access lies is a question about the launch first: an integer that is not bound has no value yet.
    if astray && asks_unbound(&outcome.store, c.cond, arrays) {
        return merge(&mut outcome.unknowns, c.open);
    }
    let store = &mut outcome.store;
    let (holds, never) = (store.of_bool(8, c.cond), store.bits(8, 0));
    let pairs: goal::Pairs = [(holds, never)].into_iter().collect();
    let budget = Budget {
        steps: FIRST_STEPS,
        deadline: options.limits.deadline,
        climb: false,
    };
    let search = refute::search(store, &pairs, arrays, options.seed, budget);
    let certain = |f: &DifferingInput| matches!(f.reference, Value::Bits(1));
    match search.found.filter(certain) {
        Some(found) => {
            let mut found = minimise(store, &pairs, arrays, found, options.limits);
            if !outcome.gathers.is_empty() {
                name_indices(store, c.cond, arrays, &mut found);
            }
            let mut defect = c.defect;
            let happens = HAPPENS[usize::from(defect.sites.len() > 1)];
            let given = given(store, &found, arrays);
            defect.message.push_str(&format!("{happens}{given}"));
            merge(&mut outcome.defects, defect);
        }
        None if are_written(store, &c.values) => {}
        None => merge(&mut outcome.unknowns, c.open),
    }
}

/// True if what was never written reaches none of some values on any input of which the premises hold: none is left
/// below them once the comparisons are decided that the premises decide.
fn are_written(store: &mut TermStore, values: &[TermId]) -> bool {
    if values.is_empty() || store.premises.is_empty() {
        return false;
    }
    let premises = store.premises.clone();
    let ranges = store.ranges_of(&premises);
    let known: FxHashMap<TermId, bool> = store
        .reachable(values)
        .into_iter()
        .filter_map(|t| Some((t, store.decided_in(t, &ranges)?)))
        .collect();
    let mut scratch = TermStore::new();
    let decided = |s: &mut TermStore, t: TermId, _: &Images| Some(s.bool(*known.get(&t)?));
    let roots = rebuild(store, values, &mut scratch, decided);
    let below = scratch.reachable(&roots);
    !known.is_empty()
        && below
            .into_iter()
            .all(|t| !matches!(scratch.get(t), Term::Poison { .. }))
}

/// Whether a condition depends on an integer parameter that has no value.
fn asks_unbound(store: &TermStore, cond: TermId, arrays: &Arrays) -> bool {
    let cone = Cone::new(store, &[cond]);
    let own = cells::cells(store, &cone, arrays);
    let scalar = |c: &Cell| {
        let array = arrays.0.get(c.array.0 as usize);
        array.is_some_and(|a| a.origin == Origin::Scalar)
    };
    own.iter()
        .any(|c| matches!(c.ty, ElemTy::Int { .. }) && scalar(c))
}

/// Integers that a condition depends on are named first, those that are 0 too.
fn name_indices(store: &TermStore, cond: TermId, arrays: &Arrays, found: &mut DifferingInput) {
    let cone = Cone::new(store, &[cond]);
    let own = cells::cells(store, &cone, arrays);
    let is_index = |c: &Cell| matches!(c.ty, ElemTy::Int { .. }) && !c.array.is_place();
    let value = |c: &Cell| {
        let same = |f: &&(Cell, u64)| (f.0.array, f.0.off) == (c.array, c.off);
        found.inputs.iter().find(same).map_or(0, |f| f.1)
    };
    let indices: Vec<(Cell, u64)> = own
        .into_iter()
        .filter(is_index)
        .map(|c| (c, value(&c)))
        .collect();
    let named = |f: &(Cell, u64)| {
        indices
            .iter()
            .any(|i| (i.0.array, i.0.off) == (f.0.array, f.0.off))
    };
    found.inputs.retain(|f| !named(f));
    found.inputs.splice(0..0, indices.iter().copied());
}

/// Pairs with an infinity second: a search looks for inputs on which the first of two values is a number, the other one
/// may be infinite, and which write came first does not matter.
fn turned(store: &TermStore, pairs: &goal::Pairs) -> goal::Pairs {
    let infinite = |t: TermId| matches!(store.get(t), Term::Inf { .. });
    let turn = |&(a, b): &(TermId, TermId)| if infinite(a) { (b, a) } else { (a, b) };
    pairs.iter().map(turn).collect()
}

/// Settles one obligation. Without a prover (another defect is known, and after a race the values
/// are those of one schedule only) it is at most refuted.
fn settle(
    store: &crate::term::TermStore,
    o: &Obligation,
    pairs: &goal::Pairs,
    arrays: &Arrays,
    options: &Options,
    prover: Option<&mut Prover<'_>>,
) -> Settled {
    let pairs = &turned(store, pairs);
    let look = |steps| {
        let budget = Budget {
            steps,
            deadline: options.limits.deadline,
            climb: false,
        };
        refute::search(store, pairs, arrays, options.seed, budget)
    };
    // Sums of integers are proved at less cost than a look takes.
    let mut prover = prover;
    if let Some(prover) = &mut prover
        && pairs.iter().all(|&(a, b)| prover.are_one_sum(a, b))
    {
        return Settled::Warning(o.warning.clone());
    }
    if pairs.iter().any(|(a, b)| a != b)
        && let Some(found) = look(FIRST_STEPS).found
    {
        return Settled::Differs(Box::new(found));
    }
    let Some(prover) = prover else {
        if pairs.iter().all(|(a, b)| a == b) {
            return Settled::Warning(o.warning.clone());
        }
        let (what, count, sites) = o.otherwise.parts();
        let why = "whether the values are equal was not looked into, for the kernel is defective";
        let open = Finding::new(UnknownKind::Undecided, what).because(why);
        return Settled::Unknown(open.times(count).at(sites.to_vec()));
    };
    let mut open = None;
    for &(a, b) in pairs {
        // Both writes must have a value wherever one has.
        let proof = match tactics::implied(prover, FORMS, a, b) {
            Proof::Yes { .. } => tactics::implied(prover, FORMS, b, a),
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
    let search = look(STEPS);
    if let Some(found) = search.found {
        return Settled::Differs(Box::new(found));
    }
    let (kind, why) = reason::unequal(store, arrays, proof, (a, b), search.seen.within_rounding);
    let (what, count, sites) = o.otherwise.parts();
    Settled::Unknown(
        Finding::new(
            kind,
            format!("{what}; whether the values are equal is open: {why}"),
        )
        .times(count)
        .at(sites.to_vec()),
    )
}

/// Two values that differ, with the input on which they do, in words.
fn differs(store: &TermStore, found: &DifferingInput, arrays: &Arrays) -> String {
    let show = |v| text::value(v, None).map_or("undefined".to_string(), |s| s.text);
    let given = given(store, found, arrays);
    format!(
        "; the values differ: {} and {} with {given}",
        show(&found.reference),
        show(&found.optimized)
    )
}

/// The inputs that were found, in words.
fn given(store: &TermStore, found: &DifferingInput, arrays: &Arrays) -> String {
    text::inputs(store, &found.inputs, arrays)
}
