//! Random terms and random rewritings of them.

use super::eval;
use super::*;
use crate::norm::poly::PolyId;
use crate::norm::probable;
use crate::norm::sweep::Entry;
use proptest::prelude::*;

/// A program that builds a term: each step takes earlier results.
#[derive(Clone, Debug)]
pub(super) struct Step {
    op: u8,
    a: u16,
    b: u16,
    c: i8,
}

pub(super) fn program(len: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<u8>(), any::<u16>(), any::<u16>(), -4i8..5);
    proptest::collection::vec(step.prop_map(|(op, a, b, c)| Step { op, a, b, c }), 1..len)
}

/// One operation, in one of several equal ways: `way` picks.
fn apply(b: &mut Build, s: &Step, x: TermId, y: TermId, z: TermId, way: &mut u64) -> TermId {
    *way = way.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let w = *way >> 33;
    let k = b.q(s.c as i64, 2);
    let one = b.q(1, 1);
    match s.op % 16 {
        0 | 1 => match w % 4 {
            0 => b.add(x, y),
            1 => b.add(y, x),
            2 => b.s.sum(&[(one, y), (x, one)]),
            _ => {
                let n = b.s.neg(y);
                b.sub(x, n)
            }
        },
        2 => match w % 3 {
            0 => b.mul(x, y),
            1 => {
                // x * y = x * (y - z) + x * z
                let d = b.sub(y, z);
                let (p, q) = (b.mul(x, d), b.mul(x, z));
                b.add(p, q)
            }
            _ => b.s.sum(&[(x, y)]),
        },
        3 => match w % 2 {
            0 => b.mul(x, k),
            _ => {
                let half = b.q(s.c as i64, 4);
                let p = b.mul(half, x);
                b.add(p, p)
            }
        },
        4 => b.sub(x, y),
        5 => {
            // exp of something, split or not
            match w % 3 {
                0 => b.fun(Fun::Exp2, x),
                1 => {
                    let d = b.sub(x, z);
                    let (p, q) = (b.fun(Fun::Exp2, d), b.fun(Fun::Exp2, z));
                    b.mul(p, q)
                }
                _ => {
                    let x1 = b.add(x, one);
                    let p = b.fun(Fun::Exp2, x1);
                    let half = b.q(1, 2);
                    b.mul(p, half)
                }
            }
        }
        6 => {
            // A quotient with a denominator that is never zero.
            let e = b.fun(Fun::Exp2, y);
            let d = b.add(e, one);
            match w % 3 {
                0 => b.div(x, d),
                1 => {
                    let i = b.div(one, d);
                    b.mul(i, x)
                }
                _ => {
                    let f = b.fun(Fun::Exp2, z);
                    let (n, m) = (b.mul(x, f), b.mul(d, f));
                    b.div(n, m)
                }
            }
        }
        7 => match w % 4 {
            0 => b.max(x, y),
            1 => b.max(y, x),
            2 => {
                let (p, q) = (b.add(x, z), b.add(y, z));
                let m = b.max(p, q);
                b.sub(m, z)
            }
            _ => {
                let (p, q) = (b.s.neg(x), b.s.neg(y));
                let m = b.s.min(p, q);
                b.s.neg(m)
            }
        },
        8 => {
            // A square root of something positive.
            let q = b.mul(x, x);
            let q = b.add(q, one);
            match w % 2 {
                0 => b.fun(Fun::Sqrt, q),
                _ => {
                    let r = b.fun(Fun::Rsqrt, q);
                    b.mul(q, r)
                }
            }
        }
        9 => match w % 2 {
            0 => b.fun(Fun::Abs, x),
            _ => {
                let n = b.s.neg(x);
                b.max(n, x)
            }
        },
        10 => b.fun(Fun::Sin, x),
        11 => b.s.min(x, y),
        12 => {
            let p = b.s.rcmp(crate::term::RCmp::Lt, x, y);
            match w % 2 {
                0 => b.s.select(p, z, k),
                _ => {
                    let np = b.s.rcmp(crate::term::RCmp::Le, y, x);
                    b.s.select(np, k, z)
                }
            }
        }
        13 => match w % 2 {
            0 => b.fun(Fun::Tanh, x),
            _ => {
                let n = b.s.neg(x);
                let t = b.fun(Fun::Tanh, n);
                b.s.neg(t)
            }
        },
        14 => {
            let e = b.fun(Fun::Exp2, x);
            let f = b.fun(Fun::Exp2, y);
            let s = b.add(e, f);
            match w % 2 {
                0 => b.fun(Fun::Log2, s),
                _ => {
                    // y + log2(2^(x - y) + 1)
                    let d = b.sub(x, y);
                    let e = b.fun(Fun::Exp2, d);
                    let s = b.add(e, one);
                    let l = b.fun(Fun::Log2, s);
                    b.add(l, y)
                }
            }
        }
        _ => {
            let p = b.s.rcmp(crate::term::RCmp::Le, x, y);
            b.s.select(p, x, z)
        }
    }
}

