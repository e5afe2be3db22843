//! Whether the CTAs of a grid run together or each alone, and in which orders.
//!
//! The problem: a CTA that waits for another one gets nowhere alone, and accesses that fences and flags order look
//! unordered. Running all CTAs together, with strong accesses followed ([`crate::sim::strong`]), answers both, at the
//! price of one run for each order of the steps that matter. Kernels with loops that wait run so at once; those
//! that only have the means to order threads do so where running each CTA alone leaves something open.
//!
//! Sound: both are complete on their own; which one answers is a matter of what it can decide. Values are compared
//! between the runs: where they are equal over the reals only, a note says so (floats that are words must be the same
//! operations), and where they are not, the result is `order-dependent`, with the first step at which the orders part.

use std::collections::BTreeMap;

use crate::answer::AssumptionKind;
use crate::explore::{Next, Reason, Refinement};
use crate::kernel::awaits::Awaits;
use crate::kernel::{Kernel, Op, Pc};
use crate::sim::join::{Memories, Symbols};
use crate::sim::strong::hold::{Choice, Steps};
use crate::sim::strong::{concerns, counts, waits};
use crate::sim::{
    DefectKind, Finding, Obligation, Otherwise, Outcome, Site, Tid, UnknownKind, WarningKind,
};
use crate::spec::Role;
use crate::term::ArrayId;

use super::discharge::{discharge, merge};
use super::ladder::{Grid, Knowledge, Ran};
use super::{Covered, Subject, same_bits};

/// Most runs, each with its order.
const MAX_RUNS: usize = Reason::Orders.most() as usize - 1;

/// Most instructions of warps in all of them.
const MAX_WORK: u64 = 1 << 23;

/// Most threads of a grid in which nothing orders threads but that they count in turn.
const MAX_COUNTING: u64 = 256;

/// Most threads of a grid in which nothing orders threads but that they read volatile words, and most runs of one.
const MAX_VOLATILE: u64 = 1 << 10;
const MAX_VOLATILE_RUNS: usize = 1 << 6;

/// The first target whose lanes go on independently, so that a volatile load may miss what another lane of its warp wrote.
const INDEPENDENT: u32 = 70;

/// Most runs of such a grid, and of one with many steps, since its orders differ or are one from the start.
const MAX_COUNTING_RUNS: usize = 1 << 7;
const MANY_STEPS: (usize, usize) = (6, 8);

/// Old values that a thread reads at one place, after which it is taken to spin there, and most old values of one more run.
const MANY_OLD: usize = 64;
const ONLY_OLD: usize = 1 << 12;

/// What is taken for granted where a thread waits for another.
const PROGRESS: &str =
    "every thread of the grid goes on while others wait for it: all CTAs are resident";

/// True if all CTAs run together from the start: some wait for others.
pub(super) fn begins_together(subject: &Subject, ranks: &[u64]) -> bool {
    may_run_together(subject, ranks) && waits(subject.kernel)
}

/// True if the CTAs of these ranks are the whole grid, and how its threads order each other may decide something.
fn may_run_together(subject: &Subject, ranks: &[u64]) -> bool {
    let mode = subject.resolved.mode;
    let whole = ranks.len() as u64 == subject.resolved.launch.ctas();
    let compared = !mode.has_numbers() && mode.made_by().is_none();
    let means = concerns(subject.kernel) || is_counting(subject) || is_looking(subject);
    whole && compared && means
}

fn threads(subject: &Subject) -> u64 {
    let launch = &subject.resolved.launch;
    u64::from(launch.threads()).saturating_mul(launch.ctas())
}

/// True if few threads count in turn.
fn is_counting(subject: &Subject) -> bool {
    let plain = subject.resolved.mode.words().is_none();
    plain && threads(subject) <= MAX_COUNTING && counts(subject.kernel)
}

/// True if few threads read volatile words.
fn is_looking(subject: &Subject) -> bool {
    let plain = subject.resolved.mode.words().is_none();
    plain && threads(subject) <= MAX_VOLATILE && is_volatile(subject.kernel)
}

