//! What the user says of floats (`--assume 'KEY in A..B'`): each element lies between two numbers of its format.
//!
//! The fact is about input elements ([`Term::Elem`]) alone. Whatever bounds a real asks for the bounds of elements here:
//! those of reals, those that hold for what the machine computes, signs of canonical forms, and the linear arithmetic of
//! cases. Inputs at which two reals are compared ([`samples`](super::samples)) lie in the ranges too: an order that no
//! input has must not pass for one that data decide.
//!
//! Sound: an element is neither infinite nor not a number where something is said of it, and both ends are included.
//! Whoever looks for an input has to keep the facts (`decide::refute::links`).

use std::cmp::Ordering;

use num_rational::BigRational;
use num_traits::Zero;

use super::overflow::Narrow;
use super::{ArrayId, RCmp, Term, TermId, TermStore};
use crate::number;
use crate::scalar::{Fmt, Rnd};

/// A range of the floats of an array, its ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The array.
    pub array: ArrayId,
    /// The format of its elements.
    pub fmt: Fmt,
    /// The bits of the least and of the greatest element.
    ends: [u64; 2],
}

/// How far apart points of a range lie that take the place of others: no fraction of few digits.
const TURN: f64 = 0.381_966_011_250_105;

/// Magnitudes from which on a computed number may be beyond its format.
const LARGEST: f64 = 1e30;

impl Numbers {
    /// A range between two numbers, each read as the one of the format that is nearest to it; `None` if the format has
    /// no such numbers.
    pub fn new(array: ArrayId, fmt: Fmt, (lo, hi): (f64, f64)) -> Option<Numbers> {
        let rounded = |v: f64| nearest(fmt, v);
        let ends = [rounded(lo)?, rounded(hi)?];
        Some(Numbers { array, fmt, ends })
    }

    /// The least and the greatest element.
    pub fn ends(&self) -> (f64, f64) {
        let [lo, hi] = self.ends.map(|b| number::to_double(self.fmt, b));
        (lo, hi)
    }

    /// True for the bits of a number in the range.
    pub fn allows(&self, bits: u64) -> bool {
        let (lo, hi) = self.ends();
        let v = number::to_double(self.fmt, bits);
        lo <= v && v <= hi
    }

    /// Bits of a number in the range: those that are given, if they are.
    pub fn settled(&self, bits: u64) -> u64 {
        match self.allows(bits) {
            true => bits,
            false => self.near(number::to_double(self.fmt, bits)),
        }
    }

    /// The bits of a number in the range that another one stands for: itself, rounded, if it lies there; an end for an
    /// infinity.
    pub fn near(&self, v: f64) -> u64 {
        let (lo, hi) = self.ends();
        let inside = match lo <= v && v <= hi {
            true => v,
            false if v.is_infinite() => return self.ends[usize::from(v > 0.0)],
            false => {
                let turn = (v.abs() * TURN).fract();
                let turn = if turn.is_finite() { turn } else { 0.0 };
                // Halves, for the size of the range may be beyond a double.
                2.0 * (lo / 2.0 + turn * (hi / 2.0 - lo / 2.0))
            }
        };
        let found = nearest(self.fmt, inside).filter(|&b| self.allows(b));
        found.unwrap_or(self.ends[0])
    }

    /// Narrows it to what another one says too; false if that is nothing.
    fn meet_with(&mut self, other: Numbers) -> bool {
        let ((lo, hi), (low, high)) = (self.ends(), other.ends());
        if low > lo {
            self.ends[0] = other.ends[0];
        }
        if high < hi {
            self.ends[1] = other.ends[1];
        }
        let (lo, hi) = self.ends();
        lo <= hi
    }

    /// The same, of facts about one array.
    pub(super) fn meet(&mut self, other: Numbers) -> bool {
        self.fmt == other.fmt && self.meet_with(other)
    }
}

/// The number of a format that is nearest, among the finite ones.
fn nearest(fmt: Fmt, v: f64) -> Option<u64> {
    let bits = number::decode(Fmt::F64, v.to_bits()).encode(fmt, Rnd::Rn)?;
    match number::to_double(fmt, bits) {
        x if x.is_nan() => None,
        x if x.is_infinite() => Some(number::largest(fmt, x < 0.0)),
        _ => Some(bits),
    }
}

