//! Terms of the simulator as expressions.
//!
//! Problem: an instruction has one meaning, which the simulator writes as terms ([`crate::sim::int_sym`]), and here words
//! are expressions. The way: the meaning is asked for unknowns that stand for the operands, and read back. Terms keep a
//! shift or a mask by a constant as fields of a concatenation; read back, fields that a word keeps at their places are the word
//! under a mask, a field that moved is a product with a power of two or a shift, as the rules about whole numbers want it.
//!
//! Not claimed: an expression of every term. What is about reals has none.

use rustc_hash::FxHashMap;

use super::expr::{Exprs, Id, Meanings, Order, mask};
use crate::term::{BitsOp, ICmp, Term, TermId, TermStore, pairs};

/// Terms that are read back.
struct Reading<'a> {
    e: &'a mut Exprs,
    store: &'a TermStore,
    known: &'a mut FxHashMap<TermId, Id>,
}

impl Exprs {
    /// What an operation makes of operands: `meant` is given a store with terms that stand for them.
    pub(super) fn meant(
        &mut self,
        operands: &[Id],
        meant: impl FnOnce(&mut TermStore, &[TermId]) -> Option<Vec<TermId>>,
    ) -> Option<Vec<Id>> {
        let mut all = std::mem::take(&mut self.meanings);
        let Meanings { store, known } = &mut all;
        let mut leaf = |&id: &Id| {
            let width = self.width(id);
            let leaf = match self.value(id) {
                Some(v) => store.bits(width, v),
                None => store.fresh(width, id.0),
            };
            known.insert(leaf, id);
            leaf
        };
        let leaves: Vec<TermId> = operands.iter().map(&mut leaf).collect();
        let roots = meant(store, &leaves);
        let read = roots.and_then(|roots| {
            let mut reading = Reading {
                e: self,
                store,
                known,
            };
            reading.read(&roots)
        });
        self.meanings = all;
        read
    }
}

