//! Loops, by what one arbitrary iteration does.
//!
//! Problem: a register that a loop writes has a value for each iteration. At the header it is a symbol; reading the body
//! tells what the next iteration begins with. A register that comes back as it was is its value before the loop. One that
//! a fixed step is added to is a counter. A register that is uniform before the loop, and that an iteration of uniform
//! registers leaves uniform, is uniform: assumed first, and the body read again without those for which it fails (the
//! greatest fixed point, as Houdini does: Flanagan, Leino, FME 2001); so is that its low bits are zero. A condition of going on that speaks of the values of
//! the next iteration holds at the header of each but the first, and of all if it holds before the loop.
//!
//! Not claimed: that a loop ends; [`super::proof`] asks that of each.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::addresses::Start;
use super::expr::{Id, Level, Symbol};
use super::limits::MAX_ZEROS;
use super::state::{Counter, Known, Open, Registers, Summary, Walk};
use crate::kernel::RegId;
use crate::work;

impl Walk<'_> {
    /// Opens a loop: each register that it writes becomes a symbol.
    pub(super) fn begin(&mut self, l: usize, before: (Id, Registers)) {
        let first_symbol = self.e.symbols.len();
        let count = self.e.fresh(64, Level::Cta, Some(l));
        let mut open = Open {
            index: l,
            before: before.clone(),
            symbols: Vec::new(),
            count,
            back: Vec::new(),
            exits: Vec::new(),
            marks: self.marks(),
            first_symbol,
        };
        let mut written: Vec<RegId> = Vec::new();
        let it = &self.flow.loops[l];
        for &b in &self.flow.order[it.first..it.end] {
            work::spend(self.blocks.range(b).len() as u64);
            for pc in self.blocks.range(b) {
                self.kernel.insts[pc as usize]
                    .op
                    .defs(&mut |r| written.push(r));
            }
        }
        written.sort_unstable();
        written.dedup();
        for r in written {
            let init = before.1[r.0 as usize];
            let scattered = self.scattered.get(&l).is_some_and(|s| s.contains(&r));
            let place = match scattered {
                true => None,
                false => self.whole(init),
            };
            let from = place.map_or(init, |(_, offset)| offset);
            let raised = self.raised.get(&l).is_some_and(|s| s.contains(&r));
            let level = match raised {
                true => Level::Thread,
                false => self.e.level(from).max(Level::Cta),
            };
            let width = self.e.width(init);
            let loosened = self.loosened.get(&l).and_then(|s| s.get(&r));
            let chosen = self.chosen.get(&l).is_some_and(|s| s.contains(&r));
            let zeros = loosened.copied().unwrap_or(self.e.zeros(from));
            let h = self.e.symbol(Symbol {
                width,
                level,
                of: Some(l),
                range: (0, u64::MAX >> (64 - u32::from(width))),
                // All bits of a zero are zero; a value that differs is met by the iteration that is read.
                zeros: zeros.min(width - 1).min(MAX_ZEROS),
                data: chosen || self.e.is_data(from),
            });
            open.symbols.push((r, h, place.map(|(o, _)| o)));
        }
        self.open.push(open);
    }

    pub(super) fn marks(&self) -> [usize; 8] {
        let o = &self.out;
        [
            o.accesses.len(),
            o.barriers.len(),
            o.ends.len(),
            o.duties.len(),
            o.known.len(),
            o.counters.len(),
            o.waits.len(),
            o.own.len(),
        ]
    }

    /// The condition and registers at the header of the loop that was opened last.
    pub(super) fn header(&mut self, before: (Id, Registers)) -> (Id, Registers) {
        let mut regs = before.1.as_ref().clone();
        work::spend(regs.len() as u64);
        let Some(top) = self.open.last() else {
            return before;
        };
        let l = top.index;
        for (r, h, object) in top.symbols.clone() {
            regs[r.0 as usize] = match object {
                Some(o) => {
                    let base = self.start(o, self.e.width(h));
                    self.e.add(base, h)
                }
                None => h,
            };
        }
        let no = self.e.truth(false);
        for r in self.lost.get(&l).into_iter().flatten() {
            regs[self.kernel.reg_width.len() + r.0 as usize] = no;
        }
        (before.0, Rc::new(regs))
    }

    /// Ends the body of the loop that was opened last; false if it has to be read again.
    pub(super) fn close(&mut self) -> bool {
        let Some(top) = self.open.last() else {
            return true;
        };
        let (l, symbols, back) = (top.index, top.symbols.clone(), top.back.clone());
        let next = self.merged(&back);
        let Some((when, regs)) = next else {
            return self.leave(l, Summary::default());
        };
        // What each symbol is in the next iteration.
        let mut again = false;
        let mut nexts: Vec<(RegId, Id, Id)> = Vec::new();
        for (r, h, object) in symbols {
            let value = regs[r.0 as usize];
            let b = match (object, self.whole(value)) {
                (None, _) => Some(value),
                (Some(o), Some((q, offset))) if o == q => Some(offset),
                (Some(_), _) => None,
            };
            match b {
                Some(b) if self.e.level(b) > self.e.level(h) => {
                    again |= self.raised.entry(l).or_default().insert(r);
                }
                Some(b) if self.e.is_data(b) && !self.e.is_data(h) => {
                    again |= self.chosen.entry(l).or_default().insert(r);
                }
                Some(b) if self.e.zeros(b) < self.e.zeros(h) => {
                    let left = self.e.zeros(b);
                    self.loosened.entry(l).or_default().insert(r, left);
                    again = true;
                }
                Some(b) => nexts.push((r, h, b)),
                None => again |= self.scattered.entry(l).or_default().insert(r),
            }
        }
        if let Some(top) = self.open.pop() {
            again |= self.taken_back(&top, when, &regs);
            self.open.push(top);
        }
        if again {
            self.read_again();
            return false;
        }
        self.conclude(l, when, nexts)
    }

    pub(super) fn read_again(&mut self) {
        let Some(top) = self.open.pop() else { return };
        self.truncate(top.marks);
        let (l, before) = (top.index, top.before);
        self.begin(l, before);
    }

    pub(super) fn truncate(&mut self, marks: [usize; 8]) {
        let o = &mut self.out;
        o.accesses.truncate(marks[0]);
        o.barriers.truncate(marks[1]);
        o.ends.truncate(marks[2]);
        o.duties.truncate(marks[3]);
        o.known.truncate(marks[4]);
        o.counters.truncate(marks[5]);
        o.waits.truncate(marks[6]);
        o.own.truncate(marks[7]);
        // What was asked in the body is asked anew.
        self.needed.clear();
    }

    /// What the iterations have in common, once the levels of the registers are stable.
    pub(super) fn conclude(&mut self, l: usize, when: Id, nexts: Vec<(RegId, Id, Id)>) -> bool {
        let Some(top) = self.open.last() else {
            return true;
        };
        let (count, before, first_symbol) = (top.count, top.before.clone(), top.first_symbol);
        let objects: FxHashMap<RegId, Option<Start>> =
            top.symbols.iter().map(|s| (s.0, s.2)).collect();
        let given = self.e.literals(before.0);
        let goes_on = self
            .e
            .literals(when)
            .into_iter()
            .filter(|c| !given.contains(c));
        let goes_on: Vec<Id> = goes_on.collect();
        let mut relative = self.e.truth(true);
        for &c in &goes_on {
            relative = self.e.and(relative, c);
        }
        let exits: Vec<Id> = top.exits.iter().map(|x| x.1).collect();
        let is_uniform = |w: &Self, id: Id| {
            w.e.literals(id)
                .iter()
                .all(|c| given.contains(c) || w.e.level(*c) <= Level::Cta)
        };
        let mut summary = Summary {
            before: Some(before.0),
            uniform: is_uniform(self, when) && exits.iter().all(|x| is_uniform(self, *x)),
            goes_on: Some(relative),
            ..Summary::default()
        };
        let mut first: FxHashMap<Id, Id> = FxHashMap::default();
        let mut same: FxHashMap<Id, Id> = FxHashMap::default();
        let mut back: FxHashMap<Id, Id> = FxHashMap::default();
        for &(r, h, b) in &nexts {
            let init = before.1[r.0 as usize];
            let init = match objects.get(&r) {
                Some(Some(_)) => self.whole(init).map_or(init, |x| x.1),
                _ => init,
            };
            if b == h {
                same.insert(h, init);
                back.insert(h, h);
                continue;
            }
            first.insert(h, init);
            summary.next.insert(h, b);
            // A condition is no name for what it compares, nor is a constant.
            if self.e.width(b) > 1 && self.e.value(b).is_none() {
                back.entry(b).or_insert(h);
            }
        }
        let zero = self.e.constant(0, 64);
        let one = self.e.constant(1, 64);
        first.insert(count, zero);
        let more = self.e.add(count, one);
        summary.next.insert(count, more);
        self.step_facts(
            l,
            &nexts,
            (&first, first_symbol),
            (before.0, count),
            relative,
        );
        self.header_facts(&goes_on, &back, &first, (before.0, count, first_symbol));
        self.invariants(&nexts, &first, (before.0, first_symbol), relative);
        summary.first = first;
        summary.ends = self.moves_one_way(&nexts, before.0, relative);
        if !same.is_empty() {
            self.replace(&same, &mut summary);
        }
        self.leave(l, summary)
    }

    /// Goes on behind the loop: its symbols have the values of the last iteration there.
    pub(super) fn leave(&mut self, l: usize, mut summary: Summary) -> bool {
        let Some(top) = self.open.pop() else {
            return true;
        };
        summary.before.get_or_insert(top.before.0);
        summary.born = (top.first_symbol as u32..self.e.symbols.len() as u32).collect();
        let parent = self.open.last().map(|o| o.index);
        let mut map: FxHashMap<Id, Id> = FxHashMap::default();
        for &s in &summary.born.clone() {
            let symbol = self.e.symbols[s as usize].clone();
            let old = self.symbol_id(s);
            let level = if summary.uniform {
                symbol.level
            } else {
                Level::Thread
            };
            let new = self.e.symbol(Symbol {
                level,
                of: parent,
                ..symbol
            });
            map.insert(old, new);
        }
        let known: Vec<Known> = self.out.known[top.marks[4]..].to_vec();
        for k in known {
            let both = self.e.rewritten(&[k.premise, k.holds], &mut map);
            self.out.known.push(Known {
                premise: both[0],
                holds: both[1],
            });
        }
        let counters: Vec<Counter> = self.out.counters[top.marks[5]..].to_vec();
        for c in counters {
            let ids = self.e.rewritten(
                &[c.symbol, c.start, c.step, c.count, c.goes_on, c.next],
                &mut map,
            );
            self.out.counters.push(Counter {
                symbol: ids[0],
                start: ids[1],
                step: ids[2],
                count: ids[3],
                of: c.of,
                goes_on: ids[4],
                next: ids[5],
                last: true,
            });
        }
        let exits: Vec<(u32, Id, Registers)> = top
            .exits
            .iter()
            .map(|(b, c, regs)| self.moved(*b, *c, regs, &mut map))
            .collect();
        let ended = self.out.ends.len() > top.marks[2];
        self.out.loops.insert(l, summary);
        let target = exits.first().map(|x| x.0);
        if !ended
            && exits.iter().all(|x| Some(x.0) == target)
            && let Some(target) = target
        {
            // Who comes to a loop with one way out leaves it there.
            let ways: Vec<(Id, Registers)> =
                exits.into_iter().map(|(_, c, regs)| (c, regs)).collect();
            if let Some((when, regs)) = self.merged(&ways) {
                let given = self.e.literals(top.before.0);
                for holds in self.e.literals(when) {
                    if !given.contains(&holds) {
                        self.out.known.push(Known {
                            premise: top.before.0,
                            holds,
                        });
                    }
                }
                self.way(target, top.before.0, regs);
            }
            return true;
        }
        for (target, when, regs) in exits {
            self.way(target, when, regs);
        }
        true
    }
}
