//! Racing reads whose value reaches nothing.
//!
//! Problem: a compiler lets spare threads load what others load too, and predicates only their stores off. Where
//! the others store in place, such a load races with the store, and nothing depends on what it reads.
//!
//! A run that found races with plain loads only is run again, with an unknown of its own as the value of each load of
//! a racing thread, and that load is no access. If no race, nor any other defect, is left and no unknown is found
//! below an output, an address or a condition, and nothing else is open that was not, the loads reach nothing: every
//! schedule gives what this run gives. What a load that counts no longer has hidden is found in the next run.
//!
//! Loads whose unknowns are found there are of use, and the others are tried again without these. The races of loads of
//! use stay, unless the stores are made of what these read ([`ByValue`]), which one more run looks at: there the loads of no
//! use are unknowns too. What else data decide is left as it is: the new run says it too.
//!
//! Loads of what other CTAs write are named by the caller ([`Foreign`]), who looks at what is left between CTAs.
//!
//! Where a limit ends that run before anything is seen to depend on what is read, the races are open.
//!
//! Sound: an unknown stands for every value that the race may give, at each execution of the load; what is derived
//! of it keeps it below.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::address::pins::Asked;
use super::by_value::ByValue;
use super::knowledge::Knowledge;
use super::machine::Machine;
use super::memory::RegionKind;
use super::place::Target;
use super::plain::Class;
use super::race::{Conflict, Finding as Race, Kind, Report};
use super::reach::roots;
use super::run::{OneCta, Ran};
use super::value::Val;
use super::warp::lanes;
use super::{DefectKind, Finding, Outcome, Site, Tid, UnknownKind, WarningKind};
use crate::explore::{Reason, Refinement, Step};
use crate::kernel::{Op, Pc};
use crate::term::ArrayId;

/// Runs after which the races stay what they are.
const MAX_RUNS: usize = Reason::Loads.most() as usize - 1;

/// The loads whose values are unknowns, by their serials.
pub(super) type Serials = FxHashMap<u32, (Pc, Tid)>;

/// Ranges of bytes, ends excluded, each with the rank of a CTA.
pub(crate) type Written = Vec<(u64, u64, u64)>;

/// Loads of what other CTAs of the launch write, which are tried as of no use.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The instructions.
    pub loads: FxHashSet<Pc>,
    /// Bytes of arrays that CTAs write, each with the rank of one of them; a list is in order, and its ranges are disjoint.
    pub writes: BTreeMap<ArrayId, Vec<Written>>,
}

impl Foreign {
    /// True for bytes that a CTA of another rank writes.
    fn writes(&self, array: ArrayId, (start, end): (u64, u64), own: u64) -> bool {
        let lists = self.writes.get(&array);
        lists.into_iter().flatten().any(|list| {
            let from = list.partition_point(|w| w.1 <= start);
            let mut met = list[from..].iter().take_while(|w| w.0 < end);
            met.any(|w| w.2 != own)
        })
    }
}

/// Loads of threads that are taken to be of no use.
#[derive(Clone, Debug, Default)]
pub(super) struct Unused {
    /// The threads, by instruction.
    loads: FxHashMap<Pc, FxHashSet<Tid>>,
    /// The loads of what other CTAs write.
    foreign: Option<Arc<Foreign>>,
}

impl Unused {
    /// True if some thread executes an instruction for nothing.
    #[inline]
    pub(super) fn has(&self, pc: Pc) -> bool {
        let foreign = self.foreign.as_ref();
        self.loads.contains_key(&pc) || foreign.is_some_and(|f| f.loads.contains(&pc))
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
    unused: Unused,
    /// What all runs asked for.
    asked: Asked,
    /// Loads that were seen to be of use.
    used: FxHashSet<(Pc, Tid)>,
    /// The first outcome, which stands if the trial fails.
    first: Option<Outcome>,
    /// True if every race of the first run is of a load and a later store.
    before: bool,
    /// The instructions of each pair of the first run that is a race if data have it so.
    pairs: Vec<[Pc; 2]>,
    /// What stands unless the stores are made of the loads of use, while that is tried.
    kept: Option<Outcome>,
    runs: usize,
}

/// What is needed of a run that ended.
#[derive(Default)]
pub(super) struct Ended {
    /// The loads that raced; `None` if there are other races, whatever data are.
    racing: Option<FxHashSet<(Pc, Tid)>>,
    /// Serials of the values of what was taken to be of no use, each with its load.
    pub unknowns: Serials,
    /// The instructions of each pair that is a race if data have it so.
    pairs: Vec<[Pc; 2]>,
    /// True if every race is of a load and a later store.
    before: bool,
    /// How many they are.
    races: usize,
    /// True if every store that races with an earlier load is made of what that read.
    made: bool,
}

impl Machine<'_> {
    /// Takes loads to be of no use.
    pub(super) fn take_unused(&mut self, unused: &Unused, foreign: &Option<Arc<Foreign>>) {
        self.unused = Unused {
            foreign: foreign.clone(),
            ..unused.clone()
        };
        let foreign = self.unused.foreign.iter().flat_map(|f| &f.loads);
        for pc in self.unused.loads.keys().chain(foreign) {
            self.classes[pc.0 as usize] = Class::General;
            self.order.report.apart.insert(*pc);
        }
    }

