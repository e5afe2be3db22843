//! Which orders of two numbers the machine may find.
//!
//! Problem: over the reals (x + 1) - 1 is x, and x + 1 is above x; the machine rounds, and finds otherwise where x is
//! small or large. A comparison that the reals decide alone must not be folded. Rounding keeps the order of two numbers, or
//! makes them equal, and keeps the sign of a number that does not underflow: what follows from that alone
//! holds for the machine too. Source: IEEE 754, section 4.3, by which every rounding is monotone.
//!
//! Sound in the direction of "cannot be": an order that is missing does not occur on the machine. The operation trees
//! of [`super::made`] say which of two equal reals are one number; without them nothing is.

pub mod apart;
mod bounds;

use std::cmp::Ordering;

use super::made::{Kind, Made, Shape};
use super::overflow::{Narrow, Sides};
use super::view::{RCmp, Term};
use super::{TermId, TermStore};
use crate::scalar::{FloatOp, Rnd};

/// Maxima, minima and conversions that are looked through for one question.
const MAX_STEPS: usize = 256;

/// A set of orders of one number and another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders(u8);

impl Orders {
    /// No order at all.
    pub const NONE: Orders = Orders(0);
    /// The first is less.
    pub const LESS: Orders = Orders(1);
    /// They are equal.
    pub const SAME: Orders = Orders(2);
    /// The first is more.
    pub const MORE: Orders = Orders(4);
    /// Nothing is known.
    pub const ANY: Orders = Orders(7);

    /// Either of both.
    #[must_use]
    pub fn or(self, other: Orders) -> Orders {
        Orders(self.0 | other.0)
    }

    /// True if all of `other` are among these.
    pub fn has(self, other: Orders) -> bool {
        self.0 & other.0 == other.0
    }

    /// True for more orders than one.
    fn has_more(self) -> bool {
        self.0.count_ones() > 1
    }

    /// Those that are in both sets.
    #[must_use]
    fn and(self, other: Orders) -> Orders {
        Orders(self.0 & other.0)
    }

    /// What a comparison may say: true, and false.
    pub fn answers(self, op: RCmp) -> [bool; 2] {
        let yes = match op {
            RCmp::Lt => Orders::LESS,
            RCmp::Le => Orders::LESS.or(Orders::SAME),
            RCmp::Eq => Orders::SAME,
        };
        [self.0 & yes.0 != 0, self.0 & !yes.0 != 0]
    }
}

/// An encoding, as an operation with its operands or not at all.
struct Tree<'s>(Shape, Made<'s>);

impl TermStore {
    /// The orders of two reals that the machine may find; `made` are their encodings where equal encodings are one number.
    pub fn machine_orders(
        &self,
        (a, b): (TermId, TermId),
        made: Option<(TermId, TermId)>,
        narrow: &Narrow,
    ) -> Orders {
        let mut by_sign = self.orders_by_sign((a, b), false);
        if by_sign.has_more() {
            by_sign = by_sign.and(self.orders_by_ends((a, b), narrow));
        }
        made.map_or(by_sign, |pair| self.orders_by_tree(pair).and(by_sign))
    }

    /// Orders by the signs of both numbers alone; with `vanishing` any number may be rounded to 0.
    pub fn orders_by_sign(&self, (a, b): (TermId, TermId), vanishing: bool) -> Orders {
        let sides = |t: TermId| -> Sides {
            let [minus, zero, plus] = self.sides(t);
            let vanishes = vanishing && self.as_const(t).is_none();
            [minus, zero || vanishes, plus]
        };
        let (x, y) = (sides(a), sides(b));
        let mut out = Orders::NONE;
        for i in (0..3).filter(|&i| x[i]) {
            for j in (0..3).filter(|&j| y[j]) {
                out = out.or(match (i.cmp(&j), i) {
                    (Ordering::Less, _) => Orders::LESS,
                    (Ordering::Greater, _) => Orders::MORE,
                    (Ordering::Equal, 1) => Orders::SAME,
                    (Ordering::Equal, _) => Orders::ANY,
                });
            }
        }
        out
    }

