//! Every rule of the normaliser, proved again by the evaluator on random operands.
//!
//! A rule is a left side and a right side over operands. For elements as operands both sides have
//! one form; for any operands, both sides have one value, and so has the form of each. A wrong
//! twin of the right side never has the form of the left. The evaluator shares no code with the
//! rules.

use super::eval;
use super::random::{build, close, form, points, program, show, small};
use super::*;
use crate::term::RCmp;
use proptest::prelude::*;

/// The operands of a rule: three terms, a number of halves and an integer.
#[derive(Clone, Copy)]
struct Operands {
    x: TermId,
    y: TermId,
    z: TermId,
    c: i64,
}

impl Build {
    fn square_plus_one(&mut self, x: TermId) -> TermId {
        let (one, p) = (self.q(1, 1), self.mul(x, x));
        self.add(p, one)
    }

    fn neg(&mut self, x: TermId) -> TermId {
        self.s.neg(x)
    }

    fn pow2(&mut self, x: TermId) -> TermId {
        self.fun(Fun::Exp2, x)
    }

    fn select(&mut self, (op, x, y): (RCmp, TermId, TermId), a: TermId, b: TermId) -> TermId {
        let p = self.s.rcmp(op, x, y);
        self.s.select(p, a, b)
    }
}

/// Number of rules.
const RULES: u8 = 64;

