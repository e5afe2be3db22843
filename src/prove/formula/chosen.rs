//! Elements of a formula at places that data choose: `table[ids[i], j]`.
//!
//! Problem: an index may be an integer that depends on data. As in the simulator (`sim::gather`), what the array holds
//! there before the launch is a function of the place, which is the same symbol where a kernel reads at the same integer
//! linear form. The formula is defined only where each index lies in its dimension, so each read is noted with the
//! conditions under which it is made: those of the choices (`if`) and of the reductions that it stands in.
//!
//! Sound: noted reads are part of the reference's being defined, so noting too little would let an input refute a kernel
//! on which the formula has no value, and noting too much would claim less. An element of an intermediate array is built once
//! and its reads are noted again, under the conditions there, wherever it is used.
//!
//! Not claimed: anything about intermediate arrays at such places, and about arrays whose contents are known.

use std::rc::Rc;

use smallvec::SmallVec;

use super::ast::ExprId;
use super::build::{Builder, Built, Key, Stop};
use super::error::Problem;
use super::integer::Int;
use super::symbols::{ArraySymbol, dense_strides};
use super::word::Word;
use crate::kernel::Pc;
use crate::sim::gather::{Gather, Object};
use crate::sim::{Site, UnknownKind};
use crate::term::gather::{Place, offset};
use crate::term::{ArrayId, BitsOp, TermId};

/// Bits of a place.
const WIDE: u8 = 64;

impl Builder<'_> {
    /// Builds something that counts only where a condition holds.
    pub(super) fn under<T>(
        &mut self,
        cond: Option<TermId>,
        build: impl FnOnce(&mut Self) -> Built<T>,
    ) -> Built<T> {
        self.conds.extend(cond);
        let out = build(self)?;
        if cond.is_some() {
            self.conds.pop();
        }
        Ok(out)
    }

    /// Builds something that is kept under a key: its reads are noted here, and wherever it is used again.
    pub(super) fn kept<T>(
        &mut self,
        key: &Key,
        build: impl FnOnce(&mut Self) -> Built<T>,
    ) -> Built<T> {
        let conds = std::mem::take(&mut self.conds);
        let reads = std::mem::take(&mut self.reads);
        let out = build(self)?;
        self.conds = conds;
        let own = std::mem::replace(&mut self.reads, reads).into_list();
        if !own.is_empty() {
            self.reads_of.insert(key.clone(), Rc::from(own));
        }
        self.again(key);
        Ok(out)
    }

    /// Notes the reads of something that was built before.
    pub(super) fn again(&mut self, key: &Key) {
        let Some(reads) = self.reads_of.get(key).cloned() else {
            return;
        };
        for g in reads.iter() {
            self.note(g.clone());
        }
    }

    /// Notes a read, made where its own condition and those around it hold.
    fn note(&mut self, mut g: Gather) {
        for &c in self.conds.iter().rev() {
            let cond = g.cond.map_or(c, |own| self.store.and(c, own));
            g.cond = Some(cond);
        }
        self.reads.note(g);
    }

    /// The symbols and the byte offset of an element, one of whose indices data choose.
    pub(super) fn chosen(
        &mut self,
        e: ExprId,
        array: &ArraySymbol,
        indices: &[Int],
    ) -> Built<(ArrayId, u64)> {
        let open = |what: &str| {
            let message = format!("{what} of the formula depends on data");
            Stop::Unknown(UnknownKind::DataDependentAddress, message)
        };
        let Some(elem) = array.array.elem.filter(|_| array.array.initial.is_none()) else {
            return Err(open("an index into known contents"));
        };
        let dense = || dense_strides(&array.array.shape);
        let strides = array.strides.clone().unwrap_or_else(dense);
        let mut at = self.store.bits(WIDE, 0);
        let mut notes: SmallVec<[Gather; 4]> = SmallVec::new();
        for (d, (&index, &stride)) in indices.iter().zip(&strides).enumerate() {
            let extent = array.array.shape[d];
            let word = match index {
                Int::Known(v) if v < 0 || v as u64 >= extent => {
                    let problem = Problem::Leaves {
                        name: array.name.clone(),
                        dimension: d,
                        value: v,
                        extent,
                        at: self.at(e),
                    };
                    return self.wrong(problem, e);
                }
                Int::Known(v) => Word::known(&mut self.store, v),
                Int::Word(w) => w,
                Int::Real(_) => return Err(open("an index beyond 64 bits")),
            };
            let own = word.widened(&mut self.store, WIDE);
            let is_inside = word.lo >= 0 && word.hi < i128::from(extent);
            if !is_inside {
                let name = format!("dimension {d} of {}", array.name);
                let object = Object::Own(name.into(), extent);
                notes.push(self.read(object, own, (0, 1)));
            }
            let bytes = stride.saturating_mul(elem.bytes());
            let bytes = self.store.bits(WIDE, bytes);
            let part = self.store.bits_op(BitsOp::Mul, own, bytes);
            at = self.store.bits_op(BitsOp::Add, at, part);
        }
        let index = self.store.linear(at);
        let index = index.ok_or_else(|| open("an index"))?;
        let distance = i64::try_from(index.linear.constant).ok();
        let found = distance.and_then(|d| Some((d, offset(d)?)));
        let form = index.linear.terms.iter();
        let form: Option<Vec<_>> = form
            .map(|&(t, k)| Some((t, i64::try_from(k).ok()?)))
            .collect();
        let (Some((distance, off)), Some(form)) = (found, form.filter(|f| !f.is_empty())) else {
            return Err(open("an index"));
        };
        let minus = self.store.bits(WIDE, (distance as u64).wrapping_neg());
        let raw = self.store.bits_op(BitsOp::Add, at, minus);
        let end = distance.saturating_add(elem.bytes() as i64);
        let mut whole = self.read(Object::Array(array.id), raw, (distance, end));
        whole.fits = index.fits;
        notes.push(whole);
        for g in notes {
            self.note(g);
        }
        let symbols = self.store.place(Place {
            array: array.id,
            form: form.into(),
        });
        Ok((symbols, off))
    }

    /// A read of some bytes of an object, wherever it stands.
    fn read(&self, object: Object, raw: TermId, span: (i64, i64)) -> Gather {
        Gather {
            object,
            raw,
            cond: None,
            span,
            unaligned: None,
            fits: Vec::new(),
            site: Site::new(Pc(0), Vec::new(), "reads where data choose"),
        }
    }
}
