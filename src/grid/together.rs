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

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::answer::AssumptionKind;
use crate::kernel::awaits::awaits;
use crate::sim::join::{Memories, Symbols};
use crate::sim::strong::hold::{Choice, Plan};
use crate::sim::strong::{concerns, counts, waits};
use crate::sim::{
    DefectKind, Finding, Noting, Obligation, Otherwise, Outcome, Site, UnknownKind, WarningKind,
    Writes,
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

/// Most runs of such a grid, and of one with many steps, since its orders differ or are one from the start.
const MAX_COUNTING_RUNS: usize = 1 << 7;
const MANY_STEPS: (usize, usize) = (6, 8);

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
    let few = u64::from(launch.threads()).saturating_mul(launch.ctas()) <= MAX_COUNTING;
    let counting = launch.words.is_none() && few && counts(subject.kernel);
    if !whole || !compared || !concerns(subject.kernel) && !counting {
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
            let late = |f: &Finding<UnknownKind>| f.kind == UnknownKind::Limit;
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
    let most = match concerns(subject.kernel) {
        true => MAX_RUNS,
        false => MAX_COUNTING_RUNS,
    };
    let mut whole: Option<(Outcome, Vec<Choice>)> = None;
    let (mut plan, mut terms, mut work) = (Vec::new(), 0, 0);
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
                // What the orders before found is found.
                if let Some((whole, _)) = whole {
                    ended.join(whole, Symbols::Shared);
                }
                return (ended, terms);
            }
            None => whole = Some((ended, steps.choices)),
            Some((whole, choices)) => {
                let sites = parting(choices, &steps.choices);
                let left = whole.join(ended, Symbols::Shared);
                compare(whole, &left, ("the order of these steps", &sites), subject);
            }
        }
        match (next, &mut whole) {
            (Some(next), _) if !late => plan = next,
            (next, Some((whole, _))) => {
                if next.is_some() {
                    whole.unknowns.push(too_many(runs));
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

/// The choices of the run after one.
fn following_plan(choices: &[Choice]) -> Option<Vec<u32>> {
    let last = choices.iter().rposition(|c| c.taken + 1 < c.of)?;
    let mut plan: Vec<u32> = choices[..=last].iter().map(|c| c.taken).collect();
    plan[last] += 1;
    Some(plan)
}

/// The first steps in which two orders differ.
fn parting(one: &[Choice], two: &[Choice]) -> Vec<Site> {
    let site = |c: &Choice| Site {
        around: Vec::new(),
        launch: 0,
        cta: Some(c.cta),
        pc: c.pc,
        threads: vec![c.thread],
        text: "comes first".into(),
    };
    let differ = one.iter().zip(two).find(|(a, b)| a.taken != b.taken);
    differ
        .into_iter()
        .flat_map(|(a, b)| [site(a), site(b)])
        .collect()
}

/// Adds what is to be shown for memory to be what another run left, with what may make the difference.
pub(super) fn compare(
    whole: &mut Outcome,
    other: &Memories,
    (by, sites): (&str, &[Site]),
    subject: &Subject,
) {
    let mut arrays: BTreeSet<ArrayId> = whole.writes.keys().copied().collect();
    arrays.extend(other.writes.keys());
    arrays.retain(|a| subject.arrays[*a].role != Some(Role::Scratch));
    let none = Writes::new();
    for a in arrays {
        let name = &subject.arrays[a].name;
        let [ours, theirs] = [&whole.writes, &other.writes].map(|w| w.get(&a).unwrap_or(&none));
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
                    otherwise: Otherwise::Open(open(*off)),
                }),
            }
        }
    }
}
