//! What a thread did around a place: its last accesses and synchronisations.
//!
//! A race names two accesses, and its reader asks which barriers stand around them; so does that of
//! a wrong address or a barrier that is not reached. Each warp keeps its last accesses and
//! synchronisations; when a defect is seen for the first time, those of its threads are kept with
//! it. They are the steps of the one schedule that was run, and serve a picture:
//! nothing is decided by them.

use crate::sim::limits::LIMITS;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::race::{Conflict, Finding};
use super::warp::LANES;
use super::{Site, Step, Tid};
use crate::kernel::{AsyncOp, Inst, Op, Pc, Space};

/// Events of a thread that are shown before and after the place.
const BEFORE: usize = 7;
const AFTER: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Event {
    step: u64,
    pc: u32,
    mask: u32,
}

/// The trails of a CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct Trails {
    /// By instruction: 0 for what is not shown, else what it is.
    kinds: Arc<[u8]>,
    /// By warp: a ring, and where it is written next.
    warps: Vec<(Vec<Event>, usize)>,
    /// Races seen so far.
    pub seen: usize,
    kept: FxHashMap<(Conflict, Pc, Pc), [Vec<Step>; 2]>,
}

const ACCESS: u8 = 1;
const BARRIER: u8 = 2;

fn kind(op: &Op) -> u8 {
    let space = |s: Space| match s {
        Space::Param | Space::Const | Space::Local => 0,
        _ => ACCESS,
    };
    match op {
        Op::Ld { access, .. } | Op::St { access, .. } => space(access.space),
        Op::Atom { .. } | Op::CpAsync { .. } | Op::Ldmatrix { .. } | Op::Stmatrix { .. } => ACCESS,
        Op::Bar { .. } | Op::WarpSync { .. } | Op::Fence { .. } => BARRIER,
        Op::CpAsyncWait { .. } | Op::CpAsyncCommit => BARRIER,
        Op::Async(op) => match **op {
            AsyncOp::WmmaMma(_) => 0,
            AsyncOp::WmmaLoad { .. } | AsyncOp::WmmaStore { .. } => ACCESS,
            _ => BARRIER,
        },
        _ => 0,
    }
}

/// What each instruction is to a trail.
pub(super) fn kinds(insts: &[Inst]) -> Arc<[u8]> {
    insts.iter().map(|i| kind(&i.op)).collect()
}

impl Trails {
    /// Empty trails.
    pub(super) fn new(kinds: Arc<[u8]>, warps: usize) -> Trails {
        Trails {
            kinds,
            warps: vec![(Vec::new(), 0); warps],
            ..Trails::default()
        }
    }

    /// An instruction is about to be executed by these lanes of a warp.
    #[inline]
    pub(super) fn note(&mut self, w: usize, step: u64, pc: Pc, mask: u32) {
        if self.kinds[pc.0 as usize] == 0 {
            return;
        }
        let event = Event {
            step,
            pc: pc.0,
            mask,
        };
        let (ring, next) = &mut self.warps[w];
        if ring.len() < LIMITS.trail_events {
            ring.push(event);
        } else {
            ring[*next] = event;
            *next = (*next + 1) % LIMITS.trail_events;
        }
    }

    /// Keeps the trails of the races that were added since the last call.
    #[cold]
    pub(super) fn keep<'f>(&mut self, all: impl Iterator<Item = &'f Finding>) {
        let from = self.seen;
        for f in all.skip(from) {
            self.seen += 1;
            if self.kept.len() < LIMITS.trails {
                let key = (f.conflict, f.earlier.pc, f.later.pc);
                let sides = [f.earlier, f.later].map(|p| self.of(p.thread, p.pc));
                self.kept.insert(key, sides);
            }
        }
    }

    /// Gives the sites of a race their trails.
    pub(super) fn attach(&self, f: &Finding, sites: &mut [Site]) {
        let key = (f.conflict, f.earlier.pc, f.later.pc);
        if let Some(kept) = self.kept.get(&key) {
            for (site, steps) in sites.iter_mut().zip(kept) {
                site.around = steps.clone();
            }
        }
    }

    /// Gives the sites that have no trail what their first threads did until now.
    #[cold]
    pub(super) fn before(&self, sites: &mut [Site], now: u64) {
        for site in sites.iter_mut().filter(|s| s.around.is_empty()) {
            let Some(&thread) = site.threads.first() else {
                continue;
            };
            site.around = self.of(thread, site.pc);
            // Instructions that are neither an access to common memory nor a synchronisation are
            // not kept; the one that is being executed is shown all the same.
            if !site.around.iter().any(|s| s.pc == site.pc) {
                site.around.push(Step {
                    step: now,
                    pc: site.pc,
                    barrier: false,
                });
            }
        }
    }

    /// What a thread did around the last time that it was at an instruction, or last.
    pub(super) fn of(&self, thread: Tid, pc: Pc) -> Vec<Step> {
        let (w, lane) = (thread.0 as usize / LANES, thread.0 as usize % LANES);
        let Some((ring, next)) = self.warps.get(w) else {
            return Vec::new();
        };
        let inorder = ring[*next..].iter().chain(&ring[..*next]);
        let own: Vec<&Event> = inorder.filter(|e| e.mask >> lane & 1 == 1).collect();
        let place = own.iter().rposition(|e| e.pc == pc.0);
        let end = place.map_or(own.len(), |i| (i + 1 + AFTER).min(own.len()));
        let start = place.unwrap_or(end).saturating_sub(BEFORE);
        let step = |e: &&Event| Step {
            step: e.step,
            pc: Pc(e.pc),
            barrier: self.kinds[e.pc as usize] == BARRIER,
        };
        // The barrier before all of them says since when the accesses are unordered.
        let barrier = own[..start]
            .iter()
            .rposition(|e| self.kinds[e.pc as usize] == BARRIER);
        let shown = barrier.map(|i| &own[i]).into_iter().chain(&own[start..end]);
        shown.map(step).collect()
    }
}
