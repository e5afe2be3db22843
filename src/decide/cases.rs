//! Proof by cases over maxima, minima, absolute values and comparisons.
//!
//! Problem: max(x, 0) and (x >= 0 ? x : 0) are equal in each of the regions x < 0, x = 0 and
//! x > 0, and their canonical forms differ. A region is given by the signs of differences that a
//! term compares; within it the comparisons are constants, and the terms are built again without
//! them and compared by canonical form. On a boundary the equation is substituted where one of its
//! variables is an input element.
//!
//! Sound: the signs of a total difference cover all inputs, so a proof in every region is a
//! proof; only differences of total terms are split on, and a region is dropped only when its
//! constraints contradict each other (`linear.rs`, and `monotone.rs` for exponentials and the like). The proof says nothing about definedness,
//! which the caller shows for the whole terms. Not claimed: completeness; the number of regions
//! is bounded.

use num_rational::BigRational;
use num_traits::{One, Signed};
use rustc_hash::{FxHashMap, FxHashSet};

use super::canon::Canon;
use super::linear::{self, Linear, Sign};
use super::monotone;
use super::total::Totals;
use crate::spec::Limits;
use crate::term::rebuild::{Images, rebuild};
use crate::term::{Fun, ICmp, RCmp, Term, TermId, TermStore};

/// Terms below a pair beyond which it is not split.
const MAX_TERMS: usize = 20_000;

/// Regions of one pair.
const MAX_REGIONS: usize = 400;

/// Comparisons on the way to one region.
const MAX_DEPTH: usize = 10;

/// What decides which operand a term takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Switch {
    /// The sign of a - b.
    Compare(TermId, TermId),
    /// The sign of a.
    Sign(TermId),
    /// A truth value without more structure.
    Opaque(TermId),
}

/// A region, and the pair as it is within it.
struct Region {
    pair: (TermId, TermId),
    /// The same where the equations of boundaries are not substituted.
    plain: Option<(TermId, TermId)>,
    /// Differences, rewritten along with the pair, and their signs.
    signs: Vec<(TermId, Sign)>,
    depth: usize,
}

/// True only if the two terms have one value on all inputs on which both are defined.
pub(super) fn equal(store: &TermStore, a: TermId, b: TermId, limits: &Limits) -> bool {
    let ids = store.reachable(&[a, b]);
    let mut totals = Totals::new(limits);
    if ids.len() > MAX_TERMS || !ids.iter().any(|&t| switch(store, t, &mut totals).is_some()) {
        return false;
    }
    // What was known is of terms of another store.
    let mut totals = Totals::new(limits);
    // All regions share one store, so that forms mean the same in all of them.
    let mut scratch = TermStore::new();
    let roots = rebuild(store, &[a, b], &mut scratch, |s, t, map| {
        one_power(store, t, s, map)
    });
    let mut open = vec![Region {
        pair: (roots[0], roots[1]),
        plain: None,
        signs: Vec::new(),
        depth: 0,
    }];
    let mut regions = 0;
    while let Some(region) = open.pop() {
        regions += 1;
        let (a, b) = region.pair;
        if a == b || Canon::new(&scratch, limits).equal(a, b) {
            continue;
        }
        if let Some((x, y)) = region.plain
            && (x == y || Canon::new(&scratch, limits).equal(x, y))
        {
            continue;
        }
        let facts = facts(&scratch, &region.signs);
        if !facts.is_empty() && Canon::under(&scratch, &facts, limits, None).equal(a, b) {
            continue;
        }
        if regions > MAX_REGIONS || region.depth >= MAX_DEPTH {
            return false;
        }
        match (split(&mut scratch, &region, &mut totals), region.plain) {
            (Some(parts), _) => open.extend(parts),
            // Without the equations there may be more to split on.
            (None, Some(pair)) => open.push(Region {
                pair,
                plain: None,
                ..region
            }),
            (None, None) => return false,
        }
    }
    true
}

