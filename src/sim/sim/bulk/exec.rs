//! Bulk copies as instructions begin, commit and wait for them.

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, BulkCopy, BulkEnd, BulkFar, BulkOp, IntTy, NumTy, Pc, Space, Src};
use crate::sim::at::{LaneAt, site};
use crate::sim::clock::Actor;
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Core, Machine};
use crate::sim::place::Target;
use crate::sim::proxy::{Reader, Through};
use crate::sim::race::{AccessKind, SameWrite};
use crate::sim::region::SHARED;
use crate::sim::step::Under;
use crate::sim::stop::Stop;
use crate::sim::tensor_box::{CHUNK, Chunk, TensorMap};
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{DefectKind, UnknownKind};
use crate::work;

use super::{Bulk, How, Issued, Job};

impl How {
    /// Bytes of the elements in which a chunk is copied: words, where the part that lies in the tensor is made of them.
    fn unit(&self, job: &Job, chunk: &Chunk) -> u32 {
        let words = chunk.from.is_multiple_of(4) && (chunk.to - chunk.from).is_multiple_of(4);
        match (self.reduce, job.element) {
            (Some((_, ty)), _) => ty.bits() / 8,
            (None, _) if words => 4,
            (None, Some(ty)) => (ty.bits() / 8).min(4),
            (None, None) => 1,
        }
    }

    /// The bytes of a chunk that are accessed in shared memory: a write of it fills what lies outside of the tensor.
    fn near_part(&self, chunk: &Chunk) -> (u32, u32) {
        match self.fill {
            true => (0, CHUNK),
            false => (chunk.from, chunk.to),
        }
    }
}

impl Job {
    /// Byte `at` of a chunk in shared memory, and on the other side.
    fn ends(&self, lane: usize, chunk: &Chunk, at: u32) -> (Target, Target) {
        let (region, off, base) = self.far;
        let near = Target {
            lane,
            cond: None,
            region: SHARED,
            off: (chunk.near + u64::from(at)) as i64,
            base: self.near,
        };
        let far = Target {
            lane,
            cond: None,
            region,
            off: off.wrapping_add(chunk.far).wrapping_add(i64::from(at)),
            base,
        };
        (near, far)
    }
}

