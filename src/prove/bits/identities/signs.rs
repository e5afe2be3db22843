//! Identities of signs: of signs themselves, through conversions, and written as operations on bits.

use super::{Becomes, KnownBits, negation};
use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, BitsOp, Sort, Term, TermId, TermStore};

/// What was done to the sign bit of a number, and to nothing else of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// Nothing.
    Kept,
    /// It was turned.
    Neg,
    /// It was cleared.
    Abs,
    /// It was set.
    NegAbs,
}

/// The size of a number, without modifiers.
fn size(fmt: Fmt) -> Operation {
    Operation::new(Does::Float(FloatOp::Abs), (fmt, fmt), FloatMods::default())
}

impl KnownBits<'_> {
    /// A number without what was done to its sign.
    pub(super) fn without_signs(&self, fmt: Fmt, t: TermId) -> (Signs, TermId) {
        let (negated, t) = match self.under(t, |o| *o == negation(fmt)) {
            Some(inner) => (true, inner),
            None => (false, t),
        };
        match (negated, self.under(t, |o| *o == size(fmt))) {
            (false, None) => (Signs::Kept, t),
            (true, None) => (Signs::Neg, t),
            (false, Some(inner)) => (Signs::Abs, inner),
            (true, Some(inner)) => (Signs::NegAbs, inner),
        }
    }

    /// The same where some of what was done flushed the number, which then is known.
    pub(super) fn without_flushed_signs(&self, fmt: Fmt, mut t: TermId) -> (Signs, TermId, bool) {
        let (mut done, mut flushes) = (Vec::new(), false);
        // Children are older than their parents, so that this ends.
        while let Some((o, operands)) = self.word(t) {
            let flushed = FloatMods {
                ftz: true,
                ..FloatMods::default()
            };
            let (is_negation, is_size) = match o.does {
                Does::Float(op) => (op == FloatOp::Neg, op == FloatOp::Abs),
                _ => break,
            };
            let is_plain = o.mods == FloatMods::default() || o.mods == flushed;
            if !(is_negation || is_size) || !is_plain || (o.fmt, o.src) != (fmt, fmt) {
                break;
            }
            flushes |= o.mods.ftz;
            done.push(is_negation);
            t = operands[0];
        }
        let signs = done
            .iter()
            .rev()
            .fold(Signs::Kept, |signs, negated| match (negated, signs) {
                (true, Signs::Kept) => Signs::Neg,
                (true, Signs::Neg) => Signs::Kept,
                (true, Signs::Abs) => Signs::NegAbs,
                (true, Signs::NegAbs) | (false, _) => Signs::Abs,
            });
        (signs, t, flushes)
    }

    /// A number with something done to its sign.
    pub(super) fn with_signs(&mut self, fmt: Fmt, signs: Signs, t: TermId) -> TermId {
        let t = match signs {
            Signs::Kept | Signs::Neg => t,
            Signs::Abs | Signs::NegAbs => self.simplest(size(fmt), vec![t]),
        };
        match signs {
            Signs::Kept | Signs::Abs => t,
            Signs::Neg | Signs::NegAbs => self.negated(fmt, t),
        }
    }
}

pub(super) fn signs(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if o.mods != FloatMods::default() || o.src != o.fmt {
        return None;
    }
    match (o.does, operands) {
        (Does::Float(FloatOp::Neg), &[x]) if k.store.as_bits(x).is_some() => {
            Some(Becomes::Term(k.negated(o.fmt, x)))
        }
        (Does::Float(FloatOp::Neg), &[x]) => k.under(x, |i| *i == *o).map(Becomes::Term),
        (Does::Float(FloatOp::Abs), &[x]) => {
            let copied = Operation {
                does: Does::Float(FloatOp::Copysign),
                ..*o
            };
            let inner = match k.word(x) {
                Some((i, of)) if i == copied => *of.get(1)?,
                _ => k.under(x, |i| *i == negation(o.fmt) || *i == *o)?,
            };
            Some(Becomes::Operation(*o, vec![inner]))
        }
        (Does::Float(FloatOp::Copysign), &[sign, x]) => {
            let top = 1 << (o.fmt.bits() - 1);
            if let Some(bits) = k.store.as_bits(sign) {
                let signs = if bits & top == 0 {
                    Signs::Abs
                } else {
                    Signs::NegAbs
                };
                return Some(Becomes::Term(k.with_signs(o.fmt, signs, x)));
            }
            match k.without_signs(o.fmt, x) {
                (Signs::Kept, _) => None,
                (_, inner) => Some(Becomes::Operation(*o, vec![sign, inner])),
            }
        }
        _ => None,
    }
}

