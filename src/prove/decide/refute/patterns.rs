//! How the values of candidates are chosen, the most readable first.

use super::cells::{Cell, encode};
use crate::decide::limits::TACTICS;
use crate::number::random::Random;
use crate::spec::ElemTy;
use crate::term::eval::Cone;
use crate::term::{ICmp, Term, TermId, TermStore, sext};

/// How the values of a candidate are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// The same everywhere.
    All(f64),
    /// One cell has a value, the others another.
    OneHot(usize, f64, f64),
    /// Small integers in a fixed order.
    Cycle(u64),
    /// Random integers from -k to k.
    Integers(u64),
    /// Random positive integers up to k.
    Positive(u64),
    /// Random multiples of 1/2^k up to 4.
    Fractions(u32),
    /// Random multiples of 2^k with a few bits.
    Scaled(i32),
    /// Numbers of very different sizes.
    Wild,
    /// Integers of any size; other numbers as in [`Pattern::Wild`].
    Bits,
    /// Integers at the ends of their ranges and of those of shorter ones; other numbers as in [`Pattern::Wild`].
    Ends,
    /// Numbers at and between those that the terms compare with, in turn from the k-th on.
    Near(usize),
    /// Different numbers that are all beyond the k-th of those.
    Beyond(usize),
    /// Most integers this one, which may be the code of a special case; other numbers small.
    Code(f64),
}

/// The patterns to try, the most readable first.
///
/// `near` is the number of thresholds.
pub fn patterns(all: &[Cell], near: usize) -> Vec<Pattern> {
    let cells = all.len();
    let integers = all.iter().any(|c| matches!(c.ty, ElemTy::Int { .. }));
    let mut out = vec![Pattern::All(0.0), Pattern::All(1.0), Pattern::All(-1.0)];
    let hot = cells.min(24);
    // The first cells, and some spread over all of them to the last.
    let spread = |k: usize| match k < 12 || cells <= 24 {
        true => k,
        false => 12 + (k - 12) * (cells - 13) / 11,
    };
    out.extend((0..hot).map(|k| Pattern::OneHot(spread(k), 1.0, 0.0)));
    out.extend([Pattern::Cycle(1), Pattern::Cycle(2), Pattern::Cycle(3)]);
    out.extend([
        Pattern::Integers(1),
        Pattern::Integers(2),
        Pattern::Integers(3),
    ]);
    out.extend([Pattern::Positive(3), Pattern::Positive(8)]);
    out.extend([Pattern::Integers(8); 3]);
    out.extend((0..near.min(24)).map(Pattern::Near));
    out.extend((0..near.min(24)).map(Pattern::Beyond));
    if integers {
        out.extend([Pattern::Ends; 6]);
        out.extend([Pattern::Bits; 3]);
    }
    out.extend((0..hot).map(|k| Pattern::OneHot(spread(k), -2.0, 1.0)));
    out.extend([
        Pattern::Fractions(1),
        Pattern::Fractions(2),
        Pattern::Fractions(6),
    ]);
    for k in [-4, -8, -12, 4, 6, 9] {
        out.extend([Pattern::Scaled(k); 2]);
    }
    out.extend([
        Pattern::Integers(100),
        Pattern::Wild,
        Pattern::Wild,
        Pattern::Wild,
    ]);
    out.extend((0..hot).map(|k| Pattern::OneHot(spread(k), 16.0, 0.0)));
    for _ in 0..8 {
        out.extend([
            Pattern::Integers(4),
            Pattern::Fractions(8),
            Pattern::Positive(16),
            Pattern::Wild,
        ]);
    }
    if integers {
        out.extend([Pattern::Bits; 12]);
        out.extend([Pattern::Ends; 6]);
    }
    out
}

/// A number at an end of the range of a type of this width or of a shorter one, or one beside it.
fn end(width: u8, random: &mut Random) -> u64 {
    let keep = u64::MAX >> (64 - width.clamp(1, 64) as u32);
    let bits = [width as u64, width as u64, 8, 16][random.below(4) as usize].clamp(1, 64);
    let ones = u64::MAX >> (64 - bits);
    // The largest unsigned and signed numbers, the least signed one, and 0; of the word, those of
    // shorter types are extended either way.
    let v = [ones, ones >> 1, !(ones >> 1), 0][random.below(4) as usize];
    v.wrapping_add(random.below(3)).wrapping_sub(1) & keep
}

