//! Bases that are dynamic shared memory rounded to a multiple of a power of two, and what windows do not change.
//!
//! A rounded base is one of its own: how far it lies from the unrounded one differs with the layout, between two bounds.
//! So accesses through it must keep these bounds, and may not meet accesses through another rounding.

use crate::kernel::Space;

use super::provenance::{Base, BaseId, OWN_BITS, Prov, Provenances, low};

impl Provenances {
    /// True if two linear values differ by the same amount under every layout, up to multiples of a power of two.
    pub(crate) fn move_alike(&mut self, a: Prov, b: Prov, bits: u8) -> bool {
        let apart = self.sum(a, b, u64::MAX, 64);
        apart.is_some_and(|p| self.aligned(p) >= bits)
    }

    /// The address in its own space of a byte of an object of the CTA's shared memory, or of its end, of which a generic
    /// address is given: it has the bits of that below those that a window may have.
    pub(crate) fn without_window(&mut self, p: Prov, number: u64) -> Option<(Prov, u64)> {
        let (base, off) = self.pointed(p, number)?;
        let b = self.base(base);
        let inside = b.space == Space::Shared && off as u64 <= b.size.unwrap_or(1 << OWN_BITS);
        let mut windows = self.terms(p)?.iter().filter(|t| t.0 != base);
        let by = windows.try_fold(0u64, |n, t| {
            (t.1 == 1).then(|| n.wrapping_add(self.base(t.0).number))
        })?;
        inside.then(|| (self.linear(&[(base, 1)]), number.wrapping_sub(by)))
    }

    /// Bytes at either end of an object that are out of reach for some rounding of its base.
    pub(crate) fn spare(&self, id: BaseId) -> (i64, i64) {
        let b = self.base(id);
        let Some((of, least, most)) = b.rounded else {
            return (0, 0);
        };
        let now = b.number.wrapping_sub(self.base(of).number) as i64;
        ((now - least).max(0), (most - now).max(0))
    }

    /// The base that is a linear value, rounded down to a multiple of a power of two. Only that of
    /// dynamic shared memory, of which all accesses are followed, is rounded.
    pub(crate) fn rounded(&mut self, p: Prov, number: u64, to: u8) -> Option<Prov> {
        let (of, plus) = self.pointed(p, number)?;
        let terms = self.terms(p)?.to_vec();
        let windows = terms.iter().filter(|t| t.0 != of);
        let fits = windows
            .clone()
            .all(|t| t.1 == 1 && self.base(t.0).align >= to);
        if Some(of) != self.dynamic || !fits || !(0..1 << OWN_BITS).contains(&plus) || to > 16 {
            return None;
        }
        let b = *self.base(of);
        // For a residue r of the base the sum is rounded down by (r + plus) mod 2^to.
        let step = 1u64 << b.align;
        // What a multiple of the power of two adds is no part of the base, and what lies below the alignment rounds nothing,
        // where the base itself has nothing there.
        let residue = b.number & (step - 1);
        let below = if residue == 0 { low(b.align) } else { 0 };
        let plus = (plus as u64 & low(to) & !below) as i64;
        let cut = |r: u64| (r + plus as u64) & low(to);
        let deltas = (residue..1u64 << to)
            .step_by(step as usize)
            .map(|r| plus - cut(r) as i64);
        let (least, most) = (deltas.clone().min()?, deltas.max()?);
        let key = (of, plus as u64, to);
        let id = match self.roundings.get(&key) {
            Some(&id) => id,
            None => {
                let id = BaseId(self.bases.len() as u32);
                self.bases.push(Base {
                    number: b.number.wrapping_add_signed(plus) & !low(to),
                    align: to,
                    plain: 1 << to,
                    rounded: Some((of, least, most)),
                    ..b
                });
                self.roundings.insert(key, id);
                id
            }
        };
        let mut new: Vec<(BaseId, u64)> = windows.copied().collect();
        new.push((id, 1));
        new.sort_unstable();
        Some(self.linear(&new))
    }

    /// Can bytes that are accessed through different roundings of dynamic shared memory be the same
    /// for some layout and differ for another?
    pub(crate) fn roundings_meet(&self) -> bool {
        let mut all: Vec<(BaseId, i64, i64)> = Vec::new();
        for (&id, t) in &self.touched {
            let b = self.base(id);
            let (least, most) = match b.rounded {
                Some((of, least, most)) => {
                    let now = b.number.wrapping_sub(self.base(of).number) as i64;
                    (least - now, most - now)
                }
                None => (0, 0),
            };
            all.push((id, t.from + least, t.to + most));
        }
        let meet = |x: &(BaseId, i64, i64), y: &(BaseId, i64, i64)| x.1 < y.2 && y.1 < x.2;
        let others = |i: usize| &all[i + 1..];
        (0..all.len()).any(|i| others(i).iter().any(|o| meet(&all[i], o)))
    }
}
