//! Is a condition true of every input, or false of one?
//!
//! Problem: an access at a place that data choose lies in its array if a condition over bits holds. Facts of the user, and
//! premises, hold of every input. The way to a proof: the Boolean back end (`decide::logic`), which is told what the facts
//! say of the elements below the condition, of each and of pairs. The way to an input: where facts leave the elements few
//! values, all of them; else their ends, and draws.
//!
//! Sound: what the back end is told holds of every input that the facts allow; an input that is found keeps all facts and
//! premises, which are evaluated.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::decide::logic::{self, Answer, Effort};
use crate::decide::refute::cells::{self, Cell};
use crate::decide::refute::links::Links;
use crate::number::random::Random;
use crate::spec::{Arrays, ElemTy, Limits};
use crate::term::eval::{Cone, Mode, Value};
use crate::term::facts::Elements;
use crate::term::{BitsOp, ICmp, Term, TermId, TermStore};

/// Candidates that are drawn.
const TRIED: u64 = 64;
/// Values of all bounded elements together beyond which not all are tried.
const ALL: u64 = 1 << 12;
/// Steps of one search over all values.
const STEPS: u64 = 1 << 22;
/// Terms of a condition that is proved.
const MOST_TERMS: usize = 1 << 12;
/// Elements of one array of which pairs are compared.
const PAIRS: usize = 16;

/// An input: elements with their bits.
pub type Input = Vec<(Cell, u64)>;

/// Whether a condition holds of every input that facts and premises allow.
pub(super) fn proved(
    store: &TermStore,
    cond: TermId,
    premises: &[TermId],
    limits: &Limits,
) -> bool {
    if let Some(known) = store.as_bool(cond) {
        return known;
    }
    let mut roots = vec![cond];
    if store.cone_size(roots.iter().copied()) > MOST_TERMS {
        return false;
    }
    let element = |t: &TermId| matches!(store.get(*t), Term::Bytes { .. });
    let number = |t: &TermId| matches!(store.get(*t), Term::Elem { .. });
    let below = store.reachable(&roots).into_iter();
    let asked: FxHashSet<TermId> = below.filter(|t| element(t) || number(t)).collect();
    // A premise that is large, or speaks of other elements, says nothing that is looked at.
    let small = |p: &&TermId| {
        store.cone_size([**p]) <= MOST_TERMS / 16
            && store.reachable(&[**p]).iter().any(|t| asked.contains(t))
    };
    roots.extend(premises.iter().filter(small).take(PAIRS));
    let conditions = roots.len();
    roots.extend(store.reachable(&roots).into_iter().filter(element));
    let mut own = TermStore::new();
    let images = own.import_below(store, &roots);
    // Said below, where it is of the terms.
    own.facts = Arc::new(store.facts.of_floats());
    own.premises.clear();
    let mut given = images[1..conditions].to_vec();
    let mut whole: Vec<(Elements, u64, TermId)> = Vec::new();
    for (&t, &image) in roots.iter().zip(&images).skip(conditions) {
        let Term::Bytes { array, off, width } = store.get(t) else {
            continue;
        };
        let range = store.integer_range(t);
        given.extend(within(&mut own, image, (width, range)));
        let Some(e) = store.facts.of(store.array_of(array)) else {
            continue;
        };
        let bytes = u64::from(e.width) / 8;
        if e.width == width && e.pow2 && range == (e.lo, e.hi) {
            given.push(power_of_two(&mut own, image, width));
        }
        if e.width == width && !array.is_place() && off.is_multiple_of(bytes) {
            whole.push((*e, off, image));
        }
    }
    whole.sort_unstable_by_key(|w| (w.0.array, w.1));
    for all in whole.chunk_by(|a, b| a.0.array == b.0.array) {
        let all = &all[..all.len().min(PAIRS)];
        for (i, (e, _, a)) in all.iter().enumerate() {
            if let Some((_, _, b)) = all.get(i + 1).filter(|_| e.sorted) {
                given.push(own.icmp(ICmp::SLe, *a, *b));
            }
            for (_, _, b) in all[i + 1..].iter().filter(|_| e.distinct) {
                let same = own.icmp(ICmp::Eq, *a, *b);
                given.push(own.not(same));
            }
        }
    }
    given.retain(|&c| own.as_bool(c).is_none());
    let holds = own.bool(true);
    let pair = (images[0], holds);
    logic::prove(&own, pair, &given, Effort::Thorough, limits) == Answer::Proved
}

/// That an integer lies in a range, if that says anything.
fn within(store: &mut TermStore, t: TermId, (width, (lo, hi)): (u8, (i128, i128))) -> Vec<TermId> {
    let half = 1i128 << (width.clamp(1, 64) - 1);
    let mut out = Vec::new();
    if lo > -half {
        let least = store.bits(width, lo as u64);
        out.push(store.icmp(ICmp::SLe, least, t));
    }
    if hi < half - 1 {
        let most = store.bits(width, hi as u64);
        out.push(store.icmp(ICmp::SLe, t, most));
    }
    out
}

