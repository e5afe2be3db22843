//! Roundings, maxima, choices, and folds of these.

use super::{Operands, Rule};
use crate::term::{Fun, RCmp};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "sign of a cube",
        pattern: "x^3 < 0 ? y : z",
        result: "x < 0 ? y : z",
        condition: "",
        because: "an odd power has the sign of its base",
        sides: |b, &Operands { x, y, z, zero, .. }| {
            let square = b.mul(x, x);
            let cube = b.mul(square, x);
            let base = b.select((RCmp::Lt, x, zero), y, z);
            (b.select((RCmp::Lt, cube, zero), y, z), base)
        },
    },
    Rule {
        name: "zero of a magnitude",
        pattern: "|x| = 0 ? y : z",
        result: "x = 0 ? y : z",
        condition: "",
        because: "only 0 has no size",
        sides: |b, &Operands { x, y, z, zero, .. }| {
            let size = b.fun(Fun::Abs, x);
            let plain = b.select((RCmp::Eq, x, zero), y, z);
            (b.select((RCmp::Eq, size, zero), y, z), plain)
        },
    },
    Rule {
        name: "rounding a size to zero",
        pattern: "trunc(|x|)",
        result: "floor(|x|)",
        condition: "",
        because: "rounding towards 0 is rounding down above 0",
        sides: |b, &Operands { x, .. }| {
            let u = b.fun(Fun::Abs, x);
            (b.fun(Fun::Trunc, u), b.fun(Fun::Floor, u))
        },
    },
    Rule {
        name: "rounding a negated size to zero",
        pattern: "trunc(-|x|)",
        result: "-floor(|x|)",
        condition: "",
        because: "rounding towards 0 is odd",
        sides: |b, &Operands { x, .. }| {
            let u = b.fun(Fun::Abs, x);
            let (m, f) = (b.neg(u), b.fun(Fun::Floor, u));
            (b.fun(Fun::Trunc, m), b.neg(f))
        },
    },
    Rule {
        name: "rounding a positive number to zero",
        pattern: "trunc(p)",
        result: "floor(p)",
        condition: "p is positive",
        because: "rounding towards 0 is rounding down above 0",
        sides: |b, &Operands { p, .. }| (b.fun(Fun::Trunc, p), b.fun(Fun::Floor, p)),
    },
    Rule {
        name: "rounding a negative number to zero",
        pattern: "trunc(-q)",
        result: "ceil(-q)",
        condition: "q is positive",
        because: "rounding towards 0 is rounding up below 0",
        sides: |b, &Operands { q, .. }| {
            let m = b.neg(q);
            (b.fun(Fun::Trunc, m), b.fun(Fun::Ceil, m))
        },
    },
    Rule {
        name: "whole part of a floor",
        pattern: "floor(x + n)",
        result: "floor(x) + n",
        condition: "n is an integer",
        because: "adding an integer moves the steps along",
        sides: |b, &Operands { x, n, .. }| {
            let (u, f) = (b.add(x, n), b.fun(Fun::Floor, x));
            (b.fun(Fun::Floor, u), b.add(f, n))
        },
    },
    Rule {
        name: "whole part of a ceiling",
        pattern: "ceil(x + n)",
        result: "ceil(x) + n",
        condition: "n is an integer",
        because: "adding an integer moves the steps along",
        sides: |b, &Operands { x, n, .. }| {
            let (u, f) = (b.add(x, n), b.fun(Fun::Ceil, x));
            (b.fun(Fun::Ceil, u), b.add(f, n))
        },
    },
    Rule {
        name: "ceiling by floor",
        pattern: "ceil(x)",
        result: "-floor(-x)",
        condition: "",
        because: "negation reverses the order",
        sides: |b, &Operands { x, .. }| {
            let m = b.neg(x);
            let f = b.fun(Fun::Floor, m);
            (b.fun(Fun::Ceil, x), b.neg(f))
        },
    },
    Rule {
        name: "maximum of multiples with a summand",
        pattern: "max(3/2 x + z, 3/2 y + z)",
        result: "3/2 max(x, y) + z",
        condition: "",
        because: "adding and scaling by a positive number keep the order",
        sides: |b, &Operands { x, y, z, .. }| {
            let k = b.q(3, 2);
            let (u, v, m) = (b.mul(k, x), b.mul(k, y), b.max(x, y));
            let (u, v, m) = (b.add(u, z), b.add(v, z), b.mul(k, m));
            (b.max(u, v), b.add(m, z))
        },
    },
    Rule {
        name: "maximum of maxima",
        pattern: "max(max(x, y), z)",
        result: "max(x, max(y, z))",
        condition: "",
        because: "the largest of all does not depend on the order",
        sides: |b, &Operands { x, y, z, .. }| {
            let (u, v) = (b.max(x, y), b.max(y, z));
            (b.max(u, z), b.max(x, v))
        },
    },
    Rule {
        name: "minimum by maximum",
        pattern: "min(x, y)",
        result: "-max(-x, -y)",
        condition: "",
        because: "negation reverses the order",
        sides: |b, &Operands { x, y, .. }| {
            let (u, v) = (b.neg(x), b.neg(y));
            let m = b.max(u, v);
            (b.s.min(x, y), b.neg(m))
        },
    },
    Rule {
        name: "size by maximum",
        pattern: "|x|",
        result: "max(x, -x)",
        condition: "",
        because: "one of them is not negative",
        sides: |b, &Operands { x, .. }| {
            let m = b.neg(x);
            (b.fun(Fun::Abs, x), b.max(x, m))
        },
    },
    Rule {
        name: "choice of the smaller",
        pattern: "x < y ? x : y",
        result: "min(x, y)",
        condition: "",
        because: "on the boundary both are equal",
        sides: |b, &Operands { x, y, .. }| (b.select((RCmp::Lt, x, y), x, y), b.s.min(x, y)),
    },
    Rule {
        name: "choice by a negated comparison",
        pattern: "x <= y ? z : 1",
        result: "y < x ? 1 : z",
        condition: "",
        because: "the reals are ordered",
        sides: |b, &Operands { x, y, z, one, .. }| {
            (
                b.select((RCmp::Le, x, y), z, one),
                b.select((RCmp::Lt, y, x), one, z),
            )
        },
    },
    Rule {
        name: "common factor and summand of a choice",
        pattern: "x < 0 ? x * y + n : x * z + n",
        result: "x * (x < 0 ? y : z) + n",
        condition: "",
        because: "both are evaluated on both sides",
        sides: |b,
                &Operands {
                    x, y, z, n, zero, ..
                }| {
            let (u, v) = (b.mul(x, y), b.mul(x, z));
            let (u, v) = (b.add(u, n), b.add(v, n));
            let s = b.select((RCmp::Lt, x, zero), y, z);
            let s = b.mul(x, s);
            (b.select((RCmp::Lt, x, zero), u, v), b.add(s, n))
        },
    },
    Rule {
        name: "choice below a clamp",
        pattern: "x < n ? n : min(x, n + 1)",
        result: "max(min(x, n + 1), n)",
        condition: "n is below n + 1",
        because: "where x is not below n neither is the minimum",
        sides: |b, &Operands { x, n, one, .. }| {
            let (lower, upper) = (n, b.add(n, one));
            let inner = b.s.min(x, upper);
            let outer = b.max(inner, lower);
            (b.select((RCmp::Lt, x, lower), lower, inner), outer)
        },
    },
    Rule {
        name: "choice above a clamp",
        pattern: "n + 1 < x ? n + 1 : max(x, n)",
        result: "min(max(x, n), n + 1)",
        condition: "n is below n + 1",
        because: "where x is not above n + 1 neither is the maximum",
        sides: |b, &Operands { x, n, one, .. }| {
            let (lower, upper) = (n, b.add(n, one));
            let inner = b.max(x, lower);
            let outer = b.s.min(inner, upper);
            (b.select((RCmp::Lt, upper, x), upper, inner), outer)
        },
    },
    Rule {
        name: "clamped variance",
        pattern: "max(mean of squares - square of mean, 0)",
        result: "sum of squares of differences / 9",
        condition: "",
        because: "a sum of squares is not negative",
        sides: |b, &Operands { x, y, z, zero, .. }| {
            let (third, s) = (b.q(1, 3), b.add(x, y));
            let mean = b.add(s, z);
            let mean = b.mul(mean, third);
            let [u, v, w] = [x, y, z].map(|t| b.mul(t, t));
            let (s, square) = (b.add(u, v), b.mul(mean, mean));
            let s = b.add(s, w);
            let s = b.mul(s, third);
            let variance = b.sub(s, square);
            let clamped = b.max(variance, zero);
            let [u, v, w] = [(x, y), (y, z), (z, x)].map(|(s, t)| b.sub(s, t));
            let [u, v, w] = [u, v, w].map(|t| b.mul(t, t));
            let (s, ninth) = (b.add(u, v), b.q(1, 9));
            let s = b.add(s, w);
            (clamped, b.mul(s, ninth))
        },
    },
    Rule {
        name: "variance chosen above 0",
        pattern: "v < 0 ? 0 : v for a variance v",
        result: "sum of squares of differences / 9",
        condition: "",
        because: "a sum of squares is not negative",
        sides: |b, &Operands { x, y, z, zero, .. }| {
            let (third, s) = (b.q(1, 3), b.add(x, y));
            let mean = b.add(s, z);
            let mean = b.mul(mean, third);
            let [u, v, w] = [x, y, z].map(|t| b.mul(t, t));
            let (s, square) = (b.add(u, v), b.mul(mean, mean));
            let s = b.add(s, w);
            let s = b.mul(s, third);
            let variance = b.sub(s, square);
            let clamped = b.select((RCmp::Lt, variance, zero), zero, variance);
            let [u, v, w] = [(x, y), (y, z), (z, x)].map(|(s, t)| b.sub(s, t));
            let [u, v, w] = [u, v, w].map(|t| b.mul(t, t));
            let (s, ninth) = (b.add(u, v), b.q(1, 9));
            let s = b.add(s, w);
            (clamped, b.mul(s, ninth))
        },
    },
    Rule {
        name: "logarithm of a sum by its larger part",
        pattern: "max(x, y) + log2(1 + 2^-|x - y|)",
        result: "log2(2^x + 2^y)",
        condition: "",
        because: "max(x, y) and x + y - max(x, y) are x and y in some order",
        sides: |b, &Operands { x, y, one, .. }| {
            // max(x, y) + log2(1 + 2^-|x - y|) = log2(2^x + 2^y)
            let (d, m) = (b.sub(x, y), b.s.max(x, y));
            let a = b.fun(Fun::Abs, d);
            let a = b.neg(a);
            let u = b.pow2(a);
            let u = b.add(one, u);
            let u = b.fun(Fun::Log2, u);
            let (v, w) = (b.pow2(x), b.pow2(y));
            let w = b.add(v, w);
            (b.add(m, u), b.fun(Fun::Log2, w))
        },
    },
    Rule {
        name: "logarithm of one and a power of a size",
        pattern: "log2(1 + 2^(3 |x|))",
        result: "log2(1 + 2^(-3 x)) + 3 max(x, 0)",
        condition: "",
        because: "|x| and -|x| are x and -x in some order",
        sides: |b, &Operands { x, one, zero, .. }| {
            // log2(1 + 2^(3 |x|)) = log2(1 + 2^(-3 x)) + 3 max(x, 0)
            let (a, three, m) = (b.fun(Fun::Abs, x), b.q(3, 1), b.s.max(x, zero));
            let (u, v, w) = (b.mul(a, three), b.mul(x, three), b.mul(m, three));
            let v = b.neg(v);
            let (u, v) = (b.pow2(u), b.pow2(v));
            let (u, v) = (b.add(u, one), b.add(one, v));
            let (u, v) = (b.fun(Fun::Log2, u), b.fun(Fun::Log2, v));
            (u, b.add(v, w))
        },
    },
    Rule {
        name: "maximum of powers",
        pattern: "max(2^x, 2^y)",
        result: "2^max(x, y)",
        condition: "",
        because: "2^x grows with x",
        sides: |b, &Operands { x, y, .. }| {
            let (u, v, m) = (b.pow2(x), b.pow2(y), b.max(x, y));
            (b.max(u, v), b.pow2(m))
        },
    },
    Rule {
        name: "minimum of multiples of powers",
        pattern: "min(3 * 2^x, 6 * 2^y)",
        result: "3 * 2^min(x, y + 1)",
        condition: "",
        because: "2^x grows with x",
        sides: |b, &Operands { x, y, one, .. }| {
            let (u, v, k, l) = (b.pow2(x), b.pow2(y), b.q(3, 1), b.q(6, 1));
            let (u, v, w) = (b.mul(k, u), b.mul(l, v), b.add(y, one));
            let m = b.s.min(x, w);
            let m = b.pow2(m);
            (b.s.min(u, v), b.mul(k, m))
        },
    },
    Rule {
        name: "maximum of multiples of a size",
        pattern: "max(|x| * y, |x| * z)",
        result: "|x| * max(y, z)",
        condition: "",
        because: "a factor that is not negative keeps the order",
        sides: |b, &Operands { x, y, z, .. }| {
            let (a, m) = (b.fun(Fun::Abs, x), b.max(y, z));
            let (u, v) = (b.mul(a, y), b.mul(a, z));
            (b.max(u, v), b.mul(a, m))
        },
    },
    Rule {
        name: "maximum of multiples of a square",
        pattern: "max(x^3 * y, x^2 * z)",
        result: "x^2 * max(x * y, z)",
        condition: "",
        because: "a factor that is not negative keeps the order",
        sides: |b, &Operands { x, y, z, .. }| {
            let (s, w) = (b.mul(x, x), b.mul(x, y));
            let (u, v, m) = (b.mul(s, w), b.mul(s, z), b.max(w, z));
            (b.max(u, v), b.mul(s, m))
        },
    },
    Rule {
        name: "root of a square of a sum",
        pattern: "sqrt((x + y)^2)",
        result: "|x + y|",
        condition: "",
        because: "neither is negative, and their squares are one",
        sides: |b, &Operands { x, y, .. }| {
            let s = b.add(x, y);
            let u = b.mul(s, s);
            (b.fun(Fun::Sqrt, u), b.fun(Fun::Abs, s))
        },
    },
    Rule {
        name: "logarithm of a square",
        pattern: "log2(x^2)",
        result: "2 log2(|x|)",
        condition: "x is not 0",
        because: "x is not 0 where there is a logarithm",
        sides: |b, &Operands { x, two, .. }| {
            let (u, a) = (b.mul(x, x), b.fun(Fun::Abs, x));
            let l = b.fun(Fun::Log2, a);
            (b.fun(Fun::Log2, u), b.mul(two, l))
        },
    },
    Rule {
        name: "power of the logarithm of a square",
        pattern: "2^(3/2 log2(x^2))",
        result: "x^2 * |x|",
        condition: "x is not 0",
        because: "an even power of a size is that of the number",
        sides: |b, &Operands { x, .. }| {
            let (u, a, k) = (b.mul(x, x), b.fun(Fun::Abs, x), b.q(3, 2));
            let l = b.fun(Fun::Log2, u);
            let l = b.mul(k, l);
            (b.pow2(l), b.mul(u, a))
        },
    },
    Rule {
        name: "choice of a power",
        pattern: "x < y ? z * 2^x : z * 2^y",
        result: "z * 2^min(x, y)",
        condition: "",
        because: "only the branch that is taken is evaluated on either side",
        sides: |b, &Operands { x, y, z, .. }| {
            let (u, v, m) = (b.pow2(x), b.pow2(y), b.s.min(x, y));
            let (u, v, m) = (b.mul(z, u), b.mul(z, v), b.pow2(m));
            (b.select((RCmp::Lt, x, y), u, v), b.mul(z, m))
        },
    },
    Rule {
        name: "running maximum by a branch",
        pattern: "x < y ? z * 2^(x - y) + 1 : z + 2^(y - x)",
        result: "z * 2^(x - max(x, y)) + 2^(y - max(x, y))",
        condition: "",
        because: "both branches are one sum times a power",
        sides: |b, &Operands { x, y, z, one, .. }| {
            let (d, e, m) = (b.sub(x, y), b.sub(y, x), b.max(x, y));
            let (u, v) = (b.pow2(d), b.pow2(e));
            let u = b.mul(z, u);
            let (u, v) = (b.add(u, one), b.add(z, v));
            let (f, g) = (b.sub(x, m), b.sub(y, m));
            let (f, g) = (b.pow2(f), b.pow2(g));
            let f = b.mul(z, f);
            (b.select((RCmp::Lt, x, y), u, v), b.add(f, g))
        },
    },
    Rule {
        name: "running maximum by a record",
        pattern: "large.s + small.s * 2^(small.m - large.m)",
        result: "z * 2^(x - max(x, y)) + p * 2^(y - max(x, y))",
        condition: "",
        because: "what is chosen by one comparison is one choice",
        sides: |b, &Operands { x, y, z, p, .. }| {
            let c = (RCmp::Lt, y, x);
            let (big, small) = (b.select(c, x, y), b.select(c, y, x));
            let (s, t) = (b.select(c, z, p), b.select(c, p, z));
            let d = b.sub(small, big);
            let d = b.pow2(d);
            let t = b.mul(t, d);
            let m = b.max(x, y);
            let (f, g) = (b.sub(x, m), b.sub(y, m));
            let (f, g) = (b.pow2(f), b.pow2(g));
            let (f, g) = (b.mul(z, f), b.mul(p, g));
            (b.add(s, t), b.add(f, g))
        },
    },
    Rule {
        name: "sum with a maximum of two",
        pattern: "1 + 2^-|x - y|",
        result: "(2^x + 2^y) / 2^max(x, y)",
        condition: "",
        because: "max(x, y) and x + y - max(x, y) are x and y in some order",
        sides: |b, &Operands { x, y, one, .. }| {
            let (d, m) = (b.sub(x, y), b.max(x, y));
            let a = b.fun(Fun::Abs, d);
            let a = b.neg(a);
            let u = b.pow2(a);
            let (v, w, m) = (b.pow2(x), b.pow2(y), b.pow2(m));
            let w = b.add(v, w);
            (b.add(one, u), b.div(w, m))
        },
    },
    Rule {
        name: "choice where a sum of squares is zero",
        pattern: "0 < x^2 + y^2 ? z : x",
        result: "x^2 + y^2 = 0 ? 0 : z",
        condition: "",
        because: "squares add up to 0 only where each is 0",
        sides: |b, &Operands { x, y, z, zero, .. }| {
            let (u, v) = (b.mul(x, x), b.mul(y, y));
            let s = b.add(u, v);
            (
                b.select((RCmp::Lt, zero, s), z, x),
                b.select((RCmp::Eq, s, zero), zero, z),
            )
        },
    },
    Rule {
        name: "choice of multiples of a sum",
        pattern: "x < 0 ? 2 (y + z) : 3 (y + z)",
        result: "(y + z) * (x < 0 ? 2 : 3)",
        condition: "",
        because: "the sum is evaluated on both sides",
        sides: |b,
                &Operands {
                    x, y, z, zero, two, ..
                }| {
            let (s, k) = (b.add(y, z), b.q(3, 1));
            let (u, v, w) = (
                b.mul(two, s),
                b.mul(k, s),
                b.select((RCmp::Lt, x, zero), two, k),
            );
            (b.select((RCmp::Lt, x, zero), u, v), b.mul(s, w))
        },
    },
];