impl Core<'_> {
    /// The CTAs whose shared memory a lane writes, where it names them by a mask.
    fn destinations(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        copy: &BulkCopy,
    ) -> Result<Vec<Option<u32>>, Stop> {
        let Some(mask) = copy.multicast else {
            return Ok(vec![None]);
        };
        let mask = self.bulk_number(w, lane, pc, mask)? & 0xffff;
        if mask >> self.fixed.team.size() != 0 {
            let size = self.fixed.team.size();
            let site = site(pc, w, 1 << lane, "starts the copy");
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                format!(
                    "the mask {mask:#x} of a copy names CTAs that the cluster, of {size}, has not"
                )
            });
            return Err(Stop::Finding);
        }
        Ok(lanes(mask).map(|rank| Some(rank as u32)).collect())
    }

    fn bulk_number(&mut self, w: usize, lane: usize, pc: Pc, s: Src) -> Result<u32, Stop> {
        let v = self.src(w, s, lane);
        match self.values.of_bits_plain(v, 32) {
            Val::Conc(n) => Ok(n as u32),
            v => {
                self.data_dependent_address(w, 1 << lane, pc, v);
                Err(Stop::Finding)
            }
        }
    }

    fn bulk_misaligned(&mut self, w: usize, lane: usize, pc: Pc, n: u32) -> Stop {
        let site = site(pc, w, 1 << lane, "starts the copy");
        self.defect(DefectKind::MisalignedAccess, vec![site], || {
            format!("an address or the size of a bulk copy is not a multiple of {n}")
        });
        Stop::Finding
    }

    fn bulk_outside(&mut self, w: usize, lane: usize, pc: Pc) -> Stop {
        let site = site(pc, w, 1 << lane, "starts the copy");
        self.defect(DefectKind::OutOfBounds, vec![site], || {
            "a bulk copy goes to an address below shared memory".into()
        });
        Stop::Finding
    }

    fn bulk_target(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        space: Space,
        addr: Addr,
    ) -> Result<Target, Stop> {
        match self.only_target(w, lane, pc, space, addr)? {
            Some(t) => Ok(t),
            None => {
                let site = site(pc, w, 1 << lane, "copies between selected addresses");
                self.found
                    .unknown(UnknownKind::DataDependentAddress, vec![site], || {
                        "an address of a bulk copy depends on input data".into()
                    });
                Err(Stop::Finding)
            }
        }
    }

    /// The copy of a run of bytes.
    fn bulk_run(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        near: Target,
        (space, addr): (Space, Addr),
        bytes: Src,
    ) -> Result<Job, Stop> {
        let far = self.bulk_target(w, lane, pc, space, addr)?;
        let bytes = self.bulk_number(w, lane, pc, bytes)? as u64;
        let apart = far.off % 16 != 0 || self.memory.prov.most(far.base) < 16;
        if near.off % 16 != 0 || apart || !bytes.is_multiple_of(16) {
            return Err(self.bulk_misaligned(w, lane, pc, 16));
        }
        if bytes > LIMITS.bulk_bytes {
            let site = site(pc, w, 1 << lane, "starts the copy");
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                format!("a bulk copy of {bytes} bytes leaves shared memory")
            });
            return Err(Stop::Finding);
        }
        if near.off < 0 {
            return Err(self.bulk_outside(w, lane, pc));
        }
        let chunks = (0..bytes).step_by(CHUNK as usize).map(|at| Chunk {
            near: (near.off as u64).wrapping_add(at),
            far: at as i64,
            from: 0,
            to: CHUNK,
        });
        Ok(Job {
            chunks: chunks.collect(),
            near: near.base,
            far: (far.region, far.off, far.base),
            bytes,
            element: None,
        })
    }

    /// The copy of a box of a tensor, or of four rows that lie apart.
    fn bulk_box(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        near: Target,
        map: &TensorMap,
        (coords, apart): (&[Src], bool),
    ) -> Result<Job, Stop> {
        if apart && map.bounds[1] != 1 {
            let site = site(pc, w, 1 << lane, "uses the tensor map");
            self.found.unknown(UnknownKind::Undefined, vec![site], || {
                "a copy of four rows takes a tensor map whose box is one row".into()
            });
            return Err(Stop::Finding);
        }
        if near.off < 0 {
            return Err(self.bulk_outside(w, lane, pc));
        }
        if near.off % 128 != 0 {
            return Err(self.bulk_misaligned(w, lane, pc, 128));
        }
        let mut at = Vec::with_capacity(coords.len());
        for c in coords {
            at.push(i64::from(self.bulk_number(w, lane, pc, *c)? as i32));
        }
        let Ok(landing) = self.memory.prov.landing(map.carried, Space::Generic) else {
            let site = site(pc, w, 1 << lane, "copies a box of the tensor");
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                format!("address {:#x} of a tensor lies in no array", map.address)
            });
            return Err(Stop::Finding);
        };
        let pattern = 128 << map.swizzle;
        self.check_pattern((w, lane, pc), near.base, pattern)?;
        let far = map.address.wrapping_sub(landing.origin) as i64;
        let off = near.off as u64;
        let chunks = match at.split_first() {
            Some((column, rows)) if apart => map.rows(off, *column, rows),
            _ => map.chunks(off, &at),
        };
        Ok(Job {
            bytes: chunks.len() as u64 * u64::from(CHUNK),
            chunks,
            near: near.base,
            far: (landing.region, far, landing.base),
            element: map.element(),
        })
    }

    /// The value that a copy writes at a place: what it reads, or zero outside of the tensor, which a reduction combines
    /// with the element that is there.
    fn bulk_value(
        &mut self,
        how: &How,
        from: Option<&Target>,
        to: &Target,
        ty: NumTy,
    ) -> Result<Val, Stop> {
        let &How { w, lane, pc, .. } = how;
        let v = match (from, how.reduce) {
            (Some(t), None) => self.load_value((w, lane, pc), t.region, t.off as u64, ty),
            (Some(t), Some(_)) => self.load_one(LaneAt { w, lane, pc }, t.region, t.off as u64, ty),
            (None, _) => Val::Conc(0),
        };
        let Some((op, ty)) = how.reduce else {
            return Ok(v);
        };
        let old = self.load_one(LaneAt { w, lane, pc }, to.region, to.off as u64, ty);
        self.atomic_value((w, lane, pc), (op, ty, 1), old, v, None)
    }
}