/// A product of powers as one power, in which the integers cancel that an expanded exponential takes
/// from its argument: nothing has to be split on the bounds that they are kept in.
///
/// match `2^a * 2^b`, total / result `2^(a + b)` / because that holds for all reals.
fn one_power(store: &TermStore, t: TermId, into: &mut TermStore, map: &Images) -> Option<TermId> {
    if !matches!(store.get(t), Term::Mul(..)) || !store.is_total(t) {
        return None;
    }
    let form = monotone::exponent(store, t)?;
    let terms = form.terms.iter().map(|(v, k)| Some((map.get(*v)?, k)));
    let mut sum = into.rational(form.constant.clone());
    for term in terms.collect::<Option<Vec<_>>>()? {
        let k = into.rational(term.1.clone());
        let p = into.mul(k, term.0);
        sum = into.add(sum, p);
    }
    Some(into.fun(Fun::Exp2, sum))
}

/// The signs of input elements in a region.
fn facts(store: &TermStore, signs: &[(TermId, Sign)]) -> Vec<(TermId, crate::norm::Sign)> {
    use crate::norm::Sign as Known;
    let fact = |&(t, sign): &(TermId, Sign)| {
        let form = linear::linear(store, t)?;
        let (&x, k) = form.terms.first_key_value()?;
        let alone = form.terms.len() == 1 && num_traits::Zero::is_zero(&form.constant);
        if !alone || !matches!(store.get(x), Term::Elem { .. }) {
            return None;
        }
        let known = match (sign, k.is_negative()) {
            (Sign::Zero, _) => return None,
            (Sign::Positive, false) | (Sign::Negative, true) => Known::POS,
            _ => Known::NEG,
        };
        Some((x, known))
    };
    signs.iter().filter_map(fact).collect()
}

/// What a term switches on, where both sides of the comparison are total.
fn switch(store: &TermStore, t: TermId, totals: &mut Totals) -> Option<Switch> {
    if let Term::ICmp(..) = store.get(t) {
        return totals.is_total(store, t).then_some(Switch::Opaque(t));
    }
    let found = any_switch(store, t)?;
    let mut total = |t| totals.is_total(store, t);
    let is_total = match found {
        Switch::Compare(a, b) => total(a) && total(b),
        Switch::Sign(a) | Switch::Opaque(a) => total(a),
    };
    is_total.then_some(found)
}

/// What a term switches on, whether or not it is total.
fn any_switch(store: &TermStore, t: TermId) -> Option<Switch> {
    match store.get(t) {
        Term::Max(a, b) | Term::Min(a, b) | Term::RCmp(_, a, b) => {
            Some(Switch::Compare(a.min(b), a.max(b)))
        }
        Term::Fun(Fun::Abs, a) => Some(Switch::Sign(a)),
        _ => None,
    }
}

/// The switches below some terms whose difference is a multiple of this one, and whether the factor is
/// negative.
///
/// match `|b - a|` where the sign of `a - b` is known / result one of the two / because the signs of
/// both are opposite.
fn like(store: &TermStore, roots: &[TermId], form: &Linear) -> FxHashMap<Switch, bool> {
    let Some((first, k)) = form.terms.first_key_value() else {
        return FxHashMap::default();
    };
    let linear = |t| linear::linear(store, t);
    let ids = store.reachable(roots);
    let mut out = FxHashMap::default();
    for s in ids.into_iter().filter_map(|t| any_switch(store, t)) {
        if out.contains_key(&s) {
            continue;
        }
        let other = match s {
            Switch::Compare(x, y) => linear(x).zip(linear(y)).map(|(x, y)| {
                let minus = -BigRational::one();
                x.plus(&minus, &y)
            }),
            Switch::Sign(x) => linear(x),
            Switch::Opaque(_) => None,
        };
        if let Some(other) = other
            && let Some(l) = other.terms.get(first)
        {
            let ratio = l / k;
            if Linear::default().plus(&ratio, form) == other {
                out.insert(s, ratio.is_negative());
            }
        }
    }
    out
}

