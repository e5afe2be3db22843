//! Sums of products of integers, wrapping or saturating.
//!
//! Problem: integer matrix instructions add up products modulo 2^32, or with `.satfinite` clamp
//! the sum to the range of a signed 32-bit integer (PTX ISA 9.0, section 9.7.14.5.14). Compilers ask
//! for the clamp even where no input can reach it, and a product of bytes over any usual depth
//! cannot. So each sum keeps an interval, from the types of its factors: while the interval stays
//! inside the range, the clamped sum is the plain one, and kernels with and without the clamp
//! compute the same terms.
//!
//! Where the interval leaves the range, the sum is made at 64 bits and clamped. What is not
//! claimed: the tightest interval; an accumulator that no such sum has made may be anything.

use crate::kernel::{IntTy, MatTy};
use crate::sim::int_sym::saturate;
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::term::{BitsOp, Term, TermId};

const WORD: IntTy = IntTy {
    width: 32,
    signed: true,
};

const RANGE: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

/// The smallest and the largest product of two elements of these types.
fn product_range(a: MatTy, b: MatTy) -> (i64, i64) {
    let ends = |ty: MatTy| match ty {
        MatTy::Int {
            width,
            signed: true,
        } => (-(1i64 << (width - 1)), (1 << (width - 1)) - 1),
        _ => (0, (1i64 << ty.bits().min(31)) - 1),
    };
    let ((p, q), (r, s)) = (ends(a), ends(b));
    let all = [p * r, p * s, q * r, q * s];
    let [mut lo, mut hi] = [all[0]; 2];
    for x in all {
        (lo, hi) = (lo.min(x), hi.max(x));
    }
    (lo, hi)
}

/// c and the products of 32-bit integers, whose types are those of the matrices, added up.
fn sum(
    values: &mut Values,
    c: Val,
    products: &[(TermId, TermId)],
    (a, b): (MatTy, MatTy),
    clamp: bool,
) -> Val {
    if let Some(known) = known_sum(values, c, products, clamp) {
        return known;
    }
    if !clamp {
        return values.accumulate_bits(32, c, products);
    }
    let from = match (c, values.intervals.get(&c.pack().0)) {
        (Val::Conc(v), _) => {
            let v = v as u32 as i32 as i64;
            (v, v)
        }
        (_, Some(&interval)) => interval,
        (_, None) => RANGE,
    };
    let (lo, hi) = product_range(a, b);
    let n = products.len() as i64;
    let (lo, hi) = (from.0 + n * lo, from.1 + n * hi);
    let sum = if RANGE.0 <= lo && hi <= RANGE.1 {
        values.accumulate_bits(32, c, products)
    } else {
        let c = values.bits(c, 32);
        let wide = Val::Bits(values.extended(c, true, 64));
        let wide = values.accumulate_products(wide, products);
        let sum = values.bits(wide, 64);
        let t = saturate(&mut values.store, sum, WORD, 64);
        values.of_bits(t)
    };
    let interval = (lo.max(RANGE.0), hi.min(RANGE.1));
    values.intervals.insert(sum.pack().0, interval);
    sum
}

/// The sum of known numbers, in a run on numbers.
fn known_sum(values: &Values, c: Val, products: &[(TermId, TermId)], clamp: bool) -> Option<Val> {
    let (Val::Conc(c), true) = (c, values.numbers) else {
        return None;
    };
    let number = |t| match values.store.get(t) {
        Term::BitsConst { value, .. } => Some(i64::from(value as u32 as i32)),
        _ => None,
    };
    let start = i128::from(c as u32 as i32);
    let sum = products.iter().try_fold(start, |sum, &(x, y)| {
        Some(sum + i128::from(number(x)?) * i128::from(number(y)?))
    })?;
    let sum = match clamp {
        true => sum.clamp(RANGE.0.into(), RANGE.1.into()),
        false => sum,
    };
    Some(Val::Conc(u64::from(sum as u32)))
}

impl Values {
    /// What is known of a sum holds for the term that it becomes, which memory gives back.
    pub fn keep_interval(&mut self, sum: Val, term: Val) {
        if let Some(&interval) = self.intervals.get(&sum.pack().0) {
            self.intervals.insert(term.pack().0, interval);
        }
    }

    /// A sum of 64 bits and products that 32 bits hold, as those of elements of at most 8 bits do: extended,
    /// as a kernel without matrix instructions does it.
    fn accumulate_products(&mut self, c: Val, products: &[(TermId, TermId)]) -> Val {
        let one = self.bits_one(64);
        let mut wide = Vec::with_capacity(products.len());
        for &(x, y) in products {
            let p = self.store.bits_op(BitsOp::Mul, x, y);
            wide.push((self.extended(p, true, 64), one));
        }
        self.accumulate_bits(64, c, &wide)
    }
}