pub(super) fn converted(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    let mods = FloatMods {
        rnd: o.mods.rnd,
        ftz: o.mods.ftz,
        ..FloatMods::default()
    };
    let rounds_alike = match o.mods.rnd {
        Rnd::Rn | Rnd::Rz => true,
        Rnd::None | Rnd::Rm | Rnd::Rp => super::formats::widens(o),
        Rnd::Rna | Rnd::Rs | Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi => false,
    };
    if o.mods != mods || !rounds_alike || o.src == o.fmt {
        return None;
    }
    let (signs, inner) = k.without_signs(o.src, x);
    if signs == Signs::Kept {
        return None;
    }
    let t = k.simplest(*o, vec![inner]);
    Some(Becomes::Term(k.with_signs(o.fmt, signs, t)))
}

/// A number whose sign bit alone was changed by operations on bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed {
    /// The number, before that.
    pub of: TermId,
    /// The format in which it is read.
    pub fmt: Fmt,
    /// What was done.
    pub done: Done,
    /// It is a bf16 that was widened to an f32 by sixteen zeros below it.
    pub widened: bool,
}

/// What was done to a sign by operations on bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Done {
    /// The bit was cleared, turned or set.
    Signs(Signs),
    /// It became that of another number.
    Copied(TermId),
    /// It became that of the element of an input that begins at a byte.
    CopiedInput(ArrayId, u64),
}

/// What bits are that somebody reads as a number of a format, if they are another number with another sign or a widened bf16;
/// the operations on bits may have taken the number for one of the formats that a test allows.
pub(crate) fn signed(
    from: &TermStore,
    t: TermId,
    fmt: Fmt,
    may_be: impl Fn(TermId, Fmt) -> bool,
) -> Option<Signed> {
    let Term::Concat(parts) = from.get(t) else {
        return None;
    };
    if from.sort(t) != Sort::Bits(fmt.bits() as u8) {
        return None;
    }
    let (widened, parts) = match *parts {
        [zeros, ref rest @ ..]
            if fmt == Fmt::F32
                && from.as_bits(TermId(zeros)) == Some(0)
                && from.sort(TermId(zeros)) == Sort::Bits(16) =>
        {
            (true, rest)
        }
        _ => (false, parts),
    };
    let own = if widened { Fmt::Bf16 } else { fmt };
    let number = |of, done| Signed {
        of,
        fmt: own,
        done,
        widened,
    };
    let digits = own.bits() as u8 - 1;
    match *parts {
        [high] if widened && may_be(TermId(high), own) => {
            Some(number(TermId(high), Done::Signs(Signs::Kept)))
        }
        [low, top] => {
            let of = match from.get(TermId(low)) {
                Term::Extract {
                    bits,
                    low: 0,
                    width,
                } if width == digits => bits,
                _ => return None,
            };
            if from.sort(of) != Sort::Bits(digits + 1) || !may_be(of, own) {
                return None;
            }
            match done(from, TermId(top), of)? {
                Done::Copied(_) | Done::CopiedInput(..) if widened => None,
                done => Some(number(of, done)),
            }
        }
        _ => None,
    }
}

/// What the sign bit of a number became.
fn done(from: &TermStore, top: TermId, of: TermId) -> Option<Done> {
    match from.as_bits(top) {
        Some(0) => return Some(Done::Signs(Signs::Abs)),
        Some(_) => return Some(Done::Signs(Signs::NegAbs)),
        None => {}
    }
    let Term::BitsOp(BitsOp::Xor, a, b) = from.get(top) else {
        let Term::Extract {
            bits,
            low,
            width: 1,
        } = from.get(top)
        else {
            return None;
        };
        if Sort::Bits(low + 1) != from.sort(bits) {
            return None;
        }
        if from.sort(bits) == from.sort(of) {
            return Some(Done::Copied(bits));
        }
        // Of bytes of memory the bit is read from the last of them.
        let Term::Bytes { array, off, .. } = from.get(bits) else {
            return None;
        };
        let start = (off + u64::from(low / 8 + 1)).checked_sub(u64::from(from.width(of) / 8));
        let first = start.filter(|_| !array.is_place())?;
        return Some(Done::CopiedInput(array, first));
    };
    let sign = match (from.as_bits(a), from.as_bits(b)) {
        (Some(1), _) => b,
        (_, Some(1)) => a,
        _ => return None,
    };
    is_sign(from, sign, of).then_some(Done::Signs(Signs::Neg))
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
