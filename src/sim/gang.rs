//! The CTAs of a grid together: each as far as it gets, then one step whose place matters.
//!
//! The problem: CTAs that wait for each other cannot be run one after the other. Each CTA keeps its own machine; what
//! they share (terms, arrays, strong accesses) is handed from one to the next. By confluence the order in which
//! they run is of no matter but for the steps that [`super::strong`] holds: they are made when no thread can step
//! otherwise, and where several are at hand, each is made first in a run of its own.
//!
//! Sound: a run that is clean is so for every order of the steps that were held, if all of them were run; values are
//! compared between these runs. That every CTA goes on while others wait is an assumption.
//!
//! Not claimed: launches with more CTAs or choices than the bounds below.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::AssumptionKind;
use crate::kernel::{Kernel, Pc};
use crate::spec::{Arrays, Bindings, Launch, Limits};
use crate::term::ArrayId;

use super::address::provenance::Provenances;
use super::machine::{Machine, Stop, region_of};
use super::memory::Region;
use super::plain::Class;
use super::race::Kind;
use super::strong::between::{Fault, Found};
use super::strong::hold::{Choice, Ready, Waiting};
use super::strong::{Strong, Trouble, Who};
use super::value::Values;
use super::{DefectKind, Finding, Obligation, Otherwise, Outcome, Side, Site};
use super::{UnknownKind, WarningKind};

/// Most CTAs that run together.
pub const MAX_TOGETHER: u64 = 512;

/// Most runs, each with its choices.
const MAX_RUNS: usize = 512;

/// What a grid is run with.
#[derive(Clone, Copy)]
pub struct Grid<'a> {
    /// The code.
    pub kernel: &'a Kernel,
    /// The launch of each CTA.
    pub launches: &'a [Launch],
    /// The bindings.
    pub bindings: &'a Bindings,
    /// The arrays.
    pub arrays: &'a Arrays,
    /// Which kernel of a pair it is.
    pub side: Side,
    /// Bounds.
    pub limits: &'a Limits,
}

/// The CTAs, and what they share while none of them runs.
struct Gang<'k> {
    machines: Vec<Machine<'k>>,
    values: Values,
    prov: Provenances,
    arrays: Vec<Region>,
    strong: Strong,
    fresh: u32,
}

impl<'k> Gang<'k> {
    fn new(grid: &Grid<'k>, plan: Vec<u32>, values: Option<Values>) -> Option<Self> {
        let ranks = grid.launches.iter().map(Launch::rank).collect();
        let strong = Strong::together(grid.kernel, ranks, plan);
        let tracked = (0..grid.arrays.0.len() as u32).map(ArrayId).collect();
        let mut machines = Vec::with_capacity(grid.launches.len());
        for launch in grid.launches {
            let mut m = Machine::new(
                grid.kernel,
                launch,
                grid.bindings,
                grid.arrays,
                grid.side,
                grid.limits,
                &tracked,
            )?;
            m.go_together(&strong);
            machines.push(m);
        }
        let prov = machines.first()?.prov.clone();
        // All begin alike, so that the terms and bases of one are those of all.
        let first = machines.first_mut()?;
        let mut gang = Gang {
            values: std::mem::take(&mut first.values),
            prov,
            arrays: first.regions.split_off(region_of(ArrayId(0)).0 as usize),
            fresh: first.fresh,
            strong,
            machines,
        };
        for m in &mut gang.machines[1..] {
            m.regions.truncate(region_of(ArrayId(0)).0 as usize);
        }
        if let Some(v) = values {
            gang.values = v;
        }
        Some(gang)
    }

