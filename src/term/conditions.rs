//! Conditions that data decide about: what they say of integers, and which exclude each other.
//!
//! Problem: two threads that write where data choose do not meet if no input sends both to one place: their conditions
//! exclude each other. The way: conditions as alternatives of literals; two alternatives contradict if they hold a literal
//! and its negation, if what their comparisons with constants leave of an integer is nothing, or if they give two elements
//! of an array of distinct integers one value.
//!
//! Sound in the direction of `true`: no input satisfies both. Not claimed: that an input does where the answer is `false`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bits::sext;
use super::rebuild::{Images, rebuild};
use super::{ArrayId, ICmp, Term, TermId, TermStore};

/// Conditions that are taken apart.
const MOST: usize = 256;
/// Alternatives of a condition.
const WAYS: usize = 64;

/// A range of integers as two's complement, its ends included.
pub type Span = (i128, i128);

/// A condition, and whether it is to hold.
type Literal = (TermId, bool);

/// What both ranges hold.
pub fn meet(a: Span, b: Span) -> Span {
    (a.0.max(b.0), a.1.min(b.1))
}

impl TermStore {
    /// The conditions of which one is the conjunction, in order.
    pub fn conjuncts(&self, cond: Option<TermId>) -> Vec<TermId> {
        let mut open: Vec<TermId> = cond.into_iter().collect();
        let mut out = Vec::new();
        while let Some(c) = open.pop() {
            match self.get(c) {
                Term::And(a, b) if out.len() + open.len() < MOST => open.extend([a, b]),
                _ => out.push(c),
            }
        }
        out.sort_unstable();
        out
    }

    /// What a comparison with a constant says of an integer as two's complement.
    pub fn bounded(&self, cond: TermId) -> Option<(TermId, Span)> {
        self.bounded_if(cond, true)
    }

    fn bounded_if(&self, cond: TermId, holds: bool) -> Option<(TermId, Span)> {
        let all = (i128::MIN / 4, i128::MAX / 4);
        let (holds, c) = match self.get(cond) {
            Term::Not(c) => (!holds, c),
            _ => (holds, cond),
        };
        let Term::ICmp(op, a, b) = self.get(c) else {
            return None;
        };
        let w = self.width(a);
        let known = |t| self.as_bits(t).map(|v| (v, i128::from(sext(v, w))));
        let (x, (bits, v), left) = match (known(a), known(b)) {
            (None, Some(v)) => (a, v, true),
            (Some(v), None) => (b, v, false),
            _ => return None,
        };
        // x op v, or v op x, or their negations.
        let range = match (op, left, holds) {
            (ICmp::Eq, _, true) => (v, v),
            (ICmp::Eq, _, false) => return None,
            (ICmp::SLt, true, true) => (all.0, v - 1),
            (ICmp::SLt, true, false) => (v, all.1),
            (ICmp::SLt, false, true) => (v + 1, all.1),
            (ICmp::SLt, false, false) => (all.0, v),
            (ICmp::SLe, true, true) => (all.0, v),
            (ICmp::SLe, true, false) => (v + 1, all.1),
            (ICmp::SLe, false, true) => (v, all.1),
            (ICmp::SLe, false, false) => (all.0, v - 1),
            // Below a number that is not negative as two's complement, all are alike.
            (ICmp::ULt, true, true) if v > 0 => (0, i128::from(bits) - 1),
            (ICmp::ULe, true, true) if v >= 0 => (0, i128::from(bits)),
            (ICmp::ULt, false, false) if v >= 0 => (0, i128::from(bits)),
            (ICmp::ULe, false, false) if v > 0 => (0, i128::from(bits) - 1),
            (ICmp::ULt | ICmp::ULe, ..) => return None,
        };
        Some((x, range))
    }

    /// True only if no input satisfies both conditions.
    pub fn excludes(&self, a: TermId, b: TermId) -> bool {
        let ways = |c| self.alternatives(c);
        let Some((a, b)) = ways(a).zip(ways(b)) else {
            return false;
        };
        a.iter()
            .all(|x| b.iter().all(|y| self.contradict(x, y)))
    }

    /// Conjunctions of literals of which one holds where the condition does; `None` if they are too many.
    fn alternatives(&self, cond: TermId) -> Option<Vec<Vec<Literal>>> {
        let mut open = vec![(vec![(cond, true)], Vec::new())];
        let mut out = Vec::new();
        while let Some((mut rest, mut found)) = open.pop() {
            let Some((c, holds)) = rest.pop() else {
                out.push(found);
                continue;
            };
            match (self.get(c), holds) {
                (Term::Not(x), _) => rest.push((x, !holds)),
                (Term::And(x, y), true) | (Term::Or(x, y), false) => {
                    rest.extend([(x, holds), (y, holds)]);
                }
                (Term::And(x, y), false) | (Term::Or(x, y), true) => {
                    let mut other = rest.clone();
                    other.push((y, holds));
                    open.push((other, found.clone()));
                    rest.push((x, holds));
                }
                (Term::Bool(b), _) if b == holds => {}
                (Term::Bool(_), _) => continue,
                _ => found.push((c, holds)),
            }
            if out.len() + open.len() >= WAYS || rest.len() + found.len() > MOST {
                return None;
            }
            open.push((rest, found));
        }
        Some(out)
    }

    /// A word that depends linearly on a choice between two: the condition, and the word with either.
    pub fn by_choice(&mut self, t: TermId) -> Option<(TermId, TermId, TermId)> {
        let form = self.linear(t)?.linear;
        let choice = |&(x, _): &(TermId, i128)| match self.get(x) {
            Term::BitsSelect(p, a, b) => Some((x, p, a, b)),
            _ => None,
        };
        let (atom, p, a, b) = form.terms.iter().find_map(choice)?;
        if !self.is_small(t) {
            return None;
        }
        let mut with = |by: TermId| {
            let mut small = TermStore::new();
            small.facts = self.facts.clone();
            let replace = |_: &mut TermStore, x: TermId, done: &Images| (x == atom).then(|| done.of(by));
            let root = rebuild(self, &[t], &mut small, replace)[0];
            self.import_only(&small, &[root])[root.0 as usize]
        };
        let (yes, no) = (with(a), with(b));
        (yes != t && no != t).then_some((p, yes, no))
    }

    /// True if few terms stand below a term.
    fn is_small(&self, t: TermId) -> bool {
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut open = vec![t];
        while let Some(t) = open.pop() {
            if seen.insert(t) {
                self.children(t, |c| open.push(c));
            }
            if seen.len() > MOST {
                return false;
            }
        }
        true
    }

    fn contradict(&self, a: &[Literal], b: &[Literal]) -> bool {
        let mut signs: FxHashMap<TermId, bool> = FxHashMap::default();
        let mut spans: FxHashMap<TermId, Span> = FxHashMap::default();
        for &(c, holds) in a.iter().chain(b) {
            if *signs.entry(c).or_insert(holds) != holds {
                return true;
            }
            let Some((x, range)) = self.bounded_if(c, holds) else {
                continue;
            };
            let known = spans.entry(x).or_insert_with(|| self.integer_range(x));
            *known = meet(*known, range);
            if known.0 > known.1 {
                return true;
            }
        }
        // Two elements of distinct ones with one value.
        let mut held: FxHashMap<(ArrayId, i128), u64> = FxHashMap::default();
        spans.iter().any(|(&x, s)| {
            let Some((array, off)) = self.distinct_element(x).filter(|_| s.0 == s.1) else {
                return false;
            };
            *held.entry((array, s.0)).or_insert(off) != off
        })
    }
}
