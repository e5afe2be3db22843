//! Where a kernel reads its parameters, and which of those places hold pointers.

use crate::kernel::usage::{ParamUse, param_uses};
use crate::kernel::{Kernel, ParamKind};

/// Reads of the parameter space of one kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct ParamUses {
    /// What becomes of each load.
    loads: Vec<ParamUse>,
    /// (parameter, offset in it) of every place that holds a pointer, sorted.
    pointers: Vec<(usize, u32)>,
}

impl ParamUses {
    /// The uses of a kernel's parameters.
    ///
    /// What may be a base or an offset is not taken for a pointer: as a symbol it can only lose an
    /// answer, while the sum of two array addresses would be an address of neither.
    pub(super) fn of(kernel: &Kernel) -> ParamUses {
        let mut out = ParamUses {
            loads: param_uses(kernel),
            pointers: Vec::new(),
        };
        for (i, param) in kernel.params.iter().enumerate() {
            if let ParamKind::Int {
                width: 64,
                pointer: true,
                ..
            } = param.kind
            {
                out.pointers.push((i, 0));
            }
        }
        for found in &out.loads {
            let Some(param) = found.param else { continue };
            if found.pointer && !found.ambiguous && found.bytes == 8 {
                out.pointers.push((param as usize, found.offset));
            }
        }
        out.pointers.sort_unstable();
        out.pointers.dedup();
        out
    }

    /// A load that reads a part of these bytes of a parameter and others, but not all of them.
    pub(super) fn astride(&self, param: usize, (from, end): (u32, u32)) -> Option<&ParamUse> {
        self.loads.iter().find(|l| {
            let (first, last) = (l.offset, l.offset.saturating_add(l.bytes));
            let meets = first < end && from < last;
            let nested = first <= from && end <= last || from <= first && last <= end;
            l.param == Some(param as u32) && meets && !nested
        })
    }

    /// The loads that begin at an offset of a parameter; where none is known to read the byte, those
    /// that may.
    pub(super) fn at(&self, param: usize, offset: u32) -> impl Iterator<Item = &ParamUse> {
        let here = move |l: &ParamUse| (l.param, l.offset) == (Some(param as u32), offset);
        let covers = |l: &ParamUse| {
            l.param == Some(param as u32) && (l.offset..l.offset + l.bytes).contains(&offset)
        };
        let known = self.loads.iter().any(covers);
        let mut all = self.loads.iter();
        std::iter::from_fn(move || {
            all.find(|l| match known {
                true => here(l),
                false => l.param.is_none(),
            })
        })
    }

    /// The loads whose bytes all lie in a range of a parameter.
    pub(super) fn inside(
        &self,
        param: usize,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = &ParamUse> {
        let inside = move |l: &&ParamUse| {
            l.param == Some(param as u32) && start <= l.offset && l.offset + l.bytes <= end
        };
        self.loads.iter().filter(inside)
    }

    /// Offsets of the pointers in a parameter, in order.
    pub(super) fn pointers(&self, param: usize) -> impl Iterator<Item = u32> {
        let here = self.pointers.iter().filter(move |p| p.0 == param);
        here.map(|p| p.1)
    }

    /// Whether a pointer is at an offset of a parameter.
    pub(super) fn is_pointer(&self, param: usize, offset: u32) -> bool {
        self.pointers.contains(&(param, offset))
    }
}
