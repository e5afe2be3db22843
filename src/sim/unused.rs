//! Racing reads whose value reaches nothing.
//!
//! Problem: a compiler lets spare threads load what others load too, and predicates only their stores off. Where
//! the others store in place, such a load races with the store, and nothing depends on what it reads.
//!
//! A run that found races with plain loads only is run again, with an unknown of its own as the value of each load of
//! a racing thread, and that load is no access. If no race, nor any other defect, is left and no unknown is found
//! below an output or a condition, and nothing else is open that was not, the loads reach nothing: every schedule
//! gives what this run gives. What a load that counts no longer has hidden is found in the next run.
//!
//! Where a limit ends that run before anything is seen to depend on what is read, the races are open.
//!
//! Sound: an unknown stands for every value that the race may give, at each execution of the load; what is derived
//! of it keeps it below.

use rustc_hash::{FxHashMap, FxHashSet};

use super::by_value::ByValue;
use super::machine::Machine;
use super::plain::Class;
use super::race::{Conflict, Finding as Race, Kind};
use super::value::Val;
use super::warp::lanes;
use super::{DefectKind, Finding, Outcome, Tid, UnknownKind, WarningKind};
use crate::kernel::{Op, Pc};
use crate::term::{Term, TermId};

/// Runs after which the races stay what they are.
const MAX_RUNS: usize = 8;

/// Loads of threads that are taken to be of no use.
#[derive(Clone, Debug, Default)]
pub(super) struct Unused {
    /// The threads, by instruction.
    loads: FxHashMap<Pc, FxHashSet<Tid>>,
}

impl Unused {
    /// True if some thread executes an instruction for nothing.
    #[inline]
    pub(super) fn has(&self, pc: Pc) -> bool {
        self.loads.contains_key(&pc)
    }

    /// The same of one thread.
    fn of(&self, pc: Pc, thread: Tid) -> bool {
        self.loads.get(&pc).is_some_and(|t| t.contains(&thread))
    }
}

/// The runs of one CTA until its racing loads are told apart.
#[derive(Default)]
pub(super) struct Trial {
    /// What is tried.
    pub unused: Unused,
    /// The first outcome, which stands if the trial fails, and the loads that raced in it.
    first: Option<Outcome>,
    /// The loads that raced in the first run, if every race is of a load and a later store.
    before: Option<FxHashSet<(Pc, Tid)>>,
    /// True while these are tried as what the stores are made of.
    made: bool,
    runs: usize,
}

/// What is needed of a run that ended.
pub(super) struct Ended {
    /// The loads that raced; `None` if there are other races.
    racing: Option<FxHashSet<(Pc, Tid)>>,
    /// Serials of the values of what was taken to be of no use.
    unknowns: FxHashSet<u32>,
    /// True if every race is of a load and a later store.
    before: bool,
    /// How many they are.
    races: usize,
    /// True if every store that races with an earlier load is made of what that read.
    made: bool,
}

impl Machine<'_> {
    /// Takes loads to be of no use.
    pub(super) fn take_unused(&mut self, unused: &Unused) {
        self.unused = unused.clone();
        for pc in self.unused.loads.keys() {
            self.classes[pc.0 as usize] = Class::General;
        }
    }

    /// The value of a load that is of no use.
    pub(super) fn unused_value(&mut self, width: u8) -> Val {
        self.unused_serials.insert(self.fresh);
        Val::Bits(self.fresh_bits(width))
    }

    /// The lanes whose loads are taken to be of no use.
    pub(super) fn unused_lanes(&self, w: usize, exec: u32, pc: Pc) -> u32 {
        if !self.unused.has(pc) {
            return 0;
        }
        let thread = |lane: usize| Tid(self.warps[w].first + lane as u32);
        let unused = lanes(exec).filter(|&lane| self.unused.of(pc, thread(lane)));
        unused.fold(0, |mask, lane| mask | 1 << lane)
    }

    /// What a trial needs to know of this run.
    pub(super) fn ended(&mut self) -> Ended {
        let is_load = |r: &Race| {
            let of = |p: &super::race::Party| {
                !p.agent && !p.kind.writes() && matches!(self.inst(p.pc).op, Op::Ld { .. })
            };
            of(&r.earlier) || of(&r.later)
        };
        let report = &self.order.report;
        let held = self.order.held.as_ref().map(|h| &h.report);
        let mut of_held = held.into_iter().flat_map(|r| r.findings());
        let all = report.findings().all(is_load) && of_held.all(is_load) && !report.is_empty();
        let readers = report.readers().iter().copied();
        let readers = readers.filter(|r| matches!(self.inst(r.0).op, Op::Ld { .. }));
        let is_before = |r: &Race| {
            let (load, store) = (&self.inst(r.earlier.pc).op, &self.inst(r.later.pc).op);
            r.conflict == Conflict::Race
                && !r.earlier.agent
                && !r.later.agent
                && matches!((r.earlier.kind, load), (Kind::Read, Op::Ld { .. }))
                && matches!((r.later.kind, store), (Kind::Write, Op::St { .. }))
        };
        Ended {
            before: report.findings().all(is_before),
            races: report.findings().count(),
            made: self.order.by_value.holds(),
            racing: all.then(|| readers.collect()),
            unknowns: std::mem::take(&mut self.unused_serials),
        }
    }
}

