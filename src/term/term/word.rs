//! Words: what an operation of the machine makes of bits, as an operation.
//!
//! Problem: two kernels write the same bits for sure if the same operations made them of the same operands, and
//! terms over the reals do not say which operations those were. A *word* is an operation of the machine (opcode,
//! formats, every modifier, the device where results depend on it) with the bits of its operands, interned as every
//! term is. Nothing is folded and no operand moves: equal words are the same operations in the same order, down
//! to the bits of a NaN. What else keeps bits is known to `bits`, which compares words.
//!
//! Not claimed: that different words have different bits; that is for a run on numbers to show. Arithmetic over the
//! reals never meets a word.

use super::{TermId, TermStore, view};
use crate::number::{self, Narrowing};
use crate::scalar::{Cmp, FloatMods, FloatOp, FloatTest, Fmt, IntTy, MatTy, Pc, Rnd};

/// What an operation does, apart from formats and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Does {
    /// Arithmetic of one instruction.
    Float(FloatOp),
    /// A conversion between formats.
    Convert,
    /// A conversion to an integer.
    ToInt(IntTy),
    /// A conversion of an integer.
    OfInt(IntTy),
    /// A comparison: one bit.
    Compare(Cmp),
    /// A test: one bit.
    Test(FloatTest),
    /// An element of a matrix product: of its accumulator, and of its factors in the order of k, two by two.
    Product(Product),
}

/// A matrix instruction, as far as an element of its result depends on which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Its family.
    pub family: Family,
    /// Its inner dimension.
    pub depth: u16,
    /// The types of its factors.
    pub factors: [MatTy; 2],
}

/// Families of matrix instructions, which add in ways of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `mma`.
    Mma,
    /// `mma.sp`.
    MmaSparse,
    /// `mma` of eight lanes each.
    Quads,
    /// `wmma`.
    Wmma,
    /// `wgmma`; true if its first factor is negated.
    Wgmma(bool),
    /// `tcgen05.mma`; true if its first factor is negated.
    Tcgen05(bool),
}

impl Family {
    /// True if its first factor is negated.
    pub fn negates(self) -> bool {
        match self {
            Family::Wgmma(negated) | Family::Tcgen05(negated) => negated,
            Family::Mma | Family::MmaSparse | Family::Quads | Family::Wmma => false,
        }
    }
}

/// An operation without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What it does.
    pub does: Does,
    /// Format of the result, or of what is compared or converted to an integer.
    pub fmt: Fmt,
    /// Format of the operands.
    pub src: Fmt,
    /// Its modifiers; `.satfinite` of a conversion is `oob`.
    pub mods: FloatMods,
    /// The number of the target, where the manual leaves the result to the device; else 0.
    pub device: u32,
    /// Where it stands, as a number that no other place of the pair has, if a compiler may join it with the
    /// multiplication before it; else 0.
    pub place: u32,
}

impl Operation {
    /// An operation of which all is said.
    pub fn new(does: Does, (fmt, src): (Fmt, Fmt), mods: FloatMods) -> Operation {
        Operation {
            does,
            fmt,
            src,
            mods,
            device: 0,
            place: 0,
        }
    }

    /// Its name as PTX spells it, near enough to be found there.
    pub fn name(&self) -> String {
        let mut name = match self.does {
            Does::Float(op) => format!("{op:?}").to_lowercase(),
            Does::Convert | Does::OfInt(_) | Does::ToInt(_) => "cvt".into(),
            Does::Compare(cmp) => format!("setp.{cmp:?}").to_lowercase(),
            Does::Test(test) => format!("testp.{test:?}").to_lowercase(),
            Does::Product(p) => format!("{:?}.k{}", p.family, p.depth).to_lowercase(),
        };
        let m = &self.mods;
        let rounding = format!(".{:?}", m.rnd).to_lowercase();
        let flags = [
            (m.full, ".full"),
            (m.approx && !m.full, ".approx"),
            (m.rnd != Rnd::None, rounding.as_str()),
            (m.ftz, ".ftz"),
            (m.nan, ".nan"),
            (m.relu, ".relu"),
            (m.sat, ".sat"),
            (m.xorsign_abs, ".xorsign.abs"),
            (m.abs, ".abs"),
        ];
        for (_, flag) in flags.iter().filter(|(set, _)| *set) {
            name.push_str(flag);
        }
        name.push('.');
        match self.does {
            Does::ToInt(ty) => name.push_str(&integer(ty)),
            _ => name.push_str(self.fmt.name()),
        }
        match self.does {
            Does::OfInt(ty) => name.push_str(&format!(".{}", integer(ty))),
            _ if self.src != self.fmt => name.push_str(&format!(".{}", self.src.name())),
            _ => {}
        }
        name
    }

    /// The format of the result, if it is a float.
    pub fn float(&self) -> Option<Fmt> {
        match self.does {
            Does::Float(_) | Does::Convert | Does::OfInt(_) | Does::Product(..) => Some(self.fmt),
            Does::ToInt(_) | Does::Compare(_) | Does::Test(_) => None,
        }
    }

    /// True if the result may be another number than the exact one.
    pub fn rounds(&self) -> bool {
        let (wide, low) = number::precision(self.src);
        let (narrow, least) = number::precision(self.fmt);
        match self.does {
            Does::Float(_) | Does::Convert if self.mods.ftz => true,
            Does::Float(
                FloatOp::Neg
                | FloatOp::Abs
                | FloatOp::Copysign
                | FloatOp::Min
                | FloatOp::Max
                | FloatOp::Min3
                | FloatOp::Max3,
            ) => false,
            Does::Convert => wide > narrow || low < least,
            Does::Float(_) | Does::OfInt(_) | Does::Product(..) => true,
            Does::ToInt(_) | Does::Compare(_) | Does::Test(_) => false,
        }
    }

