//! How a number was made: the operation of the machine beside the real.
//!
//! Problem: over the reals (a + b) + c and a + (b + c) are one number, and a term of reals does not
//! say which of the two a kernel computed. The machine's bits do. A *made* number is a real together with
//! the operation, its modifiers and the encodings of its operands, each of which is an input, a
//! constant, or the encoding of a made number again: the operation tree, interned. Two made numbers
//! are one term exactly if the trees are the same, up to the order of two factors or summands.
//!
//! A known number that roundings have touched is made too ([`Kind::Known`]): its operands are what a
//! register may hold for it, in no particular order of operations.
//!
//! A made number stands only in registers, as the operand of an encoding
//! ([`Term::OfReal`]), and below other made numbers; arithmetic over the reals sees its
//! [`face`](TermStore::face). What is not claimed: that different trees have different bits.

use super::loose::embeds;
use super::view::{self, Term};
use super::word::{Family, Product};
use super::{TermId, TermStore};
use crate::scalar::{FloatMods, FloatOp, Fmt, MatTy, Rnd};

/// What made a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Arithmetic on known numbers; the operands are what may have come of it.
    Known,
    /// A conversion from the source format.
    Convert,
    /// The conversion of an integer.
    OfInt {
        /// Two's complement or unsigned.
        signed: bool,
    },
    /// A choice: the condition, then both sides.
    Select,
    /// Bits that are read as a number.
    Read,
    /// An element of a matrix product: the accumulator, then the factors in the order of k, two by two.
    Product(Product),
    /// The one that is left of several that are equal over the reals; the operand stands for the choice.
    Won,
    /// An instruction.
    Float(FloatOp),
}

/// An operation without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The operation.
    pub kind: Kind,
    /// Format of the result.
    pub fmt: Fmt,
    /// Format of the operands.
    pub src: Fmt,
    /// Its modifiers.
    pub mods: FloatMods,
    /// Where it stands, as a number that no other place of the pair has, if a compiler may join it with
    /// the multiplication before it; else 0.
    pub place: u32,
}

const OPS: [FloatOp; 20] = [
    FloatOp::Add,
    FloatOp::Sub,
    FloatOp::Mul,
    FloatOp::Fma,
    FloatOp::Div,
    FloatOp::Rcp,
    FloatOp::Sqrt,
    FloatOp::Rsqrt,
    FloatOp::Ex2,
    FloatOp::Lg2,
    FloatOp::Sin,
    FloatOp::Cos,
    FloatOp::Tanh,
    FloatOp::Neg,
    FloatOp::Abs,
    FloatOp::Min,
    FloatOp::Max,
    FloatOp::Min3,
    FloatOp::Max3,
    FloatOp::Copysign,
];

const ROUNDINGS: [Rnd; 11] = [
    Rnd::None,
    Rnd::Rn,
    Rnd::Rz,
    Rnd::Rm,
    Rnd::Rp,
    Rnd::Rna,
    Rnd::Rs,
    Rnd::Rni,
    Rnd::Rzi,
    Rnd::Rmi,
    Rnd::Rpi,
];

/// Codes of kinds below this one are no instructions.
const FIRST_OP: u64 = 8;

fn index<T: PartialEq>(list: &[T], x: &T) -> u64 {
    list.iter().position(|y| y == x).unwrap_or(0) as u64
}

impl Shape {
    /// The shape of an operation that no compiler joins with another.
    pub fn new(kind: Kind, src: Fmt, fmt: Fmt, mods: FloatMods) -> Shape {
        Shape {
            kind,
            fmt,
            src,
            mods,
            place: 0,
        }
    }

