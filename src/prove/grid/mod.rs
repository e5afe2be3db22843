//! Several CTAs of one launch, as one outcome.
//!
//! The problem: a claim about a grid is about every CTA of it, and about what CTAs do to each
//! other. Each CTA is run alone from the initial memory, which is what it sees if no other CTA
//! writes what it reads; `between` checks exactly that, so the argument is complete without any
//! order among CTAs. `memory` joins what they leave, in the order of their ranks whatever the
//! number of threads that ran them.
//!
//! The driver is [`Whole::run`]: run a batch of CTAs in parallel, add each to the whole, go on until the
//! grid is covered or a limit is reached; [`ladder`] says when they are run again. [`select`] finds the CTAs that write given elements.
//!
//! Not claimed: anything about CTAs that were not run, or about launches that overlap.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use crate::answer::Assumption;
use crate::bits::canon::{self, Canon, Reader};
use crate::decide;
use crate::explore::refined;
use crate::kernel::rechecked::rechecked;
use crate::kernel::{AtomOp, Kernel, Pc};
use crate::progress;
use crate::sim::footprint::Access;
use crate::sim::join::add_counts;
use crate::sim::race::{AccessKind, Conflict};
use crate::sim::strong;
use crate::sim::{
    self, Conditional, DefectKind, Finding, Knowledge, Noting, Outcome, Program, Seen, Side, Site,
    Stats, UnknownKind, Watch,
};
use crate::spec::limits::SPENT;
use crate::spec::{Arrays, Limits, Resolved, launch};
use crate::term::{ArrayId, TermId};
use crate::work;

pub mod between;
mod convergence;
mod discharge;
mod equal_writes;
mod guards;
pub mod intervals;
mod ladder;
pub mod memory;
pub mod numbers;
mod observed;
pub mod prepared;
pub mod scope;
pub mod select;
pub mod sequence;
mod together;
mod unused;

use between::{Between, Found, Record, Trouble};
use convergence::Lanes;
pub use discharge::{HAPPENS, discharge};
use ladder::{Grid, Meeting, Noted, Obstacle, Ran, limit};
use together::{Orders, begins_together};
use unused::Unused;

use discharge::merge;
use memory::{Initials, Memory};
use select::Elements;

/// Why a pair of accesses of two CTAs is no race yet.
const OBSERVED: &str =
    "what one CTA sees of another's atomics decides what it accesses, so that both need not happen";

/// Units of work beyond which no further CTA is run beside one that has a certain defect.
const AFTER_DEFECT: u64 = 100_000;

/// Most CTAs that a whole grid may have.
const MAX_CTAS: u64 = 1 << 22;
/// Elements whose values by several CTAs are compared.
const COMPARED: usize = 1 << 14;
/// Findings between CTAs whose threads are named, each of which takes two more runs.
const NAMED: usize = 16;

/// A kernel with everything that running a CTA of it needs.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its launch and bindings.
    pub resolved: &'a Resolved,
    /// Which kernel of a pair it is.
    pub side: Side,
    /// The arrays as the pair sees them.
    pub arrays: &'a Arrays,
    /// How obligations are discharged, and the limits.
    pub deciding: &'a decide::Options,
    /// Nobody asks for the values that are written.
    pub without_values: bool,
}

/// Some CTAs of a launch.
#[derive(Clone, Debug, Default)]
pub struct Covered {
    /// What they leave, and every finding.
    pub outcome: Outcome,
    /// The CTAs.
    pub ctas: Vec<[u32; 3]>,
    /// True if these are all CTAs of the grid.
    pub whole: bool,
    /// Number of terms that the runs built.
    pub terms: u64,
    /// The bytes that they wrote.
    pub wrote: Elements,
}

