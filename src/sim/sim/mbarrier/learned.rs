//! What has been executed before something else, through operations that order no memory.
//!
//! Problem: the completion of a bulk copy, and the arrival of a `tcgen05.commit`, order their own accesses
//! only (PTX ISA 9.0, sections 8.9.1.1 and 9.7.16.6), and collectives such as `elect.sync` or matrix products order
//! none, so clocks learn nothing from them. But an asynchronous operation comes after its issue, and that after whatever
//! its thread had done or seen done; and no lane leaves a collective before all have come to it. A wait
//! that had returned by then cannot miss a phase, and an arrival that was counted by then cannot be counted
//! later: for questions about phases this order counts, for data it does not.
//!
//! How: each phase that ends keeps what the issuers knew, and each collective is noted. The question
//! follows them, only where the clocks do not answer it.
//!
//! Lanes of a warp that arrive by one instruction, each at the mbarrier of another CTA, as the warps of a pipeline do
//! that is fed by multicast copies, are not ordered by PTX. Where one of these arrivals is known to have come, a phase
//! takes those of the other lanes as come too, under a listed assumption about the schedule: what these arrivals
//! release they still release in the phase that they are counted for, so no order of data rests on it.
//!
//! Not claimed: chains of several collectives without a release between them.

use crate::answer::AssumptionKind;
use crate::sim::Tid;
use crate::sim::machine::{Machine, Tasks};
use crate::sim::state::recorded;
use crate::sim::warp::{LANES, lanes};

use super::*;

/// Lanes of a warp that met in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Met {
    mask: u32,
    at: Tick,
    /// Its number among those of all warps.
    number: usize,
}

/// The collectives so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Meetings {
    /// Those of each warp, in order.
    warps: Vec<Vec<Met>>,
    count: usize,
    /// The number that was asked for last.
    asked: std::cell::Cell<usize>,
}

recorded!(Meetings { warps, count } beside { asked: "a message" });

impl Meetings {
    /// How many there were.
    pub(super) fn step(&self) -> usize {
        self.asked.set(self.count);
        self.count
    }

    fn note(&mut self, w: usize, mask: u32, at: Tick) {
        if self.warps.len() <= w {
            self.warps.resize(w + 1, Vec::new());
        }
        let own = &mut self.warps[w];
        // Without a wait or an arrival between them, the first of two alike says what both do.
        let alike = |m: &Met| (m.mask, m.at) == (mask, at) && m.number >= self.asked.get();
        if !own.last().is_some_and(alike) {
            let number = self.count;
            own.push(Met { mask, at, number });
            self.count += 1;
        }
    }
}

impl Tasks {
    /// Whether one met another after what it did, who then did or had known what `then` says: the
    /// thread, the time of the collective, and its number.
    fn met_after(&self, t: Tid, p: &Party, then: impl Fn(Tid, Tick, usize) -> bool) -> bool {
        let own = self.objects.met.warps.get(p.base as usize / LANES);
        let own = own.map_or(&[][..], |own| &own[..]);
        let from = own.partition_point(|m| m.number < p.step);
        let with = |m: &&Met| m.mask >> (t.0 - p.base) & 1 == 1;
        own[from..]
            .iter()
            .filter(with)
            .any(|m| lanes(m.mask).any(|l| then(Tid(p.base + l as u32), m.at, m.number)))
    }
}