    fn encode(&self) -> u64 {
        let kind = match self.kind {
            Kind::Known => 0,
            Kind::Convert => 1,
            Kind::OfInt { signed: false } => 2,
            Kind::OfInt { signed: true } => 3,
            Kind::Select => 4,
            Kind::Read => 5,
            Kind::Product(_) => 6,
            Kind::Won => 7,
            Kind::Float(op) => FIRST_OP + index(&OPS, &op),
        };
        let m = &self.mods;
        let flags = [
            m.sat,
            m.relu,
            m.ftz,
            m.approx,
            m.nan,
            m.xorsign_abs,
            m.abs,
            m.oob,
            m.full,
        ];
        let flags = flags
            .iter()
            .enumerate()
            .fold(0, |f, (i, b)| f | u64::from(*b) << i);
        kind | (self.fmt as u64) << 6
            | (self.src as u64) << 10
            | index(&ROUNDINGS, &m.rnd) << 14
            | flags << 18
            | u64::from(match self.kind {
                Kind::Product(p) => product_code(p),
                _ => self.place,
            }) << 27
    }

    fn decode(code: u64) -> Shape {
        let fmt = |at: u64| Fmt::ALL[(code >> at & 0xf) as usize % Fmt::ALL.len()];
        let flag = |i: u64| code >> (18 + i) & 1 == 1;
        let kind = match code & 0x3f {
            0 => Kind::Known,
            1 => Kind::Convert,
            k @ (2 | 3) => Kind::OfInt { signed: k == 3 },
            4 => Kind::Select,
            5 => Kind::Read,
            6 => Kind::Product(product_of((code >> 27) as u32)),
            7 => Kind::Won,
            k => Kind::Float(OPS[k.saturating_sub(FIRST_OP) as usize % OPS.len()]),
        };
        Shape {
            kind,
            fmt: fmt(6),
            src: fmt(10),
            mods: FloatMods {
                sat: flag(0),
                relu: flag(1),
                ftz: flag(2),
                approx: flag(3),
                nan: flag(4),
                xorsign_abs: flag(5),
                abs: flag(6),
                oob: flag(7),
                full: flag(8),
                rnd: ROUNDINGS[(code >> 14 & 0xf) as usize % ROUNDINGS.len()],
            },
            place: match kind {
                Kind::Product(_) => 0,
                _ => (code >> 27) as u32,
            },
        }
    }

    /// True if the first two operands may change places.
    pub fn commutes(&self) -> bool {
        match self.kind {
            Kind::Float(FloatOp::Fma) => true,
            Kind::Float(FloatOp::Add | FloatOp::Mul | FloatOp::Min | FloatOp::Max) => {
                self.src == self.fmt
            }
            Kind::Known
            | Kind::Convert
            | Kind::OfInt { .. }
            | Kind::Select
            | Kind::Read
            | Kind::Product(_)
            | Kind::Won
            | Kind::Float(_) => false,
        }
    }
}

const FAMILIES: [Family; 8] = [
    Family::Mma,
    Family::MmaSparse,
    Family::Quads,
    Family::Wmma,
    Family::Wgmma(false),
    Family::Wgmma(true),
    Family::Tcgen05(false),
    Family::Tcgen05(true),
];

/// A product as a number of 31 bits: the types of the factors, the family, the depth.
fn product_code(p: Product) -> u32 {
    let ty = |ty| match ty {
        MatTy::Float(f) => f as u32,
        MatTy::Packed(f) => 0x10 | f as u32,
        MatTy::Int { width, signed } => 0x20 | u32::from(width & 15) << 1 | u32::from(signed),
    };
    let [a, b] = p.factors.map(ty);
    a | b << 6 | (index(&FAMILIES, &p.family) as u32) << 12 | u32::from(p.depth) << 15
}

fn product_of(code: u32) -> Product {
    let ty = |code: u32| {
        let fmt = Fmt::ALL[(code & 15) as usize % Fmt::ALL.len()];
        match code >> 4 & 3 {
            0 => MatTy::Float(fmt),
            1 => MatTy::Packed(fmt),
            _ => MatTy::Int {
                width: (code >> 1 & 15) as u8,
                signed: code & 1 == 1,
            },
        }
    };
    Product {
        family: FAMILIES[(code >> 12 & 7) as usize],
        depth: (code >> 15) as u16,
        factors: [ty(code), ty(code >> 6)],
    }
}

