//! Tensor memory: 128 lanes of 512 columns of 32 bits, who holds columns of it, and who touched
//! which cell.
//!
//! Every operation on it is asynchronous but for the allocation, so each is an agent that forks
//! where it is issued; it ends for whoever observes it: `tcgen05.wait` for the loads and stores of
//! a warp, a phase of the mbarrier of a `tcgen05.commit` for the products of a thread. Two
//! operations on one cell, one of which writes, must be ordered that way, but for products with
//! one accumulator and shape from one thread, which the hardware executes in their order.
//!
//! How this differs: `tcgen05.fence` is not demanded. Where operations are ordered by barriers or
//! mbarriers alone, as Triton writes them, the report lists that as an assumption.
//!
//! Source: PTX ISA 9.0, sections 9.7.16.1 (tensor memory), 9.7.16.6 (ordering), 9.7.16.7
//! (allocation).
//!
//! Not claimed: which columns an allocation gives: the lowest free ones are assumed.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::answer::AssumptionKind;
use crate::kernel::{AsyncOp, Kernel, Op, Pc};
use crate::term::TermId;

use super::clock::{Actor, Carried, Tick};
use super::machine::{Machine, Stop};
use super::tensor_commit::Commits;
use super::tensor_load::Fate;
use super::value::Val;
use super::warp::{LANES, lanes};
use super::{DefectKind, Site, Tid, UnknownKind, WarningKind};

/// Lanes of tensor memory.
pub(super) const ROWS: usize = 128;
/// Columns of tensor memory.
pub(super) const COLUMNS: usize = 512;

/// How an operation touches cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// `tcgen05.alloc` and `tcgen05.dealloc`.
    Manage,
    /// `tcgen05.ld`.
    Load,
    /// `tcgen05.st`.
    Store,
    /// The accumulator of `tcgen05.mma` at an address, of a shape.
    Accumulate(u64, u64),
    /// A factor of `tcgen05.mma`, or its scales.
    Factor,
    /// `tcgen05.cp`.
    Copy,
}

impl Touch {
    /// The operation, for messages.
    fn name(self) -> &'static str {
        match self {
            Touch::Manage => "its allocation",
            Touch::Load => "tcgen05.ld",
            Touch::Store => "tcgen05.st",
            Touch::Accumulate(..) | Touch::Factor => "tcgen05.mma",
            Touch::Copy => "tcgen05.cp",
        }
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

/// An operation that touched cells.
#[derive(Clone, Copy, Debug)]
struct Done {
    pc: Pc,
    w: usize,
    mask: u32,
    who: Actor,
    at: Tick,
    touch: Touch,
    /// Its number among operations and fences.
    number: u64,
}

/// Columns that are allocated, or were.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The number of the CTA.
    cta: usize,
    first: usize,
    columns: usize,
    pc: Pc,
    w: usize,
}

impl Held {
    fn covers(&self, cta: usize, column: usize) -> bool {
        self.cta == cta && (self.first..self.first + self.columns).contains(&column)
    }
}

/// The tensor memory of the CTAs that run, 128 rows for each.
#[derive(Clone, Debug, Default)]
pub(super) struct TensorMemory {
    cells: Vec<Val>,
    written: Vec<u32>,
    read: Vec<SmallVec<[u32; 2]>>,
    done: Vec<Done>,
    number: u64,
    /// What is allocated, and where that was.
    held: Vec<Held>,
    /// The same of what was freed, with where that was.
    freed: Vec<Held>,
    /// Warps that wait in an operation of a pair of CTAs.
    pub(super) half: Vec<super::tensor_pair::Half>,
    /// The first factor that the collector buffer of a CTA holds, by rows.
    pub(super) collected: FxHashMap<usize, Vec<TermId>>,
    /// CTAs in which nobody may allocate any more.
    pub closed: BTreeSet<usize>,
    /// What became of the registers of loads, by their numbers.
    pub(super) fates: FxHashMap<u32, Fate>,
    /// Loads and stores of each warp that were not waited for.
    pub moving: FxHashMap<(usize, bool), Vec<Actor>>,
    /// Products of each thread.
    pub products: FxHashMap<Tid, Vec<Actor>>,
    /// What each thread knew when it issued its last product.
    pub carried: FxHashMap<Tid, Arc<Carried>>,
    /// What its commits track.
    pub commits: Commits,
    /// Number of the last fence of a thread, before and after synchronisation.
    fences: FxHashMap<(Tid, bool), u64>,
}

