//! Inputs on which two elements have different bits.
//!
//! Problem: another order of the same operations gives other bits on some inputs and the same on most. The inputs that
//! are tried are those on which roundings differ: numbers of many magnitudes, sums that cancel, numbers next to
//! the middle between two others, the ends of the format, zeros of both signs; and plain random ones. An input counts
//! if both sides come out known and different, whatever a compiler joins ([`super::value`]).
//!
//! Sound: only finite inputs are tried, of which everything holds that the runs took for granted. Matrix instructions of
//! different shapes and approximations of different devices are functions that no number tells apart here.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::Fmt;
use crate::number;
use crate::number::random::Random;
use crate::spec::{Array, Arrays, ElemTy, Limits};
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, TermId, TermStore};

use super::canon::Reader;
use super::value::{Inputs, Values, evaluate, quiet};

/// Inputs that are tried, and terms that are evaluated for one pair at most.
const TRIES: u32 = 600;
const STEPS: u64 = 20_000_000;
/// Part of the larger of two numbers by which they differ beyond what approximations may do.
const FAR: f64 = 1.0 / 64.0;
/// Elements that are set to zero, one after the other, to make an input simpler.
const SIMPLER: usize = 96;

/// An input and both values.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The inputs that are not zero: array, offset, type, bits.
    pub inputs: Vec<(ArrayId, u64, ElemTy, u64)>,
    /// The bits of the reference, and of the optimized kernel.
    pub values: [u64; 2],
}

/// One element in both runs.
pub struct Question<'a> {
    /// The terms of both runs.
    pub stores: [&'a TermStore; 2],
    /// The element in each.
    pub terms: [TermId; 2],
    /// Its type, if it is read as a float.
    pub fmt: Option<Fmt>,
    /// The arrays.
    pub arrays: &'a Arrays,
    /// When to stop.
    pub limits: Limits,
    /// Where the sequence of inputs begins, so that each element is tried on others.
    pub seed: u64,
}

/// The elements of an input, drawn when they are first read.
struct Drawn<'a> {
    arrays: &'a Arrays,
    kind: u64,
    dice: Random,
    cells: FxHashMap<(ArrayId, u64), u64>,
    /// The order in which they were drawn.
    order: Vec<(ArrayId, u64)>,
}

fn elem(a: Option<&Array>) -> ElemTy {
    a.and_then(|a| a.elem).unwrap_or(ElemTy::Float(Fmt::F32))
}

impl Drawn<'_> {
    fn cell(&mut self, array: ArrayId, index: u64) -> u64 {
        if let Some(&bits) = self.cells.get(&(array, index)) {
            return bits;
        }
        let bits = match elem(self.arrays.0.get(array.0 as usize)) {
            ElemTy::Float(fmt) => float(fmt, self.kind, &mut self.dice),
            ElemTy::Int { width, .. } => {
                let small = self.dice.below(3) < 2;
                let range = if small { 8 } else { u64::MAX };
                self.dice.below(range) & (u64::MAX >> (64 - u32::from(width)))
            }
        };
        self.cells.insert((array, index), bits);
        self.order.push((array, index));
        bits
    }
}

impl Inputs for Drawn<'_> {
    fn read(&mut self, array: ArrayId, off: u64, bytes: u8) -> u64 {
        let size = elem(self.arrays.0.get(array.0 as usize)).bytes().max(1);
        (0..u64::from(bytes)).fold(0, |v, i| {
            let at = off + i;
            let byte = self.cell(array, at / size) >> (8 * (at % size)) & 0xff;
            v | byte << (8 * i)
        })
    }
}