/// A made number, as its list: the real, the shape, the operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Made<'s>(pub(super) &'s [u32]);

impl<'s> Made<'s> {
    /// What it is over the reals.
    pub fn real(self) -> TermId {
        TermId(self.0[0])
    }

    /// The operation.
    pub fn shape(self, store: &TermStore) -> Shape {
        Shape::decode(store.as_bits(TermId(self.0[1])).unwrap_or(0))
    }

    /// The encodings of the operands.
    pub fn operands(self) -> impl DoubleEndedIterator<Item = TermId> + ExactSizeIterator + 's {
        self.0[view::FIRST_OPERAND..].iter().map(|&i| TermId(i))
    }

    /// The same of what `m` makes of its parts, in another store.
    pub(super) fn copy(self, into: &mut TermStore, m: impl Fn(TermId) -> TermId) -> TermId {
        let shape = Shape::decode(into.as_bits(m(TermId(self.0[1]))).unwrap_or(0));
        let operands: Vec<TermId> = self.operands().map(&m).collect();
        into.made(m(self.real()), shape, &operands)
    }
}

impl TermStore {
    /// A real with the operation that made it.
    pub fn made(&mut self, real: TermId, shape: Shape, operands: &[TermId]) -> TermId {
        let real = self.face(real);
        let code = self.bits(64, shape.encode());
        let commutes = shape.commutes() && operands.len() >= 2;
        let start = self.lists.len();
        self.lists.extend([real.0, code.0]);
        self.lists.extend(operands.iter().map(|t| t.0));
        if commutes {
            self.lists[start + view::FIRST_OPERAND..][..2].sort_unstable();
        }
        let width = if commutes { view::COMMUTES } else { 0 };
        let total = self.is_total(real);
        self.insert_list((view::MADE, width), start, total)
    }

    /// What a number is over the reals: itself, but for a made one.
    #[inline]
    pub fn face(&self, t: TermId) -> TermId {
        match self.as_made(t) {
            None => t,
            Some(made) => made.real(),
        }
    }

