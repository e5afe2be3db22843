//! Whether registers were written before they are used.
//!
//! Problem: a register that nothing wrote holds anything. Each register has a condition beside it, that it holds what was made
//! of written registers alone ([`super::walk`] merges and chooses these as it does the registers). Arithmetic hands it on, as the simulator does with
//! what was never written; where anything else depends on a register, its condition has to follow from
//! that of coming there. At the header of a loop the condition is that before the loop, so long as no iteration takes it
//! back: assumed first, and the body read again without those for which that fails.
//!
//! Sound: the condition of a register is at most that it is written. Not claimed: anything of memory ([`super::written`]).

use super::expr::Id;
use super::state::{Open, Walk};
use crate::kernel::effects::Results;
use crate::kernel::{Op, Pc, RegId};

impl Walk<'_> {
    /// The condition that a register was written.
    pub(super) fn given(&self, regs: &[Id], r: RegId) -> Id {
        regs[self.kernel.reg_width.len() + r.0 as usize]
    }

    /// What is used must have been written.
    pub(super) fn needs(&mut self, pc: Pc, when: Id, given: Id) {
        if self.e.value(given) == Some(1) {
            return;
        }
        let known = self.e.literals(when);
        if self.e.literals(given).iter().all(|c| known.contains(c)) {
            return;
        }
        let key = (pc, when, given);
        if self.needed.insert(key) {
            self.duty(pc, when, given, "a register may be used that nothing wrote");
        }
    }

    /// The condition that what an instruction writes is made of what was written; what does more than compute needs all that it reads.
    pub(super) fn operands_given(&mut self, pc: Pc, op: &Op, when: Id, regs: &[Id]) -> Id {
        let mut all = self.e.truth(true);
        if let Op::Selp { a, b, p, .. } = op {
            let of = |src: &crate::kernel::Src| match src {
                crate::kernel::Src::Reg(r) => self.given(regs, *r),
                _ => all,
            };
            let (x, y) = (of(a), of(b));
            let known = self.given(regs, p.reg);
            let chosen = self.reader(regs, |r| r.guard(*p));
            let either = self.e.choose(chosen, x, y);
            return self.e.and(known, either);
        }
        if let Some(given) = self.shuffled_given(op, regs) {
            return given;
        }
        let mut read = Vec::new();
        op.uses(&mut |r| read.push(r));
        for r in read {
            let given = self.given(regs, r);
            all = self.e.and(all, given);
        }
        match op.effects().results {
            Results::Arithmetic | Results::Held => all,
            Results::Other => {
                self.needs(pc, when, all);
                self.e.truth(true)
            }
        }
    }

    /// Conditions at the header of a loop that an iteration takes back.
    pub(super) fn taken_back(&mut self, top: &Open, when: Id, regs: &[Id]) -> bool {
        let n = self.kernel.reg_width.len();
        let mut again = false;
        for &(r, ..) in &top.symbols {
            let slot = n + r.0 as usize;
            let (before, after) = (top.before.1[slot], regs[slot]);
            let lost = self.lost.get(&top.index).is_some_and(|l| l.contains(&r));
            if lost || before == after || self.e.value(before) == Some(0) {
                continue;
            }
            let both = self.e.and(when, before);
            let literals = self.e.literals(both);
            let kept = self.e.literals(after).iter().all(|c| literals.contains(c));
            if !kept && !self.is_implied(both, after) {
                again |= self.lost.entry(top.index).or_default().insert(r);
            }
        }
        again
    }
}
