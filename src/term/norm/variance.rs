//! Signs of sums of squares before they are multiplied out.
//!
//! Problem: `mean(s * s) - mean(s)^2` is not negative whatever the `s` are, and kernels clamp it to 0 before they take
//! its root. Where the `s` are sums themselves (a matrix product that is normalised afterwards), what they
//! multiply out to no longer shows it (`quadratic.rs` reads such polynomials), and of many elements it is large.
//!
//! How: the terms that are squared with a positive factor are taken as they are; every other product is a product of
//! linear forms over those, and is paid for by squares, by Gershgorin's theorem as in `quadratic.rs`. A product of forms
//! L and M needs, of the square of s, `(|L_s| * sum |M| + |M_s| * sum |L|) / 2`, so a variance of n elements takes n steps.
//!
//! Soundness: what is left of each square is at least 0. Terms that may be infinite are not looked at.
//! What is not claimed: anything of forms that are not diagonally dominant in the terms that they square.

use std::collections::BTreeMap;

use num_traits::Signed;
use rustc_hash::FxHashSet;

use super::Sign;
use super::quadratic::Squares;
use super::rat::Rat;
use super::sweep::Normalizer;
use crate::term::{Term, TermId, pairs};

/// Terms that are looked at for a square.
const GLANCE: usize = 1 << 10;

/// Summands of a form.
const LARGEST: usize = 1 << 16;

/// A sum: a constant, terms with factors, and products with factors.
#[derive(Default)]
struct QuadraticSum {
    constant: Option<Rat>,
    linear: Vec<(TermId, Rat)>,
    products: Vec<(Rat, TermId, TermId)>,
}

