//! Where a kernel reads its parameters, and which of those places hold pointers.

use crate::kernel::{Kernel, Op, Space, Src};

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
    pub fn of(kernel: &Kernel) -> ParamUses {
        let mut loads = Vec::new();
        for inst in &kernel.insts {
            let Op::Ld {
                access, dsts, addr, ..
            } = &inst.op
            else {
                continue;
            };
            let (Space::Param, Src::Imm(base)) = (access.space, addr.base) else {
                continue;
            };
            let bytes = access.ty.bits() / 8;
            for i in 0..dsts.len() as u64 {
                let at = base
                    .wrapping_add(addr.offset as u64)
                    .wrapping_add(i * bytes as u64);
                if let Some((p, offset)) = place(kernel, at) {
                    loads.push((p, offset, bytes));
                }
            }
        }
        loads.sort_unstable();
        loads.dedup();
        ParamUses {
            loads,
            pointers: Vec::new(),
        }
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

/// The parameter at an offset of the parameter space, and the offset in it.
fn place(kernel: &Kernel, at: u64) -> Option<(usize, u32)> {
    let inside = |p: &crate::kernel::Param| {
        at.checked_sub(p.offset as u64)
            .filter(|&o| o < p.bytes as u64)
    };
    let found = kernel
        .params
        .iter()
        .enumerate()
        .find_map(|(i, p)| Some((i, inside(p)?)));
    found.map(|(i, offset)| (i, offset as u32))
}
