//! Elements at places that data choose: `table[ids[i] * 64 + j]`.
//!
//! Problem: an address may depend on input data. What an array that nothing writes holds there is a function of the
//! place alone, so equal places hold equal bytes. Source: the reduction of functions to symbols by Ackermann
//! ("Solvable Cases of the Decision Problem", 1954). How this differs: a place is an integer linear form over bit
//! vectors, without its constant part, and has an [`ArrayId`] of its own; the constant part is the byte offset in
//! that array. Every pass thus sees input elements, and neighbours in a row are neighbours.
//!
//! Sound for proofs: the symbols are free, which allows more inputs than there are. Whoever looks for an input has to
//! respect what they mean (`decide::refute::gathers`). The integer that a bit vector is congruent to stands for it only
//! while nothing wraps; what that takes is listed beside the form ([`Linear::fits`]) and is for the caller to show.
//!
//! Not claimed: that different forms are different places.

use rustc_hash::FxHashMap;

use super::bits::sext;
use super::{ArrayId, BitsOp, Copied, Term, TermId, TermStore, pairs};

/// The first id of a place.
const FIRST: u32 = 1 << 30;
/// Offsets from a place lie between minus and plus this; those below it are kept modulo twice of it.
const HALF: i64 = 1 << 39;
/// Terms of one index that are looked at.
const MOST: usize = 1 << 10;
/// Bits of the narrowest integers that are computed with.
const WORD: u8 = 32;

/// A sum of integers that bit vectors are, as two's complement, times coefficients; none is 0, in order of the terms.
pub type Form = Box<[(TermId, i64)]>;

/// A place in an array: its distance from the first byte, without the constant part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The array.
    pub array: ArrayId,
    /// The distance in bytes.
    pub form: Form,
}

impl ArrayId {
    /// True for a place that data choose.
    pub fn is_place(self) -> bool {
        (FIRST..FIRST << 1).contains(&self.0)
    }
}

/// The offset that stands for a constant distance from a place.
pub fn offset(distance: i64) -> Option<u64> {
    let fits = (-HALF..HALF).contains(&distance);
    fits.then(|| distance.rem_euclid(2 * HALF) as u64)
}

/// The distance that an offset stands for.
pub fn distance(off: u64) -> i64 {
    let off = off as i64;
    if off >= HALF { off - 2 * HALF } else { off }
}

/// The integer that a bit vector is congruent to, as a linear form of others.
pub type Linear = super::linear::Linear<TermId, i128>;

/// An integer that has to lie in a range, its ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The integer.
    pub value: Linear,
    /// The least value.
    pub lo: i128,
    /// The largest one.
    pub hi: i128,
}

impl Fit {
    /// True if it does, with these ranges of what it is made of.
    pub fn holds(&self, of: impl Fn(TermId) -> (i128, i128)) -> bool {
        let range = self.value.interval(of);
        range.is_some_and(|(lo, hi)| self.lo <= lo && hi <= self.hi)
    }
}

/// A linear form of a bit vector.
#[derive(Clone, Debug)]
pub struct Index {
    /// The form.
    pub linear: Linear,
    /// It is the integer that the bits are, as two's complement, where these hold.
    pub fits: Vec<Fit>,
}

impl TermStore {
    /// Takes over the places of another store, with their ids, and what they are made of.
    pub fn take_places(&mut self, other: &TermStore) {
        // What a place is made of stands at places with smaller ids only.
        let mut copied = Copied::default();
        for (i, p) in other.places.iter().enumerate() {
            let known: FxHashMap<TermId, TermId> = p
                .form
                .iter()
                .map(|&(t, _)| (t, self.import_one(other, t, &mut copied, |_, _| {})))
                .collect();
            let id = ArrayId(FIRST + i as u32);
            other.moved_array(id, self, |t| known[&t]);
        }
    }

    /// The id of a place.
    pub fn place(&mut self, mut place: Place) -> ArrayId {
        for (t, _) in &mut place.form {
            *t = self.uncut(*t).map_or(*t, |whole| whole.0);
        }
        place.form.sort_unstable();
        ArrayId(FIRST + self.places.insert_full(place).0 as u32)
    }

    /// The place that an id stands for.
    pub fn place_of(&self, array: ArrayId) -> Option<&Place> {
        let i = array.0.checked_sub(FIRST).filter(|_| array.is_place())?;
        self.places.get_index(i as usize)
    }