/// A finite number of a kind.
fn float(fmt: Fmt, kind: u64, dice: &mut Random) -> u64 {
    let bits = fmt.bits();
    let any = |dice: &mut Random| dice.draw() & (u64::MAX >> (64 - bits));
    let of = |mantissa: u64, exponent: i32, negative: bool| {
        number::Exact::new(negative, mantissa.max(1), exponent)
            .round(fmt, crate::kernel::Rnd::Rn)
            .unwrap_or(0)
    };
    let negative = dice.below(2) == 1;
    let picked = match kind {
        // Of one magnitude.
        0 => of(dice.draw() >> 40 | 1, -24, negative),
        // Of several.
        1 => of(
            dice.draw() >> 40 | 1,
            -24 + dice.below(24) as i32 - 12,
            negative,
        ),
        // Sums that cancel, with what is lost beside them.
        2 => match dice.below(4) {
            0 => of(1, 10 + dice.below(16) as i32, negative),
            1 => of(1, 10, negative),
            2 => of(1, -(dice.below(14) as i32), negative),
            _ => of(3, -2, negative),
        },
        // Next to the middle between two numbers.
        3 => match dice.below(3) {
            0 => of((1 << 24) + dice.below(8), -24, negative),
            1 => of(1, -24 + dice.below(3) as i32, negative),
            _ => of((1 << 11) + dice.below(4), -11, negative),
        },
        // The ends of the format, and zeros.
        4 => match dice.below(6) {
            0 => number::zero(fmt, negative),
            1 => number::largest(fmt, negative),
            2 => number::zero(fmt, negative) | (1 + dice.below(3)),
            3 => of(1, 0, negative),
            _ => of(dice.draw() >> 40 | 1, -24, negative),
        },
        // Zeros of both signs.
        5 => number::zero(fmt, negative),
        // Around the least normal number.
        6 => {
            let (digits, least) = number::precision(fmt);
            let place = least + digits as i32 - 26 + dice.below(4) as i32;
            of(dice.draw() >> 40 | 1, place, negative)
        }
        // Products next to the middle between two numbers of a format, and what moves them to either side.
        7..KINDS_OF_MIDDLES => {
            let digits = number::precision(fmt).0 as i32;
            let digits = [digits, digits.min(11), digits.min(8)][kind as usize - 7];
            match dice.below(4) {
                0 => of(3, -1, negative),
                1 => of(1, -2 * digits - dice.below(12) as i32, negative),
                _ => of((1 << (digits - 1)) + dice.below(64), 1 - digits, negative),
            }
        }
        _ => any(dice),
    };
    // Inputs are finite.
    match number::decode(fmt, picked).value {
        number::Decoded::Nan | number::Decoded::Infinite => of(1, 0, negative),
        _ => picked,
    }
}

/// Number of kinds of inputs.
const KINDS: u64 = KINDS_OF_MIDDLES + 1;
/// Where the kinds of products in three formats end.
const KINDS_OF_MIDDLES: u64 = 10;

/// The functions of which only a device knows the values.
fn functions(store: &TermStore, cone: &[TermId]) -> FxHashSet<Operation> {
    let words = cone.iter().filter_map(|&t| store.as_word(t));
    let all = words.map(|w| w.operation(store));
    all.filter(|o| o.device != 0 || matches!(o.does, Does::Product(..)))
        .collect()
}

/// Searches for an input on which an element differs.
pub fn search(q: &Question<'_>) -> Option<Witness> {
    // What is said of the data is not looked at here.
    if q.stores
        .iter()
        .any(|s| !s.facts.is_empty() || !s.premises.is_empty())
    {
        return None;
    }
    let cones = [0, 1].map(|i| q.stores[i].reachable(&[q.terms[i]]));
    let [a, b] = [0, 1].map(|i| functions(q.stores[i], &cones[i]));
    let products = |all: &FxHashSet<Operation>| -> FxHashSet<Operation> {
        let is_product = |o: &&Operation| matches!(o.does, Does::Product(..));
        all.iter().filter(is_product).copied().collect()
    };
    let devices = a.union(&b).map(|o| o.device).collect::<FxHashSet<u32>>();
    if products(&a) != products(&b) || devices.len() > 1 {
        return None;
    }
    let alike = a == b;
    let size = (cones[0].len() + cones[1].len()) as u64;
    let tries = (STEPS / size.max(1)).clamp(8, TRIES.into());
    for n in 0..tries {
        if q.limits.reached().is_some() {
            return None;
        }
        let mut drawn = Drawn {
            arrays: q.arrays,
            kind: n % KINDS,
            dice: Random(n | q.seed << 32),
            cells: FxHashMap::default(),
            order: Vec::new(),
        };
        if different(q, &cones, &mut drawn).is_some_and(|v| alike || is_far(q.fmt, v)) {
            return Some(simpler(q, &cones, drawn, alike));
        }
    }
    None
}

