//! Operations on values that are the same in all lanes, as they are executed once.

use crate::kernel::conditions::Seen;
use crate::kernel::{Op, Pc};
use crate::sim::machine::Core;
use crate::sim::stop::Stop;

impl Core<'_> {
    /// Executes a lane-wise operation, once where all lanes have the same sources.
    pub(in crate::sim) fn compute_shared(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &Op,
    ) -> Result<(), Stop> {
        let plan = match self.memory.watched[pc.0 as usize] {
            true => self.plan(w, exec, pc, op),
            false => None,
        };
        self.may_go_on()?;
        self.compute_lanes(w, exec, pc, op)?;
        self.note_taken(w, exec, pc, Seen::Result);
        if let Some(plan) = plan {
            self.carry_out(w, plan);
        }
        Ok(())
    }

    fn compute_lanes(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Result<(), Stop> {
        let exec = match self.values.omits {
            true => exec & !self.omit(w, exec, pc, op),
            false => exec,
        };
        if exec == 0 {
            return Ok(());
        }
        if exec.count_ones() < 2
            || !self
                .fixed
                .program
                .operands
                .uniform(&self.threads.warps[w], exec, pc)
        {
            return self.compute(w, exec, pc, op);
        }
        let lane = exec.trailing_zeros() as usize;
        self.compute(w, 1 << lane, pc, op)?;
        let (_, defs) = self.fixed.program.operands.of(pc);
        for &r in defs {
            self.threads.warps[w].spread(r, lane, exec);
        }
        Ok(())
    }
}
