//! Where a kernel reads its parameters, and which of those places hold pointers.

use crate::kernel::usage::param_uses;
use crate::kernel::{Kernel, ParamKind};

/// Reads of the parameter space of one kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct ParamUses {
    /// (parameter, offset in it, bytes) of every load.
    loads: Vec<(usize, u32, u32)>,
    /// (parameter, offset in it) of every place that holds a pointer, sorted.
    pointers: Vec<(usize, u32)>,
}

impl ParamUses {
    /// The uses of a kernel's parameters.
    ///
    /// What may be a base or an offset is not taken for a pointer: as a symbol it can only lose an
    /// answer, while the sum of two array addresses would be an address of neither.
    pub fn of(kernel: &Kernel) -> ParamUses {
        let mut out = ParamUses::default();
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
        for found in param_uses(kernel) {
            let Some(param) = found.param else { continue };
            let param = param as usize;
            out.loads.push((param, found.offset, found.bytes));
            if found.pointer && !found.ambiguous && found.bytes == 8 {
                out.pointers.push((param, found.offset));
            }
        }
        out.pointers.sort_unstable();
        out.pointers.dedup();
        out
    }

    /// Size in bytes of the widest load of a parameter at an offset.
    pub fn load_bytes(&self, param: usize, offset: u32) -> Option<u32> {
        let here = self.loads.iter().filter(|l| (l.0, l.1) == (param, offset));
        here.map(|l| l.2).max()
    }

    /// Offsets of the pointers in a parameter, in order.
    pub fn pointers(&self, param: usize) -> impl Iterator<Item = u32> {
        let here = self.pointers.iter().filter(move |p| p.0 == param);
        here.map(|p| p.1)
    }

    /// Whether a pointer is at an offset of a parameter.
    pub fn is_pointer(&self, param: usize, offset: u32) -> bool {
        self.pointers.contains(&(param, offset))
    }
}
