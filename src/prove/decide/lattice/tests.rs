//! Choices against all orders of a few numbers.

use super::*;

fn same(s: &TermStore, a: TermId, b: TermId) -> bool {
    let limits = Limits::NONE;
    decide(s, a, b, &limits) == Some(true)
}
use crate::kernel::Fmt;
use crate::term::eval::{Cone, Inputs};
use crate::term::{ArrayId, Fun};
use proptest::prelude::*;

fn elements(s: &mut TermStore, n: u64) -> Vec<TermId> {
    (0..n)
        .map(|i| s.elem(ArrayId(0), Fmt::F32, 4 * i))
        .collect()
}

/// The values of two terms on inputs of few different numbers, ties included.
fn agree(s: &TermStore, a: TermId, b: TermId, n: u32, numbers: u32) -> bool {
    let cone = Cone::new(s, &[a, b]);
    let constants = cone.constants(s);
    (0..numbers.pow(n)).all(|code| {
        let mut inputs = Inputs::default();
        for i in 0..n {
            let x = (code / numbers.pow(i) % numbers) as f32 - 1.0;
            inputs.set(ArrayId(0), 4 * i as u64, 4, x.to_bits() as u64);
        }
        let v = cone.approximate(s, &constants, &inputs, &mut Vec::new());
        match s.sort(a) {
            Sort::Real => v[0].f == v[1].f,
            _ => v[0].b == v[1].b,
        }
    })
}

fn exchange(s: &mut TermStore, v: &mut [TermId], i: usize, j: usize, by_select: bool) {
    let (a, b) = (v[i], v[j]);
    (v[i], v[j]) = match by_select {
        true => {
            let p = s.rcmp(RCmp::Lt, b, a);
            (s.select(p, b, a), s.select(p, a, b))
        }
        false => (s.min(a, b), s.max(a, b)),
    };
}

/// Exchanges of neighbours; `drop` leaves one out.
fn bubble(s: &mut TermStore, x: &[TermId], by_select: bool, drop: usize) -> Vec<TermId> {
    let (mut v, mut count) = (x.to_vec(), 0);
    for i in 0..v.len() {
        for j in 0..v.len() - 1 - i {
            if count != drop {
                exchange(s, &mut v, j, j + 1, by_select);
            }
            count += 1;
        }
    }
    v
}

/// Batcher's merging of halves.
fn merged(s: &mut TermStore, x: &[TermId]) -> Vec<TermId> {
    let (mut v, n) = (x.to_vec(), x.len());
    let mut p = 1;
    while p < n {
        let mut k = p;
        while k >= 1 {
            for j in (k % p..n.saturating_sub(k)).step_by(2 * k) {
                for i in 0..k.min(n - j - k) {
                    if (i + j) / (2 * p) == (i + j + k) / (2 * p) {
                        exchange(s, &mut v, i + j, i + j + k, false);
                    }
                }
            }
            k /= 2;
        }
        p *= 2;
    }
    v
}

#[test]
fn networks_that_sort_are_equal() {
    for n in [3, 4, 8, 16] {
        let s = &mut TermStore::new();
        let x = elements(s, n);
        let m = merged(s, &x);
        for by_select in [false, true] {
            let b = bubble(s, &x, by_select, usize::MAX);
            let all = m.iter().zip(&b).all(|(a, b)| a == b || same(s, *a, *b));
            assert!(all, "{n} {by_select}");
        }
        let wrong = bubble(s, &x, false, n as usize / 2);
        assert!(!m.iter().zip(&wrong).all(|(a, b)| same(s, *a, *b)));
    }
}

