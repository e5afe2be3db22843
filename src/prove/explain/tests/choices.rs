//! Tables, sums with cases, conversions, and choices among inputs.

use super::*;

/// The values of a table at an integer of the input, as nested choices in an order or, with `sum`, as
/// the sum of those that are taken; `wrong` changes one.
fn table(
    order: [usize; 4],
    sum: bool,
    wrong: Option<usize>,
) -> impl FnOnce(&mut TermStore, [TermId; 4]) -> Vec<TermId> {
    move |s, x| {
        let n = s.bytes(IN, 16, 32);
        let two = s.integer(2);
        let mut t = s.integer(0);
        for i in order {
            let c = s.bits(32, 3 * i as u64);
            let p = s.icmp(crate::term::ICmp::Eq, n, c);
            let value = match wrong == Some(i) {
                true => x[i],
                false => s.mul(x[i], two),
            };
            t = match sum {
                true => {
                    let zero = s.integer(0);
                    let one = s.select(p, value, zero);
                    s.add(t, one)
                }
                false => s.select(p, value, t),
            };
        }
        let twice = s.mul(t, t);
        vec![t, twice]
    }
}

#[test]
fn a_table_of_choices_is_a_sum_in_any_order() {
    for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 0, 1]] {
        for (a, b) in [(true, false), (false, false), (false, true), (true, true)] {
            let d = run(table([0, 1, 2, 3], a, None), table(order, b, None));
            assert_eq!(d.verdict, Verdict::Equivalent, "{order:?} {a} {b}");
            let d = run(table([0, 1, 2, 3], a, None), table(order, b, Some(2)));
            assert_ne!(d.verdict, Verdict::Equivalent, "{order:?} {a} {b}");
        }
    }
}

#[test]
fn an_integer_is_what_it_equals() {
    // n = 2 ? x : 0 against n = 2 ? x * (n / 2) : 0, as numbers.
    let plain = |factor: bool| {
        move |s: &mut TermStore, [x, ..]: [TermId; 4]| {
            let (n, two, zero) = (s.bytes(IN, 16, 32), s.bits(32, 2), s.integer(0));
            let p = s.icmp(crate::term::ICmp::Eq, n, two);
            let half = s.rational(ratio(1, 2));
            let n = s.of_int(false, n);
            let n = s.mul(n, half);
            let y = if factor { s.mul(x, n) } else { x };
            vec![s.select(p, y, zero)]
        }
    };
    assert_eq!(run(plain(false), plain(true)).verdict, Verdict::Equivalent);
}

/// A loss over all inputs with cases for each: by branches, or by clamps.
fn loss(by_clamps: bool, wrong: bool) -> impl FnOnce(&mut TermStore, [TermId; 4]) -> Vec<TermId> {
    move |s, x| {
        let (half, one) = (s.rational(ratio(1, 2)), s.integer(1));
        let mut sum = s.integer(0);
        for (i, v) in x.into_iter().enumerate() {
            let m = s.fun(crate::term::Fun::Abs, v);
            let small = s.min(m, one);
            let t = match by_clamps {
                true => {
                    let h = s.mul(small, half);
                    let d = s.sub(m, h);
                    s.mul(small, d)
                }
                false => {
                    let (p, q) = (s.rcmp(crate::term::RCmp::Lt, m, one), s.mul(v, v));
                    let q = s.mul(q, half);
                    let linear = s.sub(m, half);
                    s.select(p, q, linear)
                }
            };
            let t = if wrong && i == 2 { s.mul(t, half) } else { t };
            sum = s.add(sum, t);
        }
        vec![s.mul(sum, half)]
    }
}

#[test]
fn sums_are_equal_summand_by_summand() {
    assert_eq!(
        run(loss(false, false), loss(true, false)).verdict,
        Verdict::Equivalent
    );
    assert_eq!(
        run(loss(false, false), loss(true, true)).verdict,
        Verdict::NotEquivalent
    );
    assert_eq!(
        run(loss(true, true), loss(false, false)).verdict,
        Verdict::NotEquivalent
    );
}

