//! The index of the largest: loops and trees that keep a number and where it stands.
//!
//! Problem: `argmax` as a loop, within a warp, and across warps. The index is a choice among known integers by
//! predicates that compare the numbers which were chosen with them, and where those are equal the indices.
//! The 0-1 principle does not hold: equal numbers have different indices. Regions are as many as orders.
//!
//! The way: a choice of indices is shown, from the innermost on, to be the index of the best of a set of
//! numbers, where best is the larger (or smaller), and of equal ones that with the smaller (or larger) index.
//! Let a choice take `a` where p holds and else `b`, which are such, with the numbers x and y: then p has to
//! be "x is better than y, or both are the same and a is before b". That is one question about gates, in
//! which the signs of x - y and the predicates of earlier choices are inputs, whatever they are. What takes
//! a or b by several choices is one between the two. Two choices are equal if they are the best of the same numbers by the same rule.
//! Nothing is asked of the value of an index of a large set but that it is one of it: a choice that is shown is an unknown word
//! to those above it, which keeps each question as small as its own gates. Comparisons of an index of a small set may stand
//! there as what they say of its predicates.
//!
//! Sound: by induction, since the best of a union is the better of the best of both. Which number is whose is
//! a guess that is checked in the same way: it is one mapping for both choices. Not claimed: choices whose
//! predicates say less than that.

use rustc_hash::{FxHashMap, FxHashSet};

use super::circuit::Lit;
use super::diagram;
use super::encode::Encoder;
use super::limits::{
    MAX_BEST_CHOICES, MAX_BEST_LEARNT, MAX_MISSED, MAX_PREDICATE, MAX_SPELLED_OUT,
};
use super::solver::{Clauses, Outcome};
use super::words::Word;
use crate::spec::Limits;
use crate::term::{Term, TermId, TermStore};

/// Which of two numbers is the better, and which of two equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    larger: bool,
    first: bool,
}

const RULES: [Rule; 4] = [
    Rule {
        larger: true,
        first: true,
    },
    Rule {
        larger: true,
        first: false,
    },
    Rule {
        larger: false,
        first: true,
    },
    Rule {
        larger: false,
        first: false,
    },
];

/// A choice that is the best of a set.
struct Best {
    indices: Vec<u64>,
    /// The numbers on either side of it; none for one index.
    of: Option<(TermId, TermId)>,
    /// The predicate by which it takes the first, if that is one term.
    by: Option<TermId>,
}

/// A search over the choices of one pair.
struct Search<'s> {
    store: &'s TermStore,
    limits: &'s Limits,
    encoder: Encoder<'s>,
    /// The number that stands at an index.
    numbers: FxHashMap<u64, TermId>,
    rule: Option<Rule>,
    /// Indices of a choice whose word is that of its predicates.
    spelled_out: usize,
    best: FxHashMap<TermId, Best>,
    /// The classes of choices of one shape: a comparison has words of fewer bits.
    classes: FxHashMap<TermId, u32>,
    shapes: FxHashMap<Shape, u32>,
    /// The words that stand for the choices of a class.
    words: FxHashMap<u32, Word>,
}

/// A choice by what it chooses, in words of any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    Index(u64),
    Choice(TermId, [u32; 2]),
}

/// True only if both are the index of the best of the same numbers.
pub(in crate::decide) fn equal(store: &TermStore, a: TermId, b: TermId, limits: &Limits) -> bool {
    equal_beyond(MAX_SPELLED_OUT, store, (a, b), limits)
}

