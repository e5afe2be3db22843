//! Do threads come to each barrier together?

use super::expr::{Id, Level, Order};
use super::gates::Model;
use super::prover::Prover;
use super::threads::Relation;
use crate::answer::UnknownKind;
use crate::kernel::Pc;

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
        let among = if only_warps {
            Among::Warp(None)
        } else {
            Among::Cta
        };
        let mut around = p.w.flow.around(p.w.flow.loops[l].header);
        around.retain(|x| loops_with_barrier.contains(x));
        if let Err(model) = together_or_not(p, (before, goes_on), &around, among, None) {
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
        let among = if b.warp {
            Among::Warp(b.mask)
        } else {
            Among::Cta
        };
        let truth = p.w.e.truth(true);
        if let Err(model) = together_or_not(
            p,
            (truth, b.guard),
            &b.loops,
            among,
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

/// Who has to differ in nothing: the threads of a CTA, the lanes of a warp, or those of them that a mask of the first names.
#[derive(Clone, Copy)]
enum Among {
    Cta,
    Warp(Option<Id>),
}

/// Whether no two threads differ in a condition, given another. With `comes` a thread may differ for which none of these
/// conditions holds.
fn together_or_not(
    p: &mut Prover,
    (given, condition): (Id, Id),
    loops: &[usize],
    among: Among,
    comes: Option<&Vec<Id>>,
) -> Result<(), Option<Model>> {
    let uniform = |p: &Prover, id: Id| {
        let all = p.w.e.literals(id);
        all.iter().all(|c| p.w.e.level(*c) <= Level::Cta)
    };
    let mask = match among {
        Among::Cta | Among::Warp(None) => p.w.e.truth(true),
        Among::Warp(Some(mask)) => mask,
    };
    if uniform(p, condition) && uniform(p, mask) {
        return Ok(());
    }
    let sizes = p.w.sizes;
    let rank = sizes.rank(&mut p.w.e);
    let mut any = p.w.e.truth(comes.is_none());
    for c in comes.into_iter().flatten() {
        any = p.w.e.or(any, *c);
    }
    let ids = vec![given, condition, rank, any, mask];
    let (there, known) = p.second(&ids, &Relation::Within(loops.to_vec()));
    let mut differ = p.w.e.not(there[1]);
    let mut conditions = vec![given, there[0], condition, there[3]];
    if let Among::Warp(mask) = among {
        conditions.push(p.same_warp(rank, there[2]));
        if let Some(mask) = mask {
            let low = p.w.e.constant(31, 32);
            let lane = p.w.e.and(there[2], low);
            conditions.push(p.w.names_lane(mask, lane));
            let same = p.w.e.compare(Order::Equal, mask, there[4]);
            let other = p.w.e.not(same);
            differ = p.w.e.or(differ, other);
        }
    }
    conditions.push(differ);
    conditions.extend(known);
    p.never(&conditions)
}