/// Both sides of a rule.
fn sides(b: &mut Build, rule: u8, o: Operands) -> (TermId, TermId) {
    let Operands { x, y, z, c } = o;
    let (one, zero, n, two) = (b.q(1, 1), b.q(0, 1), b.q(c, 1), b.q(2, 1));
    // Positive terms.
    let p = b.square_plus_one(x);
    let q = b.pow2(y);
    match rule {
        // Products of powers.
        0 => {
            let (u, v, w) = (b.pow2(x), b.pow2(y), b.add(x, y));
            (b.mul(u, v), b.pow2(w))
        }
        1 => {
            let (u, m) = (b.pow2(x), b.neg(x));
            let v = b.pow2(m);
            (b.mul(u, v), one)
        }
        2 => {
            let (u, w) = (b.pow2(x), b.add(x, n));
            let k = b.pow2(n);
            (b.mul(u, k), b.pow2(w))
        }
        3 => {
            let (u, w) = (b.pow2(x), b.sub(y, x));
            let v = b.pow2(y);
            (b.div(v, u), b.pow2(w))
        }
        4 => {
            let u = b.pow2(x);
            let u = b.mul(u, u);
            let (u, w) = (b.mul(u, u), b.q(4, 1));
            let w = b.mul(x, w);
            (u, b.pow2(w))
        }
        // Roots.
        5 => {
            let r = b.fun(Fun::Sqrt, p);
            (b.mul(r, r), p)
        }
        6 => {
            let (r, i) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Rsqrt, p));
            (b.mul(r, i), one)
        }
        7 => {
            let i = b.fun(Fun::Rsqrt, p);
            (b.mul(i, i), b.div(one, p))
        }
        8 => {
            let pq = b.mul(p, q);
            let (r, s) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Sqrt, q));
            (b.fun(Fun::Sqrt, pq), b.mul(r, s))
        }
        9 => {
            let u = b.mul(x, x);
            (b.fun(Fun::Sqrt, u), b.fun(Fun::Abs, x))
        }
        10 => {
            let u = b.mul(x, x);
            let u = b.mul(u, u);
            (b.fun(Fun::Sqrt, u), b.mul(x, x))
        }
        11 => {
            let i = b.div(one, p);
            (b.fun(Fun::Sqrt, i), b.fun(Fun::Rsqrt, p))
        }
        12 => {
            let k = b.q(18, 25);
            let u = b.mul(k, p);
            let (r, s, t) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Sqrt, two), b.q(3, 5));
            let s = b.mul(s, t);
            (b.fun(Fun::Sqrt, u), b.mul(s, r))
        }
        13 => {
            let half = b.q(1, 2);
            let h = b.mul(x, half);
            let u = b.pow2(x);
            (b.fun(Fun::Sqrt, u), b.pow2(h))
        }
        14 => {
            let (r, s) = (b.fun(Fun::Sqrt, p), b.fun(Fun::Rsqrt, q));
            let l = b.mul(r, s);
            let (r, s) = (b.mul(l, l), b.div(p, q));
            (r, s)
        }
        // Logarithms.
        15 => (b.fun(Fun::Log2, q), y),
        16 => {
            let pq = b.mul(p, q);
            let u = b.fun(Fun::Log2, p);
            (b.fun(Fun::Log2, pq), b.add(u, y))
        }
        17 => {
            let i = b.div(one, p);
            let l = b.fun(Fun::Log2, p);
            (b.fun(Fun::Log2, i), b.neg(l))
        }
        18 => {
            let (r, half) = (b.fun(Fun::Sqrt, p), b.q(1, 2));
            let l = b.fun(Fun::Log2, p);
            (b.fun(Fun::Log2, r), b.mul(l, half))
        }
        19 => {
            let k = b.q(12, 1);
            let (u, l, three) = (b.mul(k, p), b.fun(Fun::Log2, p), b.q(3, 1));
            let m = b.fun(Fun::Log2, three);
            let l = b.add(l, m);
            (b.fun(Fun::Log2, u), b.add(l, two))
        }
        // Powers of logarithms.
        20 => {
            let l = b.fun(Fun::Log2, p);
            (b.pow2(l), p)
        }
        21 => {
            let (l, k) = (b.fun(Fun::Log2, p), b.q(3, 2));
            let (l, r) = (b.mul(l, k), b.fun(Fun::Sqrt, p));
            (b.pow2(l), b.mul(p, r))
        }
        22 => {
            let l = b.fun(Fun::Log2, p);
            let l = b.sub(x, l);
            let u = b.pow2(x);
            (b.pow2(l), b.div(u, p))
        }
        // Roundings to integers.
        23 => {
            let u = b.fun(Fun::Abs, x);
            (b.fun(Fun::Trunc, u), b.fun(Fun::Floor, u))
        }
        24 => {
            let u = b.fun(Fun::Abs, x);
            let (m, f) = (b.neg(u), b.fun(Fun::Floor, u));
            (b.fun(Fun::Trunc, m), b.neg(f))
        }
        25 => (b.fun(Fun::Trunc, p), b.fun(Fun::Floor, p)),
        26 => {
            let m = b.neg(q);
            (b.fun(Fun::Trunc, m), b.fun(Fun::Ceil, m))
        }
        27 => {
            let (u, f) = (b.add(x, n), b.fun(Fun::Floor, x));
            (b.fun(Fun::Floor, u), b.add(f, n))
        }
        28 => {
            let (u, f) = (b.add(x, n), b.fun(Fun::Ceil, x));
            (b.fun(Fun::Ceil, u), b.add(f, n))
        }
        29 => {
            let m = b.neg(x);
            let f = b.fun(Fun::Floor, m);
            (b.fun(Fun::Ceil, x), b.neg(f))
        }
        // Odd and even functions.
        30..=34 => {
            let odd = [Fun::Sin, Fun::Erf, Fun::Trunc, Fun::RoundEven, Fun::Tanh];
            let f = odd[rule as usize - 30];
            let (m, v) = (b.neg(x), b.fun(f, x));
            (b.fun(f, m), b.neg(v))
        }
        35 => {
            let m = b.neg(x);
            (b.fun(Fun::Cos, m), b.fun(Fun::Cos, x))
        }
        // Maxima.
        36 => {
            let k = b.q(3, 2);
            let (u, v, m) = (b.mul(k, x), b.mul(k, y), b.max(x, y));
            let (u, v, m) = (b.add(u, z), b.add(v, z), b.mul(k, m));
            (b.max(u, v), b.add(m, z))
        }
        37 => {
            let (u, v) = (b.max(x, y), b.max(y, z));
            (b.max(u, z), b.max(x, v))
        }
        38 => {
            let (u, v) = (b.neg(x), b.neg(y));
            let m = b.max(u, v);
            (b.s.min(x, y), b.neg(m))
        }
        39 => {
            let m = b.neg(x);
            (b.fun(Fun::Abs, x), b.max(x, m))
        }
        // Choices.
        40 => (b.select((RCmp::Lt, x, y), x, y), b.s.min(x, y)),
        41 => (
            b.select((RCmp::Le, x, y), z, one),
            b.select((RCmp::Lt, y, x), one, z),
        ),
        42 => {
            let (u, v) = (b.mul(x, y), b.mul(x, z));
            let (u, v) = (b.add(u, n), b.add(v, n));
            let s = b.select((RCmp::Lt, x, zero), y, z);
            let s = b.mul(x, s);
            (b.select((RCmp::Lt, x, zero), u, v), b.add(s, n))
        }
        // Choices of what is clamped already.
        43 => {
            let (lower, upper) = (n, b.add(n, one));
            let inner = b.s.min(x, upper);
            let outer = b.max(inner, lower);
            (b.select((RCmp::Lt, x, lower), lower, inner), outer)
        }
        44 => {
            let (lower, upper) = (n, b.add(n, one));
            let inner = b.max(x, lower);
            let outer = b.s.min(inner, upper);
            (b.select((RCmp::Lt, upper, x), upper, inner), outer)
        }
        // Sums of squares.
        45 | 46 => {
            let (third, s) = (b.q(1, 3), b.add(x, y));
            let mean = b.add(s, z);
            let mean = b.mul(mean, third);
            let [u, v, w] = [x, y, z].map(|t| b.mul(t, t));
            let (s, square) = (b.add(u, v), b.mul(mean, mean));
            let s = b.add(s, w);
            let s = b.mul(s, third);
            let variance = b.sub(s, square);
            let clamped = match rule {
                45 => b.max(variance, zero),
                _ => b.select((RCmp::Lt, variance, zero), zero, variance),
            };
            let [u, v, w] = [(x, y), (y, z), (z, x)].map(|(s, t)| b.sub(s, t));
            let [u, v, w] = [u, v, w].map(|t| b.mul(t, t));
            let (s, ninth) = (b.add(u, v), b.q(1, 9));
            let s = b.add(s, w);
            (clamped, b.mul(s, ninth))
        }
        // Roots of products of sums, of quotients, and of maxima.
        47 => {
            let (u, v) = (b.square_plus_one(y), b.square_plus_one(z));
            let (pu, uv) = (b.mul(p, u), b.div(u, v));
            let (l, m) = (b.fun(Fun::Sqrt, pu), b.fun(Fun::Sqrt, uv));
            let [p, u, v] = [p, u, v].map(|t| b.fun(Fun::Sqrt, t));
            let r = b.mul(p, u);
            let w = b.div(u, v);
            (b.add(l, m), b.add(r, w))
        }
        48 => {
            let (u, v) = (b.square_plus_one(y), b.mul(x, x));
            let (u, r) = (b.mul(u, v), b.fun(Fun::Rsqrt, u));
            let s = b.fun(Fun::Abs, x);
            (b.fun(Fun::Rsqrt, u), b.div(r, s))
        }
        49 => {
            let (k, kk) = (b.q(2, 7), b.q(4, 49));
            let (u, v) = (b.mul(x, x), b.mul(y, y));
            let u = b.add(u, v);
            let (m, s) = (b.max(u, kk), b.fun(Fun::Sqrt, u));
            (b.fun(Fun::Sqrt, m), b.max(s, k))
        }
        50 => {
            let (u, k, k2) = (b.fun(Fun::Sqrt, p), b.q(3, 1), b.q(3, 2));
            let (v, w) = (b.mul(u, k2), b.mul(k, q));
            let (pp, qq) = (b.mul(p, one), b.mul(w, w));
            let (f, pp) = (b.q(9, 4), pp);
            let pp = b.mul(f, pp);
            let m = b.max(pp, qq);
            (b.max(v, w), b.fun(Fun::Sqrt, m))
        }
        // Sines and cosines.
        51 => {
            let (s, k) = (b.fun(Fun::Sin, x), b.fun(Fun::Cos, x));
            let (s, k) = (b.mul(s, s), b.mul(k, k));
            (b.add(s, k), one)
        }
        52 | 53 => {
            let plus = rule == 52;
            let u = if plus { b.add(x, y) } else { b.sub(x, y) };
            let [s, t] = [x, y].map(|t| b.fun(Fun::Sin, t));
            let [k, l] = [x, y].map(|t| b.fun(Fun::Cos, t));
            let (sl, kt) = (b.mul(s, l), b.mul(k, t));
            let r = if plus { b.add(sl, kt) } else { b.sub(sl, kt) };
            (b.fun(Fun::Sin, u), r)
        }
        54 => {
            let u = b.add(x, y);
            let [s, t] = [x, y].map(|t| b.fun(Fun::Sin, t));
            let [k, l] = [x, y].map(|t| b.fun(Fun::Cos, t));
            let (st, kl) = (b.mul(s, t), b.mul(k, l));
            (b.fun(Fun::Cos, u), b.sub(kl, st))
        }
        55 => {
            let u = b.mul(two, x);
            let (s, k) = (b.fun(Fun::Sin, x), b.fun(Fun::Cos, x));
            let r = b.mul(s, k);
            (b.fun(Fun::Sin, u), b.mul(two, r))
        }
        56 => {
            let u = b.mul(two, x);
            let s = b.fun(Fun::Sin, x);
            let r = b.mul(s, s);
            let r = b.mul(two, r);
            (b.fun(Fun::Cos, u), b.sub(one, r))
        }
        57 => {
            let (k, l) = (b.q(3, 1), b.q(4, 1));
            let (u, s) = (b.mul(k, x), b.fun(Fun::Sin, x));
            let (v, w) = (b.mul(k, s), b.mul(s, s));
            let w = b.mul(w, s);
            let w = b.mul(l, w);
            (b.fun(Fun::Sin, u), b.sub(v, w))
        }
        58 => {
            // cos(x)^2 / sin(x) = 1 / sin(x) - sin(x)
            let (s, k) = (b.fun(Fun::Sin, x), b.fun(Fun::Cos, x));
            let (k, i) = (b.mul(k, k), b.div(one, s));
            (b.div(k, s), b.sub(i, s))
        }
        // Roots of numbers.
        59 => {
            // sqrt(p * a / k) * sqrt(a * k) = a * sqrt(p), where nobody has factored a and k.
            let (a, k) = (b.q(16_760_439, 1 << 24), b.q(50_000_003, 1 << 30));
            let (u, v) = (b.mul(p, a), b.mul(a, k));
            let u = b.div(u, k);
            let (u, v) = (b.fun(Fun::Sqrt, u), b.fun(Fun::Sqrt, v));
            let r = b.fun(Fun::Sqrt, p);
            (b.mul(u, v), b.mul(a, r))
        }
        60 => {
            // y / (sqrt(p / k) + 1) = y * sqrt(k) / (sqrt(p) + sqrt(k))
            let k = b.q(50_000_003, 1 << 30);
            let u = b.div(p, k);
            let (u, r) = (b.fun(Fun::Sqrt, u), b.fun(Fun::Sqrt, k));
            let (v, u) = (b.fun(Fun::Sqrt, p), b.add(u, one));
            let (v, w) = (b.add(v, r), b.mul(y, r));
            (b.div(y, u), b.div(w, v))
        }
        // Logarithms of sums of two powers.
        61 => {
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
        }
        62 => {
            // log2(1 + 2^(3 |x|)) = log2(1 + 2^(-3 x)) + 3 max(x, 0)
            let (a, three, m) = (b.fun(Fun::Abs, x), b.q(3, 1), b.s.max(x, zero));
            let (u, v, w) = (b.mul(a, three), b.mul(x, three), b.mul(m, three));
            let v = b.neg(v);
            let (u, v) = (b.pow2(u), b.pow2(v));
            let (u, v) = (b.add(u, one), b.add(one, v));
            let (u, v) = (b.fun(Fun::Log2, u), b.fun(Fun::Log2, v));
            (u, b.add(v, w))
        }
        // Fractions.
        _ => {
            // 1 / (2^a + 1) + 1 / (2^-a + 1) = 1
            let (u, m) = (b.pow2(x), b.neg(x));
            let v = b.pow2(m);
            let (u, v) = (b.add(u, one), b.add(v, one));
            let (u, v) = (b.div(one, u), b.div(one, v));
            (b.add(u, v), one)
        }
    }
}