pub(super) fn build(b: &mut Build, program: &[Step], seed: u64) -> TermId {
    let mut way = seed;
    let mut t: Vec<TermId> = (0..4).map(|i| b.x(0, i)).collect();
    for s in program {
        // Later results are used more often, so that terms grow.
        let pick = |i: u16| t[t.len() - 1 - (i as usize % t.len().min(5))];
        let (x, y) = (pick(s.a), pick(s.b));
        let z = pick(s.a ^ s.b >> 3);
        let r = apply(b, s, x, y, z, &mut way);
        t.push(r);
    }
    t[t.len() - 1]
}

pub(super) fn points() -> Vec<[f64; 4]> {
    vec![
        [0.3, -0.7, 1.1, 0.2],
        [-0.9, 0.4, -0.35, 0.81],
        [0.05, 0.06, -1.3, -0.44],
        [1.21, 0.93, 0.77, -0.15],
    ]
}

pub(super) fn close(a: f64, b: f64) -> bool {
    !a.is_finite() || !b.is_finite() || a.abs() > 1e6 || (a - b).abs() <= 1e-6 * (1.0 + a.abs())
}

pub(super) fn small() -> Limits {
    Limits {
        max_terms: 20_000,
        max_work: 3_000_000,
        max_cross: 20_000,
        ..Limits::default()
    }
}

pub(super) fn form(n: &mut Normalizer, t: TermId) -> Option<PolyId> {
    n.real(t).ok().map(|c| PolyId(c.0))
}

