//! Who reads the bits of a term, and what a reader may take them for.
//!
//! Problem: a reader of floats takes any NaN for any other, a reader of bits does not. What is a NaN depends on the format, so
//! that a reader of floats reads in one format: of sixteen bits there are two. Who reads a float in another format than
//! it was made in reads bits.
//!
//! Sound: a term that somebody reads as bits is never taken for another that may differ in the bits of a NaN.

use crate::kernel::{FloatOp, Fmt, MatTy};
use crate::spec::ElemTy;
use crate::term::word::{Does, Operation};
use crate::term::{BitsOp, Sort, Term, TermId, TermStore};

use super::identities::chained;
use super::identities::signs::{Done, Signed, signed};

/// Who reads bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A reader of floats, for whom any NaN is any other; of sixteen bits one of f16.
    Float,
    /// A reader of bits.
    Bits,
    /// A reader of floats that takes sixteen bits for a bf16.
    Bf16,
}

impl Reader {
    /// All readers.
    pub const ALL: [Reader; 3] = [Reader::Bits, Reader::Float, Reader::Bf16];

    /// Who reads floats of a format.
    pub fn of(fmt: Fmt) -> Reader {
        match fmt {
            Fmt::Bf16 => Reader::Bf16,
            _ => Reader::Float,
        }
    }

    /// The format in which bits are read, if that is one of floats whose sign is their highest bit.
    pub fn format(self, width: u8) -> Option<Fmt> {
        match (self, width) {
            (Reader::Bf16, 16) => Some(Fmt::Bf16),
            (Reader::Float, 16) => Some(Fmt::F16),
            (Reader::Float, 32) => Some(Fmt::F32),
            (Reader::Float, 64) => Some(Fmt::F64),
            (Reader::Float | Reader::Bf16 | Reader::Bits, _) => None,
        }
    }

    /// The mark of what is needed of a term for this reader.
    pub(super) fn mark(self) -> u8 {
        1 << self as u8
    }
}

/// A step of a maximum that only further steps read.
const STEP: u8 = 8;

/// In which formats float operations made what a term is, chosen among others or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floats {
    /// No float operation did.
    None,
    /// All in one.
    One(Fmt),
    /// In several.
    Several,
}

impl Floats {
    pub(super) fn or(self, other: Floats) -> Floats {
        match (self, other) {
            (a, Floats::None) => a,
            (Floats::None, b) => b,
            (a, b) if a == b => a,
            _ => Floats::Several,
        }
    }

    /// True if who reads in a format may take any NaN for any other. A tf32 is kept as an f32.
    pub(super) fn are(self, fmt: Option<Fmt>) -> bool {
        let kept = |f: Fmt| if f == Fmt::Tf32 { Fmt::F32 } else { f };
        match self {
            Floats::None => true,
            Floats::One(made) => fmt.is_some_and(|f| kept(f) == kept(made)),
            Floats::Several => false,
        }
    }
}

/// The formats in which the terms of a run were made.
pub(super) fn made(from: &TermStore) -> Vec<Floats> {
    let mut made = vec![Floats::None; from.len()];
    // Children are older than their parents.
    for i in 0..made.len() {
        let t = TermId(i as u32);
        made[i] = match (from.as_word(t), choice(from, t)) {
            (Some(word), _) => match word.operation(from).float() {
                Some(fmt) => Floats::One(fmt),
                None => Floats::None,
            },
            (None, Some((_, [a, b]))) => made[a.0 as usize].or(made[b.0 as usize]),
            (None, None) => Floats::None,
        };
    }
    made
}

/// The condition of a choice between two terms, and these: a choice, or one by masks.
///
/// match `(m & a) | (~m & b)`, the same with `+` and `^`, and `((a ^ b) & m) ^ b`, m = `p ? ones : 0`; because each bit of a mask
/// lets the same side through.
pub(super) fn choice(from: &TermStore, t: TermId) -> Option<(TermId, [TermId; 2])> {
    let (op, a, b) = match from.get(t) {
        Term::BitsSelect(p, a, b) => return Some((p, [a, b])),
        Term::BitsOp(op, a, b) => (op, a, b),
        _ => return None,
    };
    if !matches!(op, BitsOp::Or | BitsOp::Xor | BitsOp::Add) {
        return None;
    }
    if let (Some((p, x, first)), Some((q, y, second))) = (masked(from, a), masked(from, b))
        && p == q
        && first != second
    {
        return Some((p, if first { [x, y] } else { [y, x] }));
    }
    if op != BitsOp::Xor {
        return None;
    }
    [(a, b), (b, a)].into_iter().find_map(|(through, other)| {
        let (p, x, holds) = masked(from, through)?;
        let Term::BitsOp(BitsOp::Xor, u, v) = from.get(x) else {
            return None;
        };
        let side = match other {
            _ if other == u => v,
            _ if other == v => u,
            _ => return None,
        };
        Some((p, if holds { [side, other] } else { [other, side] }))
    })
}

