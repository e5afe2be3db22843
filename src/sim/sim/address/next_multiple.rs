//! An address that is rounded up by a test: `r = a & 1023; r == 0 ? a : a + (1024 - r)`.
//!
//! The problem: whether the rest is zero depends on where the object lies, and so does either arm, but the choice of
//! one does not: it is the next multiple. So the test gives a condition that says of which address it asks, the distance to the
//! multiple above says of which address it is one, and a selection or the join of a branch is that multiple if it
//! chooses one of the two.
//!
//! Sound: layouts decide the condition, so it is made only where all that reads its predicate chooses what registers hold, and a
//! choice that is not that of the two ends the run. The choice is replaced only where its arms are the address and the
//! multiple above it, whatever the layout.

use crate::kernel::operands::uses;
use crate::kernel::{Cmp, IntTy, Op, Pc, RegId};
use crate::term::{ICmp, TermId};

use super::super::machine::{Core, Spaces};
use super::super::val::Val;
use super::derive::Arg;
use super::image::{Bit, Images};
use super::provenance::{Prov, Shape, low};

/// The lowest bits of a linear value, as a number of its own.
struct Rest {
    of: Prov,
    number: u64,
    bits: u8,
}

impl Spaces {
    /// The rest of an address by a power of two, if a value is one.
    fn rest(&mut self, a: Arg, width: u8) -> Option<Rest> {
        let Shape::Pieces(_) = self.prov.shape(a.p) else {
            return None;
        };
        let mut images = Images::default();
        let image = images.of(&self.prov, a.p, a.number(), width);
        let (of, number, bits) = images.low_run(&mut self.prov, &image);
        let zero = |b: &Bit| *b == Bit::Known(false);
        let fits = (1..=16).contains(&bits) && image.get(bits as usize..)?.iter().all(zero);
        (fits && self.prov.terms(of).is_some()).then_some(Rest { of, number, bits })
    }

    /// True if a linear value is a multiple of a power of two exactly where another one is.
    fn moves_along(&mut self, a: Arg, of: Prov, number: u64, bits: u8) -> bool {
        let alike = self.prov.move_alike(a.p, of, bits);
        alike && a.number().is_some_and(|n| (n ^ number) & low(bits) == 0)
    }

    /// `2^k - r` for the rest r of an address by `2^k`.
    pub(super) fn distance_up(&mut self, width: u8, a: Arg, b: Arg) -> Option<Prov> {
        let top = a.constant()? & low(width);
        let r = self.rest(b, width)?;
        if top != 1 << r.bits {
            return None;
        }
        let whole = r.number & low(r.bits);
        Some(self.prov.intern(Shape::Ahead(r.of, whole, r.bits)))
    }

    fn next_of(
        &mut self,
        at: Arg,
        above: Arg,
        (of, number, bits): (Prov, u64, u8),
    ) -> Option<(Prov, u64)> {
        if !self.moves_along(at, of, number, bits) {
            return None;
        }
        let n = at.number()?;
        let step = self.prov.rounded(at.p, n.wrapping_add(1 << bits), bits)?;
        let next = n.wrapping_add(1 << bits) & !low(bits);
        if above.p != step || above.v != Val::Conc(next) {
            return None;
        }
        let number = n.wrapping_add(low(bits)) & !low(bits);
        let p = self.prov.rounded(at.p, n.wrapping_add(low(bits)), bits)?;
        Some((p, number))
    }
}

