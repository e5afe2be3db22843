//! Choices between two numbers by a condition, which rounding may turn over.
//!
//! The problem: `x > 0 ? x : x/64` is one of two numbers, and where x is off, the machine may take the other one. The way: a
//! condition is *settled* if the machine's operands decide it as the reals do, because they are exact or far enough apart.
//! Then a choice is off by what the branches are. A choice of the larger (smaller) of the very operands that are compared
//! is their maximum (minimum) whichever way it goes. Where x is compared with 0 and the way may turn, x is near 0, and so are
//! branches that are x times something. Any other choice that may turn is off by the width of both branches together.
//!
//! Sound: what the machine takes is a branch that lies in its own enclosure, and the reals take one of the two.

use crate::kernel::{Cmp, FloatOp, Fmt};
use crate::spec::ElemTy;
use crate::term::word::Does;
use crate::term::{ICmp, Term, TermId};

use super::bound::{Enclosed, Sweep, flushed};
use super::enclosure::Range;

/// What a choice is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
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
    fn of(self, a: Range, b: Range) -> Option<Range> {
        let is_finite = [a, b].iter().all(|r| r.lo.is_finite() && r.hi.is_finite());
        if !is_finite {
            return None;
        }
        let off = a.off.max(b.off);
        let part = a.part.max(b.part);
        let of = |values: &[f64]| Range::of(values, off).parted(part);
        let hull = of(&[a.lo, a.hi, b.lo, b.hi]);
        Some(match self {
            Choice::Settled => hull,
            Choice::Larger => of(&[a.lo.max(b.lo), a.hi.max(b.hi)]),
            Choice::Smaller => of(&[a.lo.min(b.lo), a.hi.min(b.hi)]),
            Choice::Near(x, y) => {
                let turned = (x + y).min(hull.hi - hull.lo);
                hull.off_by(off + turned).widened()
            }
            Choice::Open => hull.off_by(off + (hull.hi - hull.lo)).widened(),
        })
    }
}

/// What a comparison of x with y that chooses between them gives; `is_turned` where y is what is chosen if it holds.
fn extremum(cmp: Cmp, is_turned: bool) -> Option<Choice> {
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

impl Sweep<'_> {
    /// What is known of a choice between floats, and their format.
    pub(super) fn choose(&self, p: TermId, branches: [TermId; 2]) -> Option<(Fmt, Enclosed)> {
        let fmt = branches.iter().find_map(|&t| self.format(t))?;
        let [a, b] = branches.map(|t| self.operand(t, fmt));
        let (a, b) = (a?, b?);
        let (choice, flushed) = match self.settled.contains(&p) {
            true => (Choice::Settled, 0.0),
            false => self
                .by_comparison(p, branches)
                .unwrap_or((Choice::Open, 0.0)),
        };
        let range = a.range.zip(b.range).and_then(|(a, b)| choice.of(a, b));
        let range = range.map(|r| match flushed > 0.0 {
            true => r.off_by(r.off + 2.0 * flushed).widened(),
            false => r,
        });
        let known = Enclosed {
            longest: a.longest.max(b.longest),
            part: None,
            range,
        };
        Some((fmt, known))
    }

    /// The format of floats by what makes them.
    fn format(&self, t: TermId) -> Option<Fmt> {
        match self.store.get(t) {
            Term::Word(w) => w.operation(self.store).float(),
            Term::BitsSelect(..) => self.chosen.get(&t).map(|c| c.0),
            Term::Bytes { array, .. } => match self.arrays.0.get(array.0 as usize)?.elem? {
                ElemTy::Float(fmt) => Some(fmt),
                ElemTy::Int { .. } => None,
            },
            _ => None,
        }
    }

    /// What a choice by one comparison of floats is that rounding may turn over, and below which it takes both for 0.
    fn by_comparison(&self, p: TermId, [a, b]: [TermId; 2]) -> Option<(Choice, f64)> {
        let Term::ICmp(ICmp::Eq, word, _) = self.store.get(p) else {
            return None;
        };
        let word = self.store.as_word(word)?;
        let operation = word.operation(self.store);
        let (Does::Compare(cmp), &[x, y]) =
            (operation.does, &word.operands().collect::<Vec<_>>()[..])
        else {
            return None;
        };
        let as_it_is = ([a, b] == [x, y]).then_some(false);
        let turned = as_it_is.or(([a, b] == [y, x]).then_some(true));
        if let Some(found) = turned.and_then(|is_turned| extremum(cmp, is_turned)) {
            return Some((found, flushed(&operation)));
        }
        let is_zero = |t| {
            matches!(self.operand(t, operation.src)?.range, Some(r) if r == Range::known(0.0))
                .then_some(())
        };
        let x = match (is_zero(x), is_zero(y)) {
            (None, Some(())) => x,
            (Some(()), None) => y,
            _ => return None,
        };
        let reach = self.operand(x, operation.src)?.range?.off + flushed(&operation);
        let near = Choice::Near(self.near(a, x, reach)?, self.near(b, x, reach)?);
        Some((near, 0.0))
    }

    /// The largest magnitude of a branch where a number is at most so large.
    fn near(&self, branch: TermId, x: TermId, reach: f64) -> Option<f64> {
        if branch == x {
            return Some(reach);
        }
        let fmt = self.format(x)?;
        if let Term::BitsConst { .. } = self.store.get(branch) {
            return Some(self.operand(branch, fmt)?.range?.largest());
        }
        let (_, operands) = self.float(branch, &[FloatOp::Mul, FloatOp::Neg])?;
        let factor = match operands[..] {
            [a] if a == x => 1.0,
            [a, b] if a == x => self.operand(b, fmt)?.range?.largest(),
            [a, b] if b == x => self.operand(a, fmt)?.range?.largest(),
            _ => return None,
        };
        Some(reach * factor)
    }
}
