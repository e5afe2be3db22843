//! One row of a run, in the names of row 0 of the smallest instance.
//!
//! Problem: row i is the function of its inputs that row 0 is, if both are one term once the elements of row i of the named
//! arrays have the names of those of row 0. Every other row of a named array is a stranger: it gets a name that
//! the other side has nowhere, so that what reads it differs, even if row 0 reads a row of the same name.

use crate::sim::{Outcome, Writes};
use crate::spec::{Array, ElemTy};
use crate::term::rebuild::rebuild;
use crate::term::{ArrayId, Sort, Term, TermId, TermStore};

/// A named array in an instance: where its rows lie, there and in the smallest instance.
#[derive(Clone, Debug)]
pub struct Named {
    /// The array, in its instance.
    pub id: ArrayId,
    /// The same array in the smallest instance.
    pub own: ArrayId,
    /// The array of the elements of other rows, which no other side has.
    pub strangers: ArrayId,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// Its dimensions in the smallest instance.
    pub small: Vec<u64>,
    /// The dimension of the rows.
    pub dimension: usize,
    /// The type of its elements.
    pub elem: ElemTy,
}

impl Named {
    /// A named array of an instance, beside itself in the smallest one.
    pub fn new(
        [id, own]: [ArrayId; 2],
        strangers: ArrayId,
        dimension: usize,
        [here, small]: [&Array; 2],
    ) -> Option<Named> {
        Some(Named {
            id,
            own,
            strangers,
            shape: here.shape.clone(),
            small: small.shape.clone(),
            dimension,
            elem: here.elem?,
        })
    }

    fn size(&self) -> u64 {
        self.elem.bytes().max(1)
    }

    /// The row of an element, and its place in row 0 of the smallest instance, if that has one.
    fn place(&self, flat: u64) -> (u64, Option<u64>) {
        let mut rest = flat;
        let mut index = vec![0; self.shape.len()];
        for k in (0..self.shape.len()).rev() {
            let extent = self.shape[k].max(1);
            index[k] = rest % extent;
            rest /= extent;
        }
        let row = std::mem::take(&mut index[self.dimension]);
        let inside = rest == 0 && index.iter().zip(&self.small).all(|(i, n)| i < n);
        let at = index
            .iter()
            .zip(&self.small)
            .fold(0, |at, (i, n)| at * n + i);
        (row, inside.then_some(at))
    }

    /// Where some bytes of one element are, in the names of row 0.
    fn renamed(&self, row: u64, off: u64) -> (ArrayId, u64) {
        let size = self.size();
        match self.place(off / size) {
            (r, Some(at)) if r == row => (self.own, at * size + off % size),
            _ => (self.strangers, off),
        }
    }
}

/// The arrays of an instance in the names of the smallest one.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// The arrays whose rows are compared.
    pub outputs: Vec<Named>,
    /// The arrays of which a row is made of the same row alone.
    pub inputs: Vec<Named>,
    /// Each array of the instance, as what it is in the smallest one if it is read whole.
    pub whole: Vec<ArrayId>,
}

impl Renaming {
    fn named(&self, a: ArrayId) -> Option<&Named> {
        self.inputs.iter().find(|n| n.id == a)
    }

    /// An array that is read whole, if it has another name in the smallest instance.
    fn moved(&self, a: ArrayId) -> Option<ArrayId> {
        self.whole.get(a.0 as usize).copied().filter(|&b| a != b)
    }
}

/// What a run leaves in one row of its outputs, in the names of row 0; `None` if data choose a place in an array that has
/// another name there.
pub fn row(whole: &Outcome, names: &Renaming, row: u64) -> Option<Outcome> {
    let mut from = whole.store.clone();
    let mut parts: Vec<(ArrayId, u64, TermId)> = Vec::new();
    for named in &names.outputs {
        let Some(writes) = whole.writes.get(&named.id) else {
            continue;
        };
        for (off, t) in pieces(&mut from, writes, named.size()) {
            let (array, at) = named.renamed(row, off);
            if array == named.own {
                parts.push((array, at, t));
            }
        }
    }
    let roots: Vec<TermId> = parts.iter().map(|p| p.2).collect();
    let chosen = from
        .reachable(&roots)
        .into_iter()
        .any(|t| match from.get(t) {
            Term::Bytes { array, .. } | Term::Elem { array, .. } => {
                let of = from.array_of(array);
                array.is_place() && (names.named(of).is_some() || names.moved(of).is_some())
            }
            _ => false,
        });
    if chosen {
        return None;
    }
    let mut store = TermStore::new();
    let images = rebuild(&from, &roots, &mut store, |into, t, images| {
        match from.get(t) {
            Term::Bytes { array, off, width } => {
                if let Some(named) = names.named(array) {
                    return Some(bytes(into, named, row, off, width));
                }
                Some(into.bytes(names.moved(array)?, off, width))
            }
            Term::Elem { array, fmt, off } => {
                let (array, off) = match names.named(array) {
                    Some(named) => named.renamed(row, off),
                    None => (names.moved(array)?, off),
                };
                Some(into.elem(array, fmt, off))
            }
            Term::Word(word) => {
                let operands: Vec<TermId> = word.operands().map(|c| images.of(c)).collect();
                let image = into.word(word.operation(&from), &operands);
                if let Some(origin) = from.origin(t) {
                    into.note_origin(image, origin);
                }
                Some(image)
            }
            _ => None,
        }
    });
    let mut out = Outcome {
        store,
        ..Outcome::default()
    };
    for ((array, at, _), t) in parts.into_iter().zip(images) {
        out.writes.entry(array).or_default().insert(at, t);
    }
    Some(out)
}

/// Input bytes, element by element.
fn bytes(into: &mut TermStore, named: &Named, row: u64, off: u64, width: u8) -> TermId {
    let (size, end) = (named.size(), off + u64::from(width) / 8);
    let (mut at, mut parts) = (off, Vec::new());
    while at < end {
        let stop = end.min((at / size + 1) * size);
        let (array, start) = named.renamed(row, at);
        parts.push(into.bytes(array, start, (stop - at) as u8 * 8));
        at = stop;
    }
    into.concat(&parts)
}

/// What was written, cut where elements begin.
fn pieces(store: &mut TermStore, writes: &Writes, size: u64) -> Vec<(u64, TermId)> {
    let mut out = Vec::new();
    for (&off, &t) in writes {
        let bytes = match store.sort(t) {
            Sort::Bits(w) => u64::from(w) / 8,
            Sort::Real | Sort::Bool => 0,
        };
        let (mut at, end) = (off, off + bytes);
        while at < end {
            let stop = end.min((at / size + 1) * size);
            let part = store.extract(t, (at - off) as u8 * 8, (stop - at) as u8 * 8);
            out.push((at, part));
            at = stop;
        }
    }
    out
}
