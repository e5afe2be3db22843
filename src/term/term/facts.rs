//! What the user says of the data (`--assume`), as one store of facts that ranges, guards, bounds, races and searches ask.
//!
//! A fact is about the elements that an array holds before the launch, which are the terms [`Term::Bytes`] of it. What a
//! kernel writes is another term, so that no fact is ever about a value that was read after a write. An unbound integer
//! parameter is an array of one element. Integers are two's complement.
//!
//! Sound: an answer follows from the facts for every input that satisfies them. Whoever looks for an input has to keep
//! them (`decide::refute::links`).
//!
//! Not claimed: of elements at places that data choose, anything but their range: two places may be one.

use super::bits::{fold_compare, sext};
pub use super::fact_numbers::Numbers;
use super::gather::distance;
use super::{ArrayId, BitsOp, ICmp, Term, TermId, TermStore};

/// What is said of the integers that an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The array.
    pub array: ArrayId,
    /// Width of its elements in bits.
    pub width: u8,
    /// How many there are, where that is known.
    pub count: Option<u64>,
    /// The least element.
    pub lo: i128,
    /// The largest one.
    pub hi: i128,
    /// Elements at different positions differ.
    pub distinct: bool,
    /// No element is below the one before it.
    pub sorted: bool,
    /// Each is a power of two.
    pub pow2: bool,
}

/// What the user says of the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    elements: Vec<Elements>,
    numbers: Vec<Numbers>,
    /// No float that depends on data overflows or is rounded across a test: the reals decide every test.
    pub reals_decide: bool,
}

impl Elements {
    /// Nothing is said of integers of a width.
    pub fn new(array: ArrayId, width: u8, count: Option<u64>) -> Elements {
        let half = 1i128 << (width.clamp(1, 64) - 1);
        Elements {
            array,
            width,
            count,
            lo: -half,
            hi: half - 1,
            distinct: false,
            sorted: false,
            pow2: false,
        }
    }

    /// What is said of each element alone.
    pub fn range_alone(self) -> Elements {
        Elements {
            distinct: false,
            sorted: false,
            ..self
        }
    }

    /// The same of elements that lie in a range too, if that leaves any.
    pub fn within(self, least: i128, count: i128) -> Elements {
        let (lo, hi) = (self.lo.max(least), self.hi.min(least + count - 1));
        match lo <= hi {
            true => Elements { lo, hi, ..self },
            false => self,
        }
    }

    /// Whether more is said of the size of an element than its type says, and that it is a power of two.
    pub fn is_bounded(&self) -> bool {
        let any = Elements::new(self.array, self.width, self.count);
        let least = if self.pow2 { any.lo.max(1) } else { any.lo };
        (self.lo, self.hi) != (least, any.hi)
    }

    /// Whether elements, each with its position and in the order of these, are such as the facts say.
    pub fn allow(&self, values: &[(u64, i128)]) -> bool {
        let one = |&(_, v): &(u64, i128)| {
            self.lo <= v && v <= self.hi && (!self.pow2 || v > 0 && v & (v - 1) == 0)
        };
        // Between two elements of a strictly ascending array there is room for those between them.
        let ascend = |p: &[(u64, i128)]| {
            let least = match self.distinct {
                true => i128::from(p[1].0 - p[0].0),
                false => 0,
            };
            p[1].1 - p[0].1 >= least
        };
        let ends = || match (values.first(), values.last()) {
            (Some(a), Some(b)) if self.distinct => {
                let after = self.count.map_or(0, |n| n.saturating_sub(b.0 + 1));
                a.1 - self.lo >= i128::from(a.0) && self.hi - b.1 >= i128::from(after)
            }
            _ => true,
        };
        let differ = || {
            let mut all: Vec<i128> = values.iter().map(|v| v.1).collect();
            all.sort_unstable();
            all.windows(2).all(|p| p[0] != p[1])
        };
        values.iter().all(one)
            && (!self.sorted || values.windows(2).all(ascend) && ends())
            && (!self.distinct || differ())
    }