    /// Orders by bounds of both numbers.
    fn orders_by_ends(&self, (a, b): (TermId, TermId), narrow: &Narrow) -> Orders {
        let ((lo, hi), (low, high)) = (self.machine_ends(a, narrow), self.machine_ends(b, narrow));
        if hi < low {
            Orders::LESS
        } else if lo > high {
            Orders::MORE
        } else {
            Orders::ANY
        }
    }

    /// Orders by the operations that made both numbers.
    fn orders_by_tree(&self, (mut a, mut b): (TermId, TermId)) -> Orders {
        let mut rounds = false;
        for _ in 0..MAX_STEPS {
            let found = if a == b {
                Orders::SAME
            } else if let Some(pair) = self.before_conversion(a, b) {
                (a, b) = pair;
                rounds = true;
                continue;
            } else if let Some(pair) = self.difference(a).filter(|_| self.is_zero_encoding(b)) {
                // The sign of a difference that is rounded once is the order of its operands.
                (a, b) = pair;
                continue;
            } else {
                let least = self.is_among(b, a, FloatOp::Max) || self.is_among(a, b, FloatOp::Min);
                let most = self.is_among(a, b, FloatOp::Max) || self.is_among(b, a, FloatOp::Min);
                let above = if least {
                    Orders::MORE.or(Orders::SAME)
                } else {
                    Orders::ANY
                };
                let below = if most {
                    Orders::LESS.or(Orders::SAME)
                } else {
                    Orders::ANY
                };
                above.and(below)
            };
            return if rounds {
                found.or(Orders::SAME)
            } else {
                found
            };
        }
        Orders::ANY
    }

    /// The operands of one conversion of both numbers, which keeps their order or makes them equal.
    fn before_conversion(&self, a: TermId, b: TermId) -> Option<(TermId, TermId)> {
        let (Tree(s, m), Tree(t, n)) = (self.operation(a)?, self.operation(b)?);
        let same = s == t && s.kind == Kind::Convert && s.mods.rnd != Rnd::Rs;
        same.then(|| Some((m.operands().next()?, n.operands().next()?)))?
    }

    /// True if a number is one of those that another is the largest or the least of.
    fn is_among(&self, one: TermId, of: TermId, op: FloatOp) -> bool {
        let mut stack = vec![of];
        for _ in 0..MAX_STEPS {
            let Some(t) = stack.pop() else { return false };
            if t == one {
                return true;
            }
            let Some(Tree(shape, made)) = self.operation(t) else {
                continue;
            };
            match shape.kind {
                Kind::Float(found) if found == op && !shape.mods.xorsign_abs && !shape.mods.ftz => {
                    stack.extend(made.operands());
                }
                // A magnitude is no less than the number.
                Kind::Float(FloatOp::Abs) if op == FloatOp::Max => stack.extend(made.operands()),
                _ => {}
            }
        }
        false
    }

    /// The operands of a difference that is rounded once, in every translation.
    fn difference(&self, t: TermId) -> Option<(TermId, TermId)> {
        let Tree(shape, made) = self.operation(t)?;
        let m = &shape.mods;
        let plain = !(m.sat || m.relu || m.ftz || m.abs || m.oob) && shape.place == 0;
        let mut operands = made.operands();
        let (a, b) = (operands.next()?, operands.next()?);
        let is = |op| shape.kind == Kind::Float(op) && shape.src == shape.fmt && plain;
        if is(FloatOp::Sub) {
            return Some((a, b));
        }
        let negated = |t| match self.operation(t)? {
            Tree(s, m) if s.kind == Kind::Float(FloatOp::Neg) && !s.mods.ftz => m.operands().next(),
            _ => None,
        };
        if !is(FloatOp::Add) {
            return None;
        }
        match (negated(a), negated(b)) {
            (_, Some(q)) => Some((a, q)),
            (Some(q), None) => Some((b, q)),
            _ => None,
        }
    }

    fn is_zero_encoding(&self, t: TermId) -> bool {
        match self.get(t) {
            Term::BitsConst { value: 0, .. } => true,
            Term::OfReal { real, .. } => self.is_zero(self.face(real)),
            _ => false,
        }
    }

    fn operation(&self, t: TermId) -> Option<Tree<'_>> {
        let Term::OfReal { real, .. } = self.get(t) else {
            return None;
        };
        let made = self.as_made(real)?;
        Some(Tree(made.shape(self), made))
    }
}

#[cfg(test)]
mod tests;
