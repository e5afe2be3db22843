//! Memory seen through two proxies.
//!
//! Problem: a store goes through the generic proxy, an operand of a tensor core or of a bulk
//! copy is read through the async proxy. Happens-before alone does not make the store visible:
//! there must be a `fence.proxy.async` on the way (PTX ISA 9.0, sections 8.6 and 9.7.13.4). The
//! fence may be executed by the writer before it releases, or by the reader after it acquired.
//!
//! A fence of a third thread counts if it lies on the way: after the write, and before the read.
//!
//! A fence is for shared memory, for global memory, or for both, and each is looked for by itself; `fence.mbarrier_init`
//! is for objects that were made and nothing else. That one is left out by shipped kernels where a barrier of the CTA
//! stands between, so its want is a warning there.
//!
//! How this differs: `cp.async` is of the generic proxy too, but compilers leave the fence out
//! after waiting for it, so its visibility is an assumption that the report states. A fence that is not known to
//! be on the way makes the read `unknown` rather than a defect.
//!
//! Not claimed: the other direction. A generic read after an observed completion needs no fence.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::clock::{Actor, Clocks, Snapshot, Tick};
use super::machine::{Machine, RegionId, SHARED};
use super::order::Order;
use super::warp::{LANES, lanes};
use super::{Tid, UnknownKind, WarningKind};
use crate::answer::AssumptionKind;
use crate::kernel::{AsyncOp, Kernel, Op, Pc};

/// The last write of a word through the generic proxy.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    /// Its number; 0 is none.
    number: u64,
    who: u32,
    tick: u32,
    pc: u32,
    copied: bool,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// A thread.
    Thread,
    /// `cp.async`, of the generic proxy.
    Copy,
    /// A bulk copy, of the async proxy.
    Bulk,
}

/// A fence of a thread, and what the thread knew.
#[derive(Clone, Debug)]
struct Fenced {
    number: u64,
    tick: Tick,
    floor: Tick,
    snap: Arc<Snapshot>,
}

/// The fences of a CTA that make one sort of writes visible.
#[derive(Default)]
struct Fences {
    /// Those of each thread, in order.
    by: FxHashMap<u32, Vec<Fenced>>,
    /// The number of the last one.
    last: u64,
}

/// Words of a page.
const PAGE: u64 = 64;

/// Writes and fences of a CTA.
pub(super) struct Proxies {
    on: bool,
    number: u64,
    pages: FxHashMap<(RegionId, u64), Box<[Written; PAGE as usize]>>,
    shared: Fences,
    global: Fences,
    /// Those that publish objects.
    inits: Fences,
    /// When objects were made, by offset.
    made: FxHashMap<u64, Written>,
}

/// What is known of a read through the async proxy.
pub(super) enum Seen {
    /// Every write is visible.
    Yes,
    /// If copies of the generic proxy are.
    Copied,
    /// A fence by another thread may make it visible.
    Perhaps(Tid, Pc),
    /// Nobody executed a fence since the write.
    No(Tid, Pc),
}

impl Proxies {
    /// Nothing written; idle if the kernel reads nothing through the async proxy.
    pub(super) fn new(kernel: &Kernel) -> Proxies {
        let reads = |op: &Op| match op {
            Op::Async(a) => matches!(
                **a,
                AsyncOp::Wgmma(_) | AsyncOp::Tensor(_) | AsyncOp::Bulk(_)
            ),
            _ => false,
        };
        Proxies {
            on: kernel.insts.iter().any(|i| reads(&i.op)),
            number: 0,
            pages: FxHashMap::default(),
            shared: Fences::default(),
            global: Fences::default(),
            inits: Fences::default(),
            made: FxHashMap::default(),
        }
    }