impl Subject<'_> {
    fn limits(&self, memory: Option<u64>) -> Limits {
        Limits {
            memory,
            ..self.deciding.limits
        }
    }

    fn run(&self, rank: u64, limits: &Limits, noting: &Noting) -> Outcome {
        let r = self.resolved;
        let inputs = sim::Inputs {
            kernel: self.kernel,
            launch: &r.launch.with_cta(rank),
            mode: r.mode,
            bindings: &r.bindings,
            arrays: &r.arrays,
            side: self.side,
            limits,
        };
        sim::run_noting(&inputs, noting)
    }

    /// One CTA, with its obligations discharged.
    fn settled(&self, rank: u64, limits: &Limits, noting: &Noting) -> Outcome {
        self.settle(self.run(rank, limits, noting))
    }

    /// What the text of the kernel says, for all CTAs that are run.
    fn program(&self) -> Arc<Program> {
        Arc::new(Program::new(self.kernel, &self.resolved.mode))
    }

    /// What a CTA is told before its first run.
    fn knowledge(&self) -> Knowledge {
        Knowledge {
            without_values: self.without_values,
            forks: self.resolved.mode.forks,
            ..Knowledge::default()
        }
    }

    fn settle(&self, mut outcome: Outcome) -> Outcome {
        if self.resolved.mode.words().is_some() {
            same_bits(&mut outcome);
        }
        discharge(&mut outcome, self.arrays, self.deciding);
        outcome
    }

    /// The CTAs of these ranks, which ascend, as runs: the first rank of those that run together.
    pub(crate) fn runs(&self, ranks: &[u64]) -> Vec<u64> {
        let launch = &self.resolved.launch;
        let together = self.resolved.mode.together;
        let cancels = self.kernel.cancels_launches();
        let run = |r: &u64| match cancels {
            true => launch.taker(*r, together),
            false => launch.leader(*r, together),
        };
        let leaders: BTreeSet<u64> = ranks.iter().map(run).collect();
        leaders.into_iter().collect()
    }

    /// The CTAs that run together with that of a rank, and those whose launch they cancel to do their work.
    fn team(&self, rank: u64) -> Vec<[u32; 3]> {
        let launch = &self.resolved.launch;
        let together = self.resolved.mode.together;
        let mut team = launch.with_cta(rank).team(together);
        if self.kernel.cancels_launches() {
            let taken =
                |r: &u64| launch.taker(*r, together) == rank && launch.leader(*r, together) != rank;
            team.extend((0..launch.ctas()).filter(taken).map(|r| self.cta(r)));
        }
        team
    }

    fn late(&self) -> bool {
        self.deciding.limits.reached().is_some()
    }

    fn cta(&self, rank: u64) -> [u32; 3] {
        self.resolved.launch.with_cta(rank).cta
    }
}

/// Settles unordered writes of words: where they are not the same operations, their order decides the bits.
fn same_bits(outcome: &mut Outcome) {
    let obligations = std::mem::take(&mut outcome.obligations);
    if obligations.is_empty() {
        return;
    }
    let mut canon = Canon::default();
    let roots: Vec<(TermId, Reader)> = obligations
        .iter()
        .flat_map(|o| {
            let (a, b) = o.equal;
            let reader = canon::reader(None, &[(&outcome.store, a)]);
            [(a, reader), (b, reader)]
        })
        .collect();
    let images = canon.add(&outcome.store, &roots);
    for (o, roots) in obligations.into_iter().zip(roots.chunks(2)) {
        let image = |i: usize| images.get(roots[i].0, roots[i].1);
        if image(0) == image(1) && !canon.has_reals {
            // A reader of bits would see which NaN was written last.
            if o.equal.0 != o.equal.1 {
                outcome.store.note_nan_by_order();
            }
            discharge::merge(&mut outcome.warnings, o.warning);
            continue;
        }
        let open = Finding::new(
            UnknownKind::OrderDependent,
            format!("{}: their order decides the bits", o.warning.message),
        )
        .times(o.warning.count)
        .at(o.warning.sites);
        discharge::merge(&mut outcome.unknowns, open);
    }
}

/// Every CTA of the grid.
pub fn all(subject: &Subject) -> Covered {
    let count = subject.resolved.launch.ctas();
    if count > MAX_CTAS {
        let mut out = Covered::default();
        out.outcome.unknowns.push(Finding::new(
            UnknownKind::Limit,
            format!(
                "the grid has {count} CTAs, more than the {MAX_CTAS} that are run: \
                 choose CTAs with --cta, or check a smaller instance"
            ),
        ));
        return out;
    }
    let ranks: Vec<u64> = (0..count).collect();
    cover(subject, &ranks)
}

