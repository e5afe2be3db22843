//! Every row of every rule of the normaliser, proved again by the evaluator on random operands.
//!
//! A row is a left side and a right side over operands. For elements as operands both sides have
//! one form; for any operands, both sides have one value, and so has the form of each. A wrong
//! twin of the right side never has the form of the left. The evaluator shares no code with the
//! rules. The code asks for a rule by its id; so each row has a side to which the rule of its id is applied, and what
//! is made without a rule has the value that it has with it.

use super::eval;
use super::notation::Operands;
use super::random::{build, close, form, points, program, show, small};
use super::*;
#[cfg(debug_assertions)]
use crate::norm::rules::without;
use crate::norm::rules::{Row, Rule};
use crate::work;
use proptest::prelude::*;

/// All rows, with their rules.
fn rows() -> Vec<(Rule, &'static Row)> {
    let of = |&rule: &Rule| rule.rows().iter().map(move |row| (rule, row));
    Rule::ALL.iter().flat_map(of).collect()
}

/// A row by a number, for samples.
fn row(i: usize) -> &'static Row {
    let all = rows();
    all[i % all.len()].1
}

/// The sides of a row over elements and an integer.
fn sides(b: &mut Build, row: &Row, c: i64) -> [TermId; 2] {
    let [x, y, z] = [0, 1, 2].map(|i| b.x(0, i));
    let (l, r) = row.sides(b, &Operands([x, y, z], c));
    [l, r]
}

#[test]
fn rules_are_sentences_with_names_of_their_own() {
    let all = rows();
    for (i, (_, rule)) in all.iter().enumerate() {
        assert!(
            all[..i].iter().all(|(_, r)| r.name != rule.name),
            "{}",
            rule.name
        );
        assert!(
            rule.pattern != rule.result && !rule.because.is_empty(),
            "{}",
            rule.name
        );
        assert!(!rule.condition.ends_with('.'), "{}", rule.name);
    }
}

#[test]
fn both_sides_of_a_rule_have_one_form() {
    let mut failed = Vec::new();
    for (_, rule) in rows() {
        for c in -3..4 {
            let mut b = Build::default();
            let [l, r] = sides(&mut b, rule, c);
            if b.equal(l, r) != Equality::Equal {
                failed.push((rule.name, c));
            }
            let one = b.q(1, 1);
            let wrong = b.add(r, one);
            assert_ne!(b.equal(l, wrong), Equality::Equal, "{}", rule.name);
        }
    }
    assert_eq!(failed, []);
}

/// How often a rule is applied to a term.
fn applied(b: &Build, rule: Rule, t: TermId) -> u64 {
    let form = || Normalizer::new(&b.s, small()).real(t).is_ok();
    let (found, spent) = work::apart(None, form);
    assert!(found, "{}", eval::text(&b.s, t));
    spent.applied.of(rule as usize)
}

#[test]
fn the_rule_of_a_row_is_applied_to_its_pattern() {
    let mut failed = Vec::new();
    for (rule, row) in rows() {
        let of = |c| {
            let mut b = Build::default();
            let [l, _] = sides(&mut b, row, c);
            applied(&b, rule, l)
        };
        if !(-3..4).any(|c| of(c) > 0) {
            failed.push((rule, row.name));
        }
    }
    assert_eq!(failed, []);
}

/// Rules without which both sides of their rows still compare equal: by cross-multiplication, or since a polynomial of
/// degree two is seen not to be negative.
#[cfg(debug_assertions)]
const PROVED_OTHERWISE: [Rule; 3] = [
    Rule::RationalisedDenominator,
    Rule::PartialFraction,
    Rule::ClampedSumOfSquares,
];

