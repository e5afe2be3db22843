//! Decoder of moves: `mov`, `cvta`, `isspacep`.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.3, 9.7.9.4, 9.7.9.19 and 9.7.9.20. A move copies a register or
//! constant, packs or unpacks parts of one, reads a special register, or takes the address of a
//! variable in its own space: for shared, local and parameter memory that is a number already.

use super::address::AddressOf;
use super::lower::Lowerer;
use super::operand::{Fit, truncate};
use super::scope::At;
use super::sig::{Decoded, ModSet, Sig, unsupported};
use super::special::{Reading, vector};
use super::{Op, RegId, Space, Special, Src};
use crate::ptx;
use crate::ptx::{Mod, Operand, OperandKind, Type, TypeClass};

/// The space that an instruction names, as the simulator tells them apart.
pub(super) fn space(written: ptx::Space) -> Option<Space> {
    Some(match written {
        ptx::Space::Global => Space::Global,
        ptx::Space::Shared | ptx::Space::SharedCta => Space::Shared,
        ptx::Space::SharedCluster => Space::SharedCluster,
        ptx::Space::Local => Space::Local,
        ptx::Space::Const => Space::Const,
        ptx::Space::Param | ptx::Space::ParamEntry => Space::Param,
        // A parameter of a function lies in local memory.
        ptx::Space::ParamFunc => Space::Local,
        ptx::Space::Reg | ptx::Space::Sreg | ptx::Space::Tex => return None,
    })
}