/// A constant that no number is below, or above, says nothing; any other does.
#[test]
fn constants_beyond_bounds_are_dropped() {
    let s = &mut TermStore::new();
    let x = elements(s, 9);
    let absolute: Vec<TermId> = x.iter().map(|&t| s.fun(Fun::Abs, t)).collect();
    let minus: Vec<TermId> = absolute.iter().map(|&t| s.neg(t)).collect();
    let [mut up, mut down] = [absolute[0], minus[0]];
    for (&a, &b) in absolute.iter().zip(&minus).skip(1).rev() {
        (up, down) = (s.max(a, up), s.min(down, b));
    }
    for (least, holds) in [(-1, true), (0, true), (1, false)] {
        let c = s.integer(least);
        let mut padded = c;
        for &t in &absolute {
            padded = s.max(padded, t);
        }
        assert_eq!(same(s, up, padded), holds, "{least}");
        let mut padded = s.integer(-least);
        for &t in &minus {
            padded = s.min(padded, t);
        }
        assert_eq!(same(s, down, padded), holds, "{least}");
    }
    // A number of either sign is one that 0 says something of.
    let (mut up, mut padded) = (x[0], s.integer(0));
    for (i, &t) in x.iter().enumerate() {
        (up, padded) = (if i == 0 { up } else { s.max(t, up) }, s.max(padded, t));
    }
    assert!(!same(s, up, padded));
}

/// The index of the largest by a loop; `last` keeps the last of equals, `smallest` the smallest.
fn by_loop(s: &mut TermStore, x: &[TermId], last: bool, smallest: bool) -> TermId {
    let (mut best, mut index) = (x[0], s.bits(32, 0));
    for (i, &v) in x.iter().enumerate().skip(1) {
        let (a, b) = if smallest { (v, best) } else { (best, v) };
        let p = s.rcmp(if last { RCmp::Le } else { RCmp::Lt }, a, b);
        let i = s.bits(32, i as u64);
        best = s.select(p, v, best);
        index = s.select(p, i, index);
    }
    index
}

/// The same by a tree that looks at the indices of equals; `maximum` keeps the numbers by maxima.
fn by_tree(s: &mut TermStore, x: &[TermId], last: bool, maximum: bool) -> TermId {
    let mut all: Vec<(TermId, TermId)> = Vec::new();
    for (i, &v) in x.iter().enumerate() {
        all.push((v, s.bits(32, i as u64)));
    }
    while all.len() > 1 {
        let half = all.len().div_ceil(2);
        for i in 0..all.len() - half {
            let ((v, b), (u, c)) = (all[i], all[i + half]);
            let (more, same) = (s.rcmp(RCmp::Lt, v, u), s.rcmp(RCmp::Eq, u, v));
            let before = match last {
                true => s.icmp(ICmp::SLt, b, c),
                false => s.icmp(ICmp::SLt, c, b),
            };
            let tie = s.and(same, before);
            let p = s.or(more, tie);
            let value = if maximum {
                s.max(u, v)
            } else {
                s.select(p, u, v)
            };
            all[i] = (value, s.select(p, c, b));
        }
        all.truncate(half);
    }
    all[0].1
}

#[test]
fn indices_of_the_largest_are_equal() {
    for n in [2, 3, 4, 7, 8, 16, 32] {
        for last in [false, true] {
            let s = &mut TermStore::new();
            let x = elements(s, n);
            let a = by_loop(s, &x, last, false);
            for maximum in [false, true] {
                let b = by_tree(s, &x, last, maximum);
                assert!(same(s, a, b), "{n} {last} {maximum}");
                assert!(n < 3 || best::equal_beyond(1, s, (a, b), &Limits::NONE));
                assert!(n > 4 || agree(s, a, b, n as u32, 3));
                let other = by_tree(s, &x, !last, maximum);
                assert!(!same(s, a, other), "{n} {last} {maximum}");
            }
            let other = by_loop(s, &x, last, true);
            assert!(!same(s, a, other));
            let fewer = by_loop(s, &x[1..], last, false);
            assert!(!same(s, a, fewer));
        }
    }
}

