//! One pass over the code for an arbitrary thread: its accesses and barriers, each with the condition under which the
//! thread comes there.
//!
//! Source: "A lock-step semantics for GPU kernels" (ESOP 2013) for predication. A block is read once, under the
//! disjunction of the ways to it; where ways meet, a register is a choice. A loop is read for one arbitrary iteration: the
//! registers that it writes are symbols at its header, what an iteration leaves in them is compared with them
//! ([`super::loops`]). Everything that a thread does is recorded, or named in `unknown`.

use std::rc::Rc;

use super::expr::{Exprs, Id, Level, Node};
use super::limits::{MAX_ACCESSES, MAX_ROUNDS};
use super::state::{Ended, Registers, Walk};
use crate::answer::UnknownKind;
use crate::kernel::structured::NONE;
use crate::kernel::{Op, Pc};
use crate::work;

impl Walk<'_> {
    /// Reads all of the code.
    pub(super) fn run(&mut self) {
        let zeros: Vec<Id> = self
            .kernel
            .reg_width
            .clone()
            .iter()
            .map(|w| self.e.fresh(*w, Level::Thread, None))
            .collect();
        // Behind the registers stand the conditions that each was written.
        let (truth, no) = (self.e.truth(true), self.e.truth(false));
        let mut regs = zeros;
        regs.resize(2 * regs.len(), no);
        self.incoming.insert(0, vec![(truth, Rc::new(regs))]);
        let mut i = 0;
        loop {
            while let Some(top) = self.open.last()
                && self.flow.loops[top.index].end == i
            {
                let first = self.flow.loops[top.index].first;
                self.rounds += 1;
                if !self.close() {
                    if self.rounds > MAX_ROUNDS * (1 + self.flow.loops.len()) * 4 {
                        self.gap(
                            UnknownKind::Limit,
                            Pc(0),
                            "the loops of the kernel are too many to be read",
                        );
                        return;
                    }
                    i = first;
                    break;
                }
            }
            let Some(&b) = self.flow.order.get(i) else {
                return;
            };
            if self.e.full || self.out.accesses.len() > MAX_ACCESSES {
                self.gap(
                    UnknownKind::Limit,
                    Pc(0),
                    "the kernel is too large for a proof about every launch",
                );
                return;
            }
            let state = self.entered(b);
            if let Some((path, regs)) = state {
                self.block(b, path, regs);
            }
            i += 1;
        }
    }

    /// The condition and registers at the start of a block.
    pub(super) fn entered(&mut self, b: u32) -> Option<(Id, Registers)> {
        let header = self.flow.loop_of[b as usize].filter(|&l| self.flow.loops[l].header == b);
        let Some(l) = header else {
            let ways = self.incoming.remove(&b)?;
            return self.merged(&ways);
        };
        let before = match self.open.last() {
            // The body is read again.
            Some(top) if top.index == l => top.before.clone(),
            _ => {
                let ways = self.incoming.remove(&b)?;
                self.merged(&ways)?
            }
        };
        if self.open.last().is_none_or(|top| top.index != l) {
            self.begin(l, before.clone());
        }
        Some(self.header(before))
    }

    /// Several ways as one: the disjunction of their conditions, and choices among their registers.
    pub(super) fn merged(&mut self, ways: &[(Id, Registers)]) -> Option<(Id, Registers)> {
        let no = self.e.truth(false);
        let ways: Vec<&(Id, Registers)> = ways.iter().filter(|w| w.0 != no).collect();
        let (last, rest) = ways.split_last()?;
        if rest.is_empty() {
            return Some((last.0, last.1.clone()));
        }
        let path = self.any_of(ways.iter().map(|w| w.0).collect());
        let given = self.e.literals(path);
        let mut regs = last.1.as_ref().clone();
        for way in rest.iter().rev() {
            work::spend(regs.len() as u64);
            let mut when = self.e.truth(true);
            for l in self.e.literals(way.0) {
                if !given.contains(&l) {
                    when = self.e.and(when, l);
                }
            }
            for (r, slot) in regs.iter_mut().enumerate() {
                let v = way.1[r];
                if v != *slot {
                    *slot = self.e.choose(when, v, *slot);
                }
            }
        }
        Some((path, Rc::new(regs)))
    }

    /// The disjunction of conditions, of which those that are each other's rest come together first.
    pub(super) fn any_of(&mut self, mut list: Vec<Id>) -> Id {
        list.sort_unstable();
        list.dedup();
        'again: loop {
            for i in 0..list.len() {
                for j in i + 1..list.len() {
                    work::spend(1);
                    let before = self.e.len();
                    let or = self.e.or(list[i], list[j]);
                    let literals = |e: &Exprs, id| e.literals(id).len();
                    if literals(&self.e, or) > 1
                        || self.e.len() == before
                        || matches!(self.e.node(or), Node::Const(_) | Node::Compare(..))
                        || or == list[i]
                        || or == list[j]
                    {
                        list.remove(j);
                        list[i] = or;
                        continue 'again;
                    }
                }
            }
            break;
        }
        // A common part stands outside, so that ways that differ in their ends alone meet.
        let mut common: Option<Vec<Id>> = None;
        for &id in &list {
            let l = self.e.literals(id);
            common = Some(match common {
                None => l,
                Some(c) => c.into_iter().filter(|x| l.contains(x)).collect(),
            });
        }
        let common = common.unwrap_or_default();
        let mut any = self.e.truth(false);
        for id in list {
            let mut rest = self.e.truth(true);
            for l in self.e.literals(id) {
                if !common.contains(&l) {
                    rest = self.e.and(rest, l);
                }
            }
            any = self.e.or(any, rest);
        }
        for c in common {
            any = self.e.and(any, c);
        }
        any
    }

    /// A way to a block: into it, round a loop, or out of one.
    pub(super) fn way(&mut self, target: u32, when: Id, regs: Registers) {
        if self.e.value(when) == Some(0) {
            return;
        }
        match self.open.last_mut() {
            Some(top) if self.flow.loops[top.index].header == target => top.back.push((when, regs)),
            Some(top) if !self.flow.inside(top.index, target) => {
                top.exits.push((target, when, regs))
            }
            _ => self.incoming.entry(target).or_default().push((when, regs)),
        }
    }

    pub(super) fn block(&mut self, b: u32, mut path: Id, regs: Registers) {
        let mut regs = regs.as_ref().clone();
        for pc in self.blocks.range(b) {
            let inst = &self.kernel.insts[pc as usize];
            let pc = Pc(pc);
            let taken = match inst.guard {
                None => self.e.truth(true),
                Some(g) => {
                    self.needs(pc, path, self.given(&regs, g.reg));
                    let v = regs[g.reg.0 as usize];
                    if g.negated { self.e.complement(v) } else { v }
                }
            };
            let when = self.e.and(path, taken);
            let given = self.operands_given(pc, &inst.op, when, &regs);
            let not = self.e.complement(taken);
            match &inst.op {
                Op::Bra { target, .. } => {
                    let to = self
                        .blocks
                        .block_of
                        .get(target.0 as usize)
                        .copied()
                        .unwrap_or(NONE);
                    work::spend(regs.len() as u64);
                    self.way(to, when, Rc::new(regs.clone()));
                    path = self.e.and(path, not);
                }
                Op::Brx { table, index, .. } => {
                    let index = self.reader(&regs, |r| r.src(*index, 32));
                    let targets = self
                        .kernel
                        .tables
                        .get(*table as usize)
                        .cloned()
                        .unwrap_or_default();
                    let count = self.e.constant(targets.len() as u64, 32);
                    let inside = self.e.compare(super::expr::Order::Below, index, count);
                    let what = "the index of a branch may lie outside of its table";
                    self.duty(pc, when, inside, what);
                    work::spend(regs.len() as u64);
                    let here = Rc::new(regs.clone());
                    for (i, target) in targets.iter().enumerate() {
                        let n = self.e.constant(i as u64, 32);
                        let is = self.e.compare(super::expr::Order::Equal, index, n);
                        let to = self
                            .blocks
                            .block_of
                            .get(target.0 as usize)
                            .copied()
                            .unwrap_or(NONE);
                        let when = self.e.and(when, is);
                        self.way(to, when, here.clone());
                    }
                    path = self.e.and(path, not);
                }
                Op::Exit => {
                    let loops = self.around();
                    self.out.ends.push(Ended { guard: when, loops });
                    path = self.e.and(path, not);
                }
                op => {
                    let new = self.execute(pc, op, when, &regs);
                    for (r, v) in new {
                        let slot = &mut regs[r.0 as usize];
                        *slot = self.e.choose(taken, v, *slot);
                        let slot = &mut regs[self.kernel.reg_width.len() + r.0 as usize];
                        *slot = self.e.choose(taken, given, *slot);
                    }
                }
            }
            if self.e.value(path) == Some(0) {
                return;
            }
        }
        let next = b + 1;
        if (next as usize) < self.blocks.len() {
            self.way(next, path, Rc::new(regs));
        }
    }
}
