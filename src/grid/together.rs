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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::answer::AssumptionKind;
use crate::kernel::awaits::{Awaits, awaits};
use crate::kernel::{Kernel, Op, Pc};
use crate::sim::join::{Memories, Symbols};
use crate::sim::strong::hold::{Choice, Plan, Steps};
use crate::sim::strong::{concerns, counts, waits};
use crate::sim::{
    DefectKind, Finding, Noting, Obligation, Otherwise, Outcome, Site, Tid, UnknownKind,
    WarningKind, Writes,
};
use crate::spec::Role;
use crate::term::ArrayId;

use super::discharge::{discharge, merge};
use super::select::Elements;
use super::{Covered, Subject, same_bits};

/// Most runs, each with its order.
const MAX_RUNS: usize = 1 << 10;

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

/// Runs the CTAs of these ranks together, where that is needed and they are the whole grid, else `alone`.
pub(super) fn or_alone(
    subject: &Subject,
    ranks: &[u64],
    alone: impl Fn(&Subject, &[u64]) -> Covered,
) -> Covered {
    let launch = &subject.resolved.launch;
    let whole = ranks.len() as u64 == launch.ctas();
    let compared = !launch.numbers && launch.trees.is_none();
    let threads = u64::from(launch.threads()).saturating_mul(launch.ctas());
    let plain = launch.words.is_none();
    let counting = plain && threads <= MAX_COUNTING && counts(subject.kernel);
    let looking = plain && threads <= MAX_VOLATILE && is_volatile(subject.kernel);
    if !whole || !compared || !concerns(subject.kernel) && !counting && !looking {
        return alone(subject, ranks);
    }
    // A race may be none where strong accesses, whose order is open, turn out to order it.
    let firm = |c: &Covered| {
        let mut defects = c.outcome.defects.iter();
        defects.any(|d| d.kind != DefectKind::DataRace)
    };
    let decided = |c: &Covered| firm(c) || c.outcome.unknowns.is_empty();
    let each = match waits(subject.kernel) {
        true => None,
        false => Some(alone(subject, ranks)),
    };
    match each {
        Some(each) if decided(&each) => each,
        Some(each) if !concerns(subject.kernel) => {
            let all = together(subject);
            // Too many orders to run: what is open of each CTA says more.
            let late = |f: &Finding<UnknownKind>| !counting || f.kind == UnknownKind::Limit;
            match all.outcome.unknowns.iter().any(late) {
                true => each,
                false => all,
            }
        }
        _ => together(subject),
    }
}

/// All CTAs of the grid, in every order of the steps that matter.
fn together(subject: &Subject) -> Covered {
    let mut resolved = subject.resolved.clone();
    resolved.launch.together = true;
    let one = Subject {
        resolved: &resolved,
        without_values: false,
        ..*subject
    };
    let (outcome, terms) = explore(&one);
    Covered {
        terms,
        outcome,
        ctas: one.team(0),
        whole: true,
        wrote: Elements::new(),
    }
}

fn explore(subject: &Subject) -> (Outcome, u64) {
    let limits = subject.limits(subject.deciding.limits.memory);
    let awaits = Arc::new(awaits(subject.kernel));
    let most = match (concerns(subject.kernel), counts(subject.kernel)) {
        (true, _) => MAX_RUNS,
        (false, true) => MAX_COUNTING_RUNS,
        (false, false) => MAX_VOLATILE_RUNS,
    };
    let mut whole: Option<(Outcome, Vec<Choice>)> = None;
    let (mut plan, mut terms, mut work) = (Vec::new(), 0, 0);
    let mut spins: Option<Site> = None;
    for runs in 1.. {
        let following = Plan {
            awaits: awaits.clone(),
            first: plan,
        };
        let noting = Noting {
            following: Some(following),
            ..Noting::default()
        };
        let mut ended = subject.settled(0, &limits, &noting);
        terms += ended.store.len() as u64;
        let steps = ended.steps.take().unwrap_or_default();
        if steps.waited {
            ended
                .assumptions
                .push(AssumptionKind::Scheduling.says(PROGRESS));
        }
        let next = following_plan(&steps.choices);
        let choices = steps.choices.clone();
        work += ended.stats.warp_instructions;
        let hopeless =
            most < MAX_RUNS && steps.choices.len() > MANY_STEPS.0 && runs >= MANY_STEPS.1;
        let late = hopeless || runs >= most || work >= MAX_WORK || subject.late();
        match &mut whole {
            _ if steps.redundant => {}
            _ if !ended.defects.is_empty() || !ended.unknowns.is_empty() => {
                if steps.doubtful {
                    doubt(&mut ended);
                }
                // What was there before was never written.
                if let Some((_, choices)) = &whole
                    && let Some(sites) = by_loads(subject, &awaits, choices, &steps)
                {
                    let unset =
                        |d: &&mut Finding<DefectKind>| d.kind == DefectKind::UninitializedRead;
                    for d in ended.defects.iter_mut().filter(unset) {
                        d.kind = DefectKind::OrderDependent;
                        d.message = format!(
                            "a value of another thread, or what was never written, decides an output: {NO_ORDER}"
                        );
                        d.sites = sites.clone();
                    }
                }
                // What the orders before found is found.
                if let Some((whole, _)) = whole {
                    ended.join(whole, Symbols::Shared);
                }
                return (ended, terms);
            }
            None => whole = Some((ended, steps.choices)),
            Some((whole, choices)) => {
                let by = match by_loads(subject, &awaits, choices, &steps) {
                    Some(sites) => By::Loads(sites),
                    None => By::Order("the order of these steps", parting(choices, &steps.choices)),
                };
                let left = whole.join(ended, Symbols::Shared);
                compare(whole, &left, &by, subject);
            }
        }
        let last = spins.is_some();
        spins = spins.or_else(|| spinning(subject, &choices));
        match (next, &mut whole) {
            // A thread that spins reads old values as often as the schedule likes. One run more reads nothing else.
            (Some(_), _) if !late && !last && spins.is_some() => {
                plan = vec![u32::MAX; ONLY_OLD];
            }
            (Some(next), _) if !late && !last => plan = next,
            (next, Some((whole, _))) => {
                match spins {
                    Some(site) if last || next.is_some() => whole.unknowns.push(goes_round(site)),
                    _ if next.is_some() => whole.unknowns.push(too_many(runs)),
                    _ => {}
                }
                break;
            }
            (_, None) => break,
        }
    }
    let Some((mut outcome, _)) = whole else {
        let mut out = Outcome::default();
        out.unknowns.push(too_many(most));
        return (out, terms);
    };
    if subject.resolved.launch.words.is_some() {
        same_bits(&mut outcome);
    }
    discharge(&mut outcome, subject.arrays, subject.deciding);
    (outcome, terms)
}

