//! Decoder of textures and surfaces: `tex`, `tld4`, `txq`, `suld.b`, `sust.b`, `suq`.
//!
//! Problem: what a texture holds and how it is filtered is up to the host. Two facts are left: a read of a texture changes
//! nothing, and equal coordinates of one object give equal texels. So an object is an array of texels of 16 bytes,
//! the one that its handle points to, and a read is a load from the place that a pure function of the coordinates names
//! ([`super::pure`], where the same is argued for functions without a body). Each form of a read has a function of its own.
//! `txq` and `suq` read places that functions without arguments name.
//!
//! The bytes of a surface stand at integer coordinates, so it is an array whose rows and layers are as long as any surface has
//! them. A negative coordinate ends in the trap that `.trap` says, and is 0 for `.clamp`. How long a surface is nobody
//! says: like an array of unknown extent it has what is read and written, and a thread that goes where no surface
//! has texels ends.
//!
//! Source: PTX ISA 9.0, sections 9.7.11.3 to 9.7.11.5 and 9.7.12 and the table of limits of compute capabilities.
//!
//! Not claimed: that texels of one object that two forms read are related; handles that memory holds; `.zero`, `.p`, `sured`.

use super::lower::Lowerer;
use super::operand::Fit;
use super::scope::Binding;
use super::sig::{Decoded, HINTS, ModSet, Sig, num_type, unsupported};
use super::{Access, Addr, BoolOp, Cmp, Guard, IntOp, IntTy, NumTy, Op, Scope, Sem, Space, Src};
use crate::ptx::{Address, Base, Mod, Operand, OperandKind, Type};

/// Bytes of a texel, in the array of a texture.
const TEXEL: u64 = 16;
/// The bits that a place in a row of a flat surface has at most (131,072 texels of 16 bytes), and its row.
const FLAT: [u64; 2] = [21, 17];
/// The same of a surface with layers or depth, and its layer: what a window of the simulator has room for.
const DEEP: [u64; 3] = [17, 12, 10];

/// The coordinates of each geometry: how many there are, and whether the first is a layer.
const GEOMETRIES: &[(Mod, (usize, bool))] = &[
    (Mod::D1, (1, false)),
    (Mod::D2, (2, false)),
    (Mod::D3, (3, false)),
    (Mod::A1d, (2, true)),
    (Mod::A2d, (3, true)),
    (Mod::Cube, (3, false)),
    (Mod::Acube, (4, true)),
];
const SHAPES: ModSet = ModSet::of(&[
    Mod::D1,
    Mod::D2,
    Mod::D3,
    Mod::A1d,
    Mod::A2d,
    Mod::Cube,
    Mod::Acube,
    Mod::V2,
    Mod::V4,
]);
const READ: ModSet = SHAPES.or(ModSet::of(&[
    Mod::Base,
    Mod::Level,
    Mod::Grad,
    Mod::R,
    Mod::G,
    Mod::B,
    Mod::A,
]));
const SURFACE: ModSet = SHAPES
    .or(HINTS)
    .or(ModSet::of(&[Mod::B, Mod::Trap, Mod::Clamp]));

impl<'a> Lowerer<'a> {
    /// `tex.geom.v4.type.ctype d, [a, c], lod, dPdx, ...;` and `tld4.comp.2d.v4.type.f32 d, [a, c];`
    pub(super) fn decode_texture(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(READ)?;
        // A pair of halves is a word.
        let ty = match sig.two_types()?.0 {
            Type::F16x2 => Type::B32,
            ty => ty,
        };
        let (count, _) = sig.need(GEOMETRIES, "a geometry")?;
        let texels = self.vector(sig, 0)?;
        let (object, place) = self.handle(1)?;
        let mut words = self.coordinates(&place, count)?;
        words.extend(self.further()?);
        let addr = self.texel(object, &words)?;
        self.load_elements(addr, ty, &texels)
    }