impl Core<'_> {
    /// Whether the rest of an address is zero, where layouts decide it and only selections ask.
    pub(super) fn asks_for_multiple(
        &mut self,
        (cmp, ty): (Cmp, IntTy),
        (a, b): (Arg, Arg),
        dst: RegId,
    ) -> Option<Prov> {
        let equal = match cmp {
            Cmp::Eq => true,
            Cmp::Ne => false,
            _ => return None,
        };
        let zero = |x: &Arg| x.constant().is_some_and(|n| n & low(ty.width) == 0);
        let r = match (zero(&a), zero(&b)) {
            (_, true) => self.memory.rest(a, ty.width)?,
            (true, _) => self.memory.rest(b, ty.width)?,
            _ => return None,
        };
        let asked =
            (0..self.fixed.kernel.insts.len()).all(|i| self.only_chooses(Pc(i as u32), dst));
        let whole = r.number & low(r.bits);
        let shape = Shape::Multiple(r.of, whole, r.bits, equal);
        asked.then(|| self.memory.prov.intern(shape))
    }

    /// True if an instruction does not read a predicate, or does nothing by it but choose what registers hold.
    fn only_chooses(&mut self, pc: Pc, predicate: RegId) -> bool {
        let kernel = self.fixed.kernel;
        let inst = &kernel.insts[pc.0 as usize];
        let mut reads = false;
        uses(inst, |u| reads |= u == predicate);
        let guards = inst.guard.is_some_and(|g| g.reg == predicate);
        match inst.op {
            _ if !reads => true,
            Op::Selp { .. } => !guards,
            Op::Bra { .. } => self.is_choice(pc),
            _ => false,
        }
    }

    /// The condition that a linear value is a multiple, or is none; one for each question.
    pub(super) fn is_multiple(&mut self, of: (Prov, u64, u8), equal: bool) -> TermId {
        let mut all = self.memory.prov.multiples.iter();
        let c = match all.find(|m| *m.1 == of) {
            Some(m) => *m.0,
            None => {
                let (bit, zero) = (self.values.fresh_bits(1), self.values.store.bits(1, 0));
                let c = self.values.store.icmp(ICmp::Eq, bit, zero);
                self.memory.prov.multiples.insert(c, of);
                c
            }
        };
        if equal { c } else { self.values.store.not(c) }
    }

    /// One of two values by a condition that layouts decide: the number of the multiple at or above an address, and what it
    /// carries; `Some(None)` where no rule says that the choice is one for all layouts. `None` for any other condition.
    pub(crate) fn settled(&mut self, c: TermId, [x, y]: [Arg; 2]) -> Option<Option<(Prov, u64)>> {
        if self.memory.prov.multiples.is_empty() {
            return None;
        }
        let not = self.values.store.not(c);
        let (of, at, above) = match (
            self.memory.prov.multiples.get(&c),
            self.memory.prov.multiples.get(&not),
        ) {
            (Some(of), _) => (*of, x, y),
            (_, Some(of)) => (*of, y, x),
            // A choice by more than the condition is none that a rule follows.
            _ => return self.asks_layout(c).then_some(None),
        };
        Some(self.memory.next_of(at, above, of))
    }

    /// True if layouts decide a condition, together with others.
    fn asks_layout(&mut self, c: TermId) -> bool {
        if let Some(known) = self.memory.prov.by_layout.get(&c) {
            return *known;
        }
        let store = &self.values.store;
        let found = store
            .reachable(&[c])
            .into_iter()
            .any(|t| self.memory.prov.multiples.contains_key(&t));
        self.memory.prov.by_layout.insert(c, found);
        found
    }

    /// An address and the distance to the multiple above it.
    pub(super) fn next_multiple(&mut self, a: Arg, b: Arg) -> Option<Prov> {
        let far = |m: &Self, x: &Arg| match *m.memory.prov.shape(x.p) {
            Shape::Ahead(of, whole, bits) => Some((of, whole, bits)),
            _ => None,
        };
        let (whole, (of, number, bits)) = match (far(self, &a), far(self, &b)) {
            (None, Some(r)) => (a, r),
            (Some(r), None) => (b, r),
            _ => return None,
        };
        if !self.memory.moves_along(whole, of, number, bits) {
            return None;
        }
        let above = whole.number()?.wrapping_add(1 << bits);
        self.memory.prov.rounded(whole.p, above, bits)
    }
}
