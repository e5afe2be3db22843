//! The ways that a CTA can go at branches whose ways cannot be merged, one after the other.

use crate::sim::limits::LIMITS;
use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::explore::{Next, Reason, Refinement};
use crate::kernel::{Kernel, Op, Pc, Sem};
use crate::sim::cta::{Inputs, OneCta, Ran};
use crate::sim::join::Symbols;
use crate::sim::knowledge::Knowledge;
use crate::sim::stop::Obstacle;
use crate::sim::{Conditional, DefectKind, Finding, Obligation, Outcome, UnknownKind};
use crate::term::{Copied, TermId, TermStore};

use super::Plan;

/// True for a kernel whose accesses to arrays may all be put under a condition.
fn is_plain(kernel: &Kernel) -> bool {
    let weak = |a: &crate::kernel::Access| a.sem == Sem::Weak && !a.volatile;
    kernel.insts.iter().all(|inst| match &inst.op {
        Op::Ld { access, .. } | Op::St { access, .. } => weak(access),
        Op::Atom { .. } | Op::Ldmatrix { .. } | Op::Stmatrix { .. } => true,
        Op::Async(_) | Op::Unsupported(_) | Op::CpAsync { .. } => false,
        op => !op.effects().accesses,
    })
}

/// The ways that a CTA can go at branches whose ways cannot be merged, one after the other.
#[derive(Default)]
pub(in crate::sim) struct Forks {
    /// The run that asked for them, which stands where ways do not say what every one leaves.
    first: Option<Ran>,
    /// Instructions whose conditions are decided.
    apart: FxHashSet<Pc>,
    /// What the runs left, each with what it decided.
    out: Vec<(Outcome, TermId)>,
    asked: Questions,
    /// Ways that are left.
    open: Vec<Vec<bool>>,
    /// What the run under way was told to decide.
    given: usize,
}

impl Refinement<OneCta<'_>> for Forks {
    fn reason(&self) -> Reason {
        Reason::Forks
    }

    fn look(&mut self, stage: &OneCta, known: &mut Knowledge, ran: Ran) -> Next<Ran> {
        if self.first.is_none() {
            if !asks_for_forks(stage, known, &ran) {
                return Next::Pass(ran);
            }
            self.begin();
            self.first = Some(ran);
            return self.next(stage, known);
        }
        match ran.obstacle {
            Some(Obstacle::Fork(pc)) => {
                self.apart.insert(pc);
                self.begin();
            }
            Some(_) => return self.give_up(),
            None => {
                if !self.take(ran) {
                    return self.give_up();
                }
            }
        }
        self.next(stage, known)
    }

    fn reset(&mut self, known: &mut Knowledge) {
        *self = Forks::default();
        known.found.path = None;
    }
}

impl Forks {
    fn begin(&mut self) {
        self.out.clear();
        self.asked = Questions::default();
        self.open = vec![Vec::new()];
    }

    /// The first run, for the ways do not say more.
    fn give_up(&mut self) -> Next<Ran> {
        Next::Pass(self.first.take().unwrap_or_default())
    }

    /// Goes the next way; what they come to where there is none.
    fn next(&mut self, stage: &OneCta, known: &mut Knowledge) -> Next<Ran> {
        let Some(holds) = self.open.pop() else {
            let out = std::mem::take(&mut self.out);
            let joined = match out.len() {
                0 | 1 => None,
                _ => joined(out),
            };
            return match joined {
                Some(outcome) => Next::Pass(Ran {
                    outcome,
                    ..Ran::default()
                }),
                None => self.give_up(),
            };
        };
        if self.out.len() + self.open.len() >= LIMITS.fork_runs
            || stage.inputs.limits.reached().is_some()
        {
            return self.give_up();
        }
        // What was found so far is of no way: each begins as the first run did.
        known.without_values = stage.begins_without_values();
        self.given = holds.len();
        known.found.path = Some(Plan {
            apart: self.apart.clone(),
            holds,
        });
        Next::Again
    }