/// A term that a mask lets through where a condition holds, or where it does not.
fn masked(from: &TermStore, t: TermId) -> Option<(TermId, TermId, bool)> {
    let is_zero = |t: TermId| from.as_bits(t) == Some(0);
    match from.get(t) {
        Term::BitsOp(BitsOp::And, a, b) => {
            let by = |m: TermId, x: TermId| mask(from, m).map(|(p, holds)| (p, x, holds));
            by(a, b).or_else(|| by(b, a))
        }
        Term::BitsSelect(p, x, z) if is_zero(z) => Some((p, x, true)),
        Term::BitsSelect(p, z, x) if is_zero(z) => Some((p, x, false)),
        _ => None,
    }
}

/// The condition of a mask, and whether its bits are set where that holds.
fn mask(from: &TermStore, t: TermId) -> Option<(TermId, bool)> {
    let ones = u64::MAX >> (64 - u32::from(from.width(t)));
    match from.get(t) {
        Term::BitsSelect(p, a, b) => match (from.as_bits(a)?, from.as_bits(b)?) {
            (x, 0) if x == ones => Some((p, true)),
            (0, x) if x == ones => Some((p, false)),
            _ => None,
        },
        Term::BitsOp(BitsOp::Xor, a, b) => {
            let inner = match (from.as_bits(a), from.as_bits(b)) {
                (Some(x), _) if x == ones => b,
                (_, Some(x)) if x == ones => a,
                _ => return None,
            };
            let Term::BitsSelect(..) = from.get(inner) else {
                return None;
            };
            mask(from, inner).map(|(p, holds)| (p, !holds))
        }
        _ => None,
    }
}

/// What bits are that a reader takes for a number, if that is another one with another sign, or a widened one.
pub(super) fn number(
    from: &TermStore,
    t: TermId,
    reader: Reader,
    made: &[Floats],
) -> Option<Signed> {
    let fmt = reader.format(match from.sort(t) {
        Sort::Bits(width) => width,
        Sort::Real | Sort::Bool => return None,
    })?;
    signed(from, t, fmt, |x, fmt| made[x.0 as usize].are(Some(fmt)))
}

/// How an operation reads an operand at a position, given how its result is read.
pub(super) fn reads(
    operation: &Operation,
    reader: Reader,
    (at, operand): (usize, TermId),
    made: impl Fn(TermId) -> Floats,
) -> Reader {
    let (reads, fmt) = match operation.does {
        // An integer has no NaN, and the sign of a NaN, which no manual gives, may be that of a number.
        Does::OfInt(_) => return Reader::Bits,
        Does::Float(FloatOp::Copysign) if at == 0 => return Reader::Bits,
        Does::Float(_) if operation.mods.xorsign_abs => return Reader::Bits,
        Does::ToInt(_) | Does::Compare(_) | Does::Test(_) => (Reader::Float, Some(operation.src)),
        Does::Float(_) | Does::Convert => (reader, Some(operation.src)),
        Does::Product(p) => match (at, p.factors[(at + 1) % 2]) {
            (0, _) => (reader, Some(operation.src)),
            (_, MatTy::Float(fmt) | MatTy::Packed(fmt)) => (reader, Some(fmt)),
            (_, MatTy::Int { .. }) => (reader, None),
        },
    };
    match (reads, fmt) {
        (Reader::Bits, _) => Reader::Bits,
        _ if !made(operand).are(fmt) => Reader::Bits,
        (_, Some(fmt)) => Reader::of(fmt),
        (_, None) => Reader::Float,
    }
}

