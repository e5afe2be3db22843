//! Do threads come to each barrier together?

use super::expr::{Id, Level};
use super::gates::Model;
use super::prover::Prover;
use super::threads::Relation;
use crate::answer::UnknownKind;
use crate::kernel::Pc;
use crate::term::BitsOp;

/// Barriers and operations of whole warps are met by all threads that have not ended, or by none.
pub(super) fn barriers(p: &mut Prover) {
    let loops_with_barrier: Vec<usize> = {
        let mut all: Vec<usize> =
            p.w.out
                .barriers
                .iter()
                .flat_map(|b| b.loops.clone())
                .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    for &l in &loops_with_barrier {
        let summary = p.w.out.loops.get(&l).cloned().unwrap_or_default();
        let only_warps =
            p.w.out
                .barriers
                .iter()
                .filter(|b| b.loops.contains(&l))
                .all(|b| b.warp);
        let pc =
            p.w.out
                .barriers
                .iter()
                .find(|b| b.loops.contains(&l))
                .map_or(Pc(0), |b| b.pc);
        let ends = p.w.out.ends.iter().any(|e| e.loops.contains(&l));
        if ends {
            p.leave_open(
                UnknownKind::Undecided,
                "a thread may end inside of a loop with a barrier",
                &[pc],
                None,
            );
            continue;
        }
        if summary.uniform {
            continue;
        }
        let goes_on = summary.goes_on.unwrap_or_else(|| p.w.e.truth(true));
        let before = summary.before.unwrap_or_else(|| p.w.e.truth(true));
        let mut around = p.w.flow.around(p.w.flow.loops[l].header);
        around.retain(|x| loops_with_barrier.contains(x));
        if let Err(model) = together_or_not(p, (before, goes_on), &around, only_warps, None) {
            p.leave_open(
                UnknownKind::Undecided,
                "threads may go through different numbers of iterations of a loop with a barrier",
                &[pc],
                model.as_ref(),
            );
        }
    }
    let all = p.w.out.barriers.clone();
    for b in &all {
        // Outside of loops a thread may leave a barrier out if it ends without coming to another one.
        let mut comes = Vec::new();
        if b.loops.is_empty() && !b.warp {
            let later = all.iter().filter(|x| x.at > b.at && !x.warp);
            for x in later {
                let outermost = x
                    .loops
                    .first()
                    .and_then(|l| p.w.out.loops.get(l))
                    .and_then(|s| s.before);
                comes.push(outermost.unwrap_or(x.guard));
            }
        }
        let exempt = b.loops.is_empty() && !b.warp;
        let truth = p.w.e.truth(true);
        if let Err(model) = together_or_not(
            p,
            (truth, b.guard),
            &b.loops,
            b.warp,
            exempt.then_some(&comes),
        ) {
            let what = match b.warp {
                true => "lanes of a warp may not all come to an operation of the whole warp",
                false => "not all threads may come to a barrier",
            };
            p.leave_open(UnknownKind::Undecided, what, &[b.pc], model.as_ref());
        }
    }
}

/// Whether no two threads of a CTA (or warp) differ in a condition, given another. With `comes` a thread may differ for
/// which none of these conditions holds.
fn together_or_not(
    p: &mut Prover,
    (given, condition): (Id, Id),
    loops: &[usize],
    warp: bool,
    comes: Option<&Vec<Id>>,
) -> Result<(), Option<Model>> {
    if p.w
        .e
        .literals(condition)
        .iter()
        .all(|c| p.w.e.level(*c) <= Level::Cta)
    {
        return Ok(());
    }
    let rank = {
        let s = p.w.sizes;
        s.rank(&mut p.w.e)
    };
    let mut any = p.w.e.truth(comes.is_none());
    for c in comes.into_iter().flatten() {
        any = p.w.e.or(any, *c);
    }
    let ids = vec![given, condition, rank, any];
    let (there, known) = p.second(&ids, &Relation::Within(loops.to_vec()));
    let not = p.w.e.not(there[1]);
    let mut conditions = vec![given, there[0], condition, not, there[3]];
    if warp {
        let five = p.w.e.constant(5, 32);
        let (x, y) = (
            p.w.e.word(BitsOp::LShr, rank, five),
            p.w.e.word(BitsOp::LShr, there[2], five),
        );
        conditions.push(p.w.e.compare(super::expr::Order::Equal, x, y));
    }
    conditions.extend(known);
    p.never(&conditions)
}
