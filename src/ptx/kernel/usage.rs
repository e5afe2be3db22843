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

use super::flow::{Flow, Graph, Known, Origin, Reach, reach, reach_with_globals};
pub use super::results::results_used;
use super::value_use::{ValueUse, value_uses};
use super::{Addr, Cmp, IntOp, IntTy, Kernel, NumTy, Op, Pc, RegId, Space, Src};

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
    /// The first load of it.
    pub pc: Pc,
    /// Types that typed loads give it.
    pub loaded: Vec<NumTy>,
    /// Types that the code takes it, or a part of it, as.
    pub taken: Vec<ValueUse>,
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
    /// Operations whose result depends on whether it has a sign take it without one, and with one.
    pub signs: [bool; 2],
    /// It can decide a branch, a guard or a comparison.
    pub decides: bool,
    /// An address can depend on it.
    pub addresses: bool,
}

/// What the kernel loads from its parameters.
pub struct Loads {
    /// The loads.
    pub uses: Vec<ParamUse>,
    /// For each destination of such a load: which of them it is.
    pub seeds: Vec<(RegId, Origin)>,
}

/// Parameter loads of a kernel with what becomes of their values, in order of first load.
pub fn param_uses(kernel: &Kernel) -> Vec<ParamUse> {
    let Loads { mut uses, seeds } = loads(kernel);
    let pointers = reach_with_globals(&Graph::new(kernel, Flow::Pointer), &seeds, uses.len());
    mark_pointers(kernel, &pointers, &mut uses);
    let copies = reach(&Graph::new(kernel, Flow::Copy), &seeds);
    let any = reach(&Graph::new(kernel, Flow::Any), &seeds);
    let mut taken: Vec<(Origin, ValueUse)> = Vec::new();
    let mut signs: Vec<(Origin, bool)> = Vec::new();
    let mut addresses: Vec<Src> = Vec::new();
    let mut decide = |reg: RegId| {
        for origin in any.origins(Src::Reg(reg)) {
            uses[*origin as usize].decides = true;
        }
    };
    for inst in &kernel.insts {
        value_uses(&inst.op, |reg, what| {
            for origin in copies.origins(Src::Reg(reg)) {
                taken.push((*origin, what));
            }
        });
        if let Some(signed) = sign_taken(&inst.op) {
            inst.op.uses(&mut |reg| {
                for origin in copies.origins(Src::Reg(reg)) {
                    signs.push((*origin, signed));
                }
            });
        }
        if let Some(guard) = inst.guard {
            decide(guard.reg);
        }
        if matches!(inst.op, Op::Setp { .. } | Op::Set { .. } | Op::Brx { .. }) {
            inst.op.uses(&mut decide);
        }
        accesses(&inst.op, |addr, _, _| addresses.push(addr.base));
    }
    for base in addresses {
        for origin in any.origins(base) {
            uses[*origin as usize].addresses = true;
        }
    }
    for (origin, what) in taken {
        let list = &mut uses[origin as usize].taken;
        if !list.contains(&what) {
            list.push(what);
        }
    }
    for (origin, signed) in signs {
        uses[origin as usize].signs[usize::from(signed)] = true;
    }
    uses
}

/// Whether an operation takes its integers with a sign; `None` where its result does not depend on that.
fn sign_taken(op: &Op) -> Option<bool> {
    let ty = match op {
        Op::Setp { cmp, ty, .. } | Op::Set { cmp, ty, .. } => match cmp {
            Cmp::Eq | Cmp::Ne => return None,
            _ => *ty,
        },
        Op::Cvt { from, .. } => *from,
        Op::Int {
            op:
                IntOp::MulHi
                | IntOp::MulWide
                | IntOp::MadHi
                | IntOp::MadWide
                | IntOp::Div
                | IntOp::Rem
                | IntOp::Min
                | IntOp::Max
                | IntOp::Abs
                | IntOp::Neg
                | IntOp::Shr,
            ty,
            ..
        } => NumTy::Int(*ty),
        _ => return None,
    };
    match ty {
        NumTy::Int(ty) => Some(ty.signed),
        NumTy::Float(_) => None,
    }
}

/// Says of each parameter value whether it is a pointer, and what is done through it.
pub(super) fn mark_pointers(kernel: &Kernel, pointers: &Reach, uses: &mut [ParamUse]) {
    // Origins behind the parameters are variables, which are bases beyond doubt; a parameter is one
    // if it reaches some address alone, or is converted.
    let mut alone = vec![false; uses.len()];
    let mut mark = |base: Src| {
        if let [origin] = *pointers.origins(base)
            && let Some(alone) = alone.get_mut(origin as usize)
        {
            *alone = true;
        }
    };
    for inst in &kernel.insts {
        if let Op::Cvta { space, src, .. } = inst.op
            && is_global(space)
        {
            mark(src);
        }
        accesses(&inst.op, |addr, access, _| {
            if is_global(access.space) {
                mark(addr.base);
            }
        });
    }
    for inst in &kernel.insts {
        if let Op::Cvta { space, src, .. } = inst.op
            && is_global(space)
        {
            for origin in pointers.origins(src) {
                if let Some(found) = uses.get_mut(*origin as usize) {
                    found.pointer = true;
                }
            }
        }
        accesses(&inst.op, |addr, access, kind| {
            if is_global(access.space) {
                mark_access(pointers.origins(addr.base), &alone, uses, access, kind);
            }
        });
    }
}