    /// The array itself, or that in which the place lies.
    pub fn array_of(&self, array: ArrayId) -> ArrayId {
        self.place_of(array).map_or(array, |p| p.array)
    }

    /// The arrays in which data choose places.
    pub fn chosen_arrays(&self) -> impl Iterator<Item = ArrayId> {
        self.places.iter().map(|p| p.array)
    }

    /// The distances from the start of its array that a place may have, without the constant part; `None` beyond 128 bits.
    pub fn distances(&self, place: &Place) -> Option<(i128, i128)> {
        let terms = place.form.iter().map(|&(t, k)| (t, i128::from(k)));
        Linear::of(0, terms).interval(|t| self.integer_range(t))
    }

    /// An element at a place that some integers no longer choose, as what it is in another store; `None` if they all
    /// still do, or the place lies before the array.
    pub fn settled_element(
        &self,
        t: TermId,
        into: &mut TermStore,
        m: impl Fn(TermId) -> TermId,
    ) -> Option<TermId> {
        let (array, off) = match self.get(t) {
            Term::Elem { array, off, .. } | Term::Bytes { array, off, .. } => (array, off),
            _ => return None,
        };
        let p = self.place_of(array)?;
        let mut at = distance(off);
        let mut form: Vec<(TermId, i64)> = Vec::new();
        for &(x, k) in &p.form {
            let x = m(x);
            match into.as_bits(x) {
                Some(v) => at = at.checked_add(sext(v, into.width(x)).checked_mul(k)?)?,
                None => form.push((x, k)),
            }
        }
        if form.len() == p.form.len() {
            return None;
        }
        form.sort_unstable();
        let (array, off) = match form.is_empty() {
            true => (p.array, u64::try_from(at).ok()?),
            false => {
                let place = Place {
                    array: p.array,
                    form: form.into(),
                };
                (into.place(place), offset(at)?)
            }
        };
        Some(match self.get(t) {
            Term::Elem { fmt, .. } => into.elem(array, fmt, off),
            _ => into.bytes(array, off, self.width(t)),
        })
    }

    /// True if data choose some place.
    pub fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    /// The same array in another store, in which terms of this one are what `m` says.
    pub(super) fn moved_array(
        &self,
        array: ArrayId,
        into: &mut TermStore,
        m: impl Fn(TermId) -> TermId,
    ) -> ArrayId {
        let Some(p) = self.place_of(array) else {
            return array;
        };
        let mut form: Vec<(TermId, i64)> = p.form.iter().map(|&(t, k)| (m(t), k)).collect();
        form.sort_unstable();
        into.place(Place {
            array: p.array,
            form: form.into(),
        })
    }

    /// A linear form of bits; `None` where it would be too large.
    ///
    /// Each bit vector has an integer that it is congruent to modulo 2 to its width. Sums and products of such
    /// integers need no condition; an extension to more bits does, that the integer is in the range of the narrow type,
    /// and so does reading the whole.
    pub fn linear(&mut self, root: TermId) -> Option<Index> {
        let mut known: FxHashMap<TermId, Linear> = FxHashMap::default();
        let mut fits: Vec<Fit> = Vec::new();
        let mut open = vec![(root, false)];
        let mut steps = 0;
        while let Some((t, ready)) = open.pop() {
            if known.contains_key(&t) {
                continue;
            }
            steps += 1;
            if steps > MOST {
                return None;
            }
            let parts = self.summands(t);
            if !ready && !parts.is_empty() {
                open.push((t, true));
                open.extend(parts.iter().map(|&p| (p, false)));
                continue;
            }
            let made = self.linear_step(t, &known, &mut fits);
            let whole = self.uncut(t).map_or(t, |whole| whole.0);
            known.insert(t, made.unwrap_or_else(|| Linear::atom(whole)));
        }
        let linear = known.remove(&root)?;
        let w = self.width(root);
        let whole = Fit {
            value: linear.clone(),
            lo: -(1i128 << (w - 1)),
            hi: (1i128 << (w - 1)) - 1,
        };
        fits.push(whole);
        fits.retain(|f| {
            let range = f.value.interval(|t| self.integer_range(t));
            range.is_none_or(|(lo, hi)| lo < f.lo || f.hi < hi)
        });
        Some(Index { linear, fits })
    }