/// True if nothing that running all CTAs together may show changes what is known of each alone. A race may be none where
/// strong accesses, whose order is open, turn out to order it.
fn is_decided(alone: &Covered) -> bool {
    let mut defects = alone.outcome.defects.iter();
    defects.any(|d| d.kind != DefectKind::DataRace) || alone.outcome.unknowns.is_empty()
}

/// The orders of the steps that matter, one after the other.
pub(super) struct Orders {
    begins_together: bool,
    /// What each CTA leaves alone, if that was looked at.
    alone: Option<Box<Covered>>,
    /// What the orders so far leave, and the choices of the first.
    whole: Option<(Covered, Vec<Choice>)>,
    runs: usize,
    terms: u64,
    work: u64,
    /// Where a thread reads old values again and again; the run that is made is the last one then.
    spins: Option<Site>,
}

/// What follows an order.
enum NextOrder {
    Order(Vec<u32>),
    Done(Box<Covered>),
}

impl<'g> Refinement<&'g Grid<'_>> for Orders {
    fn reason(&self) -> Reason {
        Reason::Orders
    }

    fn look(&mut self, grid: &&'g Grid<'_>, known: &mut Knowledge, ran: Ran<'g>) -> Next<Ran<'g>> {
        let subject = grid.subject(known);
        let next = match ran {
            Ran::Order(order) => self.take(&subject, &grid.plan().awaits, *order),
            Ran::Covered(alone) => {
                if !may_run_together(&subject, grid.ranks) || is_decided(&alone) {
                    return Next::Pass(Ran::Covered(alone));
                }
                self.alone = Some(alone);
                NextOrder::Order(Vec::new())
            }
            ran => return Next::Pass(ran),
        };
        let all = match next {
            NextOrder::Order(first) => {
                known.order = Some(first);
                return Next::Again;
            }
            NextOrder::Done(all) => all,
        };
        let alone = self.alone.take().filter(|_| !concerns(subject.kernel));
        // Too many orders to run: what is open of each CTA says more.
        let counting = is_counting(&subject);
        let late = |f: &Finding<UnknownKind>| !counting || f.kind == UnknownKind::Limit;
        let alone = alone.filter(|_| all.outcome.unknowns.iter().any(late));
        Next::Pass(Ran::Covered(alone.unwrap_or(all)))
    }

    fn reset(&mut self, known: &mut Knowledge) {
        *self = Orders::new(self.begins_together);
        known.order = self.begins_together.then(Vec::new);
    }
}

impl Orders {
    pub(super) fn new(begins_together: bool) -> Orders {
        Orders {
            begins_together,
            alone: None,
            whole: None,
            runs: 0,
            terms: 0,
            work: 0,
            spins: None,
        }
    }

    /// Takes what an order leaves.
    fn take(
        &mut self,
        subject: &Subject,
        awaits: &Awaits,
        (mut ended, steps): (Covered, Steps),
    ) -> NextOrder {
        let most = match (concerns(subject.kernel), counts(subject.kernel)) {
            (true, _) => MAX_RUNS,
            (false, true) => MAX_COUNTING_RUNS,
            (false, false) => MAX_VOLATILE_RUNS,
        };
        self.runs += 1;
        self.terms += ended.terms;
        self.work += ended.outcome.stats.warp_instructions;
        if steps.waited {
            let progress = AssumptionKind::Scheduling.says(PROGRESS);
            ended.outcome.assumptions.push(progress);
        }
        let next = following_plan(&steps.choices);
        let hopeless =
            most < MAX_RUNS && steps.choices.len() > MANY_STEPS.0 && self.runs >= MANY_STEPS.1;
        let late = hopeless || self.runs >= most || self.work >= MAX_WORK || subject.late();
        let choices = steps.choices.clone();
        let found = !ended.outcome.defects.is_empty() || !ended.outcome.unknowns.is_empty();
        match &mut self.whole {
            _ if steps.redundant => {}
            _ if found => return self.found(subject, awaits, (ended, &steps)),
            None => self.whole = Some((ended, steps.choices)),
            Some((whole, choices)) => {
                let by = match by_loads(subject, awaits, choices, &steps) {
                    Some(sites) => By::Loads(sites),
                    None => By::Order("the order of these steps", parting(choices, &steps.choices)),
                };
                let left = whole.outcome.join(ended.outcome, Symbols::Shared);
                compare(&mut whole.outcome, &left, &by, subject);
            }
        }
        let last = self.spins.is_some();
        self.spins = self.spins.take().or_else(|| spinning(subject, &choices));
        match (next, &mut self.whole) {
            // A thread that spins reads old values as often as the schedule likes. One run more reads nothing else.
            (Some(_), _) if !late && !last && self.spins.is_some() => {
                return NextOrder::Order(vec![u32::MAX; ONLY_OLD]);
            }
            (Some(next), _) if !late && !last => return NextOrder::Order(next),
            (next, Some((whole, _))) => match self.spins.take() {
                Some(site) if last || next.is_some() => {
                    whole.outcome.unknowns.push(goes_round(site));
                }
                _ if next.is_some() => whole.outcome.unknowns.push(too_many(self.runs)),
                _ => {}
            },
            (_, None) => {}
        }
        let Some((mut whole, _)) = self.whole.take() else {
            ended = Covered::default();
            ended.outcome.unknowns.push(too_many(most));
            return self.done(ended, subject);
        };
        if subject.resolved.mode.words().is_some() {
            same_bits(&mut whole.outcome);
        }
        discharge(&mut whole.outcome, subject.arrays, subject.deciding);
        self.done(whole, subject)
    }

