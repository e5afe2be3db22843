//! Words that two threads never have in common, beside those that their addresses say by themselves.
//!
//! Problem: gates take a product of sizes for any word, so that `ctaid * ntid + tid` of two threads may be one number for
//! them, and the number that an atomic gives back may be any number. Two lemmas are added to a question that gates alone
//! left open, each of them shown first.
//!
//! A number of a thread in the grid is a sum with a product of two sizes in it. Where the two threads' numbers are shown
//! to differ over the integers, under the conditions of the question itself, that they differ is one condition more: then
//! what is made of them by bits (a partner `i ^ j`, a shift, a mask) is a question of gates.
//!
//! A ticket is what `atom.add` of a constant c gives back. Draws from one counter are in one order and each adds c, so that
//! two of N draws are k * c apart with 0 < k < N, which modulo 2^width is at least c in both directions while N * c <= 2^width,
//! c taken as the smaller of the step and its negative. That is used of a counter that nothing but draws updates, all of the same constant and at the same place, each outside of loops, so that N
//! is at most the threads of the grid times the draws in the code; plain writes may stand before all of them, outside of loops:
//! a draw of another thread is then after them or in a race with them, which is asked by itself. Where a thread does not
//! draw, its ticket is read by nothing, and any word may stand for it.

use rustc_hash::FxHashSet;

use super::expr::{Exprs, Id, Level, Node, Order, operands};
use super::gates::{Holds, together};
use super::limits::{MAX_GRID_THREADS, MAX_NUMBERS};
use super::prover::Prover;
use super::radix::{self, Meeting};
use super::state::{Does, Ticket};
use super::threads::Relation;
use crate::term::BitsOp;

impl Exprs {
    /// Sums below some words with a product of two unknown words as a summand, the outermost of each.
    pub(super) fn numbers(&self, roots: &[Id]) -> Vec<Id> {
        let mut out = Vec::new();
        let (mut stack, mut seen) = (roots.to_vec(), FxHashSet::default());
        while let Some(id) = stack.pop() {
            if !seen.insert(id) || self.level(id) == Level::Grid {
                continue;
            }
            if self.is_number(id) {
                out.push(id);
                continue;
            }
            operands(self.node(id), |o| stack.push(o));
        }
        out.sort_unstable();
        out.truncate(MAX_NUMBERS);
        out
    }

    fn is_number(&self, id: Id) -> bool {
        let Node::Word(BitsOp::Add, a, b) = *self.node(id) else {
            return false;
        };
        let mut stack = vec![a, b];
        while let Some(id) = stack.pop() {
            match *self.node(id) {
                Node::Word(BitsOp::Add, a, b) => stack.extend([a, b]),
                Node::Word(BitsOp::Mul, _, b) if self.value(b).is_none() => return true,
                _ => {}
            }
        }
        false
    }
}

impl Prover<'_, '_> {
    /// Tickets below some words that are apart for any two threads, in groups of one counter each with the way between them.
    pub(super) fn tickets(&self, roots: &[Id], relation: &Relation) -> Vec<(Vec<Id>, u64)> {
        let symbols = self.w.e.symbols_of(roots);
        let named = |t: &&Ticket| match self.w.e.node(t.symbol) {
            Node::Symbol(s) => symbols.binary_search(s).is_ok(),
            _ => false,
        };
        let mut out: Vec<(Vec<Id>, u64)> = Vec::new();
        for t in self.w.out.tickets.iter().filter(named) {
            if let Some(group) = self.differ(t, relation)
                && !out.contains(&group)
            {
                out.push(group);
            }
        }
        out
    }

    /// All tickets of a counter, if they differ between any two threads so related.
    fn differ(&self, t: &Ticket, relation: &Relation) -> Option<(Vec<Id>, u64)> {
        let all = &self.w.out.accesses;
        let draw = all.iter().find(|a| a.at == t.at)?;
        let level = match relation {
            Relation::Between => Level::Grid,
            Relation::Within(_) | Relation::Next(_) => Level::Cta,
        };
        if self.w.e.level(draw.offset) > level {
            return None;
        }
        let mut group: Vec<Id> = Vec::new();
        let first = |a: usize| self.w.out.tickets.iter().find(|t| t.at == a);
        for a in all.iter().filter(|a| a.object == draw.object) {
            match a.does {
                Does::Reads => {}
                Does::Writes => {
                    let later = |t: &Ticket| a.at < t.at;
                    let mut draws = self.w.out.tickets.iter().filter(|t| {
                        let of = all.iter().find(|a| a.at == t.at);
                        of.is_some_and(|x| x.object == draw.object)
                    });
                    if !a.loops.is_empty() || !draws.all(later) {
                        return None;
                    }
                }
                Does::Updates(_) => {
                    let own = first(a.at)?;
                    if !a.loops.is_empty() || a.offset != draw.offset || own.step != t.step {
                        return None;
                    }
                    group.push(own.symbol);
                }
            }
        }
        let width = u32::from(self.w.e.width(t.symbol));
        let draws = self.threads() * group.len() as u128;
        let way = u128::from(t.step).min((1 << width) - u128::from(t.step));
        let apart = draws * way <= 1 << width;
        apart.then_some((group, u64::try_from(way).ok()?))
    }

