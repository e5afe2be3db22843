//! Powers, roots, logarithms, sines and fractions.

use super::{Operands, Rule};
use crate::term::Fun;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "product of powers",
        pattern: "2^x * 2^y",
        result: "2^(x + y)",
        condition: "",
        because: "exponents of one base add up",
        sides: |b, &Operands { x, y, .. }| {
            let (u, v, w) = (b.pow2(x), b.pow2(y), b.add(x, y));
            (b.mul(u, v), b.pow2(w))
        },
    },
    Rule {
        name: "power and its inverse",
        pattern: "2^x * 2^-x",
        result: "1",
        condition: "",
        because: "2^x is never 0",
        sides: |b, &Operands { x, one, .. }| {
            let (u, m) = (b.pow2(x), b.neg(x));
            let v = b.pow2(m);
            (b.mul(u, v), one)
        },
    },
    Rule {
        name: "power with a whole part",
        pattern: "2^x * 2^n",
        result: "2^(x + n)",
        condition: "n is an integer",
        because: "exponents of one base add up",
        sides: |b, &Operands { x, n, .. }| {
            let (u, w) = (b.pow2(x), b.add(x, n));
            let k = b.pow2(n);
            (b.mul(u, k), b.pow2(w))
        },
    },
    Rule {
        name: "quotient of powers",
        pattern: "2^y / 2^x",
        result: "2^(y - x)",
        condition: "",
        because: "2^x is never 0",
        sides: |b, &Operands { x, y, .. }| {
            let (u, w) = (b.pow2(x), b.sub(y, x));
            let v = b.pow2(y);
            (b.div(v, u), b.pow2(w))
        },
    },
    Rule {
        name: "power of a power",
        pattern: "((2^x)^2)^2",
        result: "2^(4 x)",
        condition: "",
        because: "exponents multiply",
        sides: |b, &Operands { x, .. }| {
            let u = b.pow2(x);
            let u = b.mul(u, u);
            let (u, w) = (b.mul(u, u), b.q(4, 1));
            let w = b.mul(x, w);
            (u, b.pow2(w))
        },
    },
    Rule {
        name: "square of a root",
        pattern: "sqrt(p) * sqrt(p)",
        result: "p",
        condition: "p is not negative",
        because: "that is what a root is",
        sides: |b, &Operands { p, .. }| {
            let r = b.fun(Fun::Sqrt, p);
            (b.mul(r, r), p)
        },
    },
    Rule {
        name: "root and its inverse",
        pattern: "sqrt(p) * rsqrt(p)",
        result: "1",
        condition: "p is positive",
        because: "rsqrt(p) is 1 / sqrt(p)",
        sides: |b, &Operands { one, p, .. }| {
            let (r, i) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Rsqrt, p));
            (b.mul(r, i), one)
        },
    },
    Rule {
        name: "square of an inverse root",
        pattern: "rsqrt(p) * rsqrt(p)",
        result: "1 / p",
        condition: "p is positive",
        because: "rsqrt(p) is 1 / sqrt(p)",
        sides: |b, &Operands { one, p, .. }| {
            let i = b.fun(Fun::Rsqrt, p);
            (b.mul(i, i), b.div(one, p))
        },
    },
    Rule {
        name: "root of a product",
        pattern: "sqrt(p * q)",
        result: "sqrt(p) * sqrt(q)",
        condition: "p and q are positive",
        because: "the square of both is p * q, and neither is negative",
        sides: |b, &Operands { p, q, .. }| {
            let pq = b.mul(p, q);
            let (r, s) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Sqrt, q));
            (b.fun(Fun::Sqrt, pq), b.mul(r, s))
        },
    },
    Rule {
        name: "root of a square",
        pattern: "sqrt(x * x)",
        result: "|x|",
        condition: "",
        because: "neither is negative, and their squares are one",
        sides: |b, &Operands { x, .. }| {
            let u = b.mul(x, x);
            (b.fun(Fun::Sqrt, u), b.fun(Fun::Abs, x))
        },
    },
    Rule {
        name: "root of a fourth power",
        pattern: "sqrt(x^4)",
        result: "x^2",
        condition: "",
        because: "neither is negative, and their squares are one",
        sides: |b, &Operands { x, .. }| {
            let u = b.mul(x, x);
            let u = b.mul(u, u);
            (b.fun(Fun::Sqrt, u), b.mul(x, x))
        },
    },
    Rule {
        name: "root of an inverse",
        pattern: "sqrt(1 / p)",
        result: "rsqrt(p)",
        condition: "p is positive",
        because: "both are the inverse of sqrt(p)",
        sides: |b, &Operands { one, p, .. }| {
            let i = b.div(one, p);
            (b.fun(Fun::Sqrt, i), b.fun(Fun::Rsqrt, p))
        },
    },
    Rule {
        name: "root of a multiple",
        pattern: "sqrt(18/25 * p)",
        result: "3/5 * sqrt(2) * sqrt(p)",
        condition: "p is positive",
        because: "18/25 is 2 times the square of 3/5",
        sides: |b, &Operands { two, p, .. }| {
            let k = b.q(18, 25);
            let u = b.mul(k, p);
            let (r, s, t) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Sqrt, two), b.q(3, 5));
            let s = b.mul(s, t);
            (b.fun(Fun::Sqrt, u), b.mul(s, r))
        },
    },
    Rule {
        name: "root of a power",
        pattern: "sqrt(2^x)",
        result: "2^(x / 2)",
        condition: "",
        because: "neither is negative, and their squares are one",
        sides: |b, &Operands { x, .. }| {
            let half = b.q(1, 2);
            let h = b.mul(x, half);
            let u = b.pow2(x);
            (b.fun(Fun::Sqrt, u), b.pow2(h))
        },
    },
    Rule {
        name: "square of a quotient of roots",
        pattern: "(sqrt(p) * rsqrt(q))^2",
        result: "p / q",
        condition: "p and q are positive",
        because: "squares of roots are what is under them",
        sides: |b, &Operands { p, q, .. }| {
            let (r, s) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Rsqrt, q));
            let l = b.mul(r, s);
            let (r, s) = (b.mul(l, l), b.div(p, q));
            (r, s)
        },
    },
    Rule {
        name: "logarithm of a power",
        pattern: "log2(2^y)",
        result: "y",
        condition: "",
        because: "the logarithm is the inverse of the power",
        sides: |b, &Operands { y, q, .. }| (b.fun(Fun::Log2, q), y),
    },
    Rule {
        name: "logarithm of a product",
        pattern: "log2(p * 2^y)",
        result: "log2(p) + y",
        condition: "p is positive",
        because: "logarithms of products add up",
        sides: |b, &Operands { y, p, q, .. }| {
            let pq = b.mul(p, q);
            let u = b.fun(Fun::Log2, p);
            (b.fun(Fun::Log2, pq), b.add(u, y))
        },
    },
    Rule {
        name: "logarithm of an inverse",
        pattern: "log2(1 / p)",
        result: "-log2(p)",
        condition: "p is positive",
        because: "logarithms of products add up",
        sides: |b, &Operands { one, p, .. }| {
            let i = b.div(one, p);
            let l = b.fun(Fun::Log2, p);
            (b.fun(Fun::Log2, i), b.neg(l))
        },
    },
    Rule {
        name: "logarithm of a root",
        pattern: "log2(sqrt(p))",
        result: "log2(p) / 2",
        condition: "p is positive",
        because: "logarithms of products add up",
        sides: |b, &Operands { p, .. }| {
            let (r, half) = (b.fun(Fun::Sqrt, p), b.q(1, 2));
            let l = b.fun(Fun::Log2, p);
            (b.fun(Fun::Log2, r), b.mul(l, half))
        },
    },
    Rule {
        name: "logarithm of a multiple",
        pattern: "log2(12 * p)",
        result: "log2(p) + log2(3) + 2",
        condition: "p is positive",
        because: "logarithms of products add up",
        sides: |b, &Operands { two, p, .. }| {
            let k = b.q(12, 1);
            let (u, l, three) = (b.mul(k, p), b.fun(Fun::Log2, p), b.q(3, 1));
            let m = b.fun(Fun::Log2, three);
            let l = b.add(l, m);
            (b.fun(Fun::Log2, u), b.add(l, two))
        },
    },
    Rule {
        name: "power of a logarithm",
        pattern: "2^log2(p)",
        result: "p",
        condition: "p is positive",
        because: "the logarithm is the inverse of the power",
        sides: |b, &Operands { p, .. }| {
            let l = b.fun(Fun::Log2, p);
            (b.pow2(l), p)
        },
    },
    Rule {
        name: "power of three halves of a logarithm",
        pattern: "2^(3/2 * log2(p))",
        result: "p * sqrt(p)",
        condition: "p is positive",
        because: "exponents of one base add up",
        sides: |b, &Operands { p, .. }| {
            let (l, k) = (b.fun(Fun::Log2, p), b.q(3, 2));
            let (l, r) = (b.mul(l, k), b.fun(Fun::Sqrt, p));
            (b.pow2(l), b.mul(p, r))
        },
    },
    Rule {
        name: "power of a sum with a logarithm",
        pattern: "2^(x - log2(p))",
        result: "2^x / p",
        condition: "p is positive",
        because: "exponents of one base add up",
        sides: |b, &Operands { x, p, .. }| {
            let l = b.fun(Fun::Log2, p);
            let l = b.sub(x, l);
            let u = b.pow2(x);
            (b.pow2(l), b.div(u, p))
        },
    },
    Rule {
        name: "odd sine",
        pattern: "sin(-x)",
        result: "-sin(x)",
        condition: "",
        because: "it is odd",
        sides: |b, &Operands { x, .. }| {
            let (m, v) = (b.neg(x), b.fun(Fun::Sin, x));
            (b.fun(Fun::Sin, m), b.neg(v))
        },
    },
    Rule {
        name: "odd error function",
        pattern: "erf(-x)",
        result: "-erf(x)",
        condition: "",
        because: "it is odd",
        sides: |b, &Operands { x, .. }| {
            let (m, v) = (b.neg(x), b.fun(Fun::Erf, x));
            (b.fun(Fun::Erf, m), b.neg(v))
        },
    },
    Rule {
        name: "odd rounding to zero",
        pattern: "trunc(-x)",
        result: "-trunc(x)",
        condition: "",
        because: "it is odd",
        sides: |b, &Operands { x, .. }| {
            let (m, v) = (b.neg(x), b.fun(Fun::Trunc, x));
            (b.fun(Fun::Trunc, m), b.neg(v))
        },
    },
    Rule {
        name: "odd rounding to even",
        pattern: "round(-x)",
        result: "-round(x)",
        condition: "",
        because: "it is odd",
        sides: |b, &Operands { x, .. }| {
            let (m, v) = (b.neg(x), b.fun(Fun::RoundEven, x));
            (b.fun(Fun::RoundEven, m), b.neg(v))
        },
    },
    Rule {
        name: "odd hyperbolic tangent",
        pattern: "tanh(-x)",
        result: "-tanh(x)",
        condition: "",
        because: "it is odd",
        sides: |b, &Operands { x, .. }| {
            let (m, v) = (b.neg(x), b.fun(Fun::Tanh, x));
            (b.fun(Fun::Tanh, m), b.neg(v))
        },
    },
    Rule {
        name: "even cosine",
        pattern: "cos(-x)",
        result: "cos(x)",
        condition: "",
        because: "it is even",
        sides: |b, &Operands { x, .. }| {
            let m = b.neg(x);
            (b.fun(Fun::Cos, m), b.fun(Fun::Cos, x))
        },
    },
    Rule {
        name: "roots of products and quotients of sums",
        pattern: "sqrt(p * u) + sqrt(u / v)",
        result: "sqrt(p) * sqrt(u) + sqrt(u) / sqrt(v)",
        condition: "p, u and v are positive",
        because: "roots of products are products of roots where no factor is negative",
        sides: |b, &Operands { y, z, p, .. }| {
            let (u, v) = (b.square_plus_one(y), b.square_plus_one(z));
            let (pu, uv) = (b.mul(p, u), b.div(u, v));
            let (l, m) = (b.fun(Fun::Sqrt, pu), b.fun(Fun::Sqrt, uv));
            let [p, u, v] = [p, u, v].map(|t| b.fun(Fun::Sqrt, t));
            let r = b.mul(p, u);
            let w = b.div(u, v);
            (b.add(l, m), b.add(r, w))
        },
    },
    Rule {
        name: "inverse root of a product with a square",
        pattern: "rsqrt(u * x^2)",
        result: "rsqrt(u) / |x|",
        condition: "u is positive",
        because: "the root of x^2 is |x|",
        sides: |b, &Operands { x, y, .. }| {
            let (u, v) = (b.square_plus_one(y), b.mul(x, x));
            let (u, r) = (b.mul(u, v), b.fun(Fun::Rsqrt, u));
            let s = b.fun(Fun::Abs, x);
            (b.fun(Fun::Rsqrt, u), b.div(r, s))
        },
    },
    Rule {
        name: "root of a maximum",
        pattern: "sqrt(max(u, 4/49))",
        result: "max(sqrt(u), 2/7)",
        condition: "u is not negative",
        because: "a root keeps the order",
        sides: |b, &Operands { x, y, .. }| {
            let (k, kk) = (b.q(2, 7), b.q(4, 49));
            let (u, v) = (b.mul(x, x), b.mul(y, y));
            let u = b.add(u, v);
            let (m, s) = (b.max(u, kk), b.fun(Fun::Sqrt, u));
            (b.fun(Fun::Sqrt, m), b.max(s, k))
        },
    },
    Rule {
        name: "maximum of roots",
        pattern: "max(3/2 sqrt(p), 3 q)",
        result: "sqrt(max(9/4 p, 9 q^2))",
        condition: "q is positive",
        because: "squares keep the order of what is not negative",
        sides: |b, &Operands { one, p, q, .. }| {
            let (u, k, k2) = (b.fun(Fun::Sqrt, p), b.q(3, 1), b.q(3, 2));
            let (v, w) = (b.mul(u, k2), b.mul(k, q));
            let (pp, qq) = (b.mul(p, one), b.mul(w, w));
            let (f, pp) = (b.q(9, 4), pp);
            let pp = b.mul(f, pp);
            let m = b.max(pp, qq);
            (b.max(v, w), b.fun(Fun::Sqrt, m))
        },
    },
    Rule {
        name: "squares of sine and cosine",
        pattern: "sin(x)^2 + cos(x)^2",
        result: "1",
        condition: "",
        because: "Pythagoras",
        sides: |b, &Operands { x, one, .. }| {
            let (s, k) = (b.fun(Fun::Sin, x), b.fun(Fun::Cos, x));
            let (s, k) = (b.mul(s, s), b.mul(k, k));
            (b.add(s, k), one)
        },
    },
    Rule {
        name: "sine of a sum",
        pattern: "sin(x + y)",
        result: "sin(x) cos(y) + cos(x) sin(y)",
        condition: "",
        because: "addition theorem",
        sides: |b, &Operands { x, y, .. }| {
            let u = b.add(x, y);
            let [s, t] = [x, y].map(|t| b.fun(Fun::Sin, t));
            let [k, l] = [x, y].map(|t| b.fun(Fun::Cos, t));
            let (sl, kt) = (b.mul(s, l), b.mul(k, t));
            let r = b.add(sl, kt);
            (b.fun(Fun::Sin, u), r)
        },
    },
    Rule {
        name: "sine of a difference",
        pattern: "sin(x - y)",
        result: "sin(x) cos(y) - cos(x) sin(y)",
        condition: "",
        because: "addition theorem",
        sides: |b, &Operands { x, y, .. }| {
            let u = b.sub(x, y);
            let [s, t] = [x, y].map(|t| b.fun(Fun::Sin, t));
            let [k, l] = [x, y].map(|t| b.fun(Fun::Cos, t));
            let (sl, kt) = (b.mul(s, l), b.mul(k, t));
            let r = b.sub(sl, kt);
            (b.fun(Fun::Sin, u), r)
        },
    },
    Rule {
        name: "cosine of a sum",
        pattern: "cos(x + y)",
        result: "cos(x) cos(y) - sin(x) sin(y)",
        condition: "",
        because: "addition theorem",
        sides: |b, &Operands { x, y, .. }| {
            let u = b.add(x, y);
            let [s, t] = [x, y].map(|t| b.fun(Fun::Sin, t));
            let [k, l] = [x, y].map(|t| b.fun(Fun::Cos, t));
            let (st, kl) = (b.mul(s, t), b.mul(k, l));
            (b.fun(Fun::Cos, u), b.sub(kl, st))
        },
    },
    Rule {
        name: "sine of a double",
        pattern: "sin(2 x)",
        result: "2 sin(x) cos(x)",
        condition: "",
        because: "addition theorem",
        sides: |b, &Operands { x, two, .. }| {
            let u = b.mul(two, x);
            let (s, k) = (b.fun(Fun::Sin, x), b.fun(Fun::Cos, x));
            let r = b.mul(s, k);
            (b.fun(Fun::Sin, u), b.mul(two, r))
        },
    },
    Rule {
        name: "cosine of a double",
        pattern: "cos(2 x)",
        result: "1 - 2 sin(x)^2",
        condition: "",
        because: "addition theorem",
        sides: |b, &Operands { x, one, two, .. }| {
            let u = b.mul(two, x);
            let s = b.fun(Fun::Sin, x);
            let r = b.mul(s, s);
            let r = b.mul(two, r);
            (b.fun(Fun::Cos, u), b.sub(one, r))
        },
    },
    Rule {
        name: "sine of a triple",
        pattern: "sin(3 x)",
        result: "3 sin(x) - 4 sin(x)^3",
        condition: "",
        because: "addition theorem",
        sides: |b, &Operands { x, .. }| {
            let (k, l) = (b.q(3, 1), b.q(4, 1));
            let (u, s) = (b.mul(k, x), b.fun(Fun::Sin, x));
            let (v, w) = (b.mul(k, s), b.mul(s, s));
            let w = b.mul(w, s);
            let w = b.mul(l, w);
            (b.fun(Fun::Sin, u), b.sub(v, w))
        },
    },
    Rule {
        name: "square of a cosine over a sine",
        pattern: "cos(x)^2 / sin(x)",
        result: "1 / sin(x) - sin(x)",
        condition: "",
        because: "Pythagoras",
        sides: |b, &Operands { x, one, .. }| {
            // cos(x)^2 / sin(x) = 1 / sin(x) - sin(x)
            let (s, k) = (b.fun(Fun::Sin, x), b.fun(Fun::Cos, x));
            let (k, i) = (b.mul(k, k), b.div(one, s));
            (b.div(k, s), b.sub(i, s))
        },
    },
    Rule {
        name: "roots of numbers that nobody factors",
        pattern: "sqrt(p * a / k) * sqrt(a * k)",
        result: "a * sqrt(p)",
        condition: "a and k are positive numbers",
        because: "their greatest common divisor is enough",
        sides: |b, &Operands { p, .. }| {
            // sqrt(p * a / k) * sqrt(a * k) = a * sqrt(p), where nobody has factored a and k.
            let (a, k) = (b.q(16_760_439, 1 << 24), b.q(50_000_003, 1 << 30));
            let (u, v) = (b.mul(p, a), b.mul(a, k));
            let u = b.div(u, k);
            let (u, v) = (b.fun(Fun::Sqrt, u), b.fun(Fun::Sqrt, v));
            let r = b.fun(Fun::Sqrt, p);
            (b.mul(u, v), b.mul(a, r))
        },
    },
    Rule {
        name: "root of a number in a denominator",
        pattern: "y / (sqrt(p / k) + 1)",
        result: "y * sqrt(k) / (sqrt(p) + sqrt(k))",
        condition: "k is a positive number",
        because: "numerator and denominator are multiplied by sqrt(k)",
        sides: |b, &Operands { y, one, p, .. }| {
            // y / (sqrt(p / k) + 1) = y * sqrt(k) / (sqrt(p) + sqrt(k))
            let k = b.q(50_000_003, 1 << 30);
            let u = b.div(p, k);
            let (u, r) = (b.fun(Fun::Sqrt, u), b.fun(Fun::Sqrt, k));
            let (v, u) = (b.fun(Fun::Sqrt, p), b.add(u, one));
            let (v, w) = (b.add(v, r), b.mul(y, r));
            (b.div(y, u), b.div(w, v))
        },
    },
    Rule {
        name: "fractions that add up to one",
        pattern: "1 / (2^x + 1) + 1 / (2^-x + 1)",
        result: "1",
        condition: "",
        because: "over one denominator the numerators add up to it",
        sides: |b, &Operands { x, one, .. }| {
            // 1 / (2^a + 1) + 1 / (2^-a + 1) = 1
            let (u, m) = (b.pow2(x), b.neg(x));
            let v = b.pow2(m);
            let (u, v) = (b.add(u, one), b.add(v, one));
            let (u, v) = (b.div(one, u), b.div(one, v));
            (b.add(u, v), one)
        },
    },
];