/// Rows as long as kernels have them: a question about a choice is no larger for those below it.
#[test]
fn indices_among_many_numbers_are_equal() {
    let s = &mut TermStore::new();
    let x = elements(s, 1500);
    let a = by_loop(s, &x, false, false);
    for maximum in [false, true] {
        let b = by_tree(s, &x, false, maximum);
        assert!(same(s, a, b), "{maximum}");
    }
    let other = by_tree(s, &x, true, false);
    assert!(!same(s, a, other));
}

/// Of equal numbers the one is taken whose index comes first, not that of another choice.
#[test]
fn an_index_is_compared_with_its_own() {
    let s = &mut TermStore::new();
    let x = elements(s, 4);
    let [a, b] = [[0, 2], [1, 3]].map(|[i, j]| {
        let p = s.rcmp(RCmp::Lt, x[i], x[j]);
        let (low, high) = (s.bits(32, i as u64), s.bits(32, j as u64));
        (s.select(p, x[j], x[i]), s.select(p, high, low), low)
    });
    let chosen = |s: &mut TermStore, first, second| {
        let (more, same) = (s.rcmp(RCmp::Lt, a.0, b.0), s.rcmp(RCmp::Eq, b.0, a.0));
        let before = s.icmp(ICmp::SLt, first, second);
        let tie = s.and(same, before);
        let p = s.or(more, tie);
        s.select(p, b.1, a.1)
    };
    let whole = by_loop(s, &x, false, false);
    let own = chosen(s, b.1, a.1);
    assert!(same(s, own, whole));
    for (first, second) in [(a.1, b.1), (b.2, a.1), (b.1, a.2), (b.1, b.1)] {
        let other = chosen(s, first, second);
        assert!(!same(s, other, whole));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    /// Whatever is called equal is equal on all orders, ties included.
    #[test]
    fn equal_means_equal(steps in proptest::collection::vec((0u8..12, any::<u16>(), any::<u16>(), any::<u16>()), 2..14)) {
        let s = &mut TermStore::new();
        let x = elements(s, 4);
        let mut values = x.clone();
        let absolute = s.fun(Fun::Abs, x[3]);
        values.extend([absolute, s.integer(-1), s.integer(0), s.integer(1)]);
        let mut indices: Vec<TermId> = (0..4).map(|i| s.bits(32, i)).collect();
        let mut truths = vec![s.rcmp(RCmp::Lt, x[0], x[1])];
        let pick = |v: &[TermId], i: u16| v[v.len() - 1 - i as usize % v.len().min(8)];
        for (op, i, j, k) in steps {
            let (a, b) = (pick(&values, i), pick(&values, j));
            let (p, q) = (pick(&truths, k), pick(&truths, i));
            match op {
                0 => values.push(s.max(a, b)),
                1 => values.push(s.min(a, b)),
                2 | 3 => {
                    let p = s.rcmp(if op == 2 { RCmp::Lt } else { RCmp::Le }, a, b);
                    truths.push(p);
                    values.push(s.select(p, a, b));
                }
                4 => values.push(s.select(p, a, b)),
                5 => truths.push(s.rcmp(RCmp::Eq, a, b)),
                6 => truths.push(s.and(p, q)),
                7 => truths.push(s.or(p, q)),
                8 => truths.push(s.not(p)),
                9 => truths.push(s.xor(p, q)),
                10 => {
                    let (a, b) = (pick(&indices, i), pick(&indices, j));
                    truths.push(s.icmp(ICmp::SLt, a, b));
                }
                _ => {
                    let t = s.select(p, pick(&indices, i), pick(&indices, j));
                    indices.push(t);
                }
            }
        }
        for all in [&values, &indices] {
            for (i, &a) in all.iter().enumerate() {
                for &b in &all[..i] {
                    let best = || best::equal_beyond(1, s, (a, b), &Limits::NONE);
                    if a != b && (same(s, a, b) || best()) {
                        prop_assert!(agree(s, a, b, 4, 4), "{a:?} {b:?}");
                    }
                }
            }
        }
    }
}
