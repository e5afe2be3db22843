//! Words of floats, as the machine stores, loads and sums them up.

use std::array::from_fn;

use crate::kernel::{Cmp, FloatMods, FloatOp, FloatTest, Fmt, NumTy, Op, Pc, Rnd};
use crate::number::{self, AnyOrder};
use crate::sim::at::site;
use crate::sim::machine::Core;
use crate::sim::region::{RegionId, SHARED};
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::sim::warp::lanes;
use crate::sim::{UnknownKind, int};
use crate::term::word::{Does, Operation};
use crate::term::{ICmp, TermId};

use super::FloatSums;

impl Values {
    /// A comparison of floats that are words.
    pub(in crate::sim) fn compare_words(
        &mut self,
        pc: Pc,
        (cmp, fmt, ftz): (Cmp, Fmt, bool),
        [x, y]: [Val; 2],
    ) -> TermId {
        let mods = FloatMods {
            ftz,
            ..FloatMods::default()
        };
        let operands = [x, y].map(|v| self.bits(v, fmt.bits() as u8));
        let operation = Operation::new(Does::Compare(cmp), (fmt, fmt), mods);
        self.truth_word(pc, operation, &operands)
    }

    /// `testp` of a float that is a word.
    pub(in crate::sim) fn test_word(
        &mut self,
        pc: Pc,
        test: FloatTest,
        fmt: Fmt,
        v: Val,
    ) -> TermId {
        let operand = self.bits(v, fmt.bits() as u8);
        let operation = Operation::new(Does::Test(test), (fmt, fmt), FloatMods::default());
        self.truth_word(pc, operation, &[operand])
    }

    fn truth_word(&mut self, pc: Pc, operation: Operation, operands: &[TermId]) -> TermId {
        let bit = self.word(pc, operation, operands);
        let one = self.store.bits(1, 1);
        self.store.icmp(ICmp::Eq, bit, one)
    }
}

impl Core<'_> {
    /// Float arithmetic where floats are words.
    pub(in crate::sim) fn float_words(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
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
                self.values.note_unset(w, pc);
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

    /// `cvt` from or to a float, where floats are words; what the destination register holds.
    pub(in crate::sim) fn cvt_word(&mut self, pc: Pc, op: &Op, v: Val) -> Option<Val> {
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
                    v => self.values.int_to_int(t, t, false, v, width),
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
    pub(in crate::sim) fn atomic_word(
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
            let sums = self.memory.float_updates.entry(place).or_insert_with(first);
            // A store has put something else there, after all updates before and before all that come.
            if sums.left.is_some_and(|left| left != old) {
                *sums = first();
            }
            sums.count += 1;
            let exact = sums.exact.zip(float(b));
            sums.exact = exact.and_then(|(sum, x)| sum.with(x, fmt));
            if sums.exact.is_none() && (sums.count > 2 || sums.count == 2 && !sums.from_zero) {
                let site = site(pc, w, 1 << lane, "adds to memory");
                self.found.unknown(UnknownKind::OrderDependent, vec![site], || {
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
        if let Some(sums) = self.memory.float_updates.get_mut(&place) {
            sums.left = Some(new);
        }
        Some(new)
    }

    /// Says that an instruction asked for real numbers where floats are words.
    pub(in crate::sim) fn report_reals(&mut self) {
        let asked = self.values.words.as_ref().is_some_and(|w| w.asked_for_real);
        if asked {
            self.found
                .unknown(UnknownKind::UnsupportedInstruction, Vec::new(), || {
                    "an instruction that the kernel executes has no model of its bits".into()
                });
        }
    }
}