    /// The terms of whose forms that of a term is made; none of one that stands for itself.
    fn summands(&self, t: TermId) -> Vec<TermId> {
        let constant = |x: TermId| self.as_bits(x).is_some();
        match self.get(t) {
            Term::BitsOp(BitsOp::Add, a, b) => vec![a, b],
            Term::BitsOp(BitsOp::Mul, a, b) if constant(a) || constant(b) => vec![a, b],
            Term::BitsOp(BitsOp::Or, a, b) if self.or_is_sum(a, b) => vec![a, b],
            Term::BitsOp(BitsOp::Shl, a, k) if constant(k) => vec![a],
            Term::BitsSum(list) => match pairs(list).all(|(a, b)| constant(a) || constant(b)) {
                true => list.iter().map(|&i| TermId(i)).collect(),
                false => Vec::new(),
            },
            Term::Concat(list) => list.iter().map(|&i| TermId(i)).collect(),
            Term::Extract { bits, low: 0, .. } => vec![bits],
            _ => self.widened(t).into_iter().collect(),
        }
    }

    /// What a term is the extension of by its sign, unless that is a byte or half a word of something else.
    fn widened(&self, t: TermId) -> Option<TermId> {
        let x = self.extended(t)?;
        let cut = matches!(self.get(x), Term::Extract { .. }) && matches!(self.width(x), 8 | 16);
        (!cut).then_some(x)
    }

    /// Whether the bits of two terms never meet, so that their `or` is their sum.
    fn or_is_sum(&self, a: TermId, b: TermId) -> bool {
        let below = |x: TermId, y: TermId| {
            let c = self.as_bits(x)?;
            Some(c.checked_shr(u32::from(self.zeros_below(y))).unwrap_or(0) == 0)
        };
        below(a, b).or_else(|| below(b, a)).unwrap_or(false)
    }

    /// How many of the lowest bits are certainly zero, from the shape of the term alone.
    fn zeros_below(&self, t: TermId) -> u8 {
        match self.get(t) {
            Term::BitsConst { value, .. } => value.trailing_zeros().min(64) as u8,
            Term::Concat(parts) => match parts.first() {
                Some(&z) if self.as_bits(TermId(z)) == Some(0) => self.width(TermId(z)),
                _ => 0,
            },
            Term::BitsOp(BitsOp::Shl, _, k) => self.as_bits(k).unwrap_or(0).min(64) as u8,
            Term::BitsOp(BitsOp::Mul, a, b) => {
                let known = self.as_bits(a).or_else(|| self.as_bits(b)).unwrap_or(1);
                known.trailing_zeros().min(64) as u8
            }
            Term::BitsOp(BitsOp::And, a, b) => {
                let known = self.as_bits(a).or_else(|| self.as_bits(b)).unwrap_or(1);
                known.trailing_zeros().min(64) as u8
            }
            _ => 0,
        }
    }

    fn linear_step(
        &mut self,
        t: TermId,
        known: &FxHashMap<TermId, Linear>,
        fits: &mut Vec<Fit>,
    ) -> Option<Linear> {
        let of = |t: TermId| known.get(&t);
        let w = self.width(t);
        let constant = |x: TermId| {
            let w = self.width(x);
            Some(i128::from(sext(self.as_bits(x)?, w)))
        };
        let product = |a: TermId, b: TermId| match (constant(a), constant(b)) {
            (Some(k), _) => of(b)?.checked_times(&k),
            (_, Some(k)) => of(a)?.checked_times(&k),
            _ => None,
        };
        if let Some(k) = constant(t) {
            return Some(Linear::number(k));
        }
        match self.get(t) {
            Term::BitsOp(BitsOp::Add, a, b) => of(a)?.checked_plus(&1, of(b)?),
            Term::BitsOp(BitsOp::Or, a, b) if self.or_is_sum(a, b) => {
                of(a)?.checked_plus(&1, of(b)?)
            }
            Term::BitsOp(BitsOp::Mul, a, b) => product(a, b),
            Term::BitsOp(BitsOp::Shl, a, k) => {
                let k = self.as_bits(k).filter(|&k| k < u64::from(w))?;
                of(a)?.checked_times(&(1 << k))
            }
            Term::BitsSum(list) => pairs(list).try_fold(Linear::default(), |sum, (a, b)| {
                sum.checked_plus(&1, &product(a, b)?)
            }),
            // What is congruent to more bits is to fewer of them.
            Term::Extract { bits, low: 0, .. } => of(bits).cloned(),
            Term::Concat(list) => {
                let parts: Vec<TermId> = list.iter().map(|&i| TermId(i)).collect();
                self.fields_as_sum(&parts, known, fits)
            }
            _ => {
                let x = self.widened(t)?;
                let narrow = self.width(x);
                let inner = of(x)?;
                fits.push(Fit {
                    value: inner.clone(),
                    lo: -(1i128 << (narrow - 1)),
                    hi: (1i128 << (narrow - 1)) - 1,
                });
                Some(inner.clone())
            }
        }
    }

