//! Branches whose direction depends on input data.
//!
//! A short forward branch around code without barriers, calls or loops is executed as selects:
//! the lanes walk the whole region between the branch and its join once, each instruction under
//! the condition that the path through it is taken. Any other such branch makes the kernel
//! unstructured (design, section 3).

use crate::kernel::{Op, Pc};
use crate::term::TermId;

use super::machine::{Machine, Stop};
use super::step::{Under, is_selectable};
use super::warp::{LANES, lanes};

/// Longest region, in instructions, that is executed as selects.
const MAX_REGION: u32 = 512;

impl Machine<'_> {
    /// A conditional branch in lanes `mask`: `yes` take it, those of `under` may.
    pub fn branch_on_data(
        &mut self,
        w: usize,
        mask: u32,
        yes: u32,
        under: Under,
        pc: Pc,
    ) -> Result<super::step::Flow, Stop> {
        self.check_set(w, pc, &under)?;
        let Op::Bra { target, .. } = self.inst(pc).op else {
            return Ok(super::step::Flow::Next);
        };
        let sure = mask & !under.mask;
        self.warps[w].jump(sure & !yes, pc.0 + 1);
        self.warps[w].jump(yes, target.0);
        let join = self.kernel.join[pc.0 as usize];
        if !self.is_region(pc.0, join) {
            let lane = under.mask.trailing_zeros() as usize;
            let v = super::value::Val::Pred(under.cond[lane]);
            self.data_dependent_branch(w, under.mask, pc, v);
            return Err(Stop::Finding);
        }
        self.walk(w, &under, pc.0, join)?;
        self.warps[w].jump(under.mask, join);
        Ok(super::step::Flow::Set)
    }

    /// True if everything between a branch and its join is forward and selectable.
    fn is_region(&self, branch: u32, join: u32) -> bool {
        if join == u32::MAX || join <= branch || join - branch > MAX_REGION {
            return false;
        }
        (branch..join).all(|pc| match &self.inst(Pc(pc)).op {
            Op::Bra { target, .. } => target.0 > pc && target.0 <= join,
            op => is_selectable(op),
        })
    }

    /// Executes the region in the lanes of `under`, whose conditions say who takes the branch.
    fn walk(&mut self, w: usize, under: &Under, branch: u32, join: u32) -> Result<(), Stop> {
        let no = self.values.store.bool(false);
        let all = under.mask;
        // The condition under which each lane stands at each instruction of the region.
        let n = (join - branch + 1) as usize;
        let mut at: Vec<Option<Box<[TermId; LANES]>>> = vec![None; n];
        let Op::Bra { target, .. } = self.inst(Pc(branch)).op else {
            return Ok(());
        };
        let mut taken = Box::new([no; LANES]);
        let mut fall = Box::new([no; LANES]);
        for lane in lanes(all) {
            taken[lane] = under.cond[lane];
            fall[lane] = self.values.store.not(under.cond[lane]);
        }
        at[(target.0 - branch) as usize] = Some(taken);
        self.meet(&mut at[1], fall, all);
        for pc in branch + 1..join {
            let Some(here) = at[(pc - branch) as usize].take() else {
                continue;
            };
            let (mut yes, mut cond) = (0u32, Under::none());
            for lane in lanes(all) {
                match self.values.store.as_bool(here[lane]) {
                    Some(true) => yes |= 1 << lane,
                    Some(false) => {}
                    None => {
                        cond.mask |= 1 << lane;
                        cond.cond[lane] = here[lane];
                    }
                }
            }
            let group = yes | cond.mask;
            if group == 0 {
                continue;
            }
            let inst = self.inst(Pc(pc));
            // The guard of the instruction itself, under the condition of the path.
            let (guard_yes, guard_under) = self.guarded(w, group, inst.guard);
            self.check_set(w, Pc(pc), &guard_under)?;
            if let Op::Bra { target, .. } = inst.op {
                let mut taken = Box::new([no; LANES]);
                let mut fall = Box::new([no; LANES]);
                for lane in lanes(group) {
                    let bit = 1 << lane;
                    let g = if guard_under.mask & bit != 0 {
                        guard_under.cond[lane]
                    } else {
                        self.values.store.bool(guard_yes & bit != 0)
                    };
                    let ng = self.values.store.not(g);
                    taken[lane] = self.values.store.and(here[lane], g);
                    fall[lane] = self.values.store.and(here[lane], ng);
                }
                self.meet(&mut at[(target.0 - branch) as usize], taken, all);
                self.meet(&mut at[(pc + 1 - branch) as usize], fall, all);
                continue;
            }
            let mut both = Under::none();
            let mut sure = 0u32;
            for lane in lanes(guard_yes | guard_under.mask) {
                let bit = 1 << lane;
                let g = if guard_under.mask & bit != 0 {
                    self.values.store.and(here[lane], guard_under.cond[lane])
                } else {
                    here[lane]
                };
                match self.values.store.as_bool(g) {
                    Some(true) => sure |= bit,
                    Some(false) => {}
                    None => {
                        both.mask |= bit;
                        both.cond[lane] = g;
                    }
                }
            }
            self.stats.warp_instructions += 1;
            self.stats.thread_instructions += (sure | both.mask).count_ones() as u64;
            if sure | both.mask != 0 {
                self.execute_under(w, group, sure, Pc(pc), &both, Some((branch, join)))?;
            }
            self.meet(&mut at[(pc + 1 - branch) as usize], here, all);
        }
        Ok(())
    }

    /// Joins the conditions of two paths at an instruction.
    fn meet(
        &mut self,
        slot: &mut Option<Box<[TermId; LANES]>>,
        conds: Box<[TermId; LANES]>,
        all: u32,
    ) {
        match slot {
            None => *slot = Some(conds),
            Some(old) => {
                for lane in lanes(all) {
                    old[lane] = self.values.store.or(old[lane], conds[lane]);
                }
            }
        }
    }
}