/// What was found where a read gave an old value that fences may exclude: open.
fn doubt(outcome: &mut Outcome) {
    for f in std::mem::take(&mut outcome.defects) {
        outcome.unknowns.push(Finding {
            kind: UnknownKind::Undecided,
            message: format!(
                "{}; whether fence.sc excludes what is read here is not looked into",
                f.message
            ),
            count: f.count,
            sites: f.sites,
        });
    }
}

fn too_many(runs: usize) -> Finding<UnknownKind> {
    Finding {
        kind: UnknownKind::Limit,
        message: format!(
            "atomics and waits whose values are used can come in more than {runs} orders, each of \
             which may give another result"
        ),
        count: 1,
        sites: Vec::new(),
    }
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
    Finding {
        kind: UnknownKind::Limit,
        message: format!(
            "a loop that does more than wait reads a value that another thread overwrites, and may read the old one \
             in any number of rounds; it was followed for {MANY_OLD} of them"
        ),
        count: 1,
        sites: vec![site],
    }
}

/// The choices of the run after one.
fn following_plan(choices: &[Choice]) -> Option<Vec<u32>> {
    let last = choices.iter().rposition(|c| c.taken + 1 < c.of)?;
    let mut plan: Vec<u32> = choices[..=last].iter().map(|c| c.taken).collect();
    plan[last] += 1;
    Some(plan)
}

fn site(c: &Choice, text: &str) -> Site {
    Site {
        around: Vec::new(),
        launch: 0,
        cta: Some(c.cta),
        pc: c.pc,
        threads: vec![c.thread],
        text: text.into(),
    }
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
    let mut arrays: BTreeSet<ArrayId> = whole.writes.keys().copied().collect();
    arrays.extend(other.writes.keys());
    arrays.retain(|a| subject.arrays[*a].role != Some(Role::Scratch));
    let none = Writes::new();
    let decides = matches!(by, By::Loads(_));
    for a in arrays {
        let name = &subject.arrays[a].name;
        let [ours, theirs] = [&whole.writes, &other.writes].map(|w| w.get(&a).unwrap_or(&none));
        let (by, sites) = match by {
            By::Order(by, sites) => (*by, sites),
            By::Loads(sites) => ("which value a volatile load gives", sites),
        };
        let open = |off: u64| Finding {
            kind: UnknownKind::OrderDependent,
            message: format!("what {name} holds at byte {off} depends on {by}"),
            count: 1,
            sites: sites.to_vec(),
        };
        let missing = ours.keys().filter(|off| !theirs.contains_key(off));
        for off in missing {
            merge(&mut whole.unknowns, open(*off));
        }
        for (off, y) in theirs {
            match ours.get(off) {
                Some(x) if x == y => {}
                None => merge(&mut whole.unknowns, open(*off)),
                Some(x) => whole.obligations.push(Obligation {
                    equal: (*x, *y),
                    warning: Finding {
                        kind: WarningKind::Note,
                        message: format!("the rounding of {name} depends on {by}"),
                        count: 1,
                        sites: sites.to_vec(),
                    },
                    otherwise: match decides {
                        true => Otherwise::Defect(Finding {
                            kind: DefectKind::OrderDependent,
                            message: format!(
                                "what {name} holds at byte {off} depends on {by}: {NO_ORDER}"
                            ),
                            count: 1,
                            sites: sites.to_vec(),
                        }),
                        false => Otherwise::Open(open(*off)),
                    },
                }),
            }
        }
    }
}