/// What is needed of each term: the marks of its readers.
pub(super) fn needs(from: &TermStore, roots: &[(TermId, Reader)], made: &[Floats]) -> Vec<u8> {
    const BITS: u8 = 1 << Reader::Bits as u8;
    let mut needs = vec![0u8; from.len()];
    for &(t, r) in roots {
        needs[t.0 as usize] |= r.mark();
    }
    // Children are older than their parents.
    for i in (0..needs.len()).rev() {
        let t = TermId(i as u32);
        if needs[i] == 0 {
            continue;
        }
        let of = |c: TermId| made[c.0 as usize];
        if let Some(word) = from.as_word(t) {
            let operation = word.operation(from);
            // A number that is no NaN is what a reader of floats sees.
            if let Some(fmt) = operation.float().filter(|_| needs[i] & BITS != 0) {
                needs[i] |= Reader::of(fmt).mark();
            }
            let is_chain = chained(&operation);
            for (at, c) in word.operands().enumerate() {
                let step = is_chain && is_same(from, c, &operation);
                let reads = |reader| reads(&operation, reader, (at, c), of).mark();
                if needs[i] & !BITS != 0 {
                    needs[c.0 as usize] |= match step {
                        true => STEP,
                        false => reads(Reader::Float),
                    };
                }
                if needs[i] & BITS != 0 {
                    needs[c.0 as usize] |= reads(Reader::Bits);
                }
            }
            continue;
        }
        if let Some((p, sides)) = choice(from, t).filter(|_| made[i] != Floats::Several) {
            needs[p.0 as usize] |= BITS;
            for c in sides {
                needs[c.0 as usize] |= needs[i] & !STEP;
            }
            continue;
        }
        for reader in [Reader::Float, Reader::Bf16] {
            let need = needs[i] & reader.mark() != 0;
            if let Some(n) = number(from, t, reader, made).filter(|_| need) {
                needs[n.of.0 as usize] |= Reader::of(n.fmt).mark();
                if let Done::Copied(of) = n.done {
                    needs[of.0 as usize] |= BITS;
                }
            }
        }
        needs[i] |= BITS;
        from.children(t, |c| needs[c.0 as usize] |= BITS);
    }
    needs
}

/// True for a word of the same maximum or minimum.
pub(super) fn is_same(from: &TermStore, t: TermId, operation: &Operation) -> bool {
    let of = from.as_word(t).map(|w| w.operation(from));
    of.is_some_and(|o| kind(&o) == kind(operation))
}

/// An operation with three operands is two of one with two.
fn kind(o: &Operation) -> Operation {
    let does = match o.does {
        Does::Float(FloatOp::Max3) => Does::Float(FloatOp::Max),
        Does::Float(FloatOp::Min3) => Does::Float(FloatOp::Min),
        does => does,
    };
    Operation { does, ..*o }
}

/// Who reads an element of an array: of a declared type, or as what was stored.
pub fn reader(declared: Option<ElemTy>, stores: &[(&TermStore, TermId)]) -> Reader {
    let mut all = stores.iter().map(|&(store, t)| made_as(store, t));
    let floats = all.try_fold(Floats::None, |a, b| match a.or(b) {
        Floats::Several => None,
        one => Some(one),
    });
    match (declared, floats) {
        (Some(ElemTy::Int { .. }), _) | (_, None) => Reader::Bits,
        (Some(ElemTy::Float(fmt)), Some(floats)) if floats.are(Some(fmt)) => Reader::of(fmt),
        (None, Some(Floats::One(fmt))) => Reader::of(fmt),
        (Some(ElemTy::Float(_)) | None, Some(_)) => Reader::Bits,
    }
}

/// The format in which a float operation made what a term is, or is chosen from; of several choices that are floats the
/// last one tells, and the others are compared where the choice is rebuilt.
fn made_as(store: &TermStore, mut t: TermId) -> Floats {
    loop {
        if let Some(word) = store.as_word(t) {
            let fmt = word.operation(store).float();
            return fmt.map_or(Floats::None, Floats::One);
        }
        // Children are older than their parents, so that this ends.
        let Some((_, [a, b])) = choice(store, t) else {
            return Floats::None;
        };
        t = match store.as_word(a).is_some() || choice(store, a).is_some() {
            true => a,
            false => b,
        };
    }
}
