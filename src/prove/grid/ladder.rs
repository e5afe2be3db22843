//! Why the CTAs of a grid are run again.
//!
//! A [`Grid`] runs the CTAs of some ranks, each alone or all together in one order, and the refinements of its ladder say
//! what the next run knows: which arrays are written, that values are needed, which loads reach nothing, the order of the
//! steps that matter, and which lanes run together.

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::explore::{Next, Reason, Refinement, Stage};
use crate::kernel::awaits::awaits;
use crate::sim::strong::hold::{Plan, Steps};
use crate::sim::unused::Foreign;
use crate::sim::{self, Finding, Noting, Program, UnknownKind};
use crate::spec::{Converged, Resolved};
use crate::term::ArrayId;

use super::select::Elements;
use super::{Covered, Subject, Whole};

/// Some CTAs of a launch, as something that is run with more or less known.
pub(super) struct Grid<'a> {
    subject: &'a Subject<'a>,
    /// The ranks that are asked for, which ascend.
    pub(super) ranks: &'a [u64],
    /// How the launch is run, by whether all CTAs run together and which lanes do.
    modes: [OnceCell<Resolved>; 2 * (1 + Converged::ALL.len())],
    /// What orders have in common.
    plan: OnceCell<Plan>,
    program: OnceCell<Arc<Program>>,
}

/// What a run of CTAs is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// Arrays that are known to be written.
    pub written: FxHashSet<ArrayId>,
    /// Nobody asks for the values that are written.
    pub without_values: bool,
    /// Loads of what other CTAs write are taken to be of no use.
    pub foreign: Option<Foreign>,
    /// All CTAs run together, and make these choices.
    pub order: Option<Vec<u32>>,
    /// Which lanes run together.
    pub lanes: Option<Converged>,
}

/// Why CTAs have to be run again.
pub(super) enum Obstacle {
    /// Reads of arrays that turn out to be written have to be noted from the start.
    Unnoted(Vec<ArrayId>),
    /// CTAs meet, and what they write there matters.
    Values,
}

/// What a run leaves.
pub(super) enum Ran<'a> {
    /// It ended before it could say anything.
    Open(Obstacle),
    /// Several CTAs, each alone, which are still to be looked at together.
    Apart(Box<Whole<'a>>),
    /// One order of all CTAs, with the steps of it.
    Order(Box<(Covered, Steps)>),
    /// What is known of the CTAs.
    Covered(Box<Covered>),
}

impl Ran<'_> {
    pub(super) fn of(covered: Covered) -> Self {
        Ran::Covered(Box::new(covered))
    }
}

impl<'a> Grid<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, ranks: &'a [u64]) -> Self {
        Grid {
            subject,
            ranks,
            modes: Default::default(),
            plan: OnceCell::new(),
            program: OnceCell::new(),
        }
    }

    /// What the text of the kernel says.
    fn program(&self) -> Arc<Program> {
        self.program.get_or_init(|| self.subject.program()).clone()
    }

    /// What a CTA is told before its first run.
    fn knowledge(&self, subject: &Subject) -> sim::Knowledge {
        sim::Knowledge {
            program: Some(self.program()),
            ..subject.knowledge()
        }
    }

    /// What all orders of the launch have in common.
    pub(super) fn plan(&self) -> &Plan {
        self.plan.get_or_init(|| plan(self.subject))
    }

    /// True if nobody asks for the values that are written.
    pub(super) fn begins_without_values(&self) -> bool {
        self.subject.without_values
    }

    /// What is run, as it is known.
    pub(super) fn subject(&self, known: &Knowledge) -> Subject<'_> {
        let together = known.order.is_some();
        let lanes = known.lanes.map_or(0, |lanes| 1 + lanes as usize);
        let resolved = match (together, lanes) {
            (false, 0) => self.subject.resolved,
            _ => self.modes[2 * lanes + usize::from(together)].get_or_init(|| {
                let mut resolved = self.subject.resolved.clone();
                resolved.mode.together = together;
                resolved.mode.lanes = known.lanes;
                resolved
            }),
        };
        Subject {
            resolved,
            without_values: known.without_values && !together,
            ..*self.subject
        }
    }
}