    /// `txq.query d, [a];`, `txq.level.query d, [a], lod;` and `suq`
    pub(super) fn decode_texture_query(&mut self) -> Decoded<()> {
        self.expect_between(2, 3)?;
        let (object, rest) = self.handle(1)?;
        if !rest.is_empty() {
            return unsupported("a query with coordinates");
        }
        let level = self.further()?;
        let addr = self.texel(object, &level)?;
        let dst = *self.operand(0)?;
        self.load_elements(addr, Type::B32, &[dst])
    }

    /// `suld.b.geom.vec.type.clamp d, [a, c];`
    pub(super) fn decode_surface_load(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(SURFACE)?;
        self.expect(2)?;
        let elements = self.vector(sig, 0)?;
        let addr = self.surface_place(sig, 1)?;
        self.load_elements(addr, sig.ty()?, &elements)
    }

    /// `sust.b.geom.vec.type.clamp [a, c], b;`
    pub(super) fn decode_surface_store(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(SURFACE)?;
        self.expect(2)?;
        let ty = sig.ty()?;
        let addr = self.surface_place(sig, 0)?;
        let elements = self.vector(sig, 1)?;
        let srcs: Result<Vec<_>, _> = elements
            .iter()
            .map(|e| self.value(e, ty, Fit::Wider).map(Some))
            .collect();
        self.emit(Op::St {
            access: access_of(ty)?,
            srcs: srcs?,
            addr,
        });
        Ok(())
    }

    /// The object of an operand `[a, c]` or `[a, sampler, c]`, and what follows its name.
    fn handle(&mut self, i: usize) -> Decoded<(Src, Vec<Operand>)> {
        let operand = self.operand(i)?;
        let OperandKind::Address(id) = operand.kind else {
            return self.wrong(operand.span, "an object and coordinates in brackets");
        };
        let Address { base, rest, .. } = self.m[id];
        let Base::Name(name) = base else {
            return unsupported("an object that is neither a register nor a variable");
        };
        let object = match self.resolve(name, operand.span)? {
            Binding::Opaque => {
                let name = self.m.text(name).to_string();
                Src::Global(self.foreign_object(name, (0, 4, 256)), 0)
            }
            Binding::Reg { .. } => {
                let (reg, ty) = self.reg_of(name, None, operand.span)?;
                if ty.bits() != 64 {
                    return unsupported("a handle that has not 64 bits");
                }
                Src::Reg(reg)
            }
            _ => return unsupported("a handle in memory"),
        };
        Ok((object, self.m[rest].to_vec()))
    }

    /// The first words of the coordinates, after those of a sampler.
    fn coordinates(&mut self, rest: &[Operand], count: usize) -> Decoded<Vec<Src>> {
        let Some((place, before)) = rest.split_last() else {
            return unsupported("no coordinates");
        };
        let mut words = Vec::new();
        for sampler in before {
            let handle = self.value(sampler, Type::B64, Fit::Exact)?;
            words.extend(self.halves_of(handle, 32).map(Src::Reg));
        }
        let place = self.values(place)?;
        if place.len() < count {
            return unsupported("fewer coordinates than the geometry has");
        }
        words.extend(&place[..count]);
        Ok(words)
    }

    /// The words of what follows the coordinates: a level, or gradients.
    fn further(&mut self) -> Decoded<Vec<Src>> {
        let mut words = Vec::new();
        for operand in &self.ops[2..] {
            words.extend(self.values(operand)?);
        }
        Ok(words)
    }

    /// The words of an operand, a vector or not.
    fn values(&mut self, operand: &Operand) -> Decoded<Vec<Src>> {
        let all = match operand.kind {
            OperandKind::Vector(list) => &self.m[list],
            _ => std::slice::from_ref(operand),
        };
        let word = |o| self.value(o, Type::B32, Fit::Exact);
        all.iter().map(word).collect()
    }

    /// The address of the texel that this form of reads has at some words.
    fn texel(&mut self, object: Src, words: &[Src]) -> Decoded<Addr> {
        let names = self.entry_of(&format!("{}()", self.opcode_text()), words, 4)?;
        let name = self.named(names)?;
        let texel = self.scaled((name, TEXEL), object);
        Ok(at(Src::Reg(texel)))
    }

