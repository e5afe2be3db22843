//! Decoder of loads and stores.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.8 to 9.7.9.11 and 9.7.9.15 to 9.7.9.18. A vector access is one
//! access of several elements; a 128-bit element is two of 64 bits. Cache operators, eviction
//! priorities and prefetch sizes are hints and dropped; the cache policy operand with them.
//! `.volatile` is a plain access for races, `.mmio` a relaxed one of system scope.

use super::decode_mov::space;
use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, HINTS, ModSet, Sig, num_type, unsupported};
use super::{Access, Addr, IntTy, NumTy, Op, RegId, Scope, Sem, Space, Src};
use crate::ptx;
use crate::ptx::{Mod, Operand, OperandKind, Type, TypeClass};

/// The words of memory scopes.
pub(super) const SCOPES: &[(Mod, Scope)] = &[
    (Mod::Cta, Scope::Cta),
    (Mod::Cluster, Scope::Cluster),
    (Mod::Gpu, Scope::Gpu),
    (Mod::Sys, Scope::Sys),
];

const VECTORS: &[(Mod, usize)] = &[(Mod::V2, 2), (Mod::V4, 4), (Mod::V8, 8)];

const COMMON: ModSet = HINTS.or(ModSet::of(&[
    Mod::Weak,
    Mod::Relaxed,
    Mod::Volatile,
    Mod::Mmio,
    Mod::Cta,
    Mod::Cluster,
    Mod::Gpu,
    Mod::Sys,
    Mod::V2,
    Mod::V4,
    Mod::V8,
]));
const LOAD: ModSet = COMMON.or(ModSet::of(&[Mod::Acquire, Mod::Nc]));
const STORE: ModSet = COMMON.or(ModSet::of(&[Mod::Release]));

/// What kind of strong access a load or store is.
#[derive(Clone, Copy)]
enum Order {
    Weak,
    Volatile,
    Strong(Sem),
}

impl<'a> Lowerer<'a> {
    /// The modifiers that loads and stores share; the space is filled in from the address.
    fn access(&mut self, sig: &Sig, ty: Type) -> Decoded<Access> {
        let order = sig.pick(&[
            (Mod::Weak, Order::Weak),
            (Mod::Volatile, Order::Volatile),
            (Mod::Relaxed, Order::Strong(Sem::Relaxed)),
            (Mod::Acquire, Order::Strong(Sem::Acquire)),
            (Mod::Release, Order::Strong(Sem::Release)),
        ])?;
        let mmio = sig.has(Mod::Mmio);
        let scope = sig.pick(SCOPES)?;
        let (sem, scope) = match (order.unwrap_or(Order::Weak), scope) {
            (Order::Strong(sem), Some(scope)) => (sem, scope),
            (Order::Strong(_), None) => return unsupported("it lacks a scope"),
            (_, Some(_)) => return unsupported("a scope without a memory order"),
            (Order::Weak | Order::Volatile, None) if mmio => {
                return unsupported("`.mmio` without `.relaxed`");
            }
            (Order::Weak | Order::Volatile, None) => (Sem::Weak, Scope::Sys),
        };
        let Some((num, 1)) = element_type(ty) else {
            return unsupported("no such type");
        };
        Ok(Access {
            space: Space::Generic,
            ty: num,
            untyped: ty.class() == TypeClass::Bits,
            sem,
            scope,
            volatile: matches!(order, Some(Order::Volatile)) || mmio,
            nc: sig.has(Mod::Nc),
        })
    }

    /// The space that is written; `Err` for one that cannot be accessed.
    pub(super) fn written_space(&mut self, sig: &Sig) -> Decoded<Option<Space>> {
        match sig.space {
            None => Ok(None),
            Some(written) => match space(written) {
                Some(space) => Ok(Some(space)),
                None => unsupported(format!("state space `.{written}`")),
            },
        }
    }