    /// The value of a load that is of no use.
    pub(super) fn unused_value(&mut self, (w, lane, pc): (usize, usize, Pc), width: u8) -> Val {
        let thread = Tid(self.warps[w].first + lane as u32);
        self.unused_serials.insert(self.fresh, (pc, thread));
        Val::Bits(self.fresh_bits(width))
    }

    /// The lanes whose loads, of so many bytes each, are taken to be of no use.
    pub(super) fn unused_lanes(
        &self,
        (w, exec, pc): (usize, u32, Pc),
        targets: &[Target],
        bytes: u32,
    ) -> u32 {
        if !self.unused.has(pc) {
            return 0;
        }
        let foreign = self.unused.foreign.iter();
        let foreign = foreign.filter(|f| f.loads.contains(&pc)).flat_map(|f| {
            let rank = self.launch.rank();
            targets.iter().filter(move |t| {
                let bytes = (t.off as u64, t.off as u64 + u64::from(bytes));
                match self.regions[t.region.0 as usize].kind {
                    RegionKind::Array(a) => f.writes(a, bytes, rank),
                    RegionKind::Shared | RegionKind::Local | RegionKind::Param => false,
                }
            })
        });
        let foreign = foreign.fold(0, |mask, t| mask | 1 << t.lane);
        let thread = |lane: usize| Tid(self.warps[w].first + lane as u32);
        let unused = lanes(exec).filter(|&lane| self.unused.of(pc, thread(lane)));
        unused.fold(foreign, |mask, lane| mask | 1 << lane)
    }

    /// What a trial needs to know of this run.
    pub(super) fn ended(&mut self) -> Ended {
        // What a loop waits for is of use, though no condition shows it: the loop stands for every number of looks.
        let waits = match self.order.report.is_empty() {
            true => Arc::default(),
            false => self.awaits(),
        };
        // What else the shadow found is no race: it is open or a warning, in each run.
        let races = |report: &Report| {
            let is_race = |r: &&Race| {
                let conflict = self.weakened(r);
                matches!(conflict, Some(Conflict::Race | Conflict::Conditional))
            };
            report.findings().filter(is_race).cloned().collect()
        };
        let report = &self.order.report;
        let is_load = |r: &Race| {
            let of = |p: &super::race::Party| {
                let is_look = waits.by_access.contains_key(&p.pc);
                !p.agent
                    && !is_look
                    && !p.kind.writes()
                    && matches!(self.inst(p.pc).op, Op::Ld { .. })
            };
            // Another one that data decide about is found again.
            r.conflict == Conflict::Conditional || of(&r.earlier) || of(&r.later)
        };
        let held = self.order.held.as_ref().map(|h| &h.report);
        let own: Vec<Race> = races(report);
        let of_held: Vec<Race> = held.map(races).unwrap_or_default();
        let all = own.iter().chain(&of_held).all(is_load) && !own.is_empty();
        let decided = own.iter().filter(|r| r.conflict == Conflict::Conditional);
        let pairs = decided.map(|r| [r.earlier.pc, r.later.pc]);
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
            before: own.iter().all(is_before),
            races: own.len(),
            pairs: pairs.collect(),
            made: self.order.by_value.holds(),
            racing: all.then(|| readers.collect()),
            unknowns: std::mem::take(&mut self.unused_serials),
        }
    }
}

