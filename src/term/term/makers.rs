//! By which operation a computed real was made first.
//!
//! The problem: one real has one term, however it was computed, and its encoding differs with that. Code that takes an
//! encoding apart ([`super::loose`]) and puts it together again, as the logarithm of a library does, means a function of
//! the real only if both parts come from one encoding. So the first operation that gives a real is noted, and the number
//! that another one gives remembers how it was made ([`super::made`]): then it has an encoding of its own.
//!
//! Two numbers that do not remember how they were made and are one real come from one operation of the same operands (told by
//! 32 bits of a hash), unless that real is said to be made in several ways, as what atomics sum up in memory is, and what is
//! computed from it. What no float operation gave is put together of fields by integer operations, which round nothing: it
//! was made alike if all below it was.
//!
//! Not claimed: that sums which grow by one addition at a time ([`open`](crate::sim::open)) were made alike. They are taken
//! for that where numbers do not remember.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use super::{Fmt, TermId, TermStore};

/// No float operation is known to have given it.
const UNKNOWN: u32 = 0;
/// It may have been made in several ways, or of a number that was.
const SEVERAL: u32 = 1;
/// The least of all others.
const LEAST: u32 = 2;

/// Terms of one encoding that are looked at.
const LOOKED_AT: usize = 256;

/// By which operation each real was made, by the ids of terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Makers {
    by: Vec<u32>,
    /// True once a real may have been made in several ways.
    several: bool,
}

impl Makers {
    fn of(&self, t: TermId) -> u32 {
        self.by.get(t.0 as usize).copied().unwrap_or(UNKNOWN)
    }

    fn set(&mut self, t: TermId, maker: u32) {
        let at = t.0 as usize;
        if self.by.len() <= at {
            self.by.resize(at + 1, UNKNOWN);
        }
        self.by[at] = maker;
        self.several |= maker == SEVERAL;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by.is_empty()
    }

    /// Takes over what another store knows of a term that was copied. In stores of their own equal reals were made for
    /// different readers.
    pub(super) fn copy(&mut self, from: &Makers, old: TermId, new: TermId) {
        let (theirs, ours) = (from.of(old), self.of(new));
        if theirs != UNKNOWN && ours != SEVERAL && (ours == UNKNOWN || theirs == SEVERAL) {
            self.set(new, theirs);
        }
    }
}

impl TermStore {
    /// Notes that an operation gave the real `t`; false if another one gave it before, so that the number has to remember how
    /// it was made. Operands are the numbers that it takes; `operation` says all else that decides the encoding.
    pub fn note_maker(&mut self, t: TermId, operation: impl Hash, operands: &[TermId]) -> bool {
        let known = self.makers.of(t);
        if known == SEVERAL || !self.is_rounded(Fmt::F64, t) {
            return true;
        }
        if !operands.iter().all(|&o| self.is_made_alike(o)) {
            self.makers.set(t, SEVERAL);
            return true;
        }
        let mut hasher = FxHasher::default();
        (operation, operands).hash(&mut hasher);
        let hash = hasher.finish();
        let maker = ((hash >> 32) as u32 ^ hash as u32).max(LEAST);
        if known == UNKNOWN {
            self.makers.set(t, maker);
        }
        known == UNKNOWN || known == maker
    }

    /// Notes that nobody knows which operations gave the real `t`.
    pub fn note_several_makers(&mut self, t: TermId) {
        if self.makers.of(t) != SEVERAL {
            self.makers.set(t, SEVERAL);
        }
    }

    /// True if whoever reads the encoding of a real reads what one operation gave.
    pub fn is_made_alike(&self, real: TermId) -> bool {
        if !self.makers.several {
            return true;
        }
        let (mut seen, mut open) = (FxHashSet::default(), vec![real]);
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            if seen.len() > LOOKED_AT {
                return false;
            }
            match self.makers.of(t) {
                SEVERAL => return false,
                UNKNOWN if self.as_made(t).is_none() => self.children(t, |c| open.push(c)),
                _ => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::ArrayId;

    #[test]
    fn another_operation_is_told_from_the_first() {
        let mut s = TermStore::new();
        let [a, b, c] = [0, 4, 8].map(|off| s.elem(ArrayId(0), Fmt::F32, off));
        let p = s.mul(a, b);
        let sum = s.add(p, c);
        assert!(s.note_maker(sum, "fma", &[a, b, c]));
        assert!(s.note_maker(sum, "fma", &[a, b, c]));
        assert!(s.is_made_alike(sum));
        // The product is a number of its own now.
        assert!(s.note_maker(p, "mul", &[a, b]));
        assert!(!s.note_maker(sum, "add", &[p, c]));
        assert!(!s.note_maker(sum, "fma", &[b, a, c]));
        // An element is no computed number, whatever gives it.
        assert!(s.note_maker(a, "max", &[a, b]) && s.note_maker(a, "min", &[a, b]));
    }

    #[test]
    fn what_is_made_of_several_is_several() {
        let mut s = TermStore::new();
        let [a, b] = [0, 4].map(|off| s.elem(ArrayId(0), Fmt::F32, off));
        let sum = s.add(a, b);
        s.note_several_makers(sum);
        let product = s.mul(sum, b);
        assert!(s.note_maker(product, "mul", &[sum, b]));
        assert!(!s.is_made_alike(product));
        // What integer operations put together of its bits is, too.
        let bits = s.of_real(Fmt::F32, product);
        let low = s.extract(bits, 0, 23);
        let exponent = s.bits(9, 0x7f);
        let joined = s.concat(&[low, exponent]);
        let fraction = s.of_bits(Fmt::F32, joined);
        assert!(!s.is_made_alike(fraction) && s.is_made_alike(a));
    }

    #[test]
    fn a_copy_keeps_how_a_real_was_made() {
        let mut s = TermStore::new();
        let [a, b] = [0, 4].map(|off| s.elem(ArrayId(0), Fmt::F32, off));
        let [sum, product] = [s.add(a, b), s.mul(a, b)];
        s.note_several_makers(sum);
        assert!(s.note_maker(product, "mul", &[a, b]));
        let mut other = TermStore::new();
        let map = other.import(&s);
        let there = |t: TermId| map[t.0 as usize];
        assert!(!other.is_made_alike(there(sum)) && other.is_made_alike(there(product)));
    }
}