impl Machine<'_> {
    /// An operation on bulk copies or tensor maps.
    pub(in crate::sim) fn bulk_op(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &BulkOp,
    ) -> Result<(), Stop> {
        match op {
            BulkOp::Copy(copy) => self.bulk_copy(w, exec, pc, copy)?,
            BulkOp::Commit => {
                for lane in lanes(exec) {
                    self.tasks.bulk[w].committed[lane] += 1;
                }
            }
            BulkOp::Wait { pending, read } => self.bulk_wait(w, exec, *pending, *read),
            BulkOp::Replace {
                space,
                addr,
                field,
                value,
            } => {
                for lane in lanes(exec) {
                    self.replace_map(LaneAt { w, lane, pc }, *space, *addr, *field, *value)?;
                }
            }
            BulkOp::MapCopy { to, from } => {
                let lane = exec.trailing_zeros() as usize % LANES;
                self.copy_map(w, lane, pc, *to, *from)?;
            }
            BulkOp::MapAcquire { addr } => {
                for lane in lanes(exec) {
                    self.acquire_map(w, lane, pc, *addr)?;
                }
            }
            BulkOp::MapRelease => self.sync.release_maps(w, exec),
        }
        Ok(())
    }

    fn bulk_copy(&mut self, w: usize, exec: u32, pc: Pc, copy: &BulkCopy) -> Result<(), Stop> {
        for lane in lanes(exec) {
            for to in self.core.destinations(w, lane, pc, copy)? {
                self.bulk_copy_to(w, lane, pc, copy, to)?;
            }
        }
        Ok(())
    }

    /// Copies to the place that is named, or to the same place of the CTA of a rank, each an agent of its own: what
    /// is written to one CTA is over when an mbarrier of that one says so.
    fn bulk_copy_to(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        copy: &BulkCopy,
        to: Option<u32>,
    ) -> Result<(), Stop> {
        let reads = self.sync.order.clocks.fork(w as u32);
        let writes = match copy.end {
            BulkEnd::Object(..) => reads,
            BulkEnd::Group => self.sync.order.clocks.fork(w as u32),
        };
        let slot = to.and_then(|rank| self.core.fixed.team.peer(w, rank));
        let slot = slot.map(|number| self.core.fixed.team.slot(number));
        let job = self.bulk_job((w, lane, pc), copy, reads, slot)?;
        let reduce = match copy.reduce {
            None => None,
            Some((op, ty)) => match ty.or(job.element) {
                Some(ty) => Some((op, ty)),
                None => {
                    self.core
                        .unsupported(w, 1 << lane, pc, "a reduction of this type");
                    return Err(Stop::Finding);
                }
            },
        };
        let how = How {
            w,
            lane,
            pc,
            reads,
            writes,
            fill: copy.fill,
            reduce,
        };
        for chunk in &job.chunks {
            self.bulk_chunk(&how, &job, chunk)?;
        }
        match &copy.end {
            BulkEnd::Object(space, addr) => {
                let to = to.map(|rank| (rank, copy.pair));
                self.bulk_complete(&how, (*space, *addr), job.bytes, to)?;
            }
            BulkEnd::Group => {
                let group = self.tasks.bulk[w].committed[lane];
                self.tasks.bulk[w].issued.push(Issued {
                    reads,
                    writes,
                    lane,
                    group,
                    read: false,
                });
            }
        }
        Ok(())
    }

    /// The bytes that a lane copies.
    fn bulk_job(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        copy: &BulkCopy,
        agent: Actor,
        slot: Option<i64>,
    ) -> Result<Job, Stop> {
        let mut near = self
            .core
            .bulk_target(w, lane, pc, copy.near.0, copy.near.1)?;
        if let Some(slot) = slot {
            near.off = slot + self.core.fixed.team.local(near.off);
        }
        if near.region != SHARED {
            self.core
                .unsupported(w, 1 << lane, pc, "a bulk copy of other memory than shared");
            return Err(Stop::Finding);
        }
        match &copy.far {
            BulkFar::Run { space, addr, bytes } => {
                self.core
                    .bulk_run(LaneAt { w, lane, pc }, near, (*space, *addr), *bytes)
            }
            BulkFar::Box {
                space,
                map,
                coords,
                apart,
            } => {
                let place = self.core.map_place(w, lane, pc, *space, *map)?;
                self.touch_map(w, pc, &place, AccessKind::Read, Some(agent))?;
                let rank = if *apart { 2 } else { coords.len() };
                let map = self.used_map(w, lane, pc, &place, rank)?;
                self.core
                    .bulk_box(LaneAt { w, lane, pc }, near, &map, (coords, *apart))
            }
        }
    }

    /// Copies at most sixteen bytes.
    fn bulk_chunk(&mut self, how: &How, job: &Job, chunk: &Chunk) -> Result<(), Stop> {
        self.core.threads.stats.accesses += 2;
        work::spend(2);
        let unit = how.unit(job, chunk);
        self.check_chunk(how, job, chunk, unit)?;
        let compared = self.order_chunk(how, job, chunk, unit)?;
        let ty = match how.reduce {
            Some((_, ty)) => ty,
            None => NumTy::Int(IntTy {
                width: (unit * 8) as u8,
                signed: false,
            }),
        };
        let (mut at, end) = how.near_part(chunk);
        while at < end {
            let valid = chunk.from <= at && at < chunk.to;
            let (near, far) = job.ends(how.lane, chunk, at);
            let (from, to) = match how.fill {
                true => (far, near),
                false => (near, far),
            };
            let mut v = self.core.bulk_value(how, valid.then_some(&from), &to, ty)?;
            for c in compared.iter().filter(|c| c.offset == to.off as u64) {
                v = self.same_value(to.region, (to.off as u64, unit), (v, v), ty, c);
            }
            let region = &mut self.core.memory.regions[to.region.0 as usize];
            region.store(&mut self.core.values, to.off as u64, unit, v);
            if valid && how.reduce.is_none() {
                let (from, to) = ((from.region, from.off as u64), (to.region, to.off as u64));
                self.core.memory.copy_prov(from, to, unit, how.pc);
            }
            at += unit;
        }
        Ok(())
    }

    /// Both sides must lie in their objects.
    fn check_chunk(&mut self, how: &How, job: &Job, chunk: &Chunk, unit: u32) -> Result<(), Stop> {
        let at = |at| job.ends(how.lane, chunk, at);
        let mut ends = vec![at(0).0, at(CHUNK - unit).0];
        self.check(how.w, how.pc, &mut ends, unit, how.fill);
        if ends.len() != 2 {
            return Err(Stop::Finding);
        }
        if chunk.from < chunk.to {
            let mut ends = vec![at(chunk.from).1, at(chunk.to - unit).1];
            self.check(how.w, how.pc, &mut ends, unit, !how.fill);
            if ends.len() != 2 {
                return Err(Stop::Finding);
            }
        }
        Ok(())
    }

    /// Orders the reads and the writes of a chunk; gives the unordered writes that may be of the same bytes.
    fn order_chunk(
        &mut self,
        how: &How,
        job: &Job,
        chunk: &Chunk,
        unit: u32,
    ) -> Result<Vec<SameWrite>, Stop> {
        let write = match how.reduce {
            Some((op, ty)) => AccessKind::Atomic {
                op,
                ty,
                used: false,
                operand: None,
            },
            None => AccessKind::Write,
        };
        let (part, near_part) = ((chunk.from, chunk.to), how.near_part(chunk));
        let near = job.ends(how.lane, chunk, near_part.0).0;
        let far = job.ends(how.lane, chunk, part.0).1;
        let sides = match how.fill {
            true => [(far, part, AccessKind::Read), (near, near_part, write)],
            false => [(near, near_part, AccessKind::Read), (far, part, write)],
        };
        // Lanes that execute one copy may store the same bytes, which compilers leave to all lanes of a warp.
        let alike = |c: &SameWrite| {
            let once = !how.fill && how.reduce.is_none() && c.current;
            once && c.earlier.pc == c.later.pc && u32::from(c.size) == unit
        };
        let mut compared: Vec<SameWrite> = Vec::new();
        for (t, (from, to), kind) in sides {
            if from == to {
                continue;
            }
            let (found, fine) = self.order_side(how, &t, (unit, to - from), kind)?;
            for c in found {
                match alike(&c) {
                    true => compared.push(c),
                    false => self.sync.add_race(c.otherwise, &c),
                }
            }
            // What is not visible may not even be ordered, which says more.
            if !fine {
                return Err(Stop::Finding);
            }
        }
        Ok(compared)
    }

    /// Orders the accesses of one side of a chunk; gives the unordered writes over others, and whether the async proxy
    /// sees what it accesses.
    fn order_side(
        &mut self,
        how: &How,
        t: &Target,
        (unit, bytes): (u32, u32),
        kind: AccessKind,
    ) -> Result<(Vec<SameWrite>, bool), Stop> {
        let &How { w, lane, pc, .. } = how;
        let first = t.off as u64 & !3;
        let range = (first, (t.off as u64 + u64::from(bytes)) - first);
        let (fine, agent) = match kind {
            AccessKind::Read => {
                let who = (w, 1 << lane, pc);
                let fine = self.check_proxy(who, t.region, range, Reader::Bulk);
                (fine, how.reads)
            }
            _ => {
                let fine = self.check_refill((w, lane, pc), t.region, range);
                (fine, how.writes)
            }
        };
        self.sync.order.agent = Some(agent);
        self.sync.order.through = Through::Bulk;
        let across = how.fill && kind == AccessKind::Read && t.region == SHARED;
        if across && self.core.fixed.team.many() {
            self.note_own(w, 1 << lane, pc, t.off as u64);
        }
        let elems = (unit, bytes / unit);
        let found = self.order_accesses((w, pc), std::slice::from_ref(t), elems, kind, false);
        self.sync.order.through = Through::Thread;
        self.sync.order.agent = None;
        Ok((found?.into_iter().map(|(_, c)| c).collect(), fine))
    }

    /// The mbarrier counts the bytes of a copy.
    fn bulk_complete(
        &mut self,
        how: &How,
        (space, addr): (Space, Addr),
        bytes: u64,
        cta: Option<(u32, bool)>,
    ) -> Result<(), Stop> {
        let &How { w, lane, pc, .. } = how;
        let mut to =
            self.core
                .targets(LaneAt { w, lane, pc }.alone(), space, addr, &Under::none())?;
        if let Some((rank, pair)) = cta {
            for t in to.iter_mut().filter(|t| t.region == SHARED) {
                // A pair of CTAs counts at the one whose rank is even, or odd, as that of the object is.
                let given =
                    crate::sim::cluster::split(t.off).0 as u32 % self.core.fixed.team.size();
                let rank = match pair {
                    true => rank & !1 | given & 1,
                    false => rank,
                };
                let slot = self
                    .core
                    .fixed
                    .team
                    .peer(w, rank)
                    .map(|number| self.core.fixed.team.slot(number));
                t.off = slot.unwrap_or(0) + self.core.fixed.team.local(t.off);
            }
        }
        self.check(w, pc, &mut to, 8, true);
        let [t] = &to[..] else {
            return Err(Stop::Finding);
        };
        if t.region != SHARED || t.cond.is_some() {
            self.core
                .unsupported(w, 1 << lane, pc, "an mbarrier at this address");
            return Err(Stop::Finding);
        }
        let at = t.off as u64;
        self.check_made_object(w, lane, pc, at);
        self.touch_object(w, pc, &to, Some(how.writes))?;
        self.complete_bytes(LaneAt { w, lane, pc }, at, bytes, how.writes)
    }

    /// `cp.async.bulk.wait_group`.
    fn bulk_wait(&mut self, w: usize, exec: u32, pending: u32, read: bool) {
        let Bulk { issued, committed } = &mut self.tasks.bulk[w];
        let clocks = &mut self.sync.order.clocks;
        issued.retain_mut(|copy| {
            let over = exec >> copy.lane & 1 == 1
                && copy.group.saturating_add(pending) < committed[copy.lane];
            if !over {
                return true;
            }
            if !copy.read {
                clocks.join(copy.reads, 1 << copy.lane);
                copy.read = true;
            }
            if !read {
                clocks.join(copy.writes, 1 << copy.lane);
            }
            read
        });
    }

    /// When all threads have exited: copies that still read or write shared memory.
    pub(in crate::sim) fn check_bulk(&mut self) {
        if self.finds_nothing()
            && let Some((at, phase)) = self.tasks.unseen_bytes()
        {
            let place = self.core.place(SHARED, at, 8);
            let sites = phase.map(|(pc, tid)| crate::sim::Site {
                threads: vec![tid],
                ..site(pc, 0, 1, format!("is part of a phase of {place}"))
            });
            self.core.found.unknown(UnknownKind::Undefined, sites.into_iter().collect(), || {
                format!(
                    "all threads exit before anyone has seen the end of the copies that the mbarrier {place} \
                     counts: they may write shared memory that another CTA already has"
                )
            });
        }
        let late = |b: &Bulk| b.issued.iter().any(|i| !i.read);
        if self.tasks.bulk.iter().any(late) {
            self.core
                .found
                .assumptions
                .insert(AssumptionKind::Machine.says(
                "shared memory keeps its content after the last thread has exited until the bulk \
                 copies that nobody waited for have read it",
            ));
        }
    }
}