    /// Lanes write a region through a proxy.
    pub(super) fn written(
        &mut self,
        clocks: &Clocks,
        region: RegionId,
        (w, mask, pc): (usize, u32, Pc),
        (offs, bytes): (&[u64; LANES], u64),
        by: Through,
    ) {
        if !self.on {
            return;
        }
        self.number += 1;
        let tick = clocks.stamp(w as u32).0;
        for lane in lanes(mask) {
            let (from, to) = (offs[lane] / 4, (offs[lane] + bytes).div_ceil(4));
            for word in from..to {
                let page = self.pages.entry((region, word / PAGE));
                let page = page.or_insert_with(|| Box::new([Written::default(); PAGE as usize]));
                page[(word % PAGE) as usize] = Written {
                    // What the async proxy wrote is visible to it.
                    number: if by == Through::Bulk { 0 } else { self.number },
                    who: (w * LANES + lane) as u32,
                    tick,
                    pc: pc.0,
                    copied: by == Through::Copy,
                };
            }
        }
    }

    /// Lanes execute `fence.proxy.async`, for shared memory, for global memory, or for both.
    pub(super) fn fence(
        &mut self,
        clocks: &Clocks,
        (w, mask): (usize, u32),
        (shared, global): (bool, bool),
    ) {
        self.number += 1;
        for (of, fences) in [(shared, &mut self.shared), (global, &mut self.global)] {
            if of {
                fences.add(self.number, clocks, w, mask);
            }
        }
        // It publishes objects in shared memory too.
        if shared {
            self.inits.add(self.number, clocks, w, mask);
        }
    }

    /// Lanes execute `fence.mbarrier_init`.
    pub(super) fn fence_inits(&mut self, clocks: &Clocks, w: usize, mask: u32) {
        self.number += 1;
        self.inits.add(self.number, clocks, w, mask);
    }

    /// A thread makes an object.
    pub(super) fn made(&mut self, clocks: &Clocks, (w, lane): (usize, usize), pc: Pc, at: u64) {
        if !self.on {
            return;
        }
        self.number += 1;
        let made = Written {
            number: self.number,
            who: (w * LANES + lane) as u32,
            tick: clocks.stamp(w as u32).0,
            pc: pc.0,
            copied: false,
        };
        self.made.insert(at, made);
    }

    /// The thread that made an object which the async proxy may not see made, and true if a barrier of the CTA
    /// stands between.
    pub(super) fn unpublished(
        &self,
        clocks: &Clocks,
        reader: Tid,
        at: u64,
    ) -> Option<(Tid, Pc, bool)> {
        let made = self.made.get(&at)?;
        let barrier = made.tick < clocks.floor().0;
        let seen = self.inits.between(clocks, made, reader);
        (!seen).then_some((Tid(made.who), Pc(made.pc), barrier))
    }

    /// A thread has words read through the async proxy.
    pub(super) fn seen(
        &self,
        clocks: &Clocks,
        reader: Tid,
        region: RegionId,
        (from, bytes): (u64, u64),
    ) -> Seen {
        let (mut out, mut done) = (Seen::Yes, None::<Written>);
        let fences = match region == SHARED {
            true => &self.shared,
            false => &self.global,
        };
        for at in from / 4..(from + bytes).div_ceil(4) {
            let page = self.pages.get(&(region, at / PAGE));
            let Some(word) = page.map(|p| &p[(at % PAGE) as usize]) else {
                continue;
            };
            if word.number == 0 {
                continue;
            }
            let same =
                |d: &Written| (d.number, d.who, d.tick) == (word.number, word.who, word.tick);
            if done.is_some_and(|d| same(&d)) || fences.between(clocks, word, reader) {
                done = Some(*word);
                continue;
            }
            if word.copied {
                out = Seen::Copied;
                continue;
            }
            let (who, pc) = (Tid(word.who), Pc(word.pc));
            return match fences.last > word.number {
                true => Seen::Perhaps(who, pc),
                false => Seen::No(who, pc),
            };
        }
        out
    }
}

impl Fences {
    fn add(&mut self, number: u64, clocks: &Clocks, w: usize, mask: u32) {
        self.last = number;
        for lane in lanes(mask) {
            let tid = Tid((w * LANES + lane) as u32);
            let fenced = Fenced {
                number,
                tick: clocks.stamp(w as u32),
                floor: clocks.floor(),
                snap: Arc::new(clocks.snapshot(tid)),
            };
            let own = self.by.entry(tid.0).or_default();
            // Of those that everyone knows, the last one says what all do.
            let floor = clocks.floor().0;
            let old = own.partition_point(|f| f.tick.0 < floor);
            own.drain(..old.saturating_sub(1));
            own.push(fenced);
        }
    }

