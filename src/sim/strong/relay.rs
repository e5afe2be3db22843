//! What a thread that looks for its whole CTA tells the others, and whether they go round with it.
//!
//! A loop of [`crate::kernel::relays`] is one step that blocks only if a round that does not end it has no effect: all
//! other threads of the CTA stand at barriers of the loop, none of them looks too, and each comes back to the access by
//! the value that it is told. Each walks its part of the body with that value, and what it wrote is put back.

use crate::kernel::awaits::Await;
use crate::kernel::{Op, Pc, Src};

use super::super::machine::Machine;
use super::super::value::Val;
use super::super::warp::lanes;
use super::location::Key;

/// What was told in a round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    /// A shared word, its size, and what was written there.
    Word(Key, u32, Val),
    /// To the lanes of a warp, and what.
    Lanes(usize, Val),
}

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
            Op::Shfl { dst, a, b, .. } => {
                if *b == Src::Imm(lane as u64) && told.is_none() {
                    *told = Some(Told::Lanes(w, self.src(w, *a, lane)));
                }
                let Some(Told::Lanes(of, v)) = *told else {
                    return None;
                };
                self.set(w, *dst, lane, v);
                return (of == w).then_some(());
            }
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
            *told = Some(Told::Word(key, bytes, self.src(w, given?, lane)));
            return Some(());
        }
        match *told {
            Some(Told::Word(k, n, v)) if (k, n) == (key, bytes) => {
                self.set_read((w, lane), at, v);
                Some(())
            }
            _ => None,
        }
    }

    /// Whether all other threads of the CTA of a thread wait at barriers of its loop, and go round by what they are told.
    pub(super) fn others_go_round(
        &mut self,
        (w, lane): (usize, usize),
        wait: &Await,
        told: Option<Told>,
    ) -> bool {
        let meets = |m: &Self, at: u32| {
            let meets = |op: &Op| matches!(op, Op::Bar { .. } | Op::Shfl { .. });
            wait.relay.contains(&at) && meets(&m.inst(Pc(at)).op)
        };
        for other in self.team.warps(self.team.number(w)) {
            for l in lanes(self.warps[other].live) {
                if (other, l) == (w, lane) {
                    continue;
                }
                let warp = &self.warps[other];
                let stands = (warp.blocked | warp.parked) & !warp.held & 1 << l != 0;
                let at = warp.pc[l];
                // Those that have arrived stand at what they meet at, or behind it.
                let behind = at.checked_sub(1).filter(|at| meets(self, *at));
                let Some(from) = behind.or(Some(at).filter(|at| meets(self, *at))) else {
                    return false;
                };
                let mut told = told;
                if !stands
                    || self.in_body((other, l), Pc(from), wait, None, &mut told) != Some(false)
                {
                    return false;
                }
            }
        }
        true
    }
}