    /// Does something with one CTA.
    fn with<T>(&mut self, i: usize, f: impl FnOnce(&mut Machine<'k>) -> T) -> T {
        self.hand_over(i);
        self.strong_of(i).cta = i as u32;
        let out = f(&mut self.machines[i]);
        self.hand_over(i);
        out
    }

    fn strong_of(&mut self, i: usize) -> &mut Strong {
        &mut self.machines[i].strong
    }

    /// Exchanges what is shared with a CTA.
    fn hand_over(&mut self, i: usize) {
        let m = &mut self.machines[i];
        std::mem::swap(&mut m.values, &mut self.values);
        std::mem::swap(&mut m.prov, &mut self.prov);
        std::mem::swap(&mut m.strong, &mut self.strong);
        std::mem::swap(&mut m.fresh, &mut self.fresh);
        let own = region_of(ArrayId(0)).0 as usize;
        match m.regions.len() > own {
            true => self.arrays = m.regions.split_off(own),
            false => m.regions.append(&mut self.arrays),
        }
    }

    /// Runs until all threads have ended, or something ends the run.
    fn run(&mut self) -> Result<(), Stop> {
        loop {
            let mut progress = false;
            let mut live = false;
            for i in 0..self.machines.len() {
                if self.machines[i].warps.iter().all(|w| w.live == 0) {
                    continue;
                }
                let (stepped, lives) = self.with(i, |m| m.run_round())?;
                progress |= stepped;
                live |= lives;
                if !lives {
                    self.with(i, |m| m.all_ended())?;
                }
            }
            if !live {
                return Ok(());
            }
            if !progress && !self.make_step()? {
                self.stuck();
                return Err(Stop::Finding);
            }
        }
    }

    /// Lets lanes that are held go on; false if none can.
    fn make_step(&mut self) -> Result<bool, Stop> {
        let waiting = std::mem::take(&mut self.strong.held.waiting);
        let mut ready = Vec::with_capacity(waiting.len());
        for h in &waiting {
            ready.push(self.with(h.cta as usize, |m| m.judge(h.w, h.lane, h.pc)));
        }
        let all = || waiting.iter().copied().zip(ready.iter().copied());
        let reads: Vec<Waiting> = all().filter(|w| w.1 == Ready::Reads).map(|w| w.0).collect();
        let next: Vec<(Waiting, Ready)> = match reads.is_empty() {
            false => reads.into_iter().map(|w| (w, Ready::Reads)).collect(),
            true => {
                let mut updates: Vec<Waiting> =
                    all().filter(|w| w.1 == Ready::Updates).map(|w| w.0).collect();
                updates.sort_unstable_by_key(|w| (w.cta, w.w, w.lane));
                match updates.len() {
                    0 => Vec::new(),
                    _ => {
                        let all: Vec<(Pc, Who)> = updates.iter().map(|h| (h.pc, h.who())).collect();
                        let i = self.strong.held.choose(&all);
                        vec![(updates[i], Ready::Updates)]
                    }
                }
            }
        };
        let rest = waiting.iter().filter(|w| !next.iter().any(|n| n.0 == **w));
        self.strong.held.waiting = rest.copied().collect();
        // What a loop has observed is found for all before any goes on.
        for (h, r) in &next {
            self.with(h.cta as usize, |m| m.grant(h.w, h.lane, h.pc, *r))?;
        }
        Ok(!next.is_empty())
    }

    /// Nobody can step: says who waits where, for whom.
    fn stuck(&mut self) {
        let waiting = std::mem::take(&mut self.strong.held.waiting);
        let mut open = false;
        for h in &waiting {
            let ready = self.with(h.cta as usize, |m| m.judge(h.w, h.lane, h.pc));
            if ready == Ready::Open {
                open = true;
                self.with(h.cta as usize, |m| m.open_wait(h));
            }
        }
        if open {
            return;
        }
        self.strong.held.waiting = waiting;
        for i in 0..self.machines.len() {
            if self.machines[i].warps.iter().any(|w| w.live != 0) {
                self.with(i, |m| m.deadlock());
            }
        }
    }

    /// What was found by all, and what memory holds.
    fn finish(mut self) -> Ended {
        let troubles: Vec<Trouble> = self.strong.troubles.values().cloned().collect();
        let found: Vec<Found> = self.strong.between.found.values().cloned().collect();
        for t in &troubles {
            self.with(t.later.1.0 as usize, |m| m.report_trouble(t));
        }
        for f in &found {
            self.with(f.later.1.0 as usize, |m| m.report_between(f));
        }
        let mut locations = self.strong.locations.values();
        let waited = locations.any(|l| l.reads.iter().any(|r| r.waited));
        let mut outcome = Outcome::default();
        let last = self.machines.len() - 1;
        // What was read where, the last one tells of all.
        let (mut unset, mut fresh) = (BTreeMap::new(), BTreeMap::new());
        for m in &mut self.machines {
            unset.append(&mut m.unset_sites);
            fresh.append(&mut m.fresh_sites);
        }
        self.machines[last].unset_sites = unset;
        self.machines[last].fresh_sites = fresh;
        for i in 0..=last {
            let found = self.with(i, |m| {
                m.collect_races();
                if waited {
                    let says = AssumptionKind::Scheduling.says(PROGRESS);
                    m.found.assumptions.insert(says);
                }
                m.conclude(i == last)
            });
            add(&mut outcome, found, self.machines[i].launch.cta);
        }
        outcome.first_fresh = self.machines[0].first_fresh;
        outcome.fresh = self.fresh - outcome.first_fresh;
        Ended {
            outcome,
            values: self.values,
            choices: self.strong.held.choices,
        }
    }
}

/// A run that has ended.
struct Ended {
    outcome: Outcome,
    values: Values,
    choices: Vec<Choice>,
}

/// What is taken for granted where a thread waits for another.
const PROGRESS: &str =
    "every thread of the grid goes on while others wait for it: all CTAs are resident";

/// Runs the CTAs of a grid together, in every order of the steps that matter; `None` if there are too many.
pub fn run_together(grid: &Grid) -> Option<Outcome> {
    if grid.launches.len() as u64 > MAX_TOGETHER {
        return None;
    }
    let mut first: Option<(Outcome, Vec<Choice>)> = None;
    let mut values: Option<Values> = None;
    let mut plan = Vec::new();
    for runs in 0.. {
        let mut gang = Gang::new(grid, plan, values.take())?;
        // What ends a run is among its findings.
        let _ = gang.run();
        let mut ended = gang.finish();
        let next = following(&ended.choices);
        let bad = !ended.outcome.defects.is_empty() || !ended.outcome.unknowns.is_empty();
        let whole = match &mut first {
            _ if bad => {
                ended.outcome.store = ended.values.store;
                ended.outcome.narrow = ended.values.narrow;
                return Some(ended.outcome);
            }
            None => &mut first.insert((ended.outcome, ended.choices)).0,
            Some((whole, choices)) => {
                compare(whole, &ended, choices, grid);
                whole
            }
        };
        let late = next.is_some() && (runs + 1 >= MAX_RUNS || grid.limits.reached().is_some());
        if late {
            whole.unknowns.push(Finding {
                kind: UnknownKind::Limit,
                message: format!(
                    "atomics whose old values are used can come in more than {} orders, of \
                     which each may give another result",
                    runs + 1
                ),
                count: 1,
                sites: Vec::new(),
            });
        }
        match next {
            Some(p) if !late => {
                plan = p;
                values = Some(ended.values);
            }
            _ => {
                let (mut whole, _) = first?;
                whole.store = ended.values.store;
                whole.narrow = ended.values.narrow;
                return Some(whole);
            }
        }
    }
    None
}

/// The choices of the run after one.
fn following(choices: &[Choice]) -> Option<Vec<u32>> {
    let last = choices.iter().rposition(|c| c.taken + 1 < c.of)?;
    let mut plan: Vec<u32> = choices[..=last].iter().map(|c| c.taken).collect();
    plan[last] += 1;
    Some(plan)
}

/// Adds what is to be shown for two orders to leave the same memory.
fn compare(whole: &mut Outcome, other: &Ended, choices: &[Choice], grid: &Grid) {
    let site = |c: &Choice| Site {
        around: Vec::new(),
        launch: 0,
        cta: grid.launches.get(c.by.0 as usize).map(|l| l.cta),
        pc: c.pc,
        threads: vec![c.by.1],
        text: "comes first".into(),
    };
    let differ = choices.iter().zip(&other.choices).find(|(a, b)| a.taken != b.taken);
    let sites: Vec<Site> = differ.into_iter().flat_map(|(a, b)| [site(a), site(b)]).collect();
    let mut arrays: BTreeSet<ArrayId> = whole.writes.keys().copied().collect();
    arrays.extend(other.outcome.writes.keys());
    for a in arrays {
        let name = &grid.arrays[a].name;
        let none = Default::default();
        let one = whole.writes.get(&a).unwrap_or(&none);
        let two = other.outcome.writes.get(&a).unwrap_or(&none);
        let mut offs: BTreeSet<u64> = one.keys().copied().collect();
        offs.extend(two.keys());
        for off in offs {
            let open = Finding {
                kind: UnknownKind::OrderDependent,
                message: format!(
                    "what {name} holds at byte {off} depends on the order of these operations"
                ),
                count: 1,
                sites: sites.clone(),
            };
            match (one.get(&off), two.get(&off)) {
                (Some(x), Some(y)) if x == y => {}
                (Some(x), Some(y)) => whole.obligations.push(Obligation {
                    equal: (*x, *y),
                    warning: Finding {
                        kind: WarningKind::Note,
                        message: format!(
                            "{name} holds sums whose rounding depends on the order of these operations"
                        ),
                        count: 1,
                        sites: sites.clone(),
                    },
                    otherwise: Otherwise::Open(open),
                }),
                _ => super::merge_finding(&mut whole.unknowns, open),
            }
        }
    }
}

/// Adds what was found of one CTA.
fn add(whole: &mut Outcome, found: Outcome, cta: [u32; 3]) {
    let of = |s: &mut Vec<Site>| s.iter_mut().for_each(|s| s.cta = s.cta.or(Some(cta)));
    for mut f in found.defects {
        of(&mut f.sites);
        super::merge_finding(&mut whole.defects, f);
    }
    for mut f in found.warnings {
        of(&mut f.sites);
        super::merge_finding(&mut whole.warnings, f);
    }
    for mut f in found.unknowns {
        of(&mut f.sites);
        super::merge_finding(&mut whole.unknowns, f);
    }
    for mut f in found.by_schedule {
        of(&mut f.sites);
        super::merge_finding(&mut whole.by_schedule, f);
    }
    whole.obligations.extend(found.obligations);
    whole.conditionals.extend(found.conditionals);
    whole.gathers.extend(found.gathers);
    let mut all: BTreeSet<_> = std::mem::take(&mut whole.assumptions).into_iter().collect();
    all.extend(found.assumptions);
    whole.assumptions = all.into_iter().collect();
    whole.stats.add(&found.stats);
    whole.executed.resize(found.executed.len().max(whole.executed.len()), 0);
    for (all, own) in whole.executed.iter_mut().zip(&found.executed) {
        *all += own;
    }
    whole.taken.add(&found.taken);
    for (a, w) in found.writes {
        whole.writes.insert(a, w);
    }
}

impl Machine<'_> {
    /// The CTA runs with others.
    fn go_together(&mut self, strong: &Strong) {
        self.fences.present = true;
        self.order.report.strong_elsewhere = true;
        for (pc, class) in (0u32..).zip(&mut self.classes) {
            if strong.held.stops(Pc(pc)) {
                *class = Class::General;
            }
        }
    }