impl TensorMemory {
    /// An empty one; takes no memory where the kernel does not use it.
    pub(super) fn new(kernel: &Kernel, ctas: usize) -> TensorMemory {
        let uses = |op: &Op| matches!(op, Op::Async(a) if matches!(**a, AsyncOp::Tensor(_)));
        let n = match kernel.insts.iter().any(|i| uses(&i.op)) {
            true => ROWS * COLUMNS * ctas,
            false => 0,
        };
        TensorMemory {
            cells: vec![Val::Unset; n],
            written: vec![0; n],
            read: vec![SmallVec::new(); n],
            ..TensorMemory::default()
        }
    }

    /// The content of a cell.
    pub(super) fn get(&self, row: usize, column: usize) -> Val {
        let at = row * COLUMNS + column;
        self.cells.get(at).copied().unwrap_or(Val::Unset)
    }

    /// Sets the content of a cell.
    pub(super) fn set(&mut self, row: usize, column: usize, v: Val) {
        if let Some(cell) = self.cells.get_mut(row * COLUMNS + column) {
            *cell = v;
        }
    }

    /// The first of the lowest free columns of a CTA for an allocation, or the given one if those are free.
    fn room(&self, cta: usize, columns: usize, given: Option<usize>) -> Option<usize> {
        let free = |at: usize| {
            let apart =
                |h: &Held| h.cta != cta || at + columns <= h.first || h.first + h.columns <= at;
            self.held.iter().all(apart)
        };
        (0..COLUMNS / columns)
            .map(|i| i * columns)
            .find(|&at| free(at) && given.is_none_or(|g| g == at))
    }

    /// The number of the last operation that touched cells.
    pub(super) fn last(&self) -> u32 {
        self.done.len() as u32
    }

    fn holds(&self, cta: usize, column: usize) -> bool {
        self.held.iter().any(|h| h.covers(cta, column))
    }
}

