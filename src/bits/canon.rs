//! Words of two runs in one store, up to the identities that keep every bit.
//!
//! Problem: equal words are the same operations in the same order, and some different ones have the same bits too
//! ([`super::identities`]). Both runs are rebuilt in one store, where what an identity makes equal has one id.
//!
//! The identities hold up to the bits of a NaN, which no manual gives. So each term has two images: what
//! a reader of floats sees (an operand of float arithmetic, of a comparison or a conversion, an element of a
//! float array), where any NaN is any other, and what a reader of bits sees, which is the operation as it was written
//! with operands as they were written. A comparison and a conversion to an integer have no NaN, so that both
//! images of them are of what readers of floats see.
//!
//! A NaN of one format may be a number of another, so that who reads a float in another format than it was made in reads bits.
//! Only the upper half of a float whose lower half is zero is read as the bf16 that it is.
//!
//! Maxima and minima are rebuilt where something else reads them: as a set of what they are taken of.
//!
//! Not claimed: anything of terms over the reals, which no run by words leaves.

use crate::kernel::{FloatMods, FloatOp, Fmt, MatTy, Rnd};
use crate::sass::{Made, Settled};
use rustc_hash::FxHashMap;

use crate::term::rebuild::copy;
use crate::term::word::{Does, Operation};
use crate::term::{BitsOp, Sort, Term, TermId, TermStore};

use super::identities::{Identities, chained};

/// Who reads bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A reader of floats, for whom any NaN is any other.
    Float,
    /// A reader of bits.
    Bits,
}

/// What is needed of a term: the image for readers of floats, that for readers of bits.
const FLOAT: u8 = 1;
const BITS: u8 = 2;
/// A step of a maximum that only further steps read.
const STEP: u8 = 4;

/// The place of all sums that are joined everywhere or nowhere, and of the marks on what they may be joined with.
const ALIKE: u32 = u32::MAX;
const FREE: u32 = u32::MAX - 1;

/// No image: nobody needs it.
pub const NONE: TermId = TermId(u32::MAX);

/// Both runs.
#[derive(Debug, Default)]
pub struct Canon {
    /// The store.
    pub store: TermStore,
    /// The identities, with what they know of terms.
    pub identities: Identities,
    /// Taken for granted: what a compiler may join it joins everywhere or nowhere.
    pub contracts_alike: bool,
    /// What a compiler joined, where that is known.
    pub settled: Settled,
    /// Conditions that hold or do not: the case that is looked at.
    pub assumed: FxHashMap<TermId, bool>,
    /// True once an addition was met that a compiler may join with a product.
    pub has_places: bool,
    /// True once a term over the reals was met.
    pub has_reals: bool,
    /// True once a reader of bits was met that reads what may be a NaN of an operation.
    pub reads_payload: bool,
}

/// The images of one run.
#[derive(Debug)]
pub struct Images {
    of: Vec<[TermId; 2]>,
    /// What may be joined with a sum.
    free: Vec<bool>,
    /// The formats in which floats were made.
    made: Vec<Floats>,
}

/// In which formats float operations made what a term is, chosen among others or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floats {
    /// No float operation did.
    None,
    /// All in one.
    One(Fmt),
    /// In several.
    Several,
}

impl Floats {
    fn or(self, other: Floats) -> Floats {
        match (self, other) {
            (a, Floats::None) => a,
            (Floats::None, b) => b,
            (a, b) if a == b => a,
            _ => Floats::Several,
        }
    }

    /// True if who reads in a format may take any NaN for any other. A tf32 is kept as an f32.
    fn are(self, fmt: Option<Fmt>) -> bool {
        let kept = |f: Fmt| if f == Fmt::Tf32 { Fmt::F32 } else { f };
        match self {
            Floats::None => true,
            Floats::One(made) => fmt.is_some_and(|f| kept(f) == kept(made)),
            Floats::Several => false,
        }
    }
}

/// The formats in which the terms of a run were made.
fn made(from: &TermStore) -> Vec<Floats> {
    let mut made = vec![Floats::None; from.len()];
    // Children are older than their parents.
    for i in 0..made.len() {
        made[i] = match from.get(TermId(i as u32)) {
            Term::Word(word) => match word.operation(from).float() {
                Some(fmt) => Floats::One(fmt),
                None => Floats::None,
            },
            Term::BitsSelect(_, a, b) => made[a.0 as usize].or(made[b.0 as usize]),
            _ => Floats::None,
        };
    }
    made
}

