//! Integers that are compared with numbers, one number after the other.
//!
//! Problem: `table[e] * x` and `e == 0 ? table[0] * x : (e == 1 ? table[1] * x : ...)` are equal, for e is a number for which
//! both read one element; and a chain of selections by ids that differ is a sum of which one summand counts. Canonical
//! forms see neither. The way: an equality of an integer with a number is chosen, which some selection depends on. Where
//! it holds, the number takes the integer's place, in places that it chooses too (`term::gather`), and conditions that it
//! excludes ([`TermStore::excludes`]) fail; where it does not hold, it is false. Comparisons that the bounds of what is
//! accessed decide are decided first (`term::premised`). Where no equality is left, an order of an integer and a number
//! splits likewise; then a condition that both sides choose by, which compilers pull out of what is computed of the choice.
//! Each case is a goal for the other tactics, or is split again.
//!
//! Sound: the cases cover all inputs. One is left out only if no value is left that facts, and the bounds of what is
//! accessed, allow an integer. That all accesses are inside is taken for granted here, and shown of the optimized kernel
//! elsewhere (`decide::bounds`). What is proved rests on relations among elements; those do not move
//! (`decide::renaming`).

use rustc_hash::{FxHashMap, FxHashSet};

use super::FORMS;
use crate::decide::limits::TACTICS;
use crate::decide::prove::{Proof, Proved, Prover};
use crate::decide::refute::links;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::conditions::Span;
use crate::term::premised::Ranges;
use crate::term::rebuild::rebuild;
use crate::term::{ICmp, Term, TermId, TermStore, sext};

pub(crate) struct Indices;

/// A case that is left.
struct Case {
    store: TermStore,
    /// The goal.
    pair: [TermId; 2],
    /// What bounds integers.
    premises: Vec<TermId>,
    /// Integers, and numbers that they are not.
    not: Vec<(TermId, u64)>,
    /// Integers, and ranges in which they lie.
    within: Vec<(TermId, Span)>,
}

/// A case whose comparisons were looked at.
enum Decided {
    /// No input is left.
    Empty,
    /// Some were decided.
    As(Case),
    /// None was.
    Open(Case),
}

/// What a selection depends on.
enum Question {
    /// Whether an integer is a number.
    Equal(TermId, u64),
    /// Another comparison of an integer with a number, or a condition that both sides choose by.
    Holds(TermId),
}

/// Conditions that both sides choose by and that always have a value, the first ones first.
fn shared(store: &TermStore, [a, b]: [TermId; 2]) -> Vec<TermId> {
    let of = |root: TermId| -> FxHashSet<TermId> {
        let below = store.reachable(&[root]).into_iter();
        let conditions = below.filter_map(|t| match store.get(t) {
            Term::Select(c, ..) | Term::BitsSelect(c, ..) => Some(c),
            _ => None,
        });
        conditions.collect()
    };
    let second = of(b);
    let both = of(a).into_iter().filter(|c| second.contains(c));
    let mut out: Vec<TermId> = both.filter(|&c| store.is_total(c)).collect();
    out.sort_unstable();
    out
}

