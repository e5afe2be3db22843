//! What the text of a kernel says before it is run, found once for all CTAs and all runs of a launch.
//!
//! The problem: these are analyses of the whole text, and a CTA executes little of it more often than not, so that a grid
//! of many CTAs took most of its time for what is the same in each.

use std::sync::{Arc, OnceLock};

use crate::kernel::effects::Omitted;
use crate::kernel::operands::uses;
use crate::kernel::usage::results_used;
use crate::kernel::{Kernel, Pc, RegId};
use crate::precision::residual::narrowed;
use crate::spec::Mode;

use super::address::carry::watched;
use super::plain::{Class, classes};
use super::trail;
use super::uniform::Operands;

/// Tables by instruction and by register of one kernel, as it is run in one domain of values.
#[derive(Debug)]
pub struct Program {
    /// By instruction: how it is executed, where nothing of a run speaks against it.
    pub(super) classes: Vec<Class>,
    /// By instruction: something may come to know a base in it.
    pub(super) watched: Vec<bool>,
    /// By instruction: somebody reads its result.
    pub(super) result_used: Vec<bool>,
    /// The registers that each lane-wise operation reads and writes.
    pub(super) operands: Operands,
    /// By instruction: what it is to the trail of a warp.
    pub(super) kinds: Arc<[u8]>,
    /// By register: its numbers were brought to a format that holds less.
    pub(super) narrowed: Vec<bool>,
    /// By register, and one more: where the instructions that read it begin in `readers`.
    first_reader: Vec<u32>,
    readers: Vec<Pc>,
    /// By instruction: what a run without values leaves out, once there is one.
    outside: OnceLock<Vec<Omitted>>,
}

impl Program {
    /// Analyses a kernel that is run in a mode.
    pub fn new(kernel: &Kernel, mode: &Mode) -> Program {
        let mut reads: Vec<(RegId, Pc)> = Vec::new();
        for (pc, inst) in (0..).map(Pc).zip(&kernel.insts) {
            uses(inst, |r| reads.push((r, pc)));
        }
        reads.sort_unstable_by_key(|&(r, pc)| (r.0, pc));
        reads.dedup();
        let starts = 0..=kernel.reg_width.len() as u32;
        let start = |r: u32| reads.partition_point(|read| read.0.0 < r) as u32;
        Program {
            classes: classes(kernel, mode.has_numbers() || mode.words().is_some()),
            watched: watched(kernel),
            result_used: results_used(kernel),
            operands: Operands::new(&kernel.insts),
            kinds: trail::kinds(&kernel.insts),
            narrowed: narrowed(kernel),
            first_reader: starts.map(start).collect(),
            readers: reads.iter().map(|read| read.1).collect(),
            outside: OnceLock::new(),
        }
    }

    /// The instructions that read a register.
    pub(super) fn readers(&self, r: RegId) -> &[Pc] {
        let [start, end] = [0, 1].map(|k| self.first_reader[r.0 as usize + k] as usize);
        &self.readers[start..end]
    }

    /// What a run without values leaves out of an instruction, for such a run to ask: others of the launch have values.
    #[inline]
    pub(super) fn omitted(&self, pc: Pc) -> Omitted {
        let outside = self.outside.get();
        outside.map_or(Omitted::No, |all| all[pc.0 as usize])
    }

    /// What a run without values leaves out of each instruction.
    pub(super) fn outside(&self, find: impl FnOnce() -> Vec<Omitted>) -> &[Omitted] {
        self.outside.get_or_init(find)
    }
}
