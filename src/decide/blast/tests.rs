//! Bit operations against the evaluator, and pairs that are known to be equal.

use proptest::prelude::*;

use super::*;
use crate::term::eval::{Inputs, Mode, evaluate};

const IN: ArrayId = ArrayId(0);

const MODE: Mode = Mode::exact(64);

/// Words of three inputs by a program of operations.
fn build(s: &mut TermStore, w: u8, program: &[(u8, u8, u8, u16)]) -> Vec<TermId> {
    let mut words: Vec<TermId> = (0..3).map(|i| s.bytes(IN, 2 * i, w)).collect();
    for &(op, a, b, c) in program {
        let (x, y) = (
            words[a as usize % words.len()],
            words[b as usize % words.len()],
        );
        let k = s.bits(w, c as u64);
        let small = s.bits(w, c as u64 % 19);
        let t = match op % 18 {
            0 => s.bits_op(BitsOp::And, x, y),
            1 => s.bits_op(BitsOp::Or, x, y),
            2 => s.bits_op(BitsOp::Xor, x, y),
            3 => s.bits_op(BitsOp::Add, x, y),
            4 => s.bits_op(BitsOp::Mul, x, k),
            5 => s.bits_op(BitsOp::And, x, k),
            6 => s.bits_op(BitsOp::Add, x, k),
            7 => s.bits_op(BitsOp::Shl, x, small),
            8 => s.bits_op(BitsOp::LShr, x, small),
            9 => s.bits_op(BitsOp::AShr, x, small),
            10..=14 => {
                let op = [ICmp::Eq, ICmp::ULt, ICmp::ULe, ICmp::SLt, ICmp::SLe];
                let p = s.icmp(op[(c % 5) as usize], x, y);
                let p = if op.len() as u16 > c { s.not(p) } else { p };
                let b = s.of_bool(w, p);
                let n = s.bits(w, u64::MAX);
                let mask = s.bits_op(BitsOp::Mul, b, n);
                match c % 3 {
                    0 => s.bits_op(BitsOp::And, mask, x),
                    1 => s.select(p, k, x),
                    _ => b,
                }
            }
            15 => {
                let half = w / 2;
                let (l, h) = (s.extract(x, 0, half), s.extract(y, half, half));
                s.concat(&[h, l])
            }
            16 => s.bits_op(BitsOp::Mul, x, y),
            _ => {
                let p = s.icmp(ICmp::ULt, x, k);
                let q = s.icmp(ICmp::SLt, y, x);
                let r = match c % 3 {
                    0 => s.and(p, q),
                    1 => s.or(p, q),
                    _ => s.xor(p, q),
                };
                s.of_bool(w, r)
            }
        };
        words.push(t);
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// What is said to be equal is equal on every input, and what differs somewhere is not said to be.
    #[test]
    fn equal_words_have_equal_values(
        program in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u16>()), 1..10),
        inputs in proptest::collection::vec(proptest::array::uniform3(any::<u16>()), 24),
    ) {
        let mut s = TermStore::new();
        let words = build(&mut s, 8, &program);
        let values: Vec<_> = inputs.iter().map(|x| {
            let mut inputs = Inputs::default();
            for (i, v) in x.iter().enumerate() {
                inputs.set(IN, 2 * i as u64, 2, u64::from(*v));
            }
            evaluate(&s, &words, &inputs, MODE)
        }).collect();
        let last = words.len() - 1;
        for (i, &a) in words[..last].iter().enumerate() {
            if equal(&s, a, words[last]) {
                for v in &values {
                    prop_assert_eq!(&v[i], &v[last]);
                }
            }
        }
    }

    /// A word that is known on every bit is its value: the diagram of a term at an input is the value there.
    #[test]
    fn words_of_constants_are_their_values(
        program in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u16>()), 1..8),
        x in proptest::array::uniform3(any::<u8>()),
    ) {
        let mut s = TermStore::new();
        let words = build(&mut s, 8, &program);
        let mut inputs = Inputs::default();
        for (i, v) in x.iter().enumerate() {
            inputs.set(IN, 2 * i as u64, 2, u64::from(*v));
        }
        let values = evaluate(&s, &words, &inputs, MODE);
        // Equal to its value where the inputs are what they are, and to 0 elsewhere.
        let mut here = s.bool(true);
        for (i, v) in x.iter().enumerate() {
            let k = s.bits(8, u64::from(*v));
            let p = s.icmp(ICmp::Eq, words[i], k);
            here = s.and(here, p);
        }
        let zero = s.bits(8, 0);
        for (&t, v) in words.iter().zip(&values) {
            let crate::term::eval::Value::Bits(v) = *v else { continue };
            let (k, other) = (s.bits(8, v), s.bits(8, v ^ 4));
            let [t, k, other] = [t, k, other].map(|t| s.select(here, t, zero));
            prop_assert!(t == k || decide(&s, t, k) != Some(false));
            prop_assert!(decide(&s, t, other) != Some(true));
        }
    }
}

#[test]
fn majorities_choices_and_counts_have_many_forms() {
    let mut s = TermStore::new();
    let [a, b, c] = [0, 4, 8].map(|i| s.bytes(IN, i, 32));
    let (ab, ac, bc) = (
        s.bits_op(BitsOp::And, a, b),
        s.bits_op(BitsOp::And, a, c),
        s.bits_op(BitsOp::And, b, c),
    );
    let one = s.bits_op(BitsOp::Xor, ab, ac);
    let one = s.bits_op(BitsOp::Xor, one, bc);
    let other = s.bits_op(BitsOp::Xor, a, b);
    let other = s.bits_op(BitsOp::And, c, other);
    let other = s.bits_op(BitsOp::Or, ab, other);
    assert!(equal(&s, one, other));
    assert!(!equal(&s, one, ab));
    // A select is one by mask.
    let bit = s.extract(a, 0, 1);
    let (yes, wide) = (s.bits(1, 1), s.zero_extend(bit, 32));
    let p = s.icmp(ICmp::Eq, bit, yes);
    let chosen = s.select(p, b, c);
    let ones = s.bits(32, u64::MAX);
    let mask = s.bits_op(BitsOp::Mul, wide, ones);
    let not = s.bits_op(BitsOp::Xor, mask, ones);
    let (x, y) = (
        s.bits_op(BitsOp::And, mask, b),
        s.bits_op(BitsOp::And, not, c),
    );
    let masked = s.bits_op(BitsOp::Or, x, y);
    let turned = s.bits_op(BitsOp::Add, y, x);
    assert!(equal(&s, chosen, masked) && equal(&s, chosen, turned));
    assert!(!equal(&s, chosen, b));
}