/// The bf16 of which an f32 is the widening, written as bits.
fn upper_half(from: &TermStore, t: TermId) -> Option<TermId> {
    let Term::Concat(&[low, high]) = from.get(t) else {
        return None;
    };
    let high = TermId(high);
    let word = from.as_word(high)?;
    let is_bf16 = word.operation(from).float() == Some(Fmt::Bf16);
    (is_bf16 && from.as_bits(TermId(low)) == Some(0) && from.sort(t) == Sort::Bits(32))
        .then_some(high)
}

/// A number whose sign bit alone was changed by operations on bits: the operation, its format, and the number.
fn signed(from: &TermStore, t: TermId, made: &[Floats]) -> Option<(FloatOp, Fmt, TermId)> {
    let Term::Concat(&[low, top]) = from.get(t) else {
        return None;
    };
    let fmt = match from.sort(t) {
        Sort::Bits(32) => Fmt::F32,
        Sort::Bits(64) => Fmt::F64,
        _ => return None,
    };
    let digits = fmt.bits() as u8 - 1;
    let x = match from.get(TermId(low)) {
        Term::Extract {
            bits,
            low: 0,
            width,
        } if width == digits => bits,
        _ => return None,
    };
    if from.sort(x) != from.sort(t) || !made[x.0 as usize].are(Some(fmt)) {
        return None;
    }
    let top = TermId(top);
    if from.as_bits(top) == Some(0) {
        return Some((FloatOp::Abs, fmt, x));
    }
    let Term::BitsOp(BitsOp::Xor, a, b) = from.get(top) else {
        return None;
    };
    let sign = match (from.as_bits(a), from.as_bits(b)) {
        (Some(1), _) => b,
        (_, Some(1)) => a,
        _ => return None,
    };
    is_sign(from, sign, x).then_some((FloatOp::Neg, fmt, x))
}

/// True for the highest bit of a term, which of bytes of memory is read from the last of them.
fn is_sign(from: &TermStore, sign: TermId, x: TermId) -> bool {
    let Term::Extract {
        bits,
        low,
        width: 1,
    } = from.get(sign)
    else {
        return false;
    };
    match (from.get(bits), from.get(x)) {
        _ if bits == x => Sort::Bits(low + 1) == from.sort(x),
        (
            Term::Bytes {
                array,
                off,
                width: 8,
            },
            Term::Bytes {
                array: of,
                off: first,
                width,
            },
        ) => array == of && low == 7 && off == first + u64::from(width / 8) - 1,
        _ => false,
    }
}

impl Images {
    /// The image of a term that a reader needs.
    pub fn get(&self, t: TermId, reader: Reader) -> TermId {
        self.of[t.0 as usize][reader as usize]
    }
}

impl Canon {
    /// The images of what stands below some terms of a run, as their readers see it.
    pub fn add(&mut self, from: &TermStore, roots: &[(TermId, Reader)]) -> Images {
        let made = made(from);
        let needs = needs(from, roots, &made);
        let mut images = Images {
            of: vec![[NONE; 2]; from.len()],
            free: free(from),
            made,
        };
        for (i, &need) in needs.iter().enumerate() {
            let t = TermId(i as u32);
            if need & (FLOAT | BITS) == 0 {
                continue;
            }
            self.has_reals |= from.sort(t) == Sort::Real;
            for (bit, reader) in [(BITS, Reader::Bits), (FLOAT, Reader::Float)] {
                if need & bit != 0 {
                    images.of[i][reader as usize] = self.image(from, t, reader, &images);
                }
            }
        }
        images
    }

