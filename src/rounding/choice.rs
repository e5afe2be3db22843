//! Choices between two numbers by a condition, which rounding may turn over.
//!
//! The problem: `x > 0 ? x : x/64` is one of two numbers, and where x is off, the machine may take the other one. The way: a
//! condition is *settled* if the machine's operands decide it as the reals do, because they are exact or far enough apart.
//! Then a choice is off by what the branches are. A choice of the larger (smaller) of the very operands that are compared
//! is their maximum (minimum) whichever way it goes. Where x is compared with 0 and the way may turn, x is near 0, and so are
//! branches that are x times something. Any other choice that may turn is off by the width of both branches together.
//!
//! Sound: what the machine takes is a branch that lies in its own enclosure, and the reals take one of the two.

use crate::kernel::Cmp;

use super::enclosure::Range;

/// What a choice is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Choice {
    /// The larger of both branches, as far as the machine's numbers tell.
    Larger,
    /// The smaller one.
    Smaller,
    /// The condition is that of the reals.
    Settled,
    /// Where the condition turns over, the branches are at most so large.
    Near(f64, f64),
    /// The condition may turn over.
    Open,
}

impl Choice {
    /// The number that is chosen.
    pub(super) fn of(self, a: Range, b: Range) -> Option<Range> {
        let is_finite = [a, b].iter().all(|r| r.lo.is_finite() && r.hi.is_finite());
        if !is_finite {
            return None;
        }
        let off = a.off.max(b.off);
        let hull = Range::of(&[a.lo, a.hi, b.lo, b.hi], off);
        Some(match self {
            Choice::Settled => hull,
            Choice::Larger => Range::of(&[a.lo.max(b.lo), a.hi.max(b.hi)], off),
            Choice::Smaller => Range::of(&[a.lo.min(b.lo), a.hi.min(b.hi)], off),
            Choice::Near(x, y) => Range {
                off: off + (x + y).min(hull.hi - hull.lo),
                ..hull
            }
            .widened(),
            Choice::Open => Range {
                off: off + (hull.hi - hull.lo),
                ..hull
            }
            .widened(),
        })
    }
}

/// What a comparison of x with y that chooses between them gives; `is_turned` where y is what is chosen if it holds.
pub(super) fn extremum(cmp: Cmp, is_turned: bool) -> Option<Choice> {
    let is_larger = match cmp {
        Cmp::Gt | Cmp::Ge | Cmp::Gtu | Cmp::Geu => true,
        Cmp::Lt | Cmp::Le | Cmp::Ltu | Cmp::Leu => false,
        Cmp::Eq | Cmp::Ne | Cmp::Equ | Cmp::Neu | Cmp::Num | Cmp::Nan => return None,
    };
    Some(match is_larger != is_turned {
        true => Choice::Larger,
        false => Choice::Smaller,
    })
}

/// True if two numbers compare alike for the machine and over the reals; `flushed` is what the comparison takes for 0.
pub(super) fn is_settled(x: Range, y: Range, flushed: f64) -> bool {
    let [x_off, y_off] = [x.off + flushed, y.off + flushed];
    let is_exact = x_off == 0.0 && y_off == 0.0;
    is_exact || x.hi + x_off < y.lo - y_off || y.hi + y_off < x.lo - x_off
}