impl Reading<'_> {
    fn read(&mut self, roots: &[TermId]) -> Option<Vec<Id>> {
        let new = self.store.met(roots, usize::MAX, |t, open| {
            let is_new = !self.known.contains_key(&t);
            if is_new {
                self.store.children(t, |c| open.push(c));
            }
            is_new
        });
        for t in new? {
            let id = self.term(t)?;
            self.known.insert(t, id);
        }
        Some(roots.iter().map(|t| self.of(*t)).collect())
    }

    fn of(&self, t: TermId) -> Id {
        self.known[&t]
    }

    /// A term whose operands were read.
    fn term(&mut self, t: TermId) -> Option<Id> {
        let width = self.store.width(t);
        Some(match self.store.get(t) {
            Term::BitsConst { value, .. } => self.e.constant(value, width),
            Term::Bool(b) => self.e.truth(b),
            Term::Concat(parts) => self.fields(parts, width),
            Term::Extract { bits, low, width } => {
                let moved = self.down(self.of(bits), low);
                self.e.resize(moved, width, false)
            }
            Term::BitsOp(op, a, b) => match self.extended(t) {
                Some(x) => self.sign_extended(x, width),
                None => self.e.word(op, self.of(a), self.of(b)),
            },
            Term::BitsSum(list) => {
                let mut sum = self.e.constant(0, width);
                for (a, b) in pairs(list) {
                    let product = self.e.word(BitsOp::Mul, self.of(a), self.of(b));
                    sum = self.e.add(sum, product);
                }
                sum
            }
            Term::BitsSelect(p, a, b) => self.e.choose(self.of(p), self.of(a), self.of(b)),
            Term::OfBool { width, p } => self.e.resize(self.of(p), width, false),
            Term::ICmp(op, a, b) => {
                let (x, y) = (self.of(a), self.of(b));
                match op {
                    ICmp::Eq => self.e.compare(Order::Equal, x, y),
                    ICmp::ULt => self.e.compare(Order::Below, x, y),
                    ICmp::SLt => self.e.compare(Order::Less, x, y),
                    ICmp::ULe | ICmp::SLe => {
                        let order = match op {
                            ICmp::SLe => Order::Less,
                            _ => Order::Below,
                        };
                        let above = self.e.compare(order, y, x);
                        self.e.not(above)
                    }
                }
            }
            Term::Not(a) => self.e.not(self.of(a)),
            Term::And(a, b) => self.e.and(self.of(a), self.of(b)),
            Term::Or(a, b) => self.e.or(self.of(a), self.of(b)),
            Term::Xor(a, b) => self.e.word(BitsOp::Xor, self.of(a), self.of(b)),
            Term::Const(_)
            | Term::Inf { .. }
            | Term::Undefined
            | Term::Elem { .. }
            | Term::Add(..)
            | Term::Mul(..)
            | Term::Neg(_)
            | Term::Sum(_)
            | Term::Div(..)
            | Term::Fun(..)
            | Term::Max(..)
            | Term::Min(..)
            | Term::Select(..)
            | Term::OfInt { .. }
            | Term::OfBits { .. }
            | Term::Made(_)
            | Term::RCmp(..)
            | Term::Is(..)
            | Term::Overflows(..)
            | Term::Bytes { .. }
            | Term::Fresh { .. }
            | Term::Poison { .. }
            | Term::OfReal { .. }
            | Term::Word(_)
            | Term::Clamp { .. } => return None,
        })
    }

    /// A word without its low bits.
    fn down(&mut self, word: Id, by: u8) -> Id {
        let by = self.e.constant(by.into(), self.e.width(word));
        self.e.word(BitsOp::LShr, word, by)
    }

    /// The term whose sign extension a term is: a shift of it to the top, and back.
    fn extended(&self, t: TermId) -> Option<TermId> {
        let Term::BitsOp(BitsOp::AShr, up, by) = self.store.get(t) else {
            return None;
        };
        let Term::Concat(&[zeros, x]) = self.store.get(up) else {
            return None;
        };
        let zeros = TermId(zeros);
        let is_back = self.store.as_bits(by) == Some(self.store.width(zeros).into());
        (is_back && self.store.as_bits(zeros) == Some(0)).then_some(TermId(x))
    }

    /// The sign extension of a term; of the upper bits of a word as wide as the result it is a shift of that word.
    fn sign_extended(&mut self, x: TermId, width: u8) -> Id {
        if let Term::Extract {
            bits,
            low,
            width: n,
        } = self.store.get(x)
            && self.store.width(bits) == width
            && low + n == width
        {
            let by = self.e.constant(low.into(), width);
            return self.e.word(BitsOp::AShr, self.of(bits), by);
        }
        self.e.resize(self.of(x), width, true)
    }

    /// A concatenation of fields.
    fn fields(&mut self, parts: &[u32], width: u8) -> Id {
        if let Some(word) = self.in_place(parts, width) {
            return word;
        }
        let mut all = self.e.constant(0, width);
        let mut at = 0;
        for &part in parts {
            let field = self.placed(TermId(part), at, width);
            all = self.e.or(all, field);
            at += self.store.width(TermId(part));
        }
        all
    }

    /// Fields that are bits of one word as wide as all of them, each where the word has it, between constants.
    fn in_place(&mut self, parts: &[u32], width: u8) -> Option<Id> {
        let (mut word, mut kept, mut turned, mut set, mut at) = (None, 0, 0, 0, 0);
        for &part in parts {
            let t = TermId(part);
            let here = mask(self.store.width(t)) << at;
            if let Some(v) = self.store.as_bits(t) {
                set |= v << at;
                at += self.store.width(t);
                continue;
            }
            let (field, flips) = match self.store.get(t) {
                Term::BitsOp(BitsOp::Xor, a, b) => {
                    match (self.store.as_bits(a), self.store.as_bits(b)) {
                        (Some(v), None) => (b, v),
                        (None, Some(v)) => (a, v),
                        _ => return None,
                    }
                }
                _ => (t, 0),
            };
            let Term::Extract { bits, low, .. } = self.store.get(field) else {
                return None;
            };
            if low != at || self.store.width(bits) != width || word.is_some_and(|w| w != bits) {
                return None;
            }
            word = Some(bits);
            kept |= here;
            turned |= flips << at;
            at += self.store.width(t);
        }
        let mut out = self.of(word?);
        let [kept_bits, turned, set_bits] = [kept, turned, set].map(|v| self.e.constant(v, width));
        out = self.e.word(BitsOp::Xor, out, turned);
        if kept | set != mask(width) {
            out = self.e.and(out, kept_bits);
        }
        Some(self.e.or(out, set_bits))
    }

    /// A field at its place in a word of zeros.
    fn placed(&mut self, t: TermId, at: u8, width: u8) -> Id {
        let n = self.store.width(t);
        let is_top = at + n == width;
        let (word, low) = match self.store.get(t) {
            Term::Extract { bits, low, .. } if self.store.width(bits) == width => {
                (self.of(bits), low)
            }
            _ => match self.extended(t).filter(|_| is_top) {
                Some(x) => (self.sign_extended(x, width), 0),
                None => (self.e.resize(self.of(t), width, false), 0),
            },
        };
        let moved = match at.checked_sub(low) {
            None => self.down(word, low - at),
            Some(up) => {
                let factor = self.e.constant(1 << up, width);
                self.e.word(BitsOp::Mul, word, factor)
            }
        };
        // Nothing else is left where the field is bits of no other word, or was pushed to the end.
        let is_all = low == 0 && is_top || at == 0 && low + n == width;
        if is_all
            || !matches!(self.store.get(t), Term::Extract { bits, .. } if self.store.width(bits) == width)
        {
            return moved;
        }
        let kept = self.e.constant(mask(n) << at, width);
        self.e.and(moved, kept)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::expr::Level;
    use super::*;
    use crate::kernel::{Cmp, IntTy};
    use crate::sim::int::samples::{all_ops, only_32};
    use crate::sim::{int, int_sym, operand_width};

    /// Values near the corners as often as random ones.
    fn word64() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            0u64..70,
            (0u32..64).prop_map(|s| 1 << s),
            (0u32..64).prop_map(|s| (1u64 << s).wrapping_sub(1)),
            (0u64..70).prop_map(|x| x.wrapping_neg()),
        ]
    }

    /// Operands as words, and the values of those that are not constants.
    fn operands(
        e: &mut Exprs,
        values: [u64; 4],
        is_known: u8,
        width: impl Fn(usize) -> u8,
    ) -> ([Id; 4], FxHashMap<Id, Id>) {
        let mut found = FxHashMap::default();
        let all = [0, 1, 2, 3].map(|i| {
            let value = e.constant(values[i], width(i));
            if is_known >> i & 1 == 1 {
                return value;
            }
            let word = e.fresh(width(i), Level::Thread, None);
            found.insert(word, value);
            word
        });
        (all, found)
    }

    fn types() -> impl Iterator<Item = IntTy> {
        let widths = [8, 16, 32, 64].into_iter();
        widths.flat_map(|width| [false, true].map(|signed| IntTy { width, signed }))
    }

    proptest! {
        /// Every operation that has an expression has the value that the machine gives it.
        #[test]
        fn expressions_agree_with_values(
            values in prop::array::uniform4(word64()),
            is_known in 0u8..16,
            k in any::<u8>(),
        ) {
            for (op, ty) in all_ops(k).into_iter().flat_map(|op| types().map(move |ty| (op, ty))) {
                let width = |i| operand_width(op, ty, i).min(64);
                let given = [0, 1, 2, 3].map(|i| values[i] & mask(width(i)));
                if only_32(op) && ty.width != 32 || int::is_undefined(op, ty, given) {
                    continue;
                }
                let e = &mut Exprs::new();
                let (all, found) = operands(e, given, is_known, width);
                let read = e.meant(&all, |s, of| {
                    let of = [of[0], of[1], of[2], of[3]];
                    let mut out = vec![int_sym::symbolic(s, op, ty, of)?];
                    out.extend(int_sym::symbolic_carry(s, op, ty, of));
                    Some(out)
                });
                let Some(read) = read else { continue };
                let (value, carry) = int::eval(op, ty, given);
                let read = e.substitute(&read, &found);
                prop_assert_eq!(e.value(read[0]), Some(value), "{:?} {:?} {:x?}", op, ty, given);
                if let Some(c) = read.get(1) {
                    prop_assert_eq!(e.value(*c), Some(carry.into()), "{:?} {:?}", op, ty);
                }
            }
        }

        /// So have comparisons and conversions.
        #[test]
        fn comparisons_and_conversions_agree_with_values(
            values in prop::array::uniform4(word64()),
            is_known in 0u8..4,
            sat in any::<bool>(),
        ) {
            for (from, to) in types().flat_map(|from| types().map(move |to| (from, to))) {
                let e = &mut Exprs::new();
                let given = values.map(|v| v & mask(from.width));
                let (all, found) = operands(e, given, is_known, |_| from.width);
                for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
                    let read = e.meant(&all[..2], |s, of| {
                        Some(vec![int_sym::compare_sym(s, cmp, from, of[0], of[1])])
                    });
                    let read = e.substitute(&read.unwrap_or_default(), &found);
                    let holds = int::compare(cmp, from, given[0], given[1]);
                    prop_assert_eq!(e.value(read[0]), Some(holds.into()), "{:?} {:?}", cmp, from);
                }
                let read = e.meant(&all[..1], |s, of| {
                    Some(vec![int_sym::cvt_int_sym(s, from, to, sat, of[0], 64)])
                });
                let read = e.substitute(&read.unwrap_or_default(), &found);
                let value = int::cvt_int(from, to, sat, given[0], 64);
                prop_assert_eq!(e.value(read[0]), Some(value), "{:?} {:?} {}", from, to, sat);
            }
        }
    }

    /// What compilers write for addresses keeps the form that proofs about whole numbers read.
    #[test]
    fn shifts_and_masks_stay_shifts_and_masks() {
        let e = &mut Exprs::new();
        let x = e.fresh(32, Level::Thread, None);
        let constant = |e: &mut Exprs, v| e.constant(v, 32);
        for (op, v) in [
            (BitsOp::Shl, 2),
            (BitsOp::LShr, 5),
            (BitsOp::AShr, 31),
            (BitsOp::And, 31),
            (BitsOp::And, 0xffff_ffe0),
            (BitsOp::And, 0x1234),
            (BitsOp::Or, 0x11),
            (BitsOp::Xor, 0x80),
            (BitsOp::Xor, 0xffff_ffff),
            (BitsOp::Mul, 8),
            (BitsOp::Add, 0x100),
            (BitsOp::URem, 16),
            (BitsOp::UDiv, 16),
        ] {
            let k = constant(e, v);
            let want = e.word(op, x, k);
            let read = e.meant(&[x, k], |s, of| Some(vec![s.bits_op(op, of[0], of[1])]));
            assert_eq!(read, Some(vec![want]), "{op:?} {v:x}");
        }
        for signed in [false, true] {
            let wide = e.resize(x, 64, signed);
            let four = e.constant(4, 64);
            let want = e.word(BitsOp::Mul, wide, four);
            let four = constant(e, 4);
            let ty = IntTy { width: 32, signed };
            let read = e.meant(&[x, four], |s, of| {
                let of = [of[0], of[1], of[1], of[1]];
                Some(vec![int_sym::symbolic(
                    s,
                    crate::kernel::IntOp::MulWide,
                    ty,
                    of,
                )?])
            });
            assert_eq!(read, Some(vec![want]), "{ty:?}");
        }
    }
}