    /// How a number was made, where it remembers.
    #[inline]
    pub fn as_made(&self, t: TermId) -> Option<Made<'_>> {
        let n = &self.nodes[t.0 as usize];
        (n.tag == view::MADE).then(|| Made(&self.lists[n.a as usize..][..n.b as usize]))
    }

    /// The bits that the operation of a made number moves and does not compute, if that is all it does.
    ///
    /// match a bf16 widened / result its bits above 16 zeros; match an f32 rounded to bf16 toward
    /// zero / result its upper half; match bits read as a number / result those bits; match a negation
    /// or an absolute value / result the magnitude with that sign / because that is what the formats
    /// say, for every encoding that is no NaN.
    pub(super) fn moved(&mut self, fmt: Fmt, t: TermId) -> Option<TermId> {
        let made = self.as_made(t)?;
        let shape = made.shape(self);
        let x = made.operands().next()?;
        let m = &shape.mods;
        let plain = !(m.sat || m.relu || m.ftz || m.abs || m.xorsign_abs || m.oob);
        if shape.fmt != fmt || !plain {
            return None;
        }
        let sign = fmt.bits() as u8 - 1;
        match (shape.kind, shape.src, fmt) {
            (Kind::Read, ..) if self.width(x) as u32 == fmt.bits() => Some(x),
            (Kind::Convert, Fmt::Bf16, Fmt::F32) if is_no_integer(m.rnd) => {
                let zeros = self.bits(16, 0);
                Some(self.concat(&[zeros, x]))
            }
            (Kind::Convert, Fmt::F32, Fmt::Bf16) if m.rnd == Rnd::Rz => {
                Some(self.extract(x, 16, 16))
            }
            (Kind::Convert, f, g) if f == g && is_no_integer(m.rnd) => Some(x),
            (Kind::Float(FloatOp::Neg), f, g) if f == g => {
                let (low, top) = (self.extract(x, 0, sign), self.extract(x, sign, 1));
                let one = self.bits(1, 1);
                let top = self.bits_op(view::BitsOp::Xor, top, one);
                Some(self.concat(&[low, top]))
            }
            (Kind::Float(FloatOp::Abs), f, g) if f == g => {
                let (low, zero) = (self.extract(x, 0, sign), self.bits(1, 0));
                Some(self.concat(&[low, zero]))
            }
            _ => None,
        }
    }

    /// True for a number that the machine rounds once from its face: the operands are inputs and constants, or such with
    /// another sign or in a wider format.
    pub fn is_rounded_once(&self, t: TermId) -> bool {
        let Some(made) = self.as_made(t) else {
            return true;
        };
        let is_image = |m: Made<'_>| {
            let shape = m.shape(self);
            let keeps = match shape.kind {
                Kind::Convert => embeds(shape.src, shape.fmt),
                Kind::Float(op) => op.is_exact(&shape.mods),
                Kind::Read => true,
                Kind::Known | Kind::OfInt { .. } | Kind::Select | Kind::Product(_) | Kind::Won => {
                    false
                }
            };
            keeps && m.operands().all(|x| self.made_below(x).is_none())
        };
        let exact = |x: TermId| self.made_below(x).is_none_or(is_image);
        let shape = made.shape(self);
        let rounds = match shape.kind {
            Kind::Convert | Kind::OfInt { .. } => true,
            Kind::Float(op) => op.rounds_once(&shape.mods),
            Kind::Known | Kind::Select | Kind::Read | Kind::Product(_) | Kind::Won => false,
        };
        rounds && made.operands().all(exact)
    }

    /// How the number that an encoding encodes was made.
    fn made_below(&self, bits: TermId) -> Option<Made<'_>> {
        match self.get(bits) {
            Term::OfReal { real, .. } => self.as_made(real),
            _ => None,
        }
    }

    /// What registers may hold for a known number that roundings have touched: one of the first list or
    /// a number between its ends; and what it was before a product was rounded. Empty lists: anything.
    pub fn held(&self, t: TermId) -> Option<(Vec<TermId>, Vec<TermId>)> {
        let made = self.as_made(t)?;
        (made.shape(self).kind == Kind::Known).then(|| {
            let all: Vec<TermId> = made.operands().collect();
            let at = |t: &TermId| matches!(self.get(*t), Term::Undefined);
            let cut = all.iter().position(at).unwrap_or(all.len());
            let products = all.get(cut + 1..).unwrap_or_default();
            (all[..cut].to_vec(), products.to_vec())
        })
    }
}

/// True for a rounding that does not make an integer of a number.
pub(super) fn is_no_integer(rnd: Rnd) -> bool {
    match rnd {
        Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi => false,
        Rnd::None | Rnd::Rn | Rnd::Rz | Rnd::Rm | Rnd::Rp | Rnd::Rna | Rnd::Rs => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every product has a code of its own, which gives it back.
    #[test]
    fn products_are_told_by_their_codes() {
        let mut types: Vec<MatTy> = Fmt::ALL.into_iter().map(MatTy::Float).collect();
        types.extend(Fmt::ALL.into_iter().map(MatTy::Packed));
        types.extend(
            [4, 8]
                .into_iter()
                .flat_map(|width| [false, true].map(|signed| MatTy::Int { width, signed })),
        );
        let mut codes = std::collections::HashSet::new();
        for family in FAMILIES {
            for depth in [4, 8, 16, 32, 64, 96, 128, 256] {
                for a in &types {
                    for b in &types {
                        let product = Product {
                            family,
                            depth,
                            factors: [*a, *b],
                        };
                        let kind = Kind::Product(product);
                        let shape = Shape::new(kind, Fmt::F32, Fmt::F16, FloatMods::default());
                        assert_eq!(Shape::decode(shape.encode()), shape);
                        assert!(codes.insert(shape.encode()));
                    }
                }
            }
        }
    }
}