fn mark_access(
    origins: &[Origin],
    alone: &[bool],
    uses: &mut [ParamUse],
    access: AccessUse,
    kind: AccessKind,
) {
    let sure = |origin: &Origin| alone.get(*origin as usize).copied().unwrap_or(true);
    let has_base = origins.iter().any(sure);
    for origin in origins {
        let Some(found) = uses.get_mut(*origin as usize) else {
            continue;
        };
        // Beside a sure base, what is not one is an offset.
        if has_base && !sure(origin) {
            continue;
        }
        found.pointer = true;
        found.ambiguous |= !sure(origin);
        let list = match kind {
            AccessKind::Read => &mut found.reads,
            AccessKind::Write => &mut found.writes,
            AccessKind::Atomic => &mut found.atomics,
        };
        if !list.contains(&access) {
            list.push(access);
        }
    }
}

/// Can an address that the host made point into this space?
pub(super) fn is_global(space: Space) -> bool {
    matches!(space, Space::Generic | Space::Global | Space::Const)
}

/// What a memory operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Read,
    Write,
    Atomic,
}

/// Calls `f` with each address of a memory operation and its access.
pub(super) fn accesses(op: &Op, mut f: impl FnMut(Addr, AccessUse, AccessKind)) {
    let (addr, access, kind) = match op {
        Op::Ld { addr, access, .. } => (addr, access, AccessKind::Read),
        Op::St { addr, access, .. } => (addr, access, AccessKind::Write),
        Op::Atom { addr, access, .. } => (addr, access, AccessKind::Atomic),
        Op::Ldmatrix { addr, space, .. } => return f(*addr, bytes(*space, 2), AccessKind::Read),
        Op::Stmatrix { addr, space, .. } => return f(*addr, bytes(*space, 2), AccessKind::Write),
        Op::CpAsync {
            bytes: n, to, from, ..
        } => {
            f(*from, bytes(Space::Global, *n), AccessKind::Read);
            return f(*to, bytes(Space::Shared, *n), AccessKind::Write);
        }
        Op::Async(op) => {
            if let super::AsyncOp::Bulk(op) = &**op {
                return op.far_addresses(|space, addr, written| {
                    let kind = if written {
                        AccessKind::Write
                    } else {
                        AccessKind::Read
                    };
                    f(addr, bytes(space, 4), kind);
                });
            }
            let (m, kind) = match &**op {
                super::AsyncOp::WmmaLoad { from: m, .. } => (m, AccessKind::Read),
                super::AsyncOp::WmmaStore { to: m, .. } => (m, AccessKind::Write),
                _ => return,
            };
            let found = AccessUse {
                space: m.space,
                ty: m.what.ty.element(),
                untyped: false,
            };
            return f(m.addr, found, kind);
        }
        _ => return,
    };
    let found = AccessUse {
        space: access.space,
        ty: access.ty,
        untyped: access.untyped,
    };
    f(*addr, found, kind);
}

/// An untyped access of this many bytes, in words of at most eight.
fn bytes(space: Space, bytes: u8) -> AccessUse {
    AccessUse {
        space,
        ty: NumTy::Int(IntTy {
            width: bytes.min(8) * 8,
            signed: false,
        }),
        untyped: true,
    }
}

/// The loads from parameter memory.
pub fn loads(kernel: &Kernel) -> Loads {
    let mut found = Loads {
        uses: Vec::new(),
        seeds: Vec::new(),
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
    let addresses = Known::new(kernel);
    for (pc, inst) in (0u32..).zip(&kernel.insts) {
        let Op::Ld {
            access, dsts, addr, ..
        } = &inst.op
        else {
            continue;
        };
        let (space, _) = addresses.element(access.space, addr, 0, access.ty);
        // After `cvta.param` a generic load may read any parameter.
        if space != Space::Param && !(generic && space == Space::Generic) {
            continue;
        }
        let bytes = access.ty.bits() / 8;
        for (i, dst) in dsts.iter().enumerate() {
            let Some(dst) = dst else { continue };
            let (_, at) = addresses.element(access.space, addr, i, access.ty);
            let key = match at.filter(|_| space == Space::Param) {
                Some(at) => match param_at(kernel, at) {
                    Some((param, offset)) => (Some(param), offset, bytes),
                    None => (None, 0, bytes),
                },
                None => (None, 0, bytes),
            };
            let next = found.uses.len() as Origin;
            let origin = *known.entry(key).or_insert(next);
            if origin == next {
                found.uses.push(ParamUse {
                    param: key.0,
                    offset: key.1,
                    bytes,
                    pc: Pc(pc),
                    loaded: Vec::new(),
                    taken: Vec::new(),
                    pointer: false,
                    ambiguous: false,
                    reads: Vec::new(),
                    writes: Vec::new(),
                    atomics: Vec::new(),
                    signs: [false; 2],
                    decides: false,
                    addresses: false,
                });
            }
            let loaded = &mut found.uses[origin as usize].loaded;
            if !access.untyped && !loaded.contains(&access.ty) {
                loaded.push(access.ty);
            }
            found.seeds.push((*dst, origin));
        }
    }
    found
}

/// The parameter that holds a byte of parameter memory, and the offset in it.
fn param_at(kernel: &Kernel, at: i64) -> Option<(u32, u32)> {
    let at = u32::try_from(at).ok()?;
    let after = kernel.params.partition_point(|p| p.offset <= at);
    let index = after.checked_sub(1)?;
    let offset = at - kernel.params[index].offset;
    (offset < kernel.params[index].bytes).then_some((index as u32, offset))
}
