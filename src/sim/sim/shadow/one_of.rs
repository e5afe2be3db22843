//! Accesses by one lane of a warp that the manual does not name.
//!
//! Problem: `wmma.load` and `wmma.store` are made by the lanes of a warp together, and which of them accesses
//! an element is left open (PTX ISA 9.0, section 9.7.14.4.1). A pair with such an access is a race for
//! certain if it is one for every choice of the lane, and none if it is none for any.
//!
//! That accesses with one number are made by one lane at each byte is an assumption; where it decides, the report
//! of the shadow says so.

use super::Access;
use super::entry::Entry;
use crate::sim::clock::{Actor, Tick, lanes};
use crate::sim::race::By;

impl Access<'_> {
    /// The lanes of an earlier access that may have made it where the given one makes this.
    #[inline]
    pub(super) fn others(&self, e: &Entry, lane: u32) -> u32 {
        let known = match (e.by, self.by) {
            (By::OneOf(k), By::OneOf(l)) if k == l => e.mask & 1 << lane,
            _ => e.mask,
        };
        match e.base == self.base {
            true => known & !(1 << lane),
            false => known,
        }
    }

    /// Does it take one lane for both accesses that these two are no race?
    pub(super) fn by_same_lane(&self, e: &Entry, group: u32) -> bool {
        if self.by == By::Lanes || e.by != self.by || e.base != self.base {
            return false;
        }
        lanes(group).any(|l| {
            let others = e.mask & !(1 << l);
            let (base, tick) = (Actor(e.base), Tick(e.tick));
            let later = self.thread(l);
            self.clocks.unordered(base, others, tick, later).is_some()
        })
    }

    /// Are the two unordered, whichever lanes make them?
    pub(super) fn certain(&self, e: &Entry, group: u32) -> bool {
        let apart = |l: u32, t: u32| {
            let who = Actor(e.base + l);
            self.others(e, t) >> l & 1 != 0
                && !self.clocks.exit_ordered(who, Tick(e.tick), self.thread(t))
        };
        match (e.by, self.by) {
            (By::Lanes, By::Lanes) => true,
            (By::OneOf(k), By::OneOf(l)) if k == l => lanes(group).all(|t| apart(t, t)),
            (By::OneOf(_), By::OneOf(_)) => {
                lanes(group).all(|t| lanes(e.mask).all(|l| apart(l, t)))
            }
            (By::OneOf(_), By::Lanes) => lanes(e.mask).all(|l| lanes(group).any(|t| apart(l, t))),
            (By::Lanes, By::OneOf(_)) => lanes(group).all(|t| lanes(e.mask).any(|l| apart(l, t))),
        }
    }
}
