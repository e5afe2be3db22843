//! The places that data choose in a kernel that nothing is compared with.
//!
//! Problem: nothing but facts says what the indices are. The way, for each place: it is shown to lie in its array,
//! whatever the data are that the facts allow; or no fact bounds some integer that chooses it, and that it lies there is
//! taken for granted and listed; or all integers that choose it are bounded, and an input that the facts allow on which it
//! lies outside is a defect. So it is where it lies outside whatever the data are.
//!
//! Sound: a defect was found by evaluation on an input that keeps all facts and on which what is taken for granted holds,
//! and a run on that input has it. The range of a type is no fact.

use super::search::{Input, proved, refuted};
use super::{
    PROOFS, PreparedReads, SEARCHES, Settled, add, chosen_by, extent, failure, inside,
    is_satisfiable, moved, name, open_failure,
};
use crate::answer::{Assumption, AssumptionKind};
use crate::decide::Options;
use crate::decide::refute::cells;
use crate::decide::refute::links::concrete;
use crate::sim::gather::Gather;
use crate::sim::{DefectKind, Finding, Outcome, UnknownKind};
use crate::spec::Arrays;
use crate::term::eval::{Cone, Mode, Value};
use crate::term::gather::Linear;
use crate::term::{TermId, TermStore};

/// The places of a run of which it is not shown that they lie in their arrays.
struct Open {
    store: TermStore,
    gathers: Vec<Gather>,
    /// That they do, for all places.
    goals: Vec<TermId>,
    /// The places that no facts bound.
    free: Vec<usize>,
    /// Those that facts bound, or that lie outside whatever the data are.
    bound: Vec<usize>,
}

impl Open {
    fn of(run: &Outcome, arrays: &Arrays, options: &Options) -> Open {
        let mut store = TermStore::new();
        let gathers = moved(&mut store, run);
        let goals: Vec<TermId> = gathers
            .iter()
            .map(|g| inside(&mut store, g, arrays))
            .collect();
        let whatever: Vec<bool> = gathers
            .iter()
            .map(|g| {
                let always = Gather {
                    cond: None,
                    ..g.clone()
                };
                let lies = inside(&mut store, &always, arrays);
                store.as_bits(g.raw).is_none() && store.as_bool(lies) == Some(false)
            })
            .collect();
        let forms: Vec<Linear> = gathers
            .iter()
            .map(|g| match store.linear(g.raw) {
                Some(i) => i.linear,
                None => Linear::atom(g.raw),
            })
            .collect();
        let (mut free, mut bound, mut left) = (Vec::new(), Vec::new(), PROOFS);
        let mut known = PreparedReads::new(&store, &[], Vec::new(), arrays);
        for (i, g) in gathers.iter().enumerate() {
            let always = store.as_bool(goals[i]) == Some(true);
            if always || known.is_inside(g, &forms[i]) {
                continue;
            }
            // Nothing is taken for granted of an assertion.
            if !whatever[i] && failure(g).is_none() && !is_bounded(&store, g, arrays) {
                free.push(i);
                continue;
            }
            if left > 0 && proved(&store, goals[i], &[], &options.limits) {
                continue;
            }
            left = left.saturating_sub(1);
            bound.push(i);
        }
        Open {
            store,
            gathers,
            goals,
            free,
            bound,
        }
    }

    /// An input on which a place lies outside, and what is taken for granted holds.
    fn refuted(&self, i: usize, arrays: &Arrays, options: &Options) -> Option<Input> {
        let granted: Vec<TermId> = self.free.iter().map(|&i| self.goals[i]).collect();
        let goal = (self.goals[i], self.gathers[i].raw);
        refuted(&self.store, goal, &granted, arrays, options.seed)
    }

    fn place(&self, i: usize, arrays: &Arrays) -> String {
        let name = name(&self.gathers[i], arrays);
        format!("a place in {name} that data choose")
    }
}

/// Whether facts bound every integer and every number that chooses a place.
fn is_bounded(store: &TermStore, g: &Gather, arrays: &Arrays) -> bool {
    // A known place was chosen by the condition.
    let chooses = match store.as_bits(g.raw) {
        Some(_) => g.cond.unwrap_or(g.raw),
        None => g.raw,
    };
    let cone = Cone::new(store, &[chooses]);
    let all = cells::cells(store, &cone, arrays);
    let known = |c: &cells::Cell| {
        let array = store.array_of(c.array);
        store.facts.of(array).is_some_and(|e| e.is_bounded())
            || store.facts.numbers_of(array).is_some()
    };
    !all.is_empty() && all.iter().all(known)
}

