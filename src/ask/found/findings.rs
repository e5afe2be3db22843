//! What the runs and the decision of one question found, until it is the answer.

use std::time::Instant;

use crate::answer::coverage::Looked;
use crate::answer::{
    Assumption, Command, DefectKind, Finding, Part, Precision, Report, Seconds, UnknownKind,
    WarningKind,
};
use crate::explain::Decision;
use crate::grid::sequence::Ended;
use crate::input::Lowered;
use crate::sim::{self, Outcome};
use crate::spec::{Options, Setup};

use super::launches::{defects, describe, unknowns, warnings};
use super::precision::{Rounds, precision};
use super::{Described, Ran, begin};

/// Everything that the runs and the decision found, in the order of the kernels.
#[derive(Default)]
pub(crate) struct Found<'a> {
    pub defects: Vec<Finding<DefectKind>>,
    pub warnings: Vec<Finding<WarningKind>>,
    pub unknown: Vec<Finding<UnknownKind>>,
    pub assumptions: Vec<Assumption>,
    /// The sides that were run, with what they round and the conditions that they came to.
    described: Vec<Described>,
    rounds: Vec<Rounds<'a>>,
    precision: Option<Precision>,
    looked: Vec<Looked>,
}

/// The moments between the stages of a question.
#[derive(Clone, Copy)]
pub(crate) struct Moments {
    /// When it began, and when the files were read.
    pub read: (Instant, Instant),
    /// When the last run ended.
    pub ran: Instant,
}

impl Moments {
    /// Times of the stages, the last one ending now.
    pub(crate) fn seconds(self) -> Seconds {
        let now = Instant::now();
        let (start, parsed) = self.read;
        Seconds {
            parse: (parsed - start).as_secs_f64(),
            simulate: (self.ran - parsed).as_secs_f64(),
            decide: (now - self.ran).as_secs_f64(),
            total: (now - start).as_secs_f64(),
        }
    }
}

impl<'a> Found<'a> {
    /// Adds what the runs of a side found, beside what is known of its launches. Warnings that `strict` makes defects
    /// leave the values known, so that the side is still compared.
    pub(crate) fn add_side(
        &mut self,
        (launches, lowered): (&[Ran<'a>], &[Lowered]),
        side: &mut Ended,
        strict: bool,
    ) {
        self.describe(launches, side);
        self.told(launches, lowered, side);
        let strict = match strict {
            true => take_defects(&mut side.outcome, |k| k.named().is_strict()),
            false => Vec::new(),
        };
        let outcome = &side.outcome;
        let has_ended =
            outcome.defects.is_empty() && outcome.unknowns.is_empty() && strict.is_empty();
        for (ran, covered) in launches.iter().zip(&side.launches) {
            if has_ended {
                self.warnings.extend(ran.thin(&covered.outcome));
            }
            self.looked.extend(ran.looked(&covered.outcome));
        }
        self.add(launches, outcome);
        self.defects.extend(defects(launches, &strict));
        self.rounds.push(Rounds::of(launches, side));
    }

    /// Says that the answer is about a side.
    pub(crate) fn describe(&mut self, launches: &[Ran], side: &Ended) {
        self.described.push(describe(launches, side));
    }

    /// Adds what is known of the launches of a side beside the findings of their runs.
    pub(crate) fn told(&mut self, launches: &[Ran], lowered: &[Lowered], side: &Ended) {
        for ((ran, lowered), covered) in launches.iter().zip(lowered).zip(&side.launches) {
            self.warnings.extend(ran.partial(covered));
            self.warnings.extend(lowered.warnings.iter().cloned());
        }
    }

    /// Adds the findings of runs of a side.
    pub(crate) fn add(&mut self, launches: &[Ran], outcome: &Outcome) {
        self.defects.extend(defects(launches, &outcome.defects));
        self.warnings.extend(warnings(launches, &outcome.warnings));
        let open = outcome.unknowns.iter().chain(&outcome.by_schedule).cloned();
        let open: Vec<_> = open.collect();
        self.unknown.extend(unknowns(launches, &open));
        self.assume(&outcome.assumptions);
    }

    /// Adds what a decision leaves open, warns of and takes for granted.
    pub(crate) fn add_decision(&mut self, d: &Decision) {
        let warnings = d.warnings.iter();
        let warning = |(k, m): &(sim::WarningKind, String)| Finding::new(Part::Pair, k.named(), m);
        self.warnings.extend(warnings.map(warning));
        let unknown = d.unknowns.iter().map(|u| Finding {
            difference: u.difference.clone(),
            count: u.count,
            ..Finding::new(Part::Pair, u.kind, &u.message)
        });
        self.unknown.extend(unknown);
        self.assume(&d.assumptions);
    }

    /// Notes what stays open, for whom it is no reason to say `unknown`.
    pub(crate) fn note(&mut self, open: Vec<Finding<UnknownKind>>) {
        let note = |u: Finding<UnknownKind>| {
            Finding::new(u.kernel, WarningKind::Note, u.message).at(u.sites)
        };
        self.warnings.extend(open.into_iter().map(note));
    }

    /// Takes for granted what was not yet.
    pub(crate) fn assume(&mut self, all: &[Assumption]) {
        Assumption::unite(&mut self.assumptions, all.iter().cloned());
    }

    /// Says which parameters need a value, where a run ended for want of one.
    pub(crate) fn miss(&mut self, launches: &[Ran]) {
        for ran in launches {
            ran.missing(&mut self.unknown);
        }
    }

    /// Says what the sides round, and where one does so more than the other; once.
    pub(crate) fn compare_rounds(&mut self, shown: bool) {
        if self.precision.is_none() {
            let shown = shown && !self.rounds.is_empty();
            let (precision, narrower) = precision(&self.rounds, shown);
            self.precision = Some(precision);
            self.warnings.extend(narrower);
        }
    }

    /// The answer to a command about bindings, for its verdict to be filled in.
    pub(crate) fn report(
        mut self,
        (command, options): (Command, &Options),
        setup: &Setup,
        moments: Moments,
    ) -> Report {
        self.compare_rounds(options.precision);
        // That of the bindings comes first.
        let mut assumed = setup.assumptions.clone();
        Assumption::unite(&mut assumed, self.assumptions);
        let mut report = Report {
            defects: self.defects,
            warnings: self.warnings,
            unknown: self.unknown,
            assumptions: assumed,
            precision: self.precision.unwrap_or_default(),
            looked: self.looked,
            ..begin(command, self.described, options)
        };
        report.stats.seconds = moments.seconds();
        report
    }
}

/// Takes the warnings of some kinds out of an outcome, as data races.
pub(crate) fn take_defects(
    outcome: &mut Outcome,
    kinds: impl Fn(sim::WarningKind) -> bool,
) -> Vec<sim::Finding<DefectKind>> {
    let warnings = std::mem::take(&mut outcome.warnings);
    let (defects, warnings): (Vec<_>, _) = warnings.into_iter().partition(|w| kinds(w.kind));
    outcome.warnings = warnings;
    let defect = |w: sim::Finding<sim::WarningKind>| w.of(DefectKind::DataRace);
    defects.into_iter().map(defect).collect()
}
