//! The threads of the CTAs that run, and how far they are.

use crate::kernel::{Kernel, Pc, Src};

use super::super::Stats;
use super::super::branch::Regions;
use super::super::clock::RankShape;
use super::super::plain::Class;
use super::super::program::Program;
use super::super::runaway::Runaway;
use super::super::schedule::ScheduleRng;
use super::super::taken::Taken;
use super::super::trail::Trails;
use super::super::warp::{LANES, Warp};

/// Registers and places of threads, their turns, and what is counted of them.
#[derive(Clone)]
pub(in crate::sim) struct Threads {
    /// Warps in order of rank.
    pub warps: Vec<Warp>,
    /// How each instruction is executed.
    pub classes: Vec<Class>,
    /// What lies between branches and their joins.
    pub branch_regions: Regions,
    /// What each warp did last.
    pub trails: Trails,
    /// How often something was done that other threads can see.
    pub effects: u64,
    /// That count at the end of the last turn, for how many turns it had not changed, and how many of them only waited.
    pub last_turn: (u64, u32, u32),
    /// Choices of a schedule that is not round robin.
    pub rng: Option<ScheduleRng>,
    /// Counts.
    pub stats: Stats,
    /// How often threads executed each instruction other than a plain jump.
    pub executed: Vec<u64>,
    /// Which values the conditions took that a size can change.
    pub taken: Taken,
    /// Warp, lanes and instruction of each step, where that is noted.
    pub trace: Option<Vec<(u32, u32, Pc)>>,
    /// Instructions until the next look at the limits.
    pub budget: u32,
    /// True once a limit was reached within an instruction.
    pub late: bool,
    /// Accesses out of bounds.
    pub runaway: Runaway,
    /// The run ended before all threads did.
    pub ended_early: bool,
}

impl Threads {
    /// All threads at the first instruction.
    pub(super) fn new(kernel: &Kernel, program: &Program, shape: RankShape) -> Threads {
        let warp = |w| {
            let lanes = shape.members(w).count_ones();
            Warp::new(kernel.reg_width.len(), lanes, w * LANES as u32)
        };
        let warps: Vec<Warp> = (0..shape.warps()).map(warp).collect();
        Threads {
            trails: Trails::new(program.kinds.clone(), warps.len()),
            warps,
            classes: program.classes.clone(),
            branch_regions: Regions::default(),
            effects: 0,
            last_turn: (0, 0, 0),
            rng: None,
            stats: Stats::default(),
            executed: vec![0; kernel.insts.len()],
            taken: Taken::new(kernel),
            trace: None,
            budget: 1,
            late: false,
            runaway: Runaway::default(),
            ended_early: false,
        }
    }

    /// Lanes of `mask` in which a source is symbolic.
    #[inline]
    pub(in crate::sim) fn symbolic(&self, w: usize, s: Src) -> u32 {
        match s {
            Src::Reg(r) => self.warps[w].symbolic(r),
            _ => 0,
        }
    }
}
