//! The bases of a launch: what may lie anywhere.
//!
//! Source: PTX ISA 9.0, sections 5.1 (state spaces) and 5.4 (variables, alignment); the CUDA
//! programming guide says of allocations that they are aligned to at least 256 bytes. Nothing says
//! where variables lie, nor in which order.

use crate::kernel::{Kernel, Space, Var};
use crate::spec::{Arrays, Launch, Origin};
use crate::term::ArrayId;

use super::super::memory::Region;
use super::super::region::{LOCAL, PARAM, RegionId, SHARED, base, region_of};
use super::provenance::{Base, BaseId, Prov, Provenances};

/// Allocations begin at multiples of two to this.
const ALLOCATED: u8 = 8;

/// All bases: windows, variables of the CTA, of threads and of the launch, arrays.
pub(crate) fn bases(
    kernel: &Kernel,
    launch: &Launch,
    arrays: &Arrays,
    globals: &[RegionId],
) -> Provenances {
    let [shared, local, param] = [SHARED, LOCAL, PARAM].map(|r| (r, base(r)));
    let mut all = Provenances::new([shared, local, param, (PARAM, 0)]);
    let variable = |space, region, at: u32, size, align: u32| Base {
        space,
        region,
        number: u64::from(at),
        size,
        align: align.max(1).trailing_zeros() as u8,
        allocated: false,
        said: false,
        plain: align.max(1),
        rounded: None,
    };
    let of = |space, region, v: &Var| {
        variable(space, region, v.offset, Some(u64::from(v.bytes)), v.align)
    };
    for v in &kernel.shared {
        all.add_variable(v.offset, of(Space::Shared, SHARED, v));
    }
    if let Some(at) = kernel.dynamic_shared {
        let b = variable(
            Space::Shared,
            SHARED,
            at,
            launch.dynamic_shared,
            kernel.dynamic_align,
        );
        all.dynamic = Some(all.add_variable(at, b));
    }
    for v in &kernel.locals {
        all.add_variable(v.offset, of(Space::Local, LOCAL, v));
    }
    for p in &kernel.params {
        let size = Some(u64::from(p.bytes));
        let b = variable(Space::Param, PARAM, p.offset, size, p.align);
        all.add_variable(p.offset, b);
    }
    for (i, a) in arrays.0.iter().enumerate() {
        let region = region_of(ArrayId(i as u32));
        let named = globals.iter().position(|r| *r == region);
        let declared = named.map(|g| kernel.globals[g].align.max(1).trailing_zeros() as u8);
        let said = a.align.filter(|_| declared.is_none());
        let declared = declared.or(said.map(|n| n.trailing_zeros() as u8));
        all.add_array(Base {
            space: if a.origin == Origin::Const {
                Space::Const
            } else {
                Space::Global
            },
            region,
            number: base(region),
            size: a.extent,
            align: declared.unwrap_or(ALLOCATED),
            allocated: declared.is_none(),
            said: said.is_some(),
            plain: match declared {
                Some(align) if said.is_none() => 1 << align,
                _ => a.elem.map_or(8, |e| e.bytes() as u32),
            },
            rounded: None,
        });
    }
    all
}

impl Provenances {
    /// Notes that the alignment of the bases of a linear value decided something.
    pub(crate) fn use_alignment(&mut self, p: Prov) {
        let terms = self.terms(p).unwrap_or(&[]);
        let assumed = terms.iter().any(|&(b, _)| self.base(b).allocated);
        let said = terms.iter().map(|t| t.0).filter(|&b| self.base(b).said);
        let said: Vec<BaseId> = said.collect();
        self.used_alignment |= assumed;
        self.used_said.extend(said);
    }

    /// Bytes of the largest access that is aligned wherever the object lies, if the user says how that
    /// is aligned; what nobody says is an assumption.
    pub(crate) fn most(&self, id: BaseId) -> u32 {
        let b = self.base(id);
        match b.said {
            true => 1 << b.align,
            false => u32::MAX,
        }
    }
}

/// Puts the pointers that arrays hold before the launch into their regions.
pub(crate) fn preset_pointers(arrays: &Arrays, regions: &mut [Region], prov: &mut Provenances) {
    for (i, a) in arrays.0.iter().enumerate() {
        let own = region_of(ArrayId(i as u32));
        for &(off, to) in a.pointers.iter().flat_map(|p| p.iter()) {
            let at = to.map_or(0, |(a, add)| base(region_of(a)).wrapping_add(add));
            let region = &mut regions[own.0 as usize];
            region.preset(off, &at.to_le_bytes());
            let Some((a, _)) = to else { continue };
            let of = prov.of_array(region_of(a));
            for (word, p) in (off / 4..).zip(prov.halves(of, Some(at))) {
                region.set_prov(word, p, None);
            }
        }
    }
}