    /// What a lane waits for that is held, in words.
    pub fn held_wait(&mut self, w: usize, lane: usize) -> Option<String> {
        let cta = self.strong.cta;
        let mut all = self.strong.held.waiting.iter();
        let pc = all.find(|h| (h.cta, h.w, h.lane) == (cta, w, lane))?.pc;
        let (key, bytes) = self.held_at(w, lane, pc)?;
        let place = self.place(key.region, key.off, bytes);
        Some(match self.word_at(key, bytes, pc) {
            Some(v) => format!("waits for {place}, which stays {v}"),
            None => format!("waits for {place}"),
        })
    }

    /// Whether a lane goes on is not known.
    fn open_wait(&mut self, h: &Waiting) {
        let what = match self.held_at(h.w, h.lane, h.pc) {
            Some((key, bytes)) => self.place(key.region, key.off, bytes),
            None => "a word".into(),
        };
        let site = self.site(h.pc, h.w, 1 << h.lane, format!("waits for {what}"));
        self.unknown(UnknownKind::NondeterministicValue, vec![site], || {
            format!(
                "whether the loop that waits for {what} ends is not known: bind its first content \
                 (=0), or wait by a comparison with a known number"
            )
        });
    }

    fn site_of(&self, (pc, who): (Pc, Who), text: String) -> Site {
        Site {
            around: Vec::new(),
            launch: 0,
            // The others are named by the launch.
            cta: Some(self.launch.with_cta(self.strong.ranks[who.0 as usize]).cta),
            pc,
            threads: vec![who.1],
            text,
        }
    }