pub(super) fn show(n: &Normalizer, c: PolyId) -> String {
    n.display(super::super::CanonId(c.0), &|_, off, _| {
        format!("x{}", off / 4)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The canonical form has the value of the term.
    #[test]
    fn keeps_the_value(p in program(9), seed in any::<u64>()) {
        let mut b = Build::default();
        let t = build(&mut b, &p, seed);
        let mut n = Normalizer::new(&b.s, small());
        let Some(c) = form(&mut n, t) else { return Ok(()) };
        for at in points() {
            let x = |_: u32, i: u64| at[i as usize];
            let (want, got) = (eval::term(&b.s, t, &x), eval::canon(&n, c, &x));
            prop_assert!(close(want, got), "{want} {got} for {p:?}\n{}\n{}", eval::text(&b.s, t), show(&n, c));
        }
    }

    /// Rewritten terms have the same form; terms of different value never do.
    #[test]
    fn rewriting_keeps_the_form(p in program(6), seed in any::<u64>(), other in any::<u64>()) {
        // Maxima of maxima, or over several forms of a fraction, and logarithms of powers of sums
        // are compared only syntactically.
        let count = |ops: &[u8]| p.iter().filter(|s| ops.contains(&(s.op % 16))).count();
        let branching = count(&[7, 9, 11, 12, 15]);
        if branching > 1 || branching == 1 && count(&[6, 13]) > 0 || count(&[14]) > 1 {
            return Ok(());
        }
        let mut b = Build::default();
        let t = build(&mut b, &p, seed);
        let u = build(&mut b, &p, other);
        let mut n = Normalizer::new(&b.s, small());
        let e = n.equal(t, u);
        if e == Equality::Different {
            let (c, d) = (form(&mut n, t), form(&mut n, u));
            let show = |c: Option<PolyId>| c.map_or(String::new(), |c| show(&n, c));
            prop_assert!(false, "{}\n{}\n\n{}\n{}", eval::text(&b.s, t), eval::text(&b.s, u), show(c), show(d));
        }
    }

    /// Equal is claimed only where the values agree.
    #[test]
    fn equal_means_equal(p in program(8), q in program(8), seed in any::<u64>()) {
        let mut b = Build::default();
        let t = build(&mut b, &p, seed);
        let u = build(&mut b, &q, seed ^ 1);
        let mut n = Normalizer::new(&b.s, small());
        if n.equal(t, u) == Equality::Equal {
            for at in points() {
                let x = |_: u32, i: u64| at[i as usize];
                let (v, w) = (eval::term(&b.s, t, &x), eval::term(&b.s, u, &x));
                prop_assert!(close(v, w), "{v} {w} for {p:?} and {q:?}");
            }
        }
    }

    /// A changed step changes the form, where the value changes.
    #[test]
    fn mutations_are_seen(p in program(7), i in any::<prop::sample::Index>(), c in 1i8..4) {
        let mut b = Build::default();
        let t = build(&mut b, &p, 7);
        let mut q = p.clone();
        let i = i.index(q.len());
        q[i].c = q[i].c.wrapping_add(c);
        q[i].op = q[i].op.wrapping_add(c as u8);
        let u = build(&mut b, &q, 7);
        let mut n = Normalizer::new(&b.s, small());
        let differs = points().iter().any(|at| {
            let x = |_: u32, i: u64| at[i as usize];
            let (v, w) = (eval::term(&b.s, t, &x), eval::term(&b.s, u, &x));
            !close(v, w)
        });
        if differs {
            prop_assert_ne!(n.equal(t, u), Equality::Equal);
        }
    }

    /// Evaluation at random points claims only what holds.
    #[test]
    fn evaluation_is_sound(p in program(7), q in program(7), i in any::<prop::sample::Index>(), c in 0i8..4, seed in any::<u64>()) {
        let mut b = Build::default();
        let mut r = p.clone();
        let i = i.index(r.len());
        r[i].c = r[i].c.wrapping_add(c);
        r[i].op = r[i].op.wrapping_add(c as u8);
        let (t, u, v) = (build(&mut b, &p, 7), build(&mut b, &q, seed), build(&mut b, &r, seed));
        let Some(a) = probable::equal(&b.s, &[(t, u), (t, v)], &small()) else { return Ok(()) };
        prop_assert!(a.error <= -60.0);
        for (other, equal) in [u, v].into_iter().zip(a.equal) {
            for at in points() {
                let x = |_: u32, i: u64| at[i as usize];
                let (v, w) = (eval::term(&b.s, t, &x), eval::term(&b.s, other, &x));
                prop_assert!(!equal || close(v, w), "{v} {w} for {p:?} and {q:?}");
            }
        }
    }

    /// Terms that are rewritten by the laws of fields and of powers have the same values.
    #[test]
    fn rewriting_keeps_the_values(p in program(8), seed in any::<u64>(), other in any::<u64>()) {
        // The other operations are atoms, whose own laws are not known.
        let mut p = p;
        for s in &mut p {
            s.op %= 7;
        }
        // In exponents powers are atoms, and fractions are multiplied out, not brought over one denominator: so one
        // step alone makes powers, those of a denominator with them.
        let mut powers = 0;
        p.retain(|s| {
            powers += (s.op >= 5) as usize;
            s.op < 5 || powers == 1
        });
        let mut b = Build::default();
        let t = build(&mut b, &p, seed);
        let u = build(&mut b, &p, other);
        if let Some(a) = probable::equal(&b.s, &[(t, u)], &small()) {
            prop_assert!(a.equal[0], "{}\n{}", eval::text(&b.s, t), eval::text(&b.s, u));
        }
    }

    /// Normalising again, alone or after others, gives the same form.
    #[test]
    fn is_stable(p in program(9), seed in any::<u64>()) {
        let mut b = Build::default();
        let t = build(&mut b, &p, seed);
        let mut n = Normalizer::new(&b.s, small());
        let (first, second) = (n.real(t), n.real(t));
        prop_assert_eq!(first, second);
        if let Entry::Real(v) = n.entry(t)
            && let Ok(c) = n.ring.canon(v)
        {
            // The form of a form is itself.
            let w = n.ring.val_of(c);
            prop_assert_eq!(n.ring.canon(w), Ok(c));
            if let Ok(terms) = n.ring.expand(n.ring.polys.get(c).to_vec()) {
                prop_assert_eq!(n.ring.collect(terms), Ok(c));
            }
        }
    }
}
