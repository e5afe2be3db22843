//! Two addresses as digits of a mixed radix.
//!
//! Problem: do `[p, p + w)` of one thread and `[q, q + v)` of another meet, where p and q are sums of products of sizes?
//! A stride S that both share divides each number into blocks: p = Q*S + R. Where 0 <= R and R + w <= S, the bytes of p
//! lie in block Q alone. If that holds of both, they meet only if both blocks are the same and the rests meet; the blocks
//! and the rests are taken apart in the same way. The bounds are asked of the facts, so that nothing is assumed of how far
//! a guard reaches.

use num_integer::gcd;
use rustc_hash::FxHashSet;

use super::expr::{Exprs, Id, Level, Order};
use super::integers::Integers;
use super::limits::{MAX_DEGREE, MAX_SPLITS};
use super::linear::{Atom, Poly};
use crate::term::BitsOp;

/// Two ranges of numbers that meet: where they begin and how long they are.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub a: Poly,
    pub b: Poly,
    pub widths: (i128, i128),
}

/// What has to hold where two ranges meet, taken apart as far as it goes.
pub(super) fn apart(of: Meeting, known: &mut Integers) -> Vec<Meeting> {
    let (mut open, mut done) = (vec![(of, 0)], Vec::new());
    while let Some((m, depth)) = open.pop() {
        match split(&m, known).filter(|_| depth < MAX_SPLITS) {
            Some(parts) => open.extend(parts.map(|p| (p, depth + 1))),
            None => done.push(m),
        }
    }
    done
}

fn split(m: &Meeting, known: &mut Integers) -> Option<[Meeting; 2]> {
    variants(m, known.e)
        .iter()
        .find_map(|m| split_one(m, known))
}

/// The same question without what both numbers share, and with both signs turned: `[p, p + w)` meets `[q, q + v)` exactly
/// if `[-p, -p + v)` meets `[-q, -q + w)`.
fn variants(m: &Meeting, e: &Exprs) -> Vec<Meeting> {
    let mut plain = m.clone();
    let shared = |k: &[Atom]| k.iter().all(|a| e.level(a.0) == Level::Grid);
    for (k, c) in &m.a.terms {
        if shared(k) && m.b.terms.get(k) == Some(c) {
            plain.a.terms.remove(k);
            plain.b.terms.remove(k);
        }
    }
    let turned = |p: &Poly| {
        let mut p = p.clone();
        p.terms.values_mut().for_each(|c| *c = -*c);
        p
    };
    let negative = Meeting {
        a: turned(&plain.a),
        b: turned(&plain.b),
        widths: (m.widths.1, m.widths.0),
    };
    vec![m.clone(), plain, negative]
}

fn split_one(m: &Meeting, known: &mut Integers) -> Option<[Meeting; 2]> {
    let symbolic = strides(m, known.e).into_iter().map(|s| (s, None));
    let constant = constants(m).into_iter().map(|g| (Vec::new(), Some(g)));
    for (stride, exactly) in symbolic.chain(constant) {
        let (qa, ra) = divided(&m.a, &stride, exactly);
        let (qb, rb) = divided(&m.b, &stride, exactly);
        let coefficients = qa.terms.values().chain(qb.terms.values());
        let g = exactly.unwrap_or_else(|| coefficients.fold(0i128, |g, c| gcd(g, c.abs())));
        if g == 0 {
            continue;
        }
        let whole = Poly {
            terms: [(stride.clone(), g)].into_iter().collect(),
        };
        let inside = |known: &mut Integers, r: &Poly, w: i128| {
            let above = whole
                .plus(-1, r)
                .and_then(|p| p.plus(-1, &Poly::constant(w)));
            known.proves(r) && above.is_some_and(|p| known.proves(&p))
        };
        if !inside(known, &ra, m.widths.0) || !inside(known, &rb, m.widths.1) {
            continue;
        }
        let scaled = |mut p: Poly| {
            p.terms.values_mut().for_each(|c| *c /= g);
            p
        };
        return Some([
            Meeting {
                a: scaled(qa),
                b: scaled(qb),
                widths: (1, 1),
            },
            Meeting {
                a: ra,
                b: rb,
                widths: m.widths,
            },
        ]);
    }
    None
}