/// The same where choices of more indices than some are unknown words to those above them.
pub(in crate::decide) fn equal_beyond(
    spelled_out: usize,
    store: &TermStore,
    (a, b): (TermId, TermId),
    limits: &Limits,
) -> bool {
    let chooses = |t| matches!(store.get(t), Term::BitsSelect(..));
    if !chooses(a) || !chooses(b) {
        return false;
    }
    let mut search = Search {
        store,
        limits,
        encoder: Encoder::literally(store, limits),
        numbers: FxHashMap::default(),
        rule: None,
        spelled_out,
        best: FxHashMap::default(),
        classes: FxHashMap::default(),
        shapes: FxHashMap::default(),
        words: FxHashMap::default(),
    };
    if search.find(&[a, b]).is_none() {
        return false;
    }
    let indices = |t| search.best.get(&t).map(|b| &b.indices);
    indices(a).is_some() && indices(a) == indices(b)
}

impl Search<'_> {
    /// The sets that choices are the best of.
    fn find(&mut self, roots: &[TermId]) -> Option<()> {
        let mut known = true;
        let choices = self.store.met(roots, MAX_BEST_CHOICES, |t, open| {
            match self.store.get(t) {
                Term::BitsSelect(_, a, b) => open.extend([a, b]),
                Term::BitsConst { .. } => {}
                _ => known = false,
            }
            known
        });
        let choices = choices.filter(|_| known)?;
        let mut missed = Vec::new();
        for t in choices {
            if self.limits.reached().is_some() || missed.len() > MAX_MISSED {
                return None;
            }
            let best = match self.store.get(t) {
                Term::BitsConst { value, .. } => Some(Best {
                    indices: vec![value],
                    of: None,
                    by: None,
                }),
                _ => self.better(t),
            };
            let Some(best) = best else {
                missed.push(t);
                continue;
            };
            if best.indices.len() > self.spelled_out {
                let last = best.indices.last().copied().unwrap_or(0);
                let word = self
                    .encoder
                    .words
                    .inputs(64 - last.leading_zeros() as usize)?;
                let class = self.class(t)?;
                self.encoder.stands_for(&word, t);
                self.words.insert(class, word);
            }
            self.best.insert(t, best);
        }
        Some(())
    }

    /// The two choices of known sets that a term takes one of, and the choices between them and it, the
    /// innermost first.
    fn between(&self, t: TermId) -> Option<(TermId, TermId, Vec<TermId>)> {
        let (mut ends, mut inner, mut open) = (Vec::new(), Vec::new(), vec![t]);
        while let Some(t) = open.pop() {
            match self.store.get(t) {
                _ if self.best.contains_key(&t) => ends.push(t),
                Term::BitsSelect(_, a, b) if inner.len() <= MAX_MISSED => {
                    inner.push(t);
                    // The first operand is met first.
                    open.extend([b, a]);
                }
                _ => return None,
            }
        }
        let a = *ends.first()?;
        let mut others = ends.into_iter().filter(|e| *e != a);
        let b = others.next()?;
        inner.sort_unstable();
        inner.dedup();
        others.all(|e| e == b).then_some((a, b, inner))
    }

    /// The set of a choice between two.
    fn better(&mut self, t: TermId) -> Option<Best> {
        let (a, b, inner) = self.between(t)?;
        let predicate = |t: &TermId| match self.store.get(*t) {
            Term::BitsSelect(p, ..) => Some(p),
            _ => None,
        };
        let predicates: Vec<TermId> = inner.iter().filter_map(predicate).collect();
        let (x, y) = (&self.best.get(&a)?.indices, &self.best.get(&b)?.indices);
        let mut indices: Vec<u64> = x.iter().chain(y).copied().collect();
        indices.sort_unstable();
        if indices.windows(2).any(|w| w[0] == w[1]) {
            return None;
        }
        for (x, y) in self.compared(&predicates)? {
            for (x, y) in [(x, y), (y, x)] {
                let (Some(i), Some(j)) = (self.stands_for(x, a), self.stands_for(y, b)) else {
                    continue;
                };
                // Of two indices whose numbers are not known yet the numbers stand in the same order.
                if let (Some(i), Some(j)) = (i, j)
                    && (i < j) != (self.place(x) < self.place(y))
                {
                    continue;
                }
                let takes = self.takes(&inner, a, b)?;
                if self.takes_the_better(takes, (a, b), (x, y)) != Some(true) {
                    continue;
                }
                let new = [(i, x), (j, y)];
                let new = new.into_iter().filter_map(|(i, x)| Some((i?, x)));
                self.numbers.extend(new);
                let by = match predicates[..] {
                    [p] => Some(p),
                    _ => None,
                };
                if let Some(p) = by {
                    self.cut(p)?;
                }
                return Some(Best {
                    indices,
                    of: Some((x, y)),
                    by,
                });
            }
        }
        None
    }

    /// That the last of some choices takes a and not b.
    fn takes(&mut self, inner: &[TermId], a: TermId, b: TermId) -> Option<Lit> {
        let mut known = FxHashMap::from_iter([(a, Lit::TRUE), (b, Lit::FALSE)]);
        let mut last = None;
        for &t in inner {
            let Term::BitsSelect(p, yes, no) = self.store.get(t) else {
                return None;
            };
            let p = self.encoder.predicate(p)?;
            let (yes, no) = (*known.get(&yes)?, *known.get(&no)?);
            let l = self.encoder.words.circuit.choose(p, yes, no)?;
            known.insert(t, l);
            last = Some(l);
        }
        last
    }

    /// Whether a term is the number of a choice; the index whose number it would be, if that is not known.
    fn stands_for(&self, x: TermId, choice: TermId) -> Option<Option<u64>> {
        let best = self.best.get(&choice)?;
        let Some((s, t)) = best.of else {
            let i = *best.indices.first()?;
            return match self.numbers.get(&i) {
                Some(&known) => (known == x).then_some(None),
                None => Some(Some(i)),
            };
        };
        let is = match self.store.get(x) {
            Term::Select(q, u, v) if best.by == Some(q) => (u, v) == (s, t),
            Term::Select(q, u, v) => {
                (u, v) == (t, s) && best.by.is_some_and(|p| self.store.opposite(q, p))
            }
            Term::Max(u, v) => self.rule?.larger && [(s, t), (t, s)].contains(&(u, v)),
            Term::Min(u, v) => !self.rule?.larger && [(s, t), (t, s)].contains(&(u, v)),
            _ => false,
        };
        is.then_some(None)
    }

    /// Where an input element stands.
    fn place(&self, t: TermId) -> (u64, TermId) {
        match self.store.get(t) {
            Term::Elem { off, .. } => (off, t),
            _ => (u64::MAX, t),
        }
    }

    /// The numbers that predicates compare, the outermost comparison first. Words that stand for what they compare are used
    /// from here on.
    fn compared(&mut self, predicates: &[TermId]) -> Option<Vec<(TermId, TermId)>> {
        let mut open = predicates.to_vec();
        let (mut seen, mut out) = (FxHashSet::default(), Vec::new());
        let mut at = 0;
        while let Some(&t) = open.get(at) {
            at += 1;
            if !seen.insert(t) {
                continue;
            }
            if seen.len() > MAX_PREDICATE {
                return None;
            }
            match self.store.get(t) {
                Term::And(x, y) | Term::Or(x, y) | Term::Xor(x, y) => open.extend([x, y]),
                Term::Not(x) => open.push(x),
                Term::RCmp(_, x, y) if !out.contains(&(x, y)) && !out.contains(&(y, x)) => {
                    out.push((x, y));
                }
                Term::ICmp(_, x, y) => {
                    self.stand_in(x);
                    self.stand_in(y);
                }
                _ => {}
            }
        }
        Some(out)
    }

    /// The class of a choice; `None` for other words.
    fn class(&mut self, root: TermId) -> Option<u32> {
        let (store, classes) = (self.store, &self.classes);
        let new = store.met(&[root], MAX_BEST_CHOICES, |t, open| {
            let new = !classes.contains_key(&t);
            if let (true, Term::BitsSelect(_, a, b)) = (new, store.get(t)) {
                open.extend([a, b]);
            }
            new
        })?;
        for t in new {
            let shape = match store.get(t) {
                Term::BitsConst { value, .. } => Shape::Index(value),
                Term::BitsSelect(p, a, b) => {
                    Shape::Choice(p, [*self.classes.get(&a)?, *self.classes.get(&b)?])
                }
                _ => return None,
            };
            let next = self.shapes.len() as u32;
            let class = *self.shapes.entry(shape).or_insert(next);
            self.classes.insert(t, class);
        }
        self.classes.get(&root).copied()
    }

    /// Encodes a choice as the word that stands for its class, if one does.
    fn stand_in(&mut self, t: TermId) {
        if !matches!(self.store.get(t), Term::BitsSelect(..)) {
            return;
        }
        if let Some(class) = self.class(t)
            && let Some(word) = self.words.get(&class)
        {
            self.encoder.stands_for(word, t);
        }
    }

    /// Whether a literal is that x is better than y, or as good and a before b, by the rule.
    fn takes_the_better(
        &mut self,
        holds: Lit,
        (a, b): (TermId, TermId),
        (x, y): (TermId, TermId),
    ) -> Option<bool> {
        let (below, above) = self.encoder.order(x, y)?;
        let (i, j) = (self.encoder.encode(a)?, self.encoder.encode(b)?);
        let possible = self.apart((a, &i), (b, &j))?;
        let rules = self.rule.map_or(RULES.to_vec(), |rule| vec![rule]);
        for rule in rules {
            let words = &mut self.encoder.words;
            let before = match rule.first {
                true => words.less(&i, &j, false)?,
                false => words.less(&j, &i, false)?,
            };
            let (better, worse) = match rule.larger {
                true => (above, below),
                false => (below, above),
            };
            let c = &mut words.circuit;
            let as_good = c.and(!worse, before)?;
            let expected = c.or(better, as_good)?;
            let differ = c.xor(holds, expected)?;
            let both = c.and(below, above)?;
            let wrong = c.and(differ, !both)?;
            let wrong = c.and(wrong, possible)?;
            if self.never(wrong) {
                self.rule = Some(rule);
                return Some(true);
            }
        }
        Some(false)
    }

    /// What the words of two choices of disjoint sets are to each other: in the order of the sets, if all of one stand
    /// before the other, and never equal.
    fn apart(&mut self, (a, i): (TermId, &Word), (b, j): (TermId, &Word)) -> Option<Lit> {
        let ends = |t| {
            let indices = &self.best.get(&t)?.indices;
            Some((*indices.first()?, *indices.last()?))
        };
        let ((least, most), (low, high)) = (ends(a)?, ends(b)?);
        let words = &mut self.encoder.words;
        if most < low {
            words.less(i, j, false)
        } else if high < least {
            words.less(j, i, false)
        } else {
            Some(!words.same(i, j)?)
        }
    }

    /// True only if a literal holds for no inputs.
    fn never(&self, l: Lit) -> bool {
        if let Some(same) = diagram::same(&self.encoder.words, &[l], &[Lit::FALSE]) {
            return same;
        }
        let mut clauses = Clauses::new(self.limits, MAX_BEST_LEARNT);
        clauses.add(&self.encoder.words.circuit, &[l]);
        clauses.solve() == Outcome::Contradictory
    }

    /// From now on the predicate is an input: nothing more is asked of it. A comparison is one already.
    fn cut(&mut self, p: TermId) -> Option<()> {
        let p = match self.store.get(p) {
            Term::Not(q) => q,
            _ => p,
        };
        match self.store.get(p) {
            Term::RCmp(..) | Term::Bool(_) => Some(()),
            _ => {
                let input = self.encoder.words.inputs(1)?;
                self.encoder.stands_for(&input, p);
                Some(())
            }
        }
    }
}