/// The switch to split on: one without more structure, such as a mask that is data, which has two values
/// and no boundary; else the innermost that only one side has, else the innermost.
fn choose(store: &TermStore, pair: (TermId, TermId), totals: &mut Totals) -> Option<Switch> {
    let mut switches = |root| -> Vec<Switch> {
        let ids = store.reachable(&[root]);
        let found = ids.into_iter().filter_map(|t| switch(store, t, totals));
        found.collect()
    };
    let (a, b) = (switches(pair.0), switches(pair.1));
    let (in_a, in_b): (FxHashSet<Switch>, FxHashSet<Switch>) =
        (a.iter().copied().collect(), b.iter().copied().collect());
    let key = |s: &Switch| match *s {
        Switch::Compare(x, y) => x.max(y),
        Switch::Sign(x) | Switch::Opaque(x) => x,
    };
    let all = || a.iter().chain(&b).copied();
    let opaque = |s: &Switch| matches!(s, Switch::Opaque(_));
    if let Some(s) = all().filter(opaque).min_by_key(key) {
        return Some(s);
    }
    all()
        .filter(|s| in_a.contains(s) != in_b.contains(s))
        .min_by_key(key)
        .or_else(|| all().min_by_key(key))
}

/// The parts of a region, without those that are empty; `None` if there is nothing to split on.
fn split(store: &mut TermStore, region: &Region, totals: &mut Totals) -> Option<Vec<Region>> {
    let chosen = choose(store, region.pair, totals)?;
    // Rebuilding reads what it adds to; terms keep their ids in the copy.
    let old = store.clone();
    // The pair and the differences are rewritten together: what a split decides may decide the
    // sign of a difference that was split on before.
    let plain = region.plain.unwrap_or(region.pair);
    let mut roots = vec![region.pair.0, region.pair.1];
    roots.extend([plain.0, plain.1]);
    roots.extend(region.signs.iter().map(|s| s.0));
    let part = |store: &TermStore, new: Vec<TermId>, added: Option<(TermId, Sign)>| {
        let rewritten = new[4..].iter().copied();
        let mut signs: Vec<(TermId, Sign)> = rewritten
            .zip(&region.signs)
            .map(|(t, s)| (t, s.1))
            .collect();
        signs.extend(added);
        let forms = signs
            .iter()
            .filter_map(|&(t, s)| Some((linear::linear(store, t)?, s)));
        let mut forms: Vec<(Linear, Sign)> = forms.collect();
        let empty = linear::is_empty(&forms) || {
            monotone::add_consequences(store, &mut forms);
            linear::is_empty(&forms)
        };
        (!empty).then(|| Region {
            pair: (new[0], new[1]),
            plain: ((new[0], new[1]) != (new[2], new[3])).then_some((new[2], new[3])),
            signs,
            depth: region.depth + 1,
        })
    };
    let difference = match chosen {
        Switch::Opaque(p) => {
            let known = equation(&old, p);
            let parts = [true, false].into_iter().filter_map(|value| {
                let new = rebuild(&old, &roots, store, |s, t, _| match known {
                    Some((x, width, c)) if value && t == x => Some(s.bits(width, c)),
                    _ => (t == p).then(|| s.bool(value)),
                });
                let mut region = part(store, new, None)?;
                // One number after the other is told apart: that is a chain and no tree.
                region.depth -= usize::from(known.is_some() && !value);
                Some(region)
            });
            return Some(parts.collect());
        }
        Switch::Sign(x) => x,
        Switch::Compare(x, y) => store.sub(x, y),
    };
    let form = linear::linear(store, difference)?;
    let known = like(&old, &roots, &form);
    let mut parts = Vec::new();
    for sign in [Sign::Negative, Sign::Zero, Sign::Positive] {
        let solved = match sign {
            Sign::Zero => solve(store, &form),
            _ => None,
        };
        let equated = match (sign, &solved) {
            (Sign::Zero, None) => Some(equated(&old, chosen)),
            _ => None,
        };
        let new = rebuild(&old, &roots, store, |s, t, map| match (&solved, &equated) {
            (Some((x, value)), _) if *x == t => Some(build(s, value)),
            (_, Some((x, Some(y)))) if *x == t => match old.as_const(*y) {
                Some(c) => Some(s.rational(c.clone())),
                None => map.get(*y),
            },
            (_, Some((x, None))) if *x == t => Some(s.integer(0)),
            _ => resolve(&old, t, &known, sign, s, map),
        });
        let mut new = new;
        if equated.is_some() {
            // What takes either operand where they are equal has a value without the equation; all
            // take the same one here.
            let plain = rebuild(&old, &roots[2..4], store, |s, t, map| {
                let sign = match old.get(t) {
                    Term::RCmp(..) => Sign::Zero,
                    _ => Sign::Positive,
                };
                resolve(&old, t, &known, sign, s, map)
            });
            new[2..4].copy_from_slice(&plain);
        }
        parts.extend(part(store, new, Some((difference, sign))));
    }
    Some(parts)
}