fn power_of_two(store: &mut TermStore, t: TermId, width: u8) -> TermId {
    let minus = store.bits(width, u64::MAX);
    let below = store.bits_op(BitsOp::Add, t, minus);
    let common = store.bits_op(BitsOp::And, t, below);
    let zero = store.bits(width, 0);
    store.icmp(ICmp::Eq, common, zero)
}

/// An input on which everything that holds of all inputs does, and a condition does not; it says also what a place
/// depends on.
pub(super) fn refuted(
    store: &TermStore,
    (cond, place): (TermId, TermId),
    premises: &[TermId],
    arrays: &Arrays,
    seed: u64,
) -> Option<Input> {
    let mut roots = vec![cond, place];
    roots.extend(premises);
    let cone = Cone::new(store, &roots);
    let cells = cells::cells(store, &cone, arrays);
    let goal = Cone::new(store, &[cond]);
    let links = Links::new(store, &cells, premises);
    let mut random = Random(seed);
    let fails = |values: &[u64]| {
        let inputs = cells::inputs(&cells, values);
        let at = goal.evaluate(store, &inputs, Mode::exact(64));
        at == [Value::Bool(false)]
    };
    let settled = |values: &[u64]| match &links {
        Some(l) => l.settled(store, &cells, values),
        None => Some(values.to_vec()),
    };
    let (least, count) = links.as_ref().map_or((0, 1 << 24), |l| l.range());
    let bounded = bounded(store, &cells, &goal);
    let sizes = bounded.iter().map(|(_, lo, hi)| (hi - lo + 1) as u64);
    let all = sizes.fold(1, u64::saturating_mul);
    let steps = all.saturating_mul(cone.size() as u64);
    // Few are tried with several values of what no fact bounds.
    let all = match bounded.is_empty() || all > ALL || steps > STEPS {
        true => 0,
        false => all * (TRIED / all).max(1),
    };
    for n in 0..all + TRIED {
        // What no fact bounds is drawn as ever.
        let turn = n.saturating_sub(all) + if n < all { n % TRIED } else { 0 };
        let pick = |random: &mut Random| match turn {
            // The ends of what is admissible come first.
            0 => least + count - 1,
            1 => least,
            2..8 => least + count.saturating_sub(turn),
            8..16 => least + (random.draw() % 64) % count,
            16..32 => (random.draw() % 8).wrapping_sub(4),
            32..40 => random.draw(),
            _ => least + random.draw() % count,
        };
        let mut values: Vec<u64> = cells
            .iter()
            .map(|c| match c.ty {
                ElemTy::Float(_) => number(store, c, turn, &mut random),
                ElemTy::Int { .. } => pick(&mut random) & mask(c),
            })
            .collect();
        let mut rest = n;
        for &(i, lo, hi) in &bounded {
            let size = (hi - lo + 1) as u64;
            let v = match (n < all, turn) {
                // The largest value first.
                (true, _) => hi - i128::from(rest % size),
                (false, 0) => hi,
                (false, 1) => lo,
                (false, _) => match random.draw() % 4 {
                    0 => lo,
                    1 => hi,
                    _ => lo + i128::from(random.draw() % size),
                },
            };
            rest /= size;
            values[i] = v as u64 & mask(&cells[i]);
        }
        let Some(values) = settled(&values) else {
            continue;
        };
        if fails(&values) {
            return Some(cells.iter().copied().zip(values).collect());
        }
    }
    None
}

/// The bits of a cell.
fn mask(c: &Cell) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(c.bytes.clamp(1, 8)))
}

/// The cells below a condition that facts bound, with their ends.
fn bounded(store: &TermStore, cells: &[Cell], goal: &Cone) -> Vec<(usize, i128, i128)> {
    let read = |c: &Cell| {
        goal.ids().iter().any(|&t| match store.get(t) {
            Term::Bytes { array, off, .. } => (array, off) == (c.array, c.off),
            _ => false,
        })
    };
    let known = |(i, c): (usize, &Cell)| {
        let e = store.facts.of(store.array_of(c.array))?;
        let whole = e.is_bounded() && e.width == 8 * c.bytes;
        (whole && read(c)).then_some((i, e.lo, e.hi))
    };
    cells.iter().enumerate().filter_map(known).collect()
}

/// The bits of a float of a candidate: the ends of its range first, if the user gave one.
fn number(store: &TermStore, c: &Cell, n: u64, random: &mut Random) -> u64 {
    let known = store.facts.numbers_of(store.array_of(c.array));
    let ends = known.map_or((-1e9, 1e9), |k| k.ends());
    let size = (-20.0 + (random.draw() % 50) as f64).exp2();
    let v = match n % 8 {
        0 => ends.1,
        1 => ends.0,
        2 => ends.0 / 2.0 + ends.1 / 2.0,
        3 => (random.draw() % 16) as f64 - 8.0,
        _ if random.draw().is_multiple_of(2) => -size,
        _ => size,
    };
    cells::encode(c.ty, v)
}