impl TermStore {
    /// The range of an input element, if something is said of it.
    pub(crate) fn numbers(&self, t: TermId) -> Option<&Numbers> {
        if self.facts.numbers().is_empty() {
            return None;
        }
        let Term::Elem { array, fmt, off } = self.get(t) else {
            return None;
        };
        let known = self.facts.numbers_of(self.array_of(array))?;
        let bytes = i64::from(fmt.bits()) / 8;
        let whole = known.fmt == fmt && super::gather::distance(off).rem_euclid(bytes.max(1)) == 0;
        // Of a place, the elements are those of the array: it is aligned to them.
        let place = self.place_of(array);
        let aligned = place.is_none_or(|p| p.form.iter().all(|f| f.1 % bytes.max(1) == 0));
        (whole && aligned).then_some(known)
    }

    /// Bounds of an input element, if something is said of it.
    pub(super) fn element_ends(&self, t: TermId) -> Option<(f64, f64)> {
        Some(self.numbers(t)?.ends())
    }

    /// The same as rationals.
    pub fn element_range(&self, t: TermId) -> Option<(BigRational, BigRational)> {
        let (lo, hi) = self.element_ends(t)?;
        BigRational::from_float(lo).zip(BigRational::from_float(hi))
    }

    /// Bounds of a number for the reals and for what the machine has, where facts about floats may give some.
    pub(super) fn ends_by_facts(&self, t: TermId) -> Option<(f64, f64)> {
        // What is no number has no bounds.
        if self.facts.numbers().is_empty() || !self.is_total(t) {
            return None;
        }
        if let Some(n) = self.numbers(t) {
            return Some(n.ends());
        }
        // Whether a format of small range is on the way is not known here.
        let narrow = Narrow {
            small: true,
            ..Narrow::default()
        };
        let (lo, hi) = self.machine_ends(t, &narrow);
        // What may be beyond a format is bounded by nothing.
        let lo = if lo < -LARGEST { f64::NEG_INFINITY } else { lo };
        let hi = if hi > LARGEST { f64::INFINITY } else { hi };
        (lo.is_finite() || hi.is_finite()).then_some((lo, hi))
    }

    /// The range of the integers that the machine makes of a real, before they are cut to a type: by the facts alone.
    pub(super) fn converted_range(&self, real: TermId) -> Option<(i128, i128)> {
        let (lo, hi) = self.ends_by_facts(real)?;
        let is_small = lo >= -1e18 && hi <= 1e18;
        is_small.then(|| (lo.floor() as i128, hi.ceil() as i128))
    }

    /// The order of two numbers that facts bound: that of the first and the second wherever they are, with the equal ones
    /// among the smaller or among the larger. An end of a constant is exact.
    fn apart(&self, a: TermId, b: TermId) -> Option<(Option<Ordering>, Option<Ordering>)> {
        if self.facts.numbers().is_empty() {
            return None;
        }
        type End = Option<BigRational>;
        let ends = |t: TermId| -> Option<(End, End)> {
            match self.as_const(t) {
                Some(c) => Some((Some(c.clone()), Some(c.clone()))),
                None => {
                    let (lo, hi) = self.ends_by_facts(t)?;
                    Some((BigRational::from_float(lo), BigRational::from_float(hi)))
                }
            }
        };
        let ((lo, hi), (low, high)) = (ends(a)?, ends(b)?);
        let order = |x: End, y: End| Some(x?.cmp(&y?));
        Some((order(hi, low), order(lo, high)))
    }

    /// What facts say of the comparison of two numbers, for the reals and for the machine.
    pub(super) fn by_numbers(&self, op: RCmp, a: TermId, b: TermId) -> Option<bool> {
        use Ordering::{Equal, Greater, Less};
        // The largest first number against the least second one, and the least first against the largest second.
        let (most, least) = self.apart(a, b)?;
        match (op, most, least) {
            (RCmp::Lt, Some(Less), _) => Some(true),
            (RCmp::Lt, _, Some(Greater | Equal)) => Some(false),
            (RCmp::Le, Some(Less | Equal), _) => Some(true),
            (RCmp::Le, _, Some(Greater)) => Some(false),
            (RCmp::Eq, Some(Less), _) | (RCmp::Eq, _, Some(Greater)) => Some(false),
            (RCmp::Lt | RCmp::Le | RCmp::Eq, ..) => None,
        }
    }