/// Settles the places of a kernel that is looked at alone. `confirms` runs it on an input: whether it leaves an array.
pub fn alone(
    run: &Outcome,
    arrays: &Arrays,
    options: &Options,
    mut confirms: impl FnMut(&Input, bool) -> bool,
) -> Settled {
    let mut out = Settled::default();
    if run.gathers.is_empty() {
        return out;
    }
    let open = Open::of(run, arrays, options);
    for &i in &open.free {
        let g = &open.gathers[i];
        let name = name(g, arrays);
        let said = AssumptionKind::Place.says(match extent(g, arrays) {
            Some(e) => format!("places in {name} that data choose lie in its bytes 0..{e}"),
            None => format!("places in {name} that data choose lie in it"),
        });
        Assumption::unite(&mut out.assumptions, [said]);
    }
    let free: Vec<TermId> = open.free.iter().map(|&i| open.goals[i]).collect();
    let is_known = |i: &usize| open.store.as_bits(open.gathers[*i].raw).is_some();
    if open.free.iter().any(is_known) && !is_satisfiable(&open.store, &free, arrays) {
        out.unknowns.push(
            Finding::new(
                UnknownKind::Undefined,
                "no input was found on which all places that data choose lie in their arrays",
            )
            .at(open
                .free
                .iter()
                .take(1)
                .map(|&i| open.gathers[i].site.clone())
                .collect()),
        );
    }
    // A defect that the run has already leaves nothing to claim.
    if !run.defects.is_empty() {
        return out;
    }
    let mut left = SEARCHES;
    for &i in &open.bound {
        let site = open.gathers[i].site.clone();
        let there = |f: &&mut Finding<DefectKind>| f.sites.iter().any(|s| s.pc == site.pc);
        if let Some(f) = out.defects.iter_mut().find(there) {
            f.count += 1;
            continue;
        }
        let mut found = None;
        if left > 0 {
            left -= 1;
            let input = open.refuted(i, arrays, options);
            let fails = failure(&open.gathers[i]).is_some();
            found = input.filter(|f| confirms(&concrete(&open.store, f), fails));
        }
        let place = open.place(i, arrays);
        match found {
            Some(input) => add(&mut out.defects, open.defect(i, &input, arrays)),
            None => {
                let finding = match failure(&open.gathers[i]) {
                    Some(what) => Finding::new(UnknownKind::Undecided, open_failure(what)),
                    None => Finding::new(
                        UnknownKind::DataDependentAddress,
                        neither(&place, &chosen_by(&open.store, &open.gathers[i], arrays)),
                    ),
                };
                add(&mut out.unknowns, finding.at(vec![site]));
            }
        }
    }
    out
}

/// What is said of a place of which neither is known that it lies in its array, nor that it does not.
fn neither(place: &str, chosen_by: &str) -> String {
    format!(
        "neither was {place} shown to lie in it for all data that the facts allow, nor was data found with which it does \
         not: say more of its indices with --assume '{chosen_by} in A..B'"
    )
}

impl Open {
    /// A place that lies outside of its array on an input.
    fn defect(&self, i: usize, input: &Input, arrays: &Arrays) -> Finding<DefectKind> {
        let g = &self.gathers[i];
        let with = crate::explain::text::inputs(&self.store, input, arrays);
        let place = self.place(i, arrays);
        let (kind, message) = match (failure(g), self.is_unaligned_alone(g, input, arrays)) {
            (Some(what), _) => (
                DefectKind::Assertion,
                format!("the kernel {what}; it happens with {with}"),
            ),
            (None, true) => (
                DefectKind::MisalignedAccess,
                format!("{place} is not aligned with {with}"),
            ),
            (None, false) => (
                DefectKind::OutOfBounds,
                format!("{place} is outside of it with {with}"),
            ),
        };
        Finding::new(kind, message).at(vec![g.site.clone()])
    }

    /// Whether an access lies in its array all the same.
    fn is_unaligned_alone(&self, g: &Gather, input: &Input, arrays: &Arrays) -> bool {
        if g.unaligned.is_none() {
            return false;
        }
        let anyhow = Gather {
            unaligned: None,
            cond: None,
            ..g.clone()
        };
        let mut store = self.store.clone();
        let lies = inside(&mut store, &anyhow, arrays);
        let (cells, values): (Vec<_>, Vec<_>) = input.iter().copied().unzip();
        let inputs = cells::inputs(&cells, &values);
        let at = Cone::new(&store, &[lies]).evaluate(&store, &inputs, Mode::exact(64));
        at == [Value::Bool(true)]
    }
}

/// Inputs that facts allow and on which the reference of a pair leaves its arrays, one for each place: of these nothing is
/// claimed.
pub fn left_out(run: &Outcome, arrays: &Arrays, options: &Options) -> Vec<Finding<UnknownKind>> {
    let mut out: Vec<Finding<UnknownKind>> = Vec::new();
    if run.gathers.is_empty() {
        return out;
    }
    let open = Open::of(run, arrays, options);
    let mut seen = Vec::new();
    for &i in &open.bound {
        // One look at each instruction.
        let pc = open.gathers[i].site.pc;
        if seen.contains(&pc) || seen.len() == SEARCHES as usize {
            continue;
        }
        seen.push(pc);
        let Some(input) = open.refuted(i, arrays, options) else {
            continue;
        };
        let with = crate::explain::text::inputs(&open.store, &input, arrays);
        let finding = Finding::new(UnknownKind::Undefined, match failure(&open.gathers[i]) {
                Some(what) => format!(
                    "the reference {what} on data that the facts allow, of which nothing is claimed: with {with}"
                ),
                None => format!(
                    "{} lies outside of it on data that the facts allow, of which nothing is claimed: with {with}",
                    open.place(i, arrays)
                ),
            }).at(vec![open.gathers[i].site.clone()]);
        add(&mut out, finding);
    }
    out
}
