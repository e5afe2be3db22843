//! Signs that go together: what the region of a case split says of exponentials and the like.
//!
//! Problem: where x < 0, exp(x) - 1 is negative too, so that of the regions of
//! max(x, 0) + min(0, exp(x) - 1) only some have inputs. To the elimination in `linear.rs` an
//! exponential is a variable like any other. Here are the links between such a variable and its
//! argument; what a region says of one end of a link it says of the other.
//!
//! match a link and a region in which one end has a sign, result the other end has it, because:
//!
//! * 2^a - 1 and a, log2(a) and a - 1, tanh(a) and a, erf(a) and a: increasing functions, with
//!   their zero at the zero of the other side; a product of powers is the power of the sum;
//! * a * b and a, for b that is positive wherever it is defined;
//! * k * a / b + c and k * a + c * b, for such b.
//!
//! And 2^a > 0. Not claimed: completeness; a few links are followed a few times.

use num_rational::BigRational;
use num_traits::{One, Zero};

use super::linear::{Linear, Sign, is_empty, linear, sum_of};
use crate::term::rebuild::Images;
use crate::term::{Fun, Term, TermId, TermStore};

/// Most links of a region.
const MAX_LINKS: usize = 12;

/// How often all links are followed.
const ROUNDS: usize = 3;

/// Factors of a product of powers.
const MAX_FACTORS: usize = 8;

/// Two forms that always have the same sign.
struct Link(Linear, Linear);

/// Adds to a region what follows from it by the links of its variables.
pub(in crate::decide) fn add_consequences(store: &TermStore, region: &mut Vec<(Linear, Sign)>) {
    let mut links = Vec::new();
    let mut done: Vec<TermId> = Vec::new();
    // The argument of a link may have variables with links of their own.
    let mut open: Vec<TermId> = variables(region.iter().map(|f| &f.0));
    while let Some(t) = open.pop() {
        if done.contains(&t) || links.len() >= MAX_LINKS {
            continue;
        }
        done.push(t);
        if let Some((link, positive)) = link(store, t) {
            open.extend(variables([&link.0, &link.1].into_iter()));
            if positive {
                region.push((Linear::atom(t), Sign::Positive));
            }
            links.push(link);
        }
    }
    let whole: Vec<(Linear, Sign)> = region
        .iter()
        .filter_map(|(f, sign)| Some((without_quotient(store, f)?, *sign)))
        .collect();
    region.extend(whole);
    for _ in 0..ROUNDS {
        let before = region.len();
        for Link(a, b) in &links {
            for (from, to) in [(a, b), (b, a)] {
                let known = |region: &[(Linear, Sign)], f: &Linear| sign_in(region, f);
                if let Some(s) = known(region, from)
                    && known(region, to) != Some(s)
                {
                    region.push((to.clone(), s));
                }
            }
        }
        if region.len() == before {
            return;
        }
    }
}

fn variables<'a>(forms: impl Iterator<Item = &'a Linear>) -> Vec<TermId> {
    forms.flat_map(|f| f.terms.iter().map(|t| t.0)).collect()
}

/// The sign that a form has all over a region, if the elimination finds one.
fn sign_in(region: &[(Linear, Sign)], form: &Linear) -> Option<Sign> {
    let all = [Sign::Negative, Sign::Zero, Sign::Positive];
    let possible = |s: &Sign| {
        let mut with = region.to_vec();
        with.push((form.clone(), *s));
        !is_empty(&with)
    };
    let mut left = all.into_iter().filter(possible);
    let first = left.next()?;
    left.next().is_none().then_some(first)
}

/// A form with the sign of one that has a quotient and a constant.
///
/// match `k * (a / b) + c` with b > 0 / result `k * a + c * b` / because that is the product with b.
fn without_quotient(store: &TermStore, f: &Linear) -> Option<Linear> {
    let [(t, k)] = &f.terms[..] else {
        return None;
    };
    match store.get(*t) {
        Term::Div(a, b) if is_positive(store, b) => {
            let a = linear(store, a)?.times(k);
            Some(a.plus(&f.constant, &linear(store, b)?))
        }
        _ => None,
    }
}

/// True only if a term is above 0 wherever it is defined.
fn is_positive(store: &TermStore, t: TermId) -> bool {
    let low = store.bounds(t).lo;
    low.is_some_and(|lo| lo > BigRational::zero())
}

