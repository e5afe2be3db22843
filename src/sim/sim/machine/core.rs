//! What an interpreter has that runs threads one after another: registers, memory and values.
//!
//! Nothing here knows that threads run side by side: what that asks, [`super::Machine`] adds.

use crate::kernel::{GlobalId, Inst, Pc, RegId, Space, Src};

use super::super::memory::RegionKind;
use super::super::region::{RegionId, base};
use super::super::val::Val;
use super::super::value::Values;
use super::super::warp::LANES;
use super::super::{DefectKind, Site};
use super::findings::{Found, record_with};
use super::fixed::Fixed;
use super::spaces::Spaces;
use super::threads::Threads;

/// The parts that an instruction needs which is executed alone.
#[derive(Clone)]
pub(in crate::sim) struct Core<'k> {
    /// What no instruction changes.
    pub fixed: Fixed<'k>,
    /// Terms and conversions.
    pub values: Values,
    /// Registers, and how far threads are.
    pub threads: Threads,
    /// Memory.
    pub memory: Spaces,
    /// Findings so far.
    pub found: Found,
}

impl<'k> Core<'k> {
    /// The instruction at a pc.
    #[inline]
    pub(in crate::sim) fn inst(&self, pc: Pc) -> &'k Inst {
        &self.fixed.kernel.insts[pc.0 as usize]
    }

    /// The value of a source operand in a lane.
    #[inline]
    pub(in crate::sim) fn src(&self, w: usize, s: Src, lane: usize) -> Val {
        match s {
            Src::Reg(r) => self.threads.warps[w].get(r, lane),
            Src::Imm(v) => Val::Conc(v),
            Src::Global(g, off) => {
                Val::Conc(base(self.fixed.global_regions()[g.0 as usize]).wrapping_add_signed(off))
            }
            Src::Var(space, at, plus) => {
                let own = match space {
                    Space::Shared | Space::SharedCluster => self.fixed.team.own_rank_bits(w),
                    _ => 0,
                };
                let at = match space {
                    Space::Shared | Space::SharedCluster => self.memory.moved_to(at.into()),
                    _ => at.into(),
                };
                Val::Conc(at.wrapping_add_signed(plus).wrapping_add(own))
            }
        }
    }

    /// The lane words of a source that is plain bits in every lane that matters.
    #[inline]
    pub(in crate::sim) fn words(&self, w: usize, s: Src) -> [u64; LANES] {
        match s {
            Src::Reg(r) => *self.threads.warps[w].words(r),
            Src::Imm(v) => [v; LANES],
            Src::Global(..) | Src::Var(..) => match self.src(w, s, 0) {
                Val::Conc(v) => [v; LANES],
                _ => [0; LANES],
            },
        }
    }

    /// Width of a register in bits.
    #[inline]
    pub(in crate::sim) fn width(&self, r: RegId) -> u8 {
        self.fixed.kernel.reg_width[r.0 as usize]
    }

    /// Writes a lane of a register; plain bits are cut to its width.
    #[inline]
    pub(in crate::sim) fn set(&mut self, w: usize, r: RegId, lane: usize, v: Val) {
        let v = match v {
            Val::Conc(b) => Val::Conc(b & (u64::MAX >> (64 - self.width(r) as u32))),
            _ => v,
        };
        self.threads.warps[w].set(r, lane, v);
    }

    /// The line of an instruction in its file.
    pub(in crate::sim) fn line(&self, pc: Pc) -> u32 {
        crate::answer::Site::new(&self.fixed.kernel.source, self.fixed.kernel.span(pc), "").line
    }

    /// True if no defect was found so far, and no race that the trails of its threads know of.
    pub(in crate::sim) fn is_fine(&self) -> bool {
        self.found.defects.is_empty() && self.threads.trails.seen == 0
    }

    /// Records a defect that is seen when its threads are at its sites.
    pub(in crate::sim) fn defect(
        &mut self,
        kind: DefectKind,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        let (trails, now) = (&self.threads.trails, self.threads.stats.warp_instructions);
        let found = &mut self.found.defects;
        record_with(found, kind, 1, sites, message, |s| trails.before(s, now));
    }

    /// The region of a variable.
    pub(in crate::sim) fn global_region(&self, g: GlobalId) -> RegionId {
        self.fixed.global_regions()[g.0 as usize]
    }

    /// An element of shared memory as text, with its CTA where several run.
    fn shared_place(&self, off: u64, bytes: u32) -> String {
        if self.fixed.team.many() {
            let (slot, own) = super::super::cluster::split(off as i64);
            let name = self.own_place(own as u64, bytes);
            return match self.fixed.team.index(slot) {
                Some(cta) => format!("{name} of CTA {}", crate::spec::launch::show(cta)),
                None => name,
            };
        }
        self.own_place(off, bytes)
    }

    /// An element of the shared memory of a CTA as text.
    fn own_place(&self, off: u64, bytes: u32) -> String {
        let off = self.memory.unmoved(off);
        let dynamic = self.fixed.kernel.dynamic_shared.map(u64::from);
        let var = self
            .fixed
            .kernel
            .shared
            .iter()
            .rev()
            .find(|v| v.offset as u64 <= off && off < (v.offset + v.bytes.max(1)) as u64)
            .or_else(|| {
                self.fixed
                    .kernel
                    .shared
                    .iter()
                    .rev()
                    .find(|v| v.bytes == 0 && v.offset as u64 <= off)
            })
            .or_else(|| {
                let mut shared = self.fixed.kernel.shared.iter().rev();
                shared.find(|v| v.offset as u64 <= off && dynamic.is_none_or(|d| off < d))
            });
        match var {
            Some(v) => {
                let e = if v.elem > 1 { v.elem } else { bytes.max(1) } as u64;
                element(&v.name, off - v.offset as u64, e)
            }
            None => format!("shared memory at byte {off}"),
        }
    }

    /// An element of a region as text: `s[3]`, `a[2] (byte 8)`.
    pub(in crate::sim) fn place(&self, r: RegionId, off: u64, bytes: u32) -> String {
        let region = &self.memory.regions[r.0 as usize];
        match region.kind {
            RegionKind::Shared => self.shared_place(off, bytes),
            RegionKind::Local => {
                let n = self.fixed.kernel.local_bytes;
                let at = off % super::super::place::local_stride(n);
                format!("local memory at byte {at} of {n}")
            }
            RegionKind::Param => format!("parameter space at byte {off}"),
            RegionKind::Array(a) => {
                let info = &self.fixed.arrays[a];
                let e = info.elem.map_or(bytes.max(1) as u64, |t| t.bytes());
                element(&info.name, off, e)
            }
        }
    }
}

fn element(name: &str, off: u64, size: u64) -> String {
    if off.is_multiple_of(size) {
        format!("{name}[{}]", off / size)
    } else {
        format!("{name} at byte {off}")
    }
}