    /// Elements, each with its position and in the order of these, moved to such as the facts say; as they are where
    /// that takes a search.
    pub fn settle(&self, values: &mut [(u64, i128)]) {
        if self.sorted {
            let mut in_order: Vec<i128> = values.iter().map(|v| v.1).collect();
            in_order.sort_unstable();
            values.iter_mut().zip(in_order).for_each(|(v, x)| v.1 = x);
        }
        let size = self.hi - self.lo + 1;
        let mut used = std::collections::BTreeSet::new();
        let mut last: Option<(u64, i128)> = None;
        for (at, v) in values.iter_mut() {
            if *v < self.lo || self.hi < *v {
                *v = self.lo + (*v - self.lo).rem_euclid(size);
            }
            if self.pow2 && !(*v > 0 && *v & (*v - 1) == 0) {
                let least = self.lo.max(1);
                let power =
                    |from: i128| 1i128 << (128 - (from - 1).max(0).leading_zeros()).min(100);
                let up = power((*v).max(least));
                *v = if up <= self.hi { up } else { power(least) };
            }
            if let (true, Some((before, x))) = (self.sorted, last) {
                let gap = match self.distinct {
                    true => i128::from(*at - before),
                    false => 0,
                };
                *v = (*v).max(x + gap);
            } else if self.sorted && self.distinct {
                *v = (*v).max(self.lo + i128::from(*at));
            }
            if self.distinct && !self.sorted && !self.pow2 {
                let mut tries = used.len() as i128 + 1;
                while used.contains(v) && tries > 0 {
                    *v = if *v == self.hi { self.lo } else { *v + 1 };
                    tries -= 1;
                }
                used.insert(*v);
            }
            last = Some((*at, *v));
        }
    }
}

impl Facts {
    /// What is said of the elements of an array, to be added to; they are those of `new` if nothing is said so far.
    pub fn about(&mut self, new: Elements) -> &mut Elements {
        let i = match self.elements.iter().position(|e| e.array == new.array) {
            Some(i) => i,
            None => {
                self.elements.push(new);
                self.elements.len() - 1
            }
        };
        &mut self.elements[i]
    }

    /// What is said of the elements of an array.
    pub fn of(&self, array: ArrayId) -> Option<&Elements> {
        self.elements.iter().find(|r| r.array == array)
    }

    /// All that is said of integers.
    pub fn all(&self) -> &[Elements] {
        &self.elements
    }

    /// Adds a range of floats; false if it leaves none with what is said of them already.
    pub fn add_numbers(&mut self, new: Numbers) -> bool {
        match self.numbers.iter_mut().find(|n| n.array == new.array) {
            Some(old) => old.meet(new),
            None => {
                self.numbers.push(new);
                true
            }
        }
    }

    /// What is said of the floats of an array.
    pub fn numbers_of(&self, array: ArrayId) -> Option<&Numbers> {
        self.numbers.iter().find(|n| n.array == array)
    }

    /// All that is said of floats.
    pub fn numbers(&self) -> &[Numbers] {
        &self.numbers
    }

    /// What is said of floats alone.
    pub fn of_floats(&self) -> Facts {
        Facts {
            elements: Vec::new(),
            numbers: self.numbers.clone(),
            reals_decide: self.reals_decide,
        }
    }

    /// What is said of integers alone; none where nothing is said of floats.
    pub fn without_floats(&self) -> Option<Facts> {
        let rest = || Facts {
            elements: self.elements.clone(),
            numbers: Vec::new(),
            reals_decide: self.reals_decide,
        };
        (!self.numbers.is_empty()).then(rest)
    }

    /// True if nothing is said.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty() && self.numbers.is_empty()
    }
}

impl TermStore {
    /// The array and the position of which a term is a whole element, if something is said of it.
    fn element(&self, t: TermId) -> Option<(&Elements, u64)> {
        let Term::Bytes { array, off, width } = self.get(t) else {
            return None;
        };
        let known = self.facts.of(array)?;
        let bytes = u64::from(width) / 8;
        let whole = known.width == width && off.is_multiple_of(bytes);
        whole.then(|| (known, off / bytes))
    }

