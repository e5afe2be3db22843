//! Pairs that have equal values, pairs that must not, and the bound on the error.

use super::*;
use crate::norm::tests::Build;
use crate::term::Fun;

#[track_caller]
fn decide(b: &Build, x: TermId, y: TermId) -> bool {
    let a = equal(&b.s, &[(x, y)], &Limits::default()).expect("a bound");
    assert!(a.error <= ERROR, "{a:?}");
    a.equal[0]
}

#[test]
fn fields() {
    let mut b = Build::default();
    let (x, y, z) = (b.x(0, 0), b.x(0, 1), b.x(0, 2));
    let (s, d) = (b.add(x, y), b.sub(x, y));
    let p = b.mul(s, d);
    let (xx, yy) = (b.mul(x, x), b.mul(y, y));
    let q = b.sub(xx, yy);
    assert!(decide(&b, p, q));
    let r = b.add(q, z);
    assert!(!decide(&b, p, r));
    // (x*x - y*y) / (x - y) is x + y where it is defined.
    let f = b.div(q, d);
    assert!(decide(&b, f, s));
    assert!(!decide(&b, f, d));
    let third = b.q(1, 3);
    let (a, c) = (b.mul(x, third), b.q(3, 1));
    let a = b.mul(a, c);
    assert!(decide(&b, a, x));
}

#[test]
fn powers() {
    let mut b = Build::default();
    let (x, y, z) = (b.x(0, 0), b.x(0, 1), b.x(0, 2));
    let one = b.q(1, 1);
    let s = b.add(x, y);
    let s = b.add(s, one);
    let whole = b.fun(Fun::Exp2, s);
    let (ex, ey) = (b.fun(Fun::Exp2, x), b.fun(Fun::Exp2, y));
    let parts = b.mul(ex, ey);
    assert!(!decide(&b, whole, parts));
    let two = b.q(2, 1);
    let parts = b.mul(parts, two);
    assert!(decide(&b, whole, parts));
    // Halves of 1 make 1, and products are multiplied out.
    let half = b.q(1, 2);
    let h = b.add(x, half);
    let e = b.fun(Fun::Exp2, h);
    let e = b.mul(e, e);
    let xx = b.add(x, x);
    let xx = b.add(xx, one);
    let f = b.fun(Fun::Exp2, xx);
    assert!(decide(&b, e, f));
    let sz = b.mul(s, z);
    let e = b.fun(Fun::Exp2, sz);
    let (xz, yz) = (b.mul(z, x), b.mul(z, y));
    let l = b.add(z, yz);
    let l = b.add(l, xz);
    let f = b.fun(Fun::Exp2, l);
    assert!(decide(&b, e, f));
    let l = b.add(l, xz);
    let g = b.fun(Fun::Exp2, l);
    assert!(!decide(&b, e, g));
    // An exponential in an exponent is an atom.
    let (p, q) = (b.fun(Fun::Exp2, e), b.fun(Fun::Exp2, f));
    assert!(decide(&b, p, q));
    let q = b.fun(Fun::Exp2, g);
    assert!(!decide(&b, p, q));
}

#[test]
fn atoms() {
    let mut b = Build::default();
    let (x, y, z) = (b.x(0, 0), b.x(0, 1), b.x(0, 2));
    let (xy, zy) = (b.max(x, y), b.max(z, y));
    let (l, r) = (b.max(xy, z), b.max(zy, x));
    assert!(decide(&b, l, r));
    assert!(!decide(&b, l, xy));
    let (nx, ny) = (b.s.neg(x), b.s.neg(y));
    let m = b.s.min(nx, ny);
    let m = b.s.neg(m);
    assert!(decide(&b, m, xy));
    let (a, n) = (b.fun(Fun::Abs, x), b.max(x, nx));
    assert!(decide(&b, a, n));
    let (s, t) = (b.add(x, y), b.add(y, x));
    let (p, q) = (b.mul(s, z), b.mul(z, t));
    let (f, g) = (b.fun(Fun::Sin, p), b.fun(Fun::Sin, q));
    assert!(decide(&b, f, g));
    let g = b.fun(Fun::Cos, q);
    assert!(!decide(&b, f, g));
    let (r, i) = (b.fun(Fun::Sqrt, xy), b.fun(Fun::Rsqrt, xy));
    let one = b.q(1, 1);
    let j = b.div(one, r);
    assert!(decide(&b, i, j));
}

