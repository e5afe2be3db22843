//! The CTAs of a grid on numbers: one after the other, each on the memory that those before it left.
//!
//! That is one order of the CTAs, in which counters, flags and float sums in memory have the values that they have
//! in it. What other orders would change is found as elsewhere, by `between`, from the accesses of each CTA.

use rustc_hash::FxHashSet;

use crate::kernel::Pc;
use crate::sim::numbers::Memory;
use crate::sim::strong::{concerns, waits};
use crate::sim::{Finding, Knowledge, Noting, UnknownKind};
use crate::term::ArrayId;

use super::ladder::plan;
use super::{Covered, MAX_CTAS, Subject, Whole};

/// Most threads of a grid that runs together though its CTAs could run one after the other.
const MAX_THREADS: u64 = 1 << 14;

/// Runs the CTAs of these ranks, which ascend; with what they leave in memory. A grid whose CTAs wait for each other runs
/// all of them together, and so does one whose fences and flags order what looks unordered CTA by CTA.
pub fn in_order(subject: &Subject, ranks: &[u64]) -> (Covered, Option<Memory>) {
    let launch = &subject.resolved.launch;
    let whole = ranks.len() as u64 == launch.ctas();
    let waiting = waits(subject.kernel);
    if !waiting || !whole {
        let (alone, memory) = each(subject, ranks, waiting && ranks.len() > 1);
        let open = |u: &Finding<UnknownKind>| u.kind == UnknownKind::Undecided;
        let open = alone.outcome.unknowns.iter().any(open) && alone.outcome.defects.is_empty();
        let threads = u64::from(launch.threads()).saturating_mul(launch.ctas());
        if !(whole && open && concerns(subject.kernel) && threads <= MAX_THREADS) {
            return (alone, memory);
        }
    }
    let mut resolved = subject.resolved.clone();
    resolved.mode.together = true;
    let all = Subject {
        resolved: &resolved,
        ..*subject
    };
    each(&all, ranks, false)
}

/// Runs those that do not run together one after the other.
fn each(subject: &Subject, ranks: &[u64], stuck: bool) -> (Covered, Option<Memory>) {
    let (ranks, count) = (&subject.runs(ranks)[..], ranks.len());
    let arrays = 0..subject.arrays.0.len() as u32;
    let all: FxHashSet<ArrayId> = arrays.map(ArrayId).collect();
    let known = Knowledge {
        tracked: all,
        program: Some(subject.program()),
        ..subject.knowledge()
    };
    let mut whole = Whole::new(*subject, known);
    let limits = subject.limits(subject.deciding.limits.memory);
    let together = subject.resolved.mode.together;
    // One after the other, CTAs that wait for each other get nowhere.
    let following = together.then(|| plan(subject));
    let mut memory = Memory::default();
    let mut ran = Vec::new();
    let mut done = 0;
    let mut ended = None;
    for &rank in ranks.iter().filter(|_| !stuck) {
        if let Some(what) = subject.deciding.limits.reached() {
            whole.stopped(what, done, ranks.len());
            break;
        }
        let noting = match ranks {
            [_] => Noting::default(),
            _ => whole.noting.clone(),
        };
        let noting = Noting {
            memory: Some(memory.clone()),
            known: Knowledge {
                order: following.clone(),
                ..noting.known
            },
            ..noting
        };
        let mut outcome = subject.settled(rank, &limits, &noting);
        ended = outcome.memory.take();
        let accesses = outcome.footprint.accesses();
        ran.extend(subject.team(rank));
        done += 1;
        // Reads of every array are noted, so that none is missed.
        let _ = whole.add(rank, outcome, accesses);
        match &ended {
            Some(left) if left.is_known() => memory = left.clone(),
            // The next CTA would find something that is not known.
            _ => break,
        }
    }
    whole.out.whole = done == ranks.len() && ran.len() as u64 == subject.resolved.launch.ctas();
    // What memory holds is known, however atomics of several CTAs would be joined.
    whole.memory.lost.clear();
    let unsettled = done < ranks.len() && subject.deciding.limits.reached().is_none();
    let mut covered = whole.finish();
    // A CTA in which a defect ended the run was run as well.
    covered.ctas = ran;
    if stuck {
        covered.outcome.unknowns.push(Finding::new(
            UnknownKind::Limit,
            "CTAs that wait for others run only together, as the whole grid",
        ));
    } else if unsettled && covered.outcome.defects.is_empty() {
        covered.outcome.unknowns.push(Finding::new(
            UnknownKind::NondeterministicValue,
            format!("memory holds something that is not known after {done} of {count} CTAs"),
        ));
    }
    (covered, ended)
}

/// What the CTAs leave in another order, with warps and diverged lanes in an order that is drawn; `None` unless every
/// CTA ends without a finding, and with all of memory known. What `rechecked` loads read in a race is of no consequence.
pub fn in_other_order(
    subject: &Subject,
    (ranks, seed): (&[u64], Option<u64>),
    rechecked: &[Pc],
) -> Option<Memory> {
    let limits = subject.limits(subject.deciding.limits.memory);
    let mut memory = Memory::default();
    // Those that run together are not taken apart.
    let together = subject.resolved.mode.together;
    let leader = |r: &&u64| subject.resolved.launch.leader(**r, together) == **r;
    let ranks: Vec<u64> = ranks.iter().filter(leader).copied().collect();
    for (i, &rank) in ranks.iter().enumerate() {
        if subject.deciding.limits.reached().is_some() {
            return None;
        }
        let noting = Noting {
            memory: Some(memory),
            known: Knowledge {
                schedule: seed.map(|s| s.wrapping_add(i as u64)),
                ..Knowledge::default()
            },
            ..Noting::default()
        };
        let outcome = subject.settled(rank, &limits, &noting);
        let left = outcome.memory.filter(Memory::is_known)?;
        // What depends on the order has the value of this one; anything else may have ended the run early.
        let settled = |u| is_order(u, rechecked);
        if !outcome.defects.is_empty() || !outcome.unknowns.iter().all(settled) {
            return None;
        }
        memory = left;
    }
    Some(memory)
}

/// True of what is open because of an order that other schedules change, or because a load races whose value is checked
/// again: a run on numbers has the values of its own schedule.
pub fn is_order(u: &Finding<UnknownKind>, rechecked: &[Pc]) -> bool {
    let read_again = || u.sites.iter().any(|s| rechecked.contains(&s.pc));
    match u.kind {
        UnknownKind::NondeterministicValue => true,
        UnknownKind::Undecided => u.sites.len() > 1 && read_again(),
        _ => false,
    }
}

/// Every CTA of the grid, if it is small enough.
pub fn all_ranks(subject: &Subject) -> Result<Vec<u64>, u64> {
    match subject.resolved.launch.ctas() {
        count if count > MAX_CTAS => Err(count),
        count => Ok((0..count).collect()),
    }
}