    /// The address of a load or store, its space fixed.
    fn place_of(&mut self, i: usize, sig: &Sig) -> Decoded<(Space, Addr)> {
        let written = self.written_space(sig)?;
        let (space, addr) = self.address(i, written)?;
        // Through a register, plain `.param` is the entry's in an entry and local in a function.
        let through_register = matches!(addr.base, Src::Reg(_));
        if sig.space == Some(ptx::Space::Param) && through_register && self.stack.len() > 1 {
            return Ok((Space::Local, addr));
        }
        Ok((space, addr))
    }

    /// Stops unless there are two operands, and a cache policy where `.L2::cache_hint` is written.
    pub(super) fn expect_with_policy(&mut self, sig: &Sig, least: usize) -> Decoded<()> {
        self.expect(least + usize::from(sig.has(Mod::L2CacheHint)))
    }

    /// `ld.mods.space.type d, [a];` and `ldu`
    pub(super) fn decode_ld(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(LOAD)?;
        let used = self.used_bytes.take().unwrap_or(u32::MAX);
        let ty = sig.ty()?;
        let mut access = self.access(sig, ty)?;
        self.expect_with_policy(sig, 2)?;
        let operands = self.vector(sig, 0)?;
        let (space, addr) = self.place_of(1, sig)?;
        access.space = space;
        if access.nc && !matches!(space, Space::Global) {
            return unsupported("`.nc` outside global memory");
        }
        let mut dsts: Vec<Option<RegId>> = Vec::with_capacity(operands.len());
        for operand in &operands {
            if ty == Type::B128 {
                match operand.kind {
                    OperandKind::Sink => dsts.extend([None, None]),
                    _ => dsts.extend(self.halves(operand)?.map(Some)),
                }
            } else {
                dsts.push(self.dst_or_sink(operand, ty, Fit::Wider)?);
            }
        }
        self.emit(Op::Ld {
            access,
            dsts,
            addr,
            used,
        });
        Ok(())
    }

    /// `st.mods.space.type [a], b;`
    pub(super) fn decode_st(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(STORE)?;
        let ty = sig.ty()?;
        let mut access = self.access(sig, ty)?;
        self.expect_with_policy(sig, 2)?;
        let operands = self.vector(sig, 1)?;
        let (space, addr) = self.place_of(0, sig)?;
        if matches!(space, Space::Const | Space::Param) {
            return unsupported("a store to memory that is read only");
        }
        access.space = space;
        let mut srcs: Vec<Option<Src>> = Vec::with_capacity(operands.len());
        for operand in &operands {
            match (operand.kind, ty) {
                (OperandKind::Sink, Type::B128) => srcs.extend([None, None]),
                (OperandKind::Sink, _) => srcs.push(None),
                (_, Type::B128) => srcs.extend(self.halves(operand)?.map(|r| Some(Src::Reg(r)))),
                _ => srcs.push(Some(self.value(operand, ty, Fit::Wider)?)),
            }
        }
        self.emit(Op::St { access, srcs, addr });
        Ok(())
    }

    /// The elements of the value operand, as many as the vector modifier says.
    pub(super) fn vector(&mut self, sig: &Sig, i: usize) -> Decoded<Vec<Operand>> {
        let operand = self.operand(i)?;
        let Some(count) = sig.pick(VECTORS)? else {
            return match operand.kind {
                OperandKind::Vector(list) if list.len() == 1 => self.elements(operand),
                OperandKind::Vector(_) => unsupported("a vector without `.v2`, `.v4` or `.v8`"),
                _ => Ok(vec![*operand]),
            };
        };
        let elements = self.elements(operand)?;
        if elements.len() != count {
            return unsupported(format!(
                "{} elements where {count} are named",
                elements.len()
            ));
        }
        Ok(elements)
    }
}

/// The type of one element of an access.
fn element_type(ty: Type) -> Option<(NumTy, u8)> {
    match ty {
        Type::Pred => None,
        Type::B128 => Some((
            NumTy::Int(IntTy {
                width: 64,
                signed: false,
            }),
            1,
        )),
        _ => num_type(ty),
    }
}
