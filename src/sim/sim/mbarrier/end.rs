//! The end of a phase: what its waiters acquire, and who could have come too late for it.

use std::sync::Arc;

use super::heads::{self, Published};
use super::{Object, Party, Phase, Waiter};
use crate::kernel::Pc;
use crate::sim::Tid;
use crate::sim::machine::Machine;
use crate::sim::stop::Stop;
use crate::sim::warp::{LANES, lanes};

impl Machine<'_> {
    /// Ends the phase if nothing is pending: its waiters go on.
    pub(super) fn finish_phase(&mut self, at: u64) -> Result<bool, Stop> {
        let over = |o: &Object| o.pending == 0 && o.bytes == 0;
        if !self.tasks.objects.at.get(&at).is_some_and(over) {
            return Ok(false);
        }
        let next = self.sync.new_phase();
        let Some(o) = self.tasks.objects.at.get_mut(&at) else {
            return Ok(false);
        };
        let mut done = std::mem::replace(&mut o.now, next);
        let clocks = &self.sync.order.clocks;
        done.released = heads::merged(clocks, std::mem::take(&mut done.released));
        let Some(o) = self.tasks.objects.at.get(&at) else {
            return Ok(false);
        };
        // What a lane did precedes the end of a phase if it arrived after it, or one who did knows.
        let ended = |done: &Phase, t: Tid, l: usize, p: &Party| {
            let arrived = |a: &Party| a.base == p.base && a.mask >> l & 1 == 1 && a.at.0 >= p.at.0;
            done.arrivals.iter().any(arrived)
                || heads::know(clocks, &done.released, t, p.at)
                || clocks.known_in(&done.known, t, p.at)
                || self.executed_before_end(done, t, p)
        };
        let free = done.delays.iter().find(|p| {
            let l = p.mask.trailing_zeros() as usize;
            !ended(&done, Tid(p.base + l as u32), l, p)
        });
        let free = free.map(|p| (*p, done.arrivals.last().copied().unwrap_or(*p)));
        // Whoever waited for the phase before must have looked before this one can end.
        let late: Vec<((Party, u32, u64), Party)> = o
            .before
            .iter()
            .flat_map(|b| &b.waits)
            .filter_map(|p| {
                let missed = |l: &usize| !ended(&done, Tid(p.base + *l as u32), *l, p);
                let mask = lanes(p.mask).filter(missed).fold(0, |m, l| m | 1 << l);
                let found = Party { mask, ..*p };
                let last = done.arrivals.last().copied().unwrap_or(found);
                let mates = o.before.iter().flat_map(|b| &b.waits);
                let mates = mates
                    .filter(|q| q.base == p.base)
                    .fold(0, |m, q| m | q.mask);
                let phase = o.number.saturating_sub(1);
                (mask != 0).then_some(((found, mates, phase), last))
            })
            .collect();
        if !done.known.is_empty() {
            let known = (done.event, done.known.clone());
            self.tasks.objects.learned.push(known);
        }
        done.published = Some(Arc::new(Published {
            heads: std::mem::take(&mut done.released),
            event: done.event,
            carried: std::mem::take(&mut done.carried),
        }));
        let Some(o) = self.tasks.objects.at.get_mut(&at) else {
            return Ok(false);
        };
        o.before = Some(done);
        o.number += 1;
        o.pending = o.expected;
        let number = o.number;
        let (go, stay): (Vec<Waiter>, Vec<Waiter>) =
            o.waiters.iter().partition(|x| x.phase < number);
        o.waiters = stay;
        if let Some((delay, last)) = free {
            let why = "nothing orders it before the last arrival of the phase: the phase can end \
                       without waiting for the copies";
            let w = last.base as usize / LANES;
            return Err(self
                .core
                .object_unordered((w, last.mask, last.pc), at, delay, why));
        }
        for (wait, last) in late {
            self.overtake(at, wait, last)?;
        }
        for x in go {
            let pc = Pc(self.core.threads.warps[x.w].pc[x.lane]);
            self.core.threads.warps[x.w].blocked &= !(1 << x.lane);
            self.observe_phase(x.w, x.lane, pc, at);
        }
        Ok(true)
    }
}
