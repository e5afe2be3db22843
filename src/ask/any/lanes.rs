//! What the lanes of a warp give each other, and words that threads have in common because of it.
//!
//! Problem: a reduction over a warp leaves one value in many lanes, and compilers let all of them write it to one place.
//! A shuffle is a word of its own here, of which is noted whose word it is: that of the lane whose number differs in some
//! bits, or of one lane for all. From that follows which bits of a thread's number a word does not depend on: none of those
//! of the word are left where no operand depends on them; a load depends on what its address does; and a commutative
//! operation on a word and on the same word of the lane with another bit b does not depend on b.
//!
//! Source: PTX ISA 9.0, section 9.7.9.6 (`shfl.sync`): the lane that is read, and that all lanes of the mask take part.
//!
//! Sound: threads are numbered by `%tid.x` alone, and warps are whole, so that every lane that is named exists. Two threads
//! have a word in common only as the same word of the same iteration; that loads of one address give one value holds where
//! there are no races, each of which is asked by itself, reads against writes of one value too.
//!
//! Not claimed: anything of a shuffle whose lane data choose, or that names only some lanes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::expr::{Exprs, Id, Level, Node, Order, operands};
use super::prover::Prover;
use super::state::{Accessed, Walk};
use super::threads::Relation;
use crate::kernel::{FloatOp, Kernel, Op, Pc, ShflMode, Src};
use crate::term::BitsOp;

/// Words below a word of which that of another thread is made.
const MAX_MOVED: usize = 512;

/// Bits of the number of a thread that say which lane it is.
const LANE: u32 = 31;

/// What is known of a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Common {
    /// It is this word of the lane whose number differs in these bits.
    Other(Id, u32),
    /// It was read at this offset of an object that all threads have.
    Read(Id),
    /// All lanes of a warp have it.
    Warp,
}

impl Walk<'_> {
    /// True if the number of a thread is `%tid.x`, and no warp lacks lanes.
    fn has_whole_warps(&self) -> bool {
        let s = self.sizes;
        let one = |id| self.e.value(id) == Some(1);
        let threads = self.e.value(s.ntid[0]);
        one(s.ntid[1]) && one(s.ntid[2]) && threads.is_some_and(|n| n > 0 && n % 32 == 0)
    }

    /// Which thread a shuffle of all lanes reads, by its number; and the bits in which that differs from the own one.
    fn read_thread(&mut self, op: &Op) -> Option<(Id, Option<u32>)> {
        let Op::Shfl {
            mode,
            b: Src::Imm(b),
            c: Src::Imm(c),
            mask: Some(mask),
            ..
        } = op
        else {
            return None;
        };
        let all = matches!(mask, Src::Imm(m) if *m as u32 == u32::MAX);
        if !all || !self.has_whole_warps() {
            return None;
        }
        let (b, clamp, segment) = (*b as u32 & LANE, *c as u32 & LANE, *c as u32 >> 8 & LANE);
        let tid = self.sizes.tid[0];
        let number = |s: &mut Self, n: u32| s.e.constant(u64::from(n), 32);
        match mode {
            ShflMode::Bfly if clamp == LANE && b & segment == 0 => {
                let bits = number(self, b);
                Some((self.e.word(BitsOp::Xor, tid, bits), Some(b)))
            }
            ShflMode::Idx if clamp == LANE => {
                let (kept, lane) = (number(self, !LANE | segment), number(self, b & !segment));
                let first = self.e.word(BitsOp::And, tid, kept);
                Some((self.e.or(first, lane), None))
            }
            ShflMode::Down if clamp == LANE && segment == 0 => {
                let (by, last) = (number(self, b), number(self, LANE - b));
                let lane = number(self, LANE);
                let lane = self.e.word(BitsOp::And, tid, lane);
                let beyond = self.e.compare(Order::Below, last, lane);
                let there = self.e.add(tid, by);
                Some((self.e.choose(beyond, tid, there), None))
            }
            ShflMode::Up if clamp == 0 && segment == 0 => {
                let by = number(self, b);
                let lane = number(self, LANE);
                let lane = self.e.word(BitsOp::And, tid, lane);
                let beyond = self.e.compare(Order::Below, lane, by);
                let there = self.e.minus(tid, by);
                Some((self.e.choose(beyond, tid, there), None))
            }
            ShflMode::Bfly | ShflMode::Idx | ShflMode::Down | ShflMode::Up => None,
        }
    }

    /// A word of another thread, if its number is all that a thread has of its own in it.
    fn of_thread(&mut self, word: Id, thread: Id) -> Option<Id> {
        let tid = self.sizes.tid[0];
        let (mut seen, mut stack) = (FxHashSet::default(), vec![word]);
        while let Some(id) = stack.pop() {
            if self.e.level(id) < Level::Thread || !seen.insert(id) {
                continue;
            }
            let is_other = matches!(self.e.node(id), Node::Symbol(_)) && id != tid;
            if is_other || seen.len() > MAX_MOVED {
                return None;
            }
            operands(self.e.node(id), |o| stack.push(o));
        }
        let map = FxHashMap::from_iter([(tid, thread)]);
        self.e.substitute(&[word], &map).pop()
    }

    /// Whether what a shuffle gives was written, if that is known of the lane that is read.
    pub(super) fn shuffled_given(&mut self, op: &Op, regs: &[Id]) -> Option<Id> {
        let Op::Shfl { a: Src::Reg(r), .. } = op else {
            return None;
        };
        let (thread, _) = self.read_thread(op)?;
        self.of_thread(self.given(regs, *r), thread)
    }

    /// Notes what lanes have in common of what an exchange between all of them gives.
    pub(super) fn exchanged(&mut self, op: &Op, word: Id, result: Id) {
        let whole = |mask: &Src| matches!(mask, Src::Imm(m) if *m as u32 == u32::MAX);
        let common = match op {
            Op::Shfl { .. } => match self.read_thread(op) {
                Some((_, Some(bits))) => Some(Common::Other(word, bits)),
                _ => None,
            },
            Op::Redux { mask, .. } if whole(mask) && self.has_whole_warps() => Some(Common::Warp),
            _ => None,
        };
        if let Some(common) = common {
            self.out.common.insert(result, common);
        }
    }

    /// What a shuffle gives, where it is the same word of another thread.
    pub(super) fn shuffled(&mut self, op: &Op, word: Id) -> Option<Id> {
        let (thread, _) = self.read_thread(op)?;
        match self.e.is_data(word) {
            true => None,
            false => self.of_thread(word, thread),
        }
    }
}