    /// Takes what a way left; false if the ways do not say what every one leaves.
    fn take(&mut self, ran: Ran) -> bool {
        let Ran {
            outcome, decided, ..
        } = ran;
        let is_open = !outcome.unknowns.is_empty() || !outcome.by_schedule.is_empty();
        if is_open || !self.asked.agree(&outcome.store, &decided) {
            return false;
        }
        for at in self.given..decided.len() {
            let mut other: Vec<bool> = decided[..at].iter().map(|d| d.1).collect();
            other.push(!decided[at].1);
            self.open.push(other);
        }
        self.out.push(under(outcome, &decided));
        true
    }
}

/// True if a run stands open at a branch that data decide, and runs that decide it may say more.
fn asks_for_forks(stage: &OneCta, known: &Knowledge, ran: &Ran) -> bool {
    let Inputs {
        kernel,
        launch,
        mode,
        ..
    } = *stage.inputs;
    let plain = !mode.has_numbers() && mode.words().is_none() && known.order.is_none();
    let asks = |u: &Finding<UnknownKind>| u.kind == UnknownKind::DataDependentBranch;
    known.forks
        && plain
        && ran.outcome.unknowns.iter().any(asks)
        && launch.team(mode.together).len() == 1
        && is_plain(kernel)
}

/// The runs of one CTA as one, each where its path holds. Their paths exclude each other, and one of them holds.
fn joined(ways: Vec<(Outcome, TermId)>) -> Option<Outcome> {
    let mut ways = ways.into_iter();
    let (mut whole, _) = ways.next()?;
    for (way, path) in ways {
        let left = whole.join(way, Symbols::Apart);
        whole.leave_under(left.terms[path.0 as usize], left);
    }
    Some(whole)
}

/// The conditions of all forks, by what was decided before.
#[derive(Default)]
struct Questions {
    store: TermStore,
    known: BTreeMap<Vec<bool>, TermId>,
}

impl Questions {
    /// True if a run asks at each fork what the other runs ask there.
    fn agree(&mut self, store: &TermStore, decided: &[(TermId, bool)]) -> bool {
        let mut copied = Copied::default();
        let mut before = Vec::new();
        decided.iter().all(|&(cond, holds)| {
            let cond = self.store.import_one(store, cond, &mut copied, |_, _| {});
            let known = *self.known.entry(before.clone()).or_insert(cond);
            before.push(holds);
            known == cond
        })
    }
}

/// What a run says, where what it decided holds, which is told too.
fn under(mut out: Outcome, decided: &[(TermId, bool)]) -> (Outcome, TermId) {
    let store = &mut out.store;
    let mut path = store.bool(true);
    for &(cond, holds) in decided {
        let cond = if holds { cond } else { store.not(cond) };
        path = store.and(path, cond);
    }
    if store.as_bool(path) == Some(true) {
        return (out, path);
    }
    for c in &mut out.conditionals {
        c.cond = store.and(path, c.cond);
    }
    out.conditionals
        .retain(|c| store.as_bool(c.cond) != Some(false));
    for g in &mut out.gathers {
        g.cond = Some(g.cond.map_or(path, |c| store.and(path, c)));
    }
    for o in &mut out.obligations {
        let Obligation { equal: (a, b), .. } = o;
        *a = store.select(path, *a, *b);
    }
    out.obligations.retain(|o| o.equal.0 != o.equal.1);
    let defects = std::mem::take(&mut out.defects);
    out.conditionals
        .extend(defects.into_iter().map(|d| conditional(d, path)));
    (out, path)
}

/// A defect on the inputs of a run.
fn conditional(defect: Finding<DefectKind>, cond: TermId) -> Conditional {
    let open = Finding::new(
        UnknownKind::Undecided,
        format!("{}, if an input makes the kernel go there", defect.message),
    )
    .times(defect.count)
    .at(defect.sites.clone());
    Conditional {
        cond,
        values: Vec::new(),
        defect,
        open,
    }
}