impl Values {
    /// What an integer matrix instruction makes of one element.
    pub(super) fn integer_sum(
        &mut self,
        c: Val,
        products: &[(TermId, TermId)],
        types: (MatTy, MatTy),
        clamp: bool,
    ) -> Val {
        sum(self, c, products, types, clamp)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sim::int_sym::extend;
    use crate::sim::int_sym::tests::value;
    use crate::term::{ArrayId, TermStore};

    fn int(width: u8, signed: bool) -> MatTy {
        MatTy::Int { width, signed }
    }

    /// Element i of an array of eight bytes as an integer, and its value.
    fn element(s: &mut TermStore, array: u32, word: u64, ty: MatTy, i: usize) -> (TermId, i64) {
        let MatTy::Int { width, signed } = ty else {
            unreachable!("integers only");
        };
        let low = i as u8 * width;
        let bytes = s.bytes(ArrayId(array), 0, 64);
        let field = s.extract(bytes, low, width);
        let shift = 64 - u32::from(width);
        let raw = word >> low << shift;
        let v = if signed {
            raw as i64 >> shift
        } else {
            (raw >> shift) as i64
        };
        (extend(s, field, signed, 32), v)
    }

    fn any_type() -> impl Strategy<Value = MatTy> {
        (prop_oneof![Just(4), Just(8)], any::<bool>()).prop_map(|(w, s)| int(w, s))
    }

    proptest! {
        /// Each step adds up exactly, and wraps or clamps as it says.
        #[test]
        fn sums_are_those_of_integers(
            a in any_type(), b in any_type(), x: u64, y: u64, c in any::<i32>(), known: bool,
            near in prop_oneof![Just(i32::MAX), Just(i32::MIN), Just(0)],
            clamps in prop::collection::vec(any::<(bool, bool)>(), 1..4), n in 1usize..8,
        ) {
            let mut values = Values::default();
            let c = near.wrapping_add(c >> 16);
            let mut acc = match known {
                true => Val::Conc(c as u32 as u64),
                false => Val::Bits(values.store.bytes(ArrayId(2), 0, 32)),
            };
            let mut v = c;
            for (clamp, read) in clamps {
                let s = &mut values.store;
                let pairs: Vec<_> = (0..n)
                    .map(|i| (element(s, 0, x, a, i), element(s, 1, y, b, n - 1 - i)))
                    .collect();
                let products: Vec<_> = pairs.iter().map(|(x, y)| (x.0, y.0)).collect();
                let exact = pairs.iter().fold(v as i64, |t, (x, y)| t + x.1 * y.1);
                v = match clamp {
                    true => exact.clamp(i32::MIN as i64, i32::MAX as i64) as i32,
                    false => exact as i32,
                };
                acc = sum(&mut values, acc, &products, (a, b), clamp);
                if let Some((lo, hi)) = values.intervals.get(&acc.pack().0) {
                    prop_assert!((*lo..=*hi).contains(&(v as i64)));
                }
                let t = values.bits(acc, 32);
                prop_assert_eq!(value(&values.store, t, &[x, y, c as u32 as u64]) as u32 as i32, v);
                if read {
                    acc = values.of_bits(t);
                }
            }
        }
    }

    /// Where the range cannot be left the clamp is nothing, so that kernels with and without it agree.
    #[test]
    fn a_clamp_that_nothing_reaches_is_none() {
        let v = &mut Values::default();
        let ty = int(8, true);
        let s = &mut v.store;
        let products: Vec<_> = (0..8)
            .map(|i| (element(s, 0, 0, ty, i).0, element(s, 1, 0, ty, i).0))
            .collect();
        let (mut with, mut without) = (Val::Conc(0), Val::Conc(0));
        for i in 0..1000 {
            with = sum(v, with, &products, (ty, ty), true);
            without = sum(v, without, &products, (ty, ty), false);
            if i % 300 == 200 {
                // By way of memory.
                [with, without] = [with, without].map(|sum| v.settled(sum));
            }
        }
        assert_eq!(v.bits(with, 32), v.bits(without, 32));
        // An accumulator that may be anything can reach it.
        let c = Val::Bits(v.store.bytes(ArrayId(2), 0, 32));
        let with = sum(v, c, &products, (ty, ty), true);
        let without = sum(v, c, &products, (ty, ty), false);
        assert_ne!(v.bits(with, 32), v.bits(without, 32));
    }

    /// The ends of products, against all of them.
    #[test]
    fn product_ranges_are_tight() {
        for (a, b) in [(true, true), (true, false), (false, true), (false, false)] {
            let all = |signed: bool| if signed { -8i64..=7 } else { 0..=15 };
            let products = || all(a).flat_map(move |x| all(b).map(move |y| x * y));
            let ends = (products().min().unwrap_or(0), products().max().unwrap_or(0));
            assert_eq!(product_range(int(4, a), int(4, b)), ends);
        }
    }
}