/// True for an operation whose first two operands may change places.
fn commutes(kernel: &Kernel, tag: u64) -> bool {
    let (pc, part) = (Pc((tag >> 8) as u32), tag & 0xff);
    let named = tag >> 40 == 0 && part == 0;
    let op = kernel.insts.get(pc.0 as usize).map(|i| &i.op);
    let Some(Op::Float {
        op,
        fmt,
        src_fmt,
        src,
        ..
    }) = op.filter(|_| named)
    else {
        return false;
    };
    let plain = matches!(
        op,
        FloatOp::Add | FloatOp::Mul | FloatOp::Min | FloatOp::Max
    );
    plain && fmt == src_fmt && matches!(src[..2], [Src::Reg(_), Src::Reg(_)])
}

/// The two operands that a word treats alike.
fn alike(e: &Exprs, kernel: &Kernel, id: Id) -> Option<(Id, Id)> {
    match e.node(id) {
        Node::Function(tag, list) => match list[..] {
            [x, y] if commutes(kernel, *tag) => Some((x, y)),
            _ => None,
        },
        Node::Word(BitsOp::Add | BitsOp::And | BitsOp::Or | BitsOp::Xor | BitsOp::Mul, x, y) => {
            Some((*x, *y))
        }
        // The larger or the smaller one.
        Node::Choose(c, a, b) => match e.node(*c) {
            Node::Compare(Order::Below | Order::Less, x, y)
                if (x, y) == (a, b) || (x, y) == (b, a) =>
            {
                Some((*x, *y))
            }
            _ => None,
        },
        _ => None,
    }
}