/// Whatever rule is left out, no two terms get one form that have none with it.
#[cfg(debug_assertions)]
#[test]
fn less_is_equal_without_a_rule() {
    let mut alone = Vec::new();
    for &rule in Rule::ALL {
        let mut rests = false;
        for (of, row) in rows() {
            let mut b = Build::default();
            let [l, r] = sides(&mut b, row, 2);
            let one = b.q(1, 1);
            let wrong = b.add(r, one);
            without(rule, || {
                assert_ne!(b.equal(l, wrong), Equality::Equal, "{}", row.name);
                rests |= of == rule && b.equal(l, r) != Equality::Equal;
            });
        }
        if !rests {
            alone.push(rule);
        }
    }
    assert_eq!(alone, PROVED_OTHERWISE);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    /// Both sides have one value, and so have their forms, whatever the operands are.
    #[test]
    fn rules_keep_the_value(
        rule in any::<usize>(),
        programs in [program(4), program(4), program(4)],
        c in -3i64..4,
        seed in any::<u64>(),
    ) {
        let mut b = Build::default();
        let [x, y, z] = [0, 1, 2].map(|i| build(&mut b, &programs[i], seed ^ i as u64));
        let o = Operands([x, y, z], c);
        let (l, r) = row(rule).sides(&mut b, &o);
        let rule = row(rule).name;
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

    /// Without some rule, what still has a form has the value.
    #[cfg(debug_assertions)]
    #[test]
    fn forms_without_a_rule_keep_the_value(
        left_out in 0..Rule::ALL.len(),
        rule in any::<usize>(),
        programs in [program(4), program(4), program(4)],
        c in -3i64..4,
        seed in any::<u64>(),
    ) {
        let mut b = Build::default();
        let [x, y, z] = [0, 1, 2].map(|i| build(&mut b, &programs[i], seed ^ i as u64));
        let (l, r) = row(rule).sides(&mut b, &Operands([x, y, z], c));
        let mut n = Normalizer::new(&b.s, small());
        let forms = without(Rule::ALL[left_out], || [l, r].map(|t| form(&mut n, t)));
        for at in points() {
            let x = |_: u32, i: u64| at[i as usize];
            for (c, t) in forms.into_iter().zip([l, r]) {
                let Some(c) = c else { continue };
                let (v, got) = (eval::term(&b.s, t, &x), eval::canon(&n, c, &x));
                prop_assert!(close(v, got), "{:?}: {v} {got}\n{}", Rule::ALL[left_out], show(&n, c));
            }
        }
    }

    /// The left side never has the form of a right side with other operands, where values differ.
    #[test]
    fn wrong_sides_differ(rule in any::<usize>(), other in any::<usize>(), c in -3i64..4, d in -3i64..4, swap in any::<bool>()) {
        let mut b = Build::default();
        let [x, y, z] = [0, 1, 2].map(|i| b.x(0, i));
        let o = Operands([x, y, z], c);
        let (l, _) = row(rule).sides(&mut b, &o);
        let (x, y) = if swap { (y, x) } else { (x, y) };
        let o = Operands([x, y, z], d);
        let (_, r) = row(other).sides(&mut b, &o);
        let differs = points().iter().any(|at| {
            let x = |_: u32, i: u64| at[i as usize];
            !close(eval::term(&b.s, l, &x), eval::term(&b.s, r, &x))
        });
        prop_assert!(!differs || b.equal(l, r) != Equality::Equal, "{} and {}", row(rule).name, row(other).name);
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    /// Where a sum of masked powers is 0, so is what is said to be; and numerators of its summands are.
    #[test]
    fn what_vanishes_with_a_sum_is_zero_where_it_is(
        summands in proptest::collection::vec((0u8..4, 0u8..4, any::<bool>()), 1..4),
        factors in proptest::collection::vec((0u8..4, 0u8..4, any::<bool>()), 1..4),
        signed in any::<bool>(),
    ) {
        let mut b = Build::default();
        let zero = b.q(0, 1);
        // i > 0 ? 2^j : 0, or its negation, or x_i.
        let term = |b: &mut Build, (i, j, odd): (u8, u8, bool), bare: bool| {
            let (x, y) = (b.x(0, i.into()), b.x(0, j.into()));
            let p = b.s.rcmp(crate::term::RCmp::Lt, zero, x);
            let power = b.pow2(y);
            let masked = b.s.select(p, power, zero);
            match (odd, bare) {
                (false, _) => masked,
                (true, true) => b.mul(masked, x),
                (true, false) => b.mul(masked, power),
            }
        };
        let mut sum = zero;
        for &t in &summands {
            let t = term(&mut b, t, signed);
            sum = b.add(sum, t);
        }
        let mut other = zero;
        for &t in &factors {
            let t = term(&mut b, t, true);
            other = b.add(other, t);
        }
        let vanishes = Normalizer::new(&b.s, small()).vanishes_with(other, sum);
        let own = summands.iter().map(|t| t.0);
        let own: std::collections::BTreeSet<u8> = own.collect();
        let covered = factors.iter().all(|t| own.contains(&t.0));
        if !signed && covered {
            prop_assert!(vanishes);
        }
        if vanishes {
            for bits in 0..16u8 {
                let of = |_: u32, i: u64| if bits >> i & 1 == 1 { 1.5 } else { -0.5 };
                let (v, w) = (eval::term(&b.s, other, &of), eval::term(&b.s, sum, &of));
                prop_assert!(w != 0.0 || v == 0.0, "{v} {w}");
            }
        }
    }
}