impl Refinement<OneCta<'_>> for Trial {
    fn reason(&self) -> Reason {
        Reason::Loads
    }

    fn look(&mut self, _: &OneCta, known: &mut Knowledge, mut ran: Ran) -> Step<Ran> {
        if ran.obstacle.is_some() {
            return Step::Pass(ran);
        }
        self.asked.extend(std::mem::take(&mut ran.asked));
        let ended = std::mem::take(&mut ran.ended);
        let Some(outcome) = self.take(ended, ran.outcome) else {
            known.found.unused = self.unused.clone();
            known.found.by_value = self.by_value();
            return Step::Again;
        };
        Step::Pass(Ran {
            outcome,
            asked: std::mem::take(&mut self.asked),
            ..ran
        })
    }

    fn reset(&mut self, known: &mut Knowledge) {
        *self = Trial::default();
        known.found.unused = Unused::default();
        known.found.by_value = ByValue::default();
    }
}

impl Trial {
    /// Takes an outcome; `None` if the CTA is to be run again.
    fn take(&mut self, mut ended: Ended, out: Outcome) -> Option<Outcome> {
        if let Some(kept) = self.kept.take() {
            return Some(self.made(kept, &ended, &out));
        }
        self.runs += 1;
        let all = out.defects.iter().filter(|d| is_race(d)).count() == ended.races;
        let before = ended.before && all;
        let racing = ended.racing.take();
        let racing = racing.filter(|_| has_race(&out, &ended.pairs));
        if self.runs < MAX_RUNS && self.try_new(racing.iter().flatten()) {
            if self.first.is_none() {
                self.before = before;
                self.pairs = std::mem::take(&mut ended.pairs);
            }
            self.first.get_or_insert(out);
            return None;
        }
        let Some(first) = self.first.take() else {
            return Some(out);
        };
        let reached = reached(&out, &ended.unknowns);
        let only_races = out.defects.iter().all(is_race);
        if reached.is_empty() {
            if out.defects.is_empty() && out.unknowns.iter().any(is_limit) {
                return Some(left_open(first, out));
            }
            // What was tried does not race: another read of its thread may pass for it.
            let of_use = |r: &FxHashSet<(Pc, Tid)>| r.is_subset(&self.used);
            let settled = out.defects.is_empty() || racing.as_ref().is_none_or(of_use);
            if settled && only_races && out.unknowns.len() <= first.unknowns.len() {
                let is_done = out.defects.is_empty() || racing.is_none() || !before;
                let out = self.excused(first, out);
                if is_done {
                    return Some(out);
                }
                self.kept = Some(out);
                return None;
            }
        } else if out.defects.is_empty() && self.keep_as_used(reached) {
            self.first = Some(first);
            return None;
        }
        if !self.before {
            return Some(first);
        }
        // What is of use may still be read before the stores that it is made into.
        for (pc, threads) in self.unused.loads.drain() {
            self.used.extend(threads.into_iter().map(|t| (pc, t)));
        }
        self.kept = Some(first);
        None
    }