    /// A sum that was joined with the one product below it.
    fn fused(&mut self, from: &TermStore, t: TermId, images: &Images) -> Option<TermId> {
        let word = from.as_word(t)?;
        let sum = word.operation(from);
        let mut operands = word.operands();
        let (a, b) = (operands.next()?, operands.next()?);
        let free = [a, b].map(|c| images.free[c.0 as usize]);
        let (mut product, rest) = match free {
            [true, false] => (a, b),
            [false, true] => (b, a),
            [true, true] | [false, false] => return None,
        };
        let plain = FloatMods::default();
        let formats = (sum.fmt, sum.fmt);
        let negation = Operation::new(Does::Float(FloatOp::Neg), formats, plain);
        let minus = sum.does == Does::Float(FloatOp::Sub);
        let (mut negated, rest_negated) = (minus && product == b, minus && product == a);
        // Children are older than their parents, so that this ends.
        while let Some(word) = from
            .as_word(product)
            .filter(|w| w.operation(from) == negation)
        {
            product = word.operands().next()?;
            negated = !negated;
        }
        let word = from.as_word(product)?;
        let of = word.operation(from);
        let same = of.mods == sum.mods && (of.fmt, of.src) == formats && sum.mods.rnd == Rnd::None;
        if of.does != Does::Float(FloatOp::Mul) || !same {
            return None;
        }
        let mut list: Vec<TermId> = word.operands().chain([rest]).collect();
        for t in &mut list {
            *t = images.get(*t, Reader::Float);
        }
        // An operand that is read in another format has no image for readers of floats.
        if list.contains(&NONE) {
            return None;
        }
        for (i, _) in [(0, negated), (2, rest_negated)].iter().filter(|n| n.1) {
            list[*i] = self
                .identities
                .simplest(&mut self.store, negation, vec![list[*i]]);
        }
        let mods = FloatMods {
            rnd: Rnd::Rn,
            ..sum.mods
        };
        let fma = Operation::new(Does::Float(FloatOp::Fma), formats, mods);
        Some(self.identities.simplest(&mut self.store, fma, list))
    }

    /// An operand that may be joined, which is not the same as one that is not, though both are one number.
    fn free(&mut self, fmt: Fmt, t: TermId) -> TermId {
        let plain = FloatMods::default();
        let negation = Operation::new(Does::Float(FloatOp::Neg), (fmt, fmt), plain);
        let negated = self
            .store
            .as_word(t)
            .filter(|w| w.operation(&self.store) == negation);
        let inner = negated.and_then(|w| w.operands().next());
        let mark = Operation {
            place: FREE,
            ..Operation::new(Does::Convert, (fmt, fmt), plain)
        };
        let marked = self.store.word(mark, &[inner.unwrap_or(t)]);
        match inner {
            Some(_) => self.store.word(negation, &[marked]),
            None => marked,
        }
    }

    fn image(&mut self, from: &TermStore, t: TermId, reader: Reader, images: &Images) -> TermId {
        let image = self.rebuilt(from, t, reader, images);
        if self.assumed.is_empty() {
            return image;
        }
        let (mut inner, mut negated) = (image, false);
        while let Term::Not(p) = self.store.get(inner) {
            (inner, negated) = (p, !negated);
        }
        match self.assumed.get(&inner) {
            Some(&holds) => self.store.bool(holds != negated),
            None => image,
        }
    }

    /// True if what may be joined with a sum is an exact product, so that joining changes nothing.
    fn joins_exactly(&mut self, fmt: Fmt, operands: &[TermId], images: &Images) -> bool {
        let mut free = operands
            .iter()
            .filter(|c| images.free[c.0 as usize])
            .peekable();
        let any = free.peek().is_some();
        any && free.all(|&c| match images.get(c, Reader::Float) {
            NONE => false,
            t => (self.identities).is_exact_product(&mut self.store, fmt, t),
        })
    }