/// Runs the CTAs of these ranks, which ascend, again with more known as long as that says more.
pub fn cover(subject: &Subject, ranks: &[u64]) -> Covered {
    let grid = Grid::new(subject, ranks);
    let begins_together = begins_together(subject, ranks);
    let known = ladder::Knowledge {
        without_values: subject.without_values,
        order: begins_together.then(Vec::new),
        ..ladder::Knowledge::default()
    };
    let ran = refined(
        &&grid,
        known,
        &mut [
            &mut Noted,
            &mut Meeting,
            &mut Unused::default(),
            &mut Orders::new(begins_together),
            &mut Lanes::default(),
        ],
    );
    match ran {
        Ran::Covered(covered) => *covered,
        // The refinements leave none of these.
        Ran::Open(_) | Ran::Apart(_) | Ran::Order(_) => {
            limit("what the CTAs leave together was not looked at".into())
        }
    }
}

/// The CTAs so far.
struct Whole<'a> {
    subject: Subject<'a>,
    noting: Noting,
    between: Between<'a>,
    memory: Memory,
    out: Covered,
    stats: Stats,
    assumptions: BTreeSet<Assumption>,
    gathers: sim::gather::Gathers,
    /// The runs of two CTAs side by side are an execution, as far as their accesses go.
    apart: bool,
}

impl<'a> Whole<'a> {
    fn new(subject: Subject<'a>, known: Knowledge) -> Self {
        Whole {
            subject,
            noting: Noting {
                accesses: Some(known.tracked.clone()),
                known,
                ..Noting::default()
            },
            between: Between::new(subject.kernel),
            memory: Memory::default(),
            out: Covered::default(),
            stats: Stats::default(),
            assumptions: BTreeSet::new(),
            gathers: Default::default(),
            apart: true,
        }
    }