    /// Tries loads that were not tried yet; false if there are none.
    fn try_new<'a>(&mut self, racing: impl Iterator<Item = &'a (Pc, Tid)>) -> bool {
        let mut any = false;
        for &(pc, thread) in racing.filter(|r| !self.used.contains(r)) {
            any |= self.unused.loads.entry(pc).or_default().insert(thread);
        }
        any
    }

    /// Tries no longer what is of use; true if that leaves something to be tried.
    fn keep_as_used(&mut self, reached: FxHashSet<(Pc, Tid)>) -> bool {
        if self.runs >= MAX_RUNS {
            return false;
        }
        let mut fewer = false;
        for (pc, thread) in reached {
            if let Some(threads) = self.unused.loads.get_mut(&pc) {
                fewer |= threads.remove(&thread);
            }
            self.used.insert((pc, thread));
        }
        self.unused.loads.retain(|_, threads| !threads.is_empty());
        fewer && !self.unused.loads.is_empty()
    }

    /// An outcome, in which the races that the first one has beside it are warnings.
    fn excused(&self, first: Outcome, mut out: Outcome) -> Outcome {
        let kind = WarningKind::UnusedRead;
        let races = self.races_of(first, &out).into_iter();
        out.warnings
            .extend(races.map(|f| f.of(kind).because("what is read reaches nothing")));
        out
    }

    /// The races of the first outcome that another one no longer has.
    fn races_of(&self, first: Outcome, out: &Outcome) -> Vec<Finding<DefectKind>> {
        let places = |sites: &[Site]| sites.iter().map(|s| s.pc).collect::<Vec<_>>();
        let still = |f: &Finding<DefectKind>| {
            let decided = out.conditionals.iter().map(|c| &c.defect.sites);
            let open = out.unknowns.iter().map(|u| &u.sites);
            let left = out.defects.iter().map(|d| &d.sites);
            let of = places(&f.sites);
            decided.chain(open).chain(left).any(|s| places(s) == of)
        };
        let decided = first.conditionals.into_iter().map(|c| Finding {
            message: c.open.message,
            ..c.defect
        });
        let open = first.unknowns.into_iter();
        let open = open.filter(|u| is_of(&self.pairs, &u.sites));
        let open = open.map(|u| u.of(DefectKind::DataRace));
        let all = first.defects.into_iter().chain(decided).chain(open);
        let mut races: Vec<Finding<DefectKind>> = Vec::new();
        for f in all.filter(is_race).filter(|f| !still(f)) {
            super::merge_finding(&mut races, f);
        }
        races
    }

    /// An outcome, whose races are none if all stores are made of what the loads of use read before them.
    fn made(&self, mut kept: Outcome, ended: &Ended, out: &Outcome) -> Outcome {
        let whole = out.stats.warp_instructions == kept.stats.warp_instructions;
        let open = out.unknowns.len() > kept.unknowns.len();
        let racing = ended.racing.as_ref();
        let known = racing.is_some_and(|r| r.is_subset(&self.used));
        let holds = ended.before && ended.made && known && whole && !open;
        if !holds || !reached(out, &ended.unknowns).is_empty() {
            return kept;
        }
        let (races, others) = std::mem::take(&mut kept.defects)
            .into_iter()
            .partition(is_race);
        kept.defects = others;
        let races: Vec<Finding<DefectKind>> = races;
        let why = "what is written is made from what is read, so that the read comes first";
        let kind = WarningKind::OrderedByValue;
        kept.warnings
            .extend(races.into_iter().map(|f| f.of(kind).because(why)));
        kept
    }

    /// The loads that the stores may be made of.
    fn by_value(&self) -> ByValue {
        match self.kept {
            Some(_) => ByValue::new(&self.used),
            None => ByValue::default(),
        }
    }
}

fn is_race(d: &Finding<DefectKind>) -> bool {
    d.kind == DefectKind::DataRace
}

/// True if a run found a race, or nothing wrong but a pair of accesses that is one if data have it so.
fn has_race(out: &Outcome, pairs: &[[Pc; 2]]) -> bool {
    let mut decided = out.conditionals.iter().map(|c| &c.defect);
    let mut open = out.unknowns.iter();
    match out.defects.is_empty() {
        true => decided.any(is_race) || open.any(|u| is_of(pairs, &u.sites)),
        false => out.defects.iter().any(is_race),
    }
}

/// True if some sites are those of one of some pairs.
fn is_of(pairs: &[[Pc; 2]], sites: &[Site]) -> bool {
    let of = |p: &[Pc; 2]| sites.len() == 2 && sites.iter().map(|s| s.pc).eq(*p);
    pairs.iter().any(of)
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
    let open = races.into_iter().map(|f| f.of(kind).because(why));
    first.unknowns.extend(open);
    let (races, others): (Vec<_>, Vec<_>) = std::mem::take(&mut first.conditionals)
        .into_iter()
        .partition(|c| is_race(&c.defect));
    first.conditionals = others;
    let open = races.into_iter().map(|c| c.open.because(why));
    first.unknowns.extend(open);
    if !first.unknowns.iter().any(is_limit) {
        out.unknowns.retain(is_limit);
        first.unknowns.append(&mut out.unknowns);
    }
    first
}

/// The loads whose unknowns stand below an output, an address or a condition of a run.
pub(super) fn reached(out: &Outcome, unknowns: &Serials) -> FxHashSet<(Pc, Tid)> {
    if unknowns.is_empty() {
        return FxHashSet::default();
    }
    let below = out.store.serials_below(&roots(out));
    below
        .iter()
        .filter_map(|s| unknowns.get(s).copied())
        .collect()
}
