//! Candidates that respect what symbols at places that data choose stand for.
//!
//! Problem: `table[ids[0]]`, `table[ids[1]]` and `table[3]` are three symbols (`term::gather`), and one element where the
//! indices say so; and an input counts only if all that is taken for granted of it holds: places inside of their arrays,
//! the facts that the user gave. The way: indices are brought into the largest range that keeps them inside, places are
//! evaluated, and symbols at one place get one value, that of the first.
//!
//! Sound: a candidate that is not rejected gives each byte of each array one value, and all premises hold of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::cells::{Cell, inputs};
use crate::spec::ElemTy;
use crate::term::eval::{Cone, Inputs, Mode, Value};
use crate::term::facts::{Elements, Facts, Numbers};
use crate::term::{ArrayId, ICmp, Term, TermId, TermStore, gather};

/// The evaluation is of integers: any precision does.
const MODE: Mode = Mode::exact(64);
/// The largest index that is tried.
const LARGEST: u64 = 1 << 24;
/// Premises of terms beyond which those that share no input with the goals are left aside.
const MOST_TERMS: usize = 1 << 14;

/// A place of some cells.
#[derive(Debug)]
struct Placed {
    symbols: ArrayId,
    array: ArrayId,
    coefficients: Vec<i64>,
    terms: Cone,
    /// The cells, by their numbers.
    cells: Vec<usize>,
}

/// Which facts a candidate keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    All,
    /// What is said of each element alone.
    Ranges,
    /// All, and indices are admissible.
    Inside,
}

/// What is prepared once for a search.
#[derive(Debug)]
pub struct Links {
    places: Vec<Placed>,
    premises: Cone,
    /// The cells that places and premises depend on, and integers that they are compared with.
    indices: Vec<usize>,
    special: Vec<u64>,
    /// The least index that is admissible everywhere, and how many follow it.
    range: (u64, u64),
    /// What the user says of the data.
    facts: Arc<Facts>,
}

/// The premises that matter for some goals: those that share an input with them, or with one that does.
pub fn premises(store: &TermStore, roots: &[TermId]) -> Vec<TermId> {
    let all = &store.premises;
    if all.is_empty() || store.cone_size(all.iter().copied()) <= MOST_TERMS {
        return all.clone();
    }
    let reads = |roots: &[TermId]| -> Vec<(ArrayId, u64)> {
        let read = |t: TermId| match store.get(t) {
            Term::Elem { array, off, .. } | Term::Bytes { array, off, .. } => Some((array, off)),
            _ => None,
        };
        store
            .reachable(roots)
            .into_iter()
            .filter_map(read)
            .collect()
    };
    let mut seen: FxHashSet<(ArrayId, u64)> = reads(roots).into_iter().collect();
    let mut rest: Vec<(TermId, Vec<(ArrayId, u64)>)> =
        all.iter().map(|&p| (p, reads(&[p]))).collect();
    let mut out = Vec::new();
    loop {
        let (met, other): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|(_, r)| r.iter().any(|c| seen.contains(c)));
        rest = other;
        if met.is_empty() {
            return out;
        }
        for (p, r) in met {
            out.push(p);
            seen.extend(r);
        }
    }
}

impl Links {
    /// `None` if nothing is linked.
    pub fn new(store: &TermStore, cells: &[Cell], premises: &[TermId]) -> Option<Links> {
        let mut of: BTreeMap<ArrayId, Vec<usize>> = BTreeMap::new();
        for (i, c) in cells.iter().enumerate() {
            if c.array.is_place() {
                of.entry(c.array).or_default().push(i);
            }
        }
        let facts = store.facts.clone();
        if of.is_empty() && premises.is_empty() && facts.is_empty() {
            return None;
        }
        let mut roots = premises.to_vec();
        let places: Vec<Placed> = of
            .into_iter()
            .filter_map(|(symbols, cells)| {
                let place = store.place_of(symbols)?;
                let terms: Vec<TermId> = place.form.iter().map(|f| f.0).collect();
                roots.extend(&terms);
                Some(Placed {
                    symbols,
                    array: place.array,
                    coefficients: place.form.iter().map(|f| f.1).collect(),
                    terms: Cone::new(store, &terms),
                    cells,
                })
            })
            .collect();
        let below = Cone::new(store, &roots);
        let mut links = Links {
            indices: indices(store, &below, cells),
            special: special(store, &below),
            places,
            premises: Cone::new(store, premises),
            range: (0, 1),
            facts,
        };
        links.range = links.admissible(store, cells);
        Some(links)
    }