    /// The array and the position of which a term is an element, if those at different positions differ.
    pub(super) fn distinct_element(&self, t: TermId) -> Option<(ArrayId, u64)> {
        let (known, at) = self.element(t)?;
        known.distinct.then_some((known.array, at))
    }

    /// The array and the position of which a term is an element, if none is below the one before it.
    pub(super) fn sorted_element(&self, t: TermId) -> Option<(ArrayId, u64)> {
        let (known, at) = self.element(t)?;
        known.sorted.then_some((known.array, at))
    }

    /// The whole element of which a term is the lower part and, as two's complement, the value too; with its range.
    ///
    /// match the low half of a 64-bit label / result the label / because facts say that it fits, so that what the cut
    /// lacks are copies of its sign.
    pub(super) fn uncut(&mut self, t: TermId) -> Option<(TermId, (i128, i128))> {
        if self.facts.is_empty() {
            return None;
        }
        let Term::Bytes { array, off, width } = self.get(t) else {
            return None;
        };
        let of = *self.facts.of(self.array_of(array))?;
        if of.width <= width {
            return None;
        }
        let wide = self.bytes(array, off, of.width);
        let range = self.integer_range(wide);
        let half = 1i128 << (width - 1);
        // Of what is no whole element nothing is known.
        (-half <= range.0 && range.1 < half).then_some((wide, range))
    }

    /// The comparison of whole elements that one of their lower parts is, where facts say that nothing else was cut off.
    pub(super) fn compared_whole(&mut self, op: ICmp, a: TermId, b: TermId) -> Option<TermId> {
        let (x, y) = (self.uncut(a), self.uncut(b));
        x.or(y)?;
        if matches!(op, ICmp::ULt | ICmp::ULe) && [x, y].iter().flatten().any(|e| e.1.0 < 0) {
            return None;
        }
        let w = self.width(a);
        let (wide, _) = x.or(y)?;
        let wider = self.width(wide);
        let mut whole =
            |t: TermId, cut: Option<(TermId, (i128, i128))>| match (cut, self.as_bits(t)) {
                (Some((t, _)), _) => (self.width(t) == wider).then_some(t),
                // A number that is negative as two's complement is above all others as one without a sign.
                (None, Some(c)) => match op {
                    ICmp::Eq | ICmp::SLt | ICmp::SLe => Some(self.bits(wider, sext(c, w) as u64)),
                    ICmp::ULt | ICmp::ULe => Some(self.bits(wider, c)),
                },
                (None, None) => None,
            };
        let (p, q) = (whole(a, x)?, whole(b, y)?);
        Some(self.icmp(op, p, q))
    }

    /// The range of the integer that bits are, as two's complement, from their shape alone.
    pub fn integer_range(&self, t: TermId) -> (i128, i128) {
        let w = self.width(t).clamp(1, 64);
        let all = (-(1i128 << (w - 1)), (1i128 << (w - 1)) - 1);
        let below = |n: u64| match n > 0 && u128::from(n) <= all.1 as u128 {
            true => (0, i128::from(n) - 1),
            false => all,
        };
        match self.get(t) {
            Term::Bytes { array, off, width } => {
                let known = self.facts.of(self.array_of(array));
                let whole = |r: &&Elements| {
                    r.width == width && distance(off).rem_euclid(i64::from(width) / 8) == 0
                };
                // Of a place, the elements are those of the array: it is aligned to them.
                let aligned = |r: &&Elements| {
                    let bytes = i64::from(r.width) / 8;
                    let place = self.place_of(array);
                    place.is_none_or(|p| p.form.iter().all(|f| f.1 % bytes == 0))
                };
                let range = known.filter(whole).filter(aligned);
                range.map_or(all, |r| (r.lo.max(all.0), r.hi.min(all.1)))
            }
            Term::BitsConst { value, .. } => {
                let v = i128::from(sext(value, w));
                (v, v)
            }
            Term::OfBool { .. } if w > 1 => (0, 1),
            Term::Clamp { real, .. } => {
                let (lo, hi) = self.converted_range(real).unwrap_or(all);
                (lo.clamp(all.0, all.1), hi.clamp(all.0, all.1))
            }
            Term::BitsOp(BitsOp::And, a, b) => {
                let known = self.as_bits(a).or_else(|| self.as_bits(b));
                known.map_or(all, |c| below(c.saturating_add(1)))
            }
            Term::BitsOp(BitsOp::URem, _, n) => self.as_bits(n).map_or(all, below),
            Term::Concat(parts) => {
                // Zeros above say how large it can be.
                let top = parts.iter().rev().map(|&p| TermId(p));
                let zeros: u8 = top
                    .take_while(|&p| self.as_bits(p) == Some(0))
                    .map(|p| self.width(p))
                    .sum();
                match zeros {
                    0 => all,
                    z => (0, (1i128 << (w - z.min(w))) - 1),
                }
            }
            _ => all,
        }
    }

