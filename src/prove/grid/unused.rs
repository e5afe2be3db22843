//! Reads of what other CTAs write, whose value reaches nothing.
//!
//! Problem: lanes beyond the end of the data load an element that stands for what is not there (`x[i % n]`, `x[min(i, n - 1)]`)
//! and store nothing. Another CTA may write that element in place.
//!
//! The way is that of one CTA ([`sim::unused`](crate::sim::unused)): the CTAs are run again, with an unknown as what each such
//! load of what another CTA writes gives, and that load is no access. If no CTA leaves anything that an unknown
//! stands below, no finding is new, and no race of such a load is left, the loads reach nothing.
//!
//! Sound: of a byte that several CTAs write one is known. A load that is taken for one of what the own CTA writes stays an
//! access, and its race a finding. Nothing is tried where CTAs may synchronise.

use std::sync::Arc;

use super::between::{Between, Found, Record, Trouble};
use super::ladder::{Grid, Knowledge, Ran};
use super::{Covered, Whole};
use crate::explore::{Next, Reason, Refinement};
use crate::kernel::Op;
use crate::sim::race::{AccessKind, Conflict};
use crate::sim::unused::Foreign;
use crate::sim::{Finding, WarningKind};
use crate::spec::launch;

/// True for a pair of a plain load and a write.
fn is_of_load(between: &Between, f: &Found) -> bool {
    let loads = |r: &Record| {
        let op = between.kernel.insts.get(r.pc.0 as usize).map(|i| &i.op);
        r.kind == AccessKind::Read && matches!(op, Some(Op::Ld { .. }))
    };
    let unordered = Trouble::Unordered;
    let plain =
        f.trouble == unordered(Conflict::Race) || f.trouble == unordered(Conflict::Conditional);
    plain && (loads(&f.earlier) || loads(&f.later))
}

impl Between<'_> {
    /// The loads of pairs that were found, with what the CTAs write; none if there are none.
    fn foreign(&self) -> Option<Foreign> {
        let found = self.found().filter(|f| is_of_load(self, f));
        let pcs = found.flat_map(|f| [f.earlier, f.later]);
        let loads = pcs
            .filter(|r| r.kind == AccessKind::Read)
            .map(|r| r.pc)
            .collect();
        let mut foreign = Foreign {
            loads,
            ..Foreign::default()
        };
        if foreign.loads.is_empty() || self.fenced {
            return None;
        }
        for (&array, bytes) in &self.arrays {
            let written = bytes.classes.iter().filter(|c| c.0.kind.writes());
            let lists =
                written.map(|(_, map)| map.iter().map(|(s, e, r)| (s, e, r.rank)).collect());
            foreign.writes.insert(array, lists.collect());
        }
        Some(foreign)
    }
}

/// The CTAs so far, whose loads of what other CTAs write are tried as of no use.
#[derive(Default)]
pub(super) struct Unused<'a> {
    /// The first runs, which stand if the trial fails.
    first: Option<Box<Whole<'a>>>,
}

impl<'g> Refinement<&'g Grid<'_>> for Unused<'g> {
    fn reason(&self) -> Reason {
        Reason::ForeignLoads
    }

    fn look(&mut self, _: &&'g Grid<'_>, known: &mut Knowledge, ran: Ran<'g>) -> Next<Ran<'g>> {
        let again = match ran {
            Ran::Apart(again) => again,
            ran => return Next::Pass(ran),
        };
        let Some(first) = self.first.take() else {
            let Some(foreign) = again.to_be_tried() else {
                return Next::Pass(Ran::of(again.finish()));
            };
            known.foreign = Some(foreign);
            self.first = Some(again);
            return Next::Again;
        };
        if again.adds_nothing_to(&first) {
            let tried = known.foreign.as_mut().map(|f| &mut f.loads);
            match (again.between.foreign(), tried) {
                (None, _) => return Next::Pass(Ran::of(again.instead_of(&first))),
                (Some(more), Some(tried)) if !more.loads.is_subset(tried) => {
                    tried.extend(more.loads);
                    self.first = Some(first);
                    return Next::Again;
                }
                _ => {}
            }
        }
        Next::Pass(Ran::of(first.finish()))
    }

    fn reset(&mut self, known: &mut Knowledge) {
        self.first = None;
        known.foreign = None;
    }
}

impl Whole<'_> {
    /// The loads of what other CTAs write, where they may reach nothing.
    fn to_be_tried(&self) -> Option<Foreign> {
        let mode = self.subject.resolved.mode;
        let is_defective = !self.out.outcome.defects.is_empty();
        if mode.has_numbers() || mode.words().is_some() || is_defective {
            return None;
        }
        let foreign = self.between.foreign()?;
        (!self.is_of_use(&foreign)).then_some(foreign)
    }

    /// True if what the CTA of the first pair reads is seen to reach something, which takes one run.
    fn is_of_use(&self, foreign: &Foreign) -> bool {
        let mut found = self.between.found();
        let first = found.find(|f| is_of_load(&self.between, f));
        let reader = first.map(|f| match f.later.kind {
            AccessKind::Read => f.later.rank,
            _ => f.earlier.rank,
        });
        let mut noting = self.noting.clone();
        noting.known.foreign = Some(Arc::new(foreign.clone()));
        noting.known.forks = false;
        let limits = self.subject.limits(self.subject.deciding.limits.memory);
        reader.is_some_and(|rank| self.subject.run(rank, &limits, &noting).reads_foreign)
    }

    /// True if these runs went as others did, nothing more was found in them, and what was taken to be of no use is.
    fn adds_nothing_to(&self, first: &Whole) -> bool {
        let (here, there) = (&self.out.outcome, &first.out.outcome);
        !here.reads_foreign
            && self.out.whole == first.out.whole
            && self.out.ctas.len() == first.out.ctas.len()
            && here.defects.is_empty()
            && here.unknowns.len() <= there.unknowns.len()
    }

    /// These runs, with the races of others as warnings.
    fn instead_of(self, first: &Whole) -> Covered {
        let still = |f: &&Found| {
            let key = |f: &Found| (f.trouble, f.earlier.pc, f.later.pc);
            !self.between.found().any(|g| key(g) == key(f))
        };
        let warnings: Vec<Finding<WarningKind>> = first
            .between
            .found()
            .filter(still)
            .map(|f| first.unused(f))
            .collect();
        let mut out = self.finish();
        out.outcome.warnings.extend(warnings);
        out
    }

    /// What is said of a pair of which the read reaches nothing.
    fn unused(&self, f: &Found) -> Finding<WarningKind> {
        let place = self.place(f.array, f.off, f.earlier.elem.min(f.later.elem));
        let ctas = [f.earlier.rank, f.later.rank].map(|r| launch::show(self.subject.cta(r)));
        let message = format!(
            "{} of {place} by CTA {} and {} by CTA {}: nothing orders different CTAs of one launch; what is read \
             reaches nothing",
            f.earlier.kind.name(),
            ctas[0],
            f.later.kind.name(),
            ctas[1]
        );
        let sites = [&f.earlier, &f.later].map(|r| self.site(r, None, &place));
        Finding::new(WarningKind::UnusedRead, message)
            .times(f.count)
            .at(sites.into())
    }
}
