//! Registers of `tcgen05.ld`, which are the load's until `tcgen05.wait::ld`.
//!
//! PTX ISA 9.0 respects a true dependency on such a register (section 9.7.16.6.4.5), and wants the wait for whatever
//! else: for writes of the register, and before the memory is used again. Kernels that forget the wait are wrong more
//! often than they rely on that, so a use without it is a data race; but a compiler of [`WITHOUT_WAITS`] leaves every
//! wait to the assembler, and there a read is the warning `missing-wait`.
//!
//! Sound: a read that is only warned of ends the load for the lanes that read, and for nobody else. Their value has come,
//! so the load is over; that its memory may then be written again is what the warning says of the hardware.

use crate::kernel::{Pc, operands};

use super::clock::Actor;
use super::machine::{Machine, Stop};
use super::{DefectKind, WarningKind};

/// Compilers that leave out `tcgen05.wait::ld`, each with how the names of its entries begin.
const WITHOUT_WAITS: &[(&str, &str)] = &[("CuTe DSL", "kernel_cutlass_")];

impl Machine<'_> {
    /// An instruction of a warp with loads from tensor memory under way: does it touch their registers?
    pub(super) fn check_loading(&mut self, w: usize, mask: u32, pc: Pc) -> Result<(), Stop> {
        let loading = &self.products.warps[w].loading;
        if loading.is_empty() {
            return Ok(());
        }
        let inst = self.inst(pc);
        let mut read: Vec<(Pc, Actor)> = Vec::new();
        let mut written = None;
        operands::uses(inst, |r| {
            let load = loading.get(&r).copied();
            read.extend(load.filter(|l| !read.contains(l)));
        });
        inst.op
            .defs(&mut |r| written = written.or(loading.get(&r).copied()));
        let name = &self.kernel.name;
        let without = WITHOUT_WAITS.iter().find(|c| name.starts_with(c.1));
        let sites = |m: &Self, at: Pc, verb: &str| {
            let here = m.site(pc, w, mask, format!("{verb} a register of it"));
            vec![m.site(at, w, mask, "starts the load"), here]
        };
        let message = |verb: &str| {
            format!(
                "an instruction {verb} a register of tcgen05.ld while that is under way: tcgen05.wait::ld is missing \
                 before it"
            )
        };
        let wrong = match (written, read.first()) {
            (Some((at, _)), _) => Some((at, "writes")),
            (None, Some((at, _))) if without.is_none() => Some((*at, "reads")),
            _ => None,
        };
        if let Some((at, verb)) = wrong {
            let sites = sites(self, at, verb);
            self.defect(DefectKind::DataRace, sites, || message(verb));
            return Err(Stop::Finding);
        }
        let compiler = without.map_or("", |c| c.0);
        for (at, agents) in read {
            let sites = sites(self, at, "reads");
            self.warn(WarningKind::MissingWait, sites, || {
                format!(
                    "{}; {compiler} leaves that to the assembler",
                    message("reads")
                )
            });
            let clocks = &mut self.order.clocks;
            let event = clocks.new_event();
            clocks.join_event(agents, mask, event);
            clocks.observe(event, w as u32, mask);
            if self.warps[w].live & !mask == 0 {
                let loading = &mut self.products.warps[w].loading;
                loading.retain(|_, (_, load)| *load != agents);
            }
        }
        Ok(())
    }
}