/// True for numbers that no approximation takes for each other.
///
/// An approximation that one side has alone may be what the other makes of several operations (ptxas makes a quotient
/// as a product), so that a difference of some last bits between them shows nothing.
fn is_far(fmt: Option<Fmt>, [a, b]: [u64; 2]) -> bool {
    let Some(fmt) = fmt else { return false };
    let [a, b] = [a, b].map(|v| number::to_double(fmt, v));
    let far = (a - b).abs() > FAR * a.abs().max(b.abs());
    far && a.is_finite() && b.is_finite()
}

/// Both values on an input, if they differ for sure.
fn different(
    q: &Question<'_>,
    cones: &[Vec<TermId>; 2],
    drawn: &mut Drawn<'_>,
) -> Option<[u64; 2]> {
    let mut sides: [Values; 2] = Default::default();
    for (i, side) in sides.iter_mut().enumerate() {
        let values = evaluate(q.stores[i], &cones[i], drawn).get(q.terms[i], q.fmt);
        *side = match q.fmt {
            Some(fmt) => values.iter().map(|&v| quiet(fmt, v)).collect(),
            None => values,
        };
    }
    let [a, b] = sides;
    let known = !a.is_empty() && !b.is_empty();
    (known && !a.iter().any(|x| b.contains(x))).then(|| [a[0], b[0]])
}

/// An input with as many zeros as can be.
fn simpler(
    q: &Question<'_>,
    cones: &[Vec<TermId>; 2],
    mut drawn: Drawn<'_>,
    alike: bool,
) -> Witness {
    let shows = |drawn: &mut Drawn<'_>| {
        different(q, cones, drawn).is_some_and(|v| alike || is_far(q.fmt, v))
    };
    let order = drawn.order.clone();
    for &cell in order.iter().take(SIMPLER) {
        if q.limits.reached().is_some() {
            break;
        }
        let old = drawn.cells.insert(cell, 0);
        if !shows(&mut drawn)
            && let Some(old) = old
        {
            drawn.cells.insert(cell, old);
        }
    }
    let values = different(q, cones, &mut drawn).unwrap_or_default();
    let mut inputs: Vec<(ArrayId, u64, ElemTy, u64)> = drawn
        .cells
        .iter()
        .filter(|(_, bits)| **bits != 0)
        .map(|(&(array, index), &bits)| {
            let ty = elem(q.arrays.0.get(array.0 as usize));
            (array, index * ty.bytes().max(1), ty, bits)
        })
        .collect();
    inputs.sort_by_key(|i| (i.0, i.1));
    Witness { inputs, values }
}

/// The format of an element that is read as a float.
pub fn format(reader: Reader, declared: Option<ElemTy>, bytes: u8) -> Option<Fmt> {
    match (reader, declared, bytes) {
        (Reader::Bits, ..) => None,
        (_, Some(ElemTy::Float(f)), _) => Some(f),
        (Reader::Bf16, ..) => Some(Fmt::Bf16),
        (_, _, 2) => Some(Fmt::F16),
        (_, _, 8) => Some(Fmt::F64),
        _ => Some(Fmt::F32),
    }
}
