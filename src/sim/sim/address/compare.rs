//! Comparisons of addresses: what every layout decides alike.
//!
//! Decided are: equality and order of two addresses of one object; that bytes of two objects lie at
//! two addresses; that a generic address is not null; and whatever the bits below an alignment tell.
//! One past the end of an object may be another object's first byte, and which of two objects lies
//! first is not known.

use crate::answer::AssumptionKind;
use crate::kernel::{Cmp, IntTy, Space};
use crate::sim::limits::LIMITS;

use super::super::machine::{Core, Spaces};
use super::derive::Arg;
use super::image::{Bit, Images};
use super::provenance::{BaseId, Prov, low};

impl Spaces {
    /// True if a value is not zero under any layout.
    pub(crate) fn is_not_zero(&mut self, a: Arg, width: u8) -> bool {
        match (a.p, a.number()) {
            (Prov::NONE, Some(n)) => return n & low(width) != 0,
            (p, _) if self.prov.is_not_zero(p) => return true,
            (_, None) => return false,
            _ => {}
        }
        let n = a.number().unwrap_or(0);
        if self.prov.landing(a.p, Space::Generic).is_ok()
            && let Some((base, off)) = self.prov.pointed(a.p, n)
        {
            let b = self.prov.base(base);
            let size = b.size.unwrap_or(1 << 39) as i64;
            if width == 64 && b.rounded.is_none() && (0..size).contains(&off) {
                return true;
            }
        }
        if self.prov.terms(a.p).is_some() && n & low(self.prov.aligned(a.p).min(width)) != 0 {
            self.prov.use_alignment(a.p);
            return true;
        }
        let mut images = Images::default();
        let image = images.of(&self.prov, a.p, a.number(), width);
        image[..width as usize].contains(&Bit::Known(true))
    }
}

impl Core<'_> {
    /// Two addresses of one object, near enough for their order to be that of their offsets.
    fn in_order(&mut self, ty: IntTy, a: Arg, b: Arg) -> bool {
        let (Some(x), Some(y)) = (a.number(), b.number()) else {
            return false;
        };
        if self.memory.prov.is_own(a.p, x) && self.memory.prov.is_own(b.p, y) {
            return true;
        }
        if ty.signed || ty.width != 64 {
            return false;
        }
        let mut beyond = false;
        for (p, n) in [(a.p, x), (b.p, y)] {
            let Some((base, off)) = self.memory.prov.pointed(p, n) else {
                return false;
            };
            let of = *self.memory.prov.base(base);
            let size = of.size.unwrap_or(0).min(1 << 50) as i64;
            if self.memory.prov.landing(p, Space::Generic).is_err()
                || off < -(1 << of.align)
                || off > size + LIMITS.beyond
            {
                return false;
            }
            beyond |= off > size;
        }
        if beyond {
            self.found.assumptions.insert(
                AssumptionKind::AddressSpace
                    .says("no array lies within 2^40 bytes of the end of the address space"),
            );
        }
        true
    }

    /// True if a comparison comes out alike under every layout.
    pub(crate) fn decides(&mut self, cmp: Cmp, ty: IntTy, a: Arg, b: Arg, sides: usize) -> bool {
        if let Some(c) = self.memory.chosen_by(&[a, b]) {
            let both = self.values.sides(c);
            return sides > 1
                && both.into_iter().all(|(known, side)| {
                    let [x, y] = [a, b].map(|x| self.on_side(x, known, c, side));
                    self.decides(cmp, ty, x, y, sides / 2)
                });
        }
        if a.p.is_none() && b.p.is_none() {
            return true;
        }
        let w = ty.width;
        let zero = |x: &Arg| x.constant().is_some_and(|n| n & low(w) == 0);
        let equality = matches!(cmp, Cmp::Eq | Cmp::Ne);
        if (equality || !ty.signed)
            && (zero(&b) && self.memory.is_not_zero(a, w)
                || zero(&a) && self.memory.is_not_zero(b, w))
        {
            return true;
        }
        let apart = self.memory.prov.sum(a.p, b.p, u64::MAX, w);
        if apart == Some(Prov::NONE) {
            return equality || self.in_order(ty, a, b);
        }
        if !equality {
            return false;
        }
        let (Some(x), Some(y)) = (a.number(), b.number()) else {
            return false;
        };
        if let Some(p) = apart {
            if x.wrapping_sub(y) & low(self.memory.prov.aligned(p).min(w)) != 0 {
                self.memory.prov.use_alignment(p);
                return true;
            }
            if self.are_bytes_of_two(a, b) {
                return true;
            }
        }
        let mut images = Images::default();
        let [p, q] = [a, b].map(|x| images.of(&self.memory.prov, x.p, x.number(), w));
        let (p, q) = (&p[..w as usize], &q[..w as usize]);
        let differ =
            |(x, y): (&Bit, &Bit)| matches!((x, y), (Bit::Known(i), Bit::Known(j)) if i != j);
        let same = p == q && !p.contains(&Bit::Lost);
        same || p.iter().zip(q).any(differ)
    }

    /// Two addresses of bytes of two different objects of one space.
    fn are_bytes_of_two(&mut self, a: Arg, b: Arg) -> bool {
        let inside = |m: &Self, x: &Arg| -> Option<BaseId> {
            let (base, off) = m.memory.prov.pointed(x.p, x.number()?)?;
            let of = m.memory.prov.base(base);
            let size = of.size? as i64;
            (of.rounded.is_none() && (0..size).contains(&off)).then_some(base)
        };
        let (Some(x), Some(y)) = (inside(self, &a), inside(self, &b)) else {
            return false;
        };
        let spaces = [Space::Generic, Space::Shared, Space::Local, Space::Param];
        let both = |m: &mut Self, s| {
            m.memory.prov.landing(a.p, s).is_ok() && m.memory.prov.landing(b.p, s).is_ok()
        };
        x != y && spaces.into_iter().any(|s| both(self, s))
    }
}