impl Normalizer<'_> {
    /// Whether a term is a sum of squares and of what they pay for, so that it is not negative.
    pub fn is_sum_of_squares(&mut self, t: TermId) -> bool {
        self.square_sign(t).is_nonneg()
    }

    /// The signs of a term that is a sum of squares and of what they pay for; all signs if it is not seen to be.
    pub(super) fn square_sign(&mut self, t: TermId) -> Sign {
        if !self.has_square(t) {
            return Sign::ALL;
        }
        let Some(form) = self.form(t, &FxHashSet::default()) else {
            return Sign::ALL;
        };
        if self.ring.charge(form.products.len()).is_err() {
            return Sign::ALL;
        }
        let squared: FxHashSet<TermId> = (form.products.iter())
            .filter(|(k, a, b)| a == b && !k.is_negative())
            .map(|p| p.1)
            .collect();
        self.dominated(form, &squared).unwrap_or(Sign::ALL)
    }

    /// match `max(v, c)` with c <= 0 where v is a sum of squares; result `v`; because v >= 0 >= c.
    pub(super) fn clamps_squares(&mut self, a: TermId, b: TermId) -> Option<TermId> {
        for (v, c) in [(a, b), (b, a)] {
            if let Term::Const(c) = self.store.get(c)
                && !self.store.constant(c).is_positive()
                && self.square_sign(v).is_nonneg()
            {
                return Some(v);
            }
        }
        None
    }

    /// match `v < c` with c <= 0 where v is a sum of squares; result false; because v >= 0 >= c.
    pub(super) fn is_below_squares(&mut self, v: TermId, c: TermId) -> bool {
        matches!(self.store.get(c), Term::Const(c) if !self.store.constant(c).is_positive())
            && self.square_sign(v).is_nonneg()
    }

    /// True if a square is among the first summands. This is what makes asking cheap where the answer is no.
    fn has_square(&self, t: TermId) -> bool {
        let mut stack = vec![t];
        let mut seen = FxHashSet::default();
        while let Some(t) = stack.pop() {
            if !seen.insert(t) || seen.len() > GLANCE {
                continue;
            }
            match self.store.get(t) {
                Term::Mul(a, b) if a == b => return true,
                Term::Add(a, b) => stack.extend([a, b]),
                Term::Mul(a, b) if self.is_number(a) || self.is_number(b) => stack.extend([a, b]),
                Term::Neg(a) | Term::Div(a, _) => stack.push(a),
                Term::Sum(list) => {
                    for (a, b) in pairs(list) {
                        if a == b {
                            return true;
                        }
                        if self.is_number(a) && seen.len() + stack.len() < GLANCE {
                            stack.push(b);
                        } else if self.is_number(b) && seen.len() + stack.len() < GLANCE {
                            stack.push(a);
                        }
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn is_number(&self, t: TermId) -> bool {
        matches!(self.store.get(t), Term::Const(_))
    }

    fn number(&self, t: TermId) -> Option<Rat> {
        match self.store.get(t) {
            Term::Const(c) => Some(Rat::from_big(self.store.constant(c))),
            _ => None,
        }
    }

    /// A term as a sum, down to the terms of `keep` and to what is no sum. Users come before operands,
    /// so that each term is met once, with all its factors added up.
    fn form(&mut self, t: TermId, keep: &FxHashSet<TermId>) -> Option<QuadraticSum> {
        let mut form = QuadraticSum::default();
        let mut open: BTreeMap<TermId, Rat> = BTreeMap::from([(t, Rat::ONE)]);
        let add = |open: &mut BTreeMap<TermId, Rat>, t: TermId, k: Rat| {
            let sum = open.entry(t).or_insert(Rat::int(0));
            *sum = sum.add(&k);
        };
        let mut constant = Rat::int(0);
        while let Some((t, k)) = open.pop_last() {
            if form.linear.len() + form.products.len() + open.len() > LARGEST {
                return None;
            }
            if k == Rat::int(0) {
                // A term that cancels is still to be defined and finite, which is another question.
                continue;
            }
            if keep.contains(&t) {
                form.linear.push((t, k));
                continue;
            }
            match self.store.get(t) {
                Term::Const(_) => constant = constant.add(&k.mul(&self.number(t)?)),
                Term::Add(a, b) => {
                    add(&mut open, a, k.clone());
                    add(&mut open, b, k);
                }
                Term::Neg(a) => add(&mut open, a, k.neg()),
                Term::Div(a, b) if self.is_number(b) => {
                    let over = self.number(b)?.recip()?;
                    add(&mut open, a, k.mul(&over));
                }
                Term::Mul(a, b) => match (self.number(a), self.number(b)) {
                    (Some(c), _) => add(&mut open, b, k.mul(&c)),
                    (_, Some(c)) => add(&mut open, a, k.mul(&c)),
                    _ => form.products.push((k, a, b)),
                },
                Term::Sum(list) => {
                    for (a, b) in pairs(list) {
                        match (self.number(a), self.number(b)) {
                            (Some(c), _) => add(&mut open, b, k.mul(&c)),
                            (_, Some(c)) => add(&mut open, a, k.mul(&c)),
                            _ => form.products.push((k.clone(), a, b)),
                        }
                    }
                }
                _ => form.linear.push((t, k)),
            }
        }
        form.constant = (constant != Rat::int(0)).then_some(constant);
        Some(form)
    }

    /// The signs of a form, if what is left of each square is at least 0.
    fn dominated(&mut self, form: QuadraticSum, squared: &FxHashSet<TermId>) -> Option<Sign> {
        let half = Rat::Small(1, 2);
        let mut squares: Squares<Option<TermId>> = Squares::default();
        let mut rest = Sign::NONNEG;
        if let Some(c) = &form.constant {
            squares.add(None, c);
        }
        for (t, k) in &form.linear {
            let sign = self.finite_sign(*t)?;
            let sign = Sign::of_factor(k).times(sign);
            if sign.is_nonneg() {
                rest = rest.plus(sign);
                continue;
            }
            let cost = k.abs().mul(&half).neg();
            squares.add(Some(*t), &cost);
            squares.add(None, &cost);
        }
        for (k, a, b) in &form.products {
            if a == b && squared.contains(a) {
                self.finite_sign(*a)?;
                squares.add(Some(*a), k);
                continue;
            }
            let (x, y) = (self.over(*a, squared)?, self.over(*b, squared)?);
            let sum = |l: &[(Option<TermId>, Rat)]| {
                l.iter().fold(Rat::int(0), |s, (_, k)| s.add(&k.abs()))
            };
            let (of_x, of_y) = (sum(&x), sum(&y));
            let cost = k.abs().mul(&half).neg();
            for (list, other) in [(&x, &of_y), (&y, &of_x)] {
                let each = cost.mul(other);
                for (t, k) in list {
                    squares.add(*t, &each.mul(&k.abs()));
                }
            }
        }
        squares.with(None, rest)
    }

    /// A linear form over the terms that are squared; `None` among the terms is the factor 1.
    fn over(
        &mut self,
        t: TermId,
        squared: &FxHashSet<TermId>,
    ) -> Option<Vec<(Option<TermId>, Rat)>> {
        let form = self.form(t, squared)?;
        self.ring.charge(form.linear.len()).ok()?;
        // Anything else has no square that could pay for it.
        let known = |t: &TermId| squared.contains(t);
        if !form.products.is_empty() || !form.linear.iter().all(|(t, _)| known(t)) {
            return None;
        }
        for (t, _) in &form.linear {
            self.finite_sign(*t)?;
        }
        let linear = form.linear.into_iter().map(|(t, k)| (Some(t), k));
        Some(linear.chain(form.constant.map(|c| (None, c))).collect())
    }
}
