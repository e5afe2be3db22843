//! An address that is rounded up by a test: `r = a & 1023; r == 0 ? a : a + (1024 - r)`.
//!
//! The problem: whether the rest is zero depends on where the object lies, and so does either arm, but the choice of
//! one does not: it is the next multiple. So the test gives a predicate that says of which address it asks, the distance to the
//! multiple above says of which address it is one, and the selection is followed if it is that of the two.
//!
//! Sound: a predicate that depends on the layout is only made where selections are all that read its register; each other
//! reader would take it for known. The selection is replaced only where its arms are the address and the multiple
//! above it, whatever the layout.

use crate::kernel::operands::uses;
use crate::kernel::{Cmp, Guard, IntTy, Op, RegId, Src};

use super::super::machine::Machine;
use super::super::value::Val;
use super::derive::Arg;
use super::image::{Bit, Images};
use super::provenance::{Prov, Shape, low};

/// The lowest bits of a linear value, as a number of its own.
struct Rest {
    of: Prov,
    number: u64,
    bits: u8,
}

impl Machine<'_> {
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

    /// An address and the distance to the multiple above it.
    pub(super) fn next_multiple(&mut self, a: Arg, b: Arg) -> Option<Prov> {
        let far = |m: &Self, x: &Arg| match *m.prov.shape(x.p) {
            Shape::Ahead(of, whole, bits) => Some((of, whole, bits)),
            _ => None,
        };
        let (whole, (of, number, bits)) = match (far(self, &a), far(self, &b)) {
            (None, Some(r)) => (a, r),
            (Some(r), None) => (b, r),
            _ => return None,
        };
        if !self.moves_along(whole, of, number, bits) {
            return None;
        }
        let above = whole.number()?.wrapping_add(1 << bits);
        self.prov.rounded(whole.p, above, bits)
    }

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
            (_, true) => self.rest(a, ty.width)?,
            (true, _) => self.rest(b, ty.width)?,
            _ => return None,
        };
        let mut insts = self.kernel.insts.iter();
        let asked = insts.all(|i| {
            let mut reads = false;
            uses(i, |u| reads |= u == dst);
            !reads || i.guard.is_none_or(|g| g.reg != dst) && matches!(i.op, Op::Selp { .. })
        });
        let whole = r.number & low(r.bits);
        let shape = Shape::Multiple(r.of, whole, r.bits, equal);
        asked.then(|| self.prov.intern(shape))
    }

    /// A selection by a predicate that depends on the layout: the multiple at or above an address. `None` if the
    /// predicate depends on none, and opaque where the arms are others.
    pub(super) fn selected_multiple(
        &mut self,
        (w, lane): (usize, usize),
        [x, y]: [Src; 2],
        p: Guard,
    ) -> Option<Option<Prov>> {
        let Shape::Multiple(of, number, bits, equal) =
            *self.prov.shape(self.warps[w].prov(p.reg, lane))
        else {
            return None;
        };
        let [x, y] = [x, y].map(|s| self.arg(w, s, lane));
        let (at, above) = if equal != p.negated { (x, y) } else { (y, x) };
        Some(self.is_next(at, above, (of, number, bits)))
    }

    fn is_next(&mut self, at: Arg, above: Arg, (of, number, bits): (Prov, u64, u8)) -> Option<Prov> {
        if !self.moves_along(at, of, number, bits) {
            return None;
        }
        let n = at.number()?;
        let step = self.prov.rounded(at.p, n.wrapping_add(1 << bits), bits)?;
        let next = n.wrapping_add(1 << bits) & !low(bits);
        if above.p != step || above.v != Val::Conc(next) {
            return None;
        }
        self.prov.rounded(at.p, n.wrapping_add(low(bits)), bits)
    }
}