    /// The least index that all may have at once, and how many follow it.
    pub(crate) fn range(&self) -> (u64, u64) {
        self.range
    }

    /// The same, looked for.
    fn admissible(&self, store: &TermStore, cells: &[Cell]) -> (u64, u64) {
        let mut values = vec![0; cells.len()];
        let mut holds = |v: u64| {
            for &i in &self.indices {
                values[i] = v & keep(&cells[i]);
            }
            self.resolved(store, cells, &values, Keep::Ranges).is_some()
        };
        let Some(least) = (0..64).find(|&v| holds(v)) else {
            return (0, 1);
        };
        let (mut low, mut high) = (least, LARGEST);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match holds(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        (least, low - least + 1)
    }

    /// The candidate with indices that are admissible and one value for each element; `None` if it is no input that
    /// counts.
    pub fn settled(&self, store: &TermStore, cells: &[Cell], values: &[u64]) -> Option<Vec<u64>> {
        if let Some(v) = self.resolved(store, cells, values, Keep::All) {
            return Some(v);
        }
        let (least, count) = self.range;
        // Once with integers that the kernels compare with among the indices.
        for with_special in [true, false] {
            let mut moved = values.to_vec();
            for (k, &i) in self.indices.iter().enumerate() {
                let v = values[i];
                let is_special = self.special.contains(&v);
                let draw = v.wrapping_mul(31).wrapping_add(k as u64);
                let turn = self
                    .special
                    .get((draw / 5) as usize % self.special.len().max(1));
                moved[i] = match turn {
                    Some(&s) if with_special && (is_special || draw.is_multiple_of(5)) => s,
                    _ => least + signed(&cells[i], v).unsigned_abs() % count,
                } & keep(&cells[i]);
            }
            if let Some(v) = self.resolved(store, cells, &moved, Keep::Inside) {
                return Some(v);
            }
        }
        None
    }

    /// The candidate with one value for each element, if all premises hold of it.
    fn resolved(
        &self,
        store: &TermStore,
        cells: &[Cell],
        values: &[u64],
        keep: Keep,
    ) -> Option<Vec<u64>> {
        let mut values = values.to_vec();
        let facts = self.facts.all().iter().map(|f| match keep {
            Keep::All => *f,
            Keep::Ranges => f.range_alone(),
            Keep::Inside => f.within(self.range.0.into(), self.range.1.into()),
        });
        let facts: Vec<Elements> = facts.collect();
        settle_facts(&facts, cells, &mut values);
        settle_numbers(&self.facts, cells, &mut values, |c| {
            let place = self.places.iter().find(|p| p.symbols == c.array);
            place.map_or(c.array, |p| p.array)
        });
        let mut known = inputs(cells, &values);
        if !self.places.is_empty() || !self.facts.is_empty() {
            let mut bytes = Bytes::new();
            for (c, &v) in cells.iter().zip(&values) {
                if !c.array.is_place() {
                    for (k, b) in v.to_le_bytes()[..c.bytes as usize].iter().enumerate() {
                        bytes.insert((c.array, c.off as i64 + k as i64), *b);
                    }
                }
            }
            for p in &self.places {
                let at = p.distance(store, &known)?;
                for &i in &p.cells {
                    let c = &cells[i];
                    let first = at.checked_add(gather::distance(c.off))?;
                    let mut all = [0u8; 8];
                    for (k, own) in values[i].to_le_bytes()[..c.bytes as usize]
                        .iter()
                        .enumerate()
                    {
                        let place = (p.array, first.checked_add(k as i64)?);
                        all[k] = *bytes.entry(place).or_insert(*own);
                    }
                    values[i] = u64::from_le_bytes(all);
                    known.set(c.array, c.off, c.bytes, values[i]);
                }
            }
            let numbers = self.facts.numbers().iter();
            if !facts.iter().all(|f| allows(f, &bytes))
                || !numbers.clone().all(|n| allows_numbers(n, &bytes))
            {
                return None;
            }
        }
        let holds = self.premises.evaluate(store, &known, MODE);
        let all = holds.iter().all(|v| *v == Value::Bool(true));
        all.then_some(values)
    }

    /// Cells as what they stand for, each once: those at places that data choose by the elements there.
    pub(crate) fn concrete(&self, store: &TermStore, found: &[(Cell, u64)]) -> Vec<(Cell, u64)> {
        let mut known = Inputs::default();
        for (c, v) in found {
            known.set(c.array, c.off, c.bytes, *v);
        }
        let mut out: BTreeMap<(ArrayId, u64), (Cell, u64)> = BTreeMap::new();
        let (at_places, plain): (Vec<_>, Vec<_>) =
            found.iter().copied().partition(|(c, _)| c.array.is_place());
        for (c, v) in plain {
            out.insert((c.array, c.off), (c, v));
        }
        for (c, v) in at_places {
            let place = self.places.iter().find(|p| p.symbols == c.array);
            let at = place.and_then(|p| Some((p, p.distance(store, &known)?)));
            if let Some((p, at)) = at {
                let off = at.wrapping_add(gather::distance(c.off)) as u64;
                let cell = Cell {
                    array: p.array,
                    off,
                    ..c
                };
                out.entry((p.array, off)).or_insert((cell, v));
            }
        }
        out.into_values().collect()
    }
}

impl Placed {
    fn distance(&self, store: &TermStore, known: &Inputs) -> Option<i64> {
        let all = self.terms.evaluate(store, known, MODE);
        let mut sum = 0i64;
        let widths = self.terms.roots().iter().map(|&r| {
            let t = self.terms.ids()[r as usize];
            store.width(t)
        });
        for ((v, k), w) in all.iter().zip(&self.coefficients).zip(widths) {
            let Value::Bits(b) = v else { return None };
            let i = crate::term::sext(*b, w);
            sum = sum.checked_add(i.checked_mul(*k)?)?;
        }
        Some(sum)
    }
}

/// The inputs that a cell's symbols stand for, as they are shown.
pub fn concrete(store: &TermStore, found: &[(Cell, u64)]) -> Vec<(Cell, u64)> {
    if found.iter().all(|(c, _)| !c.array.is_place()) {
        return found.to_vec();
    }
    let cells: Vec<Cell> = found.iter().map(|f| f.0).collect();
    let links = Links::new(store, &cells, &[]);
    links.map_or_else(|| found.to_vec(), |l| l.concrete(store, found))
}

/// Values of cells as ones of which all facts hold, as far as that takes no search.
fn settle_facts(facts: &[Elements], cells: &[Cell], values: &mut [u64]) {
    for f in facts {
        let bytes = f.width / 8;
        let own = |c: &Cell| {
            c.array == f.array && c.bytes == bytes && c.off.is_multiple_of(u64::from(bytes))
        };
        let mut mine: Vec<usize> = (0..cells.len()).filter(|&i| own(&cells[i])).collect();
        mine.sort_unstable_by_key(|&i| cells[i].off);
        let value = |&i: &usize| {
            let (c, v) = (&cells[i], values[i]);
            (c.off / u64::from(bytes), i128::from(signed(c, v)))
        };
        let mut elements: Vec<(u64, i128)> = mine.iter().map(value).collect();
        f.settle(&mut elements);
        for (i, (_, v)) in mine.into_iter().zip(elements) {
            values[i] = v as u64 & keep(&cells[i]);
        }
    }
}

/// Floats of which something is said, as ones that are such; of each cell the array whose element it is.
fn settle_numbers(
    facts: &Facts,
    cells: &[Cell],
    values: &mut [u64],
    array: impl Fn(&Cell) -> ArrayId,
) {
    if facts.numbers().is_empty() {
        return;
    }
    for (c, v) in cells.iter().zip(values) {
        let fact = facts.numbers_of(array(c));
        if let Some(n) = fact.filter(|n| u32::from(c.bytes) * 8 == n.fmt.bits()) {
            *v = n.settled(*v);
        }
    }
}

/// Bytes of arrays.
type Bytes = BTreeMap<(ArrayId, i64), u8>;

/// Whether the elements of an array that are known are such as a fact says.
fn allows(f: &Elements, bytes: &Bytes) -> bool {
    let Some(all) = elements(f.array, f.width, bytes) else {
        return false;
    };
    let integer = |(at, bits): (u64, u64)| (at, i128::from(crate::term::sext(bits, f.width)));
    let all: Vec<(u64, i128)> = all.into_iter().map(integer).collect();
    f.allow(&all)
}

/// The same of floats.
fn allows_numbers(n: &Numbers, bytes: &Bytes) -> bool {
    let all = elements(n.array, n.fmt.bits() as u8, bytes);
    all.is_some_and(|all| all.into_iter().all(|(_, bits)| n.allows(bits)))
}

/// The elements of an array that are known, with their positions; `None` if one is known in part.
fn elements(array: ArrayId, width: u8, bytes: &Bytes) -> Option<Vec<(u64, u64)>> {
    let size = i64::from(width) / 8;
    let mine = bytes.range((array, i64::MIN)..=(array, i64::MAX));
    let mut elements: Vec<(u64, u64)> = Vec::new();
    let mut mine = mine.map(|(&(_, at), &b)| (at, b)).peekable();
    while let Some(&(first, _)) = mine.peek() {
        let mut bits = 0u64;
        for k in 0..size {
            match mine.next_if(|x| x.0 == first + k) {
                Some((_, b)) => bits |= u64::from(b) << (8 * k),
                None => return None,
            }
        }
        if first % size != 0 {
            return None;
        }
        elements.push((u64::try_from(first / size).ok()?, bits));
    }
    Some(elements)
}

/// Values of cells as ones of which all facts hold; false if none were found.
pub fn within_facts(facts: &Facts, cells: &[Cell], values: &mut [u64]) -> bool {
    settle_facts(facts.all(), cells, values);
    settle_numbers(facts, cells, values, |c| c.array);
    let mut bytes = Bytes::new();
    for (c, v) in cells.iter().zip(&*values) {
        for (k, b) in v.to_le_bytes()[..c.bytes as usize].iter().enumerate() {
            bytes.insert((c.array, c.off as i64 + k as i64), *b);
        }
    }
    facts.all().iter().all(|f| allows(f, &bytes))
        && facts.numbers().iter().all(|n| allows_numbers(n, &bytes))
}

fn keep(c: &Cell) -> u64 {
    u64::MAX >> (64 - 8 * u32::from(c.bytes.clamp(1, 8)))
}

fn signed(c: &Cell, v: u64) -> i64 {
    crate::term::sext(v, 8 * c.bytes.clamp(1, 8))
}

/// The integers among the cells that terms read.
fn indices(store: &TermStore, below: &Cone, cells: &[Cell]) -> Vec<usize> {
    let mut reads: FxHashSet<(ArrayId, u64)> = FxHashSet::default();
    for &t in below.ids() {
        if let Term::Bytes { array, off, width } = store.get(t) {
            reads.extend((off..off + u64::from(width) / 8).map(|o| (array, o)));
        }
    }
    let read =
        |c: &Cell| (c.off..c.off + u64::from(c.bytes)).any(|o| reads.contains(&(c.array, o)));
    let integer = |c: &Cell| matches!(c.ty, ElemTy::Int { .. });
    let all = cells.iter().enumerate();
    all.filter(|(_, c)| integer(c) && read(c))
        .map(|(i, _)| i)
        .collect()
}

/// The integers that indices are compared with, and those beside them.
fn special(store: &TermStore, below: &Cone) -> Vec<u64> {
    let mut out = Vec::new();
    for &t in below.ids() {
        if let Term::ICmp(op, a, b) = store.get(t)
            // The bounds of arrays are no indices.
            && (op, store.width(a)) != (ICmp::ULe, 64)
            && let Some(c) = store.as_bits(a).or_else(|| store.as_bits(b))
        {
            out.push(c);
            if op != ICmp::Eq {
                out.extend([c.wrapping_add(1), c.wrapping_sub(1)]);
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    out.truncate(32);
    out
}