    /// What is known where an order has a finding.
    fn found(
        &mut self,
        subject: &Subject,
        awaits: &Awaits,
        (mut ended, steps): (Covered, &Steps),
    ) -> NextOrder {
        if steps.doubtful {
            doubt(&mut ended.outcome);
        }
        let whole = self.whole.take();
        // What was there before was never written.
        if let Some((_, choices)) = &whole
            && let Some(sites) = by_loads(subject, awaits, choices, steps)
        {
            let unset = |d: &&mut Finding<DefectKind>| d.kind == DefectKind::UninitializedRead;
            for d in ended.outcome.defects.iter_mut().filter(unset) {
                d.kind = DefectKind::OrderDependent;
                d.message = format!(
                    "a value of another thread, or what was never written, decides an output: {NO_ORDER}"
                );
                d.sites = sites.clone();
            }
        }
        // What the orders before found is found.
        if let Some((whole, _)) = whole {
            ended.outcome.join(whole.outcome, Symbols::Shared);
        }
        self.done(ended, subject)
    }

    fn done(&self, all: Covered, subject: &Subject) -> NextOrder {
        NextOrder::Done(Box::new(Covered {
            terms: self.terms,
            ctas: subject.team(0),
            whole: true,
            ..all
        }))
    }
}

/// What was found where a read gave an old value that fences may exclude: open.
fn doubt(outcome: &mut Outcome) {
    let why = "whether fence.sc excludes what is read here is not looked into";
    let defects = std::mem::take(&mut outcome.defects).into_iter();
    let open = defects.map(|f| f.of(UnknownKind::Undecided).because(why));
    outcome.unknowns.extend(open);
}

fn too_many(runs: usize) -> Finding<UnknownKind> {
    Finding::new(
        UnknownKind::Limit,
        format!(
            "atomics and waits whose values are used can come in more than {runs} orders, each of \
             which may give another result"
        ),
    )
}

/// Where a thread reads old values again and again.
fn spinning(subject: &Subject, choices: &[Choice]) -> Option<Site> {
    let reads = |c: &&Choice| {
        let inst = &subject.kernel.insts[c.pc.0 as usize];
        c.taken > 0 && matches!(inst.op, Op::Ld { .. })
    };
    let old: Vec<&Choice> = choices.iter().filter(reads).collect();
    if old.len() < MANY_OLD {
        return None;
    }
    let mut counts: BTreeMap<([u32; 3], Tid, Pc), usize> = BTreeMap::new();
    for c in &old {
        *counts.entry((c.cta, c.thread, c.pc)).or_default() += 1;
    }
    let most = old
        .iter()
        .find(|c| counts[&(c.cta, c.thread, c.pc)] >= MANY_OLD)?;
    Some(site(most, "reads an old value in each round"))
}

fn goes_round(site: Site) -> Finding<UnknownKind> {
    let message = format!(
        "a loop that does more than wait reads a value that another thread overwrites, and may read the old one \
         in any number of rounds; it was followed for {MANY_OLD} of them"
    );
    Finding::new(UnknownKind::Limit, message).at(vec![site])
}

