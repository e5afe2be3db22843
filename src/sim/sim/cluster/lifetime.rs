//! The shared memory of a CTA lives while the CTA runs.
//!
//! The problem: a thread that accesses the shared memory of another CTA of its cluster must do so after that CTA has
//! begun and before it has ended, in every schedule. So each such access is kept until a thread of the other CTA
//! exits that knows of it by happens-before; one of which none does is a defect, as is one by a thread that
//! has not heard of the other CTA.
//!
//! Source: PTX ISA 9.0, sections 5.1.7 and 2.2.2; the CUDA programming guide, distributed shared memory: all thread
//! blocks must have started executing before it is accessed, and operations on it must be over before a
//! thread block exits.
//!
//! Sound: happens-before through a barrier with `.relaxed` is an order of execution alone; an access that only such a
//! barrier puts before the exit is left open.

use crate::kernel::Pc;
use crate::sim::limits::LIMITS;

use super::super::at::site;
use super::super::clock::{Actor, Layer, Tick};
use super::super::machine::Machine;
use super::super::region::SHARED;
use super::super::warp::{LANES, lanes};
use super::super::{DefectKind, Tid, UnknownKind, WarningKind};
use super::split;

/// An access of the shared memory of another CTA.
#[derive(Clone, Copy, Debug, Hash)]
struct Access {
    /// The number of the other CTA.
    to: usize,
    who: Actor,
    mask: u32,
    at: Tick,
    w: usize,
    pc: Pc,
    off: u64,
    /// The phase of the barrier of the cluster in which its thread arrives next.
    phase: u64,
    /// Only such a phase is known to come before the exit of a thread.
    relaxed: bool,
    /// A thread that exits knows of it if no scope is the cluster.
    by_default: bool,
}

/// Accesses of the shared memory of other CTAs whose end is still to be known.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Lifetimes {
    open: Vec<Access>,
    /// Lanes of each warp that know that their cluster has begun.
    begun: Vec<u32>,
    /// The phases of the barrier of its cluster of which a warp has seen the end.
    passed: Vec<u64>,
}

impl Lifetimes {
    /// Those of so many warps.
    pub(crate) fn new(warps: usize) -> Lifetimes {
        Lifetimes {
            begun: vec![0; warps],
            passed: vec![0; warps],
            ..Lifetimes::default()
        }
    }

    /// Lanes have seen the end of a phase of the barrier of their cluster.
    pub(super) fn started(&mut self, w: usize, mask: u32, phase: u64) {
        self.begun[w] |= mask;
        self.passed[w] = phase;
    }
}

impl Machine<'_> {
    /// Lanes access shared memory, in part perhaps that of other CTAs.
    pub(crate) fn note_remote(&mut self, w: usize, mask: u32, pc: Pc, offs: &[u64; LANES]) {
        let own = self.core.fixed.team.number(w);
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let to = split(offs[first] as i64).0 as usize;
            let same = |l: &usize| split(offs[*l] as i64).0 as usize == to;
            let group = lanes(rest).filter(same).fold(0, |m, l| m | 1 << l);
            rest &= !group;
            if to != own && to < self.core.fixed.team.len() {
                self.note_access(w, group, pc, to, offs[first]);
            }
        }
    }

    /// A copy of a lane reads the shared memory of its own CTA for another one.
    pub(crate) fn note_own(&mut self, w: usize, mask: u32, pc: Pc, off: u64) {
        self.keep_access(w, mask, pc, self.core.fixed.team.number(w), off);
    }

    fn note_access(&mut self, w: usize, mask: u32, pc: Pc, to: usize, off: u64) {
        let deaf = lanes(mask & !self.sync.lifetimes.begun[w]).find(|l| {
            let t = Tid(self.core.threads.warps[w].first + *l as u32);
            !self
                .sync
                .order
                .clocks
                .heard_of(t, self.core.fixed.team.warps(to))
        });
        if let Some(lane) = deaf {
            let place = self.core.place(SHARED, off, 4);
            let site = site(pc, w, 1 << lane, format!("accesses {place}"));
            self.core.defect(DefectKind::Lifetime, vec![site], || {
                format!(
                    "{place} is accessed before its CTA is known to have started: a barrier of the cluster before it \
                     is missing"
                )
            });
        }
        self.keep_access(w, mask, pc, to, off);
    }

    fn keep_access(&mut self, w: usize, mask: u32, pc: Pc, to: usize, off: u64) {
        let clocks = &self.sync.order.clocks;
        let who = match self.sync.order.agent {
            Some(agent) => agent,
            None => Actor(self.core.threads.warps[w].first),
        };
        let at = clocks.stamp(w as u32);
        let phase = self.next_phase(w, mask);
        let mut all = self.sync.lifetimes.open.iter_mut();
        let same = |a: &&mut Access| {
            (a.to, a.who, a.at, a.pc, a.phase, a.relaxed) == (to, who, at, pc, phase, false)
        };
        if let Some(a) = all.find(same) {
            a.mask |= mask;
            return;
        }
        if self.sync.lifetimes.open.len() >= LIMITS.lifetime_accesses {
            let live = |to: usize| {
                self.core
                    .fixed
                    .team
                    .warps(to)
                    .any(|w| self.core.threads.warps[w].live != 0)
            };
            let settled = |a: &Access| live(a.to) && clocks.all_settled(a.who, a.mask, a.at);
            self.sync.lifetimes.open.retain(|a| !settled(a));
        }
        self.sync.lifetimes.open.push(Access {
            to,
            who,
            mask,
            at,
            w,
            pc,
            off,
            phase,
            relaxed: false,
            by_default: false,
        });
    }

    /// Lanes are about to exit: what they know of is before the end of their CTA.
    pub(crate) fn note_end(&mut self, w: usize, mask: u32) {
        let own = self.core.fixed.team.number(w);
        let (clocks, passed) = (&self.sync.order.clocks, self.sync.lifetimes.passed[w]);
        let first = self.core.threads.warps[w].first;
        self.sync.lifetimes.open.retain_mut(|a| {
            if a.to != own {
                return true;
            }
            let knows = |l: usize| {
                let t = Tid(first + l as u32);
                clocks.unordered(a.who, a.mask, a.at, t).is_none()
            };
            let by_default = |l: usize| {
                let clocks = clocks.seen_in(Layer::DefaultScope);
                let t = Tid(first + l as u32);
                clocks.unordered(a.who, a.mask, a.at, t).is_none()
            };
            a.by_default |= lanes(mask).any(by_default);
            a.relaxed |= passed >= a.phase;
            !lanes(mask).any(knows)
        });
    }

    /// When all threads have exited: accesses that the end of a CTA can come before.
    pub(crate) fn check_ends(&mut self) {
        for a in std::mem::take(&mut self.sync.lifetimes.open) {
            let place = self.core.place(SHARED, a.off, 4);
            let site = site(a.pc, a.w, a.mask, format!("accesses {place}"));
            let message = || {
                format!(
                    "{place} is accessed, and nothing orders that before the end of its CTA: a barrier of the cluster \
                     after it is missing"
                )
            };
            match (a.by_default, a.relaxed) {
                (true, _) => self.core.found.warn(WarningKind::DefaultScope, vec![site], || {
                    format!(
                        "{place} is accessed, and only an arrival or a wait without a scope, which is .cta, orders that before \
                         the end of its CTA: .release.cluster and .acquire.cluster are missing"
                    )
                }),
                (false, true) => self.core.found.unknown(UnknownKind::Undecided, vec![site], message),
                (false, false) => self.core.defect(DefectKind::Lifetime, vec![site], message),
            }
        }
    }
}
