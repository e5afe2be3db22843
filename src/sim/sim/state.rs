//! What a run goes on from: the state of the machine, as a list that forgets nothing.
//!
//! Problem: an induction over the rounds of a loop, and any claim that two runs go on in the same way, stands on what is
//! compared. Each part takes its fields apart by name, so that a field that is added does not compile before somebody
//! says what it is:
//!
//! * **live**: it decides what comes next. Values of registers and of memory are [`Place`]s with what they hold, poison and
//!   the symbols of racing reads included; all else, operations under way among it, is a list of words ([`Recorder`]).
//! * **of terms**: it tells of terms what holds wherever they stand, such as how they were made. It only grows.
//! * **derived**: it can be found again from what is live.
//! * **beside**: nothing that is executed looks at it (counts, messages, what was found), or it numbers what is new.
//!
//! Clocks: ticks are compared with each other and with nothing else, so a list holds the ranks of ticks, of agents and of
//! events, not their numbers, and two rounds that differ in these alone have one state. An access that every thread knows
//! is in no list: nothing can be unordered with it.
//!
//! Not claimed: that states which differ go on in different ways.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::RegId;

use super::Tid;
use super::region::RegionId;

mod again;
#[cfg(test)]
mod tests;

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A register of a thread.
    Register(Tid, RegId),
    /// Four bytes of a region, by their number, and which of them the kernel has written.
    Word(RegionId, u64, u8),
}

/// What a run goes on from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// What registers and memory hold, packed as they hold it.
    pub places: Vec<(Place, u64)>,
    /// All else, part by part.
    pub rest: Vec<(&'static str, Vec<Word>)>,
    /// Actors below this are threads, which keep their numbers.
    pub first_agent: u32,
}

/// A word of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Word {
    /// As it is.
    Number(u64),
    /// One of a kind that is numbered as it comes: which kind, and its rank among those of the state.
    Rank(u8, u64),
}

/// Kinds of things that are numbered as they come.
pub(super) const TICK: u8 = 0;
pub(super) const AGENT: u8 = 1;
pub(super) const EVENT: u8 = 2;

/// Hashes something that is numbered as it comes: a [`Recorder`] tells it from a number by its width.
pub(super) fn numbered<H: Hasher>(kind: u8, number: u32, h: &mut H) {
    h.write_u128(u128::from(kind) << 64 | u128::from(number));
}

/// Writes down what is hashed.
#[derive(Default)]
pub(super) struct Recorder(Vec<Word>);

impl Hasher for Recorder {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.0.push(Word::Number(n));
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_u128(&mut self, n: u128) {
        self.0.push(Word::Rank((n >> 64) as u8, n as u64));
    }

    fn finish(&self) -> u64 {
        self.0.len() as u64
    }
}

impl State {
    /// Adds a part.
    pub(super) fn add(&mut self, name: &'static str, part: &(impl Hash + ?Sized)) {
        let mut recorder = Recorder::default();
        part.hash(&mut recorder);
        self.rest.push((name, recorder.0));
    }

    /// Puts ranks where numbers of things stand that are numbered as they come.
    pub(super) fn ranked(mut self) -> State {
        let first = u64::from(self.first_agent);
        let is_new = |kind: u8, n: u64| kind != AGENT || n >= first;
        let all = self.rest.iter().flat_map(|(_, words)| words);
        let of = |w: &Word| match *w {
            Word::Rank(kind, n) => is_new(kind, n).then_some((kind, n)),
            Word::Number(_) => None,
        };
        let numbers: BTreeSet<(u8, u64)> = all.filter_map(of).collect();
        let ranks: FxHashMap<(u8, u64), u64> = numbers.into_iter().zip(first..).collect();
        for word in self.rest.iter_mut().flat_map(|(_, words)| words) {
            if let Word::Rank(kind, n) = word
                && is_new(*kind, *n)
            {
                *n = ranks[&(*kind, *n)];
            }
        }
        self
    }

    /// The first thing in which two states differ.
    pub(super) fn differs(&self, other: &State) -> Option<String> {
        let mut places = self.places.iter().zip(&other.places);
        if let Some((a, b)) = places.find(|(a, b)| a != b) {
            return Some(format!("{:?} {:#x}, {:?} {:#x}", a.0, a.1, b.0, b.1));
        }
        if self.places.len() != other.places.len() {
            return Some("how many places there are".into());
        }
        let mut parts = self.rest.iter().zip(&other.rest);
        parts.find(|(a, b)| a != b).map(|(a, b)| {
            let at = a.1.iter().zip(&b.1).position(|(x, y)| x != y);
            format!("{} at word {at:?} of {} and {}", a.0, a.1.len(), b.1.len())
        })
    }
}

/// What has no order of its own.
pub(super) trait Unordered {
    /// Hashes what it holds.
    fn unordered<H: Hasher>(&self, h: &mut H);
}

impl<K: Hash, V: Hash> Unordered for FxHashMap<K, V> {
    fn unordered<H: Hasher>(&self, h: &mut H) {
        sorted(self.iter(), h);
    }
}

impl<K: Hash> Unordered for FxHashSet<K> {
    fn unordered<H: Hasher>(&self, h: &mut H) {
        sorted(self.iter(), h);
    }
}

impl<K: Hash> Unordered for IndexSet<K> {
    fn unordered<H: Hasher>(&self, h: &mut H) {
        sorted(self.iter(), h);
    }
}

impl<T: Unordered> Unordered for Option<T> {
    fn unordered<H: Hasher>(&self, h: &mut H) {
        self.is_some().hash(h);
        self.iter().for_each(|t| t.unordered(h));
    }
}

impl<T: Unordered> Unordered for Vec<T> {
    fn unordered<H: Hasher>(&self, h: &mut H) {
        self.len().hash(h);
        self.iter().for_each(|t| t.unordered(h));
    }
}

/// Hashes it as anything else.
pub(super) struct Table<'a, T>(pub &'a T);

impl<T: Unordered> Hash for Table<'_, T> {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.0.unordered(h);
    }
}

/// Hashes things in an order of what they are made of.
fn sorted<T: Hash, H: Hasher>(all: impl Iterator<Item = T>, h: &mut H) {
    let record = |t: T| {
        let mut recorder = Recorder::default();
        t.hash(&mut recorder);
        recorder.0
    };
    let mut rows: Vec<Vec<Word>> = all.map(record).collect();
    rows.sort_unstable();
    h.write_usize(rows.len());
    for word in rows.into_iter().flatten() {
        match word {
            Word::Number(n) => h.write_u64(n),
            Word::Rank(kind, n) => h.write_u128(u128::from(kind) << 64 | u128::from(n)),
        }
    }
}

/// Says of each field of a state type what it is: hashed as it is, a table without an order, or not looked at, and why.
macro_rules! recorded {
    ($type:ident { $($field:ident),* $(,)? }
        $(tables { $($table:ident),* $(,)? })?
        $(beside { $($out:ident: $why:literal),* $(,)? })?) => {
        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
                let $type { $($field,)* $($($table,)*)? $($($out: _,)*)? } = self;
                $($field.hash(h);)*
                $($($crate::sim::state::Unordered::unordered($table, h);)*)?
            }
        }
    };
}

pub(super) use recorded;
