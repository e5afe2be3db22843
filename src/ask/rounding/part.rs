//! The error of a sum of products: a part of the sum of the magnitudes of its terms, and a rest.
//!
//! The problem: relative errors of roundings, one on the other, bound the error of a sum of products by a part of the sum of
//! the magnitudes of its monomials (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", sections 3.1 and 4.2), for
//! all inputs but those on which something underflows, is flushed or overflows. The way: with g the sum of the unit roundoffs
//! on the longest way, T that sum of magnitudes and r the rest, the machine's number is off by at most g/(1-g) T + r, and T is
//! at most `size` while no input is above a magnitude that is given. What underflow and `.ftz` take goes into the rest, with
//! what later factors make of it, and whatever might overflow is not enclosed: that magnitude is the range of the bound.
//!
//! Sound: (1 + g/(1-g)) (1 + u) is at most 1 + (g+u)/(1-g-u). Sizes and rests are widened by more than the doubles lose.

use super::step::Roundoff;

/// What the doubles of this analysis may be off after an operation, as a part of the result.
const OWN: f64 = 1.0 + 1e-12;

/// The largest sum of unit roundoffs that says something: the error is below the sum of the magnitudes.
const MOST: f64 = 0.5;

/// What is known of a sum of monomials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MonomialSum {
    /// The sum of the unit roundoffs on the longest way.
    pub units: f64,
    /// The rest of the error.
    pub rest: f64,
    /// At most so large is the sum of the magnitudes of the monomials.
    pub size: f64,
}

impl MonomialSum {
    /// Of a number that is exact, and at most so large.
    pub(super) fn exact(size: f64) -> Option<MonomialSum> {
        let (units, rest) = (0.0, 0.0);
        size.is_finite()
            .then_some(MonomialSum { units, rest, size })
    }

    /// The error by the sum of the magnitudes.
    pub(super) fn share(self) -> f64 {
        OWN * self.units / (1.0 - self.units)
    }

    /// The largest magnitude of the machine's number.
    pub(super) fn reach(self) -> f64 {
        OWN * (self.size * (1.0 + self.share()) + self.rest)
    }

    /// The same where something more may be lost.
    pub(super) fn less(self, lost: f64) -> MonomialSum {
        MonomialSum {
            rest: OWN * (self.rest + lost),
            ..self
        }
    }

    /// A sum or difference.
    pub(super) fn add(self, other: MonomialSum) -> MonomialSum {
        MonomialSum {
            units: self.units.max(other.units),
            rest: OWN * (self.rest + other.rest),
            size: OWN * (self.size + other.size),
        }
    }

    /// A product; `None` if it says nothing.
    pub(super) fn mul(self, other: MonomialSum) -> Option<MonomialSum> {
        let units = self.units + other.units;
        let across = self.rest * other.reach() + other.rest * self.reach();
        let part = MonomialSum {
            units,
            rest: OWN * across,
            size: OWN * self.size * other.size,
        };
        (units < MOST).then_some(part)
    }

    /// Brought to a format; `None` if it may be too large for it, or says nothing.
    pub(super) fn rounded(self, step: &Roundoff) -> Option<MonomialSum> {
        let reach = self.reach();
        let units = self.units + step.unit;
        let part = MonomialSum {
            units,
            rest: OWN * (self.rest * (1.0 + step.unit) + step.small),
            size: self.size,
        };
        // What is not rounded is a number of the format.
        let fits = step.unit == 0.0 || reach <= step.largest;
        (fits && units < MOST).then_some(part)
    }
}
