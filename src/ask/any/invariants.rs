//! What holds of the registers of a loop at every header: counters, shifts, conditions of going on, and candidates that an
//! iteration keeps.

use rustc_hash::FxHashMap;

use super::expr::{Id, Node, Order};
use super::state::{Counter, Known, Walk};
use crate::kernel::RegId;
use crate::term::BitsOp;

const SMALL: [u64; 3] = [1024, 2048, 65_536];

/// Claims of all registers of one loop.
const MAX_CLAIMS: usize = 32;

/// Something that may hold of a register at every header.
#[derive(Clone, Copy, Debug)]
enum Claim {
    NotZero,
    PowerOfTwo,
    NotNegative,
    /// Unsigned.
    AtMost(u64),
    /// On the way to a bound, up or down, signed or not.
    Before(Id, bool, bool),
    /// The way to a bound has none of these low bits.
    Whole(Id, u64),
}

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

    /// What holds of registers at every header: claims that hold before the loop and that an iteration keeps, all of them
    /// together as premises (Houdini), and small bounds.
    pub(super) fn invariants(
        &mut self,
        nexts: &[(RegId, Id, Id)],
        first: &FxHashMap<Id, Id>,
        (before, first_symbol): (Id, usize),
        goes_on: Id,
    ) {
        let mut kept = Vec::new();
        for &(_, h, b) in nexts {
            let Some(&start) = first.get(&h) else {
                continue;
            };
            for claim in self.claims((h, b), goes_on, first_symbol) {
                let (at_first, here) = (self.says(claim, start), self.says(claim, h));
                let new = self.e.value(here) != Some(1) && kept.len() < MAX_CLAIMS;
                if new && self.is_implied(before, at_first) {
                    kept.push((here, self.says(claim, b)));
                }
            }
        }
        let given = self.e.and(before, goes_on);
        loop {
            let mut premise = given;
            for &(here, _) in &kept {
                premise = self.e.and(premise, here);
            }
            let count = kept.len();
            kept.retain(|&(_, next)| self.is_implied_with(premise, next, before));
            if kept.len() == count {
                break;
            }
        }
        for (holds, _) in kept {
            self.out.known.push(Known {
                premise: before,
                holds,
            });
        }
        self.small_bounds(nexts, before);
    }

    /// Registers of which what is known bounds them by a block, or by a little more.
    fn small_bounds(&mut self, nexts: &[(RegId, Id, Id)], before: Id) {
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

    /// Claims about a register at the header, by what an iteration makes of it: of one that is scaled its sign, that it is
    /// not zero, and that it is a power of two; of one that counts up to a bound it must not pass, that it is before the
    /// bound and whole steps from it; of any other, that it stays within the constants that it is made of.
    fn claims(&mut self, (h, b): (Id, Id), goes_on: Id, first_symbol: usize) -> Vec<Claim> {
        let width = self.e.width(h);
        if width < 32 {
            return Vec::new();
        }
        match *self.e.node(b) {
            Node::Word(
                BitsOp::Mul | BitsOp::LShr | BitsOp::AShr | BitsOp::UDiv | BitsOp::SDiv,
                x,
                _,
            ) if x == h => vec![Claim::NotNegative, Claim::NotZero, Claim::PowerOfTwo],
            Node::Word(BitsOp::Add, x, step) if x == h => {
                let Some(step) = self.e.value(step) else {
                    return Vec::new();
                };
                let step = crate::term::sext(step, width);
                let ends = self.ends_of(b, goes_on, first_symbol);
                let rest = step.unsigned_abs();
                ends.into_iter()
                    .flat_map(|end| {
                        let up = step > 0;
                        let whole = rest
                            .is_power_of_two()
                            .then_some(Claim::Whole(end, rest - 1));
                        [Claim::Before(end, up, true), Claim::Before(end, up, false)]
                            .into_iter()
                            .chain(whole)
                    })
                    .collect()
            }
            _ => self.constants(b).into_iter().map(Claim::AtMost).collect(),
        }
    }

    /// What the next value of a register has to differ from for the loop to go on.
    fn ends_of(&mut self, b: Id, goes_on: Id, first_symbol: usize) -> Vec<Id> {
        let mut out = Vec::new();
        for l in self.e.literals(goes_on) {
            let Some(inner) = self.e.negated(l) else {
                continue;
            };
            let Node::Compare(Order::Equal, x, y) = *self.e.node(inner) else {
                continue;
            };
            for (v, end) in [(x, y), (y, x)] {
                let outside = |s: &u32| (*s as usize) < first_symbol;
                if v == b && self.e.symbols_of(&[end]).iter().all(outside) {
                    out.push(end);
                }
            }
        }
        out
    }

    /// Small constants near the top of a word that no counter is, and one more than 0.
    fn constants(&self, root: Id) -> Vec<u64> {
        let mut out = vec![1];
        let mut stack = vec![(root, 0)];
        while let Some((id, depth)) = stack.pop() {
            match self.e.node(id) {
                Node::Const(v) if (2..=1 << 16).contains(v) && !out.contains(v) => {
                    out.push(*v);
                    out.push(*v - 1);
                }
                node if depth < 3 => super::expr::operands(node, |o| stack.push((o, depth + 1))),
                _ => {}
            }
            if out.len() > 6 {
                break;
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// A claim about a word, as a condition.
    fn says(&mut self, claim: Claim, x: Id) -> Id {
        let w = self.e.width(x);
        let zero = self.e.constant(0, w);
        match claim {
            Claim::NotZero => {
                let is = self.e.compare(Order::Equal, x, zero);
                self.e.not(is)
            }
            Claim::PowerOfTwo => {
                let ones = self.e.constant(u64::MAX, w);
                let less = self.e.add(x, ones);
                let both = self.e.and(x, less);
                self.e.compare(Order::Equal, both, zero)
            }
            Claim::NotNegative => {
                let negative = self.e.compare(Order::Less, x, zero);
                self.e.not(negative)
            }
            Claim::AtMost(n) => {
                let n = self.e.constant(n, w);
                let above = self.e.compare(Order::Below, n, x);
                self.e.not(above)
            }
            Claim::Before(end, up, sign) => {
                let order = if sign { Order::Less } else { Order::Below };
                match up {
                    true => self.e.compare(order, x, end),
                    false => self.e.compare(order, end, x),
                }
            }
            Claim::Whole(end, low) => {
                let way = self.e.minus(end, x);
                let low = self.e.constant(low, w);
                let rest = self.e.and(way, low);
                self.e.compare(Order::Equal, rest, zero)
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