    /// The most threads of a launch.
    fn threads(&self) -> u128 {
        let s = self.w.sizes;
        let sizes = s.ntid.iter().chain(&s.nctaid);
        let all = sizes.map(|n| self.w.e.value(*n)).try_fold(1u128, |all, n| {
            all.checked_mul(u128::from(n?))
                .filter(|n| *n <= u128::from(MAX_GRID_THREADS))
        });
        all.unwrap_or(u128::from(MAX_GRID_THREADS))
    }

    /// That a ticket of the first thread and one of the second are some way apart, in both directions.
    pub(super) fn apart(&mut self, (x, y): (Id, Id), way: u64) -> [Id; 2] {
        let width = self.w.e.width(x);
        let way = self.w.e.constant(way, width);
        [(x, y), (y, x)].map(|(from, to)| {
            let between = self.w.e.minus(to, from);
            let near = self.w.e.compare(Order::Below, between, way);
            self.w.e.not(near)
        })
    }

    /// The conditions with those under which two ranges of bytes meet, over the integers: where they do, so do their digits.
    pub(super) fn digits_meet(
        &mut self,
        mut conditions: Vec<Id>,
        (x, y): ((Id, u32), (Id, u32)),
        sign: bool,
    ) -> Vec<Id> {
        let mut integers = self.integers(&conditions);
        let meeting = Meeting {
            a: integers.reading(x.0, sign),
            b: integers.reading(y.0, sign),
            widths: (i128::from(x.1), i128::from(y.1)),
        };
        let parts = radix::apart(meeting, &mut integers);
        conditions.extend(&self.w.plain);
        for part in &parts {
            conditions.push(radix::condition(part, &mut self.w.e));
        }
        conditions
    }

    /// That words of the first thread and of the second differ, where that is shown over the integers under conditions.
    pub(super) fn numbers_differ(&mut self, pairs: &[(Id, Id)], conditions: &[Id]) -> Vec<Id> {
        let mut out = Vec::new();
        for &(x, y) in pairs {
            let shown = [false, true].into_iter().any(|sign| {
                let all = self.digits_meet(conditions.to_vec(), ((x, 1), (y, 1)), sign);
                matches!(
                    together(&self.w.e, &all, false, self.subject.limits),
                    Holds::Never
                )
            });
            if shown {
                out.push(self.unequal(x, y));
            }
        }
        out
    }

    /// That two words differ.
    pub(super) fn unequal(&mut self, x: Id, y: Id) -> Id {
        let same = self.w.e.compare(Order::Equal, x, y);
        self.w.e.not(same)
    }

    /// That functions give equal results for equal operands, of all pairs of one function below two words.
    pub(super) fn congruent(&mut self, (x, y): (Id, Id)) -> Vec<Id> {
        let (left, right) = (self.functions(x), self.functions(y));
        let mut out = Vec::new();
        for &f in left.iter().take(MAX_NUMBERS) {
            for &g in right.iter().take(MAX_NUMBERS) {
                let (Node::Function(a, xs), Node::Function(b, ys)) =
                    (self.w.e.node(f).clone(), self.w.e.node(g).clone())
                else {
                    continue;
                };
                if a != b || xs.len() != ys.len() || self.w.e.width(f) != self.w.e.width(g) {
                    continue;
                }
                let mut either = self.w.e.compare(Order::Equal, f, g);
                for (x, y) in xs.iter().zip(&ys) {
                    let not = self.unequal(*x, *y);
                    either = self.w.e.or(either, not);
                }
                out.push(either);
            }
        }
        out
    }

    fn functions(&self, root: Id) -> Vec<Id> {
        let (mut stack, mut seen, mut out) = (vec![root], FxHashSet::default(), Vec::new());
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            if matches!(self.w.e.node(id), Node::Function(..)) {
                out.push(id);
            }
            operands(self.w.e.node(id), |o| stack.push(o));
        }
        out.sort_unstable();
        out
    }
}
