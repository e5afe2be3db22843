//! The modifiers of an instruction as sets and lists, for the decoders.
//!
//! The problem: a decoder must accept the modifiers that it models and refuse every other one,
//! for a modifier that is overlooked changes a proof. Source: PTX ISA 9.0, the syntax lines of
//! section 9.7; `ptxas` accepts modifiers in any order as long as types keep theirs, so the words
//! are a set, the types a list. Each decoder names the whole set that it understands; what is left
//! over is [`Stop::Unsupported`].
//!
//! Not claimed: that a combination of known words is legal; only that its meaning is the one
//! decoded.

use crate::ptx::{Instr, Mod, ModKind, Module, Op, Shape, Space, Type};

use super::{Fmt, IntTy, NumTy};

/// Why an instruction was not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The input is wrong; the error is recorded already.
    Error,
    /// The instruction is not modelled; the text says what of it.
    Unsupported(String),
}

/// Result of a decoder.
pub(super) type Decoded<T> = Result<T, Stop>;

/// Stops at something that is not modelled.
pub(super) fn unsupported<T>(why: impl Into<String>) -> Decoded<T> {
    Err(Stop::Unsupported(why.into()))
}

/// A set of modifier words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModSet([u64; 6]);

// Every word has a bit.
const _: () = assert!(Mod::ALL.len() <= 6 * 64);

impl ModSet {
    /// The set of these words.
    pub(super) const fn of(list: &[Mod]) -> ModSet {
        let mut bits = [0; 6];
        let mut i = 0;
        while i < list.len() {
            let n = list[i] as usize;
            bits[n / 64] |= 1 << (n % 64);
            i += 1;
        }
        ModSet(bits)
    }

    /// The words of either set.
    pub(super) const fn or(self, other: ModSet) -> ModSet {
        let mut bits = self.0;
        let mut i = 0;
        while i < bits.len() {
            bits[i] |= other.0[i];
            i += 1;
        }
        ModSet(bits)
    }

    /// Is the word in the set?
    pub(super) const fn has(self, word: Mod) -> bool {
        let n = word as usize;
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    /// The first word of this set that is not in the other.
    pub(super) fn first_outside(self, other: ModSet) -> Option<Mod> {
        let left = (0..6).find(|i| self.0[*i] & !other.0[*i] != 0)?;
        let bit = (self.0[left] & !other.0[left]).trailing_zeros() as usize;
        Mod::ALL.get(left * 64 + bit).copied()
    }
}

/// A set of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeSet(u64);

const _: () = assert!(Type::ALL.len() <= 64);

impl TypeSet {
    /// The set of these types.
    pub(super) const fn of(list: &[Type]) -> TypeSet {
        let mut bits = 0;
        let mut i = 0;
        while i < list.len() {
            bits |= 1 << list[i] as usize;
            i += 1;
        }
        TypeSet(bits)
    }

    /// Is the type in the set?
    pub(super) const fn has(self, ty: Type) -> bool {
        self.0 >> ty as usize & 1 == 1
    }
}

/// Words that change speed only: cache operators, eviction priorities, prefetch sizes.
pub(super) const HINTS: ModSet = ModSet::of(&[
    Mod::Ca,
    Mod::Cg,
    Mod::Cs,
    Mod::Lu,
    Mod::Cv,
    Mod::Wb,
    Mod::Wt,
    Mod::L1EvictNormal,
    Mod::L1EvictUnchanged,
    Mod::L1EvictFirst,
    Mod::L1EvictLast,
    Mod::L1NoAllocate,
    Mod::L2EvictNormal,
    Mod::L2EvictUnchanged,
    Mod::L2EvictFirst,
    Mod::L2EvictLast,
    Mod::L2CacheHint,
    Mod::L2Size64,
    Mod::L2Size128,
    Mod::L2Size256,
]);

const MAX_TYPES: usize = 6;

/// The opcode and modifiers of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sig {
    /// The opcode.
    pub op: Op,
    /// The words.
    pub mods: ModSet,
    types: [Type; MAX_TYPES],
    count: usize,
    /// The state space, if one is written; of two the first, which is the destination.
    pub space: Option<Space>,
    /// The source state space of an instruction that names two.
    pub from: Option<Space>,
    /// The matrix shape.
    pub shape: Option<Shape>,
    /// For `wmma.mma`, which of the layouts of a and b are `.col`.
    pub cols: [Option<bool>; 2],
}

