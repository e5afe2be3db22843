//! Is memory that holds nothing at first written before it is read, in every launch?
//!
//! Problem: a read names one place, and the thread that wrote it is another one. Its number is read off the address: where
//! the offset of a write is a constant and digits `k_i * tid_i` with constant strides, the digits of the place that is read
//! are the thread. What is asked is then about one thread alone: where the read is reached, that thread exists, comes to
//! the write, and the write covers the place; or one of several writes does so. Whatever digits were guessed, the cover is
//! asked of the write's own address, so a wrong guess proves nothing. A write counts that stands before the read in the
//! code and in no loop that the read is not in: there are no races here, so that it is ordered, and its barriers come first.
//!
//! A thread's own memory no other one writes; there the thread itself has to. Of an `out:` array the thread that wrote is looked for in the CTA.
//!
//! Not claimed: a write in a loop of its own, or of an iteration before. Then nothing is said, and the report lists it as assumed.

use rustc_hash::FxHashMap;

use super::expr::{Id, Level, Node, Order};
use super::limits::MAX_ACCESSES;
use super::linear::Poly;
use super::prover::Prover;
use super::state::{Accessed, Does, Object};
use crate::term::BitsOp;

impl Prover<'_, '_> {
    /// The memory that begins without contents and of which not every read was shown to find what was written, in words.
    pub(super) fn reads_unwritten(&mut self) -> Vec<&'static str> {
        let mut all = self.w.out.accesses.clone();
        all.extend(self.w.out.own.iter().cloned());
        let kinds = ["shared memory", "its own memory", "an `out:` array"];
        let mut open = kinds.to_vec();
        open.retain(|kind| !self.finds_what_was_written(&all, kind));
        open
    }

    /// What the memory of an object is called that begins without contents.
    fn begins_unset(&self, object: u32) -> Option<&'static str> {
        match self.w.out.objects[object as usize] {
            Object::Shared(_) | Object::Dynamic => Some("shared memory"),
            Object::Local(_) => Some("its own memory"),
            Object::Array(n) => {
                let array = self.subject.arrays.0.get(n as usize);
                let unset = array.is_some_and(|a| a.begins_unset());
                unset.then_some("an `out:` array")
            }
            Object::Constant(_) | Object::Param(_) => None,
        }
    }

    fn finds_what_was_written(&mut self, all: &[Accessed], kind: &str) -> bool {
        let is_own = |a: &&Accessed| self.begins_unset(a.object) == Some(kind);
        let own: Vec<&Accessed> = all.iter().filter(is_own).collect();
        if own.len() > MAX_ACCESSES {
            return false;
        }
        let mut done: Vec<(u32, Id, Id, u32)> = Vec::new();
        own.iter().all(|read| {
            let reads = match read.does {
                Does::Reads | Does::Updates(..) => true,
                Does::Writes => false,
            };
            let key = (read.object, read.guard, read.offset, read.bytes);
            if !reads || done.contains(&key) {
                return true;
            }
            let before = |w: &&&Accessed| {
                w.does == Does::Writes
                    && w.object == read.object
                    && w.at < read.at
                    && w.bytes >= read.bytes
                    && read.loops.starts_with(&w.loops)
            };
            let private = self.w.out.objects[read.object as usize].is_private();
            let mut covered = self.w.e.truth(false);
            for w in own.iter().filter(before) {
                let own = self.covers(w, read, (w.offset, w.guard));
                covered = self.w.e.or(covered, own);
                if !private && let Some(other) = self.by_digits(w, read) {
                    covered = self.w.e.or(covered, other);
                }
            }
            let not = self.w.e.not(covered);
            done.push(key);
            let Err(model) = self.never_or_small(&[read.guard, not]) else {
                return true;
            };
            if let Some(model) = model {
                self.try_launch(&model);
            }
            false
        })
    }

    /// Whether a write at an offset, under a guard, covers what is read.
    fn covers(&mut self, w: &Accessed, read: &Accessed, (offset, guard): (Id, Id)) -> Id {
        let width = self.w.e.width(read.offset);
        let offset = self.w.e.resize(offset, width, false);
        let way = self.w.e.minus(read.offset, offset);
        let room = self.w.e.constant(u64::from(w.bytes - read.bytes), width);
        let beyond = self.w.e.compare(Order::Below, room, way);
        let inside = self.w.e.not(beyond);
        self.w.e.and(guard, inside)
    }

    /// The same for the thread whose digits the place has.
    fn by_digits(&mut self, w: &Accessed, read: &Accessed) -> Option<Id> {
        let sizes = self.w.sizes;
        let place = |id: Id| sizes.tid.iter().position(|t| *t == id);
        for s in self.w.e.symbols_of(&[w.offset, w.guard]) {
            if self.w.e.symbols[s as usize].level == Level::Thread {
                place(self.w.symbol_id(s))?;
            }
        }
        let mut conditions = vec![w.guard];
        conditions.extend(self.implications(&[w.guard, w.offset]));
        let sum = self.integers(&conditions).reading(w.offset, false);
        let (mut digits, mut rest): (Vec<(i128, usize)>, Poly) = (Vec::new(), sum.clone());
        for (m, k) in &sum.terms {
            match m[..] {
                [(id, _)] if place(id).is_some() && *k > 0 => {
                    digits.push((*k, place(id)?));
                    rest.terms.remove(m);
                }
                _ if m.iter().any(|a| place(a.0).is_some()) => return None,
                _ => {}
            }
        }
        digits.sort_unstable_by(|a, b| b.cmp(a));
        let start = super::radix::word(&rest, &mut self.w.e);
        let at = self.w.e.resize(read.offset, 64, false);
        let mut left = self.w.e.minus(at, start);
        let mut map: FxHashMap<Id, Id> = FxHashMap::default();
        let mut exists = self.w.e.truth(true);
        for (k, i) in digits {
            let k = self.w.e.constant(u64::try_from(k).ok()?, 64);
            let digit = self.w.e.word(BitsOp::UDiv, left, k);
            left = self.w.e.word(BitsOp::URem, left, k);
            let digit = self.w.e.resize(digit, 32, false);
            let below = self.w.e.compare(Order::Below, digit, sizes.ntid[i]);
            exists = self.w.e.and(exists, below);
            map.insert(sizes.tid[i], digit);
        }
        // A component that the address does not name is free; the first thread of it stands for all.
        for t in sizes.tid {
            if matches!(self.w.e.node(t), Node::Symbol(_)) && !map.contains_key(&t) {
                let zero = self.w.e.constant(0, 32);
                map.insert(t, zero);
            }
        }
        let there = self.w.e.substitute(&[w.offset, w.guard], &map);
        let covered = self.covers(w, read, (there[0], there[1]));
        Some(self.w.e.and(exists, covered))
    }
}