/// The link of a variable, and whether the variable is positive.
fn link(store: &TermStore, t: TermId) -> Option<(Link, bool)> {
    let minus_one = |f: &Linear| f.minus(&Linear::number(BigRational::one()));
    let v = Linear::atom(t);
    if let Some(a) = exponent(store, t) {
        return Some((Link(minus_one(&v), a), true));
    }
    match store.get(t) {
        Term::Fun(Fun::Tanh | Fun::Erf, a) => Some((Link(v, linear(store, a)?), false)),
        Term::Fun(Fun::Log2, a) => Some((Link(v, minus_one(&linear(store, a)?)), false)),
        Term::Mul(a, b) => {
            let rest = match (is_positive(store, a), is_positive(store, b)) {
                (_, true) => a,
                (true, _) => b,
                _ => return None,
            };
            Some((Link(v, linear(store, rest)?), false))
        }
        _ => None,
    }
}

/// A product of powers as one power, in which the integers cancel that an expanded exponential takes
/// from its argument: nothing has to be split on the bounds that they are kept in.
///
/// match `2^a * 2^b`, total / result `2^(a + b)` / because that holds for all reals.
pub(super) fn one_power(
    store: &TermStore,
    t: TermId,
    into: &mut TermStore,
    map: &Images,
) -> Option<TermId> {
    if !matches!(store.get(t), Term::Mul(..)) || !store.is_total(t) {
        return None;
    }
    let form = exponent(store, t)?;
    let terms = form.terms.into_iter().map(|(v, k)| Some((map.get(v)?, k)));
    let terms = terms.collect::<Option<Vec<_>>>()?;
    let sum = sum_of(into, form.constant, terms);
    Some(into.fun(Fun::Exp2, sum))
}

/// The exponent of a power of 2, or of a product of some.
pub(in crate::decide) fn exponent(store: &TermStore, t: TermId) -> Option<Linear> {
    let mut sum = Linear::default();
    let mut factors = 0;
    let mut stack = vec![t];
    while let Some(t) = stack.pop() {
        match store.get(t) {
            Term::Mul(a, b) => stack.extend([a, b]),
            Term::Fun(Fun::Exp2, a) => {
                factors += 1;
                sum = sum.plus(&BigRational::one(), &linear(store, a)?);
            }
            _ => return None,
        }
        if factors > MAX_FACTORS || stack.len() > MAX_FACTORS {
            return None;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::term::ArrayId;

    /// The signs of two terms together, as a region with its consequences.
    fn empty(build: impl Fn(&mut TermStore, TermId) -> TermId, x: Sign, y: Sign) -> bool {
        let mut s = TermStore::new();
        let a = s.elem(ArrayId(0), Fmt::F32, 0);
        let t = build(&mut s, a);
        let forms = [(a, x), (t, y)];
        let mut region: Vec<(Linear, Sign)> = forms
            .iter()
            .map(|&(t, s_)| (linear(&s, t).unwrap(), s_))
            .collect();
        add_consequences(&s, &mut region);
        is_empty(&region)
    }

    #[test]
    fn only_equal_signs_are_possible() {
        let builds: [fn(&mut TermStore, TermId) -> TermId; 6] = [
            |s, a| {
                // (a + d) / d - 1 for d = 1 + |a|.
                let (one, m) = (s.integer(1), s.fun(Fun::Abs, a));
                let d = s.add(one, m);
                let n = s.add(a, d);
                let q = s.div(n, d);
                s.sub(q, one)
            },
            |s, a| {
                let (e, one) = (s.fun(Fun::Exp2, a), s.integer(1));
                s.sub(e, one)
            },
            |s, a| {
                let l = s.log2_e();
                let x = s.mul(a, l);
                let (e, one) = (s.fun(Fun::Exp2, x), s.integer(1));
                s.sub(e, one)
            },
            |s, a| s.fun(Fun::Tanh, a),
            |s, a| s.fun(Fun::Erf, a),
            |s, a| {
                // 2^(x - n) * 2^n - 1, as it is written with a rounded part n.
                let n = s.fun(Fun::Floor, a);
                let rest = s.sub(a, n);
                let (p, q) = (s.fun(Fun::Exp2, rest), s.fun(Fun::Exp2, n));
                let (e, one) = (s.mul(p, q), s.integer(1));
                s.sub(e, one)
            },
        ];
        let all = [Sign::Negative, Sign::Zero, Sign::Positive];
        for (i, b) in builds.into_iter().enumerate() {
            for x in all {
                for y in all {
                    assert_eq!(empty(b, x, y), x != y, "{i}: {x:?} {y:?}");
                }
            }
        }
    }
}
