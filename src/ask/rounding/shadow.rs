//! What outputs are over the reals: the terms of the reference, evaluated at an input.
//!
//! The problem: an error needs a truth beside it. The terms of a clean run say what every element is as a formula over
//! the reals, so their value is the truth for both kernels of a pair that is equivalent. They are evaluated in doubles,
//! whose own error is 2^29 times below that of f32, and what a report shows is evaluated once more by
//! [`crate::term::eval`], with known error. Outputs in f64 are evaluated that way from the first.
//!
//! Not claimed: a constant of the kernels that stands for a number which f32 does not have is what its bits say, so
//! that its rounding counts for neither kernel.

use num_rational::BigRational;
use num_traits::ToPrimitive;
use rustc_hash::FxHashSet;

use crate::decide::goal::is_compared;
use crate::decide::refute::cells::{self, Cell};
use crate::kernel::Fmt;
use crate::number;
use crate::sim::Outcome;
use crate::spec::{Arrays, ElemTy};
use crate::term::approx::Fast;
use crate::term::eval::{Cone, Inputs, Mode, Value};
use crate::term::{ArrayId, Sort, Term, TermId, TermStore};

use super::limits::{LIMITS, PRECISION};

/// An element of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub array: ArrayId,
    pub off: u64,
    pub fmt: Fmt,
    term: TermId,
}

/// The elements of a reference.
pub(crate) struct Shadow {
    pub store: TermStore,
    pub elements: Vec<Element>,
    pub cells: Vec<Cell>,
    /// Elements that there are.
    pub all: usize,
    cone: Cone,
    constants: Vec<f64>,
}

/// The value of an element over the reals.
#[derive(Clone, Debug)]
pub(crate) enum Real {
    /// Near this double.
    Near(f64),
    /// Between these.
    Between(BigRational, BigRational),
    /// None that is known to be finite.
    Open,
}

impl Shadow {
    /// The elements of floats that a run wrote; of too many some, evenly spread.
    pub(crate) fn new(reference: &Outcome, arrays: &Arrays) -> Shadow {
        let mut store = reference.store.clone();
        let mut elements = Vec::new();
        for (&array, writes) in &reference.writes {
            if !is_compared(&arrays[array]) {
                continue;
            }
            for (&off, &t) in writes {
                parts(
                    &mut store,
                    (array, arrays[array].elem),
                    off,
                    t,
                    &mut elements,
                );
            }
        }
        let all = elements.len();
        let wide = elements.iter().any(|e| e.fmt == Fmt::F64);
        let most = if wide {
            LIMITS.wide_terms
        } else {
            LIMITS.terms
        };
        let mut step = 1;
        loop {
            let some: Vec<Element> = elements.iter().copied().step_by(step).collect();
            let roots: Vec<TermId> = some.iter().map(|e| e.term).collect();
            let cone = Cone::new(&store, &roots);
            if cone.size() <= most || some.len() <= 1 {
                // Inputs are drawn for all elements, so that those that are left out are no other sums.
                let roots: Vec<TermId> = elements.iter().map(|e| e.term).collect();
                let whole = Cone::new(&store, &roots);
                let mut cells = cells::cells(&store, &whole, arrays);
                cells.retain(|c| !c.array.is_place());
                add_assumed(&mut cells, &store, arrays);
                return Shadow {
                    cells,
                    constants: cone.constants(&store),
                    elements: some,
                    all,
                    cone,
                    store,
                };
            }
            step *= 2;
        }
    }

    /// Terms and edges that an input costs.
    pub(crate) fn size(&self) -> u64 {
        self.cone.size() as u64
    }

    /// The cells with their values, as evaluation reads them.
    pub(crate) fn inputs(&self, values: &[u64]) -> Inputs {
        let mut out = Inputs::default();
        for (c, v) in self.cells.iter().zip(values) {
            out.set(c.array, c.off, c.bytes, *v);
        }
        out
    }

