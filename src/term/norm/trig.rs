//! Sines and cosines.
//!
//! Problem: rotary embeddings are composed, inverted and applied to differences of positions: their
//! kernels are equal by the addition theorems and sin^2 + cos^2 = 1. An angle of a few summands is
//! split into these, and a small multiple of an angle into that angle, so that both sides are
//! polynomials in the sines and cosines of the same angles; the square of a sine is replaced
//! (`expand.rs`), which makes these polynomials unique where the angles are linearly independent over the
//! rationals.
//!
//! Every rule holds for all reals.
//!
//! What is not claimed: angles of many summands, multiples that are large or no integers, and
//! angles that are fractions of each other stay as they are.

use super::poly::{PTerm, PolyId};
use super::rat::Coef;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::value::Val;
use crate::term::Fun;

/// Summands of an angle that is split.
const MAX_SUMMANDS: usize = 3;

/// The largest multiple of an angle that is split.
const MAX_MULTIPLE: i64 = 4;

/// The sine and the cosine of one angle.
type Point = (Val, Val);

impl Ring {
    /// A sine or cosine of a canonical polynomial.
    ///
    /// match `sin(a + b)`; result `sin(a) * cos(b) + cos(a) * sin(b)`; `cos(a + b)`:
    /// `cos(a) * cos(b) - sin(a) * sin(b)`; and `sin(n * a)`, `cos(n * a)` as that of n equal
    /// summands.
    pub(super) fn angle(&mut self, f: Fun, p: PolyId) -> Result<Val, Fail> {
        let p = self.identify(p)?;
        let terms: Vec<PTerm> = self.polys.get(p).to_vec();
        if terms.is_empty() || terms.len() > MAX_SUMMANDS {
            return self.opaque(f, p);
        }
        if let [t] = terms[..]
            && self.multiple(t).1.abs() == 1
        {
            return self.opaque(f, p);
        }
        if !rule(Rule::AngleAddition) {
            return self.opaque(f, p);
        }
        let mut sum: Option<Point> = None;
        for t in terms {
            let (unit, times) = self.multiple(t);
            let unit = self.single(unit);
            let (mut sine, cosine) = (self.opaque(Fun::Sin, unit)?, self.opaque(Fun::Cos, unit)?);
            if times < 0 {
                sine = self.val_times(Coef::MINUS_ONE, sine)?;
            }
            for _ in 0..times.abs() {
                sum = Some(match sum {
                    None => (sine, cosine),
                    Some(known) => self.turned(known, (sine, cosine))?,
                });
            }
        }
        match sum {
            Some((sine, _)) if f == Fun::Sin => Ok(sine),
            Some((_, cosine)) => Ok(cosine),
            None => self.opaque(f, p),
        }
    }

    /// The sine and the cosine of a sum of two angles.
    fn turned(&mut self, a: Point, b: Point) -> Result<Point, Fail> {
        let (ss, cc) = (self.val_mul(a.0, b.0)?, self.val_mul(a.1, b.1)?);
        let (sc, cs) = (self.val_mul(a.0, b.1)?, self.val_mul(a.1, b.0)?);
        let (sine, cosine) = (self.val_add(sc, cs)?, self.val_sub(cc, ss)?);
        let (sine, cosine) = (self.canon(sine)?, self.canon(cosine)?);
        Ok((self.val_of(sine), self.val_of(cosine)))
    }

    /// An angle as a multiple of another.
    fn multiple(&mut self, t: PTerm) -> (PTerm, i64) {
        match self.coefs.get(t.coef).as_integer() {
            Some(n) if n != 0 && n.abs() <= MAX_MULTIPLE => {
                let coef = Coef::ONE;
                (PTerm { coef, ..t }, n)
            }
            _ if self.coefs.is_negative(t.coef) => {
                let coef = self.coefs.neg(t.coef);
                (PTerm { coef, ..t }, -1)
            }
            _ => (t, 1),
        }
    }

    /// The square of a sine.
    ///
    /// match `sin(x)^2`; result `1 - cos(x)^2`; because of Pythagoras.
    pub(super) fn square_of_sine(&mut self, angle: PolyId) -> Result<PolyId, Fail> {
        let cosine = self.atom_mono(Atom::Fun(Fun::Cos, angle));
        let cosine = self.single(PTerm::mono(cosine));
        let square = self.poly_mul(cosine, cosine)?;
        self.add_scaled(PolyId::ONE, Coef::MINUS_ONE, square)
    }
}
