//! Floats that become integers, and integers that become floats.

use crate::kernel::{FloatMods, Fmt, IntTy, Rnd};
use crate::number;
use crate::term::word::{Does, Operation};
use crate::term::{Term, TermId};

use super::bound::{Enclosed, Sweep, flushed};
use super::enclosure::{self, Range, Tie};

impl Sweep<'_> {
    /// A float as an integer of a type that holds whatever it may be.
    pub(super) fn to_integer(
        &self,
        operation: &Operation,
        operands: &[TermId],
        ty: IntTy,
    ) -> Option<Enclosed> {
        let known = self.operand(*operands.first()?, operation.src)?;
        let to = match operation.mods.rnd {
            Rnd::None => Rnd::Rzi,
            to => to,
        };
        let flushed = flushed(operation);
        let range = known.range.map(|r| {
            let off = r.off + flushed;
            enclosure::whole(r.off_by(off).widened(), to)
        });
        Some(Enclosed {
            longest: known.longest,
            part: None,
            range: range.filter(|r| fits(*r, ty)),
        })
    }

    /// An integer as a float: a known one, or a float that became one.
    pub(super) fn integer(
        &self,
        operation: &Operation,
        operands: &[TermId],
        ty: IntTy,
    ) -> Option<Enclosed> {
        let &[n] = operands else {
            return None;
        };
        let known = match self.store.get(n) {
            Term::BitsConst { value, .. } => {
                let exact = Operation {
                    fmt: Fmt::F64,
                    mods: FloatMods::default(),
                    ..*operation
                };
                let x = number::to_double(Fmt::F64, exact.apply(&[value])?);
                let off = match x.abs() < f64::exp2(53.0) {
                    true => 0.0,
                    false => x.abs() * f64::exp2(-52.0),
                };
                Enclosed {
                    longest: 0,
                    part: None,
                    range: Some(Range::of(&[x - off, x + off], off)),
                }
            }
            Term::Word(w) if matches!(w.operation(self.store).does, Does::ToInt(_)) => {
                let known = (*self.known.get(&n)?)?;
                let range = known.range.filter(|r| fits(*r, ty));
                Enclosed { range, ..known }
            }
            _ => return None,
        };
        let range = known
            .range
            .and_then(|r| enclosure::result(operation, &[r], Tie::None));
        Some(Enclosed {
            longest: known.longest + 1,
            part: None,
            range,
        })
    }
}

/// True if a type holds whatever the machine or the reals have.
fn fits(r: Range, ty: IntTy) -> bool {
    let bits = f64::from(u32::from(ty.width) - u32::from(ty.signed));
    let least = if ty.signed { -f64::exp2(bits) } else { 0.0 };
    // Ends are widened by less than one.
    r.lo - r.off > least - 0.5 && r.hi + r.off < f64::exp2(bits) - 0.5
}