    fn report_trouble(&mut self, t: &Trouble) {
        let place = self.place(t.key.region, t.key.off, 4);
        let sites = vec![
            self.site_of(t.earlier, format!("accesses {place}")),
            self.site_of(t.later, format!("accesses {place}")),
        ];
        self.unknown(UnknownKind::NondeterministicValue, sites, || {
            format!("strong accesses of {place}: {}", t.why)
        });
    }

    fn report_between(&mut self, f: &Found) {
        let place = self.place(f.at.0, f.at.1, 4);
        let verb = |k: Kind| match (k.writes(), k.strong()) {
            (false, _) => format!("reads {place}"),
            (true, false) => format!("writes {place}"),
            (true, true) => format!("updates {place}"),
        };
        let (a, b) = (f.earlier, f.later);
        let sites = vec![
            self.site_of((a.0, a.1), verb(a.2)),
            self.site_of((b.0, b.1), verb(b.2)),
        ];
        let ctas = [&sites[0], &sites[1]].map(|s| crate::spec::launch::show(s.cta.unwrap_or([0; 3])));
        let what = format!(
            "{} of {place} by CTA {} and {} by CTA {}",
            a.2.name(),
            ctas[0],
            b.2.name(),
            ctas[1]
        );
        let open = match f.fault {
            Fault::Race => {
                let why = "no fence and flag between the CTAs order them";
                return self.defect_counted(DefectKind::DataRace, f.count, sites, || {
                    format!("{what}: {why}")
                });
            }
            Fault::Scope => {
                let why = "the scope of one is not the device, so that it is not atomic for the other";
                return self.defect_counted(DefectKind::DataRace, f.count, sites, || {
                    format!("{what}: {why}")
                });
            }
            Fault::Same => "nothing orders them, and whether the values are equal is not looked into",
            Fault::Open => "nothing orders them for certain",
        };
        self.unknown(UnknownKind::Undecided, sites, || format!("{what}: {open}"));
    }
}