    /// What facts say of a comparison.
    pub(super) fn by_facts(&self, op: ICmp, a: TermId, b: TermId) -> Option<bool> {
        if self.facts.is_empty() {
            return None;
        }
        self.by_order(op, a, b).or_else(|| self.by_ranges(op, a, b))
    }

    /// One form for each test of an integer that facts leave two values: that it is the lesser one.
    pub(super) fn of_two_values(
        &mut self,
        op: ICmp,
        w: u8,
        a: TermId,
        b: TermId,
    ) -> Option<TermId> {
        if self.facts.is_empty() || w == 1 {
            return None;
        }
        let (x, constant, is_left) = match (self.as_bits(a), self.as_bits(b)) {
            (None, Some(c)) => (a, c, true),
            (Some(c), None) => (b, c, false),
            _ => return None,
        };
        let (lo, hi) = self.integer_range(x);
        if hi != lo + 1 {
            return None;
        }
        let bits = |v: i128| v as u64 & (u64::MAX >> (64 - w));
        let [low, high] = [lo, hi].map(|v| match is_left {
            true => fold_compare(op, w, bits(v), constant),
            false => fold_compare(op, w, constant, bits(v)),
        });
        if low == high {
            return Some(self.bool(low));
        }
        if low && op == ICmp::Eq {
            return None;
        }
        let least = self.bits(w, bits(lo));
        let is_least = self.compare_node(ICmp::Eq, w, x, least);
        Some(match low {
            true => is_least,
            false => self.not(is_least),
        })
    }

    /// The same by the order of two elements of one array.
    fn by_order(&self, op: ICmp, a: TermId, b: TermId) -> Option<bool> {
        let ((known, i), (other, j)) = self.element(a).zip(self.element(b))?;
        if known.array != other.array || i == j {
            return None;
        }
        let is_unsigned = matches!(op, ICmp::ULt | ICmp::ULe);
        let ordered = known.sorted && (!is_unsigned || known.lo >= 0);
        match op {
            ICmp::Eq => known.distinct.then_some(false),
            ICmp::SLe | ICmp::ULe if ordered && i < j => Some(true),
            ICmp::SLt | ICmp::ULt if ordered && i > j => Some(false),
            ICmp::SLe | ICmp::ULe if ordered && known.distinct => Some(false),
            ICmp::SLt | ICmp::ULt if ordered && known.distinct => Some(true),
            ICmp::SLe | ICmp::ULe | ICmp::SLt | ICmp::ULt => None,
        }
    }

    fn by_ranges(&self, op: ICmp, a: TermId, b: TermId) -> Option<bool> {
        compared(op, self.integer_range(a), self.integer_range(b))
    }
}

