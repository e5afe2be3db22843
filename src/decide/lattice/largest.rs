//! The index of the largest: loops and trees that keep a number and where it stands.
//!
//! Problem: `argmax` as a loop and as a tree of exchanges between lanes. The index is a choice
//! among known integers by predicates that compare the numbers which were chosen with them, and
//! where those are equal the indices, which are then spelled out as predicates of earlier
//! choices. The 0-1 principle does not hold: equal numbers have different indices.
//!
//! The way: a choice of indices is shown, from the innermost on, to be the index of the best of a set of
//! numbers, where best is the larger (or smaller), and of equal ones that with the smaller (or larger)
//! index. For a choice between two such, each pair of an index on the one side and one on the
//! other is looked at: it is chosen on its side, which says what the predicates on the way there are; with
//! these the predicate of the choice is worked out for each of the three orders of their numbers, and has to
//! say that the better of the two is taken. Two choices are equal if they are the best of the same
//! set by the same rule.
//!
//! Sound: by induction, since the best of a union is the better of the best of both. Which number is
//! whose is a guess that is checked in the same way: it is one mapping for both choices. Not
//! claimed: choices whose predicates say less than that.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::{ICmp, RCmp, Term, TermId, TermStore};

/// Indices of one choice.
const MAX_INDICES: usize = 128;

/// Choices below a pair, terms of one predicate, and predicates that are worked out.
const MAX_CHOICES: usize = 2_000;
const MAX_PREDICATE: usize = 20_000;
const MAX_WORK: usize = 20_000_000;

/// Which of two numbers is the better, and which of two equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    larger: bool,
    first: bool,
}

/// What is known where one index is chosen.
#[derive(Clone, Debug)]
enum Fact {
    /// A predicate has this value.
    Truth(Key, bool),
    /// The first number is the better of these two.
    Better(TermId, TermId),
}

/// A predicate or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Less(TermId, TermId),
    Other(TermId),
}

/// A predicate by its key, and whether it is the negation of it.
fn key(store: &TermStore, p: TermId) -> (Key, bool) {
    match store.get(p) {
        Term::RCmp(RCmp::Lt, a, b) => (Key::Less(a, b), false),
        Term::RCmp(RCmp::Le, a, b) => (Key::Less(b, a), true),
        Term::Not(q) => match store.get(q) {
            Term::RCmp(RCmp::Lt, a, b) => (Key::Less(a, b), true),
            Term::RCmp(RCmp::Le, a, b) => (Key::Less(b, a), false),
            _ => (Key::Other(q), true),
        },
        _ => (Key::Other(p), false),
    }
}

/// The best of a set: each index, and what is known where it is chosen.
type Best = Vec<(u64, Vec<Fact>)>;

/// A search over the choices of one pair.
struct Search<'s> {
    store: &'s TermStore,
    /// The number that stands at an index.
    numbers: FxHashMap<u64, TermId>,
    rule: Option<Rule>,
    best: FxHashMap<TermId, Best>,
    work: usize,
}

/// True only if both are the index of the best of the same numbers.
pub(super) fn equal(store: &TermStore, a: TermId, b: TermId) -> bool {
    let chooses = |t| matches!(store.get(t), Term::BitsSelect(..));
    if !chooses(a) || !chooses(b) {
        return false;
    }
    let mut search = Search {
        store,
        numbers: FxHashMap::default(),
        rule: None,
        best: FxHashMap::default(),
        work: 0,
    };
    let (Some(x), Some(y)) = (search.best(a), search.best(b)) else {
        return false;
    };
    let indices = |best: Best| {
        let mut all: Vec<u64> = best.into_iter().map(|b| b.0).collect();
        all.sort_unstable();
        all
    };
    indices(x) == indices(y)
}

