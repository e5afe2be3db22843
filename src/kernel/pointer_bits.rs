//! Where a result would depend on the numeric address of an array.
//!
//! The problem: the simulator gives each array, and each global variable, some base address, and an answer must not depend on
//! which. So every operation on a value derived from one is judged: moving an
//! address by an offset, accessing through it, and what only its low eight bits decide (bases are
//! multiples of 256) are the same for every base; whatever else meets an address is reported.
//!
//! Soundness: every instruction whose result depends on a base is reported, as far as values flow
//! ([`flow`](super::flow)); one that is reported need not depend on it.
//!
//! Not claimed: operations on addresses that were loaded from memory which the host has filled.

use super::flow::{Flow, Graph, Known, Origin, Reach, low_bits, reach, reach_with_globals};
use super::operands::op_uses;
use super::usage::{Loads, ParamUse, accesses, is_global, loads, mark_pointers};
use super::{AsyncOp, Cmp, Inst, IntOp, Kernel, NumTy, Op, ParamKind, Pc, RegId, Space, Src};

/// Instructions whose result can depend on the numeric base of an array that a parameter points
/// to: everything but the moving of an address by an offset, accesses through it, and what only
/// its low eight bits decide, which are zero in every base.
///
/// A comparison or difference of two addresses counts unless both are derived from one parameter;
/// the question whether an address is null does not.
pub fn pointer_bits(kernel: &Kernel) -> Vec<Pc> {
    pointer_bits_with(kernel, |_| false)
}

/// The same, where the caller knows that some parameters (by index) are arrays, though the code
/// accesses nothing through them.
pub fn pointer_bits_with(kernel: &Kernel, is_array: impl Fn(u32) -> bool) -> Vec<Pc> {
    base_uses(kernel, is_array).depends
}

/// What instructions do with addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseUses {
    /// Those whose result can depend on the base of an array: see [`pointer_bits`].
    pub depends: Vec<Pc>,
    /// Those that can take a part of an address from a whole one: narrowing, or taking apart.
    /// Loads are not among them.
    pub parts: Vec<Pc>,
}

/// Both lists, in order.
pub fn base_uses(kernel: &Kernel, is_array: impl Fn(u32) -> bool) -> BaseUses {
    let Loads { mut uses, seeds } = loads(kernel);
    let graph = Graph::new(kernel, Flow::Pointer);
    let flow = reach_with_globals(&graph, &seeds, uses.len());
    mark_pointers(kernel, &flow, &mut uses);
    let declared = |param: u32| {
        let kind = kernel.params.get(param as usize).map(|p| p.kind);
        matches!(kind, Some(ParamKind::Int { pointer: true, .. })) || is_array(param)
    };
    let pointer = uses
        .iter()
        .map(|u| u.pointer || u.param.is_some_and(declared));
    let judge = Judge {
        kernel,
        known: &Known::new(kernel),
        pointer: pointer.collect(),
        flow: &flow,
        high: &reach(&graph, &high_parts(kernel, &uses, &seeds)),
    };
    let those = |test: &dyn Fn(&Inst) -> bool| {
        let insts = (0u32..).zip(&kernel.insts);
        insts
            .filter(|(_, i)| test(i))
            .map(|(pc, _)| Pc(pc))
            .collect()
    };
    BaseUses {
        depends: those(&|inst| judge.depends(inst)),
        parts: those(&|inst| judge.takes_part(inst)),
    }
}

/// Registers that may hold another part of an address than its low bits.
fn high_parts(
    kernel: &Kernel,
    uses: &[ParamUse],
    seeds: &[(RegId, Origin)],
) -> Vec<(RegId, Origin)> {
    let mut high: Vec<(RegId, Origin)> = Vec::new();
    for (reg, origin) in seeds {
        let load = &uses[*origin as usize];
        if load.bytes < 8 && (load.param.is_none() || !load.offset.is_multiple_of(8)) {
            high.push((*reg, 0));
        }
    }
    for inst in &kernel.insts {
        match &inst.op {
            Op::Unpack { dsts, .. } => {
                high.extend(dsts.iter().skip(1).flatten().map(|reg| (*reg, 0)));
            }
            Op::Ld { access, dsts, .. } if access.ty.bits() < 64 => {
                high.extend(dsts.iter().flatten().map(|reg| (*reg, 0)));
            }
            _ => {}
        }
    }
    high
}

struct Judge<'a> {
    kernel: &'a Kernel,
    known: &'a Known,
    flow: &'a Reach,
    /// Where other parts of an address than the low one can flow.
    high: &'a Reach,
    /// Which parameter values are pointers.
    pointer: Vec<bool>,
}

