//! Inputs on which kernels are measured.
//!
//! The problem: rounding depends on the data. Numbers of one size and both signs are what tests draw; digits are lost
//! where large numbers cancel, where a sum has terms of very different sizes, and where one element rules all others.
//! So each kind of input here is a law of the position in its array, and what the measurement finds worst is changed
//! further (`hill climbing`): N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 26.

use crate::decide::refute::cells::{Cell, encode};
use crate::decide::refute::links::within_facts;
use crate::grid::Subject;
use crate::kernel::Fmt;
use crate::number::random::Random;
use crate::spec::{ElemTy, Origin, Role};
use crate::term::ArrayId;
use crate::term::facts::Facts;

use super::constants::Near;
use super::execute::{Bits, bits};
use super::limits::LIMITS;

/// A kind of input.
pub(crate) struct Law {
    pub name: &'static str,
    /// The number at a position, from the random numbers of that position and of the one before it.
    value: fn(&Position, &mut Random) -> f64,
}

/// A position, and what is drawn once for an input.
struct Position {
    index: usize,
    count: usize,
    /// What stands before it.
    before: f64,
    /// Drawn once.
    lot: u64,
}

fn unit(random: &mut Random) -> f64 {
    (random.draw() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(random: &mut Random) -> f64 {
    let (u, v) = (1.0 - unit(random), unit(random));
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}

/// The kinds, the plain ones first.
pub(crate) const LAWS: [Law; 8] = [
    Law {
        name: "normal",
        value: |_, r| normal(r),
    },
    Law {
        name: "uniform",
        value: |_, r| unit(r),
    },
    Law {
        name: "far from 0",
        value: |_, r| 1000.0 + normal(r),
    },
    Law {
        name: "large",
        value: |_, r| 100.0 * normal(r),
    },
    Law {
        name: "cancelling",
        value: |p, r| match p.index % 2 {
            1 => -p.before * (1.0 + normal(r) / 4096.0),
            _ => 16.0 * normal(r),
        },
    },
    Law {
        name: "of all sizes",
        value: |_, r| normal(r) * libm::exp2((r.below(25) as f64) - 12.0),
    },
    Law {
        name: "one large",
        value: |p, r| match p.lot as usize % p.count == p.index {
            true => 64.0,
            false => normal(r) / 16.0,
        },
    },
    Law {
        name: "all equal",
        value: |p, _| 1.0 + (p.lot % 1000) as f64 / 1001.0,
    },
];

/// Inputs on which kernels overflow that are not written with care: some hundreds, of which an exponential is
/// beyond every format of 32 bits and a sum of products beyond f16, and numbers whose fourth power is.
pub(crate) const LARGE: [Law; 2] = [
    Law {
        name: "of some hundreds",
        value: |_, r| 200.0 * normal(r),
    },
    Law {
        name: "near 10^10",
        value: |_, r| 1e10 * normal(r),
    },
];

/// Kinds that tests draw.
pub(crate) const PLAIN: usize = 2;

/// The values of cells, by a law; `None` if the facts about the data do not hold of them.
pub(crate) fn draw(
    law: &Law,
    cells: &[Cell],
    facts: &Facts,
    random: &mut Random,
) -> Option<Vec<u64>> {
    let value = |place: &Position, random: &mut Random| (law.value)(place, random);
    drawn(&value, cells, facts, random)
}

/// The same beside a constant.
pub(super) fn draw_near(
    near: &Near,
    cells: &[Cell],
    facts: &Facts,
    random: &mut Random,
) -> Option<Vec<u64>> {
    drawn(&|_, random| near.value(random), cells, facts, random)
}

fn drawn(
    value: &dyn Fn(&Position, &mut Random) -> f64,
    cells: &[Cell],
    facts: &Facts,
    random: &mut Random,
) -> Option<Vec<u64>> {
    let mut out = Vec::with_capacity(cells.len());
    let (mut first, mut before, mut lot) = (0, 0.0, 0);
    for (i, c) in cells.iter().enumerate() {
        if i == 0 || cells[i - 1].array != c.array {
            (first, before, lot) = (i, 0.0, random.draw());
        }
        let rest = cells[i..].partition_point(|d| d.array == c.array);
        let place = Position {
            index: i - first,
            count: i - first + rest,
            before,
            lot,
        };
        out.push(match c.ty {
            ElemTy::Float(_) => {
                before = value(&place, random);
                encode(c.ty, before)
            }
            // Weights of few bits are data; wider integers are most often places and counts.
            ElemTy::Int { width, .. } if width <= 8 => random.draw() >> (64 - u32::from(width)),
            ElemTy::Int { .. } => random.below(16),
        });
    }
    holds(facts, cells, &mut out).then_some(out)
}

/// True if the facts about the data hold of values, which are changed so that they may.
fn holds(facts: &Facts, cells: &[Cell], values: &mut [u64]) -> bool {
    facts.is_empty() || within_facts(facts, cells, values)
}

/// Values near those of an input: some numbers are scaled, turned round, or take the place of others.
pub(crate) fn changed(
    cells: &[Cell],
    values: &[u64],
    facts: &Facts,
    random: &mut Random,
) -> Option<Vec<u64>> {
    let mut out = values.to_vec();
    if cells.is_empty() {
        return Some(out);
    }
    let n = cells.len() as u64;
    for _ in 0..1 + random.below(1 + n / 8) {
        let (i, j) = (random.below(n) as usize, random.below(n) as usize);
        let ElemTy::Float(fmt) = cells[i].ty else {
            continue;
        };
        let sign = 1u64 << (fmt.bits() - 1);
        out[i] = match random.below(4) {
            0 => out[i] ^ sign,
            1 if cells[j].ty == cells[i].ty => out[j] ^ sign,
            // A step in the fraction, or one to the next power of two.
            2 => out[i] ^ 1 << random.below(u64::from(fmt.bits() - 9).max(1)),
            _ => {
                let factor = [0.5, 2.0][random.below(2) as usize];
                let scaled = crate::number::to_double(fmt, out[i]) * factor;
                match scaled.abs() < 1e4 {
                    true => encode(cells[i].ty, scaled),
                    false => out[i],
                }
            }
        };
    }
    holds(facts, cells, &mut out).then_some(out)
}

/// Bytes of an array; of one of unknown extent, the first ones.
pub(crate) fn length(subject: &Subject<'_>, array: usize) -> u64 {
    const FIRST: u64 = 1 << 14;
    subject.arrays.0[array].extent.unwrap_or(FIRST)
}

/// Numbers by a law for every array that a launch may read, and for every scalar without a value; `None` if the facts
/// about the data do not hold of them.
pub(crate) fn everywhere(subject: &Subject<'_>, law: &Law) -> Option<Vec<Bits>> {
    let mut cells = Vec::new();
    for (i, a) in subject.arrays.0.iter().enumerate() {
        let is_open = a.role != Some(Role::Out) && a.initial.is_none() && a.pointers.is_none();
        let ty = a.elem.unwrap_or(ElemTy::Float(Fmt::F32));
        let bytes = ty.bytes().max(1);
        let count = match a.origin {
            Origin::Scalar => 1,
            Origin::Pointer if is_open => length(subject, i).min(LIMITS.drawn_bytes) / bytes,
            Origin::Pointer | Origin::Global | Origin::Const => 0,
        };
        if a.extent.is_some_and(|n| n > LIMITS.drawn_bytes) {
            return None;
        }
        let cell = |k: u64| Cell {
            array: ArrayId(i as u32),
            off: k * bytes,
            bytes: bytes as u8,
            ty,
        };
        cells.extend((0..count).map(cell));
    }
    let facts = &subject.resolved.bindings.facts;
    let values = draw(law, &cells, facts, &mut Random(0))?;
    Some(bits(&cells, &values))
}