impl Search<'_> {
    /// The set that a choice is the best of.
    fn best(&mut self, root: TermId) -> Option<Best> {
        let mut seen = FxHashSet::default();
        let mut open = vec![root];
        while let Some(t) = open.pop() {
            if self.best.contains_key(&t) || !seen.insert(t) {
                continue;
            }
            if seen.len() > MAX_CHOICES {
                return None;
            }
            if let Term::BitsSelect(_, a, b) = self.store.get(t) {
                open.extend([a, b]);
            }
        }
        let mut choices: Vec<TermId> = seen.into_iter().collect();
        choices.sort_unstable();
        for t in choices {
            let best = match self.store.get(t) {
                Term::BitsConst { value, .. } => vec![(value, Vec::new())],
                Term::BitsSelect(p, a, b) => self.better(p, a, b)?,
                _ => return None,
            };
            self.best.insert(t, best);
        }
        self.best.get(&root).cloned()
    }

    /// The set of a choice between two.
    fn better(&mut self, p: TermId, a: TermId, b: TermId) -> Option<Best> {
        let (x, y) = (self.best.get(&a)?.clone(), self.best.get(&b)?.clone());
        if x.len() + y.len() > MAX_INDICES || x.iter().any(|i| y.iter().any(|j| i.0 == j.0)) {
            return None;
        }
        let formula = formula(self.store, p)?;
        let mut compared = None;
        for (i, on_way) in &x {
            for (j, on_other) in &y {
                self.work += 3 * formula.len();
                if self.work > MAX_WORK {
                    return None;
                }
                let known = Known::of(on_way, on_other);
                compared = Some(self.judge(&formula, (*i, *j), &known)?);
            }
        }
        let (s, t) = compared?;
        let (key, negated) = key(self.store, p);
        let side = |best: Best, taken: bool, won: TermId, lost: TermId| {
            best.into_iter().map(move |(i, mut facts)| {
                facts.push(Fact::Truth(key, taken != negated));
                facts.push(Fact::Better(won, lost));
                (i, facts)
            })
        };
        Some(side(x, true, s, t).chain(side(y, false, t, s)).collect())
    }

    /// Whether a predicate takes the better of two numbers, by the rule; the terms that it compares.
    fn judge(
        &mut self,
        formula: &[TermId],
        (i, j): (u64, u64),
        known: &Known<'_>,
    ) -> Option<(TermId, TermId)> {
        let (u, v, sides) = self.compared(formula, (i, j), known)?;
        let mut takes = [false; 3];
        for (taken, order) in takes.iter_mut().zip([Sign::Less, Sign::Same, Sign::More]) {
            *taken = self.work_out(formula, known, (u, v, order))?;
        }
        let larger = match takes {
            [false, _, true] => true,
            [true, _, false] => false,
            _ => return None,
        };
        // With equal numbers the first side is taken, or not.
        let first = takes[1] == (i < j);
        let rule = Rule { larger, first };
        (*self.rule.get_or_insert(rule) == rule).then_some(sides)
    }

    /// The numbers at two indices, from a comparison in a predicate, and the terms there.
    fn compared(
        &mut self,
        formula: &[TermId],
        (i, j): (u64, u64),
        known: &Known<'_>,
    ) -> Option<(TermId, TermId, (TermId, TermId))> {
        for &t in formula {
            let Term::RCmp(_, s, r) = self.store.get(t) else {
                continue;
            };
            if known.truths.contains_key(&key(self.store, t).0) {
                continue;
            }
            let (Some(x), Some(y)) = (self.number(s, known), self.number(r, known)) else {
                continue;
            };
            if x == y {
                continue;
            }
            let at = |n: u64| self.numbers.get(&n).copied();
            let straight = match (at(i), at(j)) {
                (Some(u), Some(v)) if (u, v) == (x, y) => true,
                (Some(u), Some(v)) if (u, v) == (y, x) => false,
                (Some(_), Some(_)) => continue,
                (Some(u), None) | (None, Some(u)) if u != x && u != y => continue,
                (Some(u), None) => u == x,
                (None, Some(v)) => v == y,
                // The numbers stand in the order of their indices.
                (None, None) => (i < j) == (self.place(x) < self.place(y)),
            };
            let ((u, v), sides) = match straight {
                true => ((x, y), (s, r)),
                false => ((y, x), (r, s)),
            };
            for (n, u) in [(i, u), (j, v)] {
                if *self.numbers.entry(n).or_insert(u) != u {
                    return None;
                }
            }
            return Some((u, v, sides));
        }
        None
    }

    /// Where an input element stands.
    fn place(&self, t: TermId) -> (u64, TermId) {
        match self.store.get(t) {
            Term::Elem { off, .. } => (off, t),
            _ => (u64::MAX, t),
        }
    }

    /// The number that a choice of numbers is, given what is known.
    fn number(&self, t: TermId, known: &Known<'_>) -> Option<TermId> {
        let mut t = t;
        loop {
            t = match self.store.get(t) {
                Term::Select(p, a, b) => match known.truth(self.store, p)? {
                    true => a,
                    false => b,
                },
                Term::Max(a, b) | Term::Min(a, b) => {
                    let larger = self.rule?.larger == matches!(self.store.get(t), Term::Max(..));
                    match (known.is_better(a, b), known.is_better(b, a)) {
                        (true, false) => [b, a][larger as usize],
                        (false, true) => [a, b][larger as usize],
                        _ => return None,
                    }
                }
                _ => return Some(t),
            };
        }
    }

    /// The value of a predicate, given the order of two numbers.
    fn work_out(
        &self,
        formula: &[TermId],
        known: &Known<'_>,
        (u, v, order): (TermId, TermId, Sign),
    ) -> Option<bool> {
        let mut values: FxHashMap<TermId, Option<bool>> = FxHashMap::default();
        for &t in formula {
            let of = |t: TermId| match self.store.get(t) {
                Term::Bool(b) => Some(b),
                _ => values.get(&t).copied().flatten(),
            };
            let value = known
                .truth(self.store, t)
                .or_else(|| match self.store.get(t) {
                    Term::Bool(b) => Some(b),
                    Term::Not(x) => of(x).map(|x| !x),
                    Term::And(x, y) => match (of(x), of(y)) {
                        (Some(false), _) | (_, Some(false)) => Some(false),
                        (Some(true), Some(true)) => Some(true),
                        _ => None,
                    },
                    Term::Or(x, y) => match (of(x), of(y)) {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (Some(false), Some(false)) => Some(false),
                        _ => None,
                    },
                    Term::Xor(x, y) => Some(of(x)? != of(y)?),
                    Term::RCmp(op, s, r) => {
                        let (x, y) = (self.number(s, known)?, self.number(r, known)?);
                        let order = match (x, y) {
                            _ if x == y => Sign::Same,
                            _ if (x, y) == (u, v) => order,
                            _ if (y, x) == (u, v) => order.turned(),
                            _ => return None,
                        };
                        Some(match op {
                            RCmp::Lt => order == Sign::Less,
                            RCmp::Le => order != Sign::More,
                            RCmp::Eq => order == Sign::Same,
                        })
                    }
                    Term::ICmp(op, x, y) => {
                        let (x, w) = self.index(x, known)?;
                        let (y, _) = self.index(y, known)?;
                        let signed = |x: u64| ((x << (64 - w as u32)) as i64) >> (64 - w as u32);
                        Some(match op {
                            ICmp::Eq => x == y,
                            ICmp::ULt => x < y,
                            ICmp::ULe => x <= y,
                            ICmp::SLt => signed(x) < signed(y),
                            ICmp::SLe => signed(x) <= signed(y),
                        })
                    }
                    _ => None,
                });
            values.insert(t, value);
        }
        values.get(formula.last()?).copied().flatten()
    }

    /// The index that a choice of indices is, given what is known, and its width.
    fn index(&self, t: TermId, known: &Known<'_>) -> Option<(u64, u8)> {
        let mut t = t;
        loop {
            t = match self.store.get(t) {
                Term::BitsConst { width, value } => return Some((value, width)),
                Term::BitsSelect(p, a, b) => match known.truth(self.store, p)? {
                    true => a,
                    false => b,
                },
                _ => return None,
            };
        }
    }
}