#[test]
fn both_sides_of_a_rule_have_one_form() {
    let mut failed = Vec::new();
    for rule in 0..RULES {
        for c in -3..4 {
            let mut b = Build::default();
            let [x, y, z] = [0, 1, 2].map(|i| b.x(0, i));
            let (l, r) = sides(&mut b, rule, Operands { x, y, z, c });
            if b.equal(l, r) != Equality::Equal {
                failed.push((rule, c));
            }
            let one = b.q(1, 1);
            let wrong = b.add(r, one);
            assert_ne!(b.equal(l, wrong), Equality::Equal, "rule {rule}");
        }
    }
    assert_eq!(failed, []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    /// Both sides have one value, and so have their forms, whatever the operands are.
    #[test]
    fn rules_keep_the_value(
        rule in 0..RULES,
        programs in [program(4), program(4), program(4)],
        c in -3i64..4,
        seed in any::<u64>(),
    ) {
        let mut b = Build::default();
        let [x, y, z] = [0, 1, 2].map(|i| build(&mut b, &programs[i], seed ^ i as u64));
        let (l, r) = sides(&mut b, rule, Operands { x, y, z, c });
        let mut n = Normalizer::new(&b.s, small());
        let forms = [l, r].map(|t| form(&mut n, t));
        for at in points() {
            let x = |_: u32, i: u64| at[i as usize];
            let (v, w) = (eval::term(&b.s, l, &x), eval::term(&b.s, r, &x));
            prop_assert!(close(v, w), "rule {rule}: {v} {w}\n{}\n{}", eval::text(&b.s, l), eval::text(&b.s, r));
            for (c, v) in forms.into_iter().zip([v, w]) {
                let Some(c) = c else { continue };
                let got = eval::canon(&n, c, &x);
                prop_assert!(close(v, got), "rule {rule}: {v} {got}\n{}", show(&n, c));
            }
        }
    }

    /// The left side never has the form of a right side with other operands, where values differ.
    #[test]
    fn wrong_sides_differ(rule in 0..RULES, other in 0..RULES, c in -3i64..4, d in -3i64..4, swap in any::<bool>()) {
        let mut b = Build::default();
        let [x, y, z] = [0, 1, 2].map(|i| b.x(0, i));
        let (l, _) = sides(&mut b, rule, Operands { x, y, z, c });
        let (x, y) = if swap { (y, x) } else { (x, y) };
        let (_, r) = sides(&mut b, other, Operands { x, y, z, c: d });
        let differs = points().iter().any(|at| {
            let x = |_: u32, i: u64| at[i as usize];
            !close(eval::term(&b.s, l, &x), eval::term(&b.s, r, &x))
        });
        prop_assert!(!differs || b.equal(l, r) != Equality::Equal, "rules {rule} and {other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    /// What is said to have one sign, or the same zeros, does on every point.
    #[test]
    fn like_signs_are_like(
        first in program(5),
        more in program(3),
        factor in 0u8..5,
        seed in any::<u64>(),
    ) {
        let mut b = Build::default();
        let x = build(&mut b, &first, seed);
        let other = build(&mut b, &more, seed ^ 1);
        let k = match factor {
            0 => b.q(3, 7),
            1 => b.q(-2, 1),
            2 => b.pow2(other),
            3 => b.square_plus_one(other),
            _ => other,
        };
        let y = b.mul(x, k);
        let mut n = Normalizer::new(&b.s, small());
        let (same, zeros) = (n.same_sign(x, y), n.vanish_together(x, y));
        for at in points() {
            let of = |_: u32, i: u64| at[i as usize];
            let (v, w) = (eval::term(&b.s, x, &of), eval::term(&b.s, y, &of));
            if !v.is_finite() || !w.is_finite() || v.abs() < 1e-9 || w.abs() < 1e-9 {
                continue;
            }
            prop_assert!(!same || v * w > 0.0, "{v} {w}\n{}", eval::text(&b.s, y));
            let zero = |v: f64| v.abs() < 1e-12;
            prop_assert!(!zeros || zero(v) == zero(w), "{v} {w}");
        }
    }
}
