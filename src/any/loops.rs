//! Loops, by what one arbitrary iteration does.
//!
//! Problem: a register that a loop writes has a value for each iteration. At the header it is a symbol; reading the body
//! tells what the next iteration begins with. A register that comes back as it was is its value before the loop. One that
//! a fixed step is added to is a counter. A register that is uniform before the loop, and that an iteration of uniform
//! registers leaves uniform, is uniform: assumed first, and the body read again without those for which it fails (the
//! greatest fixed point, as Houdini does: Flanagan, Leino, FME 2001). A condition of going on that speaks of the values of
//! the next iteration holds at the header of each but the first, and of all if it holds before the loop.
//!
//! Not claimed: that a loop ends; [`super::proof`] asks that of each.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::expr::{Id, Level, Node, Order, Symbol};
use super::walk::{Known, Open, Registers, Walk};
use crate::kernel::{RegId, operands};
use crate::term::BitsOp;

/// A symbol that counts: `start + count * step` modulo its width, the step the same in all iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub symbol: Id,
    pub start: Id,
    pub step: Id,
    pub count: Id,
    pub of: usize,
    /// The condition of going on, and the value that the next iteration then begins with.
    pub goes_on: Id,
    pub next: Id,
    /// Whether this is its value in the last iteration.
    pub last: bool,
}

