//! Floats as words: what each operation makes of bits, as the operation itself.
//!
//! Problem: whether two kernels write the same bits is no question about reals. Here a float operation whose
//! operands are not all known leaves a [word](crate::term::word) in its register, and nothing else of it is known:
//! its opcode, its modifiers, and the bits of its operands. Moves, memory, shuffles, choices and integer arithmetic are
//! those of bits everywhere, and take words as they take any bits. Known operands are computed as the machine does
//! ([`crate::number`]), but for what the manual leaves to the device.
//!
//! Sound: an instruction that still asks for a real number has no model by bits here; that it asked is noted, and
//! the run ends as `unknown`. Conditions are tests of bits, and constant only where the machine's are.

use std::array::from_fn;

use crate::kernel::{Cmp, FloatMods, FloatOp, FloatTest, Fmt, NumTy, Op, Pc, Rnd};
use crate::number::{self, AnyOrder};
use crate::spec::Numbered;
use crate::term::word::{Does, Operation, Product};
use crate::term::{ICmp, TermId};

use super::machine::{Machine, RegionId, SHARED};
use super::value::{Val, Values};
use super::warp::lanes;
use super::{UnknownKind, int};

/// What a run by words knows beside its values.
#[derive(Clone, Debug)]
pub(super) struct Words {
    /// Tells the code of the kernels apart that are compared.
    number: Numbered,
    /// The target.
    device: u32,
    /// Additions that a compiler may join with the product before them, by instruction.
    joins: Vec<bool>,
    /// True if there is one.
    has_joins: bool,
    /// What rounds known numbers is a word too.
    pub(super) unfolded: bool,
    /// True once something asked for a real number.
    pub(super) asked_for_real: bool,
}

/// The sums of floats that were added to a place in memory, where floats are words.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatSums {
    /// How many there were.
    count: u32,
    /// It held zero before.
    from_zero: bool,
    /// What the last one left.
    left: Option<Val>,
    /// All of them are known numbers whose sums are exact in every order.
    exact: Option<AnyOrder>,
}

impl Words {
    /// For one of some kernels.
    pub(super) fn new(kernel: &crate::kernel::Kernel, number: Numbered, unfolded: bool) -> Words {
        let places = kernel.insts.len() as u64 * u64::from(number.of);
        let joins = crate::kernel::contraction::joins(kernel);
        Words {
            number,
            device: kernel.sm,
            has_joins: joins.contains(&true),
            joins,
            unfolded,
            // Nothing is said where places would run out of numbers.
            asked_for_real: places >= u64::from(u32::MAX >> 1),
        }
    }

    /// True for a product of a kernel some of which are joined with sums.
    pub(super) fn may_join(&self, op: FloatOp) -> bool {
        self.has_joins && op == FloatOp::Mul
    }

    /// An operation where it stands.
    fn at(&self, pc: Pc, operation: Operation) -> Operation {
        let sum = matches!(operation.does, Does::Float(FloatOp::Add | FloatOp::Sub));
        let joined = sum && self.joins.get(pc.0 as usize) == Some(&true);
        let own = operation.mods.approx || matches!(operation.does, Does::Product(..));
        Operation {
            device: if own { self.device } else { 0 },
            place: match joined {
                true => self.number.place(pc),
                false => 0,
            },
            ..operation
        }
    }
}

