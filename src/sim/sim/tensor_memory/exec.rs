//! Allocations of and accesses to tensor memory.

use std::collections::BTreeSet;

use crate::answer::AssumptionKind;
use crate::kernel::Pc;
use crate::sim::at::{At, site, tids};
use crate::sim::clock::{Actor, Layer};
use crate::sim::machine::{Core, Machine, Synchronisation};
use crate::sim::region::SHARED;
use crate::sim::stop::Stop;
use crate::sim::tensor_memory::{Alloc, Done, Held, ROWS};
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{DefectKind, Site, Tid, UnknownKind, WarningKind};

use super::{COLUMNS, Touch};

/// True for operations that are executed in the order in which they were issued: a copy and a product, and two products
/// with one accumulator, shape and kind, of as many CTAs (PTX ISA 9.0, section 9.7.16.6.2).
fn pipes(old: Touch, new: Touch) -> bool {
    match (old, new) {
        (Touch::Copy { pair: p }, Touch::Factor { pair: q })
        | (Touch::Copy { pair: p }, Touch::Accumulate { pair: q, .. }) => p == q,
        (Touch::Accumulate { .. }, Touch::Accumulate { .. }) => old == new,
        (Touch::Copy { .. }, Touch::Manage | Touch::Load | Touch::Store | Touch::Copy { .. })
        | (
            Touch::Accumulate { .. },
            Touch::Manage | Touch::Load | Touch::Store | Touch::Factor { .. } | Touch::Copy { .. },
        )
        | (Touch::Manage | Touch::Load | Touch::Store | Touch::Factor { .. }, _) => false,
    }
}

/// Lanes in words.
fn lanes_text(mask: u32) -> String {
    match mask {
        u32::MAX => "lanes 0 to 31".into(),
        m if m.is_power_of_two() => format!("lane {}", m.trailing_zeros()),
        m => format!("lane {} and others", m.trailing_zeros()),
    }
}

/// Says that a number of columns cannot be.
fn columns_wrong(columns: u64, what: &str) -> String {
    format!("{columns} columns are {what}; their number is a power of two from 32 to 512")
}

impl Core<'_> {
    /// Records that one CTA of a pair may free columns that an operation of the other one uses.
    fn tensor_pair_freed(
        &mut self,
        (at, by, mask): (Pc, usize, u32),
        (pc, w): (Pc, usize),
        gone: Held,
    ) {
        let sites = vec![
            site(at, by, mask, "uses them"),
            site(pc, w, u32::MAX, "may free them"),
        ];
        let name = self.collective_name(at);
        let (first, last) = (gone.first, gone.first + gone.columns - 1);
        let (one, other) = (self.fixed.team.number(w), gone.cta);
        self.defect(DefectKind::Lifetime, sites, || {
            format!(
                "tensor memory of a pair: tcgen05.dealloc.cta_group::2 of CTA {one} may free columns {first} to {last} \
                 while {name} uses those of CTA {other}: a barrier of both CTAs (barrier.cluster, or an mbarrier at \
                 which both arrive) after the last access is missing before tcgen05.dealloc"
            )
        });
    }

    /// Records that tensor memory is used outside of its lifetime, which some other place began or ended.
    pub(in crate::sim) fn tensor_lifetime(
        &mut self,
        w: usize,
        pc: Pc,
        other: Option<Held>,
        why: &str,
    ) -> Stop {
        let other = other.map(|h| site(h.pc, h.w, u32::MAX, "is executed first"));
        let here = site(pc, w, u32::MAX, "is executed");
        let sites: Vec<Site> = other.into_iter().chain([here]).collect();
        self.defect(DefectKind::Lifetime, sites, || {
            format!("tensor memory: {why}")
        });
        Stop::Finding
    }

    /// Records that a warp allocates where another place has ended that.
    fn tensor_closed(&mut self, w: usize, pc: Pc, closed: (Pc, usize), why: &str) -> Stop {
        let before = site(closed.0, closed.1, u32::MAX, "gives up the right");
        let here = site(pc, w, u32::MAX, "allocates");
        self.defect(DefectKind::Lifetime, vec![before, here], || {
            format!("tensor memory: {why}")
        });
        Stop::Finding
    }

    /// Records that an operand does not lie in tensor memory.
    pub(in crate::sim) fn tensor_beyond(&mut self, w: usize, mask: u32, pc: Pc, why: &str) -> Stop {
        let site = site(pc, w, mask, "is executed");
        self.defect(DefectKind::OutOfBounds, vec![site], || why.into());
        Stop::Finding
    }

    /// Records that the manual says nothing about what an operation does.
    pub(in crate::sim) fn tensor_undefined(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
        why: &str,
    ) -> Stop {
        let site = site(pc, w, mask, "is executed");
        self.found
            .unknown(UnknownKind::Undefined, vec![site], || why.into());
        Stop::Finding
    }

    /// Says that a load was over because every register of it had come.
    fn tensor_late(&mut self, old: &Done, new: &Done) {
        let again = self.collective_name(new.pc);
        let sites = vec![
            site(old.pc, old.w, old.mask, "starts the load"),
            site(new.pc, new.w, new.mask, "uses its memory again"),
        ];
        self.found.warn(WarningKind::MissingWait, sites, || {
            format!(
                "tensor memory is read by tcgen05.ld and then used by {again}, and tcgen05.wait::ld is missing between \
                 them: every register of the load was in an access that was over by then, so the load was, which PTX \
                 does not promise"
            )
        });
    }
}

