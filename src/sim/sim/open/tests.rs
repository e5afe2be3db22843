//! Open sums against the chains of additions that they stand for.

use crate::kernel::Fmt;
use crate::sim::limits::LIMITS;
use crate::sim::val::{Val, open_sum};
use crate::sim::val::{of_lane, open_head, open_word};
use crate::sim::value::Values;
use crate::sim::warp::{LANES, lanes};
use crate::term::eval::{Inputs, Mode, Value, evaluate};
use crate::term::{ArrayId, Term, TermStore};

use super::*;
use proptest::prelude::*;

const EXACT: Mode = Mode::exact(128);
const IN: ArrayId = ArrayId(0);
const F: Fmt = Fmt::F32;

/// One step on eight registers: `dst = src + x * y`, a copy, a reading, or a product.
#[derive(Clone, Debug)]
struct Step {
    kind: u8,
    dst: usize,
    src: usize,
    x: usize,
    y: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u8..16, 0usize..8, 0usize..8, 0usize..14, 0usize..14);
    let step = step.prop_map(|(kind, dst, src, x, y)| Step {
        kind,
        dst,
        src,
        x,
        y,
    });
    proptest::collection::vec(step, 1..120)
}

/// The factors: eight inputs, then constants and an infinity.
fn factor_term(s: &mut TermStore, i: usize) -> TermId {
    match i {
        0..8 => s.elem(IN, F, 4 * i as u64),
        8 => s.integer(0),
        9 => s.integer(1),
        10 => s.integer(-3),
        11 => s.integer(7),
        12 => s.undefined(),
        _ => s.infinity(false),
    }
}

fn extend_or_add(v: &mut Values, c: Val, x: TermId, y: TermId) -> Val {
    let sum = v.opened(F, c);
    match sum.and_then(|s| v.extend(s, x, y)) {
        Some(s) => Val::Open(F, s),
        None => {
            let (p, c) = (v.store.mul(x, y), v.real(c, F));
            Val::Real(F, v.store.add(c, p))
        }
    }
}

proptest! {
    #[test]
    fn an_open_sum_is_the_chain_of_additions(
        steps in steps(),
        odd in any::<bool>(),
        input in proptest::collection::vec(-8i32..8, 8),
    ) {
        let mut v = Values::default();
        let zero = v.store.integer(0);
        let mut open = [Val::Real(F, zero); 8];
        let mut plain = [zero; 8];
        for s in &steps {
            // Infinities in few of the runs: they swallow everything.
            let limit = if odd { 14 } else { 12 };
            let x = factor_term(&mut v.store, s.x % limit);
            let y = factor_term(&mut v.store, s.y % limit);
            match s.kind {
                0 => (open[s.dst], plain[s.dst]) = (open[s.src], plain[s.src]),
                1 => {
                    let t = v.real(open[s.src], F);
                    open[s.src] = Val::Real(F, t);
                }
                2 => {
                    let t = v.real(open[s.src], F);
                    open[s.dst] = Val::Real(F, v.store.mul(t, x));
                    plain[s.dst] = v.store.mul(plain[s.src], x);
                }
                3 => {
                    // A reading that leaves the register as it is.
                    let _ = v.bits(open[s.src], 32);
                }
                4 => {
                    open[s.dst] = v.accumulate(F, open[s.src], &[(x, y), (y, y), (x, x)]);
                    let mut t = plain[s.src];
                    for (a, b) in [(x, y), (y, y), (x, x)] {
                        let p = v.store.mul(a, b);
                        t = v.store.add(t, p);
                    }
                    plain[s.dst] = t;
                }
                _ => {
                    open[s.dst] = extend_or_add(&mut v, open[s.src], x, y);
                    let p = v.store.mul(x, y);
                    plain[s.dst] = v.store.add(plain[s.src], p);
                }
            }
        }
        let mut inputs = Inputs::default();
        for (i, x) in input.iter().enumerate() {
            inputs.set(IN, 4 * i as u64, 4, (*x as f32).to_bits() as u64);
        }
        let closed = open.map(|o| v.real(o, F));
        let roots: Vec<TermId> = closed.iter().chain(&plain).copied().collect();
        let values = evaluate(&v.store, &roots, &inputs, EXACT);
        for i in 0..8 {
            prop_assert!(!matches!(values[i], Value::Undecided));
            prop_assert_eq!(&values[i], &values[i + 8], "register {}", i);
            // Totality is a promise about definedness; both see the same operands.
            prop_assert_eq!(v.store.is_total(closed[i]), v.store.is_total(plain[i]));
        }
    }
}