/// The choices of the run after one.
fn following_plan(choices: &[Choice]) -> Option<Vec<u32>> {
    let last = choices.iter().rposition(|c| c.taken + 1 < c.of)?;
    let mut plan: Vec<u32> = choices[..=last].iter().map(|c| c.taken).collect();
    plan[last] += 1;
    Some(plan)
}

fn site(c: &Choice, text: &str) -> Site {
    Site::new(c.pc, vec![c.thread], text).in_cta(c.cta)
}

/// What makes two runs differ.
pub(super) enum By {
    /// The order of steps, in words, with the places.
    Order(&'static str, Vec<Site>),
    /// What volatile loads give, with the places of the first and of a write that it may miss.
    Loads(Vec<Site>),
}

/// What is missing where a volatile load decides.
const NO_ORDER: &str = "nothing orders this volatile load and the write, and a barrier between them is missing; no data race \
                        by the manual, for both are strong";

/// Are volatile loads outside of loops that wait all that makes two runs differ? The places, if so.
fn by_loads(subject: &Subject, awaits: &Awaits, one: &[Choice], two: &Steps) -> Option<Vec<Site>> {
    let kernel = subject.kernel;
    let volatile = |c: &Choice| match &kernel.insts[c.pc.0 as usize].op {
        Op::Ld { access, .. } => access.volatile && !awaits.by_access.contains_key(&c.pc),
        _ => false,
    };
    let both = || one.iter().zip(&two.choices);
    let at = both().position(|(a, b)| a.taken != b.taken)?;
    let later = one[at..].iter().chain(&two.choices[at..]);
    let write = two.missed.get(&at)?;
    // Where fences and loops that wait order threads too, what else may have been read is no matter of a barrier alone.
    let alone = kernel.sm >= INDEPENDENT && !concerns(kernel);
    (alone && later.into_iter().all(volatile)).then(|| {
        vec![
            site(&two.choices[at], "reads this value or the one before"),
            site(write, "writes it"),
        ]
    })
}

/// True if threads of a kernel read volatile words.
fn is_volatile(kernel: &Kernel) -> bool {
    let reads = |op: &Op| matches!(op, Op::Ld { access, .. } if access.volatile);
    kernel.insts.iter().any(|inst| reads(&inst.op))
}

/// The first steps in which two orders differ.
fn parting(one: &[Choice], two: &[Choice]) -> Vec<Site> {
    let site = |c: &Choice| site(c, "comes first");
    let differ = one.iter().zip(two).find(|(a, b)| a.taken != b.taken);
    differ
        .into_iter()
        .flat_map(|(a, b)| [site(a), site(b)])
        .collect()
}

/// Adds what is to be shown for memory to be what another run left, with what may make the difference.
pub(super) fn compare(whole: &mut Outcome, other: &Memories, by: &By, subject: &Subject) {
    let is_asked = |a: ArrayId| subject.arrays[a].role != Some(Role::Scratch);
    let (what, sites) = match by {
        By::Order(by, sites) => (*by, sites),
        By::Loads(sites) => ("which value a volatile load gives", sites),
    };
    let differing: Vec<_> = whole.differing(other, is_asked).collect();
    for (a, off, both) in differing {
        let name = &subject.arrays[a].name;
        let depends = format!("what {name} holds at byte {off} depends on {what}");
        let open = Finding::new(UnknownKind::OrderDependent, depends.as_str()).at(sites.clone());
        let Some(equal) = both else {
            merge(&mut whole.unknowns, open);
            continue;
        };
        let rounds = format!("the rounding of {name} depends on {what}");
        whole.obligations.push(Obligation {
            equal,
            warning: Finding::new(WarningKind::Note, rounds).at(sites.clone()),
            otherwise: match by {
                By::Order(..) => Otherwise::Open(open),
                By::Loads(_) => {
                    let message = format!("{depends}: {NO_ORDER}");
                    let defect = Finding::new(DefectKind::OrderDependent, message);
                    Otherwise::Defect(defect.at(sites.clone()))
                }
            },
        });
    }
}