/// Constant strides: coefficients that divide some of the terms and not all, the largest first.
fn constants(m: &Meeting) -> Vec<i128> {
    let all = || {
        m.a.terms
            .iter()
            .chain(&m.b.terms)
            .filter(|(k, _)| !k.is_empty())
    };
    let mut out: Vec<i128> = all().map(|(_, c)| c.abs()).filter(|c| *c > 1).collect();
    out.sort_unstable_by(|a, b| b.cmp(a));
    out.dedup();
    out.retain(|g| !all().all(|(_, c)| c % g == 0));
    out.truncate(MAX_SPLITS);
    out
}

/// Products of sizes that both threads share and that divide a term, the largest first.
fn strides(m: &Meeting, e: &Exprs) -> Vec<Vec<Atom>> {
    let mut out: FxHashSet<Vec<Atom>> = FxHashSet::default();
    for term in m.a.terms.keys().chain(m.b.terms.keys()) {
        let shared: Vec<Atom> = term
            .iter()
            .copied()
            .filter(|a| e.level(a.0) == Level::Grid)
            .collect();
        for bits in 1u32..1 << shared.len().min(MAX_DEGREE) {
            let some = shared
                .iter()
                .enumerate()
                .filter(|(i, _)| bits >> i & 1 == 1);
            out.insert(some.map(|(_, a)| *a).collect());
        }
    }
    let mut out: Vec<Vec<Atom>> = out.into_iter().collect();
    out.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    out
}

/// Quotient and rest of a polynomial, term by term; by a constant too, where one is given.
fn divided(p: &Poly, by: &[Atom], exactly: Option<i128>) -> (Poly, Poly) {
    let (mut q, mut r) = (Poly::default(), Poly::default());
    for (m, c) in &p.terms {
        if let Some(g) = exactly {
            // A constant is split into whole strides and a rest that is not negative.
            let rest = if m.is_empty() { c.rem_euclid(g) } else { c % g };
            let (whole, rest) = match rest {
                0 => (*c, 0),
                rest if m.is_empty() => (c - rest, rest),
                _ => (0, *c),
            };
            for (part, v) in [(&mut q, whole), (&mut r, rest)] {
                if v != 0 {
                    part.terms.insert(m.clone(), v);
                }
            }
            continue;
        }
        let mut rest = m.clone();
        let whole = by.iter().all(|a| match rest.iter().position(|x| x == a) {
            Some(i) => {
                rest.remove(i);
                true
            }
            None => false,
        });
        match whole {
            true => q.terms.insert(rest, *c),
            false => r.terms.insert(m.clone(), *c),
        };
    }
    (q, r)
}

/// The condition on machine words that a meeting implies: what holds of whole numbers holds modulo 2^64.
pub(super) fn condition(m: &Meeting, e: &mut Exprs) -> Id {
    let (a, b) = (word(&m.a, e), word(&m.b, e));
    if m.widths == (1, 1) {
        return e.compare(Order::Equal, a, b);
    }
    meets(e, (a, m.widths.0 as u64), (b, m.widths.1 as u64))
}

/// Whether two ranges of one modulus meet.
pub(super) fn meets(e: &mut Exprs, (a, n): (Id, u64), (b, k): (Id, u64)) -> Id {
    let width = e.width(a);
    let (up, down) = (e.minus(a, b), e.minus(b, a));
    let (n, k) = (e.constant(n, width), e.constant(k, width));
    let (x, y) = (
        e.compare(Order::Below, up, k),
        e.compare(Order::Below, down, n),
    );
    e.or(x, y)
}

/// A polynomial as a machine word.
pub(super) fn word(p: &Poly, e: &mut Exprs) -> Id {
    let mut sum = e.constant(0, 64);
    for (m, c) in &p.terms {
        let mut product = e.constant(*c as u64, 64);
        for (id, sign) in m {
            let x = e.resize(*id, 64, *sign);
            product = e.word(BitsOp::Mul, x, product);
        }
        sum = e.add(sum, product);
    }
    sum
}
