//! Sums whose summands depend on different inputs, one group of summands at a time.
//!
//! Problem: a loss is a sum over many elements of a function with cases. Split on the cases of all
//! elements there are too many regions, though each summand of one kernel equals one of the other.
//!
//! match `sum of a_i` and `sum of b_i`, where group i of summands on either side depends on inputs
//! that no other group depends on; result both are equal if `a_i = b_i` for every i; because
//! equals are added.
//!
//! Sound in that direction only: groups that differ by constants which cancel are not found equal.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Zero};
use rustc_hash::FxHashMap;

use crate::decide::canon::Canon;
use crate::decide::limits::TACTICS;
use crate::decide::logic::{Answer, Effort, prove};
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::spec::Limits;
use crate::term::{Term, TermId, TermStore, pairs};

pub(crate) struct Summands;

impl Tactic for Summands {
    fn name(&self) -> &'static str {
        "summands"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match equal(prover.store, a, b, &prover.limits) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
    }
}

/// Coefficients by summand; the key `None` is the constant.
type Sum = BTreeMap<Option<TermId>, BigRational>;

/// True only if the two terms are sums of groups that are equal one by one.
fn equal(store: &TermStore, a: TermId, b: TermId, limits: &Limits) -> bool {
    let mut scratch = store.clone();
    groups(&mut scratch, a, b).is_some_and(|groups| {
        let sums: Vec<(TermId, TermId)> = groups
            .into_iter()
            .map(|[x, y]| (built(&mut scratch, &x), built(&mut scratch, &y)))
            .collect();
        let mut canon = Canon::new(&scratch, limits);
        let by_regions =
            |pair| prove(&scratch, pair, &[], Effort::Thorough, limits) == Answer::Proved;
        sums.len() > 1
            && sums.into_iter().all(|(x, y)| {
                limits.reached().is_none() && (x == y || canon.equal(x, y) || by_regions((x, y)))
            })
    })
}

/// The summands of a term.
fn summands(store: &mut TermStore, root: TermId) -> Option<Sum> {
    let mut out = Sum::new();
    let mut open = vec![(root, BigRational::one())];
    let mut steps = 0;
    while let Some((t, k)) = open.pop() {
        steps += 1;
        if steps > TACTICS.summands {
            return None;
        }
        let mut leaf = |t: Option<TermId>, k: BigRational| {
            *out.entry(t).or_insert_with(BigRational::zero) += k;
        };
        let multiple = |store: &TermStore, a: TermId, b: TermId| {
            let (c, t) = match (store.as_const(a), store.as_const(b)) {
                (Some(c), _) => (c, b),
                (_, Some(c)) => (c, a),
                _ => return None,
            };
            Some((t, &k * c))
        };
        match store.get(t) {
            Term::Const(c) => leaf(None, &k * store.constant(c)),
            Term::Add(a, b) => open.extend([(a, k.clone()), (b, k)]),
            Term::Neg(a) => open.push((a, -k)),
            Term::Mul(a, b) => match multiple(store, a, b) {
                Some(part) => open.push(part),
                None => leaf(Some(t), k),
            },
            Term::Sum(list) => {
                for (a, b) in pairs(list).collect::<Vec<_>>() {
                    match multiple(store, a, b) {
                        Some(part) => open.push(part),
                        None => leaf(Some(store.mul(a, b)), k.clone()),
                    }
                }
            }
            _ => leaf(Some(t), k),
        }
    }
    out.retain(|_, k| !k.is_zero());
    Some(out)
}

/// The summands of both sides that differ, by groups without a common input.
fn groups(store: &mut TermStore, a: TermId, b: TermId) -> Option<Vec<[Sum; 2]>> {
    let mut sides = [summands(store, a)?, summands(store, b)?];
    let shared: Vec<Option<TermId>> = sides[0]
        .iter()
        .filter(|(t, k)| sides[1].get(t) == Some(k))
        .map(|(t, _)| *t)
        .collect();
    for t in shared {
        sides.iter_mut().for_each(|s| {
            s.remove(&t);
        });
    }
    if sides.iter().any(|s| s.contains_key(&None)) {
        return None;
    }
    // Groups are named by their first summand; inputs know the group that they are of.
    let leaves: Vec<TermId> = sides
        .iter()
        .flat_map(|s| s.keys().flatten().copied())
        .collect();
    let mut parent: Vec<usize> = (0..leaves.len()).collect();
    let root = |parent: &mut Vec<usize>, mut i: usize| {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    };
    let mut owner: FxHashMap<TermId, usize> = FxHashMap::default();
    let mut steps = 0;
    for (i, &leaf) in leaves.iter().enumerate() {
        let below = store.reachable(&[leaf]);
        steps += below.len();
        if steps > TACTICS.summand_terms {
            return None;
        }
        for t in below {
            if matches!(
                store.get(t),
                Term::Elem { .. } | Term::Bytes { .. } | Term::Fresh { .. }
            ) {
                let j = *owner.entry(t).or_insert(i);
                let (x, y) = (root(&mut parent, i), root(&mut parent, j));
                parent[x.max(y)] = x.min(y);
            }
        }
    }
    let mut out: BTreeMap<usize, [Sum; 2]> = BTreeMap::new();
    let place: FxHashMap<TermId, usize> = leaves.iter().enumerate().map(|(i, t)| (*t, i)).collect();
    for (side, sum) in sides.into_iter().enumerate() {
        for (t, k) in sum {
            let group = root(&mut parent, place[&t?]);
            out.entry(group).or_default()[side].insert(t, k);
        }
    }
    Some(out.into_values().collect())
}

/// A sum as a term.
fn built(store: &mut TermStore, sum: &Sum) -> TermId {
    let pairs: Vec<(TermId, TermId)> = sum
        .iter()
        .filter_map(|(t, k)| Some(((*t)?, store.rational(k.clone()))))
        .collect();
    pairs.into_iter().fold(store.integer(0), |sum, (t, k)| {
        let p = store.mul(t, k);
        store.add(sum, p)
    })
}