impl Values {
    /// What an operation makes of the bits of its operands.
    pub(super) fn word(&mut self, pc: Pc, operation: Operation, operands: &[TermId]) -> TermId {
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
    pub(super) fn has_bit_factors(&self) -> bool {
        self.words.is_some() || self.trees.is_some()
    }

    /// A factor of a matrix product: a real, or its bits where the product is about them.
    pub(super) fn as_factor(&mut self, v: Val, fmt: Fmt) -> TermId {
        match self.has_bit_factors() {
            true => self.operand(v, fmt),
            false => self.real(v, fmt),
        }
    }

    /// A factor or an accumulator as a value.
    pub(super) fn of_factor(&mut self, fmt: Fmt, t: TermId) -> Val {
        match self.has_bit_factors() {
            true => self.of_bits(t),
            false => Val::Real(fmt, t),
        }
    }

    /// A matrix instruction begins whose accumulators are of a format.
    pub(super) fn begin_product(&mut self, pc: Pc, product: Product, from: Fmt) {
        self.product = self.has_bit_factors().then_some((product, from, pc));
    }

    /// An element of the matrix product under way, where floats are words.
    pub(super) fn product_word(
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
    pub(super) fn extremum_word(
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
    pub(super) fn convert_word(
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

impl Machine<'_> {
    /// Float arithmetic where floats are words.
    pub(super) fn float_words(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        let Op::Float {
            op,
            fmt,
            src_fmt,
            lanes: n,
            mods,
            dst,
            src,
        } = op
        else {
            return;
        };
        let operation = Operation::new(Does::Float(*op), (*fmt, *src_fmt), *mods);
        let bits = src_fmt.bits() as u8;
        for lane in lanes(exec) {
            let vals = src.map(|s| self.src(w, s, lane));
            if vals.contains(&Val::Unset) {
                self.note_unset(w, pc);
            }
            let whole: [TermId; 3] = from_fn(|i| match i < op.arity() {
                true => self.values.bits(vals[i], bits * n),
                false => TermId(0),
            });
            let mut parts = Vec::with_capacity(usize::from(*n));
            for i in 0..*n {
                let operands: Vec<TermId> = whole[..op.arity()]
                    .iter()
                    .map(|&t| self.values.store.extract(t, i * bits, bits))
                    .collect();
                parts.push(self.values.word(pc, operation, &operands));
            }
            let t = self.values.store.concat(&parts);
            let v = self.values.of_bits(t);
            self.set(w, *dst, lane, v);
        }
    }

    /// A comparison of floats that are words.
    pub(super) fn compare_words(
        &mut self,
        pc: Pc,
        (cmp, fmt, ftz): (Cmp, Fmt, bool),
        [x, y]: [Val; 2],
    ) -> TermId {
        let mods = FloatMods {
            ftz,
            ..FloatMods::default()
        };
        let operands = [x, y].map(|v| self.values.bits(v, fmt.bits() as u8));
        let operation = Operation::new(Does::Compare(cmp), (fmt, fmt), mods);
        self.truth_word(pc, operation, &operands)
    }

    /// `testp` of a float that is a word.
    pub(super) fn test_word(&mut self, pc: Pc, test: FloatTest, fmt: Fmt, v: Val) -> TermId {
        let operand = self.values.bits(v, fmt.bits() as u8);
        let operation = Operation::new(Does::Test(test), (fmt, fmt), FloatMods::default());
        self.truth_word(pc, operation, &[operand])
    }

    fn truth_word(&mut self, pc: Pc, operation: Operation, operands: &[TermId]) -> TermId {
        let bit = self.values.word(pc, operation, operands);
        let one = self.values.store.bits(1, 1);
        self.values.store.icmp(ICmp::Eq, bit, one)
    }

    /// `cvt` from or to a float, where floats are words; what the destination register holds.
    pub(super) fn cvt_word(&mut self, pc: Pc, op: &Op, v: Val) -> Option<Val> {
        let Op::Cvt {
            from,
            to,
            rnd,
            sat,
            satfinite,
            relu,
            ftz,
            dst,
            ..
        } = op
        else {
            return None;
        };
        self.values.words.as_ref()?;
        let mods = FloatMods {
            rnd: *rnd,
            sat: *sat,
            relu: *relu,
            ftz: *ftz,
            oob: *satfinite,
            ..FloatMods::default()
        };
        let width = self.width(*dst);
        match (*from, *to) {
            (NumTy::Float(f), NumTy::Float(t)) => {
                let t = self.values.convert_word(pc, (f, t), mods, v)?;
                let b = self.values.bits(Val::Bits(t), width);
                Some(self.values.of_bits(b))
            }
            (NumTy::Float(f), NumTy::Int(t)) => {
                let operand = self.values.bits(v, f.bits() as u8);
                let operation = Operation::new(Does::ToInt(t), (f, f), mods);
                let t_bits = self.values.word(pc, operation, &[operand]);
                let v = self.values.of_bits(t_bits);
                Some(match v {
                    Val::Conc(b) => Val::Conc(int::cvt_int(t, t, false, b, width)),
                    v => self.int_to_int(t, t, false, v, width),
                })
            }
            (NumTy::Int(f), NumTy::Float(t)) => {
                let operand = self.values.bits(v, f.width);
                let operation = Operation::new(Does::OfInt(f), (t, t), mods);
                let t = self.values.word(pc, operation, &[operand]);
                let b = self.values.bits(Val::Bits(t), width);
                Some(self.values.of_bits(b))
            }
            (NumTy::Int(_), NumTy::Int(_)) => None,
        }
    }

    /// What an atomic on floats leaves, where floats are words.
    ///
    /// Updates of one place come in any order. One has none, and two onto a zero that was there before commute:
    /// (0 + a) + b and (0 + b) + a are +0 where both are zeros, and else the sum of two numbers. Known numbers whose sums
    /// are exact in every order commute. All others are `order-dependent`. Extrema commute.
    pub(super) fn atomic_word(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        (op, fmt, packed): (FloatOp, Fmt, u8),
        place: (RegionId, u64),
        [old, b]: [Val; 2],
    ) -> Option<Val> {
        self.values.words.as_ref()?;
        let part = fmt.bits() as u8;
        if op == FloatOp::Add {
            let float = |v| match v {
                Val::Conc(bits) if packed == 1 => Some(number::decode(fmt, bits)),
                _ => None,
            };
            let first = || FloatSums {
                count: 0,
                from_zero: old == Val::Conc(0),
                left: None,
                exact: float(old).and_then(|x| AnyOrder::default().with(x, fmt)),
            };
            let sums = self.float_updates.entry(place).or_insert_with(first);
            // A store has put something else there, after all updates before and before all that come.
            if sums.left.is_some_and(|left| left != old) {
                *sums = first();
            }
            sums.count += 1;
            let exact = sums.exact.zip(float(b));
            sums.exact = exact.and_then(|(sum, x)| sum.with(x, fmt));
            if sums.exact.is_none() && (sums.count > 2 || sums.count == 2 && !sums.from_zero) {
                let site = self.site(pc, w, 1 << lane, "adds to memory");
                self.unknown(UnknownKind::OrderDependent, vec![site], || {
                    "several atomic additions of floats meet in one place: their order decides the bits"
                        .into()
                });
            }
        }
        let mods = FloatMods {
            // A sum of singles outside of shared memory flushes subnormal numbers.
            ftz: op == FloatOp::Add && fmt == Fmt::F32 && place.0 != SHARED,
            rnd: if op == FloatOp::Add {
                Rnd::Rn
            } else {
                Rnd::None
            },
            ..FloatMods::default()
        };
        let operation = Operation::new(Does::Float(op), (fmt, fmt), mods);
        let [x, y] = [old, b].map(|v| self.values.bits(v, part * packed));
        let mut parts = Vec::new();
        for i in 0..packed {
            let both = [x, y].map(|t| self.values.store.extract(t, i * part, part));
            parts.push(self.values.word(pc, operation, &both));
        }
        let t = self.values.store.concat(&parts);
        let new = self.values.of_bits(t);
        if let Some(sums) = self.float_updates.get_mut(&place) {
            sums.left = Some(new);
        }
        Some(new)
    }

    /// Says that an instruction asked for real numbers where floats are words.
    pub(super) fn report_reals(&mut self) {
        let asked = self.values.words.as_ref().is_some_and(|w| w.asked_for_real);
        if asked {
            self.unknown(UnknownKind::UnsupportedInstruction, Vec::new(), || {
                "an instruction that the kernel executes has no model of its bits".into()
            });
        }
    }
}
