//! Loads that race are taken to reach nothing, if runs show that they do.

use rustc_hash::FxHashSet;

use crate::explore::{Next, Reason, Refinement};
use crate::kernel::Pc;
use crate::sim::address::pins::Asked;
use crate::sim::by_value::ByValue;
use crate::sim::cta::{OneCta, Ran};
use crate::sim::knowledge::Knowledge;
use crate::sim::reach::roots;
use crate::sim::{DefectKind, Finding, Outcome, Site, Tid, UnknownKind, WarningKind};

use super::{Ended, Serials, Unused};

/// Runs after which the races stay what they are.
const MAX_RUNS: usize = Reason::Loads.most() as usize - 1;

/// The runs of one CTA until its racing loads are told apart.
#[derive(Default)]
pub(in crate::sim) struct Trial {
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

impl Refinement<OneCta<'_>> for Trial {
    fn reason(&self) -> Reason {
        Reason::Loads
    }

    fn look(&mut self, _: &OneCta, known: &mut Knowledge, mut ran: Ran) -> Next<Ran> {
        if ran.obstacle.is_some() {
            return Next::Pass(ran);
        }
        self.asked.extend(std::mem::take(&mut ran.asked));
        let ended = std::mem::take(&mut ran.ended);
        let Some(outcome) = self.take(ended, ran.outcome) else {
            known.found.unused = self.unused.clone();
            known.found.by_value = self.by_value();
            return Next::Again;
        };
        Next::Pass(Ran {
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
            crate::sim::merge_finding(&mut races, f);
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
pub(in crate::sim) fn reached(out: &Outcome, unknowns: &Serials) -> FxHashSet<(Pc, Tid)> {
    if unknowns.is_empty() {
        return FxHashSet::default();
    }
    let below = out.store.serials_below(&roots(out));
    below
        .iter()
        .filter_map(|s| unknowns.get(s).copied())
        .collect()
}
