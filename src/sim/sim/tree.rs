//! Numbers that remember how they were made, while the simulator makes them.
//!
//! Most kernels use the bits of a computed float for nothing but moving it, and run without. Where bits
//! decide something, the pair is run again, and each float operation on data leaves a made number
//! ([`crate::term::made`]) in its register: the real beside the operation and the encodings of its
//! operands.
//!
//! A product without a rounding modifier that is added or subtracted without one may be contracted by ptxas
//! at one place and not at another, so that such a sum is one with another only if both are the
//! same instruction of one kernel.
//!
//! Source: PTX ISA 9.0, section 9.7.3 (`add`, `sub` and `mul` without rounding modifier).

use crate::sim::limits::LIMITS;
use smallvec::SmallVec;

use crate::kernel::{FloatMods, FloatOp, Fmt, MatTy, Pc, Rnd};
use crate::term::made::{Kind, Shape};
use crate::term::word::Product;
use crate::term::{Term, TermId};

use super::val::Val;
use super::value::Values;

/// Numbers of kernels of a pair.
const KERNELS: u32 = 2;

impl Values {
    /// The encoding of an operand: known bits are those that the machine has.
    pub(super) fn operand(&mut self, v: Val, fmt: Fmt) -> TermId {
        let width = fmt.bits() as u8;
        if let Val::Real(f, t) = v
            && let Some((values, _)) = self.store.held(t)
            && let [only] = values[..]
        {
            return self.bits(Val::Real(f, only), width);
        }
        self.bits(v, width)
    }

    /// Whether a result remembers its operation: always where trees are kept; else where its real would pass
    /// for a number that an input has, in whatever format, and the operation rounds or its operands were
    /// rounded.
    pub(super) fn remembers(&self, is_exact: bool, operands: &[(Val, Fmt)], t: TermId) -> bool {
        let computed = |&(v, _): &(Val, Fmt)| match v {
            Val::Real(_, t) => self.store.as_made(t).is_some(),
            Val::Bits(t) => !matches!(self.store.get(t), Term::Bytes { .. }),
            _ => false,
        };
        self.trees.is_some()
            || (!is_exact || operands.iter().any(computed))
                && !self.store.is_rounded(Fmt::F64, self.store.face(t))
    }

    /// Notes an operation that gave a real; false if the number has to remember it.
    pub(super) fn note_maker(&mut self, t: TermId, shape: Shape, operands: &[(Val, Fmt)]) -> bool {
        // A pattern is one of reals, whatever operation gives them.
        let is_pattern = self.store.as_written;
        if is_pattern || self.trees.is_some() || self.numbers || self.words.is_some() {
            return true;
        }
        let mut operands: SmallVec<[TermId; 3]> = (operands.iter())
            .map(|&(v, fmt)| match v {
                Val::Real(_, t) => t,
                _ => self.real(v, fmt),
            })
            .collect();
        if shape.commutes() {
            operands[..2].sort_unstable();
        }
        self.store.note_maker(t, shape, &operands)
    }

    /// An element of a matrix product with its accumulator and its factors, which are bits.
    pub(super) fn product_tree(
        &mut self,
        product: Product,
        (fmt, from): (Fmt, Fmt),
        c: Val,
        factors: &[(TermId, TermId)],
    ) -> Val {
        let start = self.operand(c, from);
        let base = self.real(c, from);
        let mut operands = vec![start];
        let mut reals = Vec::with_capacity(factors.len());
        for &(a, b) in factors {
            operands.extend([a, b]);
            let x = self.face_of_factor(a, product.factors[0]);
            let x = match product.family.negates() {
                true => self.store.neg(x),
                false => x,
            };
            reals.push((x, self.face_of_factor(b, product.factors[1])));
        }
        let sum = self.summed(fmt, Val::Real(fmt, base), &reals);
        let t = self.real(sum, fmt);
        let shape = Shape::new(Kind::Product(product), fmt, from, FloatMods::default());
        Val::Real(fmt, self.store.made(t, shape, &operands))
    }

    /// The real of a factor that is bits.
    fn face_of_factor(&mut self, bits: TermId, ty: MatTy) -> TermId {
        let (MatTy::Float(fmt) | MatTy::Packed(fmt)) = ty else {
            return bits;
        };
        if let Some(&t) = self.factors.get(&(bits, fmt)) {
            return t;
        }
        let v = self.of_bits(bits);
        let t = self.real(v, fmt);
        self.factors.insert((bits, fmt), t);
        t
    }