#[test]
fn a_short_sum_is_the_chain_itself_and_a_long_one_a_flat_sum() {
    let mut v = Values::default();
    let x: Vec<TermId> = (0..40).map(|i| v.store.elem(IN, F, 4 * i)).collect();
    let mut chain = v.store.mul(x[0], x[1]);
    let mut c = Val::Real(F, chain);
    for i in 1..20 {
        let p = v.store.mul(x[2 * i], x[2 * i + 1]);
        chain = v.store.add(chain, p);
        c = extend_or_add(&mut v, c, x[2 * i], x[2 * i + 1]);
        if i < LIMITS.chain - 1 {
            // Reading does not end the sum for those who hold it.
            assert_eq!(v.real(c, F), chain);
        }
    }
    let mut d = {
        let p = v.store.mul(x[0], x[1]);
        Val::Real(F, p)
    };
    for i in 1..20 {
        d = extend_or_add(&mut v, d, x[2 * i], x[2 * i + 1]);
    }
    let t = v.real(d, F);
    let Term::Sum(list) = v.store.get(t) else {
        panic!("not a sum: {:?}", v.store.get(t))
    };
    assert_eq!(list.len(), 40);
}

/// One instruction of a warp: a sum of one register extended into another, a move to the next lanes,
/// or a reading of some lanes.
#[derive(Clone, Debug)]
struct Instruction {
    kind: u8,
    dst: usize,
    src: usize,
    mask: u32,
    x: usize,
    y: usize,
    step: [usize; 2],
}

fn instructions() -> impl Strategy<Value = Vec<Instruction>> {
    let mask = prop_oneof![
        4 => Just(u32::MAX),
        2 => Just(0x0000_ffff),
        1 => any::<u32>(),
    ];
    let step = proptest::array::uniform2(0usize..3);
    let one = (
        0u8..12,
        0usize..3,
        0usize..3,
        mask,
        0usize..8,
        0usize..8,
        step,
    );
    let one = one.prop_map(|(kind, dst, src, mask, x, y, step)| Instruction {
        kind,
        dst,
        src,
        mask,
        x,
        y,
        step,
    });
    proptest::collection::vec(one, 1..90)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_common_log_is_one_log_for_each_lane(all in instructions(), base in 0usize..4) {
        let mut v = Values::default();
        let inputs: Vec<TermId> = (0..104).map(|i| v.store.elem(IN, F, 4 * i)).collect();
        let zero = v.store.integer(0);
        let first = v.store.add(inputs[base], inputs[base + 1]);
        let mut words = [[0; LANES]; 3];
        let mut plain = [[zero; LANES]; 3];
        for r in 0..3 {
            for lane in 0..LANES {
                let s = v.opened(F, Val::Real(F, first)).expect("a sum");
                words[r][lane] = open_word(open_head(F), s);
                plain[r][lane] = first;
            }
        }
        let mut shared = 0;
        for i in &all {
            match i.kind {
                0 => {
                    words[i.dst] = std::array::from_fn(|l| words[i.src][(l + i.x) % LANES]);
                    plain[i.dst] = std::array::from_fn(|l| plain[i.src][(l + i.x) % LANES]);
                }
                1 => {
                    for lane in lanes(i.mask & 0x1111_1111) {
                        v.close(open_sum(words[i.src][lane]));
                    }
                }
                _ => {
                    let factor = |at: usize, step: usize| -> [u64; LANES] {
                        std::array::from_fn(|l| inputs[at + step * l].0 as u64)
                    };
                    let (x, y) = (factor(i.x, i.step[0]), factor(i.y, i.step[1]));
                    match v.extend_together(SumKind::Real, i.mask, &words[i.src], &x, &y) {
                        Some(s) => {
                            shared += 1;
                            for lane in lanes(i.mask) {
                                words[i.dst][lane] = of_lane(open_word(open_head(F), s), lane);
                            }
                        }
                        None => for lane in lanes(i.mask) {
                            let s = open_sum(words[i.src][lane]);
                            let s = v.extend_words(open_word(open_head(F), s), x[lane] as u32, y[lane] as u32);
                            words[i.dst][lane] = open_word(open_head(F), s.expect("ordinary factors"));
                        },
                    }
                    for lane in lanes(i.mask) {
                        let p = v.store.mul(TermId(x[lane] as u32), TermId(y[lane] as u32));
                        plain[i.dst][lane] = v.store.add(plain[i.src][lane], p);
                    }
                }
            }
        }
        let full = |i: &Instruction| i.kind > 1 && i.mask == u32::MAX;
        prop_assert!(shared > 0 || !all.first().is_some_and(full));
        let closed = words.as_flattened().iter().map(|w| v.close(open_sum(*w)));
        let mut roots: Vec<TermId> = closed.collect();
        roots.extend(plain.as_flattened());
        let mut inputs = Inputs::default();
        for i in 0..104 {
            let x = (i * i * 7 + i * 3) % 61;
            inputs.set(IN, 4 * i, 4, (x as f32).to_bits() as u64);
        }
        let values = evaluate(&v.store, &roots, &inputs, EXACT);
        for i in 0..3 * LANES {
            prop_assert_eq!(&values[i], &values[i + 3 * LANES], "sum {}", i);
        }
    }
}
