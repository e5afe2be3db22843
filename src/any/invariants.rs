//! What holds of the registers of a loop at every header: counters, shifts, conditions of going on, and candidates that an
//! iteration keeps.

use rustc_hash::FxHashMap;

use super::expr::{Id, Node, Order};
use super::state::{Counter, Known, Walk};
use crate::kernel::RegId;
use crate::term::BitsOp;

const SMALL: [u64; 3] = [1024, 2048, 65_536];

impl Walk<'_> {
    /// Counters, and registers that are shifted.
    pub(super) fn step_facts(
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
    pub(super) fn exponent(
        &mut self,
        op: BitsOp,
        (h, start): (Id, Id),
        by: Id,
        (before, count): (Id, Id),
    ) {
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
    pub(super) fn header_facts(
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
    pub(super) fn mentions_old(
        &mut self,
        c: Id,
        back: &FxHashMap<Id, Id>,
        first_symbol: usize,
    ) -> bool {
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

    /// What holds of a register that is shifted or multiplied at every header: candidates that hold before the loop and
    /// that an iteration keeps (Houdini, with the conditions of going on as premises), and small bounds.
    pub(super) fn invariants(
        &mut self,
        nexts: &[(RegId, Id, Id)],
        first: &FxHashMap<Id, Id>,
        before: Id,
        goes_on: Id,
    ) {
        for &(_, h, b) in nexts {
            let Some(&start) = first.get(&h) else {
                continue;
            };
            let width = self.e.width(h);
            let Node::Word(op, x, _) = *self.e.node(b) else {
                continue;
            };
            let scaled = matches!(
                op,
                BitsOp::Mul | BitsOp::LShr | BitsOp::AShr | BitsOp::UDiv | BitsOp::SDiv
            ) && x == h;
            if width < 32 || !scaled {
                continue;
            }
            let given = self.e.and(before, goes_on);
            for n in 0..3 {
                let (at_first, here, next) = (
                    self.candidate(n, start),
                    self.candidate(n, h),
                    self.candidate(n, b),
                );
                if self.e.value(here) != Some(1) && self.is_implied(before, at_first) {
                    let premise = self.e.and(given, here);
                    if self.is_implied_with(premise, next, before) {
                        self.out.known.push(Known {
                            premise: before,
                            holds: here,
                        });
                    }
                }
            }
        }
        for &(_, h, _) in nexts {
            if self.e.width(h) != 32 {
                continue;
            }
            let Node::Symbol(s) = *self.e.node(h) else {
                continue;
            };
            let mentioned = self
                .out
                .known
                .iter()
                .any(|k| k.premise == before && self.e.symbols_of(&[k.holds]).contains(&s));
            for most in SMALL {
                let limit = self.e.constant(most, 32);
                let above = self.e.compare(Order::Below, limit, h);
                let within = self.e.not(above);
                if mentioned && self.is_implied(before, within) {
                    self.e.symbols[s as usize].range.1 = most;
                    break;
                }
            }
        }
    }

    /// The n-th thing that may hold of a word: it is not zero, a power of two or zero, not negative.
    pub(super) fn candidate(&mut self, n: usize, x: Id) -> Id {
        let w = self.e.width(x);
        let zero = self.e.constant(0, w);
        match n {
            0 => {
                let is = self.e.compare(Order::Equal, x, zero);
                self.e.not(is)
            }
            1 => {
                let ones = self.e.constant(u64::MAX, w);
                let less = self.e.add(x, ones);
                let both = self.e.and(x, less);
                self.e.compare(Order::Equal, both, zero)
            }
            _ => {
                let negative = self.e.compare(Order::Less, x, zero);
                self.e.not(negative)
            }
        }
    }

    /// Whether some register is larger, or smaller, in each iteration that follows: a word cannot be so for ever.
    pub(super) fn moves_one_way(
        &mut self,
        nexts: &[(RegId, Id, Id)],
        before: Id,
        goes_on: Id,
    ) -> bool {
        let given = self.e.and(before, goes_on);
        nexts.iter().any(|&(_, h, b)| {
            if self.e.width(h) < 32 || b == h || !matches!(self.e.node(b), Node::Word(..)) {
                return false;
            }
            let mentions = self.e.symbols_of(&[b]);
            let Node::Symbol(s) = *self.e.node(h) else {
                return false;
            };
            if !mentions.contains(&s) {
                return false;
            }
            [(h, b), (b, h)].into_iter().any(|(x, y)| {
                let less = self.e.compare(Order::Below, x, y);
                self.is_implied_with(given, less, before)
            })
        })
    }
}