    /// Factors as reals, for a product that is not made of their bits alone.
    pub(super) fn unlike_bits(
        &mut self,
        (mut a, mut b): (Vec<TermId>, Vec<TermId>),
        types: [MatTy; 2],
    ) -> (Vec<TermId>, Vec<TermId>) {
        if self.product.take().is_some() {
            for (all, ty) in [(&mut a, types[0]), (&mut b, types[1])] {
                all.iter_mut()
                    .for_each(|t| *t = self.face_of_factor(*t, ty));
            }
        }
        (a, b)
    }

    /// The larger or the smaller of two numbers, with what it was chosen among where that was computed.
    pub fn extremum(&mut self, op: FloatOp, fmt: Fmt, v: [Val; 2], t: TermId) -> TermId {
        self.exact(op, (fmt, FloatMods::default()), v, t)
    }

    /// The result of an operation that rounds nothing, with the operation where one of its operands was computed.
    pub(super) fn exact<const N: usize>(
        &mut self,
        op: FloatOp,
        (fmt, mods): (Fmt, FloatMods),
        v: [Val; N],
        t: TermId,
    ) -> TermId {
        let operands = v.map(|v| (v, fmt));
        let shape = Shape::new(Kind::Float(op), fmt, fmt, mods);
        if !self.remembers(true, &operands, t) && self.note_maker(t, shape, &operands) {
            return t;
        }
        let operands = v.map(|v| self.operand(v, fmt));
        self.store.made(t, shape, &operands)
    }

    /// A result with the operation and its operands.
    pub fn tree(&mut self, pc: Pc, shape: Shape, operands: &[(Val, Fmt)], t: TermId) -> TermId {
        let operands: Vec<TermId> = operands.iter().map(|&(v, f)| self.operand(v, f)).collect();
        self.made_of(pc, shape, &operands, t)
    }

    /// The same, given the encodings of the operands.
    pub fn made_of(&mut self, pc: Pc, shape: Shape, operands: &[TermId], t: TermId) -> TermId {
        let sum = matches!(shape.kind, Kind::Float(FloatOp::Add | FloatOp::Sub));
        let joins = sum && shape.mods.rnd == Rnd::None;
        let joins = joins && operands.iter().any(|&o| self.is_free_product(o));
        let place = match self.trees.filter(|_| joins) {
            Some(kernel) => 1 + pc.0 * KERNELS + kernel,
            None => 0,
        };
        self.store.made(t, Shape { place, ..shape }, operands)
    }

    /// True for the encoding of a product that a compiler may contract, changed in its sign or chosen among
    /// others; true as well where that takes long to see.
    fn is_free_product(&self, bits: TermId) -> bool {
        let mut stack = vec![bits];
        for _ in 0..LIMITS.moves {
            let Some(t) = stack.pop() else { return false };
            let Some(made) = (match self.store.get(t) {
                Term::OfReal { real, .. } => self.store.as_made(real),
                Term::Bytes { .. } | Term::BitsConst { .. } => None,
                Term::Concat(_)
                | Term::Extract { .. }
                | Term::BitsOp(..)
                | Term::BitsSelect(..) => {
                    self.store.children(t, |c| stack.push(c));
                    None
                }
                _ => None,
            }) else {
                continue;
            };
            let shape = made.shape(&self.store);
            match shape.kind {
                Kind::Float(FloatOp::Mul) if shape.mods.rnd == Rnd::None => return true,
                Kind::Select => stack.extend(made.operands()),
                _ => {}
            }
        }
        !stack.is_empty()
    }

    /// A choice between two numbers.
    pub(super) fn chosen(&mut self, p: TermId, fmt: Fmt, (a, b): (Val, Val), t: TermId) -> TermId {
        let operands = [(a, fmt), (b, fmt)];
        let shape = Shape::new(Kind::Select, fmt, fmt, FloatMods::default());
        let under = Shape {
            place: p.0,
            ..shape
        };
        if !self.remembers(true, &operands, t) && self.note_maker(t, under, &operands) {
            return t;
        }
        let (x, y) = (self.operand(a, fmt), self.operand(b, fmt));
        self.store.made(t, shape, &[p, x, y])
    }
}
