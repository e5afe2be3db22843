//! Where bytes of arrays stand, by the shapes that were bound.

use crate::spec::{Arrays, ElemTy, Origin};
use crate::term::ArrayId;

/// The arrays of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a>(pub &'a Arrays);

impl Places<'_> {
    /// The number of an array and the indices of the element at a byte offset; a scalar has none.
    pub(super) fn of(&self, array: ArrayId, off: u64) -> Option<(u32, Vec<i64>)> {
        let info = self.0.0.get(array.0 as usize)?;
        let bytes = info.elem?.bytes();
        if info.origin == Origin::Scalar && off == 0 {
            return Some((array.0, Vec::new()));
        }
        if info.shape.is_empty() || !off.is_multiple_of(bytes) {
            return None;
        }
        let mut rest = off / bytes;
        let mut at = vec![0; info.shape.len()];
        for (i, &n) in at.iter_mut().zip(&info.shape).rev() {
            *i = (rest % n.max(1)) as i64;
            rest /= n.max(1);
        }
        (rest == 0).then_some((array.0, at))
    }

    /// How many bytes lie between neighbours of each dimension, the outermost first.
    pub(super) fn strides(&self, array: ArrayId) -> Option<Vec<i64>> {
        let info = self.0.0.get(array.0 as usize)?;
        let mut next = i64::try_from(info.elem?.bytes()).ok()?;
        let mut out = Vec::new();
        for &n in info.shape.iter().rev() {
            out.push(next);
            next = next.checked_mul(i64::try_from(n.max(1)).ok()?)?;
        }
        out.reverse();
        (!out.is_empty()).then_some(out)
    }

    /// True for an array of signed integers.
    pub(super) fn is_signed(&self, array: ArrayId) -> bool {
        let info = self.0.0.get(array.0 as usize);
        let elem = info.and_then(|a| a.elem);
        matches!(elem, Some(ElemTy::Int { signed: true, .. }))
    }
}
