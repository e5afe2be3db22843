//! What is said of orders against single precision itself.

use proptest::prelude::*;

use super::*;
use crate::scalar::{FloatMods, Fmt};
use crate::term::made::Shape;
use crate::term::{ArrayId, Fun};

/// An instruction of a random program: what it does, and two operands.
type Step = (u8, u8, u8);

/// A number of a program: its real, its encoding, its value.
#[derive(Clone, Copy)]
struct Number {
    real: TermId,
    encoding: TermId,
    value: f32,
}

struct Program {
    store: TermStore,
    numbers: Vec<Number>,
}

impl Program {
    fn new(inputs: [f32; 3]) -> Program {
        let mut store = TermStore::new();
        let mut numbers = Vec::new();
        for (i, value) in inputs.into_iter().enumerate() {
            let (real, encoding) = (
                store.elem(ArrayId(0), Fmt::F32, 4 * i as u64),
                store.bytes(ArrayId(0), 4 * i as u64, 32),
            );
            numbers.push(Number {
                real,
                encoding,
                value,
            });
        }
        for value in [0f32, 1.0, -2.0] {
            let encoding = store.bits(32, u64::from(value.to_bits()));
            let real = store.integer(value as i64);
            numbers.push(Number {
                real,
                encoding,
                value,
            });
        }
        Program { store, numbers }
    }

    fn step(&mut self, (op, a, b): Step) {
        let n = self.numbers.len();
        let (x, y) = (self.numbers[a as usize % n], self.numbers[b as usize % n]);
        let s = &mut self.store;
        let (float, real, value) = match op % 8 {
            0 => (FloatOp::Add, s.add(x.real, y.real), x.value + y.value),
            1 => (FloatOp::Sub, s.sub(x.real, y.real), x.value - y.value),
            2 => (FloatOp::Mul, s.mul(x.real, y.real), x.value * y.value),
            3 => (FloatOp::Max, s.max(x.real, y.real), x.value.max(y.value)),
            4 => (FloatOp::Min, s.min(x.real, y.real), x.value.min(y.value)),
            5 => (FloatOp::Neg, s.neg(x.real), -x.value),
            6 => (FloatOp::Abs, s.fun(Fun::Abs, x.real), x.value.abs()),
            _ => (FloatOp::Mul, s.mul(x.real, x.real), x.value * x.value),
        };
        // Subnormal numbers and overflows are left to other questions.
        let normal = value == 0.0 && (real_is_zero(s, real) || op % 8 != 2 && op % 8 != 7);
        if !(normal || value.is_normal()) {
            return;
        }
        let mods = FloatMods {
            rnd: Rnd::Rn,
            ..FloatMods::default()
        };
        let shape = Shape::new(Kind::Float(float), Fmt::F32, Fmt::F32, mods);
        let operands = match (float, op % 8) {
            (FloatOp::Neg | FloatOp::Abs, _) => vec![x.encoding],
            (_, 7) => vec![x.encoding, x.encoding],
            _ => vec![x.encoding, y.encoding],
        };
        let made = s.made(real, shape, &operands);
        let encoding = s.of_real(Fmt::F32, made);
        self.numbers.push(Number {
            real,
            encoding,
            value,
        });
    }
}

fn real_is_zero(s: &TermStore, t: TermId) -> bool {
    s.is_zero(t)
}

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        (-8i32..=8).prop_map(|i| i as f32 / 4.0),
        (1e-6f32..1e6).prop_map(|x| x),
        (-1e6f32..-1e-6).prop_map(|x| x),
        Just(1e-9f32),
        Just(16777216.0f32),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The order that single precision finds is among those that were said.
    #[test]
    fn no_order_is_missing(
        steps in proptest::collection::vec((0u8..8, any::<u8>(), any::<u8>()), 1..14),
        x in proptest::array::uniform3(number()),
    ) {
        let mut p = Program::new(x);
        steps.iter().for_each(|&s| p.step(s));
        let narrow = Narrow::default();
        for a in &p.numbers {
            for b in &p.numbers {
                let found = match a.value.partial_cmp(&b.value) {
                    Some(Ordering::Less) => Orders::LESS,
                    Some(Ordering::Equal) => Orders::SAME,
                    Some(Ordering::Greater) => Orders::MORE,
                    None => continue,
                };
                let reals = (a.real, b.real);
                for made in [None, Some((a.encoding, b.encoding))] {
                    let said = p.store.machine_orders(reals, made, &narrow);
                    prop_assert!(said.has(found), "{said:?} of {} and {}", a.value, b.value);
                }
            }
        }
    }
}

/// Rounding is seen to make a difference, and not where it makes none.
#[test]
fn rounding_decides_some() {
    let mut p = Program::new([0.1, 1.0, 2.0]);
    // x + 1, (x + 1) - 1, max(x + 1, y), (x + 1) - max(x + 1, y), x * x.
    for step in [(0, 0, 4), (1, 6, 4), (3, 6, 1), (1, 6, 8), (7, 0, 0)] {
        p.step(step);
    }
    let narrow = Narrow::default();
    let orders = |i: usize, j: usize| {
        let (a, b) = (p.numbers[i], p.numbers[j]);
        p.store
            .machine_orders((a.real, b.real), Some((a.encoding, b.encoding)), &narrow)
    };
    assert_eq!(orders(7, 0), Orders::ANY);
    assert_eq!(orders(6, 0), Orders::ANY);
    assert_eq!(orders(6, 6), Orders::SAME);
    assert_eq!(orders(8, 6), Orders::MORE.or(Orders::SAME));
    assert_eq!(orders(9, 3), Orders::LESS.or(Orders::SAME));
    assert_eq!(orders(10, 3), Orders::MORE.or(Orders::SAME));
}