/// A term on a boundary, and the other that it equals there; `None` for zero.
///
/// match x on the boundary x = y / result y for x / because that is what it says. The younger of two
/// is replaced, which is not below the other, or the one that is no constant.
fn equated(store: &TermStore, chosen: Switch) -> (TermId, Option<TermId>) {
    match chosen {
        Switch::Sign(x) | Switch::Opaque(x) => (x, None),
        Switch::Compare(x, y) if store.as_const(y).is_some() => (x, Some(y)),
        Switch::Compare(x, y) if store.as_const(x).is_some() => (y, Some(x)),
        Switch::Compare(x, y) => (x.max(y), Some(x.min(y))),
    }
}

/// The integer, its width and the constant of an equation between the two.
///
/// match `x = c` in a region where it holds / result c for x / because that is what it says.
fn equation(store: &TermStore, p: TermId) -> Option<(TermId, u8, u64)> {
    let Term::ICmp(ICmp::Eq, a, b) = store.get(p) else {
        return None;
    };
    let with = |x: TermId, c: TermId| match store.get(c) {
        Term::BitsConst { width, value } => Some((x, width, value)),
        _ => None,
    };
    with(a, b).or_else(|| with(b, a))
}

/// What stands for a term that switches on something of which the sign is known.
fn resolve(
    store: &TermStore,
    t: TermId,
    known: &FxHashMap<Switch, bool>,
    sign: Sign,
    into: &mut TermStore,
    map: &Images,
) -> Option<TermId> {
    let sign = match (known.get(&any_switch(store, t)?)?, sign) {
        (true, Sign::Positive) => Sign::Negative,
        (true, Sign::Negative) => Sign::Positive,
        _ => sign,
    };
    // The sign of the first operand minus the second, as they stand in the term.
    let ordered = |a: TermId, b: TermId| match (a <= b, sign) {
        (false, Sign::Positive) => Sign::Negative,
        (false, Sign::Negative) => Sign::Positive,
        _ => sign,
    };
    Some(match store.get(t) {
        Term::Max(a, b) => match ordered(a, b) {
            Sign::Negative => map.of(b),
            _ => map.of(a),
        },
        Term::Min(a, b) => match ordered(a, b) {
            Sign::Positive => map.of(b),
            _ => map.of(a),
        },
        Term::RCmp(op, a, b) => {
            let s = ordered(a, b);
            into.bool(match op {
                RCmp::Lt => s == Sign::Negative,
                RCmp::Le => s != Sign::Positive,
                RCmp::Eq => s == Sign::Zero,
            })
        }
        Term::Fun(Fun::Abs, a) => match sign {
            Sign::Negative => into.neg(map.of(a)),
            Sign::Zero => into.integer(0),
            Sign::Positive => map.of(a),
        },
        _ => return None,
    })
}

/// An input element and what it is where the form is 0, if all its variables are elements.
fn solve(store: &TermStore, form: &Linear) -> Option<(TermId, Linear)> {
    let element = |t: &TermId| matches!(store.get(*t), Term::Elem { .. });
    if !form.terms.keys().all(element) {
        return None;
    }
    let (&x, k) = form.terms.last_key_value()?;
    let mut rest = form.clone();
    rest.terms.remove(&x);
    let scale = -k.recip();
    Some((x, Linear::default().plus(&scale, &rest)))
}

/// A linear form as a term.
fn build(store: &mut TermStore, form: &Linear) -> TermId {
    let mut sum = store.rational(form.constant.clone());
    for (&t, k) in &form.terms {
        let k = store.rational(k.clone());
        let p = store.mul(k, t);
        sum = store.add(sum, p);
    }
    sum
}