impl Prover<'_, '_> {
    /// Bits of the number of a thread that a word does not depend on.
    pub(super) fn indifferent(&mut self, word: Id) -> u32 {
        let tid = self.w.sizes.tid[0];
        let mut known: FxHashMap<Id, u32> = FxHashMap::default();
        let mut stack = vec![word];
        while let Some(&id) = stack.last() {
            if known.contains_key(&id) {
                stack.pop();
                continue;
            }
            crate::work::spend(1);
            let common = self.w.out.common.get(&id).copied();
            let mut open = Vec::new();
            let mut below = |o: Id| {
                if !known.contains_key(&o) {
                    open.push(o);
                }
            };
            match (self.w.e.node(id), common) {
                (Node::Symbol(_), Some(Common::Read(offset))) => below(offset),
                (Node::Symbol(_), _) => {}
                (node, _) => operands(node, below),
            }
            if !open.is_empty() {
                stack.extend(open);
                continue;
            }
            stack.pop();
            let free = self.indifferent_of(id, tid, common, &known);
            known.insert(id, free);
        }
        known.get(&word).copied().unwrap_or(0)
    }

    fn indifferent_of(
        &self,
        id: Id,
        tid: Id,
        common: Option<Common>,
        known: &FxHashMap<Id, u32>,
    ) -> u32 {
        let e = &self.w.e;
        if e.level(id) < Level::Thread {
            return u32::MAX;
        }
        let of = |o: Id| known.get(&o).copied().unwrap_or(0);
        match (e.node(id), common) {
            (Node::Symbol(_), Some(Common::Read(offset))) => return of(offset),
            (Node::Symbol(_), Some(Common::Warp)) => return LANE,
            (Node::Symbol(_), _) => return 0,
            _ => {}
        }
        let mut all = u32::MAX;
        operands(e.node(id), |o| all &= of(o));
        // Bits of the number itself.
        if let Some((low, len)) = e.bits_of(id, tid) {
            let ones = u64::MAX >> (64 - u32::from(len.clamp(1, 64)));
            all |= !((ones << low) as u32);
        }
        if let Node::Word(BitsOp::And, x, k) = e.node(id)
            && *x == tid
            && let Some(k) = e.value(*k)
        {
            all |= !(k as u32);
        }
        if let Some((x, y)) = alike(e, self.w.kernel, id) {
            for (own, other) in [(x, y), (y, x)] {
                if let Some(Common::Other(word, bits)) = self.w.out.common.get(&other)
                    && *word == own
                {
                    let free = of(own);
                    let left = bits & !free;
                    if left.count_ones() <= 1 {
                        all |= free | left;
                    }
                }
            }
        }
        all
    }

    /// Bits of the number of a thread that what both write by one instruction does not depend on; `None` where there is none,
    /// where they may write different words, or where each has its own iteration.
    pub(super) fn in_common(
        &mut self,
        a: &Accessed,
        b: &Accessed,
        relation: &Relation,
    ) -> Option<u32> {
        let Relation::Within(loops) = relation else {
            return None;
        };
        let value = a.value.filter(|v| a.at == b.at && b.value == Some(*v))?;
        let s = self.w.sizes;
        let one = |id| self.w.e.value(id) == Some(1);
        if !one(s.ntid[1]) || !one(s.ntid[2]) || a.bytes != b.bytes {
            return None;
        }
        if !self.is_of_iterations(value, loops) {
            return None;
        }
        Some(self.indifferent(value)).filter(|free| *free != 0)
    }

    /// True if no symbol of a word has a value for each iteration of another loop, those of the addresses of loads and of
    /// what lanes gave each other among them.
    fn is_of_iterations(&self, word: Id, loops: &[usize]) -> bool {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![word]);
        while let Some(id) = stack.pop() {
            crate::work::spend(1);
            if !seen.insert(id) {
                continue;
            }
            match self.w.e.node(id) {
                Node::Symbol(n) => {
                    let of = self.w.e.symbols[*n as usize].of;
                    if of.is_some_and(|l| !loops.contains(&l)) {
                        return false;
                    }
                }
                node => operands(node, |o| stack.push(o)),
            }
            match self.w.out.common.get(&id) {
                Some(Common::Read(below) | Common::Other(below, _)) => stack.push(*below),
                Some(Common::Warp) | None => {}
            }
        }
        true
    }

    /// That the numbers of two threads differ in a bit that matters.
    pub(super) fn differ_for(&mut self, free: u32, (here, there): (Id, Id)) -> Id {
        let matters = self.w.e.constant(u64::from(!free), 32);
        let x = self.w.e.word(BitsOp::And, here, matters);
        let y = self.w.e.word(BitsOp::And, there, matters);
        self.unequal(x, y)
    }
}