    /// Whether a fence of anyone is after the write of a word and before what the reader does.
    fn between(&self, clocks: &Clocks, word: &Written, reader: Tid) -> bool {
        let on_the_way = |who: u32, f: &Fenced| {
            let after = who == word.who
                || word.tick < f.floor.0
                || clocks.known_in(
                    std::slice::from_ref(&f.snap),
                    Tid(word.who),
                    Tick(word.tick),
                );
            after && (who == reader.0 || clocks.ordered(Actor(who), f.tick, reader))
        };
        self.by.iter().any(|(who, all)| {
            let mut later = all.iter().rev().take_while(|f| f.number > word.number);
            later.any(|f| on_the_way(*who, f))
        })
    }
}

impl Machine<'_> {
    /// A bulk copy completes on an object, which the async proxy must have seen made.
    pub(super) fn check_made_object(&mut self, w: usize, lane: usize, pc: Pc, at: u64) {
        let reader = Tid(self.warps[w].first + lane as u32);
        let Order {
            proxies, clocks, ..
        } = &self.order;
        let Some((who, made, barrier)) = proxies.unpublished(clocks, reader, at) else {
            return;
        };
        if self.inits.known(clocks, reader, at) {
            return;
        }
        let place = self.place(SHARED, at, 8);
        let mut first = self.site(made, w, 1, format!("makes the mbarrier {place}"));
        first.threads = vec![who];
        let second = self.site(pc, w, 1 << lane, "completes on it through the async proxy");
        let sites = vec![first, second];
        let message = || {
            format!(
                "the mbarrier {place} is used through the async proxy: fence.mbarrier_init is missing \
                 between mbarrier.init and that"
            )
        };
        match barrier {
            true => self.warn(WarningKind::MissingFence, sites, message),
            false => self.unknown(UnknownKind::Undecided, sites, message),
        }
    }

    /// Bytes are overwritten through the async proxy. Compilers order that after writes of threads
    /// by a barrier alone, so it is an assumption where the fence is missing.
    pub(super) fn assume_proxy(
        &mut self,
        (w, lane): (usize, usize),
        region: RegionId,
        (from, bytes): (u64, u64),
    ) -> bool {
        let Order {
            proxies, clocks, ..
        } = &self.order;
        let writer = Tid(self.warps[w].first + lane as u32);
        if !matches!(
            proxies.seen(clocks, writer, region, (from, bytes)),
            Seen::Yes
        ) {
            self.found
                .assumptions
                .insert(AssumptionKind::Visibility.says(
                    "a bulk copy that a barrier orders after writes of threads overwrites them, \
                     without fence.proxy.async",
                ));
        }
        true
    }

    /// Says what is wrong with reads through the async proxy; true if nothing.
    pub(super) fn check_proxy(
        &mut self,
        (w, mask, pc): (usize, u32, Pc),
        region: RegionId,
        (from, bytes): (u64, u64),
    ) -> bool {
        let reader = self.tids(w, mask)[0];
        let seen = self
            .order
            .proxies
            .seen(&self.order.clocks, reader, region, (from, bytes));
        let (who, at, certain) = match seen {
            Seen::Yes => return true,
            Seen::Copied => {
                self.found.assumptions.insert(AssumptionKind::Visibility.says("what cp.async wrote is visible to the tensor cores after its wait and a barrier, \
                     without fence.proxy.async"));
                return true;
            }
            Seen::Perhaps(who, at) => (who, at, false),
            Seen::No(who, at) => (who, at, true),
        };
        let place = self.place(region, from, 4);
        let mut first = self.site(at, w, 1, format!("writes {place}"));
        first.threads = vec![who];
        let second = self.site(
            pc,
            w,
            mask,
            format!("reads {place} through the async proxy"),
        );
        let sites = vec![first, second];
        let message = || {
            format!(
                "{place} is written through the generic proxy and read through the async proxy: \
                 fence.proxy.async is missing between them"
            )
        };
        if certain {
            self.defect(super::DefectKind::DataRace, sites, message);
        } else {
            self.unknown(UnknownKind::Undecided, sites, message);
        }
        false
    }
}