impl<'g> Stage for &'g Grid<'_> {
    type Knowledge = Knowledge;
    type Ran = Ran<'g>;

    fn run(&self, known: &Knowledge) -> Ran<'g> {
        let grid: &'g Grid = self;
        let subject = grid.subject(known);
        let limits = subject.limits(subject.deciding.limits.memory);
        if let Some(first) = &known.order {
            let mut noting = Noting::default();
            noting.known.program = Some(grid.program());
            noting.known.order = Some(Plan {
                first: first.clone(),
                ..grid.plan().clone()
            });
            let mut outcome = subject.settled(0, &limits, &noting);
            let steps = outcome.steps.take().unwrap_or_default();
            let covered = Covered {
                terms: outcome.store.len() as u64,
                outcome,
                ctas: subject.team(0),
                whole: true,
                wrote: Elements::new(),
            };
            return Ran::Order(Box::new((covered, steps)));
        }
        let runs = subject.runs(grid.ranks);
        crate::progress::begin(crate::progress::Stage::Simulate, runs.len() as u64);
        if let &[rank] = &runs[..] {
            let noting = Noting {
                known: grid.knowledge(&subject),
                ..Noting::default()
            };
            let outcome = subject.settled(rank, &limits, &noting);
            let ctas = subject.team(rank);
            return Ran::of(Covered {
                terms: outcome.store.len() as u64,
                outcome,
                whole: ctas.len() as u64 == subject.resolved.launch.ctas(),
                ctas,
                wrote: Elements::new(),
            });
        }
        let foreign = known.foreign.clone();
        let of_each = sim::Knowledge {
            tracked: known.written.clone(),
            foreign: foreign.map(Arc::new),
            ..grid.knowledge(&subject)
        };
        match Whole::new(subject, of_each).run(&runs) {
            Ok(whole) => Ran::Apart(Box::new(whole)),
            Err(obstacle) => Ran::Open(obstacle),
        }
    }

    fn ended(&self, why: String) -> Ran<'g> {
        Ran::of(limit(format!("{why} of the grid")))
    }
}

/// What all orders of a launch have in common.
pub(super) fn plan(subject: &Subject) -> Plan {
    Plan {
        awaits: Arc::new(awaits(subject.kernel)),
        first: Vec::new(),
    }
}

/// No CTAs, because of a limit.
pub(super) fn limit(message: String) -> Covered {
    let mut out = Covered::default();
    out.outcome
        .unknowns
        .push(Finding::new(UnknownKind::Limit, message));
    out
}

/// Reads of each array that turns out to be written by a CTA are noted.
pub(super) struct Noted;

impl<'g> Refinement<&'g Grid<'_>> for Noted {
    fn reason(&self) -> Reason {
        Reason::Noting
    }

    fn look(&mut self, _: &&'g Grid<'_>, known: &mut Knowledge, ran: Ran<'g>) -> Next<Ran<'g>> {
        match ran {
            Ran::Open(Obstacle::Unnoted(arrays)) => {
                known.written.extend(arrays);
                Next::Again
            }
            ran => Next::Pass(ran),
        }
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}

/// Values are computed where CTAs meet.
pub(super) struct Meeting;

impl<'g> Refinement<&'g Grid<'_>> for Meeting {
    fn reason(&self) -> Reason {
        Reason::Meeting
    }

    fn look(&mut self, _: &&'g Grid<'_>, known: &mut Knowledge, ran: Ran<'g>) -> Next<Ran<'g>> {
        match ran {
            Ran::Open(Obstacle::Values) => {
                known.without_values = false;
                Next::Again
            }
            ran => Next::Pass(ran),
        }
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}
