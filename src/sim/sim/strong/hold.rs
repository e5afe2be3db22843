//! Steps whose place in the order of all steps matters: they are held until nothing else can step.
//!
//! Two sorts are held. A loop that waits ([`crate::kernel::awaits`]) goes on once the word has a value that ends it;
//! nobody else can tell when, so that all such loops go on together. A read-modify-write whose old value is used,
//! or that ends a loop by changing the word (a lock that is taken), is made alone, and which of those at hand is
//! made first is a choice of the driver, which makes all of them.
//!
//! Complete: what is not held has no place that matters, or is a finding ([`super::location`]); so any order of the
//! steps that are held is one in which each is chosen among those at hand when nothing else can step.
//!
//! Whether a value ends a loop is found by walking its body with it: the lane computes, and all that it wrote is put
//! back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kernel::awaits::Awaits;
use crate::kernel::{Kernel, Op, Pc, RegId, Sem};
use crate::sim::Tid;

use super::super::val::Val;
use super::super::warp::LANES;

mod exec;

/// A lane that is held at an instruction, in the order of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiting {
    /// Its warp.
    pub w: usize,
    /// The lane.
    pub lane: usize,
    /// The instruction.
    pub pc: Pc,
}

/// What a lane that is held can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// Nothing: the loop would go round.
    No,
    /// It goes on, and changes nothing.
    Reads,
    /// The same, and what it read is of use after the loop.
    Chooses,
    /// It changes the word.
    Updates,
    /// What it does depends on something that is not known.
    Open,
}

/// A choice among steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Which was made.
    pub taken: u32,
    /// Of how many.
    pub of: u32,
    /// The CTA of who made the step.
    pub cta: [u32; 3],
    /// Its thread.
    pub thread: Tid,
    /// The instruction.
    pub pc: Pc,
}

/// What a run chose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Steps {
    /// The choices.
    pub choices: Vec<Choice>,
    /// The run is one of another order of steps that change places.
    pub redundant: bool,
    /// Some thread waited for another.
    pub waited: bool,
    /// A read gave an old value that a `fence.sc` on either side may exclude.
    pub doubtful: bool,
    /// The write that a read may miss, by the place of that choice.
    pub missed: BTreeMap<usize, Choice>,
}

/// What a run is to choose.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The loops that wait.
    pub awaits: Arc<Awaits>,
    /// The first choices.
    pub first: Vec<u32>,
}

/// A lane that could as well have stepped, with what its word held.
pub type Beside = (Waiting, (u64, usize));

/// Lanes that are held, and the choices so far.
#[derive(Clone, Debug, Default, Hash)]
pub struct Held {
    stops: Vec<bool>,
    /// The lanes.
    pub waiting: Vec<Waiting>,
    /// The step that is made now.
    pub granted: Option<(Tid, Pc)>,
    /// It leaves memory as it is.
    pub idle: bool,
    /// What it observes.
    pub observed: Option<Option<usize>>,
    /// The write before it is what lets it go on.
    pub enabled: bool,
    /// The last step that was chosen, and those that could as well have come before it, with what their words held.
    pub last: Option<(Waiting, Vec<Beside>)>,
    /// The choices to make first.
    pub plan: Vec<u32>,
    /// The choices that were made.
    pub steps: Steps,
}

impl Held {
    /// Nothing is held.
    pub fn new(kernel: &Kernel, awaits: &Awaits, plan: Vec<u32>) -> Held {
        let waits = &awaits.by_access;
        let used = crate::kernel::usage::results_used(kernel);
        let stops = (0u32..).zip(&kernel.insts).map(|(pc, inst)| {
            let strong = match &inst.op {
                Op::Atom { .. } => true,
                Op::Ld { access, dsts, .. } => {
                    dsts.len() == 1 && (access.volatile || access.sem != Sem::Weak)
                }
                _ => false,
            };
            let reads = matches!(inst.op, Op::Ld { .. });
            waits.contains_key(&Pc(pc)) || strong && (reads || used[pc as usize])
        });
        Held {
            stops: stops.collect(),
            plan,
            ..Held::default()
        }
    }

    /// True for an instruction at which lanes are held.
    pub fn stops(&self, pc: Pc) -> bool {
        self.stops.get(pc.0 as usize).is_some_and(|s| *s)
    }
}

impl Waiting {
    /// The thread.
    pub fn who(&self) -> Tid {
        Tid((self.w * LANES + self.lane) as u32)
    }
}

/// An instruction, and registers that are live there.
pub type Class = (Pc, Vec<(RegId, Val)>);
