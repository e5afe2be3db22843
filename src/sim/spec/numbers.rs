//! The numbers that parameters were bound to, and the integers that lack one.

use crate::answer;
use crate::kernel::{NumTy, Pc};

use super::fit::Bound;
use super::pair::Draft;
use super::pairing::Target;
use super::{ElemTy, Field, Value};

/// A number that some bytes of a parameter were bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// Position of the parameter.
    pub position: u32,
    /// Its name.
    pub name: String,
    /// What reports call the bytes: the parameter, with the offset of a field, or a name that was given.
    pub label: String,
    /// Byte offset in it.
    pub offset: u32,
    /// True for a field of a structure.
    pub field: bool,
    /// The type that the number was written as.
    pub ty: ElemTy,
    /// The bits.
    pub bits: u64,
}

impl Number {
    /// The bytes in the order of memory, as hexadecimal digits.
    pub fn hex(&self) -> String {
        let bytes = self.bits.to_le_bytes();
        let bytes = bytes.iter().take(self.ty.bytes() as usize);
        bytes.map(|b| format!("{b:02x}")).collect()
    }
}

impl From<&Number> for answer::Bound {
    fn from(n: &Number) -> Self {
        answer::Bound {
            parameter: n.position,
            name: n.name.clone(),
            offset: n.offset,
            r#type: n.ty.name().to_string(),
            bytes: n.hex(),
            field: n.field,
        }
    }
}

/// An integer without a value that can decide a branch or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbound {
    /// The parameter, with the offset of a field.
    pub name: String,
    /// The flag that binds it, up to its `=`, for people.
    pub flag: String,
    /// The position of the parameter that the flag names, with the offset of a field.
    pub place: (u32, Option<u32>),
    /// A load of it.
    pub pc: Pc,
}

impl Unbound {
    /// The key that binds it, by positions.
    pub fn key(&self) -> String {
        match self.place {
            (position, None) => position.to_string(),
            (position, Some(offset)) => format!("{position}+{offset}"),
        }
    }
}

impl Draft<'_> {
    /// The numbers that were bound, in order.
    pub(super) fn numbers(&self) -> Vec<Number> {
        let (side, names) = (self.side, &self.names);
        let mut out = Vec::new();
        for (i, (param, pieces)) in self.kernel.params.iter().zip(&self.pieces).enumerate() {
            for piece in pieces {
                let Bound::Bits(bits, ty) = piece.bound else {
                    continue;
                };
                let of = |offset| Target {
                    side,
                    param: i,
                    offset,
                };
                let field = piece.bytes != param.bytes;
                out.push(Number {
                    position: i as u32,
                    name: names.label(self.kernel, of(None)),
                    label: names.label(self.kernel, of(field.then_some(piece.offset))),
                    offset: piece.offset,
                    field,
                    ty,
                    bits,
                });
            }
        }
        out
    }

    /// The offsets of what no load reads.
    pub(super) fn unread(&self) -> Vec<u32> {
        let reads = |f: &&Field| {
            let p = f.param as usize;
            let start = self
                .kernel
                .params
                .get(p)
                .map_or(0, |param| f.offset - param.offset);
            self.uses.inside(p, start, start + f.bytes).next().is_some()
        };
        let unread = self.fields.iter().filter(|f| !reads(f));
        unread.map(|f| f.offset).collect()
    }

    /// The integers without a value that can decide something, or with `all` every number without a value that is
    /// read.
    pub(super) fn unbound(&self, all: bool) -> Vec<Unbound> {
        let (side, names) = (self.side, &self.names);
        let mut out: Vec<Unbound> = Vec::new();
        for field in &self.fields {
            let Value::Symbol(_) = field.value else {
                continue;
            };
            let p = field.param as usize;
            let Some(param) = self.kernel.params.get(p) else {
                continue;
            };
            let start = field.offset - param.offset;
            for load in self.uses.inside(p, start, start + field.bytes) {
                let float = load.loaded.iter().any(|ty| matches!(ty, NumTy::Float(_)));
                let byte = param.offset + load.offset;
                let mut flags = self.flags.iter();
                let flag = flags.find(|f| (f.start..f.start + f.bytes).contains(&byte));
                let decides = !float && (load.decides || load.addresses);
                let Some(flag) = flag.filter(|_| all || decides) else {
                    continue;
                };
                let (flag, place) = (flag.at(byte), flag.place(byte));
                let of = Target {
                    side,
                    param: p,
                    offset: (load.offset > 0).then_some(load.offset),
                };
                let name = names.label(self.kernel, of);
                if !out.iter().any(|u| u.flag == flag) {
                    out.push(Unbound {
                        name,
                        flag,
                        place,
                        pc: load.pc,
                    });
                }
            }
        }
        out
    }
}
