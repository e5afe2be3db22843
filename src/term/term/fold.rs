//! Operations on words whose operands are known: one walk over terms for all that compute words.
//!
//! Problem: the values of terms are found in doubles, in sets, in all cases of a choice, in words with unknown bits; the
//! operations on words are the same in each. So [`TermStore::fold_word`] has them once, and a domain says only which words
//! its operands are. The exact evaluator (`eval.rs`) has its own operations, as it is what these are tested against.
//!
//! Not claimed: anything of reals, where domains share no operation.

use super::bits::{fold_bits, fold_compare, mask};
use super::{Term, TermId, TermStore};

impl Term<'_> {
    /// True for an operation of which [`TermStore::fold_word`] makes a word of those of its operands.
    pub fn is_of_words(self) -> bool {
        match self {
            Term::Bool(_)
            | Term::ICmp(..)
            | Term::Not(_)
            | Term::And(..)
            | Term::Or(..)
            | Term::Xor(..)
            | Term::BitsConst { .. }
            | Term::Concat(_)
            | Term::Extract { .. }
            | Term::BitsOp(..)
            | Term::BitsSum(_)
            | Term::BitsSelect(..)
            | Term::OfBool { .. } => true,
            Term::Const(_)
            | Term::Inf { .. }
            | Term::Undefined
            | Term::Elem { .. }
            | Term::Add(..)
            | Term::Mul(..)
            | Term::Neg(_)
            | Term::Sum(_)
            | Term::Div(..)
            | Term::Fun(..)
            | Term::Max(..)
            | Term::Min(..)
            | Term::Select(..)
            | Term::OfInt { .. }
            | Term::OfBits { .. }
            | Term::Made(_)
            | Term::RCmp(..)
            | Term::Is(..)
            | Term::Overflows(..)
            | Term::Bytes { .. }
            | Term::Fresh { .. }
            | Term::Poison { .. }
            | Term::OfReal { .. }
            | Term::Word(_)
            | Term::Clamp { .. } => false,
        }
    }
}

impl TermStore {
    /// The word of a term, or its truth value as 0 or 1, from those of its operands, which `of` gives by position and
    /// term. `None` for a division by zero, for what is no operation on words, and where an operand that is taken has
    /// none.
    #[inline]
    pub fn fold_word(&self, t: TermId, of: impl Fn(usize, TermId) -> Option<u64>) -> Option<u64> {
        Some(match self.get(t) {
            Term::Bool(b) => b.into(),
            Term::BitsConst { value, .. } => value,
            Term::Not(a) => 1 ^ of(0, a)?,
            Term::And(a, b) => of(0, a)? & of(1, b)?,
            Term::Or(a, b) => of(0, a)? | of(1, b)?,
            Term::Xor(a, b) => of(0, a)? ^ of(1, b)?,
            Term::ICmp(op, a, b) => fold_compare(op, self.width(a), of(0, a)?, of(1, b)?).into(),
            Term::OfBool { p, .. } => of(0, p)?,
            Term::BitsSelect(p, a, b) => match of(0, p)? {
                0 => of(2, b)?,
                _ => of(1, a)?,
            },
            Term::Concat(list) => {
                let (mut word, mut at) = (0, 0);
                for (k, &part) in list.iter().enumerate() {
                    word |= of(k, TermId(part))?.checked_shl(at).unwrap_or(0);
                    at += u32::from(self.width(TermId(part)));
                }
                word
            }
            Term::Extract { bits, low, width } => of(0, bits)? >> low & mask(width),
            Term::BitsOp(op, a, b) => {
                let w = self.width(t);
                fold_bits(op, w, of(0, a)?, of(1, b)?)? & mask(w)
            }
            Term::BitsSum(list) => {
                let (pairs, _) = list.as_chunks::<2>();
                let mut sum = 0u64;
                for (k, &[a, b]) in pairs.iter().enumerate() {
                    let (x, y) = (of(2 * k, TermId(a))?, of(2 * k + 1, TermId(b))?);
                    sum = sum.wrapping_add(x.wrapping_mul(y));
                }
                sum & mask(self.width(t))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Cone, Inputs, Mode, Value};
    use crate::term::{ArrayId, BitsOp, ICmp};
    use proptest::prelude::*;

    /// A random program over words of two arrays, all of one width, and truth values.
    fn program(s: &mut TermStore, width: u8, steps: &[(u8, u8, u8, u8)]) {
        let bytes = [0, 1].map(|a| s.bytes(ArrayId(a), 0, 64));
        let mut words: Vec<TermId> = bytes.map(|t| s.extract(t, 0, width)).into();
        let mut truths = vec![s.bool(true)];
        for &(op, x, y, z) in steps {
            let word = |i: u8| words[usize::from(i) % words.len()];
            let truth = |i: u8| truths[usize::from(i) % truths.len()];
            let (a, b, p, q) = (word(x), word(y), truth(y), truth(z));
            let (at, part) = (z % width, 1 + x % (width - z % width));
            let new = match op {
                0..6 => s.bits_op(BitsOp::ALL[usize::from(z) % BitsOp::ALL.len()], a, b),
                6 => s.select(q, a, b),
                7 => s.of_bool(width, p),
                8 => {
                    let low = s.extract(a, at, part);
                    s.zero_extend(low, width)
                }
                9 => {
                    let (low, high) = (s.extract(a, 0, at + 1), s.extract(b, at, width - at));
                    let both = s.concat(&[low, high]);
                    s.extract(both, 1, width)
                }
                10 => s.bits(width, u64::from(x) << (y % 64)),
                _ => {
                    let order = [ICmp::Eq, ICmp::ULt, ICmp::ULe, ICmp::SLt, ICmp::SLe];
                    truths.push(match z % 6 {
                        0 => s.and(p, truth(x)),
                        1 => s.or(p, truth(x)),
                        2 => s.xor(p, truth(x)),
                        3 => s.not(p),
                        _ => s.icmp(order[usize::from(z) % order.len()], a, b),
                    });
                    continue;
                }
            };
            words.push(new);
        }
    }

    proptest! {
        /// What is folded is what the exact evaluator finds, and a term has a word exactly if it is an operation on words.
        #[test]
        fn words_are_those_of_the_evaluator(
            width in prop_oneof![Just(8u8), Just(32), Just(63), 2u8..32],
            steps in proptest::collection::vec(any::<(u8, u8, u8, u8)>().prop_map(|s| (s.0 % 16, s.1, s.2, s.3)), 1..24),
            arrays: [u64; 2],
        ) {
            let mut s = TermStore::new();
            program(&mut s, width, &steps);
            let all: Vec<TermId> = (0..s.len() as u32).map(TermId).collect();
            let mut inputs = Inputs::default();
            (0..2).for_each(|a| inputs.set(ArrayId(a), 0, 8, arrays[a as usize]));
            let values = Cone::new(&s, &all).evaluate_all(&s, &inputs, Mode::exact(64));
            let word = |t: TermId| match values[t.0 as usize] {
                Value::Bits(v) => Some(v),
                Value::Bool(b) => Some(u64::from(b)),
                _ => None,
            };
            for &t in &all {
                match s.get(t).is_of_words() {
                    true => prop_assert_eq!(s.fold_word(t, |_, c| word(c)), word(t), "{:?}", s.get(t)),
                    false => prop_assert_eq!(s.fold_word(t, |_, c| word(c)), None),
                }
            }
        }
    }
}