impl Machine<'_> {
    /// Lanes of a warp have met.
    pub(crate) fn note_meeting(&mut self, w: usize, mask: u32) {
        if !self.tasks.objects.at.is_empty() {
            let at = self.sync.order.clocks.stamp(w as u32);
            self.tasks.objects.met.note(w, mask, at);
        }
    }

    /// An arrival of the phase before that may come after what a lane does now.
    pub(super) fn too_early(&mut self, w: usize, lane: usize, at: u64) -> Option<Party> {
        let me = Tid(self.core.threads.warps[w].first + lane as u32);
        let found = self.apart(w, lane, at)?;
        let b = self.tasks.objects.at.get(&at)?.before.as_ref()?;
        if self.executed_before(b, me, false) {
            return None;
        }
        if self.executed_before(b, me, true) {
            self.core.found.assumptions.insert(AssumptionKind::Scheduling.says(
                "lanes of a warp that arrive at several mbarriers by one instruction have all arrived before what \
                 one of these arrivals lets others do comes to arrive again",
            ));
            return None;
        }
        Some(found)
    }

    /// The same, as far as the clocks know.
    pub(super) fn apart(&self, w: usize, lane: usize, at: u64) -> Option<Party> {
        let clocks = &self.sync.order.clocks;
        let base = self.core.threads.warps[w].first;
        let me = Tid(base + lane as u32);
        let b = self.tasks.objects.at.get(&at)?.before.as_ref()?;
        let mine = |p: &Party| p.base == base && p.mask >> lane & 1 == 1;
        if b.waits.iter().any(mine) {
            return None;
        }
        if b.counts && !clocks.event_known(b.event, me) {
            return b.arrivals.last().copied();
        }
        let apart = |p: &&Party| clocks.unordered(Actor(p.base), p.mask, p.at, me).is_some();
        b.arrivals.iter().find(apart).copied()
    }

    /// No wait has surely seen the end of the phase before when a lane arrives for the current one: the last arrival of
    /// that phase, and a wait that nothing orders before, if there is one.
    pub(super) fn unseen(&self, w: usize, lane: usize, at: u64) -> Option<(Party, Option<Party>)> {
        let clocks = &self.sync.order.clocks;
        let me = Tid(self.core.threads.warps[w].first + lane as u32);
        let b = self.tasks.objects.at.get(&at)?.before.as_ref()?;
        let all = || {
            let each = |p: &Party| {
                lanes(p.mask)
                    .map(|l| Tid(p.base + l as u32))
                    .collect::<Vec<_>>()
            };
            b.waits
                .iter()
                .flat_map(move |p| each(p).into_iter().map(move |t| (t, p)))
        };
        let known = |t: Tid, at: Tick| t == me || clocks.ordered(t.into(), at, me);
        if all().any(|(t, p)| known(t, p.at)) {
            return None;
        }
        let snaps = self.learned(known);
        let known = |t: Tid, at: Tick| known(t, at) || clocks.known_in(&snaps, t, at);
        let met = |t: Tid, p: &Party| self.tasks.met_after(t, p, |u, at, _| known(u, at));
        if all().any(|(t, p)| known(t, p.at) || met(t, p)) {
            return None;
        }
        let last = b.arrivals.last().or(b.delays.last()).copied()?;
        Some((last, b.waits.last().copied()))
    }

    /// What is known to have been executed by one who knows the observations that `first` says:
    /// the snapshots of all issuers that this leads to.
    fn learned(&self, first: impl Fn(Tid, Tick) -> bool) -> Vec<Arc<Snapshot>> {
        let clocks = &self.sync.order.clocks;
        let mut left: Vec<&(EventId, Vec<Arc<Snapshot>>)> =
            self.tasks.objects.learned.iter().collect();
        let mut out: Vec<Arc<Snapshot>> = Vec::new();
        loop {
            let before = left.len();
            left.retain(|(event, known)| {
                let seen = clocks
                    .observers(*event)
                    .any(|(who, at)| first(who, at) || clocks.known_in(&out, who, at));
                if seen {
                    out.extend(known.iter().cloned());
                }
                !seen
            });
            if left.len() == before {
                return out;
            }
        }
    }

    /// Whether what a lane did has been executed before a phase can end.
    pub(super) fn executed_before_end(&self, done: &Phase, t: Tid, p: &Party) -> bool {
        let clocks = &self.sync.order.clocks;
        let arrived = |u: Tid, at: Tick| {
            let own = |a: &Party| {
                u.0.checked_sub(a.base)
                    .is_some_and(|l| l < 32 && a.mask >> l & 1 == 1 && a.at.0 >= at.0)
            };
            done.arrivals.iter().any(own)
                || heads::know(clocks, &done.released, u, at)
                || clocks.known_in(&done.known, u, at)
        };
        let snaps = self.learned(arrived);
        let later = |u: Tid, at: Tick, number: usize| {
            let own = |a: &Party| {
                u.0.checked_sub(a.base)
                    .is_some_and(|l| l < 32 && a.mask >> l & 1 == 1 && a.step > number)
            };
            done.arrivals.iter().any(own)
                || heads::know(clocks, &done.released, u, at)
                || clocks.known_in(&done.known, u, at)
                || clocks.known_in(&snaps, u, at)
        };
        clocks.known_in(&snaps, t, p.at) || self.tasks.met_after(t, p, later)
    }

    /// Whether a phase has ended before what a lane does now; `together`: lanes that arrive by one instruction
    /// have all arrived once one of them, at another mbarrier, is known to have.
    pub(super) fn executed_before(&self, b: &Phase, me: Tid, together: bool) -> bool {
        let clocks = &self.sync.order.clocks;
        let snaps = self.learned(|u, at| u == me || clocks.ordered(u.into(), at, me));
        let known =
            |u: Tid, at: Tick| clocks.ordered(u.into(), at, me) || clocks.known_in(&snaps, u, at);
        let ended = !b.counts
            || clocks
                .observers(b.event)
                .any(|(u, at)| u == me || known(u, at));
        ended
            && b.arrivals.iter().all(|p| {
                lanes(p.mask).all(|l| {
                    let t = Tid(p.base + l as u32);
                    let met = |u: Tid, at: Tick, _: usize| u == me || known(u, at);
                    let same = |q: &&Party| (q.base, q.when) == (p.base, p.when);
                    let here = b.arrivals.iter().filter(same).fold(0, |m, q| m | q.mask);
                    let mut beside = lanes(p.with & !here);
                    known(t, p.at)
                        || self.tasks.met_after(t, p, met)
                        || together && beside.any(|l| known(Tid(p.base + l as u32), p.began))
                })
            })
    }
}