impl Machine<'_> {
    /// `tcgen05.fence`.
    pub(super) fn tensor_fence(&mut self, w: usize, mask: u32, after: bool) {
        self.tensor.number += 1;
        for t in self.tids(w, mask) {
            self.tensor.fences.insert((t, after), self.tensor.number);
        }
    }

    /// Gives a warp columns; the first of them. In a pair of CTAs, whose `first` is known from the other one, they are
    /// those of the agents of the allocation.
    pub(super) fn tensor_alloc(
        &mut self,
        w: usize,
        pc: Pc,
        columns: u64,
        of_pair: Option<(Actor, Option<usize>)>,
    ) -> Result<usize, Stop> {
        if !columns.is_power_of_two() || !(32..=COLUMNS as u64).contains(&columns) {
            return Err(self.tensor_undefined(
                w,
                u32::MAX,
                pc,
                "the number of columns must be a power of two from 32 to 512",
            ));
        }
        let cta = self.team.number(w);
        if self.tensor.closed.contains(&cta) {
            return Err(self.tensor_undefined(
                w,
                u32::MAX,
                pc,
                "the permit to allocate tensor memory was given back",
            ));
        }
        let columns = columns as usize;
        let given = of_pair.and_then(|p| p.1);
        let Some(first) = self.tensor.room(cta, columns, given) else {
            self.unsupported(
                w,
                u32::MAX,
                pc,
                "an allocation of tensor memory that has to wait",
            );
            return Err(Stop::Finding);
        };
        self.tensor.held.push(Held {
            cta,
            first,
            columns,
            pc,
            w,
        });
        self.found.assumptions.insert(
            AssumptionKind::Machine
                .says("tcgen05.alloc gives the lowest free columns of tensor memory"),
        );
        let who = of_pair.map_or(Actor(self.warps[w].first), |p| p.0);
        self.tensor_manage(w, pc, who, first, columns)?;
        Ok(first)
    }

    /// Takes columns back.
    pub(super) fn tensor_free(
        &mut self,
        w: usize,
        pc: Pc,
        at: u64,
        columns: u64,
    ) -> Result<(), Stop> {
        let cta = self.team.number(w);
        let same = |h: &Held| (h.cta, h.first as u64, h.columns as u64) == (cta, at, columns);
        let Some(i) = self.tensor.held.iter().position(same) else {
            let covers = |h: &&Held| h.covers(cta, at as usize);
            let held = self.tensor.held.iter().find(covers);
            let why = match (held, self.tensor.freed.iter().find(covers)) {
                (Some(h), _) => format!(
                    "{columns} columns from {at} on are freed, and {} from {} on were allocated",
                    h.columns, h.first
                ),
                (None, Some(_)) => format!("column {at} is freed, which was freed before"),
                (None, None) => format!("column {at} is freed, which was never allocated"),
            };
            return Err(self.tensor_lifetime(w, pc, held.copied(), &why));
        };
        let who = Actor(self.warps[w].first);
        self.tensor_manage(w, pc, who, at as usize, columns as usize)?;
        let held = self.tensor.held.remove(i);
        self.tensor.freed.push(Held { pc, w, ..held });
        Ok(())
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
        let own = ROWS * self.team.number(w);
        for row in own..own + ROWS {
            cells.extend((first..first + n).map(|c| (row, c)));
        }
        self.tensor_touch(w, u32::MAX, pc, who, Touch::Manage, true, &cells)?;
        for (row, column) in cells {
            self.tensor.set(row, column, Val::Unset);
        }
        Ok(())
    }

    /// When all threads have exited: everything must have been freed.
    pub(super) fn check_tensor_memory(&mut self) {
        for Held { pc, w, .. } in self.tensor.held.clone() {
            let why = "it is not freed before the kernel ends";
            self.tensor_lifetime(w, pc, None, why);
        }
    }

    /// Records that tensor memory is used outside of its lifetime, which some other place began or ended.
    fn tensor_lifetime(&mut self, w: usize, pc: Pc, other: Option<Held>, why: &str) -> Stop {
        let other = other.map(|h| self.site(h.pc, h.w, u32::MAX, "is executed first"));
        let here = self.site(pc, w, u32::MAX, "is executed");
        let sites: Vec<Site> = other.into_iter().chain([here]).collect();
        self.defect(DefectKind::Lifetime, sites, || {
            format!("tensor memory: {why}")
        });
        Stop::Finding
    }

    /// Records that the manual says nothing about what an operation does.
    pub(super) fn tensor_undefined(&mut self, w: usize, mask: u32, pc: Pc, why: &str) -> Stop {
        let site = self.site(pc, w, mask, "is executed");
        self.unknown(UnknownKind::Undefined, vec![site], || why.into());
        Stop::Finding
    }

    /// An operation touches cells: it must be ordered with those that touched them before.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn tensor_touch(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
        who: Actor,
        touch: Touch,
        write: bool,
        cells: &[(usize, usize)],
    ) -> Result<(), Stop> {
        let columns: BTreeSet<(usize, usize)> = cells.iter().map(|c| (c.0 / ROWS, c.1)).collect();
        if let Some((cta, c)) = columns.into_iter().find(|c| !self.tensor.holds(c.0, c.1)) {
            let ended = |h: &&Held| h.covers(cta, c);
            if let Some(freed) = self.tensor.freed.iter().rev().find(ended).copied() {
                let why = format!("column {c} is used after it was freed");
                return Err(self.tensor_lifetime(w, pc, Some(freed), &why));
            }
            let site = self.site(pc, w, mask, format!("touches column {c}"));
            self.defect(DefectKind::OutOfBounds, vec![site], || {
                format!("column {c} of tensor memory is not allocated")
            });
            return Err(Stop::Finding);
        }
        let mut before = BTreeSet::new();
        for &(row, column) in cells {
            let at = row * COLUMNS + column;
            before.insert(self.tensor.written[at]);
            if write {
                before.extend(self.tensor.read[at].iter().copied());
            }
        }
        self.tensor.number += 1;
        let new = Done {
            pc,
            w,
            mask,
            who,
            at: self.order.clocks.stamp(w as u32),
            touch,
            number: self.tensor.number,
        };
        for i in before.into_iter().filter(|i| *i != 0) {
            let old = self.tensor.done[i as usize - 1];
            self.tensor_order(i, &old, &new)?;
        }
        self.tensor.done.push(new);
        let index = self.tensor.done.len() as u32;
        for &(row, column) in cells {
            let at = row * COLUMNS + column;
            if write {
                self.tensor.written[at] = index;
                self.tensor.read[at].clear();
            } else {
                self.tensor.read[at].push(index);
            }
        }
        Ok(())
    }

    /// Of two operations on a cell, the earlier one must happen before the later one.
    fn tensor_order(&mut self, number: u32, old: &Done, new: &Done) -> Result<(), Stop> {
        let managed = old.touch == Touch::Manage && old.w == new.w;
        let product = matches!(new.touch, Touch::Accumulate(..)) && old.touch == new.touch;
        let one = (old.w, old.mask) == (new.w, new.mask);
        let feeds =
            old.touch == Touch::Copy && matches!(new.touch, Touch::Factor | Touch::Accumulate(..));
        if managed || one && (product || feeds) {
            return Ok(());
        }
        if one && new.touch == Touch::Copy && matches!(old.touch, Touch::Factor | Touch::Copy) {
            self.found.assumptions.insert(AssumptionKind::Machine.says(
                "a tcgen05.cp of a thread comes after the tcgen05.mma and tcgen05.cp that the thread issued before",
            ));
            return Ok(());
        }
        let tids = self.tids(new.w, new.mask);
        let clocks = &self.order.clocks;
        let apart = |t: &Tid| clocks.unordered(old.who, old.mask, old.at, *t).is_some();
        if !tids.iter().any(apart) {
            self.tensor_fenced(old, new, tids[0]);
            return Ok(());
        }
        let mut late = String::new();
        if old.touch == Touch::Load {
            match self.open_register(number, &tids) {
                Ok(None) => {
                    self.tensor_late(old, new);
                    self.tensor_fenced(old, new, tids[0]);
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
        let clocks = &self.order.clocks;
        let last = lanes(old.mask).next().unwrap_or(0);
        let observed = clocks.observed(Actor(old.who.0 + last as u32));
        let missing = match old.touch {
            _ if observed => "a barrier after the wait for the first is missing",
            Touch::Load => "tcgen05.wait::ld is missing after the first",
            Touch::Store => "tcgen05.wait::st is missing after the first",
            Touch::Manage => "a barrier between them is missing",
            _ => "tcgen05.commit on an mbarrier and a wait for that are missing between them",
        };
        let sites = vec![
            self.site(old.pc, old.w, old.mask, "touches it first"),
            self.site(
                new.pc,
                new.w,
                new.mask,
                "touches it while nothing orders them",
            ),
        ];
        let message = || {
            let (a, b) = (old.touch.name(), new.touch.name());
            format!("tensor memory is used by {a} and then by {b}: {missing}{late}")
        };
        if product {
            // Products of several threads are executed in order if a fence orders their issue.
            self.unknown(UnknownKind::Undecided, sites, message);
        } else {
            self.defect(DefectKind::DataRace, sites, message);
        }
        Err(Stop::Finding)
    }

    /// Says that a load was over because every register of it had come.
    fn tensor_late(&mut self, old: &Done, new: &Done) {
        let again = self.collective_name(new.pc);
        let sites = vec![
            self.site(old.pc, old.w, old.mask, "starts the load"),
            self.site(new.pc, new.w, new.mask, "uses its memory again"),
        ];
        self.warn(WarningKind::MissingWait, sites, || {
            format!(
                "tensor memory is read by tcgen05.ld and then used by {again}, and tcgen05.wait::ld is missing between \
                 them: every register of the load was in an access that was over by then, so the load was, which PTX \
                 does not promise"
            )
        });
    }

    /// Says so where only barriers order two operations, without the fences of this family.
    fn tensor_fenced(&mut self, old: &Done, new: &Done, by: Tid) {
        if old.w == new.w && matches!(old.touch, Touch::Load | Touch::Store | Touch::Manage) {
            return;
        }
        let number = |t: Tid, after: bool| self.tensor.fences.get(&(t, after)).copied();
        let last = Tid((old.w * LANES) as u32 + old.mask.trailing_zeros());
        let committed = matches!(
            old.touch,
            Touch::Accumulate(..) | Touch::Factor | Touch::Copy
        );
        let before = committed || number(last, false).is_some_and(|n| n > old.number);
        let after = number(by, true).is_some_and(|n| n > old.number);
        if !(before && after) {
            self.found
                .assumptions
                .insert(AssumptionKind::Visibility.says(
                    "what barriers and mbarriers order among operations on tensor memory needs no \
                 tcgen05.fence",
                ));
        }
    }
}
