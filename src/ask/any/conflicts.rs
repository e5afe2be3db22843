//! Two threads: do they come to each barrier together, and can two of their accesses conflict?
//!
//! Source: GPUVerify (OOPSLA 2012) for the reduction to two arbitrary threads. The second thread is the first one with its
//! own symbols in place of those that a thread has alone. How this differs: intervals between barriers are no program
//! points; two accesses conflict unless a barrier that the threads take part in stands between them. Around a loop with
//! barriers that is asked of one iteration, of an iteration and the next one, and of two that lie further apart, which a
//! barrier that every iteration has keeps in order. Loops without barriers are at arbitrary iterations in both threads.
//!
//! Barriers are shown to be met together first, by all threads that have not ended: so a barrier that one of the two
//! takes part in is one that the other takes part in, if it does anything later.

use super::apart::{apart_always, conflict};
use super::expr::Id;
use super::hints;
use super::limits::{MAX_OPEN, MAX_PAIRS};
use super::prover::Prover;
use super::state::Accessed;
use super::unused::is_unused;
use crate::answer::UnknownKind;
use crate::kernel::Pc;

/// Pairs of accesses: those that stand beside each other are looked at as one, and one by one only where that is not shown.
pub(super) fn accesses(p: &mut Prover) {
    let groups = grouped(p);
    let mut asked = Asked::default();
    for (i, a) in groups.iter().enumerate() {
        for b in &groups[i..] {
            if a.whole.object != b.whole.object || !conflict(a.whole.does, b.whole.does) {
                continue;
            }
            let alone = a.members.len() == 1 && b.members.len() == 1;
            if !alone && asked.goes_on(p, &a.whole) && apart_always(p, &a.whole, &b.whole).is_ok() {
                continue;
            }
            for (k, x) in a.members.iter().enumerate() {
                let from = if a.whole.at == b.whole.at { k } else { 0 };
                for y in &b.members[from..] {
                    if !asked.goes_on(p, x) {
                        return;
                    }
                    asked.pair(p, x, y);
                }
            }
        }
    }
}

/// Accesses of one thread that nothing stands between, to bytes beside each other.
struct Group {
    whole: Accessed,
    members: Vec<Accessed>,
}

/// Accesses of the same kind under one condition in one interval between barriers, whose offsets differ by constants.
fn grouped(p: &Prover) -> Vec<Group> {
    /// The part that symbols give, the interval, and accesses by what constants add.
    type Alike = (Id, usize, Vec<(i64, Accessed)>);
    let mut alike: Vec<Alike> = Vec::new();
    for a in &p.w.out.accesses {
        if p.w.out.objects[a.object as usize].is_private() {
            continue;
        }
        let interval = p.w.out.barriers.iter().filter(|b| b.at < a.at).count();
        let (base, at) = p.w.e.displaced(a.offset);
        let found = alike.iter_mut().find(|(other, n, list)| {
            let first = &list[0].1;
            (*other, *n) == (base, interval)
                && (first.object, first.guard, first.does, first.by)
                    == (a.object, a.guard, a.does, a.by)
                && first.loops == a.loops
        });
        match found {
            Some((_, _, list)) => list.push((at, a.clone())),
            None => alike.push((base, interval, vec![(at, a.clone())])),
        }
    }
    let mut out: Vec<Group> = Vec::new();
    for (_, _, mut list) in alike {
        list.sort_by_key(|(at, a)| (*at, a.at));
        let mut end = i64::MIN;
        for (n, (at, a)) in list.into_iter().enumerate() {
            let next = at.saturating_add(i64::from(a.bytes));
            match out.last_mut() {
                Some(group) if n > 0 && at <= end => {
                    let more = (next - end).max(0) as u32;
                    group.whole.bytes = group.whole.bytes.saturating_add(more);
                    group.whole.value = None;
                    group.members.push(a);
                }
                _ => out.push(Group {
                    whole: a.clone(),
                    members: vec![a],
                }),
            }
            end = end.max(next);
        }
    }
    out.sort_by_key(|g| g.whole.at);
    out
}

/// Questions that were asked, and those that are open.
#[derive(Default)]
struct Asked {
    pairs: usize,
    told: Vec<(Pc, Pc)>,
}

impl Asked {
    /// Whether another pair is looked at.
    fn goes_on(&mut self, p: &mut Prover, a: &Accessed) -> bool {
        if self.told.len() >= MAX_OPEN {
            return false;
        }
        self.pairs += 1;
        let ended = self.pairs > MAX_PAIRS || p.subject.limits.reached().is_some();
        if ended {
            let what = "there are too many pairs of accesses";
            p.leave_open(UnknownKind::Limit, what, &[a.pc], None);
            // Nothing more is asked.
            self.told.resize(MAX_OPEN, (a.pc, a.pc));
        }
        !ended
    }

    fn pair(&mut self, p: &mut Prover, a: &Accessed, b: &Accessed) {
        if self.told.contains(&(a.pc, b.pc)) {
            return;
        }
        let Err(model) = apart_always(p, a, b) else {
            return;
        };
        if is_unused(p, a, b) {
            return;
        }
        self.told.push((a.pc, b.pc));
        let what = "two threads may access the same bytes without order, and one of them writes";
        p.leave_open(UnknownKind::Undecided, what, &[a.pc, b.pc], model.as_ref());
        let facts = hints::against_wrap(
            &mut p.w,
            &p.subject.freedom.ints,
            &[a.offset, b.offset],
            &[a.guard, b.guard],
        );
        p.suggest(facts.into_iter().next());
    }
}