/// What a comparison is of all integers of two ranges, as two's complement.
pub(super) fn compared(op: ICmp, x: (i128, i128), y: (i128, i128)) -> Option<bool> {
    let is_unsigned = matches!(op, ICmp::ULt | ICmp::ULe);
    if is_unsigned && (x.0 < 0 || y.0 < 0) {
        return None;
    }
    match op {
        ICmp::Eq if x.1 < y.0 || y.1 < x.0 => Some(false),
        ICmp::Eq => None,
        ICmp::ULt | ICmp::SLt if x.1 < y.0 => Some(true),
        ICmp::ULt | ICmp::SLt if x.0 >= y.1 => Some(false),
        ICmp::ULe | ICmp::SLe if x.1 <= y.0 => Some(true),
        ICmp::ULe | ICmp::SLe if x.0 > y.1 => Some(false),
        ICmp::ULt | ICmp::SLt | ICmp::ULe | ICmp::SLe => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Inputs, Mode, evaluate};
    use std::sync::Arc;

    /// For every label that the facts allow, what is made of its lower half is what is made of it without facts.
    #[test]
    fn a_cut_that_facts_undo_changes_nothing() {
        let labels = ArrayId(0);
        let ops = [ICmp::Eq, ICmp::SLt, ICmp::SLe, ICmp::ULt, ICmp::ULe];
        for (lo, hi) in [(-100i128, 7i128), (0, 9), (-5, 1 << 31), (0, (1 << 31) - 1)] {
            let mut facts = Facts::default();
            let all = Elements::new(labels, 64, Some(4));
            *facts.about(all) = Elements { lo, hi, ..all };
            let built = |s: &mut TermStore| {
                let cut = s.bytes(labels, 8, 32);
                let mut roots = vec![s.sign_extend(cut, 64), s.zero_extend(cut, 64)];
                for op in ops {
                    for c in [0u64, 3, 0xffff_ff9c] {
                        let c = s.bits(32, c);
                        roots.extend([s.icmp(op, cut, c), s.icmp(op, c, cut)]);
                    }
                }
                roots
            };
            let (mut plain, mut known) = (TermStore::new(), TermStore::new());
            known.facts = Arc::new(facts);
            let (x, y) = (built(&mut plain), built(&mut known));
            for v in [lo, lo + 1, -100, -1, 0, 3, 4, 7, hi]
                .into_iter()
                .filter(|v| (lo..=hi).contains(v))
            {
                let mut inputs = Inputs::default();
                inputs.set(labels, 8, 8, v as u64);
                let at = |s: &TermStore, t: &[TermId]| evaluate(s, t, &inputs, Mode::exact(64));
                assert_eq!(at(&plain, &x), at(&known, &y), "{v} in {lo}..={hi}");
            }
        }
    }

    /// Tests of an integer that may be two values say what they say without facts, and there is one form of them.
    #[test]
    fn tests_of_two_values_are_one() {
        let flags = ArrayId(0);
        let ops = [ICmp::Eq, ICmp::SLt, ICmp::SLe, ICmp::ULt, ICmp::ULe];
        for (lo, hi) in [(0i128, 1i128), (-1, 0), (1, 2), (-128, -127), (126, 127)] {
            let mut facts = Facts::default();
            let all = Elements::new(flags, 8, Some(4));
            *facts.about(all) = Elements { lo, hi, ..all };
            let built = |s: &mut TermStore| {
                let flag = s.bytes(flags, 1, 8);
                let [wide, long] = [s.zero_extend(flag, 16), s.sign_extend(flag, 32)];
                let mut roots = Vec::new();
                for (x, w) in [(flag, 8), (wide, 16), (long, 32)] {
                    for c in (lo - 1..=hi + 1).chain([0, 1, 255]) {
                        let c = s.bits(w, c as u64 & (u64::MAX >> (64 - w)));
                        for op in ops {
                            roots.extend([s.icmp(op, x, c), s.icmp(op, c, x)]);
                        }
                    }
                }
                roots
            };
            let (mut plain, mut known) = (TermStore::new(), TermStore::new());
            known.facts = Arc::new(facts);
            let (x, y) = (built(&mut plain), built(&mut known));
            for v in [lo, hi] {
                let mut inputs = Inputs::default();
                inputs.set(flags, 1, 1, v as u64 & 255);
                let at = |s: &TermStore, t: &[TermId]| evaluate(s, t, &inputs, Mode::exact(64));
                assert_eq!(at(&plain, &x), at(&known, &y), "{v} in {lo}..={hi}");
            }
            let flag = known.bytes(flags, 1, 8);
            let [least, most] = [lo, hi].map(|v| known.bits(8, v as u64 & 255));
            let [is_least, is_most] = [least, most].map(|v| known.icmp(ICmp::Eq, flag, v));
            assert_eq!(known.not(is_least), is_most);
        }
    }
}
