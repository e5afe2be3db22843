//! Whose accesses the collectives of a warp on matrices are.
//!
//! Problem: `ldmatrix`, `stmatrix`, `wmma.load` and `wmma.store` are made by all lanes of a warp together. PTX ISA
//! 9.0 (sections 9.7.14.4 and 9.7.14.5) says which lane gives an address and, `wmma` apart, which lane holds an
//! element, but not whose access to memory it is, and nothing but happens-before among lanes orders it.
//!
//! A pair of accesses is a race only if it is one under every attribution, and no race only if it is none under
//! any; else it is [`Conflict::Layout`]. Two attributions of rows are followed side by side, each in a shadow of its
//! own: the lane that gives the address of a row accesses it, or each lane what it holds of it. Each is the same for
//! all instructions of a run. Elements of `wmma` are accessed by one unnamed lane each ([`By::OneOf`]).
//!
//! Hence a load and a store of one fragment are the same lane's, element by element, and order nothing wrongly
//! done in place; that is an assumption, listed where it decides.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

use crate::kernel::{Kernel, MatrixForm, Op};

use super::clock::{Clocks, Tick};
use super::race::{Conflict, Finding, Report, SameWrite, View};
use super::region::SHARED;
use super::shadow::{Shadow, WarpAccess};
use super::state::recorded;

pub(super) mod exec;

/// Listed where a load and a store of one fragment meet.
pub(super) const SAME_LANE: &str = "a load and a store of one fragment (ldmatrix and stmatrix of the same rows, wmma \
                             of the same matrix) access each element of it by the same lane";

/// Shared memory where each lane accesses what it holds.
#[derive(Clone)]
pub(super) struct Held {
    shadow: Shadow,
    /// What it has found.
    pub report: Report,
}

recorded!(Rows { on } tables { last });

impl Held {
    /// Hashes what is followed beside the order of another attribution.
    pub(super) fn record<H: Hasher>(&self, clocks: &Clocks, h: &mut H) {
        let Held { shadow, report } = self;
        shadow.record(clocks, h);
        report.hash(h);
    }

    /// Nothing has been accessed; `None` for a kernel without collectives on rows.
    pub(super) fn new(kernel: &Kernel, clocks: &Clocks) -> Option<Held> {
        let rows = |op: &Op| matches!(op, Op::Ldmatrix { .. } | Op::Stmatrix { .. });
        let any = kernel.insts.iter().any(|i| rows(&i.op));
        any.then(|| Held {
            shadow: Shadow::new(super::race::RegionId(SHARED.0), clocks),
            report: Report::default(),
        })
    }

    /// Records an access, of which the other shadow gave these writes to compare.
    pub(super) fn access(
        &mut self,
        clocks: &Clocks,
        access: &WarpAccess,
        view: View,
        same: Vec<SameWrite>,
    ) -> Vec<SameWrite> {
        self.shadow.access(clocks, access, &mut self.report);
        let here = std::mem::take(&mut self.report.same);
        match view {
            View::Both => in_both(same, here),
            _ => here,
        }
    }
}

/// Writes to compare of both views. A pair of one view alone is no race for certain.
fn in_both(giver: Vec<SameWrite>, holder: Vec<SameWrite>) -> Vec<SameWrite> {
    if giver == holder {
        return giver;
    }
    let bytes = |s: &SameWrite| (s.region, s.offset, s.size, s.earlier.pc, s.later.pc);
    let alone = |all: &[SameWrite], s: &SameWrite| !all.iter().any(|o| bytes(o) == bytes(s));
    let mut out = Vec::with_capacity(giver.len());
    for s in &giver {
        let view = match alone(&holder, s) {
            true => View::Giver,
            false => View::Both,
        };
        out.push(s.seen_in(view));
    }
    let only = holder.iter().filter(|s| alone(&giver, s));
    out.extend(only.map(|s| s.seen_in(View::Holder)));
    out
}

impl SameWrite {
    fn seen_in(&self, view: View) -> SameWrite {
        let otherwise = match view {
            View::Both => self.otherwise,
            View::Giver | View::Holder => Conflict::Layout,
        };
        SameWrite {
            view,
            otherwise,
            ..*self
        }
    }
}

/// What both views together say.
pub(super) fn settle(giver: &Report, holder: Option<&Report>) -> Vec<Finding> {
    let Some(holder) = holder else {
        return giver.findings().cloned().collect();
    };
    let of = |f: &Finding| (f.conflict, f.earlier.pc, f.later.pc);
    let shared = |f: &Finding| f.region.0 == SHARED.0;
    let twin = |r: &Report, f: &Finding| r.findings().find(|o| of(o) == of(f)).cloned();
    let alone = |f: &Finding, other: &Report| shared(f) && twin(other, f).is_none();
    let race = |r: &Report, other: &Report| {
        let mut all = r.findings();
        all.any(|f| f.conflict == Conflict::Race && alone(f, other))
    };
    // Whichever view is right, one of these is a race.
    let either = race(giver, holder) && race(holder, giver);
    let weak = |mut f: Finding, other: &Report| {
        let same = match f.conflict {
            Conflict::Race => either || !alone(&f, other),
            Conflict::Conditional if shared(&f) => twin(other, &f)
                .is_some_and(|o| (o.offset, o.earlier, o.later) == (f.offset, f.earlier, f.later)),
            Conflict::Conditional => true,
            Conflict::ByExit | Conflict::Strong | Conflict::Layout | Conflict::DefaultScope => true,
        };
        if !same {
            f.conflict = Conflict::Layout;
        }
        f
    };
    let mut out: Vec<Finding> = giver.findings().map(|f| weak(f.clone(), holder)).collect();
    let only = holder.findings().filter(|f| alone(f, giver));
    out.extend(only.map(|f| weak(f.clone(), giver)));
    out
}

/// A load or store of rows: the form of the matrices, and where the rows lie.
type Fragment = (MatrixForm, Vec<i64>);

/// The rows that warps loaded and stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// True for a kernel that loads and stores rows.
    on: bool,
    /// When a warp last loaded a fragment, and stored it.
    last: FxHashMap<(usize, Fragment), [Option<Tick>; 2]>,
}

impl Rows {
    /// Nothing has been loaded.
    pub(super) fn new(kernel: &Kernel) -> Rows {
        let any = |of: fn(&Op) -> bool| kernel.insts.iter().any(|i| of(&i.op));
        Rows {
            on: any(|op| matches!(op, Op::Ldmatrix { .. }))
                && any(|op| matches!(op, Op::Stmatrix { .. })),
            ..Rows::default()
        }
    }
}
