//! `st.async` and `red.async`: a store into the shared memory of a CTA of the cluster, which an mbarrier there counts.
//!
//! Each lane's is an agent of its own, as a bulk copy is: it writes after it was issued, and is over for whoever sees
//! the end of the phase that counts its bytes. What its thread did before is not released with it.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.12 (`st.async`) and 9.7.13.7 (`red.async`).

use crate::kernel::{Addr, Pc, RemoteStore, Src};
use crate::sim::at::{At, LaneAt};

use super::super::clock::Actor;
use super::super::machine::{Core, Machine};
use super::super::place::Target;
use super::super::proxy::Through;
use super::super::race::AccessKind;
use super::super::region::SHARED;
use super::super::step::Under;
use super::super::stop::Stop;
use super::super::val::Val;
use super::super::warp::lanes;

impl Core<'_> {
    fn remote_value(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        op: &RemoteStore,
        src: Src,
        at: u64,
    ) -> Result<(), Stop> {
        if !self.src_prov(w, src, lane).is_none() {
            self.refuse_base(w, 1 << lane, pc);
            return Err(Stop::Finding);
        }
        let bits = op.ty.bits() as u8;
        let v = match self.src(w, src, lane) {
            v @ (Val::Conc(_) | Val::Absent) => v,
            v @ Val::Real(f, _) if f.bits() == u32::from(bits) => v,
            v => self.values.of_bits_plain(v, bits),
        };
        let v = match op.reduce {
            None => v,
            Some(reduce) => {
                let old = self.load_one(LaneAt { w, lane, pc }, SHARED, at, op.ty);
                self.atomic_value((w, lane, pc), (reduce, op.ty, 1), old, v, None)?
            }
        };
        let region = &mut self.memory.regions[SHARED.0 as usize];
        region.store(&mut self.values, at, u32::from(bits) / 8, v);
        Ok(())
    }
}

impl Machine<'_> {
    /// `st.async` and `red.async`.
    pub(super) fn remote_store(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &RemoteStore,
    ) -> Result<(), Stop> {
        self.core.threads.effects += 1;
        let elem = op.ty.bits() / 8;
        let bytes = elem * op.srcs.len() as u32;
        let agents = self.sync.order.clocks.fork(w as u32);
        let to = self.in_shared_memory(At { w, exec, pc }, op, op.to, bytes)?;
        let objects = self.in_shared_memory(At { w, exec, pc }, op, op.object, 8)?;
        let kind = match op.reduce {
            None => AccessKind::Write,
            Some(reduce) => AccessKind::Atomic {
                op: reduce,
                ty: op.ty,
                used: false,
                operand: None,
            },
        };
        self.sync.order.agent = Some(agents);
        self.sync.order.through = Through::Remote;
        let elems = (elem, op.srcs.len() as u32);
        let found = self.order_accesses((w, pc), &to, elems, kind, false);
        self.sync.order.agent = None;
        self.sync.order.through = Through::Thread;
        for (_, c) in &found? {
            self.sync.add_race(c.otherwise, c);
        }
        self.core.values.note_unset(w, pc);
        for t in &to {
            for (i, src) in op.srcs.iter().enumerate() {
                let at = t.off as u64 + u64::from(elem) * i as u64;
                self.core.remote_value((w, t.lane, pc), op, *src, at)?;
            }
        }
        self.touch_object(w, pc, &objects, Some(agents))?;
        for t in objects {
            let agent = Actor(agents.0);
            self.complete_bytes(
                LaneAt {
                    w,
                    lane: t.lane,
                    pc,
                },
                t.off as u64,
                u64::from(bytes),
                agent,
            )?;
        }
        Ok(())
    }

    /// A known place in shared memory for each lane.
    fn in_shared_memory(
        &mut self,
        At { w, exec, pc }: At,
        op: &RemoteStore,
        addr: Addr,
        bytes: u32,
    ) -> Result<Vec<Target>, Stop> {
        let mut to = self
            .core
            .targets(At { w, exec, pc }, op.space, addr, &Under::none())?;
        self.check(w, pc, &mut to, bytes, true);
        let known = |t: &Target| t.region == SHARED && t.cond.is_none();
        if to.len() != lanes(exec).count() || !to.iter().all(known) {
            self.core
                .unsupported(w, exec, pc, "an asynchronous store to this address");
            return Err(Stop::Finding);
        }
        Ok(to)
    }
}