    /// Runs all, unless they have to be run again in another way.
    fn run(mut self, ranks: &[u64]) -> Result<Self, Obstacle> {
        let subject = self.subject;
        let threads = rayon::current_num_threads().max(1);
        // The first CTA alone tells which arrays are written.
        let mut at = 0;
        progress::begin(progress::Stage::Simulate, ranks.len() as u64);
        let share = work::share(ranks.len() + 1);
        let waits = strong::concerns(subject.kernel) || strong::counts(subject.kernel);
        let mut spent_here = 0u64;
        'all: while at < ranks.len() {
            // How many are run at once depends on the machine, and is no work.
            let (reached, _) = work::apart(None, || subject.deciding.limits.reached());
            if at > 0
                && let Some(what) = reached
            {
                self.stopped(what, at, ranks.len());
                break;
            }
            let batch = if at == 0 { 1 } else { 4 * threads };
            let batch = &ranks[at..ranks.len().min(at + batch)];
            let memory = match subject.deciding.limits.memory {
                None => None,
                Some(limit) => {
                    let rest = limit.saturating_sub(self.memory.store.footprint());
                    if rest == 0 {
                        self.stopped("the memory limit was reached", at, ranks.len());
                        break;
                    }
                    // As many CTAs as there are threads hold memory at a time, and those that
                    // have ended wait for the others.
                    Some(rest / batch.len() as u64)
                }
            };
            let limits = subject.limits(memory);
            let noting = &self.noting;
            let run = |&rank: &u64| {
                let outcome = subject.settled(rank, &limits, noting);
                let accesses = outcome.footprint.accesses();
                (outcome, accesses)
            };
            let ended = work::each(batch.par_iter(), |rank| work::apart(share, || run(rank)));
            for (&rank, ((outcome, accesses), spent)) in batch.iter().zip(ended) {
                work::count(spent);
                spent_here = spent_here.saturating_add(spent.units);
                self.out.ctas.extend(self.subject.team(rank));
                self.add(rank, outcome, accesses)?;
                at += 1;
                if work::is_over() && at < ranks.len() {
                    self.stopped(SPENT, at, ranks.len());
                    break 'all;
                }
                // Nothing that the others do takes back what one of them did, where none waits for another.
                let is_certain = !waits && !self.out.outcome.defects.is_empty();
                if spent_here > AFTER_DEFECT && is_certain {
                    break 'all;
                }
            }
            progress::add(batch.len() as u64);
        }
        if self.subject.without_values && self.between.found().next().is_some() {
            return Err(Obstacle::Values);
        }
        let all = self.out.ctas.len() as u64 == subject.resolved.launch.ctas();
        self.out.whole = at == ranks.len() && all;
        Ok(self)
    }

    fn stopped(&mut self, what: &str, done: usize, all: usize) {
        self.out.outcome.unknowns.push(Finding::new(
            UnknownKind::Limit,
            format!("{what} after {done} of {all} CTAs"),
        ));
    }

    fn add(&mut self, rank: u64, mut o: Outcome, accesses: Vec<Access>) -> Result<(), Obstacle> {
        let noted = |a: &ArrayId| self.noting.accesses.iter().any(|n| n.contains(a));
        let written = accesses.iter().filter(|a| a.kind.writes());
        let missed: Vec<ArrayId> = written.map(|a| a.array).filter(|a| !noted(a)).collect();
        if !missed.is_empty() {
            return Err(Obstacle::Unnoted(missed));
        }
        let cta = self.subject.cta(rank);
        self.stats.add(&o.stats);
        add_counts(&mut self.out.outcome.executed, &o.executed);
        self.out.outcome.taken.add(&o.taken);
        self.out.outcome.waits_late |= o.waits_late;
        self.out.outcome.reads_foreign |= o.reads_foreign;
        self.out.terms += o.store.len() as u64;
        self.assumptions
            .append(&mut o.assumptions.drain(..).collect());
        let whole = &mut self.out.outcome;
        gather(&mut whole.defects, std::mem::take(&mut o.defects), cta);
        gather(&mut whole.warnings, std::mem::take(&mut o.warnings), cta);
        gather(&mut whole.unknowns, std::mem::take(&mut o.unknowns), cta);
        let by_schedule = std::mem::take(&mut o.by_schedule);
        gather(&mut whole.by_schedule, by_schedule, cta);
        let changes = o.footprint.changes();
        let overlaps = self.between.add(rank, &accesses, changes);
        if self.subject.without_values && !overlaps.is_empty() {
            return Err(Obstacle::Values);
        }
        let initials = Initials {
            kernel: self.subject.kernel,
            bindings: &self.subject.resolved.bindings,
            arrays: &self.subject.resolved.arrays,
            by_words: self.subject.resolved.mode.words().is_some(),
        };
        let gathers = std::mem::take(&mut o.gathers);
        let opaque = std::mem::take(&mut o.opaque);
        let map = self.memory.add(o, &overlaps, initials);
        for met in std::mem::take(&mut self.memory.met) {
            self.between.may_meet(met);
        }
        for mut o in opaque {
            let words = o.words.iter_mut();
            words.for_each(|t| *t = map.as_ref().map_or(*t, |m| m[t.0 as usize]));
            self.out.outcome.opaque.push(o);
        }
        for g in gathers {
            let g = g.moved(|t| map.as_ref().map_or(t, |m| m[t.0 as usize]), Some(cta));
            self.gathers.note(g);
        }
        Ok(())
    }

    fn finish(mut self) -> Covered {
        let found: Vec<Found> = self.between.found().cloned().collect();
        self.apart = !self.observes(&found);
        let numbered = found.par_iter().enumerate();
        let named: Vec<[Option<Seen>; 2]> =
            work::side_by_side(numbered, |(i, f)| match i < NAMED {
                true => [f.earlier, f.later].map(|r| self.thread(&r, f.array, f.off)),
                false => [None, None],
            });
        for (f, threads) in found.iter().zip(named) {
            self.report(f, threads);
        }
        self.compare_values();
        let mut out = self.out;
        let uncompared = self.memory.pairs.len().saturating_sub(COMPARED);
        if uncompared > 0 {
            out.outcome.unknowns.push(Finding::new(
                UnknownKind::Limit,
                format!(
                    "several CTAs write {} elements; of {uncompared} the values were not compared",
                    self.memory.pairs.len()
                ),
            ));
        }
        if let Some(&(array, off)) = self.memory.lost.first() {
            let name = &self.subject.resolved.arrays[array].name;
            let message = format!(
                "several CTAs update {name} at byte {off}, and what they leave together is not known"
            );
            let open = Finding::new(UnknownKind::Undecided, message);
            out.outcome
                .unknowns
                .push(open.times(self.memory.lost.len() as u64));
        }
        out.outcome.fresh = self.memory.fresh;
        out.outcome.narrow = self.memory.narrow;
        out.outcome.store = self.memory.store;
        out.outcome.writes = self.memory.writes;
        out.outcome.gathers = self.gathers.into_list();
        out.outcome.stats = self.stats;
        out.outcome.assumptions = self.assumptions.into_iter().collect();
        let (arrays, deciding) = (self.subject.arrays, self.subject.deciding);
        if self.subject.resolved.mode.words().is_some() {
            same_bits(&mut out.outcome);
        }
        discharge(&mut out.outcome, arrays, deciding);
        out
    }

    /// A thread of the CTA that makes an access to a byte, and what it did before.
    fn thread(&self, r: &Record, array: ArrayId, off: u64) -> Option<Seen> {
        let noting = Noting {
            accesses: None,
            watch: Some(Watch {
                array,
                off,
                pc: r.pc,
            }),
            known: Knowledge {
                tracked: self.noting.known.tracked.clone(),
                program: self.noting.known.program.clone(),
                ..Knowledge::default()
            },
            ..Noting::default()
        };
        let limits = self.subject.limits(self.subject.deciding.limits.memory);
        let run = self.subject.run(r.rank, &limits, &noting);
        run.footprint.seen().cloned()
    }

    fn place(&self, array: ArrayId, off: u64, access: u32) -> String {
        let a = &self.subject.resolved.arrays[array];
        let size = a.elem.map_or(access as u64, |e| e.bytes()).max(1);
        match off.is_multiple_of(size) {
            true => format!("{}[{}]", a.name, off / size),
            false => format!("{} at byte {off}", a.name),
        }
    }

    fn site(&self, r: &Record, seen: Option<Seen>, place: &str) -> Site {
        let verb = match (r.kind.writes(), r.kind.strong()) {
            (false, _) => "reads",
            (true, false) => "writes",
            (true, true) => "updates",
        };
        let (threads, around) = match seen {
            Some(s) => (vec![s.thread], s.around),
            None => (Vec::new(), Vec::new()),
        };
        Site {
            around,
            launch: 0,
            cta: Some(self.subject.cta(r.rank)),
            pc: r.pc,
            threads,
            text: format!("{verb} {place}"),
        }
    }

    /// True if CTAs may see what others leave by strong accesses, and that decides what they access. On numbers each CTA
    /// runs on what those before it left, which is an execution.
    fn observes(&self, found: &[Found]) -> bool {
        let is_strong = |f: &&Found| self.weakened(f) == Some(Trouble::Unordered(Conflict::Strong));
        let observing = found.iter().filter(is_strong);
        let all: Vec<Pc> = observing.flat_map(|f| [f.earlier.pc, f.later.pc]).collect();
        !self.subject.resolved.mode.has_numbers() && observed::decides(self.subject.kernel, &all)
    }

    fn report(&mut self, f: &Found, threads: [Option<Seen>; 2]) {
        let place = self.place(f.array, f.off, f.earlier.elem.min(f.later.elem));
        let ctas = [f.earlier.rank, f.later.rank].map(|r| launch::show(self.subject.cta(r)));
        let what = format!(
            "{} of {place} by CTA {} and {} by CTA {}",
            f.earlier.kind.name(),
            ctas[0],
            f.later.kind.name(),
            ctas[1]
        );
        let [first, second] = threads;
        let sites = vec![
            self.site(&f.earlier, first, &place),
            self.site(&f.later, second, &place),
        ];
        let (kind, why) = match self.weakened(f) {
            None => (
                UnknownKind::Undecided,
                "whether anything but the exchange that checks it again depends on what is read is not known",
            ),
            Some(trouble) => match trouble {
                Trouble::Unordered(Conflict::Race) if self.apart => {
                    let why = match f.earlier.kind.strong() && f.later.kind.strong() {
                        true => {
                            "the scope of one is not the device, so that it is not atomic for the other"
                        }
                        false => {
                            "nothing orders different CTAs of one launch; use atomics, or two launches"
                        }
                    };
                    let message = format!("{what}: {why}");
                    self.out.outcome.defects.push(
                        Finding::new(DefectKind::DataRace, message)
                            .times(f.count)
                            .at(sites),
                    );
                    return;
                }
                Trouble::Unordered(Conflict::Strong) => (
                    UnknownKind::NondeterministicValue,
                    "their order depends on the schedule",
                ),
                Trouble::Unordered(Conflict::Race) => (UnknownKind::Undecided, OBSERVED),
                Trouble::Unordered(_) => (
                    UnknownKind::Undecided,
                    "nothing orders different CTAs, if input data makes both happen",
                ),
                Trouble::Fenced => (
                    UnknownKind::Undecided,
                    "whether the fences of the kernel order them is not followed",
                ),
                Trouble::Rewritten => (
                    UnknownKind::Undecided,
                    "one of them writes it with several values, so that equal values do not show that the order is of no matter",
                ),
                Trouble::Cluster => (
                    UnknownKind::Undecided,
                    "whether one cluster holds both CTAs is not known",
                ),
            },
        };
        let open = Finding::new(kind, format!("{what}: {why}"))
            .times(f.count)
            .at(sites);
        match f.cond.filter(|_| self.apart) {
            None => self.out.outcome.unknowns.push(open),
            Some(cond) => self.out.outcome.conditionals.push(Conditional {
                cond,
                values: Vec::new(),
                defect: Finding::new(
                    DefectKind::DataRace,
                    format!("{what}: nothing orders different CTAs of one launch"),
                )
                .times(open.count)
                .at(open.sites.clone()),
                open,
            }),
        }
    }

    /// What a pair is beside the rule for plain accesses, as between the threads of a CTA.
    fn weakened(&self, f: &Found) -> Option<Trouble> {
        let (a, b) = (&f.earlier, &f.later);
        let plain = matches!(
            f.trouble,
            Trouble::Unordered(Conflict::Race | Conflict::Conditional)
        );
        if !plain || a.kind.strong() && b.kind.strong() {
            return Some(f.trouble);
        }
        if self.are_strong(a, b) {
            return Some(Trouble::Unordered(Conflict::Strong));
        }
        let kernel = self.subject.kernel;
        let expects = |read: &Record, other: &Record| {
            let swap = matches!(
                other.kind,
                AccessKind::Atomic {
                    op: AtomOp::Cas,
                    ..
                }
            );
            swap && read.kind == AccessKind::Read && rechecked(kernel).contains(&read.pc)
        };
        match expects(a, b) || expects(b, a) {
            true => None,
            false => Some(f.trouble),
        }
    }

    /// True for accesses of one width, both of them strong, as volatile ones are.
    fn are_strong(&self, a: &Record, b: &Record) -> bool {
        let strong = |r: &Record| self.subject.kernel.is_strong(r.pc);
        strong(a) && strong(b) && a.elem == b.elem
    }
}

/// Adds findings of one CTA to those of the others.
fn gather<K: PartialEq>(list: &mut Vec<Finding<K>>, found: Vec<Finding<K>>, cta: [u32; 3]) {
    for mut f in found {
        for s in f.sites.iter_mut().filter(|s| s.cta.is_none()) {
            s.cta = Some(cta);
        }
        merge(list, f);
    }
}
