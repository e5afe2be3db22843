//! What the condition of a branch says of a need below it.
//!
//! Problem: x >= 0 ? 1 / (1 + x) : 1 / (1 - x) is defined everywhere, because each branch is taken only
//! where its denominator is not 0. The condition is a conjunction of comparisons, each of which
//! leaves a few signs of a difference; the need fails only where its operand has one of a few signs.
//! If no input gives all of them their signs, the need holds.
//!
//! Source: Fourier and Motzkin's elimination (`linear.rs`), and the signs of the normaliser where the
//! condition gives an input element a sign.
//!
//! Sound in the direction of `true`.

use num_traits::Signed;

use crate::norm;
use crate::spec::Limits;
use crate::term::{RCmp, Term, TermId, TermStore};

use super::canon::{Canon, SIGN_WORK};
use super::logic::linear::{self, Linear, Sign};
use super::logic::monotone;
use super::needs::{Guard, Need};

/// Parts of a condition that are looked at.
const MAX_PARTS: usize = 64;

/// Comparisons of a condition that are used, each of which has one or two signs.
const MAX_FACTS: usize = 4;

/// Terms of a store beyond which no scratch is made for a need.
const MAX_TERMS: usize = 100_000;

/// A difference and the signs that it can have.
struct Fact {
    form: Linear,
    signs: Vec<Sign>,
}

/// True only if the need holds wherever the conditions have these values.
pub(super) fn implies(store: &TermStore, guards: &[Guard], need: Need, limits: &Limits) -> bool {
    let (x, bad): (TermId, &[Sign]) = match need {
        Need::NonZero(x) => (x, &[Sign::Zero]),
        Need::NonNegative(x) => (x, &[Sign::Negative]),
        Need::Positive(x) | Need::Logarithm(x) => (x, &[Sign::Negative, Sign::Zero]),
        Need::NonZeroBits(_) | Need::Never(_) => return false,
    };
    let facts = facts(store, guards);
    if facts.is_empty() {
        return false;
    }
    let linear = linear::linear(store, x).is_some_and(|form| {
        bad.iter()
            .all(|&sign| is_impossible(store, &facts, (&form, sign)))
    });
    linear || by_signs(store, &facts, need, limits)
}

/// What holds where conditions have their values: these, and the parts of those that are conjunctions.
pub(super) fn parts(store: &TermStore, guards: &[Guard]) -> impl Iterator<Item = Guard> {
    let mut open: Vec<Guard> = guards.iter().rev().copied().collect();
    let next = std::iter::from_fn(move || {
        let (p, value) = open.pop()?;
        match (store.get(p), value) {
            (Term::Not(q), v) => open.push((q, !v)),
            (Term::And(q, r), true) => open.extend([(q, true), (r, true)]),
            (Term::Or(q, r), false) => open.extend([(q, false), (r, false)]),
            _ => {}
        }
        Some((p, value))
    });
    next.take(MAX_PARTS)
}

/// The comparisons of which conditions are a conjunction, those of the first conditions first.
fn facts(store: &TermStore, guards: &[Guard]) -> Vec<Fact> {
    let mut out = Vec::new();
    for (p, value) in parts(store, guards) {
        if out.len() == MAX_FACTS {
            break;
        }
        let (a, b, signs) = match (store.get(p), value) {
            (Term::RCmp(RCmp::Lt, a, b), true) => (a, b, vec![Sign::Negative]),
            (Term::RCmp(RCmp::Lt, a, b), false) => (a, b, vec![Sign::Zero, Sign::Positive]),
            (Term::RCmp(RCmp::Le, a, b), true) => (a, b, vec![Sign::Negative, Sign::Zero]),
            (Term::RCmp(RCmp::Le, a, b), false) => (a, b, vec![Sign::Positive]),
            (Term::RCmp(RCmp::Eq, a, b), true) => (a, b, vec![Sign::Zero]),
            (Term::RCmp(RCmp::Eq, a, b), false) => (a, b, vec![Sign::Negative, Sign::Positive]),
            _ => continue,
        };
        // An infinity is no number that forms know.
        if [a, b]
            .iter()
            .any(|&t| matches!(store.get(t), Term::Inf { .. }))
        {
            continue;
        }
        if let (Some(f), Some(g)) = (linear::linear(store, a), linear::linear(store, b)) {
            let form = f.minus(&g);
            out.push(Fact { form, signs });
        }
    }
    out
}

/// True only if no values of the variables give the facts their signs and the form this one.
fn is_impossible(store: &TermStore, facts: &[Fact], (form, sign): (&Linear, Sign)) -> bool {
    // All ways to give each fact one of its signs, as a number with a digit for each.
    let ways: usize = facts.iter().map(|f| f.signs.len()).product();
    (0..ways).all(|way| {
        let mut rest = way;
        let mut region = vec![(form.clone(), sign)];
        for f in facts {
            region.push((f.form.clone(), f.signs[rest % f.signs.len()]));
            rest /= f.signs.len();
        }
        linear::is_empty(&region) || {
            monotone::add_consequences(store, &mut region);
            linear::is_empty(&region)
        }
    })
}

