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

use crate::kernel::{FloatOp, Pc};
use crate::number::AnyOrder;
use crate::spec::Numbered;
use crate::term::word::{Does, Operation};

use super::val::Val;

mod values;

mod exec;

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
#[derive(Clone, Copy, Debug, Hash)]
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
