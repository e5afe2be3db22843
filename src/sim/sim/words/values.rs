//! Operations that made a float, as values.

use crate::kernel::{FloatMods, FloatOp, Fmt, Pc, Rnd};
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::term::TermId;
use crate::term::word::{Does, Operation, Product};

impl Values {
    /// What an operation makes of the bits of its operands.
    pub(in crate::sim) fn word(
        &mut self,
        pc: Pc,
        operation: Operation,
        operands: &[TermId],
    ) -> TermId {
        let Some(words) = &self.words else {
            return self.store.word(operation, operands);
        };
        let operation = words.at(pc, operation);
        let may_join = matches!(operation.does, Does::Float(op) if words.may_join(op));
        let is_kept = words.unfolded && operation.rounds();
        let known: Option<Vec<u64>> = operands.iter().map(|&t| self.store.as_bits(t)).collect();
        // A known product that is rounded has another value where it is joined with a sum, and is kept as what it is.
        let foldable =
            |k: &[u64]| operation.device == 0 && !is_kept && (!may_join || operation.is_exact(k));
        if let Some(bits) = known
            .filter(|k| foldable(k))
            .and_then(|k| operation.apply(&k))
        {
            return self.store.bits(operation.width(), bits);
        }
        let code = words.number.code;
        let t = self.store.word(operation, operands);
        self.store.note_origin(t, (code, pc));
        t
    }

    /// True if a matrix product is about the bits of its factors: where floats are words, and where numbers remember
    /// how they were made.
    pub(in crate::sim) fn has_bit_factors(&self) -> bool {
        self.words.is_some() || self.trees.is_some()
    }

    /// A factor of a matrix product: a real, or its bits where the product is about them.
    pub(in crate::sim) fn as_factor(&mut self, v: Val, fmt: Fmt) -> TermId {
        match self.has_bit_factors() {
            true => self.operand(v, fmt),
            false => self.real(v, fmt),
        }
    }

    /// A factor or an accumulator as a value.
    pub(in crate::sim) fn of_factor(&mut self, fmt: Fmt, t: TermId) -> Val {
        match self.has_bit_factors() {
            true => self.of_bits(t),
            false => Val::Real(fmt, t),
        }
    }

    /// A matrix instruction begins whose accumulators are of a format.
    pub(in crate::sim) fn begin_product(&mut self, pc: Pc, product: Product, from: Fmt) {
        self.product = self.has_bit_factors().then_some((product, from, pc));
    }

    /// An element of the matrix product under way, where floats are words.
    pub(in crate::sim) fn product_word(
        &mut self,
        fmt: Fmt,
        c: Val,
        products: &[(TermId, TermId)],
    ) -> Option<Val> {
        let words = self.words.as_mut()?;
        let Some((product, from, pc)) = self.product else {
            words.asked_for_real = true;
            return None;
        };
        let mut operands = vec![self.bits(c, from.bits() as u8)];
        operands.extend(products.iter().flat_map(|&(a, b)| [a, b]));
        let does = Does::Product(product);
        let operation = Operation::new(does, (fmt, from), FloatMods::default());
        let t = self.word(pc, operation, &operands);
        Some(self.of_bits(t))
    }

    /// The larger or the smaller of two lanes' numbers, where floats are words.
    pub(in crate::sim) fn extremum_word(
        &mut self,
        pc: Pc,
        (op, fmt): (FloatOp, Fmt),
        [abs, nan]: [bool; 2],
        v: [Val; 2],
    ) -> Option<Val> {
        self.words.as_ref()?;
        let mods = FloatMods {
            abs,
            nan,
            ..FloatMods::default()
        };
        let operands = v.map(|v| self.bits(v, fmt.bits() as u8));
        let operation = Operation::new(Does::Float(op), (fmt, fmt), mods);
        let t = self.word(pc, operation, &operands);
        Some(self.of_bits(t))
    }

    /// A conversion of a float to a float, where floats are words.
    pub(in crate::sim) fn convert_word(
        &mut self,
        pc: Pc,
        (from, to): (Fmt, Fmt),
        mods: FloatMods,
        v: Val,
    ) -> Option<TermId> {
        let words = self.words.as_mut()?;
        // A random rounding has a further operand.
        if mods.rnd == Rnd::Rs {
            words.asked_for_real = true;
            return None;
        }
        let operand = self.bits(v, from.bits() as u8);
        let operation = Operation::new(Does::Convert, (to, from), mods);
        Some(self.word(pc, operation, &[operand]))
    }
}