    fn rebuilt(&mut self, from: &TermStore, t: TermId, reader: Reader, images: &Images) -> TermId {
        match (from.get(t), reader) {
            (Term::Word(word), _) => {
                let mut operation = word.operation(from);
                let settled = self.settled.get(&operation.place).copied();
                let operands: Vec<TermId> = match operation.place {
                    0 => Vec::new(),
                    _ => word.operands().collect(),
                };
                let is_exact =
                    reader == Reader::Float && self.joins_exactly(operation.fmt, &operands, images);
                if settled == Some(Made::Apart) || is_exact {
                    operation.place = 0;
                }
                if settled == Some(Made::Joined)
                    && reader == Reader::Float
                    && let Some(t) = self.fused(from, t, images)
                {
                    return t;
                }
                let may_join = operation.place != 0;
                if may_join && self.contracts_alike {
                    operation.place = ALIKE;
                }
                self.has_places |= may_join && !self.contracts_alike;
                let operands: Vec<TermId> = match (reader, chained(&operation)) {
                    (Reader::Float, true) => leaves(from, t, &operation)
                        .into_iter()
                        .map(|c| images.get(c, reads(&operation, reader, (0, c), &images.made)))
                        .collect(),
                    _ => {
                        let image = |(i, c): (usize, TermId)| {
                            let reads = reads(&operation, reader, (i, c), &images.made);
                            match images.get(c, reads) {
                                t if may_join && images.free[c.0 as usize] => {
                                    self.free(operation.fmt, t)
                                }
                                t => t,
                            }
                        };
                        word.operands().enumerate().map(image).collect()
                    }
                };
                if reader == Reader::Bits && operation.float().is_some() {
                    self.reads_payload = true;
                    return self.store.word(operation, &operands);
                }
                self.identities
                    .simplest(&mut self.store, operation, operands)
            }
            (Term::BitsSelect(p, a, b), Reader::Float)
                if images.made[t.0 as usize] != Floats::Several =>
            {
                let p = images.get(p, Reader::Bits);
                let sides = [a, b].map(|c| images.get(c, Reader::Float));
                self.identities.chosen(&mut self.store, p, sides)
            }
            _ if reader == Reader::Float => {
                match (upper_half(from, t), signed(from, t, &images.made)) {
                    (Some(high), _) => {
                        let zeros = self.store.bits(16, 0);
                        self.store.concat(&[zeros, images.get(high, Reader::Float)])
                    }
                    (None, Some((op, fmt, x))) => {
                        let operation =
                            Operation::new(Does::Float(op), (fmt, fmt), FloatMods::default());
                        let x = images.get(x, Reader::Float);
                        self.identities
                            .simplest(&mut self.store, operation, vec![x])
                    }
                    (None, None) => images.get(t, Reader::Bits),
                }
            }
            _ => copy(from, t, &mut self.store, |c| images.get(c, Reader::Bits)),
        }
    }
}

/// For each term of a run, whether it may be a product that a compiler joins with a sum that reads it.
///
/// A product with its rounding written is the same number, and is never joined.
fn free(from: &TermStore) -> Vec<bool> {
    let mut free = vec![false; from.len()];
    // Children are older than their parents.
    for i in 0..free.len() {
        let of = |t: TermId| free[t.0 as usize];
        free[i] = match from.get(TermId(i as u32)) {
            Term::Word(word) => {
                let operation = word.operation(from);
                let any = || word.operands().any(of);
                match operation.does {
                    Does::Float(FloatOp::Mul) => operation.mods.rnd == Rnd::None || any(),
                    Does::Float(FloatOp::Div | FloatOp::Rcp) => operation.mods.approx,
                    Does::Float(
                        FloatOp::Neg
                        | FloatOp::Abs
                        | FloatOp::Copysign
                        | FloatOp::Min
                        | FloatOp::Max
                        | FloatOp::Min3
                        | FloatOp::Max3,
                    ) => any(),
                    Does::Convert => operation.src == operation.fmt && any(),
                    Does::Float(_)
                    | Does::ToInt(_)
                    | Does::OfInt(_)
                    | Does::Compare(_)
                    | Does::Test(_)
                    | Does::Product(..) => false,
                }
            }
            Term::Bytes { .. } | Term::BitsConst { .. } => false,
            _ => {
                let mut any = false;
                from.children(TermId(i as u32), |c| any |= of(c));
                any
            }
        };
    }
    free
}

/// How an operation reads an operand at a position, given how its result is read.
fn reads(
    operation: &Operation,
    reader: Reader,
    (at, operand): (usize, TermId),
    made: &[Floats],
) -> Reader {
    let (reads, fmt) = match operation.does {
        // An integer has no NaN, and the sign of a NaN, which no manual gives, may be that of a number.
        Does::OfInt(_) => return Reader::Bits,
        Does::Float(FloatOp::Copysign) if at == 0 => return Reader::Bits,
        Does::Float(_) if operation.mods.xorsign_abs => return Reader::Bits,
        Does::ToInt(_) | Does::Compare(_) | Does::Test(_) => (Reader::Float, Some(operation.src)),
        Does::Float(_) | Does::Convert => (reader, Some(operation.src)),
        Does::Product(_, _, types) => match (at, types[(at + 1) % 2]) {
            (0, _) => (reader, Some(operation.src)),
            (_, MatTy::Float(fmt) | MatTy::Packed(fmt)) => (reader, Some(fmt)),
            (_, MatTy::Int { .. }) => (reader, None),
        },
    };
    match made[operand.0 as usize].are(fmt) {
        true => reads,
        false => Reader::Bits,
    }
}

