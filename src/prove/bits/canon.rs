//! Words of two runs in one store, up to the identities that keep every bit.
//!
//! Problem: equal words are the same operations in the same order, and some different ones have the same bits too
//! ([`super::identities`]). Both runs are rebuilt in one store, where what an identity makes equal has one id.
//!
//! The identities hold up to the bits of a NaN, which no manual gives. So a term has several images: what
//! a reader of floats of a format sees (an operand of float arithmetic, of a comparison or a conversion, an element of a
//! float array), where any NaN is any other, and what a reader of bits sees, which is the operation as it was written
//! with operands as they were written, or the number that floats are for their readers where that is no NaN for any input. A comparison and a conversion to an integer have no NaN, so that both
//! images of them are of what readers of floats see.
//!
//! A NaN of one format may be a number of another, so that who reads a float in another format than it was made in reads bits.
//! Operations on bits that are one on numbers (a sign, a widened bf16, a choice by masks) are read as that ([`super::reading`]).
//!
//! Maxima and minima are rebuilt where something else reads them: as a set of what they are taken of.
//!
//! Not claimed: anything of terms over the reals, which no run by words leaves.

use super::joined::{Made, Settled};
use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use rustc_hash::FxHashMap;

use crate::term::rebuild::copy;
use crate::term::word::{Does, Operation};
use crate::term::{Sort, Term, TermId, TermStore};

use super::identities::signs::{Done, Signed, Signs};
use super::identities::{BitForm, Identities, chained};
use super::reading::{Floats, choice, is_same, made, needs, number, reads};

pub use super::reading::{Reader, reader};

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
    /// Numbers as who reads bits sees them, and as who reads floats of their format does.
    floats: FxHashMap<TermId, TermId>,
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
    of: Vec<[TermId; 3]>,
    /// What may be joined with a sum.
    free: Vec<bool>,
    /// The formats in which floats were made.
    made: Vec<Floats>,
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
            of: vec![[NONE; 3]; from.len()],
            free: free(from),
            made,
        };
        for (i, &need) in needs.iter().enumerate() {
            let t = TermId(i as u32);
            let mut readers = Reader::ALL;
            if !readers.iter().any(|r| need & r.mark() != 0) {
                continue;
            }
            self.has_reals |= from.sort(t) == Sort::Real;
            // Readers of floats see bits as they are, and readers of bits see numbers that are no NaN.
            if from.as_word(t).is_some() {
                readers.reverse();
            }
            for reader in readers {
                if need & reader.mark() != 0 {
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
            *t = images.get(*t, Reader::of(sum.fmt));
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
        any && free.all(|&c| match images.get(c, Reader::of(fmt)) {
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
                    reader != Reader::Bits && self.joins_exactly(operation.fmt, &operands, images);
                if settled == Some(Made::Apart) || is_exact {
                    operation.place = 0;
                }
                if settled == Some(Made::Joined)
                    && reader != Reader::Bits
                    && let Some(t) = self.fused(from, t, images)
                {
                    return t;
                }
                let may_join = operation.place != 0;
                let made = |c: TermId| images.made[c.0 as usize];
                if may_join && self.contracts_alike {
                    operation.place = ALIKE;
                }
                self.has_places |= may_join && !self.contracts_alike;
                let operands: Vec<TermId> = match (reader, chained(&operation)) {
                    (Reader::Float | Reader::Bf16, true) => leaves(from, t, &operation)
                        .into_iter()
                        .map(|c| images.get(c, reads(&operation, reader, (0, c), made)))
                        .collect(),
                    _ => {
                        let image = |(i, c): (usize, TermId)| {
                            let reads = reads(&operation, reader, (i, c), made);
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
                if let (Reader::Bits, Some(fmt)) = (reader, operation.float()) {
                    let number = images.get(t, Reader::of(fmt));
                    if self.is_never_nan(fmt, number) {
                        return self.identities.sign_bits(&mut self.store, fmt, number);
                    }
                    self.reads_payload = true;
                    let bits = self.store.word(operation, &operands);
                    self.floats.insert(bits, number);
                    return bits;
                }
                self.identities
                    .simplest(&mut self.store, operation, operands)
            }
            _ => match choice(from, t).filter(|_| images.made[t.0 as usize] != Floats::Several) {
                Some((p, sides)) => {
                    if !matches!(from.get(t), Term::BitsSelect(..)) {
                        self.identities.note(BitForm::Masks);
                    }
                    let p = images.get(p, Reader::Bits);
                    let sides = sides.map(|c| images.get(c, reader));
                    match reader {
                        Reader::Bits => self.store.select(p, sides[0], sides[1]),
                        Reader::Float | Reader::Bf16 => {
                            self.identities.chosen(&mut self.store, p, sides)
                        }
                    }
                }
                None => match number(from, t, reader, &images.made) {
                    Some(signed) => self.signed(&signed, images),
                    None if reader != Reader::Bits => {
                        let bits = images.get(t, Reader::Bits);
                        self.read(bits, reader)
                    }
                    None => copy(from, t, &mut self.store, |c| images.get(c, Reader::Bits)),
                },
            },
        }
    }

    /// Bits as a reader of floats sees them: the number that they are, and one NaN for any.
    fn read(&mut self, bits: TermId, reader: Reader) -> TermId {
        let Some(fmt) = reader.format(self.store.width(bits)) else {
            return bits;
        };
        let made = self.store.as_word(bits);
        let made = made.and_then(|w| w.operation(&self.store).float());
        match self.floats.get(&bits) {
            Some(&number) if made.is_some_and(|f| Floats::One(f).are(Some(fmt))) => number,
            _ => Identities::known(&mut self.store, fmt, bits),
        }
    }

    /// True for a number that is no NaN, where something is known of the inputs.
    fn is_never_nan(&mut self, fmt: Fmt, t: TermId) -> bool {
        !self.identities.finite.is_empty() && self.identities.is_never_nan(&mut self.store, fmt, t)
    }

    /// What operations on bits made of a number.
    fn signed(&mut self, signed: &Signed, images: &Images) -> TermId {
        let mut fmt = signed.fmt;
        let mut t = images.get(signed.of, Reader::of(fmt));
        let plain = FloatMods::default();
        let (identities, store) = (&mut self.identities, &mut self.store);
        if signed.widened {
            let widening = Operation::new(Does::Convert, (Fmt::F32, fmt), plain);
            t = identities.simplest(store, widening, vec![t]);
            fmt = Fmt::F32;
            identities.note(BitForm::Widened);
        }
        let copied = |sign| {
            (
                Operation::new(Does::Float(FloatOp::Copysign), (fmt, fmt), plain),
                sign,
            )
        };
        let (operation, sign) = match signed.done {
            Done::Signs(Signs::Kept) => return t,
            Done::Signs(signs) => {
                identities.note(BitForm::Sign);
                return identities.with_signs(store, fmt, signs, t);
            }
            Done::Copied(of) => copied(images.get(of, Reader::Bits)),
            Done::CopiedInput(array, off) => copied(store.bytes(array, off, fmt.bits() as u8)),
        };
        identities.note(BitForm::Sign);
        identities.simplest(store, operation, vec![sign, t])
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