/// The order of two numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Less,
    Same,
    More,
}

impl Sign {
    fn turned(self) -> Sign {
        match self {
            Sign::Less => Sign::More,
            Sign::Same => Sign::Same,
            Sign::More => Sign::Less,
        }
    }
}

/// What is known where an index is chosen on each side.
struct Known<'f> {
    truths: FxHashMap<Key, bool>,
    facts: [&'f [Fact]; 2],
}

impl<'f> Known<'f> {
    fn of(a: &'f [Fact], b: &'f [Fact]) -> Known<'f> {
        let truth = |f: &Fact| match f {
            Fact::Truth(k, v) => Some((*k, *v)),
            Fact::Better(..) => None,
        };
        Known {
            truths: a.iter().chain(b).filter_map(truth).collect(),
            facts: [a, b],
        }
    }

    fn truth(&self, store: &TermStore, p: TermId) -> Option<bool> {
        let (key, negated) = key(store, p);
        self.truths.get(&key).map(|v| *v != negated)
    }

    fn is_better(&self, a: TermId, b: TermId) -> bool {
        let all = self.facts.iter().copied().flatten();
        all.into_iter()
            .any(|f| matches!(f, Fact::Better(x, y) if (*x, *y) == (a, b)))
    }
}

/// The truth values below a predicate, children before parents, with the predicate last.
fn formula(store: &TermStore, p: TermId) -> Option<Vec<TermId>> {
    let mut seen = FxHashSet::default();
    let mut open = vec![p];
    while let Some(t) = open.pop() {
        if !seen.insert(t) {
            continue;
        }
        if seen.len() > MAX_PREDICATE {
            return None;
        }
        match store.get(t) {
            Term::And(x, y) | Term::Or(x, y) | Term::Xor(x, y) => open.extend([x, y]),
            Term::Not(x) => open.push(x),
            _ => {}
        }
    }
    let mut all: Vec<TermId> = seen.into_iter().collect();
    all.sort_unstable();
    Some(all)
}
