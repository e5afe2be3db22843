//! Decoder of `atom` and `red`.
//!
//! Source: PTX ISA 9.0, sections 9.7.13.5 and 9.7.13.6. The default order is relaxed, the default
//! scope the device. Vector and packed forms are atomic element by element.
//!
//! Not claimed: 128-bit operations.

use super::decode_mem::SCOPES;
use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, HINTS, ModSet, Sig, num_type, unsupported};
use super::{Access, AtomOp, Fmt, IntTy, NumTy, Op, Scope, Sem, Space};
use crate::ptx::{Mod, Op as Opcode, Type, TypeClass};

const OPERATIONS: &[(Mod, AtomOp)] = &[
    (Mod::And, AtomOp::And),
    (Mod::Or, AtomOp::Or),
    (Mod::Xor, AtomOp::Xor),
    (Mod::Cas, AtomOp::Cas),
    (Mod::Exch, AtomOp::Exch),
    (Mod::Add, AtomOp::Add),
    (Mod::Inc, AtomOp::Inc),
    (Mod::Dec, AtomOp::Dec),
    (Mod::Min, AtomOp::Min),
    (Mod::Max, AtomOp::Max),
];

const ORDERS: &[(Mod, Sem)] = &[
    (Mod::Relaxed, Sem::Relaxed),
    (Mod::Acquire, Sem::Acquire),
    (Mod::Release, Sem::Release),
    (Mod::AcqRel, Sem::AcqRel),
];

const KNOWN: ModSet = HINTS.or(ModSet::of(&[
    Mod::And,
    Mod::Or,
    Mod::Xor,
    Mod::Cas,
    Mod::Exch,
    Mod::Add,
    Mod::Inc,
    Mod::Dec,
    Mod::Min,
    Mod::Max,
    Mod::Relaxed,
    Mod::Acquire,
    Mod::Release,
    Mod::AcqRel,
    Mod::Cta,
    Mod::Cluster,
    Mod::Gpu,
    Mod::Sys,
    Mod::Noftz,
    Mod::V2,
    Mod::V4,
    Mod::V8,
]));

impl Lowerer<'_> {
    /// `atom.mods.space.op.type d, [a], b, c;` and `red.mods.space.op.type [a], b;`
    pub(super) fn decode_atom(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(KNOWN)?;
        let returns = sig.op == Opcode::Atom;
        let op = sig.need(OPERATIONS, "an operation")?;
        let sem = sig.pick(ORDERS)?.unwrap_or(Sem::Relaxed);
        let scope = sig.pick(SCOPES)?.unwrap_or(Scope::Gpu);
        let ty = sig.ty()?;
        let Some((num, lanes)) = num_type(ty).filter(|(num, _)| fits(op, *num, ty)) else {
            return unsupported("no such operation of this type");
        };
        if !returns && (matches!(op, AtomOp::Cas | AtomOp::Exch) || sem == Sem::Acquire) {
            return unsupported("no such reduction");
        }
        let at = usize::from(returns);
        let cas = op == AtomOp::Cas;
        self.expect_with_policy(sig, at + 2 + usize::from(cas))?;
        let written = self.written_space(sig)?;
        let (space, addr) = self.address(at, written)?;
        if !matches!(
            space,
            Space::Generic | Space::Global | Space::Shared | Space::SharedCluster
        ) {
            return unsupported("an atomic outside global and shared memory");
        }
        let mut dsts = Vec::new();
        if returns {
            for operand in self.vector(sig, 0)? {
                dsts.extend(self.dst_or_sink(&operand, ty, Fit::Exact)?);
            }
        }
        let operands = self.vector(sig, at + 1)?;
        if !dsts.is_empty() && dsts.len() != operands.len() {
            return unsupported("a partly unused result");
        }
        let mut srcs = Vec::with_capacity(operands.len());
        for operand in &operands {
            srcs.push(self.value(operand, ty, Fit::Exact)?);
        }
        let cas = match cas {
            true => Some(self.src(at + 2, ty)?),
            false => None,
        };
        self.emit(Op::Atom {
            access: Access {
                space,
                ty: num,
                untyped: ty.class() == TypeClass::Bits,
                sem,
                scope,
                volatile: false,
                nc: false,
            },
            op,
            lanes,
            dsts,
            addr,
            srcs,
            cas,
        });
        Ok(())
    }
}

/// Does the manual define the operation at the type?
fn fits(op: AtomOp, num: NumTy, ty: Type) -> bool {
    let bits = ty.class() == TypeClass::Bits;
    match (op, num) {
        (AtomOp::And | AtomOp::Or | AtomOp::Xor, NumTy::Int(IntTy { width: 32 | 64, .. })) => bits,
        (AtomOp::Cas, NumTy::Int(IntTy { width, .. })) => bits && matches!(width, 16 | 32 | 64),
        (AtomOp::Exch, NumTy::Int(IntTy { width, .. })) => bits && matches!(width, 32 | 64),
        (AtomOp::Inc | AtomOp::Dec, _) => ty == Type::U32,
        (AtomOp::Add | AtomOp::Min | AtomOp::Max, NumTy::Int(IntTy { width: 32 | 64, .. })) => {
            !bits
        }
        (AtomOp::Add, NumTy::Float(fmt)) => {
            matches!(fmt, Fmt::F16 | Fmt::Bf16 | Fmt::F32 | Fmt::F64) && ty != Type::F32x2
        }
        (AtomOp::Min | AtomOp::Max, NumTy::Float(fmt)) => matches!(fmt, Fmt::F16 | Fmt::Bf16),
        _ => false,
    }
}
