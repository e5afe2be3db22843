//! What all four warps of a warpgroup must execute alike: products, and the number of their registers.
//!
//! Source: PTX ISA 9.0, sections 9.7.15 and 9.7.19.5: an `.aligned` instruction of a warpgroup is the same in all its
//! warps. Products are told apart by their place; a number of registers may be set in several.

use crate::answer::AssumptionKind;
use crate::kernel::{Op, Pc};

use super::DefectKind;
use super::machine::{Machine, Stop};

/// An instruction that all warps of a warpgroup execute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alike {
    pub pc: Pc,
    /// The registers that it sets; products are told apart by their place.
    pub registers: Option<(u32, bool)>,
}

impl PartialEq for Alike {
    fn eq(&self, other: &Alike) -> bool {
        self.registers == other.registers && (self.registers.is_some() || self.pc == other.pc)
    }
}

impl Machine<'_> {
    /// When all threads have exited: the warps of a warpgroup must have executed the same.
    pub(super) fn check_warpgroups(&mut self) {
        for w in 0..self.warps.len() {
            let lead = w / 4 * 4;
            let (a, b) = (
                &self.products.warps[lead].issued,
                &self.products.warps[w].issued,
            );
            if a == b {
                continue;
            }
            let i = a.iter().zip(b).take_while(|(x, y)| x == y).count();
            let (pa, pb) = (a.get(i).map(|x| x.pc), b.get(i).map(|x| x.pc));
            let mut sites = Vec::new();
            for (w, p) in [(lead, pa), (w, pb)] {
                if let Some(p) = p {
                    sites.push(self.site(p, w, u32::MAX, "executes it"));
                }
            }
            let names = [pa, pb].into_iter().flatten();
            let name = names
                .map(|pc| self.collective_name(pc))
                .next()
                .unwrap_or_default();
            self.defect(DefectKind::BarrierMisuse, sites, || {
                format!(
                    "the warps of a warpgroup execute different {name}: all four must execute \
                     the same"
                )
            });
            return;
        }
    }

    /// `setmaxnreg`. That registers suffice is for the launch to see to.
    pub(super) fn set_registers(
        &mut self,
        w: usize,
        pc: Pc,
        registers: (u32, bool),
    ) -> Result<(), Stop> {
        self.whole_warpgroup(w, pc)?;
        self.found.assumptions.insert(
            AssumptionKind::Scheduling
                .says("registers suffice for each `setmaxnreg`, which waits for them otherwise"),
        );
        self.products.warps[w].issued.push(Alike {
            pc,
            registers: Some(registers),
        });
        Ok(())
    }

    /// The name of an instruction that whole warps execute.
    pub(super) fn collective_name(&self, pc: Pc) -> &'static str {
        match &self.inst(pc).op {
            Op::Async(op) => op.name(),
            _ => "a matrix instruction",
        }
    }

    pub(super) fn whole_warpgroup(&mut self, w: usize, pc: Pc) -> Result<(), Stop> {
        let own = self.team.warps(self.team.number(w));
        if w / 4 * 4 + 4 <= own.end {
            return Ok(());
        }
        let site = self.site(pc, w, u32::MAX, "execute it");
        let name = self.collective_name(pc);
        self.defect(DefectKind::BarrierMisuse, vec![site], || {
            format!(
                "{name} takes four whole warps, the rank of the first a multiple of four: the \
                 block has no such warpgroup here"
            )
        });
        Err(Stop::Finding)
    }
}
