//! How operands depend on each other, where an enclosure that forgot it would say nothing: differences from a maximum, squares,
//! and shares of a sum.

use crate::kernel::{FloatOp, Fmt};
use crate::term::TermId;
use crate::term::word::{Does, Operation};

use super::bound::{Enclosed, Sweep};
use super::enclosure::Tie;
use super::limits::LIMITS;

impl Sweep<'_> {
    /// How the operands of an operation depend on each other.
    pub(super) fn tie(&self, operation: &Operation, operands: &[TermId]) -> Tie {
        match (operation.does, operands) {
            (Does::Float(FloatOp::Sub), &[a, b]) if self.is_among(a, b) => Tie::NotAbove,
            (Does::Float(FloatOp::Div), &[a, b]) if self.is_summand(a, b) => Tie::Share,
            (Does::Float(FloatOp::Mul), &[a, b]) if self.is_share(a, b) || self.is_share(b, a) => {
                Tie::Share
            }
            (Does::Float(FloatOp::Mul | FloatOp::Fma), &[a, b, ..]) if a == b => Tie::Same,
            _ => Tie::None,
        }
    }

    /// True if a maximum is one of something, or of other maxima of which one is.
    fn is_among(&self, a: TermId, maximum: TermId) -> bool {
        let mut todo = vec![maximum];
        for _ in 0..LIMITS.maxima {
            let Some(t) = todo.pop() else {
                return false;
            };
            if let Some((m, operands)) = self.float(t, &[FloatOp::Max, FloatOp::Max3])
                && !m.abs
                && !m.xorsign_abs
            {
                if operands.contains(&a) {
                    return true;
                }
                todo.extend(operands);
            }
        }
        false
    }

    /// True if a number is one of those that are not negative of which another one is the sum.
    fn is_summand(&self, a: TermId, sum: TermId) -> bool {
        let is_positive = |known: Option<Enclosed>| {
            let range = known.and_then(|k| k.range);
            range.is_some_and(|r| r.lo >= 0.0)
        };
        let mut todo = vec![sum];
        let mut found = false;
        for _ in 0..LIMITS.maxima {
            let Some(t) = todo.pop() else {
                return found;
            };
            let Some((m, mut operands)) = self.float(t, &[FloatOp::Add, FloatOp::Fma]) else {
                continue;
            };
            if let [x, y, c] = operands[..] {
                let product = self.float(a, &[FloatOp::Mul]).map(|(_, of)| of);
                found |= product.is_some_and(|of| of == [x, y] || of == [y, x]);
                let known = self.exponential(x, y).or_else(|| self.exponential(y, x));
                let is_product_positive = match known {
                    Some(known) => is_positive(Some(known)),
                    None => [x, y]
                        .iter()
                        .all(|&t| is_positive(self.operand(t, Fmt::F32))),
                };
                if !is_product_positive {
                    return false;
                }
                operands = vec![c];
            }
            if m.sat
                || !operands
                    .iter()
                    .all(|&t| is_positive(self.operand(t, Fmt::F32)))
            {
                return false;
            }
            found |= operands.contains(&a);
            todo.extend(operands);
        }
        false
    }

    /// The same of the inverse of the sum.
    fn is_share(&self, a: TermId, inverse: TermId) -> bool {
        let of = self.float(inverse, &[FloatOp::Rcp]);
        of.is_some_and(|(_, operands)| operands.iter().any(|&sum| self.is_summand(a, sum)))
    }
}
