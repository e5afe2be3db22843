//! Polynomials of degree two by their derivatives, against canonical forms.

use proptest::prelude::*;

use super::Build;
use crate::norm::{Equality, Polynomials};
use crate::term::TermId;

/// A program over some inputs: each step adds, subtracts, multiplies or scales two values before it.
fn build(b: &mut Build, steps: &[(u8, u16, u16)], swapped: bool) -> Vec<TermId> {
    let mut values: Vec<TermId> = (0..4).map(|i| b.x(0, i)).collect();
    values.push(b.q(3, 7));
    for &(op, i, j) in steps {
        let of = |k: u16| values[(k as usize * values.len()) >> 16];
        let (x, y) = match swapped {
            true => (of(j), of(i)),
            false => (of(i), of(j)),
        };
        let new = match op % 5 {
            0 | 1 => b.add(x, y),
            2 => {
                let minus = b.s.neg(of(j));
                b.add(of(i), minus)
            }
            3 => b.mul(x, y),
            _ => {
                let n = b.q(i64::from(op) + 1, 1);
                b.div(of(i), n)
            }
        };
        values.push(new);
    }
    values
}

/// What is said of two terms, where both are of degree two.
fn found(b: &Build, x: TermId, y: TermId) -> Option<bool> {
    let mut all = Polynomials::of(&b.s, &[x, y])?;
    if !all.is_quadratic(x) || !all.is_quadratic(y) {
        return None;
    }
    let first = all.first_equal(&[x, y]);
    Some(first[0] == first[1])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    /// The answer is that of the canonical forms, in both directions, for programs and for others with parts exchanged or
    /// a part added.
    #[test]
    fn derivatives_decide_as_forms_do(
        steps in prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 1..14),
        other in prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 0..3),
    ) {
        let mut b = Build::default();
        let one = build(&mut b, &steps, false);
        let two = build(&mut b, &steps, true);
        let more: Vec<_> = steps.iter().chain(&other).copied().collect();
        let three = build(&mut b, &more, true);
        let last = |v: &[TermId]| v[v.len() - 1];
        let all = [last(&one), last(&two), last(&three), one[one.len() / 2]];
        for x in all {
            for y in all {
                if let Some(equal) = found(&b, x, y) {
                    prop_assert_eq!(equal, b.equal(x, y) == Equality::Equal);
                }
            }
        }
    }
}

/// The sum of squared deviations by Welford's recurrence; with `stale` the mean of one element is left out.
fn welford(b: &mut Build, n: u64, stale: Option<u64>) -> TermId {
    let (mut mean, mut squares) = (b.q(0, 1), b.q(0, 1));
    for i in 0..n {
        let x = b.x(0, i);
        let d = b.sub(x, mean);
        let count = b.q(i as i64 + 1, 1);
        let step = b.div(d, count);
        if stale != Some(i) {
            mean = b.add(mean, step);
        }
        let e = b.sub(x, mean);
        let square = b.mul(d, e);
        squares = b.add(squares, square);
    }
    squares
}

/// The same in two passes.
fn two_passes(b: &mut Build, n: u64) -> TermId {
    let x: Vec<TermId> = (0..n).map(|i| b.x(0, i)).collect();
    let sum = b.total(&x);
    let count = b.q(n as i64, 1);
    let mean = b.div(sum, count);
    let d: Vec<TermId> = x.iter().map(|&x| b.sub(x, mean)).collect();
    let squares: Vec<TermId> = d.iter().map(|&d| b.mul(d, d)).collect();
    b.total(&squares)
}

#[test]
fn a_recurrence_of_a_variance_is_the_variance() {
    let mut b = Build::default();
    let (one, two) = (welford(&mut b, 500, None), two_passes(&mut b, 500));
    assert_eq!(found(&b, one, two), Some(true));
    for i in [1, 250, 499] {
        let wrong = welford(&mut b, 500, Some(i));
        assert_eq!(found(&b, wrong, two), Some(false), "{i}");
    }
}
