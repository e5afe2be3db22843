//! What a kernel does with the values of its parameters.
//!
//! The problem: a pointer that nobody bound needs a role and an element type, and both follow from
//! its use; an integer that nobody bound matters if it decides something. Both are answered for all
//! paths at once by the flow of values ([`flow`](super::flow)): a load of a parameter is a source,
//! and what its values reach is its use.
//!
//! Not claimed: that a use happens on some path; nor anything about the operands of
//! [`Op::Unsupported`], which are not known.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::flow::{Flow, Graph, Origin, Reach, reach};
use super::operands::{defs, op_uses};
pub use super::pointer_bits::{pointer_bits, pointer_bits_with};
use super::{Addr, GlobalId, Kernel, NumTy, Op, RegId, Space, Src};

/// An access through a parameter that is a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessUse {
    /// The space of the access.
    pub space: Space,
    /// Element type of the access.
    pub ty: NumTy,
    /// The type was a bit type: the bytes are copied, or become typed elsewhere.
    pub untyped: bool,
}

/// What the code does with the value that one load of a parameter gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamUse {
    /// Index of the parameter; `None` if the load's address is not a constant.
    pub param: Option<u32>,
    /// Byte offset in the parameter.
    pub offset: u32,
    /// Number of bytes.
    pub bytes: u32,
    /// It is used as an address: it reaches an address operand or a `cvta` by pointer flow.
    pub pointer: bool,
    /// It reaches no address but together with other parameters, so it may be the base of one or an
    /// offset from it.
    pub ambiguous: bool,
    /// Loads through it.
    pub reads: Vec<AccessUse>,
    /// Stores through it.
    pub writes: Vec<AccessUse>,
    /// Atomics through it.
    pub atomics: Vec<AccessUse>,
    /// It can decide a branch, a guard or a comparison.
    pub decides: bool,
}

impl ParamUse {
    fn new(bytes: u32, pointer: bool) -> ParamUse {
        ParamUse {
            param: None,
            offset: 0,
            bytes,
            pointer,
            ambiguous: false,
            reads: Vec::new(),
            writes: Vec::new(),
            atomics: Vec::new(),
            decides: false,
        }
    }
}

/// What the kernel loads from its parameters.
pub(super) struct Loads {
    /// The loads.
    pub uses: Vec<ParamUse>,
    /// For each destination of such a load, and of each register that is given the address of a
    /// module variable: which of them it is.
    pub seeds: Vec<(RegId, Origin)>,
    /// Number of loads in `uses`; what follows are module variables, which are bases like
    /// pointers.
    pub params: usize,
}

/// Parameter loads of a kernel with what becomes of their values, in order of first load.
pub fn param_uses(kernel: &Kernel) -> Vec<ParamUse> {
    let Loads {
        mut uses,
        seeds,
        params,
    } = loads(kernel);
    let pointers = reach(&Graph::new(kernel, Flow::Pointer), &seeds);
    mark_pointers(kernel, &pointers, &mut uses);
    let any = reach(&Graph::new(kernel, Flow::Any), &seeds);
    let mut decide = |reg: RegId| {
        for origin in any.origins(Src::Reg(reg)) {
            uses[*origin as usize].decides = true;
        }
    };
    for inst in &kernel.insts {
        if let Some(guard) = inst.guard {
            decide(guard.reg);
        }
        if matches!(inst.op, Op::Setp { .. } | Op::Set { .. } | Op::Brx { .. }) {
            op_uses(&inst.op, &mut decide);
        }
    }
    uses.truncate(params);
    uses
}

/// Says of each parameter value whether it is a pointer, and what is done through it.
pub(super) fn mark_pointers(kernel: &Kernel, pointers: &Reach, uses: &mut [ParamUse]) {
    // A value that reaches some address alone, or is converted, is surely a base.
    let mut alone: Vec<bool> = uses.iter().map(|u| u.pointer).collect();
    for inst in &kernel.insts {
        let base = match &inst.op {
            Op::Cvta { src, .. } => Some(*src),
            op => address(op).map(|(addr, ..)| addr.base),
        };
        if let Some([origin]) = base.map(|base| pointers.origins(base)) {
            alone[*origin as usize] = true;
        }
    }
    for inst in &kernel.insts {
        if let Op::Cvta { src, .. } = inst.op {
            for origin in pointers.origins(src) {
                uses[*origin as usize].pointer = true;
            }
        }
        let Some((addr, access, kind)) = address(&inst.op) else {
            continue;
        };
        let origins = pointers.origins(addr.base);
        let has_base = origins.iter().any(|o| alone[*o as usize]);
        for origin in origins {
            let found = &mut uses[*origin as usize];
            // Beside a sure base, what is not one is an offset.
            if has_base && !alone[*origin as usize] {
                continue;
            }
            found.pointer = true;
            found.ambiguous |= !alone[*origin as usize];
            let list = match kind {
                Kind::Read => &mut found.reads,
                Kind::Write => &mut found.writes,
                Kind::Atomic => &mut found.atomics,
            };
            if !list.contains(&access) {
                list.push(access);
            }
        }
    }
}