    /// The sum of the fields of a concatenation, each times its place value.
    ///
    /// Of the uppermost field any integer that it is congruent to does; of one below others it takes the one that is
    /// not negative. A field that ends below the width of a word was cut out on purpose, and stands for itself.
    fn fields_as_sum(
        &mut self,
        parts: &[TermId],
        known: &FxHashMap<TermId, Linear>,
        fits: &mut Vec<Fit>,
    ) -> Option<Linear> {
        let (mut sum, mut at) = (Linear::default(), 0u8);
        for (i, &p) in parts.iter().enumerate() {
            let n = self.width(p);
            let value = match self.as_bits(p) {
                Some(v) if i + 1 < parts.len() => Linear::number(i128::from(v)),
                _ if i + 1 == parts.len() => known.get(&p)?.clone(),
                _ if at + n >= WORD => {
                    let value = known.get(&p)?.clone();
                    fits.push(Fit {
                        value: value.clone(),
                        lo: 0,
                        hi: (1i128 << n) - 1,
                    });
                    value
                }
                _ => Linear::atom(self.zero_extend(p, 64)),
            };
            sum = sum.checked_plus(&1i128.checked_shl(u32::from(at))?, &value)?;
            at += n;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};

    /// For every index of a byte, wherever nothing wraps the form is the integer that the bits are.
    #[test]
    fn a_form_is_what_the_bits_are() {
        let s = &mut TermStore::new();
        let (ids, rows) = (ArrayId(0), ArrayId(1));
        let id = s.bytes(ids, 0, 32);
        let (six, five) = (s.bits(32, 6), s.bits(32, 0xffff_fffb));
        let row = s.bits_op(BitsOp::Shl, id, six);
        let shifted = s.bits_op(BitsOp::Add, row, five);
        let other = s.bytes(rows, 8, 32);
        let mask = s.bits(32, 15);
        let cut = s.bits_op(BitsOp::And, other, mask);
        let sum = s.bits_op(BitsOp::Add, shifted, cut);
        let wide = s.sign_extend(sum, 64);
        let unsigned = s.zero_extend(row, 64);
        let four = s.bits(64, 4);
        let scaled = s.bits_op(BitsOp::Mul, wide, four);
        let root = s.bits_op(BitsOp::Add, scaled, unsigned);
        let index = s.linear(root).expect("a form");
        assert!(!index.fits.is_empty());
        let mut held = 0;
        for v in (0..256u64).chain([1 << 25, 1 << 26, 0xffff_ffff, 0x8000_0000]) {
            for w in [0u64, 1, 15, 16, 77] {
                let mut inputs = Inputs::default();
                inputs.set(ids, 0, 4, v);
                inputs.set(rows, 8, 4, w);
                let value = |l: &Linear| {
                    let of = |&(t, k): &(TermId, i128)| {
                        let Value::Bits(b) = evaluate(s, &[t], &inputs, Mode::exact(64))[0] else {
                            panic!("no bits");
                        };
                        i128::from(sext(b, s.width(t))) * k
                    };
                    l.terms.iter().map(of).sum::<i128>() + l.constant
                };
                let fits = |f: &Fit| (f.lo..=f.hi).contains(&value(&f.value));
                if !index.fits.iter().all(fits) {
                    continue;
                }
                held += 1;
                let at = evaluate(s, &[root], &inputs, Mode::exact(64));
                assert_eq!(at, [Value::Bits(value(&index.linear) as u64)], "{v} {w}");
            }
        }
        assert!(held >= 1200);
    }

    #[test]
    fn distances_come_back_from_offsets() {
        for d in [0, 4, -4, 1 << 30, -(1 << 30)] {
            assert_eq!(offset(d).map(distance), Some(d));
        }
        assert_eq!(offset(HALF), None);
    }
}
