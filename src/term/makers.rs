//! How often a computed real was made.
//!
//! The problem: one real has one term, however it was computed, and its encoding differs with that. Code that takes an
//! encoding apart ([`super::loose`]) and puts it together again, as the logarithm of a library does, means a function of
//! the real only if both parts come from one encoding. Where numbers do not remember how they were made, this list tells
//! reals that always were made alike.
//!
//! Sound: a real that float operations gave was made alike if all of them were the same operation of the same operands, and
//! each of these operands was made alike. Sums in memory, of matrices and of many numbers are none of these. What no float
//! operation gave is put together of fields by integer operations, which round nothing: it was made alike if all below it
//! was. Numbers that remember how they were made ([`super::made`]) are told apart by that.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use super::{TermId, TermStore};

/// No float operation is known to have given it.
const UNKNOWN: u32 = 0;
/// It was made in several ways, or of a number that was.
const SEVERAL: u32 = 1;
/// The least of all others.
const LEAST: u32 = 2;

/// Terms of one encoding that are looked at.
const LOOKED_AT: usize = 256;

/// By which operation each real was made, by the ids of terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Makers(Vec<u32>);

impl Makers {
    fn of(&self, t: TermId) -> u32 {
        self.0.get(t.0 as usize).copied().unwrap_or(UNKNOWN)
    }

    fn set(&mut self, t: TermId, maker: u32) {
        let at = t.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, UNKNOWN);
        }
        self.0[at] = maker;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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
    /// Notes that an operation gave the real `t`. Operands are the reals that it takes, in an order that two operations with
    /// one result share; `operation` says all else that decides the encoding.
    pub fn note_maker(&mut self, t: TermId, operation: impl Hash, operands: &[TermId]) {
        let mut hasher = FxHasher::default();
        (operation, operands).hash(&mut hasher);
        let hash = hasher.finish();
        let maker = ((hash >> 32) as u32 ^ hash as u32).max(LEAST);
        let known = self.makers.of(t);
        let alike =
            (known == UNKNOWN || known == maker) && operands.iter().all(|&o| self.is_made_alike(o));
        let maker = if alike { maker } else { SEVERAL };
        if maker != known {
            self.makers.set(t, maker);
        }
    }

    /// Notes that nobody knows which operations gave the real `t`.
    pub fn note_several_makers(&mut self, t: TermId) {
        if self.makers.of(t) != SEVERAL {
            self.makers.set(t, SEVERAL);
        }
    }

    /// True if whoever reads the encoding of a real reads what one operation gave.
    pub fn is_made_alike(&self, real: TermId) -> bool {
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
