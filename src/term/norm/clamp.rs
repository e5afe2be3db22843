//! Selects that are a maximum or minimum with something that is itself clamped.
//!
//! Problem: `x < l ? l : (x > h ? h : x)` compares `x`, not the branch `min(x, h)`, so it is not of the form
//! `a < b ? b : a`; that h is not below l makes it `max(l, min(x, h))` all the same.
//!
//! Soundness: both directions of the comparison are shown, below. What is not claimed: branches
//! whose difference is not one maximum, or whose other elements have signs that are not seen.

use super::monomial::flag;
use super::poly::PolyId;
use super::ring::{Fail, Ring};

/// Elements of such a maximum.
const FEW: usize = 4;

impl Ring {
    /// match `q < 0 ? x : y` where `d = x - y` is `max(E)`, one element of E is `f * q` with f > 0, and the others
    /// are never positive; result `min(x, y)`; because where q < 0 all of E is at most 0, hence x <= y,
    /// and elsewhere `f * q` is at least 0, hence x >= y.
    ///
    /// With `-f * q` in E the result is `max(x, y)`, by the same reasoning the other way round, and with
    /// `d = -max(E)` the two change places.
    ///
    /// True for the minimum, false for the maximum.
    pub(super) fn chooses_clamp(&mut self, q: PolyId, d: PolyId) -> Result<Option<bool>, Fail> {
        if self.polys.flags(d) & flag::CHOICE == 0 {
            return Ok(None);
        }
        if let Some(least) = self.follows_one(q, d)? {
            return Ok(Some(least));
        }
        let n = self.negate(d)?;
        Ok(self.follows_one(q, n)?.map(|least| !least))
    }

    /// Whether `d` is `max(E)` with `f * q` (true) or `-f * q` (false) in E and the other elements never positive.
    fn follows_one(&mut self, q: PolyId, d: PolyId) -> Result<Option<bool>, Fail> {
        let Some((i, set)) = self.max_term(d) else {
            return Ok(None);
        };
        if set.len() > FEW || set.iter().any(|p| p.is_infinite()) {
            return Ok(None);
        }
        let mut rest = self.polys.get(d).to_vec();
        let k = rest.remove(i).coef;
        let rest = self.intern(&rest);
        let mut found = None;
        for s in set {
            let e = self.add_scaled(rest, k, s)?;
            let e = self.identify(e)?;
            if self.poly_sign(e).is_nonpos() {
                continue;
            }
            if found.is_some() {
                return Ok(None);
            }
            if self.sign_part(e, false)? == q {
                found = Some(true);
                continue;
            }
            let n = self.negate(e)?;
            if self.sign_part(n, false)? != q {
                return Ok(None);
            }
            found = Some(false);
        }
        Ok(found)
    }
}