impl Tactic for Indices {
    fn name(&self) -> &'static str {
        "indices"
    }

    fn applies(&self, prover: &Prover<'_>, a: TermId, b: TermId) -> bool {
        let store = prover.store;
        let linked = store.has_places() || store.facts.all().iter().any(|e| e.distinct || e.sorted);
        store.reachable(&[a, b]).len() <= TACTICS.index_terms
            && (linked || (1..=TACTICS.index_conditions).contains(&shared(store, [a, b]).len()))
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        let premises = links::premises(prover.store, &[a, b]);
        let roots: Vec<TermId> = [a, b].into_iter().chain(premises).collect();
        let (store, roots) = changed(prover.store, &roots, |_, _, _| None);
        let mut open = vec![Case {
            store,
            pair: [roots[0], roots[1]],
            premises: roots[2..].to_vec(),
            not: Vec::new(),
            within: Vec::new(),
        }];
        let (mut all, mut cases) = (Proved::TERMS, 0);
        while let Some(case) = open.pop() {
            cases += 1;
            if cases > TACTICS.index_cases || prover.limits.reached().is_some() {
                return Attempt::Stuck;
            }
            let (case, changes) = match case.decided() {
                Decided::Empty => continue,
                Decided::As(case) => (case, true),
                Decided::Open(case) => (case, false),
            };
            // The first one is what other tactics did not prove.
            if cases > 1 || changes {
                let mut inner = Prover::new(&case.store, prover.limits);
                let proof = super::implied(&mut inner, FORMS, case.pair[0], case.pair[1]);
                if let Proof::Yes(p) = proof {
                    all.positive_logarithms |= p.positive_logarithms;
                    continue;
                }
            }
            match question(&case) {
                Some(Question::Equal(t, v)) => {
                    let both = [case.without(t, v), Some(case.with(t, v))];
                    open.extend(both.into_iter().flatten());
                }
                Some(Question::Holds(c)) => {
                    open.extend([case.under(c, false), case.under(c, true)])
                }
                None => return Attempt::Stuck,
            }
        }
        Attempt::Done(Proof::Yes(all))
    }
}

/// The terms in a store of their own, some of them replaced.
fn changed(
    from: &TermStore,
    roots: &[TermId],
    mut replace: impl FnMut(&mut TermStore, TermId, &crate::term::rebuild::Images) -> Option<TermId>,
) -> (TermStore, Vec<TermId>) {
    let mut into = TermStore::new();
    into.facts = from.facts.clone();
    let roots = rebuild(from, roots, &mut into, |s, t, m| {
        replace(s, t, m).or_else(|| from.settled_element(t, s, |x| m.of(x)))
    });
    (into, roots)
}

/// What a selection depends on: an integer that is compared with a number, an equality if there is one, else a condition of
/// both sides.
fn question(case: &Case) -> Option<Question> {
    let store = &case.store;
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    let mut order = None;
    for t in store.reachable(&case.pair) {
        let p = match store.get(t) {
            Term::Select(p, ..) | Term::BitsSelect(p, ..) | Term::OfBool { p, .. } => p,
            _ => continue,
        };
        for c in store.conjuncts(Some(p)) {
            let c = match store.get(c) {
                Term::Not(c) => c,
                _ => c,
            };
            if !seen.insert(c) {
                continue;
            }
            if let Term::ICmp(ICmp::Eq, x, y) = store.get(c) {
                let known = |x: TermId, y: TermId| Some((x, store.as_bits(y)?));
                if let Some((x, v)) = known(x, y).or_else(|| known(y, x)) {
                    return Some(Question::Equal(x, v));
                }
            }
            if store.bounded(c).is_some() {
                order = order.or(Some(Question::Holds(c)));
            }
        }
    }
    let of_both = || shared(store, case.pair).into_iter().next();
    order.or_else(|| of_both().map(Question::Holds))
}

impl Case {
    fn roots(&self) -> Vec<TermId> {
        let integers = self.not.iter().map(|n| n.0);
        let ranged = self.within.iter().map(|n| n.0);
        let all = self.pair.iter().chain(&self.premises).copied();
        all.chain(integers).chain(ranged).collect()
    }

    /// The case again, with what its terms became.
    fn of(&self, store: TermStore, roots: &[TermId]) -> Case {
        let n = 2 + self.premises.len();
        let m = n + self.not.len();
        let not = roots[n..m].iter().zip(&self.not);
        let within = roots[m..].iter().zip(&self.within);
        Case {
            store,
            pair: [roots[0], roots[1]],
            premises: roots[2..n].to_vec(),
            not: not.map(|(&t, n)| (t, n.1)).collect(),
            within: within.map(|(&t, n)| (t, n.1)).collect(),
        }
    }