impl<'a> Lowerer<'a> {
    /// `mov.type d, a;`
    pub(super) fn decode_mov(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::V2, Mod::V4]) })?;
        let ty = sig.ty()?;
        if !matches!(ty.bits(), 1 | 16 | 32 | 64 | 128) || ty.lanes() > 1 || ty == Type::B1 {
            return unsupported("no such type");
        }
        self.expect(2)?;
        let (dst, src) = (self.operand(0)?, self.operand(1)?);
        if let Some(count) = sig.pick(&[(Mod::V2, 2), (Mod::V4, 4)])? {
            return self.mov_vector(ty, count, dst, src);
        }
        match (dst.kind, src.kind) {
            (OperandKind::Vector(_), OperandKind::Vector(_)) => {
                unsupported("a vector on both sides without `.v2` or `.v4`")
            }
            (_, OperandKind::Vector(parts)) => {
                let m = self.m;
                self.pack(ty, dst, &m[parts])
            }
            (OperandKind::Vector(parts), _) => {
                let m = self.m;
                self.unpack(ty, &m[parts], src)
            }
            _ if ty == Type::B128 => {
                let ([lo, hi], [a, b]) = (self.halves(dst)?, self.halves(src)?);
                self.emit_mov(lo, Src::Reg(a), 64);
                self.emit_mov(hi, Src::Reg(b), 64);
                Ok(())
            }
            _ => self.mov_scalar(ty, dst, src),
        }
    }

    fn emit_mov(&mut self, dst: RegId, src: Src, width: u8) {
        self.emit(Op::Mov { dst, src, width });
    }

    fn mov_scalar(&mut self, ty: Type, dst: &Operand, src: &Operand) -> Decoded<()> {
        let width = ty.bits() as u8;
        if let Some((reading, found)) = self.special_of(src) {
            let dst = self.reg(dst, ty, Fit::Exact)?;
            if found.bits() < ty.bits() || (found == Type::Pred) != (ty == Type::Pred) {
                return unsupported("no such type of this special register");
            }
            return self.mov_special(dst, reading, found, ty);
        }
        if let Some(address) = self.address_of(src)? {
            if matches!(ty.class(), TypeClass::Float | TypeClass::Predicate) {
                return unsupported("an address as a number of this type");
            }
            let dst = self.reg(dst, ty, Fit::Exact)?;
            let src = self.address_value(address, ty)?;
            self.emit_mov(dst, src, width);
            return Ok(());
        }
        let dst = self.reg(dst, ty, Fit::Exact)?;
        let src = self.value(src, ty, Fit::Exact)?;
        self.emit_mov(dst, src, width);
        Ok(())
    }

    fn mov_special(&mut self, dst: RegId, reading: Reading, found: Type, ty: Type) -> Decoded<()> {
        let special = match reading {
            Reading::Constant(value) => {
                self.emit_mov(dst, Src::Imm(truncate(value, ty)), ty.bits() as u8);
                return Ok(());
            }
            Reading::Workspace { upper } if found.bits() == ty.bits() => {
                self.emit_workspace(dst, upper);
                return Ok(());
            }
            Reading::Workspace { .. } => return unsupported("a part of this special register"),
            Reading::Special(special) => special,
        };
        if found.bits() == ty.bits() {
            self.emit(Op::Special { dst, special });
            return Ok(());
        }
        // A narrower destination takes the low bits.
        let whole = self.temp(found);
        self.emit(Op::Special {
            dst: whole,
            special,
        });
        let parts = (found.bits() / ty.bits()) as usize;
        let mut dsts = vec![None; parts];
        dsts[0] = Some(dst);
        self.emit(Op::Unpack {
            dsts,
            part: ty.bits() as u8,
            src: Src::Reg(whole),
        });
        Ok(())
    }

    /// The address of a variable in its own space.
    pub(super) fn address_value(&mut self, address: AddressOf, ty: Type) -> Decoded<Src> {
        match address.place.at {
            At::Offset(at) => {
                if address.place.space == Space::Local {
                    self.k.unaddressed.retain(|(from, _)| *from != at);
                }
                Ok(Src::Var(address.place.space, at, address.addend))
            }
            At::Global(id) if ty.bits() == 64 => Ok(Src::Global(id, address.addend)),
            At::Global(_) => unsupported("part of the address of a global variable"),
        }
    }

    /// `mov.v4.u32 {a, b, c, d}, %tid;`: element by element, all sources read first.
    fn mov_vector(
        &mut self,
        ty: Type,
        count: usize,
        dst: &'a Operand,
        src: &'a Operand,
    ) -> Decoded<()> {
        let dsts = self.elements(dst)?;
        if dsts.len() != count || !matches!(ty.bits(), 16 | 32 | 64) {
            return unsupported("no such vector");
        }
        if let OperandKind::Name(name) = src.kind
            && self.lookup(name).is_none()
            && let Some(make) = vector(self.m.text(name))
        {
            for (i, dst) in dsts.iter().enumerate() {
                let Some(dst) = self.dst_or_sink(dst, ty, Fit::Exact)? else {
                    continue;
                };
                let reading = match i {
                    0..=2 => Reading::Special(make(i as u8)),
                    _ => Reading::Constant(0),
                };
                self.mov_special(dst, reading, Type::U32, ty)?;
            }
            return Ok(());
        }
        let srcs = self.elements(src)?;
        if srcs.len() != count {
            return unsupported("no such vector");
        }
        let width = ty.bits() as u8;
        let mut moves = Vec::with_capacity(count);
        for (dst, src) in dsts.iter().zip(&srcs) {
            let value = self.value(src, ty, Fit::Exact)?;
            if let Some(dst) = self.dst_or_sink(dst, ty, Fit::Exact)? {
                let held = self.temp(ty);
                self.emit_mov(held, value, width);
                moves.push((dst, held));
            }
        }
        for (dst, held) in moves {
            self.emit_mov(dst, Src::Reg(held), width);
        }
        Ok(())
    }

    /// `mov.b64 d, {lo, hi};`
    fn pack(&mut self, ty: Type, dst: &Operand, parts: &[Operand]) -> Decoded<()> {
        let part = self.part_type(ty, parts.len())?;
        let mut srcs = Vec::with_capacity(parts.len());
        for operand in parts {
            srcs.push(self.value(operand, part, Fit::Exact)?);
        }
        if ty != Type::B128 {
            let dst = self.reg(dst, ty, Fit::Exact)?;
            self.emit(Op::Pack {
                dst,
                part: part.bits() as u8,
                srcs,
            });
            return Ok(());
        }
        let [lo, hi] = self.halves(dst)?;
        let (first, second) = srcs.split_at(parts.len() / 2);
        for (dst, srcs) in [(lo, first), (hi, second)] {
            match *srcs {
                [src] => self.emit_mov(dst, src, 64),
                _ => self.emit(Op::Pack {
                    dst,
                    part: part.bits() as u8,
                    srcs: srcs.to_vec(),
                }),
            }
        }
        Ok(())
    }

    /// `mov.b64 {lo, hi}, a;`
    fn unpack(&mut self, ty: Type, parts: &[Operand], src: &Operand) -> Decoded<()> {
        let part = self.part_type(ty, parts.len())?;
        let mut dsts = Vec::with_capacity(parts.len());
        for operand in parts {
            dsts.push(self.dst_or_sink(operand, part, Fit::Exact)?);
        }
        if ty != Type::B128 {
            let src = match self.address_of(src)? {
                Some(address) => self.address_value(address, ty)?,
                None => self.value(src, ty, Fit::Exact)?,
            };
            self.emit(Op::Unpack {
                dsts,
                part: part.bits() as u8,
                src,
            });
            return Ok(());
        }
        let halves = self.halves(src)?;
        let (first, second) = dsts.split_at(parts.len() / 2);
        for (src, dsts) in halves.into_iter().zip([first, second]) {
            match *dsts {
                [None] => {}
                [Some(dst)] => self.emit_mov(dst, Src::Reg(src), 64),
                _ => self.emit(Op::Unpack {
                    dsts: dsts.to_vec(),
                    part: part.bits() as u8,
                    src: Src::Reg(src),
                }),
            }
        }
        Ok(())
    }

    /// The type of each of `count` parts of a bit type.
    fn part_type(&mut self, ty: Type, count: usize) -> Decoded<Type> {
        if ty.class() != TypeClass::Bits || !matches!(count, 2 | 4) {
            return unsupported("no such packing");
        }
        match ty.bits() / count as u32 {
            8 => Ok(Type::B8),
            16 => Ok(Type::B16),
            32 => Ok(Type::B32),
            64 => Ok(Type::B64),
            _ => unsupported("no such packing"),
        }
    }

    /// `cvta.space.size p, a;` and `cvta.to.space.size p, a;`
    pub(super) fn decode_cvta(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(const { ModSet::of(&[Mod::To]) })?;
        let ty = sig.ty()?;
        if !matches!(ty, Type::U32 | Type::U64) {
            return unsupported("no such type");
        }
        let Some(written) = sig.space.and_then(space) else {
            return unsupported("it lacks a state space");
        };
        self.expect(2)?;
        let dst = self.dst(0, ty)?;
        let operand = self.operand(1)?;
        let (space, src) = match self.address_of(operand)? {
            Some(address) => {
                let own = match operand.kind {
                    OperandKind::Name(name) => {
                        self.space_of(name, operand.span, address.place, Some(written))?
                    }
                    _ => address.place.space,
                };
                (own, self.address_value(address, ty)?)
            }
            None => (written, self.value(operand, ty, Fit::Exact)?),
        };
        self.emit(Op::Cvta {
            space,
            to: sig.has(Mod::To),
            width: ty.bits() as u8,
            dst,
            src,
        });
        Ok(())
    }

    /// `isspacep.space p, a;`
    pub(super) fn decode_isspacep(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(const { ModSet::of(&[]) })?;
        let Some(space) = sig.space.and_then(space) else {
            return unsupported("it lacks a state space");
        };
        self.expect(2)?;
        let p = self.dst(0, Type::Pred)?;
        let operand = self.operand(1)?;
        let a = match self.address_of(operand)? {
            Some(address) => self.address_value(address, Type::U64)?,
            None => {
                let short = match operand.kind {
                    crate::ptx::OperandKind::Name(name) => {
                        self.reg_of(name, None, operand.span)?.1.bits() == 32
                    }
                    _ => false,
                };
                if short && self.m.address_size() == 64 {
                    return unsupported("an address of 32 bits");
                }
                let ty = if self.m.address_size() == 32 {
                    Type::U32
                } else {
                    Type::U64
                };
                self.value(operand, ty, Fit::Exact)?
            }
        };
        self.emit(Op::IsSpace { space, p, a });
        Ok(())
    }

    /// `createpolicy...`: its result has no effect on any value but its own.
    pub(super) fn decode_createpolicy(&mut self) -> Decoded<()> {
        let operand = self.operand(0)?;
        let dst = self.reg(operand, Type::B64, Fit::Exact)?;
        self.emit(Op::Special {
            dst,
            special: Special::Volatile,
        });
        Ok(())
    }
}