impl Synchronisation {
    /// Names the wait that would have ended an operation before a later one, or the fence that its pipeline lacks.
    fn tensor_missing(&self, old: &Done, lacks: Option<&str>) -> String {
        let last = lanes(old.mask).next().unwrap_or(0);
        let observed = self.order.clocks.observed(Actor(old.who.0 + last as u32));
        let missing = match old.touch {
            _ if observed => "a barrier after the wait for the first is missing",
            Touch::Load => "tcgen05.wait::ld is missing after the first",
            Touch::Store => "tcgen05.wait::st is missing after the first",
            Touch::Manage => "a barrier between them is missing",
            _ => "tcgen05.commit on an mbarrier and a wait for that are missing between them",
        };
        match lacks {
            Some(fence) => format!("{missing}, or {fence}"),
            None => missing.to_string(),
        }
    }
}

impl Machine<'_> {
    /// Gives a warp columns; the first of them. In a pair of CTAs, whose `first` is known from the other one, they are
    /// those of the agents of the allocation.
    pub(in crate::sim) fn tensor_alloc(
        &mut self,
        w: usize,
        pc: Pc,
        columns: u64,
        of_pair: Option<(Actor, Option<usize>)>,
    ) -> Result<usize, Stop> {
        if !columns.is_power_of_two() || !(32..=COLUMNS as u64).contains(&columns) {
            let why = columns_wrong(columns, "asked for");
            return Err(self.core.tensor_lifetime(w, pc, None, &why));
        }
        let cta = self.core.fixed.team.number(w);
        if let Some(closed) = self.tasks.tensor.closed.get(&cta).copied() {
            let why = "it is allocated after its CTA gave up the right to allocate by \
                       tcgen05.relinquish_alloc_permit";
            return Err(self.core.tensor_closed(w, pc, closed, why));
        }
        let columns = columns as usize;
        let given = of_pair.and_then(|p| p.1);
        let Some(first) = self.tasks.tensor.room(cta, columns, given) else {
            self.core.unsupported(
                w,
                u32::MAX,
                pc,
                "an allocation of tensor memory that has to wait",
            );
            return Err(Stop::Finding);
        };
        self.tasks.tensor.held.push(Held {
            cta,
            first,
            columns,
            pc,
            w,
        });
        self.core.found.assumptions.insert(
            AssumptionKind::Machine
                .says("tcgen05.alloc gives the lowest free columns of tensor memory"),
        );
        let at = self.sync.order.clocks.stamp(w as u32);
        if let Some(last) = self.tasks.tensor.allocs.iter().rev().find(|a| a.cta == cta)
            && last.columns < columns
        {
            let (before, pc_before, w_before) = (last.columns, last.pc, last.w);
            let sites = vec![
                site(pc_before, w_before, u32::MAX, "allocates first"),
                site(pc, w, u32::MAX, "allocates more"),
            ];
            self.core.found.warn(WarningKind::Note, sites, || {
                format!(
                    "tensor memory: {columns} columns are allocated after {before}; their number should not increase \
                     from one allocation of a CTA to the next"
                )
            });
        }
        self.tasks.tensor.allocs.push(Alloc {
            cta,
            columns,
            pc,
            w,
            at,
        });
        let who = of_pair.map_or(Actor(self.core.threads.warps[w].first), |p| p.0);
        self.tensor_manage(w, pc, who, first, columns)?;
        Ok(first)
    }

    /// A warp says that its CTA allocates no more.
    pub(in crate::sim) fn tensor_relinquish(&mut self, w: usize, pc: Pc) {
        let cta = self.core.fixed.team.number(w);
        let (clocks, me) = (
            &self.sync.order.clocks,
            Tid(self.core.threads.warps[w].first),
        );
        let apart = |a: &&Alloc| {
            a.cta == cta
                && a.w != w
                && !clocks.ordered(Actor(self.core.threads.warps[a.w].first), a.at, me)
        };
        if let Some(a) = self.tasks.tensor.allocs.iter().find(apart).copied() {
            let before = site(a.pc, a.w, u32::MAX, "allocates");
            let here = site(pc, w, u32::MAX, "gives up the right to");
            self.core
                .defect(DefectKind::Lifetime, vec![before, here], || {
                    "tensor memory: nothing orders tcgen05.alloc of one warp before \
                 tcgen05.relinquish_alloc_permit of another, after which its CTA may not allocate"
                        .into()
                });
        }
        self.tasks.tensor.closed.entry(cta).or_insert((pc, w));
    }

    /// Takes columns back; of a pair of CTAs those of the other one too, whose number is `peer`.
    pub(in crate::sim) fn tensor_free(
        &mut self,
        w: usize,
        pc: Pc,
        (at, columns): (u64, u64),
        peer: Option<usize>,
    ) -> Result<(), Stop> {
        let cta = self.core.fixed.team.number(w);
        if !columns.is_power_of_two() || !(32..=COLUMNS as u64).contains(&columns) {
            let why = columns_wrong(columns, "freed");
            return Err(self.core.tensor_lifetime(w, pc, None, &why));
        }
        self.tasks
            .tensor
            .freeing
            .retain(|h| (h.cta, h.first as u64) != (cta, at));
        let same = |h: &Held| (h.cta, h.first as u64, h.columns as u64) == (cta, at, columns);
        let Some(i) = self.tasks.tensor.held.iter().position(same) else {
            let covers = |h: &&Held| h.covers(cta, at as usize);
            let held = self.tasks.tensor.held.iter().find(covers);
            let why = match (held, self.tasks.tensor.freed.iter().find(covers)) {
                (Some(h), _) => format!(
                    "{columns} columns from {at} on are freed, and {} from {} on were allocated",
                    h.columns, h.first
                ),
                (None, Some(_)) => format!("column {at} is freed, which was freed before"),
                (None, None) => format!("column {at} is freed, which was never allocated"),
            };
            return Err(self.core.tensor_lifetime(w, pc, held.copied(), &why));
        };
        let who = Actor(self.core.threads.warps[w].first);
        self.tensor_manage(w, pc, who, at as usize, columns as usize)?;
        let held = self.tasks.tensor.held.remove(i);
        self.tasks.tensor.freed.push(Held { pc, w, ..held });
        if let Some(peer) = peer {
            self.tensor_free_peer(
                w,
                pc,
                Held {
                    cta: peer,
                    pc,
                    w,
                    ..held
                },
            );
        }
        Ok(())
    }

    /// A warp frees its half of the columns of a pair, with which those of the other CTA may go: what that did to them
    /// must be over. It may have been freed there already.
    fn tensor_free_peer(&mut self, w: usize, pc: Pc, gone: Held) {
        let holds = |h: &Held| (h.cta, h.first) == (gone.cta, gone.first);
        if !self.tasks.tensor.held.iter().any(holds) {
            return;
        }
        let me = Tid(self.core.threads.warps[w].first);
        let mut before = BTreeSet::new();
        for row in ROWS * gone.cta..ROWS * (gone.cta + 1) {
            for column in gone.first..gone.first + gone.columns {
                let at = row * COLUMNS + column;
                before.insert(self.tasks.tensor.written[at]);
                before.extend(self.tasks.tensor.read[at].iter().copied());
            }
        }
        for i in before.into_iter().filter(|i| *i != 0) {
            let old = self.tasks.tensor.done[i as usize - 1];
            let clocks = self.sync.order.clocks.seen_in(Layer::TensorMemory);
            let over = clocks.unordered(old.who, old.mask, old.at, me).is_none();
            let came = || matches!(self.open_register(i, &[me]), Ok(None));
            if old.touch == Touch::Manage || over || old.touch == Touch::Load && came() {
                continue;
            }
            self.core
                .tensor_pair_freed((old.pc, old.w, old.mask), (pc, w), gone);
            break;
        }
        self.tasks.tensor.freeing.push(gone);
    }

    fn tensor_manage(
        &mut self,
        w: usize,
        pc: Pc,
        who: Actor,
        first: usize,
        n: usize,
    ) -> Result<(), Stop> {
        let mut cells = Vec::with_capacity(ROWS * n);
        let own = ROWS * self.core.fixed.team.number(w);
        for row in own..own + ROWS {
            cells.extend((first..first + n).map(|c| (row, c)));
        }
        self.tensor_touch(
            At {
                w,
                exec: u32::MAX,
                pc,
            },
            who,
            Touch::Manage,
            true,
            &cells,
        )?;
        for (row, column) in cells {
            self.tasks.tensor.set(row, column, Val::Unset);
        }
        Ok(())
    }

    /// When all threads have exited: everything must have been freed.
    pub(in crate::sim) fn check_tensor_memory(&mut self) {
        for Held { pc, w, .. } in self.tasks.tensor.held.clone() {
            let why = "it is not freed before the kernel ends";
            self.core.tensor_lifetime(w, pc, None, why);
        }
    }

    /// An operation touches cells: it must be ordered with those that touched them before.
    pub(in crate::sim) fn tensor_touch(
        &mut self,
        At { w, exec: mask, pc }: At,
        who: Actor,
        touch: Touch,
        write: bool,
        cells: &[(usize, usize)],
    ) -> Result<(), Stop> {
        let columns: BTreeSet<(usize, usize)> = cells.iter().map(|c| (c.0 / ROWS, c.1)).collect();
        let freeing = |c: &(usize, usize)| {
            self.tasks
                .tensor
                .freeing
                .iter()
                .find(|h| h.covers(c.0, c.1))
        };
        if let Some(gone) = columns.iter().find_map(freeing).copied() {
            self.core
                .tensor_pair_freed((pc, w, mask), (gone.pc, gone.w), gone);
            return Err(Stop::Finding);
        }
        if let Some((cta, c)) = columns
            .into_iter()
            .find(|c| !self.tasks.tensor.holds(c.0, c.1))
        {
            let ended = |h: &&Held| h.covers(cta, c);
            if let Some(freed) = self.tasks.tensor.freed.iter().rev().find(ended).copied() {
                let why = format!("column {c} is used after it was freed");
                return Err(self.core.tensor_lifetime(w, pc, Some(freed), &why));
            }
            let site = site(pc, w, mask, format!("touches column {c}"));
            self.core.defect(DefectKind::OutOfBounds, vec![site], || {
                format!("column {c} of tensor memory is not allocated")
            });
            return Err(Stop::Finding);
        }
        let mut before = BTreeSet::new();
        for &(row, column) in cells {
            let at = row * COLUMNS + column;
            before.insert(self.tasks.tensor.written[at]);
            if write {
                before.extend(self.tasks.tensor.read[at].iter().copied());
            }
        }
        self.tasks.tensor.number += 1;
        let new = Done {
            pc,
            w,
            mask,
            who,
            at: self.sync.order.clocks.stamp(w as u32),
            touch,
            number: self.tasks.tensor.number,
        };
        for i in before.into_iter().filter(|i| *i != 0) {
            let old = self.tasks.tensor.done[i as usize - 1];
            self.tensor_order(i, &old, &new)?;
        }
        self.tasks.tensor.done.push(new);
        let index = self.tasks.tensor.done.len() as u32;
        for &(row, column) in cells {
            let at = row * COLUMNS + column;
            if write {
                self.tasks.tensor.written[at] = index;
                self.tasks.tensor.read[at].clear();
            } else {
                self.tasks.tensor.read[at].push(index);
            }
        }
        Ok(())
    }

    /// Of two operations on a cell, the earlier one must happen before the later one.
    fn tensor_order(&mut self, number: u32, old: &Done, new: &Done) -> Result<(), Stop> {
        let managed = old.touch == Touch::Manage && old.w == new.w;
        let one = (old.w, old.mask) == (new.w, new.mask);
        let pipes = pipes(old.touch, new.touch);
        if managed {
            return Ok(());
        }
        if one && pipes {
            self.tensor_follows(old, new);
            return Ok(());
        }
        let copies = matches!(new.touch, Touch::Copy { .. });
        if one && copies && matches!(old.touch, Touch::Factor { .. } | Touch::Copy { .. }) {
            self.core.found.assumptions.insert(AssumptionKind::Machine.says(
                "a tcgen05.cp of a thread comes after the tcgen05.mma and tcgen05.cp that the thread issued before",
            ));
            return Ok(());
        }
        let tids = tids(new.w, new.mask);
        let clocks = self.sync.order.clocks.seen_in(Layer::TensorMemory);
        let fences = &self.tasks.tensor.fences;
        let apart = |t: &&Tid| clocks.unordered(old.who, old.mask, old.at, **t).is_some();
        let free: Vec<&Tid> = tids.iter().filter(apart).collect();
        if free.is_empty() {
            self.tensor_fenced(old, new);
            return Ok(());
        }
        let by_default = self.sync.order.clocks.seen_in(Layer::DefaultScope);
        let by_default = |t: &&Tid| {
            by_default
                .unordered(old.who, old.mask, old.at, **t)
                .is_none()
        };
        let by_default = free.iter().all(by_default);
        let mut lacks = None;
        if pipes {
            let a = Tid(self.core.threads.warps[old.w].first + old.mask.trailing_zeros());
            lacks = fences.pipeline_lacks(clocks, (a, old.number), tids[0]);
            if lacks.is_none() {
                self.tensor_follows(old, new);
                return Ok(());
            }
        }
        let mut late = String::new();
        if old.touch == Touch::Load {
            match self.open_register(number, &tids) {
                Ok(None) => {
                    // Whether fences stand there can be said once a wait does.
                    self.core.tensor_late(old, new);
                    return Ok(());
                }
                Ok(Some((name, open))) => {
                    late = format!(
                        " (register {name} of {} is in no access that is over before)",
                        lanes_text(open)
                    );
                }
                Err(()) => {}
            }
        }
        let mut sites = vec![
            site(old.pc, old.w, old.mask, "touches it first"),
            site(
                new.pc,
                new.w,
                new.mask,
                "touches it while nothing orders them",
            ),
        ];
        let (a, b) = (old.touch.name(), new.touch.name());
        let used = format!("tensor memory is used by {a} and then by {b}");
        if by_default {
            let first = |w: usize, mask: u32| (w * LANES) as u32 + mask.trailing_zeros();
            let [old, new] = [first(old.w, old.mask), first(new.w, new.mask)];
            let hint = self.hint_of_patterns((SHARED, 0), old, new, &mut sites);
            let hint = hint.map_or(String::new(), |h| format!(": {h}"));
            self.core.found.warn(WarningKind::DefaultScope, sites, || {
                format!(
                    "{used}: only an arrival or a wait without a scope, which is .cta, orders them{hint}"
                )
            });
            return Ok(());
        }
        let missing = self.sync.tensor_missing(old, lacks);
        self.core.defect(DefectKind::DataRace, sites, || {
            format!("{used}: {missing}{late}")
        });
        Err(Stop::Finding)
    }

    /// An operation is executed after another one in a pipeline, so it is over after that too: a commit of its thread
    /// tracks both.
    fn tensor_follows(&mut self, old: &Done, new: &Done) {
        for t in tids(new.w, new.mask) {
            let tracked = self.tasks.tensor.products.entry(t).or_default();
            if !tracked.contains(&(old.who, old.mask)) {
                tracked.push((old.who, old.mask));
            }
        }
    }

    /// Warns where a synchronisation orders two operations without the fences of this family.
    fn tensor_fenced(&mut self, old: &Done, new: &Done) {
        let synchronous = [old, new].iter().any(|d| d.touch == Touch::Manage);
        // A load or store is waited for by its warp, which is a synchronisation of its own.
        let waited = matches!(old.touch, Touch::Load | Touch::Store);
        if synchronous || old.w == new.w && waited {
            return;
        }
        let clocks = self.sync.order.clocks.seen_in(Layer::TensorMemory);
        let fences = &self.tasks.tensor.fences;
        let (first, tids) = (self.core.threads.warps[old.w].first, tids(new.w, new.mask));
        let (mut before, mut after) = (true, true);
        for lane in lanes(old.mask) {
            let a = Tid(first + lane as u32);
            let agent = Actor(old.who.0 + lane as u32);
            before &= !waited
                || tids
                    .iter()
                    .all(|b| fences.published(clocks, a, old.number, *b));
            after &= tids.iter().all(|b| fences.knew(clocks, *b, agent, old.at));
        }
        let (one, two) = (
            self.core.collective_name(old.pc),
            self.core.collective_name(new.pc),
        );
        let missing = match (before, after) {
            (true, true) => return,
            (false, true) => {
                format!("tcgen05.fence::before_thread_sync between {one} and the synchronisation")
            }
            (true, false) => {
                format!("tcgen05.fence::after_thread_sync between the synchronisation and {two}")
            }
            (false, false) => format!(
                "tcgen05.fence::before_thread_sync between {one} and the synchronisation, and without \
                 tcgen05.fence::after_thread_sync between that and {two}"
            ),
        };
        let sites = vec![
            site(old.pc, old.w, old.mask, "touches tensor memory first"),
            site(new.pc, new.w, new.mask, "touches it afterwards"),
        ];
        self.core.found.warn(WarningKind::MissingFence, sites, || {
            format!("{one} is published to {two} without {missing}")
        });
    }
}
