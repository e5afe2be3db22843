//! What is proved with symbols, against evaluation of the terms without.

use proptest::prelude::*;

use crate::decide::asked::Pair;
use crate::decide::goal::Condition;
use crate::decide::limits::NamedSums;
use crate::decide::options::Options;
use crate::decide::ruling::Ruling;
use crate::decide::tactics::FORMS;
use crate::kernel::Fmt;
use crate::term::eval::{Cone, Inputs, Mode, Value};
use crate::term::{ArrayId, Fun, TermId, TermStore};

/// Everything has a symbol.
const ALL: NamedSums = NamedSums {
    size: 2,
    worth: 0,
    power: 0,
    symbols: 1 << 10,
    rounds: 8,
    partial: 4,
    work: 1 << 16,
};

const X: ArrayId = ArrayId(0);

/// A program: each step makes a value of two before it; `turned` exchanges operands and spells differences otherwise.
fn build(s: &mut TermStore, steps: &[(u8, u16, u16)], turned: bool) -> TermId {
    let mut values: Vec<TermId> = (0..4).map(|i| s.elem(X, Fmt::F32, 4 * i)).collect();
    for &(op, i, j) in steps {
        let of = |k: u16| values[(k as usize * values.len()) >> 16];
        let (a, b) = (of(i), of(j));
        let (x, y) = if turned { (b, a) } else { (a, b) };
        let new = match op % 12 {
            0..=3 => s.add(x, y),
            4 | 5 => s.mul(x, y),
            6 => {
                let minus = s.neg(b);
                s.add(a, minus)
            }
            7 => s.div(a, b),
            8 => s.max(x, y),
            9 => s.fun(Fun::Rsqrt, a),
            10 => {
                let two = s.integer(2);
                match turned {
                    true => s.add(a, a),
                    false => s.mul(two, a),
                }
            }
            _ => s.fun(Fun::Abs, a),
        };
        values.push(new);
    }
    values[values.len() - 1]
}

fn is_real(v: &Value) -> bool {
    matches!(v, Value::Exact(_) | Value::Interval(_))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn what_is_proved_by_symbols_is_so(
        steps in prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 2..12),
        at in any::<prop::sample::Index>(),
        change in prop::option::of((any::<u8>(), any::<u16>(), any::<u16>())),
        cells in prop::collection::vec(prop::array::uniform4(-3i8..4), 6),
    ) {
        let mut s = TermStore::new();
        let a = build(&mut s, &steps, false);
        let mut other = steps.clone();
        if let Some(change) = change {
            other[at.index(steps.len())] = change;
        }
        let b = build(&mut s, &other, true);
        let condition = Condition {
            array: ArrayId(1),
            off: 0,
            bytes: 4,
            ty: None,
            pairs: [(a, b)].into_iter().collect(),
            whole: None,
            only: None,
            alike: 0,
        };
        let options = Options::default();
        let pair = Pair { store: &s, options: &options, work: None, of_reals: false, names: Some(&ALL) };
        let rulings = pair.round(&[condition], &[FORMS]);
        if matches!(rulings[0], Ruling::Proved(_)) {
            let cone = Cone::new(&s, &[a, b]);
            for values in cells {
                let mut inputs = Inputs::default();
                for (i, v) in values.iter().enumerate() {
                    inputs.set(X, 4 * i as u64, 4, u64::from((f32::from(*v)).to_bits()));
                }
                let found = cone.evaluate(&s, &inputs, Mode::exact(96));
                // Where intervals are too coarse to tell, nothing is seen.
                if is_real(&found[0]) && found[1] != Value::Undecided {
                    prop_assert!(is_real(&found[1]), "{:?}", found);
                }
                if let [Value::Exact(x), Value::Exact(y)] = &found[..] {
                    prop_assert_eq!(x, y);
                }
            }
        }
    }
}
