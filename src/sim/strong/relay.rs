//! What a thread that looks for its whole CTA tells the others, and whether they go round with it.
//!
//! A loop of [`crate::kernel::relays`] is one step that blocks only if a round that does not end it has no effect: all
//! other threads of the CTA stand at barriers of the loop, none of them looks too, and each comes back to the access by
//! the value that it is told. Each walks its part of the body with that value, and what it wrote is put back.

use crate::kernel::awaits::Await;
use crate::kernel::{Op, Pc};

use super::super::machine::Machine;
use super::super::value::Val;
use super::super::warp::lanes;
use super::location::Key;

/// A shared word that was written in a round, its size, and what it was given.
pub(super) type Told = (Key, u32, Val);

impl Machine<'_> {
    /// Walks an instruction by which one thread tells the others what it read; `None` if what it does is not known.
    pub(super) fn relay(
        &mut self,
        (w, lane): (usize, usize),
        at: Pc,
        told: &mut Option<Told>,
    ) -> Option<()> {
        let inst = self.inst(at);
        let (tells, given) = match &inst.op {
            Op::Bar { .. } => return Some(()),
            Op::St { srcs, .. } => (true, srcs.first().copied().flatten()),
            Op::Ld { .. } => (false, None),
            _ => return None,
        };
        let (yes, under) = self.guarded(w, 1 << lane, inst.guard);
        if under.mask != 0 {
            return None;
        }
        if yes == 0 {
            return Some(());
        }
        let (key, bytes) = self.held_at(w, lane, at)?;
        if tells {
            *told = Some((key, bytes, self.src(w, given?, lane)));
            return Some(());
        }
        let (_, _, v) = told.filter(|t| (t.0, t.1) == (key, bytes))?;
        self.set_read((w, lane), at, v);
        Some(())
    }

    /// Whether all other threads of the CTA of a thread wait at barriers of its loop, and go round by what they are told.
    pub(super) fn others_go_round(
        &mut self,
        (w, lane): (usize, usize),
        wait: &Await,
        told: Option<Told>,
    ) -> bool {
        let meets = |m: &Self, at: u32| {
            wait.relay.contains(&at) && matches!(m.inst(Pc(at)).op, Op::Bar { .. })
        };
        for other in self.team.warps(self.team.number(w)) {
            for l in lanes(self.warps[other].live) {
                if (other, l) == (w, lane) {
                    continue;
                }
                let warp = &self.warps[other];
                let stands = (warp.blocked | warp.parked) & !warp.held & 1 << l != 0;
                let at = warp.pc[l];
                // Those that have arrived stand behind the barrier.
                if !stands || !(meets(self, at) || at > 0 && meets(self, at - 1)) {
                    return false;
                }
                let mut told = told;
                if self.in_body((other, l), Pc(at), wait, None, &mut told) != Some(false) {
                    return false;
                }
            }
        }
        true
    }
}
