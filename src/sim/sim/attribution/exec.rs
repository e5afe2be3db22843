//! Accesses of a collective on matrices, for each of the threads whose they may be.

use crate::answer::AssumptionKind;
use crate::kernel::{MatrixForm, Pc};
use crate::sim::clock::Tick;
use crate::sim::machine::{Core, Machine};
use crate::sim::order::Order;
use crate::sim::place::Target;
use crate::sim::race::{AccessKind, By, SameWrite};
use crate::sim::stop::Stop;
use crate::sim::warp::lanes;

use super::{SAME_LANE, in_both};
use crate::sim::race::View;

impl Core<'_> {}

impl Machine<'_> {
    /// Tells the order of accesses about those of a collective, under one attribution or as one unnamed lane's.
    pub(in crate::sim) fn order_collective(
        &mut self,
        (w, pc): (usize, Pc),
        targets: &[Target],
        elems: (u32, u32),
        kind: AccessKind,
        (view, by): (View, By),
    ) -> Result<Vec<(usize, SameWrite)>, Stop> {
        (self.sync.order.view, self.sync.order.by) = (view, by);
        let found = self.order_accesses((w, pc), targets, elems, kind, false);
        (self.sync.order.view, self.sync.order.by) = (View::Both, By::Lanes);
        found
    }

    /// Lists the assumption if a warp loads rows that it stored, or stores rows that it loaded, and nothing else
    /// orders all its lanes.
    pub(in crate::sim) fn note_rows(
        &mut self,
        w: usize,
        rows: &[Target],
        form: MatrixForm,
        stores: bool,
    ) {
        let Order {
            rows: known,
            clocks,
            ..
        } = &mut self.sync.order;
        if !known.on {
            return;
        }
        let (shape, warp) = (clocks.shape(), w as u32);
        let offsets = rows.iter().map(|t| t.off).collect();
        let last = known.last.entry((w, (form, offsets))).or_default();
        let unordered = |at: Tick| {
            let all = shape.members(warp);
            lanes(all).any(|l| {
                let (first, later) = (shape.tid(warp, 0), shape.tid(warp, l as u32));
                let others = all & !(1 << l);
                clocks.unordered(first.into(), others, at, later).is_some()
            })
        };
        if last[usize::from(!stores)].is_some_and(unordered) {
            self.core
                .found
                .assumptions
                .insert(AssumptionKind::Machine.says(SAME_LANE));
        }
        last[usize::from(stores)] = Some(clocks.stamp(warp));
    }
}

/// Writes of both attributions, each with the row that it is of: those that both see, then others.
pub(in crate::sim) fn of_both_views(
    giver: Vec<(usize, SameWrite)>,
    holder: Vec<(usize, SameWrite)>,
) -> Vec<(usize, SameWrite)> {
    let mut out = Vec::with_capacity(giver.len());
    let mut rows: Vec<usize> = giver.iter().chain(&holder).map(|c| c.0).collect();
    rows.sort_unstable();
    rows.dedup();
    for row in rows {
        let of = |all: &[(usize, SameWrite)]| -> Vec<SameWrite> {
            all.iter().filter(|c| c.0 == row).map(|c| c.1).collect()
        };
        let both = in_both(of(&giver), of(&holder));
        out.extend(both.into_iter().map(|c| (row, c)));
    }
    out
}
