//! Integers that depend on data: bits in two's complement with the range of what they denote.
//!
//! A kernel computes integers in registers of 32 and 64 bits, and so does this: in 32 where the range of the result
//! fits, so that equal computations are equal terms, else in 64. Beyond that an integer is a real. Ranges are those
//! of the element types and grow with each operation; no result wraps.

use rustc_hash::FxHashMap;

use super::ast::Cmp;
use super::integer::Op;
use crate::term::{BitsOp, ICmp, Term, TermId, TermStore, sext};

/// Choices of a word that is widened.
const MOST_CHOICES: usize = 1 << 14;

/// An integer in 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub bits: TermId,
    pub width: u8,
    /// The least and the largest value.
    pub lo: i128,
    pub hi: i128,
}

/// The width of the registers that hold a range.
fn width(lo: i128, hi: i128) -> Option<u8> {
    let fits = |least: i128, most: i128| least <= lo && hi <= most;
    match () {
        () if fits(i32::MIN.into(), i32::MAX.into()) => Some(32),
        () if fits(i64::MIN.into(), i64::MAX.into()) => Some(64),
        () => None,
    }
}

impl Word {
    /// An element of a type; `None` for unsigned integers of 64 bits.
    pub(super) fn element(s: &mut TermStore, bits: TermId, of: u8, signed: bool) -> Option<Word> {
        let (lo, hi) = super::range(of, signed);
        let width = width(lo, hi)?;
        let bits = match signed {
            true => s.sign_extend(bits, width),
            false => s.zero_extend(bits, width),
        };
        Some(Word {
            bits,
            width,
            lo,
            hi,
        })
    }

    /// The same where more is known of its range.
    pub(super) fn within(self, lo: i128, hi: i128) -> Word {
        let (lo, hi) = (self.lo.max(lo), self.hi.min(hi));
        match lo <= hi {
            true => Word { lo, hi, ..self },
            false => self,
        }
    }

    /// A known integer.
    pub(super) fn known(s: &mut TermStore, v: i64) -> Word {
        let (lo, hi) = (v.into(), v.into());
        let width = width(lo, hi).unwrap_or(64);
        Word {
            bits: s.bits(width, v as u64),
            width,
            lo,
            hi,
        }
    }

    /// The real that it is.
    pub(super) fn real(self, s: &mut TermStore) -> TermId {
        s.of_int(true, self.bits)
    }

    /// Its bits in more of them.
    pub(super) fn widened(self, s: &mut TermStore, width: u8) -> TermId {
        widened_choice(s, self.bits, width).unwrap_or_else(|| s.sign_extend(self.bits, width))
    }

    /// The same in as few bits as its range needs.
    fn narrowed(self, s: &mut TermStore) -> Word {
        match width(self.lo, self.hi) {
            Some(width) if width < self.width => Word {
                bits: s.extract(self.bits, 0, width),
                width,
                ..self
            },
            _ => self,
        }
    }

    /// The result of an operation; `None` where 64 bits may not hold it, or for a division by what may not be
    /// positive.
    pub(super) fn combine(s: &mut TermStore, a: Word, b: Word, op: Op) -> Option<Word> {
        let corners = |f: fn(i128, i128) -> i128| {
            let all = [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)];
            let lo = all.iter().copied().min().unwrap_or(0);
            (lo, all.into_iter().max().unwrap_or(0))
        };
        let (lo, hi) = match op {
            Op::Add => (a.lo + b.lo, a.hi + b.hi),
            Op::Sub => (a.lo - b.hi, a.hi - b.lo),
            Op::Mul => corners(|x, y| x * y),
            Op::Max => (a.lo.max(b.lo), a.hi.max(b.hi)),
            Op::Min => (a.lo.min(b.lo), a.hi.min(b.hi)),
            Op::Div | Op::Rem if b.lo <= 0 => return None,
            Op::Div => corners(|x, y| x.div_euclid(y)),
            Op::Rem => (0, b.hi - 1),
        };
        let width = width(lo, hi)?.max(a.width).max(b.width);
        let (x, y) = (a.widened(s, width), b.widened(s, width));
        let bits = match op {
            Op::Add => s.bits_op(BitsOp::Add, x, y),
            Op::Sub => {
                let minus = s.bits(width, u64::MAX);
                let y = s.bits_op(BitsOp::Mul, y, minus);
                s.bits_op(BitsOp::Add, x, y)
            }
            Op::Mul => s.bits_op(BitsOp::Mul, x, y),
            Op::Max | Op::Min => {
                let p = s.icmp(ICmp::SLt, x, y);
                match op {
                    Op::Max => s.select(p, y, x),
                    _ => s.select(p, x, y),
                }
            }
            Op::Div | Op::Rem => divided(s, (x, y), (a, b), op, width),
        };
        let out = Word {
            bits,
            width,
            lo,
            hi,
        };
        Some(out.narrowed(s))
    }

    /// One of two, by a condition.
    pub(super) fn select(s: &mut TermStore, p: TermId, a: Word, b: Word) -> Word {
        let width = a.width.max(b.width);
        let (x, y) = (a.widened(s, width), b.widened(s, width));
        Word {
            bits: s.select(p, x, y),
            width,
            lo: a.lo.min(b.lo),
            hi: a.hi.max(b.hi),
        }
    }

    /// Whether a comparison holds.
    pub(super) fn compare(s: &mut TermStore, a: Word, b: Word, sign: Cmp) -> TermId {
        let width = a.width.max(b.width);
        let (x, y) = (a.widened(s, width), b.widened(s, width));
        match sign {
            Cmp::Eq => s.icmp(ICmp::Eq, x, y),
            Cmp::Ne => {
                let p = s.icmp(ICmp::Eq, x, y);
                s.not(p)
            }
            Cmp::Lt => s.icmp(ICmp::SLt, x, y),
            Cmp::Le => s.icmp(ICmp::SLe, x, y),
            Cmp::Gt => s.icmp(ICmp::SLt, y, x),
            Cmp::Ge => s.icmp(ICmp::SLe, y, x),
        }
    }

    /// The bits of an integer type, with the nearest value of the type where it is beyond; true if it may be.
    pub(super) fn stored(self, s: &mut TermStore, of: u8, signed: bool) -> (TermId, bool) {
        let (lo, hi) = super::range(of, signed);
        if lo <= self.lo && self.hi <= hi {
            return (self.widened(s, of), false);
        }
        let real = self.real(s);
        (s.clamp(of, signed, real), true)
    }
}