    /// The values of all elements.
    pub(crate) fn values(&self, inputs: &Inputs) -> Vec<Real> {
        if self.elements.iter().any(|e| e.fmt == Fmt::F64) {
            let all = self
                .cone
                .evaluate(&self.store, inputs, Mode::exact(PRECISION));
            return all.iter().map(real).collect();
        }
        let mut scratch: Vec<Fast> = Vec::new();
        let all = self
            .cone
            .approximate(&self.store, &self.constants, inputs, &mut scratch);
        // Doubles overflow too, which says nothing of the reals.
        let mut exactly = LIMITS.beyond_doubles;
        let mut near = |(v, e): (&Fast, &Element)| match v.f {
            x if x.is_finite() => Real::Near(x),
            _ if exactly > 0 => {
                exactly -= 1;
                self.exactly(e, inputs).0
            }
            _ => Real::Open,
        };
        all.iter().zip(&self.elements).map(&mut near).collect()
    }

    /// The value of one element, with known error.
    pub(crate) fn exactly(&self, e: &Element, inputs: &Inputs) -> (Real, Value) {
        let cone = Cone::new(&self.store, &[e.term]);
        let mut all = cone.evaluate(&self.store, inputs, Mode::exact(PRECISION));
        let value = all.pop().unwrap_or(Value::Undecided);
        (real(&value), value)
    }
}

/// Adds the elements of which something is assumed and that no term reads: the kernels do, and are measured on inputs that are
/// allowed.
fn add_assumed(cells: &mut Vec<Cell>, store: &TermStore, arrays: &Arrays) {
    let known: FxHashSet<(ArrayId, u64)> = cells.iter().map(|c| (c.array, c.off)).collect();
    for n in store.facts.numbers() {
        let Some(array) = arrays.0.get(n.array.0 as usize) else {
            continue;
        };
        let (elem, extent) = (array.elem, array.extent.unwrap_or(0));
        let Some(ty) = elem.filter(|ty| *ty == ElemTy::Float(n.fmt)) else {
            continue;
        };
        let all = (0..extent.min(LIMITS.drawn_bytes)).step_by(ty.bytes() as usize);
        let open = all.filter(|off| array.initial.is_none() && !known.contains(&(n.array, *off)));
        cells.extend(open.map(|off| Cell {
            array: n.array,
            off,
            bytes: ty.bytes() as u8,
            ty,
        }));
    }
    cells.sort_by_key(|c| (c.array, c.off));
}

/// The floats in a piece of what was written.
fn parts(
    store: &mut TermStore,
    (array, bound): (ArrayId, Option<ElemTy>),
    off: u64,
    t: TermId,
    out: &mut Vec<Element>,
) {
    let pieces: Vec<TermId> = match store.get(t) {
        Term::Concat(list) => list.iter().map(|&i| TermId(i)).collect(),
        _ => vec![t],
    };
    let mut off = off;
    for piece in pieces {
        let Sort::Bits(width) = store.sort(piece) else {
            return;
        };
        let found = match (store.get(piece), bound) {
            (Term::OfReal { fmt, real }, _) => Some((fmt, store.face(real))),
            (_, Some(ElemTy::Float(fmt))) if fmt.bits() == u32::from(width) => {
                Some((fmt, store.of_bits(fmt, piece)))
            }
            _ => None,
        };
        if let Some((fmt, term)) = found
            && width % 8 == 0
            && fmt.bits() == u32::from(width)
        {
            out.push(Element {
                array,
                off,
                fmt,
                term,
            });
        }
        off += u64::from(width) / 8;
    }
}

fn real(v: &Value) -> Real {
    match v {
        Value::Exact(q) => Real::Between(q.clone(), q.clone()),
        Value::Interval(i) => match (i.lo.to_rational(), i.hi.to_rational()) {
            (Some(lo), Some(hi)) => Real::Between(lo, hi),
            _ => Real::Open,
        },
        _ => Real::Open,
    }
}

impl Real {
    /// The nearest double, if it is a number.
    pub(crate) fn near(&self) -> Option<f64> {
        match self {
            Real::Near(x) => Some(*x),
            Real::Between(lo, _) => lo.to_f64().filter(|x| x.is_finite()),
            Real::Open => None,
        }
    }

    /// How far a finite number of the machine is from it, at least.
    pub(crate) fn distance(&self, fmt: Fmt, bits: u64) -> Option<f64> {
        match self {
            Real::Near(y) => Some((number::to_double(fmt, bits) - y).abs()),
            Real::Between(lo, hi) => {
                let x = crate::term::decode(fmt, bits).ok()?;
                let far = (lo - &x).max(&x - hi);
                Some(far.to_f64()?.max(0.0))
            }
            Real::Open => None,
        }
    }
}