    /// What it makes of known bits; `None` where nothing says.
    pub fn apply(&self, operands: &[u64]) -> Option<u64> {
        let m = &self.mods;
        let how = Narrowing {
            rnd: m.rnd,
            sat: m.sat,
            satfinite: m.oob,
            relu: m.relu,
            ftz: m.ftz,
        };
        let flush = |bits| match m.ftz {
            true => number::flushed(self.src, bits),
            false => bits,
        };
        match (self.does, operands) {
            (Does::Float(op), _) => {
                let mut all = [0; 3];
                all.get_mut(..operands.len())?.copy_from_slice(operands);
                number::operation(op, (self.fmt, self.src), m, all)
            }
            (Does::Convert, &[x]) => number::float_to_float(self.src, self.fmt, &how, x),
            (Does::ToInt(ty), &[x]) => Some(number::float_to_int(self.src, ty, &how, x)),
            (Does::OfInt(ty), &[x]) => number::int_to_float(ty, self.fmt, &how, x),
            (Does::Compare(cmp), &[x, y]) => {
                let holds = number::compare(cmp, self.src, flush(x), flush(y));
                Some(u64::from(holds))
            }
            (Does::Test(test), &[x]) => Some(u64::from(number::test(test, self.src, x))),
            (Does::Product(p), _) if p.family.negates() => None,
            (Does::Product(p), &[c, ref factors @ ..]) => {
                let [MatTy::Float(a), MatTy::Float(b)] = p.factors else {
                    return None;
                };
                let (pairs, []) = factors.as_chunks::<2>() else {
                    return None;
                };
                let pairs: Vec<(number::Float, number::Float)> = pairs
                    .iter()
                    .map(|&[x, y]| (number::decode(a, x), number::decode(b, y)))
                    .collect();
                number::total(self.fmt, number::decode(self.src, c), &pairs)
            }
            (
                Does::Convert
                | Does::ToInt(_)
                | Does::OfInt(_)
                | Does::Compare(_)
                | Does::Test(_)
                | Does::Product(..),
                _,
            ) => None,
        }
    }

    /// True if the result on known operands is the number that it is over the reals: no rounding and no flush changes it.
    pub fn is_exact(&self, operands: &[u64]) -> bool {
        let rounded = |rnd| {
            let mods = FloatMods {
                rnd,
                ftz: false,
                ..self.mods
            };
            Operation { mods, ..*self }.apply(operands)
        };
        let (down, up) = (rounded(Rnd::Rm), rounded(Rnd::Rp));
        down.is_some() && down == up && self.apply(operands) == down
    }

    /// Width in bits of the result.
    pub fn width(&self) -> u8 {
        match self.does {
            Does::ToInt(ty) => ty.width,
            Does::Compare(_) | Does::Test(_) => 1,
            Does::Float(_) | Does::Convert | Does::OfInt(_) | Does::Product(..) => {
                self.fmt.bits() as u8
            }
        }
    }
}

fn integer(ty: IntTy) -> String {
    format!("{}{}", if ty.signed { 's' } else { 'u' }, ty.width)
}

/// A word: its operation, by number, and its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Word<'s> {
    operation: u32,
    operands: &'s [u32],
}

impl<'s> Word<'s> {
    /// A word of its list.
    pub(super) fn of(list: &'s [u32]) -> Word<'s> {
        let (operation, operands) = list.split_first().unwrap_or((&0, &[]));
        Word {
            operation: *operation,
            operands,
        }
    }

    /// The operation.
    pub fn operation(self, store: &TermStore) -> Operation {
        store.operations[self.operation as usize]
    }

    /// The bits of the operands.
    pub fn operands(self) -> impl DoubleEndedIterator<Item = TermId> + ExactSizeIterator + 's {
        self.operands.iter().map(|&i| TermId(i))
    }

    /// The word of another store whose operands `m` gives.
    pub(super) fn copy(
        self,
        from: &TermStore,
        into: &mut TermStore,
        m: impl Fn(TermId) -> TermId,
    ) -> TermId {
        let operands: Vec<TermId> = self.operands().map(m).collect();
        into.word(self.operation(from), &operands)
    }
}

impl TermStore {
    /// What an operation makes of operands.
    pub fn word(&mut self, operation: Operation, operands: &[TermId]) -> TermId {
        let number = self.operations.insert_full(operation).0 as u32;
        let start = self.lists.len();
        self.lists.push(number);
        self.lists.extend(operands.iter().map(|t| t.0));
        let total = operands.iter().all(|&t| self.is_total(t));
        self.insert_list((view::WORD, operation.width().into()), start, total)
    }

    /// A term as a word, if it is one.
    pub fn as_word(&self, t: TermId) -> Option<Word<'_>> {
        match self.get(t) {
            super::Term::Word(w) => Some(w),
            _ => None,
        }
    }

    /// Notes that which NaN memory holds depends on an order.
    pub fn note_nan_by_order(&mut self) {
        self.nan_by_order = true;
    }

    /// True if which NaN memory holds may depend on an order.
    pub fn has_nan_by_order(&self) -> bool {
        self.nan_by_order
    }

    /// Notes which instruction of which code made a word first.
    pub fn note_origin(&mut self, t: TermId, origin: (u32, Pc)) {
        self.origins.entry(t).or_insert(origin);
    }

    /// The number of the code and the instruction that made a word first.
    pub fn origin(&self, t: TermId) -> Option<(u32, Pc)> {
        self.origins.get(&t).copied()
    }
}