/// A loop that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// The condition of coming to it.
    pub before: Option<Id>,
    /// Its header's symbols, with what they are in the first and in the next iteration.
    pub first: FxHashMap<Id, Id>,
    pub next: FxHashMap<Id, Id>,
    /// Symbols that have a value in each iteration, headers' and others.
    pub born: Vec<u32>,
    /// The condition of going on, relative to coming to the loop.
    pub goes_on: Option<Id>,
    /// All threads that are in it go through the same number of iterations.
    pub uniform: bool,
    /// A register that shifts towards zero, not zero at any header, ends it.
    pub shrinks: bool,
}

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
            for pc in self.blocks.range(b) {
                operands::defs(&self.kernel.insts[pc as usize].op, |r| written.push(r));
            }
        }
        written.sort_unstable();
        written.dedup();
        for r in written {
            let init = before.1[r.0 as usize];
            let scattered = self.scattered.get(&l).is_some_and(|s| s.contains(&r));
            let object = match scattered {
                true => None,
                false => self.resolve(init),
            };
            let from = object.map_or(init, |(_, offset)| offset);
            let raised = self.raised.get(&l).is_some_and(|s| s.contains(&r));
            let level = match raised {
                true => Level::Thread,
                false => self.e.level(from).max(Level::Cta),
            };
            let width = self.e.width(init);
            let h = self.e.fresh(width, level, Some(l));
            open.symbols.push((r, h, object.map(|(o, _)| o)));
        }
        self.open.push(open);
    }

    fn marks(&self) -> [usize; 6] {
        let o = &self.out;
        [
            o.accesses.len(),
            o.barriers.len(),
            o.ends.len(),
            o.duties.len(),
            o.known.len(),
            o.counters.len(),
        ]
    }

    /// The condition and registers at the header of the loop that was opened last.
    pub(super) fn header(&mut self, before: (Id, Registers)) -> (Id, Registers) {
        let mut regs = before.1.as_ref().clone();
        let Some(top) = self.open.last() else {
            return before;
        };
        for (r, h, object) in top.symbols.clone() {
            regs[r.0 as usize] = match object {
                Some(o) => {
                    let base = self.e.base(o, self.e.width(h));
                    self.e.add(base, h)
                }
                None => h,
            };
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
            let b = match (object, self.resolve(value)) {
                (None, _) => Some(value),
                (Some(o), Some((q, offset))) if o == q => Some(offset),
                (Some(_), _) => None,
            };
            match b {
                Some(b) if self.e.level(b) <= self.e.level(h) => nexts.push((r, h, b)),
                Some(_) => again |= self.raised.entry(l).or_default().insert(r),
                None => again |= self.scattered.entry(l).or_default().insert(r),
            }
        }
        if again {
            self.read_again();
            return false;
        }
        self.conclude(l, when, nexts)
    }

    fn read_again(&mut self) {
        let Some(top) = self.open.pop() else { return };
        self.truncate(top.marks);
        let (l, before) = (top.index, top.before);
        self.begin(l, before);
    }

    fn truncate(&mut self, marks: [usize; 6]) {
        let o = &mut self.out;
        o.accesses.truncate(marks[0]);
        o.barriers.truncate(marks[1]);
        o.ends.truncate(marks[2]);
        o.duties.truncate(marks[3]);
        o.known.truncate(marks[4]);
        o.counters.truncate(marks[5]);
    }

    /// What the iterations have in common, once the levels of the registers are stable.
    fn conclude(&mut self, l: usize, when: Id, nexts: Vec<(RegId, Id, Id)>) -> bool {
        let Some(top) = self.open.last() else {
            return true;
        };
        let (count, before, first_symbol) = (top.count, top.before.clone(), top.first_symbol);
        let objects: FxHashMap<RegId, Option<u32>> =
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
                Some(Some(_)) => self.resolve(init).map_or(init, |x| x.1),
                _ => init,
            };
            if b == h {
                same.insert(h, init);
                continue;
            }
            first.insert(h, init);
            summary.next.insert(h, b);
            back.entry(b).or_insert(h);
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
        summary.first = first;
        summary.shrinks = self.shrinks(&nexts, &summary);
        if !same.is_empty() {
            self.replace(&same, &mut summary);
        }
        self.leave(l, summary)
    }

    /// Counters, and registers that are shifted.
    fn step_facts(
        &mut self,
        l: usize,
        nexts: &[(RegId, Id, Id)],
        (first, first_symbol): (&FxHashMap<Id, Id>, usize),
        (before, count): (Id, Id),
        goes_on: Id,
    ) {
        for &(_, h, b) in nexts {
            let Some(&start) = first.get(&h) else {
                continue;
            };
            let width = self.e.width(h);
            match *self.e.node(b) {
                Node::Word(BitsOp::Add, x, y) if x == h || y == h => {
                    let step = if x == h { y } else { x };
                    let inner = self
                        .e
                        .symbols_of(&[step])
                        .iter()
                        .any(|s| *s as usize >= first_symbol);
                    if inner || width < 32 {
                        continue;
                    }
                    self.out.counters.push(Counter {
                        symbol: h,
                        start,
                        step,
                        count,
                        of: l,
                        goes_on,
                        next: b,
                        last: false,
                    });
                    if self.e.value(step).is_some() {
                        let times = self.e.resize(count, width, false);
                        let way = self.e.word(BitsOp::Mul, times, step);
                        let sum = self.e.add(start, way);
                        let holds = self.e.compare(Order::Equal, h, sum);
                        self.out.known.push(Known {
                            premise: before,
                            holds,
                        });
                    }
                }
                Node::Word(BitsOp::LShr, x, c) if x == h && self.e.value(c).is_some() => {
                    let above = self.e.compare(Order::Below, start, h);
                    let holds = self.e.not(above);
                    self.out.known.push(Known {
                        premise: before,
                        holds,
                    });
                    self.exponent(BitsOp::LShr, (h, start), c, (before, count));
                }
                Node::Word(BitsOp::Mul, x, c) if x == h => {
                    let Some(factor) = self.e.value(c).filter(|v| v.is_power_of_two()) else {
                        continue;
                    };
                    let by = self.e.constant(u64::from(factor.trailing_zeros()), width);
                    self.exponent(BitsOp::Shl, (h, start), by, (before, count));
                }
                _ => {}
            }
        }
    }

    /// A register that is shifted by a constant is its start, shifted by a multiple; the amount saturates, and counts are
    /// compared as 64-bit words, which no loop that ends wraps.
    fn exponent(&mut self, op: BitsOp, (h, start): (Id, Id), by: Id, (before, count): (Id, Id)) {
        let width = self.e.width(h);
        let by = self.e.value(by).unwrap_or(1);
        // Counts above the width all leave nothing.
        let most = self.e.constant(u64::from(width), 64);
        let small = self.e.compare(Order::Below, count, most);
        let few = self.e.choose(small, count, most);
        let few = self.e.resize(few, width, false);
        let factor = self.e.constant(by, width);
        let amount = self.e.word(BitsOp::Mul, few, factor);
        let value = self.e.word(op, start, amount);
        let holds = self.e.compare(Order::Equal, h, value);
        self.out.known.push(Known {
            premise: before,
            holds,
        });
    }

    /// Conditions of going on that speak of the header's symbols alone once the next values are named by them.
    fn header_facts(
        &mut self,
        goes_on: &[Id],
        back: &FxHashMap<Id, Id>,
        first: &FxHashMap<Id, Id>,
        (before, count, first_symbol): (Id, Id, usize),
    ) {
        let given = self.e.literals(before);
        let zero = self.e.constant(0, 64);
        for &c in goes_on {
            let at_header = self.e.substitute(&[c], back)[0];
            let headers: Vec<u32> = self
                .e
                .symbols_of(&first.keys().copied().collect::<Vec<_>>());
            let inner = self.e.symbols_of(&[at_header]);
            // A header's symbol that stayed may be of this iteration, not of the next.
            let stayed = back.values().copied().collect::<Vec<_>>();
            let replaced = self.e.symbols_of(&stayed);
            let open = |s: &u32| {
                (*s as usize) >= first_symbol && !(headers.contains(s) && replaced.contains(s))
            };
            if inner.iter().any(open) || self.mentions_old(c, back, first_symbol) {
                continue;
            }
            let at_first = self.e.substitute(&[at_header], first)[0];
            let always = self.e.value(at_first) == Some(1)
                || self.e.literals(at_first).iter().all(|x| given.contains(x))
                || self.is_implied(before, at_first);
            let holds = match always {
                true => at_header,
                false => {
                    let begins = self.e.compare(Order::Equal, count, zero);
                    self.e.or(begins, at_header)
                }
            };
            self.out.known.push(Known {
                premise: before,
                holds,
            });
        }
    }

    /// Whether a condition still speaks of this iteration once the next values are put aside.
    fn mentions_old(&mut self, c: Id, back: &FxHashMap<Id, Id>, first_symbol: usize) -> bool {
        let blank: FxHashMap<Id, Id> = back
            .keys()
            .map(|b| {
                let w = self.e.width(*b);
                (*b, self.e.constant(1, w))
            })
            .collect();
        // Constants in the place of the next values may fold the rest away, never bring a symbol in; so symbols are
        // looked for on the way, without rewriting.
        let mut stack = vec![c];
        while let Some(id) = stack.pop() {
            if blank.contains_key(&id) {
                continue;
            }
            if let Node::Symbol(s) = self.e.node(id)
                && *s as usize >= first_symbol
            {
                return true;
            }
            let node = self.e.node(id).clone();
            super::expr::operands(&node, |o| stack.push(o));
        }
        false
    }

    /// Whether a shifted register that is not zero at any header bounds the iterations.
    fn shrinks(&mut self, nexts: &[(RegId, Id, Id)], summary: &Summary) -> bool {
        nexts.iter().any(|&(_, h, b)| {
            let shifted = match *self.e.node(b) {
                Node::Word(BitsOp::LShr, x, c) => x == h && self.e.value(c).is_some_and(|c| c > 0),
                _ => false,
            };
            if !shifted {
                return false;
            }
            // Going on needs the next value not to be zero.
            let w = self.e.width(b);
            let zero = self.e.constant(0, w);
            let at_zero: FxHashMap<Id, Id> = [(b, zero)].into_iter().collect();
            let Some(on) = summary.goes_on else {
                return false;
            };
            let on = self.e.substitute(&[on], &at_zero)[0];
            self.e
                .literals(on)
                .iter()
                .any(|c| self.e.value(*c) == Some(0))
        })
    }

    /// Puts values in the place of symbols in all that the loop recorded.
    fn replace(&mut self, map: &FxHashMap<Id, Id>, summary: &mut Summary) {
        let Some(top) = self.open.last() else { return };
        let (marks, l) = (top.marks, top.index);
        self.rewrite(marks, map);
        for list in [&mut summary.first, &mut summary.next] {
            let keys: Vec<Id> = list.keys().copied().collect();
            let values: Vec<Id> = keys.iter().map(|k| list[k]).collect();
            let values = self.e.substitute(&values, map);
            *list = keys.into_iter().zip(values).collect();
        }
        if let Some(on) = summary.goes_on {
            summary.goes_on = Some(self.e.substitute(&[on], map)[0]);
        }
        let inner: Vec<usize> = self.inner(l);
        for i in inner {
            if let Some(mut s) = self.out.loops.remove(&i) {
                for list in [&mut s.first, &mut s.next] {
                    let keys: Vec<Id> = list.keys().copied().collect();
                    let values: Vec<Id> = keys.iter().map(|k| list[k]).collect();
                    let values = self.e.substitute(&values, map);
                    *list = keys.into_iter().zip(values).collect();
                }
                for slot in [&mut s.goes_on, &mut s.before] {
                    if let Some(id) = *slot {
                        *slot = Some(self.e.substitute(&[id], map)[0]);
                    }
                }
                self.out.loops.insert(i, s);
            }
        }
        let exits: Vec<(u32, Id, Registers)> = self
            .open
            .last()
            .map(|t| t.exits.clone())
            .unwrap_or_default();
        let exits = exits
            .into_iter()
            .map(|(b, c, regs)| self.moved(b, c, &regs, map))
            .collect();
        if let Some(top) = self.open.last_mut() {
            top.exits = exits;
        }
    }

    fn moved(
        &mut self,
        b: u32,
        c: Id,
        regs: &Registers,
        map: &FxHashMap<Id, Id>,
    ) -> (u32, Id, Registers) {
        let mut all = regs.as_ref().clone();
        all.push(c);
        let mut all = self.e.substitute(&all, map);
        let c = all.pop().unwrap_or(c);
        (b, c, Rc::new(all))
    }

    fn rewrite(&mut self, marks: [usize; 6], map: &FxHashMap<Id, Id>) {
        let e = &mut self.e;
        let o = &mut self.out;
        let mut one = |id: &mut Id| *id = e.substitute(&[*id], map)[0];
        for a in &mut o.accesses[marks[0]..] {
            one(&mut a.offset);
            one(&mut a.guard);
            if let Some(v) = &mut a.value {
                one(v);
            }
        }
        o.barriers[marks[1]..]
            .iter_mut()
            .for_each(|b| one(&mut b.guard));
        o.ends[marks[2]..]
            .iter_mut()
            .for_each(|b| one(&mut b.guard));
        for d in &mut o.duties[marks[3]..] {
            one(&mut d.guard);
            one(&mut d.holds);
        }
        for k in &mut o.known[marks[4]..] {
            one(&mut k.premise);
            one(&mut k.holds);
        }
        for c in &mut o.counters[marks[5]..] {
            for id in [&mut c.start, &mut c.step, &mut c.goes_on, &mut c.next] {
                one(id);
            }
        }
    }

    /// The loops inside of one.
    pub(super) fn inner(&self, l: usize) -> Vec<usize> {
        let it = &self.flow.loops[l];
        let inside = |i: &usize| {
            *i != l && self.flow.loops[*i].first >= it.first && self.flow.loops[*i].end <= it.end
        };
        (0..self.flow.loops.len()).filter(inside).collect()
    }

    /// Goes on behind the loop: its symbols have the values of the last iteration there.
    fn leave(&mut self, l: usize, mut summary: Summary) -> bool {
        let Some(top) = self.open.pop() else {
            return true;
        };
        summary.before.get_or_insert(top.before.0);
        summary.born = (top.first_symbol as u32..self.e.symbols.len() as u32).collect();
        let parent = self.open.last().map(|o| o.index);
        let mut map: FxHashMap<Id, Id> = FxHashMap::default();
        for &s in &summary.born.clone() {
            let Symbol {
                width,
                level,
                range,
                ..
            } = self.e.symbols[s as usize].clone();
            let old = self.symbol_id(s);
            let level = if summary.uniform {
                level
            } else {
                Level::Thread
            };
            let new = self.e.symbol(Symbol {
                width,
                level,
                of: parent,
                range,
            });
            map.insert(old, new);
        }
        let known: Vec<Known> = self.out.known[top.marks[4]..].to_vec();
        for k in known {
            let both = self.e.substitute(&[k.premise, k.holds], &map);
            self.out.known.push(Known {
                premise: both[0],
                holds: both[1],
            });
        }
        let counters: Vec<Counter> = self.out.counters[top.marks[5]..].to_vec();
        for c in counters {
            let ids = self.e.substitute(
                &[c.symbol, c.start, c.step, c.count, c.goes_on, c.next],
                &map,
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
            .map(|(b, c, regs)| self.moved(*b, *c, regs, &map))
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

    /// The node of a symbol.
    pub(super) fn symbol_id(&mut self, s: u32) -> Id {
        self.e.symbol_node(s)
    }
}
