//! A small difference made larger.
//!
//! The problem: a constant that is off in its twelfth bit shows on every input, but on most by less
//! than what rounding explains. The way: hill climbing. From the candidates of the search whose sides
//! are furthest apart in doubles, one input after another is moved (doubled, halved, negated, shifted,
//! set to zero), and what drives the sides apart is kept, until an evaluation with known error tells
//! them apart.
//!
//! Sound: what is returned was checked like every other candidate. Not claimed: that the largest
//! difference is found.

use super::cells;
use super::witness::{Checked, DifferingInput, Hunt};
use crate::decide::limits::CLIMB;
use crate::kernel::Fmt;
use crate::number::random::Random;
use crate::spec::{ElemTy, Limits};
use crate::term::decode;
use crate::work;

/// The moves of one number.
const MOVES: [fn(f64) -> f64; 10] = [
    |v| v * 2.0,
    |v| v / 2.0,
    |v| v + 1.0,
    |v| v - 1.0,
    |_| 0.0,
    |v| -v,
    |v| v + 8.0,
    |v| v - 8.0,
    |v| v * 1.125,
    |v| v * 0.875,
];

fn number(ty: ElemTy, bits: u64) -> f64 {
    let q = match ty {
        ElemTy::Float(f) => decode(f, bits).ok(),
        ElemTy::Int { width, signed } => {
            let shift = 64 - width.clamp(1, 64) as u32;
            return match signed {
                true => (((bits << shift) as i64) >> shift) as f64,
                false => bits as f64,
            };
        }
    };
    q.and_then(|q| num_traits::ToPrimitive::to_f64(&q))
        .unwrap_or(0.0)
}

/// Large numbers overflow what they are put into, and none of them is needed.
fn usable(ty: ElemTy, v: f64) -> bool {
    let most = match ty {
        ElemTy::Float(Fmt::F32 | Fmt::F64 | Fmt::Bf16 | Fmt::Tf32) => 4096.0,
        _ => 64.0,
    };
    v.abs() <= most && (v == 0.0 || v.abs() >= 1.0 / 4096.0)
}

/// Climbs from a candidate; `left` counts terms and edges.
pub(crate) fn climb(
    hunt: &mut Hunt<'_>,
    mut values: Vec<u64>,
    random: &mut Random,
    left: &mut u64,
    limits: Limits,
) -> Option<DifferingInput> {
    let mut best = hunt.score(&values);
    let (mut checked, mut checks) = (1.0, 0);
    for _ in 0..CLIMB.rounds {
        let before = best;
        for i in 0..values.len() {
            let ty = hunt.cells()[i].ty;
            let turn = random.below(MOVES.len() as u64) as usize;
            for k in 0..MOVES.len() {
                if *left < hunt.cost() || limits.reached().is_some() {
                    return None;
                }
                *left -= hunt.cost();
                work::spend(hunt.cost());
                let old = values[i];
                let v = MOVES[(k + turn) % MOVES.len()](number(ty, old));
                if !usable(ty, v) {
                    continue;
                }
                values[i] = cells::encode(ty, v);
                let score = hunt.score(&values);
                if score <= best * 1.01 {
                    values[i] = old;
                    continue;
                }
                best = score;
                if best > checked * CLIMB.step {
                    checked = best;
                    checks += 1;
                    if let Checked::Apart(_) = hunt.check(&values) {
                        return hunt.found(&values);
                    }
                    if checks == CLIMB.checks {
                        return None;
                    }
                }
            }
        }
        if best <= before * 1.01 {
            break;
        }
    }
    match best > 1.0 && best > checked {
        true => hunt.found(&values),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_difference_is_made_large() {
        use crate::spec::Arrays;
        use crate::term::{ArrayId, TermStore, pow2};
        // x + 1024 against x * (1 + 2^-12) + 1024: at x = 1 that is a 2^-22nd of the whole.
        let mut s = TermStore::new();
        let x = s.elem(ArrayId(0), Fmt::F32, 0);
        let (c, k) = (s.integer(1024), s.rational(pow2(-12) + pow2(0)));
        let y = s.mul(x, k);
        let pairs = crate::decide::goal::Pairs::from_iter([(s.add(x, c), s.add(y, c))]);
        let mut hunt = Hunt::new(&s, &pairs, &Arrays::default());
        let start = vec![1f32.to_bits() as u64];
        assert!(matches!(hunt.check(&start), Checked::No | Checked::Close));
        assert!(hunt.score(&start) > CLIMB.least);
        let limits = Limits::NONE;
        let mut climb_from = |left: u64| {
            let mut left = left;
            climb(&mut hunt, start.clone(), &mut Random(1), &mut left, limits)
        };
        assert!(climb_from(100_000).is_some());
        assert!(climb_from(0).is_none());
    }

    #[test]
    fn numbers_come_back_from_their_bits() {
        for ty in [
            ElemTy::Float(Fmt::F32),
            ElemTy::Float(Fmt::F16),
            ElemTy::Int {
                width: 8,
                signed: true,
            },
        ] {
            for v in [0.0, 1.0, -3.0, 16.0] {
                assert_eq!(number(ty, cells::encode(ty, v)), v, "{ty:?}");
            }
        }
        assert!(usable(ElemTy::Float(Fmt::F32), -16.0) && !usable(ElemTy::Float(Fmt::F32), 1e6));
    }
}
