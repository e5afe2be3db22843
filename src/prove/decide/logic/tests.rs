//! Bit operations against the evaluator, and pairs that are known to be equal.

use proptest::prelude::*;

use super::*;
use crate::decide::canon::Canon;
use crate::kernel::Fmt;
use crate::term::eval::{Inputs, Mode, Value, evaluate};
use crate::term::{ArrayId, BitsOp, Fun, ICmp, RCmp, Term, pow2};

const LIMITS: Limits = Limits::NONE;

fn by(effort: Effort, s: &TermStore, a: TermId, b: TermId) -> bool {
    prove(s, (a, b), &[], effort, &LIMITS) == Answer::Proved
}

fn equal(s: &TermStore, a: TermId, b: TermId) -> bool {
    by(Effort::Quick, s, a, b)
}

fn thorough(s: &TermStore, a: TermId, b: TermId) -> bool {
    by(Effort::Thorough, s, a, b)
}

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
        let t = match op % 20 {
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
            17 => {
                let op = [BitsOp::Shl, BitsOp::LShr, BitsOp::AShr];
                s.bits_op(op[c as usize % 3], x, y)
            }
            18 => {
                let op = [BitsOp::UDiv, BitsOp::URem, BitsOp::SDiv, BitsOp::SRem];
                s.bits_op(op[c as usize % 4], x, y)
            }
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
            if thorough(&s, a, words[last]) {
                let defined = |v: &&Vec<Value>| [i, last].iter().all(|&k| v[k] != Value::Undefined);
                for v in values.iter().filter(defined) {
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
            let Value::Bits(v) = *v else { continue };
            let (k, other) = (s.bits(8, v), s.bits(8, v ^ 4));
            let [t, k, other] = [t, k, other].map(|t| s.select(here, t, zero));
            prop_assert!(t == k || thorough(&s, t, k));
            prop_assert!(!thorough(&s, t, other));
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

#[test]
fn words_in_other_spellings_are_the_same() {
    let mut s = TermStore::new();
    let [v, n] = [0, 4].map(|i| s.bytes(IN, i, 32));
    let (ones, one, two, four) = (
        s.bits(32, u64::MAX),
        s.bits(32, 1),
        s.bits(32, 2),
        s.bits(32, 4),
    );
    // ~v + 1, -v, 0 - v by a product; n << 2 and 4 * n; n - v and ~(~n + v).
    let not = s.bits_op(BitsOp::Xor, v, ones);
    let a = s.bits_op(BitsOp::Add, not, one);
    let b = s.bits_op(BitsOp::Mul, v, ones);
    assert!(equal(&s, a, b) && !thorough(&s, a, not));
    let (c, d) = (
        s.bits_op(BitsOp::Shl, n, two),
        s.bits_op(BitsOp::Mul, n, four),
    );
    assert!(equal(&s, c, d));
    let e = s.bits_op(BitsOp::Add, n, b);
    let f = s.bits_op(BitsOp::Xor, n, ones);
    let f = s.bits_op(BitsOp::Add, f, v);
    let f = s.bits_op(BitsOp::Xor, f, ones);
    assert!(!thorough(&s, e, a));
    assert!(equal(&s, e, f));
    // Products of bytes at two widths.
    let [x, y] = [8, 9].map(|i| s.bytes(IN, i, 8));
    let wide = |s: &mut TermStore, t, to| s.sign_extend(t, to);
    let (p, q) = (wide(&mut s, x, 16), wide(&mut s, y, 16));
    let product = s.bits_op(BitsOp::Mul, p, q);
    let narrow = wide(&mut s, product, 32);
    let (p, q) = (wide(&mut s, x, 32), wide(&mut s, y, 32));
    let product = s.bits_op(BitsOp::Mul, p, q);
    assert!(equal(&s, narrow, product));
    let unsigned = s.zero_extend(x, 32);
    let other = s.bits_op(BitsOp::Mul, unsigned, q);
    assert!(!thorough(&s, narrow, other));
}

#[test]
fn a_remainder_has_the_sign_of_what_is_divided() {
    let mut s = TermStore::new();
    let x = s.bytes(IN, 0, 32);
    let (zero, seven, last) = (s.bits(32, 0), s.bits(32, 7), s.bits(32, 31));
    // The remainder that rounds down, by the sign of the remainder and by that of what is divided.
    let floored = |s: &mut TermStore, by: TermId, op: BitsOp| {
        let r = s.bits_op(op, x, by);
        let more = s.bits_op(BitsOp::Add, r, by);
        let p = s.icmp(ICmp::SLt, r, zero);
        let one = s.select(p, more, r);
        let sign = s.bits_op(BitsOp::AShr, x, last);
        let none = s.icmp(ICmp::Eq, r, zero);
        let part = s.select(none, zero, by);
        let part = s.bits_op(BitsOp::And, part, sign);
        [one, s.bits_op(BitsOp::Add, r, part), more]
    };
    let [a, b, more] = floored(&mut s, seven, BitsOp::SRem);
    assert!(equal(&s, a, b) && !thorough(&s, a, more));
    // Without signs the remainder has none.
    let [a, b, _] = floored(&mut s, seven, BitsOp::URem);
    assert!(!thorough(&s, a, b));
    // A remainder by 7 is below 7, which its bits alone do not say, and below 8.
    let r = s.bits_op(BitsOp::URem, x, seven);
    let high = s.extract(r, 3, 29);
    let wide = s.zero_extend(high, 32);
    assert!(equal(&s, wide, zero));
    let high = s.extract(r, 2, 30);
    let wide = s.zero_extend(high, 32);
    assert!(!thorough(&s, wide, zero));
}

/// Numbers of four inputs by a program of operations that choose, compare and add.
fn numbers(s: &mut TermStore, program: &[(u8, u8, u8, u8, i8)]) -> Vec<TermId> {
    let mut made: Vec<TermId> = (0..3).map(|i| s.elem(IN, Fmt::F32, 4 * i)).collect();
    for &(op, a, b, c, k) in program {
        let pick = |i: u8| made[i as usize % made.len()];
        let (x, y, z) = (pick(a), pick(b), pick(c));
        let k = s.integer(i64::from(k % 3));
        let t = match op % 12 {
            0 => s.max(x, y),
            1 => s.min(x, y),
            2 => s.fun(Fun::Abs, x),
            3 => s.add(x, y),
            4 => s.sub(x, y),
            5 => s.mul(k, x),
            6 => s.max(x, k),
            7 => s.mul(x, y),
            8 => s.fun(Fun::Exp2, x),
            9 => {
                let p = s.rcmp(RCmp::Lt, x, y);
                let q = s.rcmp(RCmp::Le, y, z);
                let p = [s.and(p, q), s.or(p, q), s.xor(p, q)][c as usize % 3];
                s.select(p, x, z)
            }
            10 => {
                let p = s.rcmp(RCmp::Le, x, y);
                s.select(p, z, k)
            }
            _ => {
                let p = s.rcmp(RCmp::Eq, x, y);
                s.select(p, x, z)
            }
        };
        made.push(t);
    }
    made
}

/// A term with every choice spelled in another way.
fn respelled(from: &TermStore, t: TermId, into: &mut TermStore) -> TermId {
    let roots = crate::term::rebuild::rebuild(from, &[t], into, |s, t, map| {
        Some(match from.get(t) {
            Term::Max(x, y) => {
                let (x, y) = (map.of(x), map.of(y));
                let p = s.rcmp(RCmp::Le, x, y);
                s.select(p, y, x)
            }
            Term::Min(x, y) => {
                let (x, y) = (map.of(x), map.of(y));
                let (sum, difference) = (s.add(x, y), s.sub(x, y));
                let (m, half) = (s.fun(Fun::Abs, difference), s.rational(pow2(-1)));
                let twice = s.sub(sum, m);
                s.mul(twice, half)
            }
            Term::Fun(Fun::Abs, x) => {
                let x = map.of(x);
                let y = s.neg(x);
                s.max(x, y)
            }
            Term::Select(p, x, y) => {
                let q = s.not(map.of(p));
                s.select(q, map.of(y), map.of(x))
            }
            _ => return None,
        })
    });
    roots[0]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Choices in another spelling are the same; what is said to be equal is so on all inputs tried.
    #[test]
    fn choices_in_another_spelling_are_proved_and_no_others(
        program in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>(), any::<i8>()), 1..7),
        inputs in proptest::collection::vec(proptest::array::uniform3(-2i8..3), 40),
    ) {
        let mut s = TermStore::new();
        let made = numbers(&mut s, &program);
        let last = made[made.len() - 1];
        let values: Vec<_> = inputs.iter().map(|x| {
            let mut at = Inputs::default();
            for (i, v) in x.iter().enumerate() {
                at.set(IN, 4 * i as u64, 4, u64::from(f32::from(*v).to_bits()));
            }
            evaluate(&s, &made, &at, MODE)
        }).collect();
        for (i, &a) in made[..made.len() - 1].iter().enumerate() {
            if a != last && thorough(&s, a, last) {
                for v in &values {
                    let (x, y) = (&v[i], &v[made.len() - 1]);
                    if let (Value::Exact(_), Value::Exact(_)) = (x, y) {
                        prop_assert_eq!(x, y);
                    }
                }
            }
        }
        let mut both = TermStore::new();
        let plain = crate::term::rebuild::rebuild(&s, &[last], &mut both, |_, _, _| None)[0];
        let other = respelled(&s, last, &mut both);
        let nonlinear = program.iter().any(|p| matches!(p.0 % 12, 7 | 8));
        if plain != other && !nonlinear {
            let mut canon = Canon::new(&both, &LIMITS);
            prop_assert!(canon.equal(plain, other) || thorough(&both, plain, other));
        }
    }
}

#[test]
fn conditions_are_used() {
    let mut s = TermStore::new();
    let [x, y, z] = [0, 4, 8].map(|o| s.elem(IN, Fmt::F32, o));
    let p = s.rcmp(RCmp::Lt, x, y);
    let q = s.rcmp(RCmp::Lt, y, z);
    let r = s.rcmp(RCmp::Lt, x, z);
    let yes = s.bool(true);
    let holds = |given: &[TermId], t| {
        prove(&s, (t, yes), given, Effort::Thorough, &LIMITS) == Answer::Proved
    };
    assert!(holds(&[p, q], r) && !holds(&[p], r) && !holds(&[q], r));
    let m = s.max(x, z);
    assert_eq!(
        prove(&s, (m, z), &[p, q], Effort::Thorough, &LIMITS),
        Answer::Proved
    );
    assert_eq!(
        prove(&s, (m, z), &[p], Effort::Thorough, &LIMITS),
        Answer::Open
    );
}

/// log2(2^a + 2^b) as it is written to be safe from overflow.
fn log_of_sum(s: &mut TermStore, a: TermId, b: TermId) -> TermId {
    let (m, d, one) = (s.max(a, b), s.sub(a, b), s.integer(1));
    let d = s.fun(Fun::Abs, d);
    let d = s.neg(d);
    let e = s.fun(Fun::Exp2, d);
    let e = s.add(one, e);
    let l = s.fun(Fun::Log2, e);
    s.add(m, l)
}

#[test]
fn sums_of_powers_are_nested() {
    let mut s = TermStore::new();
    let x = [0, 4, 8, 12].map(|o| s.elem(IN, Fmt::F32, o));
    let nested = x[1..].iter().fold(x[0], |t, &y| log_of_sum(&mut s, t, y));
    let (p, q) = (
        log_of_sum(&mut s, x[0], x[1]),
        log_of_sum(&mut s, x[2], x[3]),
    );
    let tree = log_of_sum(&mut s, p, q);
    let zero = s.integer(0);
    let sum = x.iter().fold(zero, |t, &y| {
        let e = s.fun(Fun::Exp2, y);
        s.add(t, e)
    });
    let plain = s.fun(Fun::Log2, sum);
    let same = |a, b| Canon::new(&s, &LIMITS).equal(a, b) || thorough(&s, a, b);
    assert!(!same(p, plain));
    assert!(same(tree, plain));
    assert!(same(nested, plain));
    assert!(same(tree, nested));
}