#[test]
fn conversions_keep_the_order() {
    use crate::term::{Fun, ICmp};
    // max(min(int(round(x)), 127), -128) against int(max(min(round(x), 127), -128)).
    let after = |hi: u64| {
        move |s: &mut TermStore, [x, ..]: [TermId; 4]| {
            let (hi, lo) = (s.bits(32, hi), s.bits(32, (-128i64) as u64));
            let n = s.fun(Fun::RoundEven, x);
            let n = s.clamp(32, true, n);
            let p = s.icmp(ICmp::SLt, n, hi);
            let n = s.select(p, n, hi);
            let p = s.icmp(ICmp::SLt, lo, n);
            let n = s.select(p, n, lo);
            vec![s.of_int(true, n)]
        }
    };
    let before = |s: &mut TermStore, [x, ..]: [TermId; 4]| {
        let (hi, lo) = (s.integer(127), s.integer(-128));
        let n = s.fun(Fun::RoundEven, x);
        let n = s.min(n, hi);
        let n = s.max(lo, n);
        let n = s.fun(Fun::Trunc, n);
        let n = s.clamp(32, true, n);
        vec![s.of_int(true, n)]
    };
    assert_eq!(run(before, after(127)).verdict, Verdict::Equivalent);
    assert_eq!(run(before, after(126)).verdict, Verdict::NotEquivalent);
}

#[test]
fn a_root_has_the_sign_of_its_argument() {
    use crate::term::{Fun, RCmp};
    // 0 < sqrt(a^2 + b^2) ? c : 0 against 0 < a^2 + b^2 ? c : 0.
    let guarded = |root: bool| {
        move |s: &mut TermStore, [a, b, c, _]: [TermId; 4]| {
            let zero = s.integer(0);
            let q = s.sum(&[(a, a), (b, b)]);
            let q = if root { s.fun(Fun::Sqrt, q) } else { q };
            let p = s.rcmp(RCmp::Lt, zero, q);
            vec![s.select(p, c, zero)]
        }
    };
    assert_eq!(
        run(guarded(true), guarded(false)).verdict,
        Verdict::Equivalent
    );
}

#[test]
fn choices_among_inputs_are_decided() {
    let two = |wrong: bool, by_select: bool| {
        move |s: &mut TermStore, x: [TermId; 4]| {
            let (mut first, mut second) = (s.infinity(true), s.infinity(true));
            for v in x {
                if by_select {
                    let p = s.rcmp(crate::term::RCmp::Lt, first, v);
                    let q = s.rcmp(crate::term::RCmp::Lt, second, v);
                    let rest = s.select(q, v, second);
                    second = s.select(p, first, rest);
                    first = s.select(p, v, first);
                } else {
                    let low = s.min(first, v);
                    second = s.max(if wrong { v } else { low }, second);
                    first = s.max(first, v);
                }
            }
            vec![first, second]
        }
    };
    assert_eq!(
        run(two(false, true), two(false, false)).verdict,
        Verdict::Equivalent
    );
    assert_eq!(
        run(two(false, true), two(true, false)).verdict,
        Verdict::NotEquivalent
    );
}

#[test]
fn a_boundary_of_products_is_an_equation() {
    // max(1 - a b, 0)^2 against (0 < 1 - a b ? (1 - a b)^2 : 0).
    let hinge = |by_maximum: bool, margin: i64| {
        move |s: &mut TermStore, [a, b, ..]: [TermId; 4]| {
            let (zero, one, p) = (s.integer(0), s.integer(margin), s.mul(a, b));
            let t = s.sub(one, p);
            let m = s.max(t, zero);
            let (square, other) = (s.mul(t, t), s.mul(m, m));
            let p = s.rcmp(crate::term::RCmp::Lt, zero, t);
            vec![if by_maximum {
                other
            } else {
                s.select(p, square, zero)
            }]
        }
    };
    assert_eq!(
        run(hinge(true, 1), hinge(false, 1)).verdict,
        Verdict::Equivalent
    );
    assert_eq!(
        run(hinge(true, 1), hinge(false, 2)).verdict,
        Verdict::NotEquivalent
    );
}