impl Judge<'_> {
    /// Is this origin an address? Those behind the parameters are variables.
    fn is_pointer(&self, origin: Origin) -> bool {
        self.pointer.get(origin as usize).copied().unwrap_or(true)
    }

    /// Can an address flow into this source?
    fn derived(&self, src: Src) -> bool {
        let origins = self.flow.origins(src);
        origins.iter().any(|o| self.is_pointer(*o))
    }

    /// Is this the low part of an address, whose low eight bits are those of an offset?
    fn low(&self, src: Src) -> bool {
        self.derived(src) && self.high.is_empty(src)
    }

    /// Are both sources derived from one and the same parameter?
    fn same_base(&self, a: Src, b: Src) -> bool {
        match (self.flow.origins(a), self.flow.origins(b)) {
            ([one], [other]) => one == other && self.is_pointer(*one),
            _ => false,
        }
    }

    /// Can this make a part of an address out of a whole one?
    fn takes_part(&self, inst: &Inst) -> bool {
        match &inst.op {
            Op::Unpack { src, .. } => self.derived(*src),
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                src,
                ..
            } => to.width < from.width && self.derived(*src),
            Op::Mov { dst, src, .. } => {
                self.kernel.reg_width.get(dst.0 as usize) != Some(&64) && self.derived(*src)
            }
            _ => false,
        }
    }

    fn depends(&self, inst: &Inst) -> bool {
        let narrow = |src: Src| match src {
            Src::Reg(reg) => self.kernel.reg_width.get(reg.0 as usize) != Some(&64),
            Src::Imm(_) | Src::Global(..) => false,
        };
        // Part of an address is no address, nor is one of another space.
        let mut misused = false;
        accesses(&inst.op, |addr, access, _| {
            let fits = is_global(access.space) && !narrow(addr.base);
            misused |= self.derived(addr.base) && !fits;
        });
        if misused {
            return true;
        }
        match &inst.op {
            // Copies.
            Op::Mov { .. } | Op::Pack { .. } | Op::Unpack { .. } | Op::Selp { .. } => false,
            // Every base lies in the global window.
            Op::IsSpace { .. } => false,
            Op::Cvta { space, src, .. } => {
                let keeps = matches!(space, Space::Global | Space::Const | Space::Param);
                !keeps && self.derived(*src)
            }
            Op::Slct { c, .. } => self.derived(*c),
            Op::Shfl { b, c, mask, .. } => {
                let rest = [Some(*b), Some(*c), *mask];
                rest.into_iter().flatten().any(|s| self.derived(s))
            }
            // A narrowing conversion keeps low bits, a widening one invents high ones.
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                sat: false,
                src,
                ..
            } => to.width > from.width && self.derived(*src),
            Op::Int {
                op, lanes: 1, src, ..
            } => self.int_depends(*op, *src),
            Op::Setp { cmp, a, b, .. } | Op::Set { cmp, a, b, .. } => {
                let zero = |s: Src| s == Src::Imm(0);
                let null = matches!(cmp, Cmp::Eq | Cmp::Ne) && (zero(*a) || zero(*b));
                let whole = !narrow(*a) && !narrow(*b);
                (self.derived(*a) || self.derived(*b))
                    && !(whole && (null || self.same_base(*a, *b)))
            }
            Op::Ld { .. } => false,
            // An address may be spilled to memory of the thread or the CTA, not given out.
            Op::St { access, srcs, addr } => {
                let (space, _) = self.known.element(access.space, addr, 0, access.ty);
                let private = matches!(space, Space::Local | Space::Shared);
                !private && srcs.iter().flatten().any(|s| self.derived(*s))
            }
            Op::Ldmatrix { .. } => false,
            Op::Async(op) if matches!(**op, AsyncOp::Bulk(_)) => {
                let mut found = false;
                if let AsyncOp::Bulk(op) = &**op {
                    op.near_uses(&mut |r| found |= self.derived(Src::Reg(r)));
                }
                found
            }
            Op::Async(op) => {
                let base = op.address().map(|a| a.base);
                let mut found = false;
                op.uses(&mut |r| {
                    found |= base != Some(Src::Reg(r)) && self.derived(Src::Reg(r));
                });
                found
            }
            Op::Stmatrix { srcs, .. } => srcs.iter().any(|s| self.derived(*s)),
            Op::CpAsync { read, ignore, .. } => {
                let predicate = ignore.map(|guard| Src::Reg(guard.reg));
                read.iter().chain(&predicate).any(|s| self.derived(*s))
            }
            Op::Atom { srcs, cas, .. } => srcs.iter().chain(cas).any(|s| self.derived(*s)),
            op => {
                let mut found = false;
                op_uses(op, &mut |reg| found |= self.derived(Src::Reg(reg)));
                found
            }
        }
    }

    fn int_depends(&self, op: IntOp, [a, b, c, d]: [Src; 4]) -> bool {
        let (x, y) = (self.derived(a), self.derived(b));
        match op {
            IntOp::Add => x && y,
            IntOp::Sub => y && !self.same_base(a, b),
            IntOp::MadLo | IntOp::MadWide => x || y,
            // Changing or keeping only bits that are the offset's leaves the base alone.
            IntOp::And | IntOp::Or | IntOp::Xor if x != y => {
                let (address, mask) = if x { (a, b) } else { (b, a) };
                let high_kept = matches!(mask, Src::Imm(m) if !m < 256 && op == IntOp::And);
                !(self.low(address) && (low_bits(mask) || high_kept))
            }
            _ => [a, b, c, d].into_iter().any(|s| self.derived(s)),
        }
    }
}