impl Trial {
    /// Takes an outcome; `None` if the CTA is to be run again.
    pub(super) fn take(&mut self, ended: Ended, mut out: Outcome) -> Option<Outcome> {
        if self.made {
            return self.first.take().map(|first| made(first, &ended, &out));
        }
        let races = out.defects.iter().any(is_race);
        self.runs += 1;
        let more = ended.racing.filter(|r| races && !r.is_empty());
        if let Some(racing) = more
            && self.runs < MAX_RUNS
            && racing.iter().any(|&(pc, t)| !self.unused.of(pc, t))
        {
            for &(pc, thread) in &racing {
                self.unused.loads.entry(pc).or_default().insert(thread);
            }
            if self.first.is_none() {
                let all = out.defects.iter().filter(|d| is_race(d)).count() == ended.races;
                self.before = (ended.before && all).then_some(racing);
            }
            self.first.get_or_insert(out);
            return None;
        }
        let Some(first) = self.first.take() else {
            return Some(out);
        };
        let shown = !out.defects.is_empty() || reaches(&out, &ended.unknowns);
        if !shown && out.unknowns.iter().any(is_limit) {
            return Some(left_open(first, out));
        }
        if shown || out.unknowns.len() > first.unknowns.len() {
            if self.before.is_none() {
                return Some(first);
            }
            // What is of use may still be read before the stores that it is made into.
            self.unused = Unused::default();
            (self.made, self.first) = (true, Some(first));
            return None;
        }
        let races = first.defects.into_iter().filter(is_race);
        let kind = WarningKind::UnusedRead;
        out.warnings
            .extend(races.map(|f| instead(f, kind, "what is read reaches nothing")));
        Some(out)
    }

    /// The loads that the stores may be made of.
    pub(super) fn by_value(&self) -> ByValue {
        match &self.before {
            Some(racing) if self.made => ByValue::new(racing),
            _ => ByValue::default(),
        }
    }
}

fn is_race(d: &Finding<DefectKind>) -> bool {
    d.kind == DefectKind::DataRace
}

fn is_limit(u: &Finding<UnknownKind>) -> bool {
    u.kind == UnknownKind::Limit
}

/// The first outcome where a limit ended the trial: what is read may reach something later.
fn left_open(mut first: Outcome, mut out: Outcome) -> Outcome {
    let (races, others): (Vec<_>, Vec<_>) = std::mem::take(&mut first.defects)
        .into_iter()
        .partition(is_race);
    first.defects = others;
    let why = "whether what is read reaches anything is not known, since the run ended early";
    let kind = UnknownKind::Undecided;
    let open = races.into_iter().map(|f| instead(f, kind, why));
    first.unknowns.extend(open);
    if !first.unknowns.iter().any(is_limit) {
        out.unknowns.retain(is_limit);
        first.unknowns.append(&mut out.unknowns);
    }
    first
}

fn instead<K>(f: Finding<DefectKind>, kind: K, why: &str) -> Finding<K> {
    Finding {
        kind,
        message: format!("{}; {why}", f.message),
        count: f.count,
        sites: f.sites,
    }
}

/// The first outcome, whose races are none if all stores are made of what the loads read before them.
fn made(mut first: Outcome, ended: &Ended, out: &Outcome) -> Outcome {
    let whole = out.stats.warp_instructions == first.stats.warp_instructions;
    if !(ended.before && ended.made && whole) || out.unknowns.len() > first.unknowns.len() {
        return first;
    }
    let (races, others) = std::mem::take(&mut first.defects)
        .into_iter()
        .partition(is_race);
    first.defects = others;
    let races: Vec<Finding<DefectKind>> = races;
    let why = "what is written is made from what is read, so that the read comes first";
    let kind = WarningKind::OrderedByValue;
    first
        .warnings
        .extend(races.into_iter().map(|f| instead(f, kind, why)));
    first
}

/// True if an unknown stands below an output or a condition of a run.
fn reaches(out: &Outcome, serials: &FxHashSet<u32>) -> bool {
    let written = out.writes.values().flat_map(|w| w.values().copied());
    let equal = out.obligations.iter().flat_map(|o| [o.equal.0, o.equal.1]);
    let conditions = out.conditionals.iter().map(|c| c.cond);
    let roots: Vec<TermId> = written.chain(equal).chain(conditions).collect();
    let is_one = |t: &TermId| matches!(out.store.get(*t), Term::Fresh { serial, .. } if serials.contains(&serial));
    out.store.reachable(&roots).iter().any(is_one)
}
