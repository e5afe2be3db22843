//! Which instruction loses the digits of an element.
//!
//! Each instruction on floats rounds at random in a run of its own ([`crate::sim`], `wobble`), and what it moves at the
//! element, by what all of them move, is its share. First order: roundings that act on each other are counted apart.
//! Matrix instructions and packed pairs are not among them.

use crate::answer::Site;
use crate::answer::rounding::Share;
use crate::grid::Subject;
use crate::kernel::{Op, Pc};
use crate::number;
use crate::sim::wobble::is_narrowing;
use crate::spec::{Domain, Resolved};

use super::execute::{Bits, execute};
use super::limits::LIMITS;
use super::shadow::Element;

/// Runs of each instruction.
const TRIES: u64 = 4;

/// Shares below this are not told.
const LEAST: f64 = 0.02;

/// The shares of the instructions of a kernel in the error of an element on an input, the largest first; none if that
/// takes too many runs.
pub(super) fn shares(subject: &Subject<'_>, e: &Element, input: &[Bits]) -> Vec<Share> {
    let bytes = u64::from(e.fmt.bits()) / 8;
    let Some(ran) = execute(subject, input, true) else {
        return Vec::new();
    };
    let outcome = &ran.covered.outcome;
    let executed = |i: usize| outcome.executed.get(i).is_none_or(|&n| n > 0);
    let insts = subject.kernel.insts.iter().enumerate();
    let rounds = |op: &Op| matches!(op, Op::Float { lanes: 1, .. }) || is_narrowing(op);
    let floats = insts.filter(|(i, inst)| rounds(&inst.op) && executed(*i));
    let floats: Vec<Pc> = floats.map(|(i, _)| Pc(i as u32)).collect();
    let cost = outcome.stats.thread_instructions * TRIES * floats.len() as u64;
    let Some(there) = ran
        .element(e.array, e.off, bytes)
        .filter(|_| cost <= LIMITS.work / 4)
    else {
        return Vec::new();
    };
    let there = number::to_double(e.fmt, there);
    let moved = |pc: Pc| -> Option<f64> {
        let one = |seed: u64| {
            let mut resolved: Resolved = subject.resolved.clone();
            resolved.mode.domain = Domain::Numbers {
                wobbling: Some((pc, seed)),
            };
            let subject = Subject {
                resolved: &resolved,
                ..*subject
            };
            let bits = execute(&subject, input, true)?.element(e.array, e.off, bytes)?;
            Some((number::to_double(e.fmt, bits) - there).abs()).filter(|d| d.is_finite())
        };
        (1..=TRIES).map(one).try_fold(0.0, |sum, d| Some(sum + d?))
    };
    let mut all: Vec<(Pc, f64)> = Vec::new();
    for pc in floats {
        if subject.deciding.limits.reached().is_some() {
            return Vec::new();
        }
        all.extend(moved(pc).map(|d| (pc, d)));
    }
    let total: f64 = all.iter().map(|a| a.1).sum();
    all.retain(|a| a.1 > LEAST * total);
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let share = |&(pc, moved): &(Pc, f64)| {
        let kernel = subject.kernel;
        let mut site = Site::new(&kernel.source, kernel.span(pc), "rounds");
        site.source = kernel.source_line(pc);
        Share {
            share: moved / total,
            site,
        }
    };
    all.iter().map(share).collect()
}
