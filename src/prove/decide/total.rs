//! Terms that have a value on every input, though operations below them are partial.
//!
//! Problem: 1 / (1 + exp(x)) and log(exp(x) + exp(y)) are defined everywhere, which the store, which
//! knows no signs, cannot say. A comparison of such terms has three outcomes and no fourth, so that a
//! proof may be split on it. Each need of a partial operation is proved by the sign of its operand.
//!
//! Sound in the direction of `true`; an infinity anywhere below a term makes the answer `false`.

use rustc_hash::FxHashMap;

use super::canon::{Canon, SIGN_WORK};
use super::needs::{self, Need};
use crate::spec::Limits;
use crate::term::{TermId, TermStore};

/// Partial terms below a term that are looked at.
const MAX_PARTIAL: usize = 256;

/// What is known of the terms of one store, which may grow.
pub(super) struct Totals<'l> {
    known: FxHashMap<TermId, bool>,
    limits: &'l Limits,
}

impl<'l> Totals<'l> {
    /// Nothing is known yet.
    pub(super) fn new(limits: &'l Limits) -> Self {
        Totals {
            known: FxHashMap::default(),
            limits,
        }
    }

    /// True only if the term has a finite value on every input.
    pub(super) fn is_total(&mut self, store: &TermStore, t: TermId) -> bool {
        if store.is_total(t) {
            return true;
        }
        if let Some(&known) = self.known.get(&t) {
            return known;
        }
        let total = self.every_need_holds(store, t);
        self.known.insert(t, total);
        total
    }

    fn every_need_holds(&self, store: &TermStore, root: TermId) -> bool {
        let Some(all) = store.partial(&[root], MAX_PARTIAL) else {
            return false;
        };
        let all: Vec<Need> = (all.into_iter())
            .filter_map(|t| needs::need(store, t))
            .collect();
        let never = |n: &Need| matches!(n, Need::Never(_) | Need::NonZeroBits(_));
        // Without a need it is partial for a reason that is not one.
        if all.is_empty() || all.iter().any(never) {
            return false;
        }
        let mut canon = Canon::bounded(store, self.limits, Some(SIGN_WORK));
        all.into_iter().all(|need| canon.meets(need))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::term::eval::{self, Inputs, Mode, Value};
    use crate::term::{ArrayId, Fun};
    use proptest::prelude::*;

    /// A term of two inputs, by a program of operations on what was made so far.
    fn term(s: &mut TermStore, program: &[(u8, u8, u8)]) -> TermId {
        let mut made: Vec<TermId> = (0..2)
            .map(|i| s.elem(ArrayId(0), Fmt::F32, 4 * i))
            .collect();
        made.push(s.integer(1));
        for &(op, i, j) in program {
            let (a, b) = (made[i as usize % made.len()], made[j as usize % made.len()]);
            let t = match op % 10 {
                0 => s.add(a, b),
                1 => s.mul(a, b),
                2 => s.mul(a, a),
                3 => s.fun(Fun::Exp2, a),
                4 => s.fun(Fun::Log2, a),
                5 => s.div(a, b),
                6 => s.fun(Fun::Sqrt, a),
                7 => s.max(a, b),
                8 => s.fun(Fun::Rsqrt, a),
                _ => s.neg(a),
            };
            made.push(t);
        }
        made[made.len() - 1]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

        /// What is said to be total has a value wherever the evaluator looks.
        #[test]
        fn total_terms_have_values(
            program in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..7),
            x in -3i8..4,
            y in -3i8..4,
        ) {
            let mut s = TermStore::new();
            let t = term(&mut s, &program);
            let limits = Limits::NONE;
            if Totals::new(&limits).is_total(&s, t) {
                let mut inputs = Inputs::default();
                for (i, v) in [x, y].into_iter().enumerate() {
                    inputs.set(ArrayId(0), 4 * i as u64, 4, f32::from(v).to_bits() as u64);
                }
                let mode = Mode::exact(64);
                let v = eval::evaluate(&s, &[t], &inputs, mode);
                let ok = matches!(v[0], Value::Exact(_) | Value::Interval(_));
                prop_assert!(ok, "{:?}", v[0]);
            }
        }
    }

    #[test]
    fn logarithms_of_sums_of_powers_are_total() {
        let mut s = TermStore::new();
        let x = s.elem(ArrayId(0), Fmt::F32, 0);
        let limits = Limits::NONE;
        let (one, e) = (s.integer(1), s.fun(Fun::Exp2, x));
        let sum = s.add(one, e);
        let (l, i) = (s.fun(Fun::Log2, sum), s.div(one, sum));
        let (k, j) = (s.fun(Fun::Log2, x), s.div(one, x));
        let mut totals = Totals::new(&limits);
        assert!(totals.is_total(&s, l) && totals.is_total(&s, i));
        assert!(!totals.is_total(&s, k) && !totals.is_total(&s, j));
    }
}
