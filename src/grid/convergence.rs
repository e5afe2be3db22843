//! Which lanes of a warp run together where a kernel asks for it by `activemask`.
//!
//! The problem: PTX ISA 9.0, section 9.7.13.5, says that the mask names the lanes that execute the instruction with the one that asks;
//! which of a warp's lanes do, nothing promises. Groups of lanes that are made so (`coalesced_threads`, aggregated
//! atomics) work for every division of the lanes, or are wrong.
//!
//! A mask is first a value that the schedule chooses, and what holds for that holds for every division. What such a
//! value leaves open is run for a few divisions that are as different as can be: all lanes together, each alone, even and odd ones, both
//! halves, thirds, the lowest and the others ([`Converged`]). Where they leave the same memory, the answer is that of these runs, and the report lists that
//! no other division was looked at. A difference is a dependence on the schedule.
//!
//! Not claimed: a defect of lanes that are divided is a finding without a verdict, since hardware may never divide them so.

use crate::answer::AssumptionKind;
use crate::kernel::Op;
use crate::sim::join::Symbols;
use crate::sim::{Finding, UnknownKind};
use crate::spec::Converged;

use super::discharge::discharge;
use super::together::{By, compare};
use super::{Covered, Subject};

/// What is taken for granted of masks.
const DIVISIONS: &str = "activemask names all lanes of the warp that reach it, the lane alone, those of its parity, of its half, of its \
                         remainder by 3, or all but the lowest; no other division of the lanes was run";

/// What the runs by `cover` come to, for each division of the lanes if it matters.
pub(super) fn each(subject: &Subject, cover: impl Fn(&Subject) -> Covered) -> Covered {
    let free = cover(subject);
    let mut insts = subject.kernel.insts.iter();
    let asks = insts.any(|i| matches!(i.op, Op::ActiveMask { .. }));
    let terms = subject.resolved.launch.words.is_none() && subject.resolved.launch.trees.is_none();
    let open = |c: &Covered| {
        let values = !subject.without_values && !c.outcome.by_schedule.is_empty();
        c.outcome.defects.is_empty() && (!c.outcome.unknowns.is_empty() || values)
    };
    if !asks || !terms || !open(&free) || subject.late() {
        return free;
    }
    let mut whole: Option<Covered> = None;
    for converged in Converged::ALL {
        let mut resolved = subject.resolved.clone();
        resolved.launch.converged = Some(converged);
        let one = Subject {
            resolved: &resolved,
            ..*subject
        };
        let mut ended = cover(&one);
        // What stays open although masks are known, the masks are not the reason of.
        let Some(whole) = &mut whole else {
            if open(&ended) {
                return free;
            }
            if !ended.outcome.defects.is_empty() {
                return ended;
            }
            whole = Some(ended);
            continue;
        };
        ended.outcome.unknowns = divided(&mut ended);
        let is_open = !ended.outcome.unknowns.is_empty();
        whole.terms += ended.terms;
        let left = whole.outcome.join(ended.outcome, Symbols::Shared);
        if is_open {
            break;
        }
        if !subject.without_values {
            let by = By::Order("which lanes activemask names", Vec::new());
            compare(&mut whole.outcome, &left, &by, &one);
        }
    }
    let Some(mut whole) = whole else { return free };
    discharge(&mut whole.outcome, subject.arrays, subject.deciding);
    let said = AssumptionKind::Machine.says(DIVISIONS);
    whole.outcome.assumptions.push(said);
    whole
}

/// What was found where lanes were divided, as open questions.
fn divided(ended: &mut Covered) -> Vec<Finding<UnknownKind>> {
    let defects = std::mem::take(&mut ended.outcome.defects).into_iter();
    let defects = defects.map(|f| Finding {
        kind: UnknownKind::NondeterministicValue,
        message: format!(
            "{}; if activemask names other lanes than all that reach it",
            f.message
        ),
        count: f.count,
        sites: f.sites,
    });
    let unknowns = std::mem::take(&mut ended.outcome.unknowns);
    defects.chain(unknowns).collect()
}