/// Numbers at which a comparison with a constant, a maximum or a minimum may change its mind, those
/// halfway between them, and all of them with the other sign: what tells two kernels apart whose
/// limits differ a little.
pub fn thresholds(store: &TermStore, cone: &Cone) -> Vec<f64> {
    let number = |t: TermId| {
        let q = store.as_const(t)?;
        num_traits::ToPrimitive::to_f64(q).filter(|v| v.is_finite())
    };
    let mut found: Vec<f64> = Vec::new();
    for &t in cone.ids() {
        if let Term::RCmp(_, a, b) | Term::Max(a, b) | Term::Min(a, b) = store.get(t) {
            found.extend([a, b].into_iter().filter_map(number).map(f64::abs));
        }
        if found.len() > TACTICS.thresholds {
            break;
        }
    }
    found.sort_unstable_by(f64::total_cmp);
    found.dedup();
    let between: Vec<f64> = found.windows(2).map(|w| (w[0] + w[1]) / 2.0).collect();
    found.extend(between);
    found.extend(found.clone().iter().map(|v| -v));
    found
}

/// Integers that others are asked to be equal to, such as the label of rows that count for nothing; none where
/// everything is a float.
pub(crate) fn codes(store: &TermStore, cone: &Cone, cells: &[Cell]) -> Vec<Pattern> {
    const MOST: usize = 12;
    let is_integer = |c: &Cell| matches!(c.ty, ElemTy::Int { .. });
    let mut found: Vec<i64> = Vec::new();
    if !cells.iter().any(is_integer) {
        return Vec::new();
    }
    for &t in cone.ids() {
        if let Term::ICmp(ICmp::Eq, a, b) = store.get(t) {
            let known = |t: TermId| Some(sext(store.as_bits(t)?, store.width(t)));
            found.extend([a, b].into_iter().filter_map(known));
        }
        if found.len() > TACTICS.thresholds {
            break;
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST);
    found.into_iter().map(|v| Pattern::Code(v as f64)).collect()
}

/// The values of a candidate.
pub fn candidate(cells: &[Cell], pattern: Pattern, near: &[f64], random: &mut Random) -> Vec<u64> {
    cells
        .iter()
        .enumerate()
        .map(|(i, c)| {
            if let (Pattern::Bits, ElemTy::Int { width, .. }) = (pattern, c.ty) {
                return random.draw() >> (64 - width.clamp(1, 64) as u32);
            }
            if let (Pattern::Ends, ElemTy::Int { width, .. }) = (pattern, c.ty) {
                return end(width, random);
            }
            let v = match pattern {
                Pattern::All(v) => v,
                Pattern::OneHot(k, hot, rest) => {
                    if i == k {
                        hot
                    } else {
                        rest
                    }
                }
                Pattern::Cycle(k) => ((i as u64 * 7 * k + k) % 5) as f64 - 1.0,
                Pattern::Integers(k) => random.below(2 * k + 1) as f64 - k as f64,
                Pattern::Positive(k) => 1.0 + random.below(k) as f64,
                Pattern::Fractions(k) => {
                    let n = 8u64 << k;
                    (random.below(n + 1) as f64 - (n / 2) as f64) / (1u64 << k) as f64
                }
                Pattern::Scaled(k) => (random.below(31) as f64 - 15.0) * 2f64.powi(k),
                Pattern::Wild | Pattern::Bits | Pattern::Ends => {
                    let m = random.below(15) as f64 - 7.0;
                    m * 2f64.powi(random.below(21) as i32 - 10)
                }
                Pattern::Code(code) => match c.ty {
                    ElemTy::Int { .. } if random.below(4) > 0 => code,
                    _ => random.below(17) as f64 - 8.0,
                },
                Pattern::Near(k) | Pattern::Beyond(k) if near.is_empty() => k as f64,
                Pattern::Beyond(k) => near[k % near.len()] * (1.25 + 0.25 * (i % 5) as f64),
                Pattern::Near(k) => near[(i + k) % near.len()],
            };
            encode(c.ty, v)
        })
        .collect()
}