    /// One of two numbers that is never above the other, and the other one.
    ///
    /// match max or min of two numbers whose ranges do not meet, or meet in one point that is not 0 / result the one that
    /// it always is / because the bounds hold for the reals and for the machine, and neither may be no number. Of two
    /// zeros an extremum chooses by their signs.
    pub(super) fn in_known_order(&self, a: TermId, b: TermId) -> Option<(TermId, TermId)> {
        let meets_at_number = |x: TermId, y: TermId| {
            let known = self.as_const(x).or(self.as_const(y));
            known.is_some_and(|c| !c.is_zero())
        };
        match self.apart(a, b)? {
            (Some(Ordering::Less), _) => Some((a, b)),
            (_, Some(Ordering::Greater)) => Some((b, a)),
            (Some(Ordering::Equal), _) if meets_at_number(a, b) => Some((a, b)),
            (_, Some(Ordering::Equal)) if meets_at_number(a, b) => Some((b, a)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::term::Fun;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};
    use crate::term::facts::Facts;

    const ARRAY: ArrayId = ArrayId(0);

    fn facts(fmt: Fmt, ends: (f64, f64)) -> Facts {
        let mut out = Facts::default();
        out.add_numbers(Numbers::new(ARRAY, fmt, ends).expect("a format with numbers"));
        out
    }

    #[test]
    fn another_number_is_in_the_range_and_a_fitting_one_stays() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -3.5,
            1e9,
            1e-40,
            -1e300,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        for fmt in [Fmt::F32, Fmt::F16, Fmt::Bf16, Fmt::F64, Fmt::E4m3] {
            for ends in [
                (0.0, 1.0),
                (-1.5, 2.0),
                (3.0, 3.0),
                (0.1, 0.1),
                (-1e300, 1e300),
            ] {
                let n = Numbers::new(ARRAY, fmt, ends).expect("a format with numbers");
                for v in numbers {
                    assert!(n.allows(n.near(v)), "{v} in {ends:?}");
                    let bits = nearest(fmt, v).unwrap_or(0);
                    let settled = n.settled(bits);
                    assert!(n.allows(settled));
                    assert!(!n.allows(bits) || settled == bits);
                }
            }
        }
    }

    /// For every element that the facts allow, a term that was made with them has the value of the one made without, and
    /// lies within its bounds.
    #[test]
    fn what_is_made_with_facts_is_what_is_made_without() {
        let ranges = [
            (0.0, 1.0),
            (-1.5, 2.0),
            (0.5, 4.0),
            (-3.0, -0.25),
            (2.0, 2.0),
        ];
        for ends in ranges {
            let built = |s: &mut TermStore| -> Vec<TermId> {
                let [x, y] = [0, 4].map(|off| s.elem(ARRAY, Fmt::F32, off));
                let mut numbers = vec![x, y];
                for c in [-2, -1, 0, 1, 2, 3] {
                    numbers.push(s.integer(c));
                }
                let (sum, product, square) = (s.add(x, y), s.mul(x, y), s.mul(x, x));
                let (root, size, power) = (
                    s.fun(Fun::Sqrt, square),
                    s.fun(Fun::Abs, x),
                    s.fun(Fun::Exp2, y),
                );
                let two = s.integer(2);
                let (most, least) = (s.max(x, two), s.min(y, two));
                numbers.extend([sum, product, square, root, size, power, most, least]);
                let mut out = numbers.clone();
                for &a in &numbers {
                    for &b in &numbers {
                        out.extend([RCmp::Lt, RCmp::Le, RCmp::Eq].map(|op| s.rcmp(op, a, b)));
                    }
                }
                out
            };
            let (mut plain, mut known) = (TermStore::new(), TermStore::new());
            known.facts = Arc::new(facts(Fmt::F32, ends));
            let (a, b) = (built(&mut plain), built(&mut known));
            let n = *known.facts.numbers_of(ARRAY).expect("the fact");
            for (p, q) in [(0.0, 0.3), (1.0, 0.7), (0.1, 1.0), (0.5, 0.5), (0.9, 0.0)] {
                let mut inputs = Inputs::default();
                for (off, at) in [(0, p), (4, q)] {
                    inputs.set(ARRAY, off, 4, n.near(ends.0 + at * (ends.1 - ends.0)));
                }
                let x = evaluate(&plain, &a, &inputs, Mode::exact(64));
                let y = evaluate(&known, &b, &inputs, Mode::exact(64));
                for ((u, v), &t) in x.iter().zip(&y).zip(&b) {
                    assert_eq!(format!("{u:?}"), format!("{v:?}"), "in {ends:?}");
                    if let Value::Exact(v) = v {
                        let bounds = known.bounds(t);
                        assert!(bounds.lo.is_none_or(|lo| lo <= *v));
                        assert!(bounds.hi.is_none_or(|hi| *v <= hi));
                    }
                }
            }
        }
    }
}