/// The same by the signs that facts give to input elements.
fn by_signs(store: &TermStore, facts: &[Fact], need: Need, limits: &Limits) -> bool {
    let sign_of = |f: &Fact| {
        let (x, k) = f.form.alone()?;
        if !matches!(store.get(x), Term::Elem { .. }) {
            return None;
        }
        let one = |s: &Sign| match (s, k.is_negative()) {
            (Sign::Zero, _) => norm::Sign::ZERO,
            (Sign::Positive, false) | (Sign::Negative, true) => norm::Sign::POS,
            _ => norm::Sign::NEG,
        };
        let all = f.signs.iter().map(one).reduce(norm::Sign::or)?;
        Some((x, all))
    };
    let signs: Vec<(TermId, norm::Sign)> = facts.iter().filter_map(sign_of).collect();
    // One sign for each element: an element that has two says so by the linear forms.
    let mut elements: Vec<TermId> = signs.iter().map(|s| s.0).collect();
    elements.sort_unstable();
    elements.dedup();
    if signs.is_empty() || elements.len() != signs.len() || store.len() > MAX_TERMS {
        return false;
    }
    Canon::under(store, &signs, limits, Some(SIGN_WORK)).meets(need)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::term::ArrayId;
    use crate::term::eval::{self, Inputs, Mode, Value};
    use num_traits::Zero;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits::NONE;

    /// k * x + l * y + c of two elements.
    fn form(s: &mut TermStore, [x, y]: [TermId; 2], (k, l, c): (i8, i8, i8)) -> TermId {
        let [k, l, c] = [k, l, c].map(|n| s.integer(n.into()));
        let (u, v) = (s.mul(k, x), s.mul(l, y));
        let u = s.add(u, v);
        s.add(u, c)
    }

    fn coefficients() -> impl Strategy<Value = (i8, i8, i8)> {
        (-2i8..3, -2i8..3, -2i8..3)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        /// Where the condition holds on an input, so does an implied need, by the evaluator.
        #[test]
        fn implied_needs_hold(
            f in coefficients(), g in coefficients(), h in coefficients(),
            ops in (0u8..3, 0u8..3), value in any::<bool>(), both in any::<bool>(),
            square in any::<bool>(), kind in 0u8..3,
        ) {
            let mut s = TermStore::new();
            let e = [0, 4].map(|off| s.elem(ArrayId(0), Fmt::F32, off));
            let op = |n: u8| [RCmp::Lt, RCmp::Le, RCmp::Eq][n as usize];
            let zero = s.integer(0);
            let (f, g) = (form(&mut s, e, f), form(&mut s, e, g));
            let (p, q) = (s.rcmp(op(ops.0), f, zero), s.rcmp(op(ops.1), zero, g));
            let p = match (both, value) {
                (false, _) => p,
                (true, true) => s.and(p, q),
                (true, false) => s.or(p, q),
            };
            let mut x = form(&mut s, e, h);
            if square {
                let k = s.mul(e[0], e[0]);
                x = s.add(x, k);
            }
            let need = [Need::NonZero(x), Need::NonNegative(x), Need::Positive(x)][kind as usize];
            if implies(&s, &[(p, value)], need, &LIMITS) {
                for (i, j) in (-6i8..7).flat_map(|i| (-6i8..7).map(move |j| (i, j))) {
                    let mut inputs = Inputs::default();
                    for (k, v) in [i, j].into_iter().enumerate() {
                        let bits = (f32::from(v) / 2.0).to_bits();
                        inputs.set(ArrayId(0), 4 * k as u64, 4, bits.into());
                    }
                    let mode = Mode::exact(64);
                    let v = eval::evaluate(&s, &[p, x], &inputs, mode);
                    let (Value::Bool(p), Value::Exact(x)) = (&v[0], &v[1]) else {
                        continue;
                    };
                    let holds = match kind {
                        0 => !x.is_zero(),
                        1 => !x.is_negative(),
                        _ => x.is_positive(),
                    };
                    prop_assert!(*p != value || holds, "{i} {j}");
                }
            }
        }
    }

    #[test]
    fn denominators_of_branches() {
        let mut s = TermStore::new();
        let x = s.elem(ArrayId(0), Fmt::F32, 0);
        let (zero, one) = (s.integer(0), s.integer(1));
        let p = s.rcmp(RCmp::Lt, x, zero);
        let (above, below) = (s.add(one, x), s.sub(one, x));
        let holds = |t, v| implies(&s, &[(p, v)], Need::NonZero(t), &LIMITS);
        assert!(holds(above, false) && holds(below, true));
        assert!(!holds(above, true) && !holds(below, false));
    }
}
