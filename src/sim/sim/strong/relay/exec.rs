//! What a thread tells others through memory.

use crate::kernel::awaits::Await;
use crate::kernel::{Op, Pc, Src};
use crate::sim::machine::Machine;
use crate::sim::warp::lanes;

use super::Told;

impl Machine<'_> {
    /// Walks an instruction by which one thread tells the others what it read; `None` if what it does is not known.
    pub(in crate::sim::strong) fn relay(
        &mut self,
        (w, lane): (usize, usize),
        at: Pc,
        told: &mut Option<Told>,
    ) -> Option<()> {
        let inst = self.core.inst(at);
        let (tells, given) = match &inst.op {
            Op::Bar { .. } => return Some(()),
            Op::St { srcs, .. } => (true, srcs.first().copied().flatten()),
            Op::Ld { .. } => (false, None),
            Op::Shfl { dst, a, b, .. } => {
                if *b == Src::Imm(lane as u64) && told.is_none() {
                    *told = Some(Told::Lanes(w, self.core.src(w, *a, lane)));
                }
                let Some(Told::Lanes(of, v)) = *told else {
                    return None;
                };
                self.core.set(w, *dst, lane, v);
                return (of == w).then_some(());
            }
            _ => return None,
        };
        let (yes, under) = self.core.guarded(w, 1 << lane, inst.guard);
        if under.mask != 0 {
            return None;
        }
        if yes == 0 {
            return Some(());
        }
        let (key, bytes) = self.held_at(w, lane, at)?;
        if tells {
            *told = Some(Told::Word(key, bytes, self.core.src(w, given?, lane)));
            return Some(());
        }
        match *told {
            Some(Told::Word(k, n, v)) if (k, n) == (key, bytes) => {
                self.core.set_read((w, lane), at, v);
                Some(())
            }
            _ => None,
        }
    }

    /// Whether all other threads of the CTA of a thread wait at barriers of its loop, and go round by what they are told.
    pub(in crate::sim::strong) fn others_go_round(
        &mut self,
        (w, lane): (usize, usize),
        wait: &Await,
        told: Option<Told>,
    ) -> bool {
        let meets = |m: &Self, at: u32| {
            let meets = |op: &Op| matches!(op, Op::Bar { .. } | Op::Shfl { .. });
            wait.relay.contains(&at) && meets(&m.core.inst(Pc(at)).op)
        };
        for other in self.core.fixed.team.warps(self.core.fixed.team.number(w)) {
            for l in lanes(self.core.threads.warps[other].live) {
                if (other, l) == (w, lane) {
                    continue;
                }
                let warp = &self.core.threads.warps[other];
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
