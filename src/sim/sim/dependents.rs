//! Programmatic dependent launch: a grid that starts before those it depends on have ended.
//!
//! The problem: a launch that the host asks to be programmatic may start once every CTA of the launch before has executed
//! `griddepcontrol.launch_dependents` or ended. Until a thread knows that `griddepcontrol.wait` has returned, the launch
//! before may still run: whatever it writes must not be read or written (PTX ISA 9.3, section 9.7.14.13).
//!
//! How: the launches before are an agent that whoever waits observes the end of; happens-before carries that on. An
//! access that does not follow it is compared with what those launches wrote that may still run
//! ([`Left::running`](crate::term::Left)).
//!
//! Sound: `griddepcontrol.wait` is the only thing that promises the end of the launch before, and what follows anyone's wait by
//! happens-before is excused, nothing else. That a write before the wait does not meet a read of a launch that still runs,
//! and all of this in a launch that is looked at alone, are assumptions with their places.

use std::collections::BTreeSet;

use crate::kernel::{Kernel, Op, Pc};
use crate::term::ArrayId;

use super::Tid;
use super::clock::{Actor, Clocks, Tick};
use super::warp::{LANES, lanes};

mod exec;

/// What a run knows of the launches before it.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Dependents {
    /// Stands for the launches before; none in a kernel without `griddepcontrol`.
    before: Option<Actor>,
    /// Lanes of each warp that are known to follow a wait.
    after: Vec<u32>,
    wait: Option<Pc>,
    trigger: Option<Pc>,
    /// Some thread let dependents start before it had waited itself.
    pub early: bool,
    /// The arrays that instructions access before a wait.
    places: BTreeSet<(Pc, ArrayId)>,
}

impl Dependents {
    /// Nothing is known yet.
    pub(super) fn new(kernel: &Kernel, clocks: &mut Clocks) -> Dependents {
        let at = |wanted: fn(&Op) -> bool| {
            let found = kernel.insts.iter().position(|i| wanted(&i.op));
            found.map(|i| Pc(i as u32))
        };
        let wait = at(|op| matches!(op, Op::GridWait));
        let trigger = at(|op| matches!(op, Op::GridLaunch));
        Dependents {
            before: (wait.is_some() || trigger.is_some()).then(|| clocks.fork(0)),
            after: vec![0; clocks.shape().warps() as usize],
            wait,
            trigger,
            ..Dependents::default()
        }
    }

    /// True in a kernel with `griddepcontrol`.
    #[inline]
    pub(super) fn on(&self) -> bool {
        self.before.is_some()
    }

    /// Lanes of a warp that do not follow a wait.
    fn too_early(&mut self, clocks: &Clocks, w: usize, mask: u32) -> u32 {
        let Some(before) = self.before else {
            return 0;
        };
        let late = |l: &usize| clocks.ordered(before, Tick(1), Tid((w * LANES + l) as u32));
        let unsure = mask & !self.after[w];
        self.after[w] |= lanes(unsure).filter(late).fold(0, |m, l| m | 1 << l);
        mask & !self.after[w]
    }
}
