//! Random bit vectors of three bits: what is called equal is equal for every input.

use super::*;
use crate::norm::sweep::Entry;
use crate::term::eval::{Cone, Inputs, Mode, Value};
use crate::term::{BitsOp, ICmp};
use proptest::prelude::*;

const WIDTH: u8 = 3;
const INPUTS: u64 = 3;

/// Three bits of each of a few input bytes, and all that steps make of them.
fn build(steps: &[(u8, u16, u16, u16)]) -> (TermStore, Vec<TermId>) {
    let mut s = TermStore::default();
    let mut terms = Vec::new();
    for i in 0..INPUTS {
        let byte = s.bytes(ArrayId(0), i, 8);
        terms.push(s.extract(byte, 0, WIDTH));
    }
    for c in [0, 1, 3, 4, 7] {
        terms.push(s.bits(WIDTH, c));
    }
    for &(op, x, y, z) in steps {
        let [a, b, c] = [x, y, z].map(|i| terms[i as usize % terms.len()]);
        let cmp = [ICmp::Eq, ICmp::ULt, ICmp::ULe, ICmp::SLt, ICmp::SLe][z as usize / 8 % 5];
        let t = match op % 8 {
            0 => s.bits_op(BitsOp::And, a, b),
            1 => s.bits_op(BitsOp::Or, a, b),
            2 => s.bits_op(BitsOp::Xor, a, b),
            3 => s.bits_op(BitsOp::Add, a, b),
            // A minimum or maximum in one of its spellings.
            4 | 5 => {
                let p = s.icmp(cmp, a, b);
                if op % 8 == 4 {
                    s.select(p, a, b)
                } else {
                    s.select(p, b, a)
                }
            }
            // A guarded update.
            6 => {
                let p = s.icmp(cmp, c, b);
                let of = [BitsOp::And, BitsOp::Or, BitsOp::Xor][x as usize % 3];
                let new = s.bits_op(of, a, b);
                if y % 2 == 0 {
                    s.select(p, new, a)
                } else {
                    s.select(p, a, new)
                }
            }
            _ => {
                let p = s.icmp(cmp, a, b);
                s.select(p, c, a)
            }
        };
        terms.push(t);
    }
    (s, terms)
}

/// The values of all terms where the inputs are the fields of `input`.
fn values(s: &TermStore, all: &Cone, input: u64) -> Vec<Value> {
    let mut inputs = Inputs::default();
    inputs.set(ArrayId(0), 0, 8, input);
    all.evaluate_all(s, &inputs, Mode::exact(64))
}

proptest! {
    #[test]
    fn equal_forms_are_equal_values(
        steps in proptest::collection::vec((any::<u8>(), any::<u16>(), any::<u16>(), any::<u16>()), 1..24),
    ) {
        let (s, terms) = build(&steps);
        let all: Vec<TermId> = (0..s.len() as u32).map(TermId).collect();
        let all = Cone::new(&s, &all);
        let tables: Vec<Vec<Value>> = (0..512u64)
            .map(|i| values(&s, &all, (i & 7) | (i >> 3 & 7) << 8 | (i >> 6) << 16))
            .collect();
        let mut n = Normalizer::new(&s, Limits::default());
        let mut first: std::collections::HashMap<u32, TermId> = Default::default();
        for &t in &terms {
            let Entry::Bits(id) = n.entry(t) else { continue };
            let f = *first.entry(id.0).or_insert(t);
            for v in &tables {
                prop_assert_eq!(&v[t.0 as usize], &v[f.0 as usize], "{:?} and {:?}", t, f);
            }
        }
    }

    /// Operands in any order, guarded or not, are one form.
    #[test]
    fn order_does_not_matter(
        which in 0u8..3,
        guards in proptest::collection::vec(any::<bool>(), 6),
        order in Just((0..6usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut s = TermStore::default();
        let op = [BitsOp::And, BitsOp::Or, BitsOp::Xor][which as usize];
        let zero = s.bits(8, 0);
        let chain = |s: &mut TermStore, order: &[usize]| {
            let mut m = s.bytes(ArrayId(0), 100, 8);
            for &i in order {
                let (v, g) = (s.bytes(ArrayId(0), i as u64, 8), s.bytes(ArrayId(1), i as u64, 8));
                let new = s.bits_op(op, m, v);
                let p = s.icmp(ICmp::SLt, zero, g);
                m = if guards[i] { s.select(p, new, m) } else { new };
            }
            m
        };
        let sorted: Vec<usize> = (0..6).collect();
        let (a, b) = (chain(&mut s, &sorted), chain(&mut s, &order));
        let e = Normalizer::new(&s, Limits::default()).equal(a, b);
        prop_assert_eq!(e, Equality::Equal);
    }
}

/// Maxima and minima in any order, and comparisons with constants however they are written.
#[test]
fn extremes() {
    for (cmp, other) in [(ICmp::SLt, ICmp::SLe), (ICmp::ULt, ICmp::ULe)] {
        let mut b = Build::default();
        let x: Vec<TermId> = (0..3).map(|i| b.s.bytes(ArrayId(0), 4 * i, 32)).collect();
        let max = |b: &mut Build, c: ICmp, x, y| {
            let p = b.s.icmp(c, x, y);
            b.s.select(p, y, x)
        };
        let inner = max(&mut b, cmp, x[0], x[1]);
        let left = max(&mut b, cmp, inner, x[2]);
        let inner = max(&mut b, other, x[2], x[1]);
        let right = max(&mut b, other, x[0], inner);
        b.same(left, right);
        let seven = b.s.bits(32, 7);
        let eight = b.s.bits(32, 8);
        let relu = max(&mut b, cmp, x[0], seven);
        let p = b.s.icmp(other, eight, x[0]);
        let again = b.s.select(p, x[0], seven);
        b.same(relu, again);
        let wrong = b.s.select(p, x[0], eight);
        b.differ(relu, wrong);
    }
}
