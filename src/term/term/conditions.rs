//! Conditions that data decide about: what they say of integers, and which exclude each other.
//!
//! Problem: two threads that write where data choose do not meet if no input sends both to one place: their conditions
//! exclude each other. The way: conditions as alternatives of literals; two alternatives contradict if they hold a literal
//! and its negation, if what their comparisons with constants leave of an integer is nothing, if no order of two numbers
//! satisfies their comparisons, or if they give two elements of an array of distinct integers one value.
//!
//! Sound in the direction of `true`: no input satisfies both. Not claimed: that an input does where the answer is `false`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bits::sext;
use super::rebuild::{Images, rebuild};
use super::{ArrayId, ICmp, RCmp, Term, TermId, TermStore};
use crate::scalar::Fmt;

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
        // Two elements of distinct ones with one value, which is by far the most frequent.
        if let Some((x, y)) = self.pinned(a).zip(self.pinned(b))
            && (x.0, x.1) == (y.0, y.1)
            && x.2 != y.2
        {
            return true;
        }
        let ways = |c| self.alternatives(c);
        let Some((a, b)) = ways(a).zip(ways(b)) else {
            return false;
        };
        a.iter().all(|x| b.iter().all(|y| self.contradict(x, y)))
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

    /// The element of an array of distinct integers that a condition gives a value: the array, the value, the position.
    fn pinned(&self, cond: TermId) -> Option<(ArrayId, i128, u64)> {
        let pinned = |c: TermId| {
            let (x, (lo, hi)) = self.bounded(c).filter(|b| b.1.0 == b.1.1)?;
            let (array, at) = self.distinct_element(x)?;
            (lo == hi).then_some((array, lo, at))
        };
        match self.get(cond) {
            Term::ICmp(..) => pinned(cond),
            Term::And(..) => self.conjuncts(Some(cond)).into_iter().find_map(pinned),
            _ => None,
        }
    }

    /// match `p ? a : (q ? x : y)` / result `q ? x : (p ? a : y)`
    /// because p and q give two elements of an array of distinct integers, of which that of q is the first one, the same
    /// value, so that at most one of them holds.
    pub(super) fn in_order(&mut self, p: TermId, a: TermId, b: TermId) -> Option<TermId> {
        if !self.facts.all().iter().any(|e| e.distinct) {
            return None;
        }
        let (array, value, at) = self.pinned(p)?;
        let mut passed = Vec::new();
        let mut rest = b;
        while let Term::Select(q, x, y) | Term::BitsSelect(q, x, y) = self.get(rest) {
            let other = self.pinned(q);
            if !other.is_some_and(|(r, v, before)| (r, v) == (array, value) && before < at) {
                break;
            }
            passed.push((q, x));
            rest = y;
        }
        if passed.is_empty() {
            return None;
        }
        let mut t = self.select(p, a, rest);
        for (q, x) in passed.into_iter().rev() {
            t = self.select(q, x, t);
        }
        Some(t)
    }

    /// What a chain of selections is where a condition holds.
    pub fn taken_under(&self, cond: TermId, mut t: TermId) -> TermId {
        let known = self.conjuncts(Some(cond));
        while let Term::Select(q, a, b) | Term::BitsSelect(q, a, b) = self.get(t) {
            if self
                .conjuncts(Some(q))
                .iter()
                .all(|c| known.binary_search(c).is_ok())
            {
                t = a;
            } else if self.excludes(cond, q) {
                t = b;
            } else {
                break;
            }
        }
        t
    }

    /// What a small term is where a condition holds that gives an integer its value: each choice below it that the
    /// condition decides is decided.
    pub fn decided_under(&mut self, cond: TermId, t: TermId) -> TermId {
        let known = self.conjuncts(Some(cond));
        let gives = |&c: &TermId| self.bounded(c).is_some_and(|(_, (lo, hi))| lo == hi);
        if !known.iter().any(gives) || !self.is_small(t) {
            return t;
        }
        let mut decided: FxHashMap<TermId, TermId> = FxHashMap::default();
        for x in self.reachable(&[t]) {
            if let Term::Select(q, a, b) | Term::BitsSelect(q, a, b) = self.get(x) {
                let side = match self.conjuncts(Some(q)).iter().all(|c| known.contains(c)) {
                    true => Some(a),
                    false => self.excludes(cond, q).then_some(b),
                };
                decided.extend(side.map(|s| (x, s)));
            }
        }
        if decided.is_empty() {
            return t;
        }
        let mut small = TermStore::new();
        small.facts = self.facts.clone();
        let replace =
            |_: &mut TermStore, x: TermId, done: &Images| Some(done.of(*decided.get(&x)?));
        let root = rebuild(self, &[t], &mut small, replace)[0];
        self.import_only(&small, &[root])[root.0 as usize]
    }

    /// A word that depends linearly on a choice between two, where a condition holds: what it is chosen by, and the
    /// condition and the word with either.
    pub fn by_choice(
        &mut self,
        cond: TermId,
        t: TermId,
    ) -> Option<(TermId, [TermId; 2], [TermId; 2])> {
        let form = self.linear(t)?.linear;
        let choice = |&(x, _): &(TermId, i128)| match self.get(x) {
            Term::BitsSelect(p, a, b) => Some((x, p, a, b)),
            _ => None,
        };
        let (atom, mut p, a, b) = form.terms.iter().find_map(choice)?;
        // Of a maximum or minimum with a constant, the other operand is taken where both are equal.
        if let Term::ICmp(ICmp::SLt | ICmp::ULt, x, y) = self.get(p)
            && ((a, b) == (x, y) || (a, b) == (y, x))
            && self.as_bits(b).is_some()
        {
            let op = match self.get(p) {
                Term::ICmp(op, ..) => op,
                _ => return None,
            };
            let above = self.icmp(op, y, x);
            p = self.not(above);
        }
        if !self.is_small(t) || !self.is_small(cond) {
            return None;
        }
        let mut with = |by: TermId| {
            let mut small = TermStore::new();
            small.facts = self.facts.clone();
            let replace =
                |_: &mut TermStore, x: TermId, done: &Images| (x == atom).then(|| done.of(by));
            let roots = rebuild(self, &[cond, t], &mut small, replace);
            let map = self.import_only(&small, &roots);
            [map[roots[0].0 as usize], map[roots[1].0 as usize]]
        };
        let (yes, no) = (with(a), with(b));
        (yes[1] != t && no[1] != t).then_some((p, yes, no))
    }

    /// Elements of ascending arrays are not below those before them, nor above those after them.
    fn ascend(&self, spans: &mut FxHashMap<TermId, Span>) {
        let mut all: Vec<(ArrayId, u64, TermId)> = Vec::new();
        for &t in spans.keys() {
            all.extend(self.sorted_element(t).map(|(array, at)| (array, at, t)));
        }
        all.sort_unstable();
        let mut of = |t: TermId, f: &dyn Fn(Span) -> Span| {
            spans.insert(t, f(spans[&t]));
            spans[&t]
        };
        for p in all.windows(2).filter(|p| p[0].0 == p[1].0) {
            let before = of(p[0].2, &|s| s);
            of(p[1].2, &|s| (s.0.max(before.0), s.1));
        }
        for p in all.windows(2).rev().filter(|p| p[0].0 == p[1].0) {
            let after = of(p[1].2, &|s| s);
            of(p[0].2, &|s| (s.0, s.1.min(after.1)));
        }
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

    /// Two numbers that no rounding has touched, and what their order may be where a comparison of them holds or does not,
    /// as bits: less, equal, more.
    fn ordered_if(&self, c: TermId, holds: bool) -> Option<((TermId, TermId), u8)> {
        let Term::RCmp(op, x, y) = self.get(c) else {
            return None;
        };
        // What is no number is in no order.
        if !holds && !self.is_total(c) || [x, y].iter().any(|&t| self.is_rounded(Fmt::F64, t)) {
            return None;
        }
        let is = match op {
            RCmp::Lt => 1,
            RCmp::Le => 3,
            RCmp::Eq => 2,
        };
        let left = if holds { is } else { 7 & !is };
        Some(match x <= y {
            true => ((x, y), left),
            false => ((y, x), left & 2 | left >> 2 | left << 2 & 4),
        })
    }

    fn contradict(&self, a: &[Literal], b: &[Literal]) -> bool {
        let mut signs: FxHashMap<TermId, bool> = FxHashMap::default();
        let mut spans: FxHashMap<TermId, Span> = FxHashMap::default();
        let mut differ: Vec<(TermId, TermId)> = Vec::new();
        let mut orders: FxHashMap<(TermId, TermId), u8> = FxHashMap::default();
        for &(c, holds) in a.iter().chain(b) {
            if *signs.entry(c).or_insert(holds) != holds {
                return true;
            }
            if let (Term::ICmp(ICmp::Eq, x, y), false) = (self.get(c), holds) {
                for t in [x, y] {
                    spans.entry(t).or_insert_with(|| self.integer_range(t));
                }
                differ.push((x, y));
            }
            if let Some((pair, left)) = self.ordered_if(c, holds) {
                let known = orders.entry(pair).or_insert(left);
                *known &= left;
                if *known == 0 {
                    return true;
                }
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
        self.ascend(&mut spans);
        let one = |t: &TermId| spans.get(t).filter(|s| s.0 == s.1);
        if spans.values().any(|s| s.0 > s.1)
            || differ
                .iter()
                .any(|(x, y)| one(x).is_some() && one(x) == one(y))
        {
            return true;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};
    use crate::term::facts::Elements;

    const IDS: ArrayId = ArrayId(0);

    /// A store in which the elements of an array are said to be such.
    fn store(distinct: bool, sorted: bool) -> TermStore {
        let mut s = TermStore::new();
        let mut facts = crate::term::facts::Facts::default();
        let e = facts.about(Elements::new(IDS, 8, Some(3)));
        (e.lo, e.hi, e.distinct, e.sorted) = (0, 3, distinct, sorted);
        s.facts = std::sync::Arc::new(facts);
        s
    }

    /// Contents of three elements below 4 that the facts of a store allow.
    fn contents(s: &TermStore) -> Vec<[u64; 3]> {
        let all = (0..64u64).map(|c| [c % 4, c / 4 % 4, c / 16]);
        let e = s.facts.of(IDS).copied();
        let allowed = |c: &[u64; 3]| {
            let at: Vec<(u64, i128)> = (0..).zip(c.iter().map(|&v| i128::from(v))).collect();
            e.is_some_and(|e| e.allow(&at))
        };
        all.filter(allowed).collect()
    }

    fn inputs(c: &[u64; 3]) -> Inputs {
        let mut inputs = Inputs::default();
        for (i, &v) in c.iter().enumerate() {
            inputs.set(IDS, i as u64, 1, v);
        }
        inputs
    }

    /// Conditions of all shapes over three elements.
    fn conditions(s: &mut TermStore) -> Vec<TermId> {
        let ids: Vec<TermId> = (0..3).map(|i| s.bytes(IDS, i, 8)).collect();
        let mut out = Vec::new();
        for &x in &ids {
            for v in 0..4 {
                let v = s.bits(8, v);
                out.push(s.icmp(ICmp::Eq, x, v));
                out.push(s.icmp(ICmp::ULt, x, v));
                out.push(s.icmp(ICmp::SLt, v, x));
            }
        }
        for (i, j) in [(0, 1), (1, 2), (0, 2)] {
            let same = s.icmp(ICmp::Eq, ids[i], ids[j]);
            out.extend([same, s.not(same)]);
            out.push(s.icmp(ICmp::SLe, ids[i], ids[j]));
            let [x, y] = [i, j].map(|i| s.elem(IDS, Fmt::E4m3, i as u64));
            for (op, x, y) in [
                (RCmp::Lt, x, y),
                (RCmp::Lt, y, x),
                (RCmp::Le, x, y),
                (RCmp::Eq, x, y),
            ] {
                let holds = s.rcmp(op, x, y);
                out.extend([holds, s.not(holds)]);
            }
        }
        for i in 0..out.len() - 1 {
            let (a, b) = (out[i], out[(i * 7 + 3) % out.len()]);
            out.push(s.and(a, b));
            out.push(s.or(a, b));
        }
        out
    }

    /// What is said to exclude each other does, on every content that the facts allow; and comparisons that facts fold
    /// have that value there.
    #[test]
    fn what_is_excluded_does_not_happen() {
        for (distinct, sorted) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut s = store(distinct, sorted);
            let conds = conditions(&mut s);
            let contents = contents(&s);
            let rows: Vec<Vec<Value>> = contents
                .iter()
                .map(|c| evaluate(&s, &conds, &inputs(c), Mode::exact(64)))
                .collect();
            let mut excluded = 0;
            for (i, &a) in conds.iter().enumerate() {
                for (j, &b) in conds.iter().enumerate() {
                    if !s.excludes(a, b) {
                        continue;
                    }
                    excluded += 1;
                    let both =
                        |r: &Vec<Value>| r[i] == Value::Bool(true) && r[j] == Value::Bool(true);
                    assert!(!rows.iter().any(both), "{distinct} {sorted} {i} {j}");
                }
            }
            assert!(excluded > 100);
            // The same conditions without facts, on the contents that the facts allow.
            let mut plain = TermStore::new();
            let free = conditions(&mut plain);
            for (c, row) in contents.iter().zip(&rows) {
                assert_eq!(*row, evaluate(&plain, &free, &inputs(c), Mode::exact(64)));
            }
        }
    }

    /// Selections by elements that differ come out in one order, with the value of the order in which they were made.
    #[test]
    fn chains_by_distinct_elements_have_one_order() {
        let mut s = store(true, false);
        let mut made = Vec::new();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let mut t = s.bits(8, 99);
            let two = s.bits(8, 2);
            for i in order {
                let id = s.bytes(IDS, i, 8);
                let (cond, value) = (s.icmp(ICmp::Eq, id, two), s.bits(8, 10 + i));
                t = s.select(cond, value, t);
            }
            made.push(t);
        }
        assert!(made.iter().all(|t| *t == made[0]));
        for c in contents(&s) {
            let found = c.iter().position(|&v| v == 2).map_or(99, |i| 10 + i as u64);
            let at = evaluate(&s, &made[..1], &inputs(&c), Mode::exact(64));
            assert_eq!(at, [Value::Bits(found)]);
        }
    }
}