    /// The ranges that follow from the premises and from what the case is.
    fn ranges(&mut self) -> Ranges {
        let mut out = self.store.ranges_of(&self.premises);
        for &(t, range) in &self.within {
            out.add(t, range);
        }
        out
    }

    /// The case with each comparison decided that its ranges decide.
    fn decided(mut self) -> Decided {
        let ranges = self.ranges();
        let is_false = |p: &TermId| self.store.as_bool(*p) == Some(false);
        if ranges.is_empty(&self.store) || self.premises.iter().any(is_false) {
            return Decided::Empty;
        }
        let mut known: FxHashMap<TermId, bool> = FxHashMap::default();
        for t in self.store.reachable(&self.pair) {
            if let Some(is) = self.store.decided_in(t, &ranges) {
                known.insert(t, is);
            }
        }
        if known.is_empty() {
            return Decided::Open(self);
        }
        let (store, roots) = changed(&self.store, &self.roots(), |into, x, _| {
            Some(into.bool(*known.get(&x)?))
        });
        // Premises stay, for what they say is not said anew.
        let mut case = self.of(store, &roots);
        let back: Vec<TermId> = case.store.import_below(&self.store, &self.premises);
        case.premises = back;
        Decided::As(case)
    }

    /// Where a condition holds, or does not.
    fn under(&self, cond: TermId, holds: bool) -> Case {
        let mut from = self.store.clone();
        let literal = match holds {
            true => cond,
            false => from.not(cond),
        };
        let mut own = self.of(from, &self.roots());
        own.within.extend(own.store.bounded(literal));
        let not = own.store.not(cond);
        let (store, roots) = changed(&own.store, &own.roots(), |into, x, _| match x {
            x if x == cond => Some(into.bool(holds)),
            x if x == not => Some(into.bool(!holds)),
            _ => None,
        });
        own.of(store, &roots)
    }

    /// Where the integer is the number.
    fn with(&self, t: TermId, v: u64) -> Case {
        let mut from = self.store.clone();
        let number = from.bits(from.width(t), v);
        let is = from.icmp(ICmp::Eq, t, number);
        // What it excludes is found where the integer still has its name.
        let mut fails: FxHashSet<TermId> = FxHashSet::default();
        for q in from.reachable(&self.roots()) {
            if matches!(from.get(q), Term::ICmp(ICmp::Eq, ..)) && q != is && from.excludes(is, q) {
                fails.insert(q);
            }
        }
        let (store, roots) = changed(&from, &self.roots(), |into, x, _| {
            if x == t {
                return Some(into.bits(from.width(t), v));
            }
            fails.contains(&x).then(|| into.bool(false))
        });
        self.of(store, &roots)
    }

    /// Where it is another; `None` if there is none.
    fn without(&self, t: TermId, v: u64) -> Option<Case> {
        let mut from = self.store.clone();
        let number = from.bits(from.width(t), v);
        let is = from.icmp(ICmp::Eq, t, number);
        let mut roots = self.roots();
        roots.push(t);
        let (store, roots) = changed(&from, &roots, |into, x, _| {
            (x == is).then(|| into.bool(false))
        });
        let last = *roots.last()?;
        let mut case = self.of(store, &roots[..roots.len() - 1]);
        case.not.push((last, v));
        (!case.is_empty(last)).then_some(case)
    }

    /// True if an integer is none of the numbers that it may be.
    fn is_empty(&mut self, t: TermId) -> bool {
        let ranges = self.ranges();
        let (lo, hi) = ranges.of(&self.store, t);
        let w = self.store.width(t);
        let mut not: FxHashMap<i128, ()> = FxHashMap::default();
        for n in self.not.iter().filter(|n| n.0 == t) {
            not.insert(i128::from(sext(n.1, w)), ());
        }
        let few = usize::try_from(hi - lo + 1).is_ok_and(|n| n <= not.len());
        hi < lo || few && (lo..=hi).all(|v| not.contains_key(&v))
    }
}