/// What is needed of each term.
fn needs(from: &TermStore, roots: &[(TermId, Reader)], made: &[Floats]) -> Vec<u8> {
    let mut needs = vec![0u8; from.len()];
    let bit = |r: Reader| match r {
        Reader::Float => FLOAT,
        Reader::Bits => BITS,
    };
    for &(t, r) in roots {
        needs[t.0 as usize] |= bit(r);
    }
    // Children are older than their parents.
    for i in (0..needs.len()).rev() {
        let (t, need) = (TermId(i as u32), needs[i]);
        if need == 0 {
            continue;
        }
        match from.get(t) {
            Term::Word(word) => {
                let operation = word.operation(from);
                let is_chain = chained(&operation);
                for (i, c) in word.operands().enumerate() {
                    let step = is_chain && is_same(from, c, &operation);
                    let reads = |reader| bit(reads(&operation, reader, (i, c), made));
                    if need & (FLOAT | STEP) != 0 {
                        needs[c.0 as usize] |= match step {
                            true => STEP,
                            false => reads(Reader::Float),
                        };
                    }
                    if need & BITS != 0 {
                        needs[c.0 as usize] |= reads(Reader::Bits);
                    }
                }
            }
            Term::BitsSelect(p, a, b) if made[i] != Floats::Several => {
                needs[p.0 as usize] |= BITS;
                for c in [a, b] {
                    needs[c.0 as usize] |= need & (FLOAT | BITS);
                }
            }
            _ => {
                if need & FLOAT != 0 {
                    let signed = signed(from, t, made).map(|(_, _, x)| x);
                    for x in upper_half(from, t).into_iter().chain(signed) {
                        needs[x.0 as usize] |= FLOAT;
                    }
                }
                needs[i] |= BITS;
                from.children(t, |c| needs[c.0 as usize] |= BITS);
            }
        }
    }
    needs
}

/// True for a word of the same maximum or minimum.
fn is_same(from: &TermStore, t: TermId, operation: &Operation) -> bool {
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

/// What a maximum or minimum is taken of.
fn leaves(from: &TermStore, root: TermId, operation: &Operation) -> Vec<TermId> {
    let mut seen = rustc_hash::FxHashSet::default();
    let (mut open, mut out) = (vec![root], Vec::new());
    while let Some(t) = open.pop() {
        if !seen.insert(t) {
            continue;
        }
        match from.as_word(t) {
            Some(word) if is_same(from, t, operation) => open.extend(word.operands()),
            _ => out.push(t),
        }
    }
    out
}

/// Who reads an element of an array: of a declared type, or as what was stored.
pub fn reader(declared: Option<crate::spec::ElemTy>, stores: &[(&TermStore, TermId)]) -> Reader {
    let mut all = stores.iter().map(|&(store, t)| made_as(store, t));
    let floats = all.try_fold(Floats::None, |a, b| match a.or(b) {
        Floats::Several => None,
        one => Some(one),
    });
    match (declared, floats) {
        (Some(crate::spec::ElemTy::Int { .. }), _) | (_, None) => Reader::Bits,
        (Some(crate::spec::ElemTy::Float(fmt)), Some(floats)) if floats.are(Some(fmt)) => {
            Reader::Float
        }
        (None, Some(Floats::One(_))) => Reader::Float,
        (Some(crate::spec::ElemTy::Float(_)) | None, Some(_)) => Reader::Bits,
    }
}

/// The format in which a float operation made what a term is, or is chosen from; of several choices that are floats the
/// last one tells, and the others are compared where the choice is rebuilt.
fn made_as(store: &TermStore, mut t: TermId) -> Floats {
    loop {
        match store.get(t) {
            Term::Word(word) => {
                let fmt: Option<Fmt> = word.operation(store).float();
                return fmt.map_or(Floats::None, Floats::One);
            }
            // Children are older than their parents, so that this ends.
            Term::BitsSelect(_, a, b) => {
                t = match store.get(a) {
                    Term::Word(_) | Term::BitsSelect(..) => a,
                    _ => b,
                }
            }
            _ => return Floats::None,
        }
    }
}