/// Softmax of a row, plain and with the maximum of each prefix taken out on the way.
#[test]
fn softmax_of_a_long_row() {
    let mut b = Build::default();
    let x: Vec<TermId> = (0..200).map(|i| b.x(0, i)).collect();
    let e: Vec<TermId> = x.iter().map(|x| b.exp(*x)).collect();
    let sum = b.total(&e);
    let plain = b.div(e[0], sum);
    let (mut max, mut sum) = (x[0], b.q(1, 1));
    for x in &x[1..] {
        let new = b.max(max, *x);
        let (d, e) = (b.sub(max, new), b.sub(*x, new));
        let (d, e) = (b.exp(d), b.exp(e));
        sum = b.mul(sum, d);
        sum = b.add(sum, e);
        max = new;
    }
    let first = b.sub(x[0], max);
    let first = b.exp(first);
    let online = b.div(first, sum);
    assert!(decide(&b, plain, online));
    let second = b.sub(x[1], max);
    let second = b.exp(second);
    let wrong = b.div(second, sum);
    assert!(!decide(&b, plain, wrong));
}

/// A thousand and more quotients with one denominator are one fraction.
#[test]
fn many_quotients_by_one_sum() {
    let mut b = Build::default();
    let x: Vec<TermId> = (0..1500).map(|i| b.x(0, i)).collect();
    let e: Vec<TermId> = x.iter().map(|x| b.fun(Fun::Exp2, *x)).collect();
    let sum = b.total(&e);
    let mut parts = Vec::new();
    let mut whole = Vec::new();
    for (i, e) in e.iter().enumerate() {
        let v = b.x(1, i as u64);
        let p = b.div(*e, sum);
        parts.push(b.mul(p, v));
        whole.push(b.mul(v, *e));
    }
    let (p, q) = (b.total(&parts), b.total(&whole));
    let q = b.div(q, sum);
    assert!(decide(&b, p, q));
}

/// The forms of these have more terms than there are atoms in the universe.
#[test]
fn products_of_many_sums() {
    let mut b = Build::default();
    let (mut p, mut q, mut r) = (b.q(1, 1), b.q(1, 1), b.q(1, 1));
    for i in 0..300 {
        let (x, y) = (b.x(0, i), b.x(1, i));
        let (s, d) = (b.add(x, y), b.sub(x, y));
        p = b.mul(p, s);
        p = b.mul(p, d);
        let (xx, yy) = (b.mul(x, x), b.mul(y, y));
        let f = b.sub(xx, yy);
        q = b.mul(f, q);
        let f = match i {
            150 => b.add(xx, yy),
            _ => f,
        };
        r = b.mul(f, r);
    }
    assert!(decide(&b, p, q));
    assert!(!decide(&b, p, r));
}

/// No prime is known in advance whose multiples kernels could hold.
#[test]
fn coefficients_that_agree_modulo_a_prime() {
    let mut b = Build::default();
    let x = b.x(0, 0);
    for p in [
        2_305_843_009_213_690_799i64,
        (1 << 61) - 1,
        1_152_921_504_606_846_883,
    ] {
        let (c, d) = (b.q(p, 1), b.q(2 * p, 1));
        let (cx, dx) = (b.mul(c, x), b.mul(d, x));
        assert!(!decide(&b, cx, dx));
    }
}

#[test]
fn what_has_no_value() {
    let mut b = Build::default();
    let x = b.x(0, 0);
    let zero = b.sub(x, x);
    let inf = b.s.infinity(false);
    let quotient = b.div(x, zero);
    let y = b.x(0, 1);
    let shifted = b.add(quotient, y);
    for t in [inf, shifted] {
        let a = equal(&b.s, &[(t, t)], &Limits::default()).expect("a bound");
        assert_eq!(a.equal, [false]);
    }
}

/// Constants with long fractions in exponents make the degree, and so the number of points, large.
#[test]
fn long_exponents_take_more_points_or_none() {
    let mut b = Build::default();
    let x = b.x(0, 0);
    let points = |b: &mut Build, bits: u32| {
        let c = b.q((1i64 << bits) + 1, 1i64 << bits);
        let cx = b.mul(c, x);
        let (e, f) = (b.fun(Fun::Exp2, cx), b.fun(Fun::Exp2, x));
        equal(&b.s, &[(e, f)], &Limits::default()).map(|a| (a.equal[0], a.points))
    };
    let few = points(&mut b, 10).expect("a bound");
    let more = points(&mut b, 44).expect("a bound");
    assert!(!few.0 && !more.0 && few.1 < more.1, "{few:?} {more:?}");
    assert_eq!(points(&mut b, 60), None);
}