/// What a memory operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Atomic,
}

/// The address of a memory operation, with its access.
pub(super) fn address(op: &Op) -> Option<(Addr, AccessUse, Kind)> {
    let (addr, access, kind) = match op {
        Op::Ld { addr, access, .. } => (addr, access, Kind::Read),
        Op::St { addr, access, .. } => (addr, access, Kind::Write),
        Op::Atom { addr, access, .. } => (addr, access, Kind::Atomic),
        _ => return None,
    };
    let found = AccessUse {
        space: access.space,
        ty: access.ty,
        untyped: access.untyped,
    };
    Some((*addr, found, kind))
}

/// The loads from parameter memory.
pub(super) fn loads(kernel: &Kernel) -> Loads {
    let mut found = Loads {
        uses: Vec::new(),
        seeds: Vec::new(),
        params: 0,
    };
    let mut known: HashMap<(Option<u32>, u32, u32), Origin, FxBuildHasher> =
        HashMap::with_hasher(FxBuildHasher);
    let generic = kernel.insts.iter().any(|inst| {
        let op = &inst.op;
        matches!(
            op,
            Op::Cvta {
                space: Space::Param,
                ..
            }
        )
    });
    for inst in &kernel.insts {
        let Op::Ld {
            access, dsts, addr, ..
        } = &inst.op
        else {
            continue;
        };
        // After `cvta.param` a generic load may read any parameter.
        let reads = access.space == Space::Param || (generic && access.space == Space::Generic);
        if !reads {
            continue;
        }
        let bytes = access.ty.bits() / 8;
        for (i, dst) in dsts.iter().enumerate() {
            let Some(dst) = dst else { continue };
            let key = match (access.space, addr.base) {
                (Space::Param, Src::Imm(base)) => {
                    let at = (base as i64).wrapping_add(addr.offset) + i as i64 * i64::from(bytes);
                    match param_at(kernel, at) {
                        Some((param, offset)) => (Some(param), offset, bytes),
                        None => (None, 0, bytes),
                    }
                }
                _ => (None, 0, bytes),
            };
            let next = found.uses.len() as Origin;
            let origin = *known.entry(key).or_insert(next);
            if origin == next {
                found.uses.push(ParamUse {
                    param: key.0,
                    offset: key.1,
                    ..ParamUse::new(bytes, false)
                });
            }
            found.seeds.push((*dst, origin));
        }
    }
    found.params = found.uses.len();
    module_variables(kernel, &mut found);
    found
}

/// Adds every module variable whose address is taken: beside it, a parameter is an offset.
fn module_variables(kernel: &Kernel, found: &mut Loads) {
    let mut known: HashMap<GlobalId, Origin, FxBuildHasher> = HashMap::with_hasher(FxBuildHasher);
    for inst in &kernel.insts {
        let srcs: &[Src] = match &inst.op {
            Op::Mov { src, .. } | Op::Cvta { src, .. } => &[*src],
            Op::Int { src, .. } => src,
            Op::Selp { a, b, .. } | Op::Slct { a, b, .. } => &[*a, *b],
            Op::Pack { srcs, .. } => srcs,
            _ => continue,
        };
        for src in srcs {
            let Src::Global(variable, _) = src else {
                continue;
            };
            let next = found.uses.len() as Origin;
            let origin = *known.entry(*variable).or_insert(next);
            if origin == next {
                found.uses.push(ParamUse::new(8, true));
            }
            defs(&inst.op, |dst| found.seeds.push((dst, origin)));
        }
    }
}

/// The parameter that holds a byte of parameter memory, and the offset in it.
fn param_at(kernel: &Kernel, at: i64) -> Option<(u32, u32)> {
    let at = u32::try_from(at).ok()?;
    let after = kernel.params.partition_point(|p| p.offset <= at);
    let index = after.checked_sub(1)?;
    let offset = at - kernel.params[index].offset;
    (offset < kernel.params[index].bytes).then_some((index as u32, offset))
}