/// Opcodes whose decoders look at the shape.
fn has_shape(op: Op) -> bool {
    matches!(
        op,
        Op::Mma
            | Op::MmaSp
            | Op::MmaSpOrdered
            | Op::Ldmatrix
            | Op::Stmatrix
            | Op::Movmatrix
            | Op::WgmmaMmaAsync
            | Op::WmmaLoad
            | Op::WmmaStore
            | Op::WmmaMma
    )
}

/// Products, which say how both factors are laid out.
fn two_layouts(op: Op) -> bool {
    matches!(op, Op::WmmaMma | Op::Mma | Op::MmaSp | Op::MmaSpOrdered)
}

/// Copies, which name the state spaces of both sides.
fn two_spaces(op: Op) -> bool {
    matches!(
        op,
        Op::CpAsync
            | Op::CpAsyncBulk
            | Op::CpReduceAsyncBulk
            | Op::CpAsyncBulkPrefetch
            | Op::CpAsyncBulkTensor
            | Op::CpAsyncBulkPrefetchTensor
            | Op::CpReduceAsyncBulkTensor
            | Op::TensormapCpFenceproxy
    )
}

impl Sig {
    /// Reads the modifiers of an instruction. `Err` names one that no decoder of this form
    /// handles: an unknown word, a matrix shape, a word that stands twice.
    pub(super) fn new(module: &Module, op: Op, instr: &Instr) -> Decoded<Sig> {
        let mut sig = Sig {
            op,
            mods: ModSet::of(&[]),
            types: [Type::Pred; MAX_TYPES],
            count: 0,
            space: None,
            from: None,
            shape: None,
            cols: [None; 2],
        };
        for modifier in &module[instr.mods] {
            match modifier.kind {
                ModKind::Type(ty) => {
                    if sig.count == MAX_TYPES {
                        return unsupported("it has too many types");
                    }
                    sig.types[sig.count] = ty;
                    sig.count += 1;
                }
                ModKind::Space(space) => {
                    if sig.space.is_none() {
                        sig.space = Some(space);
                    } else if !two_spaces(op) || sig.from.replace(space).is_some() {
                        return unsupported("it names two state spaces");
                    }
                }
                ModKind::Word(word @ (Mod::Row | Mod::Col)) if two_layouts(op) => {
                    match sig.cols.iter_mut().find(|c| c.is_none()) {
                        Some(c) => *c = Some(word == Mod::Col),
                        None => return unsupported("it has three layouts"),
                    }
                }
                ModKind::Word(word) => {
                    if sig.mods.has(word) {
                        return unsupported(format!("`.{word}` stands twice"));
                    }
                    sig.mods = sig.mods.or(ModSet::of(&[word]));
                }
                ModKind::Shape(shape) => {
                    if !has_shape(op) || sig.shape.replace(shape).is_some() {
                        return unsupported(format!("shape `.{shape}`"));
                    }
                }
                ModKind::Unknown(name) => {
                    return unsupported(format!("unknown modifier `.{}`", module.text(name)));
                }
            }
        }
        Ok(sig)
    }

    /// Is the word written?
    pub(super) fn has(&self, word: Mod) -> bool {
        self.mods.has(word)
    }

    /// The types in source order.
    pub(super) fn types(&self) -> &[Type] {
        &self.types[..self.count]
    }

    /// Stops unless every word is in the set.
    pub(super) fn only(&self, known: ModSet) -> Decoded<()> {
        match self.mods.first_outside(known) {
            None => Ok(()),
            Some(word) => unsupported(format!("modifier `.{word}`")),
        }
    }

