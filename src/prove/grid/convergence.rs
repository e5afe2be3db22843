//! Which lanes of a warp run together where a kernel asks for it by `activemask`.
//!
//! The problem: PTX ISA 9.0, section 9.7.13.5, says that the mask names the lanes that execute the instruction with the one that asks;
//! which of a warp's lanes do, nothing promises. Groups of lanes that are made so (`coalesced_threads`, aggregated
//! atomics) work for every division of the lanes, or are wrong.
//!
//! A mask is first a value that the schedule chooses, and what holds for that holds for every division. What such a
//! value leaves open is run for a few divisions that are as different as can be: all lanes together, each alone, even and odd ones, both
//! halves, thirds, the lowest and the others ([`Converged`]). Where they leave the same memory, the answer is that of these runs, and the report lists that
//! no other division was looked at. A difference is a dependence on the schedule.
//!
//! Not claimed: a defect of lanes that are divided is a finding without a verdict, since hardware may never divide them so.

use crate::answer::AssumptionKind;
use crate::explore::{Next, Reason, Refinement};
use crate::kernel::Op;
use crate::sim::join::Symbols;
use crate::sim::{Finding, UnknownKind};
use crate::spec::Converged;

use super::discharge::discharge;
use super::ladder::{Grid, Knowledge, Ran};
use super::together::{By, compare};
use super::{Covered, Subject};

/// What is taken for granted of masks.
const DIVISIONS: &str = "activemask names all lanes of the warp that reach it, the lane alone, those of its parity, of its half, of its \
                         remainder by 3, or all but the lowest; no other division of the lanes was run";

/// The divisions of lanes, one after the other.
#[derive(Default)]
pub(super) struct Lanes {
    /// What is known whatever masks are.
    free: Option<Box<Covered>>,
    /// What the divisions so far leave.
    whole: Option<Covered>,
    /// How many were looked at.
    looked: usize,
}

impl<'g> Refinement<&'g Grid<'_>> for Lanes {
    fn reason(&self) -> Reason {
        Reason::Lanes
    }

    fn look(&mut self, grid: &&'g Grid<'_>, known: &mut Knowledge, ran: Ran<'g>) -> Next<Ran<'g>> {
        let ended = match ran {
            Ran::Covered(ended) => ended,
            ran => return Next::Pass(ran),
        };
        let subject = grid.subject(known);
        if self.looked == 0 && self.free.is_none() {
            if !asks(&subject) || !is_open(&ended, grid) || subject.late() {
                return Next::Pass(Ran::Covered(ended));
            }
            self.free = Some(ended);
        } else if let Some(done) = self.take(grid, &subject, *ended) {
            return Next::Pass(Ran::Covered(done));
        }
        match Converged::ALL.get(self.looked) {
            Some(&lanes) => {
                self.looked += 1;
                known.lanes = Some(lanes);
                known.without_values = grid.begins_without_values();
                Next::Again
            }
            None => Next::Pass(self.joined(&subject)),
        }
    }

    fn reset(&mut self, known: &mut Knowledge) {
        *self = Lanes::default();
        known.lanes = None;
    }
}

impl Lanes {
    /// Takes what a division leaves; what is known, if no other one says more.
    fn take(&mut self, grid: &Grid, subject: &Subject, mut ended: Covered) -> Option<Box<Covered>> {
        // What stays open although masks are known, the masks are not the reason of.
        let Some(whole) = &mut self.whole else {
            if is_open(&ended, grid) {
                return self.free.take();
            }
            if !ended.outcome.defects.is_empty() {
                return Some(Box::new(ended));
            }
            self.whole = Some(ended);
            return None;
        };
        ended.outcome.unknowns = divided(&mut ended);
        let is_open = !ended.outcome.unknowns.is_empty();
        whole.terms += ended.terms;
        let left = whole.outcome.join(ended.outcome, Symbols::Shared);
        if is_open {
            self.looked = Converged::ALL.len();
        } else if !grid.begins_without_values() {
            let by = By::Order("which lanes activemask names", Vec::new());
            compare(&mut whole.outcome, &left, &by, subject);
        }
        None
    }

    /// What all divisions leave.
    fn joined<'g>(&mut self, subject: &Subject) -> Ran<'g> {
        let Some(mut whole) = self.whole.take() else {
            return Ran::Covered(self.free.take().unwrap_or_default());
        };
        discharge(&mut whole.outcome, subject.arrays, subject.deciding);
        let said = AssumptionKind::Machine.says(DIVISIONS);
        whole.outcome.assumptions.push(said);
        Ran::of(whole)
    }
}

/// True if a kernel asks which lanes run together.
fn asks(subject: &Subject) -> bool {
    let mode = subject.resolved.mode;
    let mut insts = subject.kernel.insts.iter();
    mode.words().is_none()
        && mode.made_by().is_none()
        && insts.any(|i| matches!(i.op, Op::ActiveMask { .. }))
}

/// True if masks may be why something is not known.
fn is_open(c: &Covered, grid: &Grid) -> bool {
    let values = !grid.begins_without_values() && !c.outcome.by_schedule.is_empty();
    c.outcome.defects.is_empty() && (!c.outcome.unknowns.is_empty() || values)
}

/// What was found where lanes were divided, as open questions.
fn divided(ended: &mut Covered) -> Vec<Finding<UnknownKind>> {
    let defects = std::mem::take(&mut ended.outcome.defects).into_iter();
    let why = "if activemask names other lanes than all that reach it";
    let defects = defects.map(|f| f.of(UnknownKind::NondeterministicValue).because(why));
    let unknowns = std::mem::take(&mut ended.outcome.unknowns);
    defects.chain(unknowns).collect()
}