/// A choice among known integers in more bits.
///
/// match the sign extension of `p ? a : b`, a and b known or such choices / result `p ? a' : b'`, each known integer
/// extended / because an extension of a choice is the choice of the extensions. `None` for other words: it would be
/// done for each that is chosen among.
fn widened_choice(s: &mut TermStore, bits: TermId, width: u8) -> Option<TermId> {
    let from = s.width(bits);
    if from >= width || !matches!(s.get(bits), Term::BitsSelect(..)) {
        return None;
    }
    let below = s.met(&[bits], MOST_CHOICES, |t, open| match s.get(t) {
        Term::BitsSelect(_, a, b) => {
            open.extend([a, b]);
            true
        }
        Term::BitsConst { .. } => true,
        _ => false,
    })?;
    let mut wide: FxHashMap<TermId, TermId> = FxHashMap::default();
    for t in below {
        let image = match s.get(t) {
            Term::BitsConst { value, .. } => s.bits(width, sext(value, from) as u64),
            Term::BitsSelect(p, a, b) => s.select(p, *wide.get(&a)?, *wide.get(&b)?),
            _ => return None,
        };
        wide.insert(t, image);
    }
    wide.get(&bits).copied()
}

/// A quotient or a remainder, rounded down, by a positive denominator.
fn divided(
    s: &mut TermStore,
    (x, y): (TermId, TermId),
    (a, b): (Word, Word),
    op: Op,
    width: u8,
) -> TermId {
    let power = (b.lo == b.hi)
        .then_some(b.lo as u64)
        .filter(|v| v.is_power_of_two());
    if let Some(v) = power {
        return match op {
            Op::Div => {
                let shift = s.bits(width, v.trailing_zeros().into());
                s.bits_op(BitsOp::AShr, x, shift)
            }
            _ => {
                let mask = s.bits(width, v - 1);
                s.bits_op(BitsOp::And, x, mask)
            }
        };
    }
    if a.lo >= 0 {
        let op = if op == Op::Div {
            BitsOp::UDiv
        } else {
            BitsOp::URem
        };
        return s.bits_op(op, x, y);
    }
    let (r, zero) = (s.bits_op(BitsOp::SRem, x, y), s.bits(width, 0));
    let below = s.icmp(ICmp::SLt, r, zero);
    match op {
        Op::Div => {
            let q = s.bits_op(BitsOp::SDiv, x, y);
            let minus = s.bits(width, u64::MAX);
            let less = s.bits_op(BitsOp::Add, q, minus);
            s.select(below, less, q)
        }
        _ => {
            let more = s.bits_op(BitsOp::Add, r, y);
            s.select(below, more, r)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::term::ArrayId;
    use crate::term::eval::{Inputs, Mode, evaluate};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        /// A choice that is widened inside is its sign extension, and a choice among other words is left alone.
        #[test]
        fn a_widened_choice_is_the_extension(
            known in proptest::collection::vec(any::<i32>(), 3),
            steps in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u16>()), 1..8),
            inputs in proptest::collection::vec(proptest::array::uniform3(any::<u16>()), 8),
        ) {
            let mut s = TermStore::new();
            let asked: Vec<TermId> = (0..3).map(|i| s.bytes(ArrayId(0), 2 * i, 16)).collect();
            let mut words: Vec<TermId> = known.iter().map(|&v| s.bits(32, v as u32 as u64)).collect();
            for &(q, a, b, c) in &steps {
                let k = s.bits(16, c.into());
                let p = s.icmp(ICmp::ULt, asked[q as usize % 3], k);
                let [a, b] = [a, b].map(|i| words[i as usize % words.len()]);
                words.push(s.select(p, a, b));
            }
            let last = words[words.len() - 1];
            let (plain, wide) = (s.sign_extend(last, 64), widened_choice(&mut s, last, 64));
            prop_assert_eq!(wide.is_some(), matches!(s.get(last), Term::BitsSelect(..)));
            let open = s.bytes(ArrayId(1), 0, 32);
            let p = s.icmp(ICmp::ULt, asked[0], asked[1]);
            let mixed = s.select(p, open, last);
            prop_assert_eq!(widened_choice(&mut s, mixed, 64), None);
            let Some(wide) = wide else { return Ok(()) };
            prop_assert_eq!(widened_choice(&mut s, wide, 64), None);
            for x in inputs {
                let mut at = Inputs::default();
                for (i, v) in x.iter().enumerate() {
                    at.set(ArrayId(0), 2 * i as u64, 2, u64::from(*v));
                }
                let found = evaluate(&s, &[plain, wide], &at, Mode::exact(64));
                prop_assert_eq!(&found[0], &found[1]);
            }
        }
    }
}