    /// Stops if a state space is written.
    pub(super) fn no_space(&self) -> Decoded<()> {
        match self.space {
            None => Ok(()),
            Some(space) => unsupported(format!("state space `.{space}`")),
        }
    }

    /// The one type.
    pub(super) fn ty(&self) -> Decoded<Type> {
        match *self.types() {
            [ty] => Ok(ty),
            _ => unsupported("it must have one type"),
        }
    }

    /// The two types.
    pub(super) fn two_types(&self) -> Decoded<(Type, Type)> {
        match *self.types() {
            [a, b] => Ok((a, b)),
            _ => unsupported("it must have two types"),
        }
    }

    /// Which of the alternatives is written; `None` if none is. Stops if two are.
    pub(super) fn pick<T: Copy>(&self, choices: &[(Mod, T)]) -> Decoded<Option<T>> {
        let mut found = None;
        for &(word, meaning) in choices {
            if self.has(word) {
                if found.is_some() {
                    return unsupported(format!("`.{word}` contradicts another modifier"));
                }
                found = Some(meaning);
            }
        }
        Ok(found)
    }

    /// The alternative that is written; stops if none is.
    pub(super) fn need<T: Copy>(&self, choices: &[(Mod, T)], what: &str) -> Decoded<T> {
        match self.pick(choices)? {
            Some(meaning) => Ok(meaning),
            None => unsupported(format!("it lacks {what}")),
        }
    }
}

/// An integer, bit or predicate type with its number of packed lanes.
pub(super) fn int_type(ty: Type) -> Option<(IntTy, u8)> {
    let (width, signed, lanes) = match ty {
        Type::Pred => (1, false, 1),
        Type::B8 | Type::U8 => (8, false, 1),
        Type::B16 | Type::U16 => (16, false, 1),
        Type::B32 | Type::U32 => (32, false, 1),
        Type::B64 | Type::U64 => (64, false, 1),
        Type::S8 => (8, true, 1),
        Type::S16 => (16, true, 1),
        Type::S32 => (32, true, 1),
        Type::S64 => (64, true, 1),
        Type::U16x2 => (16, false, 2),
        Type::S16x2 => (16, true, 2),
        _ => return None,
    };
    Some((IntTy { width, signed }, lanes))
}

/// A float type with its number of packed lanes.
pub(super) fn float_type(ty: Type) -> Option<(Fmt, u8)> {
    Some(match ty {
        Type::F16 => (Fmt::F16, 1),
        Type::F16x2 => (Fmt::F16, 2),
        Type::Bf16 => (Fmt::Bf16, 1),
        Type::Bf16x2 => (Fmt::Bf16, 2),
        Type::F32 => (Fmt::F32, 1),
        Type::F32x2 => (Fmt::F32, 2),
        Type::F64 => (Fmt::F64, 1),
        Type::Tf32 => (Fmt::Tf32, 1),
        Type::E4m3 => (Fmt::E4m3, 1),
        Type::E5m2 => (Fmt::E5m2, 1),
        Type::E4m3x2 => (Fmt::E4m3, 2),
        Type::E5m2x2 => (Fmt::E5m2, 2),
        Type::E2m3x2 => (Fmt::E2m3, 2),
        Type::E3m2x2 => (Fmt::E3m2, 2),
        Type::E2m1x2 => (Fmt::E2m1, 2),
        Type::Ue8m0x2 => (Fmt::Ue8m0, 2),
        _ => return None,
    })
}

/// A number type with its number of packed lanes.
pub(super) fn num_type(ty: Type) -> Option<(NumTy, u8)> {
    match int_type(ty) {
        Some((int, lanes)) => Some((NumTy::Int(int), lanes)),
        None => float_type(ty).map(|(fmt, lanes)| (NumTy::Float(fmt), lanes)),
    }
}