    /// The address of the first byte of coordinates of a surface.
    fn surface_place(&mut self, sig: &Sig, i: usize) -> Decoded<Addr> {
        if !sig.has(Mod::B) {
            return unsupported("a surface with a format");
        }
        let (count, layered) = sig.need(GEOMETRIES, "a geometry")?;
        let (object, rest) = self.handle(i)?;
        if count > 3 || rest.len() != 1 || sig.has(Mod::Cube) {
            return unsupported("a surface of this geometry");
        }
        let mut place = self.coordinates(&rest, count)?;
        if layered {
            let layer = place.remove(0);
            place.resize(2, Src::Imm(0));
            place.push(layer);
        }
        let limits = if place.len() > 2 { &DEEP[..] } else { &FLAT };
        let (mut beyond, mut negative) = (Src::Imm(0), Src::Imm(0));
        let (mut address, mut shift) = (object, 0);
        for (mut word, &bits) in place.into_iter().zip(limits) {
            if sig.has(Mod::Clamp) {
                word = Src::Reg(self.int_op(IntOp::Max, (32, true), [word, Src::Imm(0)]));
            }
            let above = self.int_op(IntOp::Shr, (32, true), [word, Src::Imm(bits)]);
            beyond = Src::Reg(self.int_op(IntOp::Or, (32, false), [beyond, Src::Reg(above)]));
            negative = Src::Reg(self.int_op(IntOp::Min, (32, true), [negative, Src::Reg(above)]));
            let scaled = [self.below_zeros(word, 32, 64), Src::Imm(shift)];
            let place = self.int_op(IntOp::Shl, (64, false), scaled);
            address = Src::Reg(self.int_op(IntOp::Add, (64, false), [Src::Reg(place), address]));
            shift += bits;
        }
        self.end_where(negative, Op::Trap);
        let end = match limits.len() {
            2 => Op::Exit,
            _ => {
                let what =
                    "places of a surface with layers beyond 2^17 bytes, 2^12 rows, 2^10 layers";
                self.left_out(format!("{} ({what})", self.opcode_text()))
            }
        };
        self.end_where(beyond, end);
        Ok(at(address))
    }

    /// Ends the thread where a word is not 0.
    fn end_where(&mut self, word: Src, end: Op) {
        let pred = self.temp(Type::Pred);
        let ty = IntTy {
            width: 32,
            signed: false,
        };
        self.emit_guarded(
            None,
            Op::Setp {
                cmp: Cmp::Ne,
                ty: NumTy::Int(ty),
                lanes: 1,
                ftz: false,
                combine: self.guard.map(|guard| (BoolOp::And, guard)),
                p: Some(pred),
                q: None,
                a: word,
                b: Src::Imm(0),
            },
        );
        let guard = Guard {
            reg: pred,
            negated: false,
        };
        self.emit_guarded(Some(guard), end);
    }

    /// Loads what stands from an address on.
    fn load_elements(&mut self, addr: Addr, ty: Type, elements: &[Operand]) -> Decoded<()> {
        let dsts: Result<Vec<_>, _> = elements
            .iter()
            .map(|e| self.dst_or_sink(e, ty, Fit::Wider))
            .collect();
        self.emit(Op::Ld {
            access: access_of(ty)?,
            dsts: dsts?,
            addr,
            used: u32::MAX,
        });
        Ok(())
    }
}

/// What stands at an address.
fn at(base: Src) -> Addr {
    Addr { base, offset: 0 }
}

/// A plain access to global memory.
pub(super) fn access_of(ty: Type) -> Decoded<Access> {
    let Some((ty, 1)) = num_type(ty) else {
        return unsupported("a type that is no scalar");
    };
    Ok(Access {
        space: Space::Global,
        ty,
        untyped: matches!(ty, NumTy::Int(_)),
        sem: Sem::Weak,
        scope: Scope::Sys,
        volatile: false,
        nc: false,
    })
}
