//! Memory seen through two proxies.
//!
//! Problem: a store goes through the generic proxy, an operand of a tensor core or of a bulk
//! copy is read through the async proxy, and what a bulk copy fills is written through it. Happens-before alone does not
//! order the two: there must be a `fence.proxy.async` on the way (PTX ISA 9.3, sections 8.6, 8.9.5 and 9.7.14.4). The
//! fence may be executed by the writer before it releases, or by whoever acquired before the access.
//!
//! A fence of a third thread counts if it lies on the way: after the write, and before the access. After the write of
//! an asynchronous operation of the generic proxy (`cp.async`, `st.async`) means after its end was observed: a fence
//! between the issue of a copy and its wait comes before the write.
//!
//! A fence is for shared memory, for global memory, or for both, and each is looked for by itself; `fence.mbarrier_init`
//! is for objects that were made and nothing else. That one is left out by shipped kernels where a barrier of the CTA
//! stands between, so its want is a warning there.
//!
//! Sound: a fence that is found lies on the way in the order that was run, and happens-before is exact, so that where none
//! is found there is none under any schedule. What is excused is a warning (see `check`), never silent.
//!
//! How this differs: which accesses need the fence is decided by what they are, never by who compiled them. The words
//! that a kernel keeps beside its data (mbarriers, staged tensor maps, the address of tensor memory) are told apart by
//! what wrote them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Tid;
use super::clock::{Actor, Clocks, Snapshot, Tick};
use super::region::{RegionId, SHARED};
use super::state::recorded;
use super::warp::{LANES, lanes};
use crate::kernel::{AsyncOp, ClusterOp, Kernel, Pc};

mod check;
mod maps;
mod reads;

pub(super) use check::Reader;
pub(super) use maps::MapStep;

/// Which operation writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Through {
    /// A thread, by itself.
    #[default]
    Thread,
    /// `cp.async`, of the generic proxy.
    Copy,
    /// `st.async` and `red.async`, of the generic proxy.
    Remote,
    /// A bulk copy, of the async proxy.
    Bulk,
    /// An operation on an mbarrier.
    Object,
    /// `tensormap.replace` and `tensormap.cp_fenceproxy`.
    Map,
    /// `tcgen05.alloc`, which stores an address.
    Word,
}

/// The last write of a word through the generic proxy.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct Written {
    /// Its number; 0 is none.
    number: u64,
    who: u32,
    tick: u32,
    pc: u32,
    by: Through,
    /// Input data say whether it happens.
    conditional: bool,
    /// Of a tensor map that `tensormap.cp_fenceproxy` has read since, or itself wrote.
    published: bool,
    /// The agents that write, where `by` is an asynchronous operation.
    agents: u32,
}

/// A fence of a thread that knew the end of an asynchronous write.
#[derive(Clone, Copy, Debug, Hash)]
struct After {
    who: u32,
    tick: Tick,
    /// The agents that had ended.
    lanes: u32,
}

/// What agents of the generic proxy wrote that stands in memory.
#[derive(Clone, Debug, Default, Hash)]
struct Copied {
    lanes: u32,
    /// How many words.
    words: u32,
    fenced: Vec<After>,
    /// A fence after all of it happens before what anyone does from now on.
    settled: bool,
}

/// A fence of a thread, and what the thread knew.
#[derive(Clone, Debug, Hash)]
struct Fenced {
    number: u64,
    tick: Tick,
    floor: Tick,
    snap: Arc<Snapshot>,
}

/// The fences of a CTA that make one sort of writes visible.
#[derive(Clone, Default)]
struct Fences {
    /// Those of each thread, in order.
    by: FxHashMap<u32, Vec<Fenced>>,
}

/// Words of a page.
const PAGE: u64 = 64;

/// Writes and fences of a CTA.
#[derive(Clone)]
pub(super) struct Proxies {
    on: bool,
    number: u64,
    pages: FxHashMap<(RegionId, u64), Box<[Written; PAGE as usize]>>,
    shared: Fences,
    global: Fences,
    /// Asynchronous writes of the generic proxy, by their agents.
    copied: FxHashMap<u32, Copied>,
    /// Those that publish objects.
    inits: Fences,
    /// Fences that release tensor maps.
    map_releases: Fences,
    /// Fences that acquire the map at a place.
    map_acquires: FxHashMap<(RegionId, u64), Fences>,
    reads: reads::Reads,
    /// When objects were made, by offset.
    made: FxHashMap<u64, Written>,
}

recorded!(Fences {} tables { by });

recorded!(Proxies { on, shared, global, inits, map_releases, reads }
    tables { pages, copied, map_acquires, made }
    beside { number: "numbers what is new" });

impl Proxies {
    /// Nothing written; idle if the kernel reads nothing through the async proxy.
    pub(super) fn new(kernel: &Kernel) -> Proxies {
        let reads = |op: &AsyncOp| match op {
            AsyncOp::Wgmma(_) | AsyncOp::Tensor(_) | AsyncOp::Bulk(_) => true,
            AsyncOp::Cluster(op) => matches!(**op, ClusterOp::Cancel { .. }),
            _ => false,
        };
        Proxies {
            on: kernel.any_async(reads),
            number: 0,
            pages: FxHashMap::default(),
            shared: Fences::default(),
            global: Fences::default(),
            copied: FxHashMap::default(),
            inits: Fences::default(),
            map_releases: Fences::default(),
            map_acquires: FxHashMap::default(),
            reads: reads::Reads::new(kernel),
            made: FxHashMap::default(),
        }
    }

    /// Lanes write a region, themselves or by agents, by an operation that may depend on input data.
    pub(super) fn written(
        &mut self,
        clocks: &Clocks,
        region: RegionId,
        (w, mask, pc): (usize, u32, Pc),
        (offs, bytes): (&[u64; LANES], u64),
        (by, agents, conditional): (Through, Option<Actor>, bool),
    ) {
        if !self.on {
            return;
        }
        self.number += 1;
        let tick = clocks.stamp(w as u32).0;
        let agents = agents.filter(|_| by.is_agent()).map_or(0, |a| a.0);
        for lane in lanes(mask) {
            let (from, to) = (offs[lane] / 4, (offs[lane] + bytes).div_ceil(4));
            for word in from..to {
                self.reads.overwritten(region, word, pc);
                let page = self.pages.entry((region, word / PAGE));
                let page = page.or_insert_with(|| Box::new([Written::default(); PAGE as usize]));
                let new = Written {
                    // What the async proxy wrote is visible to it.
                    number: if by == Through::Bulk { 0 } else { self.number },
                    who: (w * LANES + lane) as u32,
                    tick,
                    pc: pc.0,
                    by,
                    conditional,
                    published: false,
                    agents,
                };
                let old = std::mem::replace(&mut page[(word % PAGE) as usize], new);
                if by.is_agent() {
                    let copied = self.copied.entry(agents).or_default();
                    copied.words += 1;
                    copied.lanes |= 1 << lane;
                }
                if old.by.is_agent()
                    && let Some(copied) = self.copied.get_mut(&old.agents)
                {
                    copied.words -= 1;
                    if copied.words == 0 {
                        self.copied.remove(&old.agents);
                    }
                }
            }
        }
    }

    /// `tensormap.cp_fenceproxy` has read a map that was staged, or has written it to its place.
    pub(super) fn published(&mut self, region: RegionId, (from, bytes): (u64, u64)) {
        for at in from / 4..(from + bytes).div_ceil(4) {
            if let Some(page) = self.pages.get_mut(&(region, at / PAGE)) {
                page[(at % PAGE) as usize].published = true;
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
        if !self.on {
            return;
        }
        self.number += 1;
        for (of, fences) in [(shared, &mut self.shared), (global, &mut self.global)] {
            if of {
                fences.add(self.number, clocks, w, mask);
            }
        }
        // It publishes objects in shared memory too.
        if shared {
            self.inits.add(self.number, clocks, w, mask);
            for (agents, copied) in &mut self.copied {
                copied.fence(clocks, *agents, (w, mask));
            }
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
            ..Written::default()
        };
        self.made.insert(at, made);
    }

    /// The thread that made an object, where no fence stands between that and its use by an asynchronous copy.
    pub(super) fn unpublished(&self, clocks: &Clocks, reader: Tid, at: u64) -> Option<(Tid, Pc)> {
        let made = self.made.get(&at)?;
        let seen = self.inits.between(clocks, made, reader);
        (!seen).then_some((Tid(made.who), Pc(made.pc)))
    }

    /// The writes of words that no fence puts before what a thread has the async proxy do with them: of each sort of write
    /// one, with its place.
    pub(super) fn unfenced(
        &self,
        clocks: &Clocks,
        reader: Tid,
        region: RegionId,
        (from, bytes): (u64, u64),
    ) -> Vec<(u64, Written)> {
        let mut out: Vec<(u64, Written)> = Vec::new();
        let mut last = None::<(u64, u32, u32)>;
        for at in from / 4..(from + bytes).div_ceil(4) {
            let page = self.pages.get(&(region, at / PAGE));
            let Some(word) = page.map(|p| &p[(at % PAGE) as usize]) else {
                continue;
            };
            let write = (word.number, word.who, word.agents);
            if word.number == 0 || last == Some(write) {
                continue;
            }
            last = Some(write);
            let sort = |o: &Written| (o.pc, o.by, o.conditional, o.published);
            if out.iter().any(|(_, o)| sort(o) == sort(word)) {
                continue;
            }
            // What is not even ordered is a race that the shadow finds, and says more.
            let ordered = clocks.ordered(word.actor(), Tick(word.tick), reader);
            if ordered && !self.is_fenced(clocks, region, word, reader) {
                out.push((at * 4, *word));
            }
        }
        out
    }

    /// Whether a fence lies on the way from the write of a word to what a thread does now.
    fn is_fenced(&self, clocks: &Clocks, region: RegionId, word: &Written, reader: Tid) -> bool {
        match (word.by.is_agent(), region == SHARED) {
            (true, _) => {
                let copied = self.copied.get(&word.agents);
                copied.is_some_and(|c| c.between(clocks, word.who, reader))
            }
            (false, true) => self.shared.between(clocks, word, reader),
            (false, false) => self.global.between(clocks, word, reader),
        }
    }
}

impl Written {
    /// The thread that wrote, or had its agent write.
    pub(super) fn who(&self) -> u32 {
        self.who
    }

    /// Who makes the access.
    fn actor(&self) -> Actor {
        match self.by.is_agent() {
            true => Actor(self.agents + self.who % LANES as u32),
            false => Actor(self.who),
        }
    }
}

impl Through {
    /// Says at its place what the operation does to a word.
    fn verb(self) -> &'static str {
        match self {
            Through::Thread | Through::Bulk | Through::Map => "writes",
            Through::Copy => "starts an asynchronous copy to",
            Through::Remote => "starts an asynchronous store to",
            Through::Object => "uses, as an mbarrier,",
            Through::Word => "stores the address of tensor memory to",
        }
    }

    /// True for an operation of the generic proxy that writes after it was issued.
    fn is_agent(self) -> bool {
        match self {
            Through::Copy | Through::Remote => true,
            Through::Thread | Through::Bulk | Through::Object | Through::Map | Through::Word => {
                false
            }
        }
    }
}

impl Copied {
    /// Lanes of a warp execute a fence.
    fn fence(&mut self, clocks: &Clocks, agents: u32, (w, mask): (usize, u32)) {
        if self.settled {
            return;
        }
        let whole =
            |a: &After, lanes: u32| a.lanes == lanes && clocks.settled(Actor(a.who), a.tick);
        if self.fenced.iter().any(|a| whole(a, self.lanes)) {
            self.settled = true;
            self.fenced.clear();
            return;
        }
        let tick = clocks.stamp(w as u32);
        let all = clocks.all_settled(Actor(agents), self.lanes, tick);
        for lane in lanes(mask) {
            let who = (w * LANES + lane) as u32;
            let ended = |l: &usize| clocks.ordered(Actor(agents + *l as u32), tick, Tid(who));
            let ended = match all {
                true => self.lanes,
                false => lanes(self.lanes).filter(ended).fold(0, |m, l| m | 1 << l),
            };
            if ended != 0 {
                self.fenced.push(After {
                    who,
                    tick,
                    lanes: ended,
                });
            }
        }
    }

    /// Whether a fence after the end of the write of a thread's agent is before what the reader does.
    fn between(&self, clocks: &Clocks, writer: u32, reader: Tid) -> bool {
        let lane = writer as usize % LANES;
        self.settled
            || self.fenced.iter().any(|a| {
                a.lanes >> lane & 1 == 1
                    && (a.who == reader.0 || clocks.ordered(Actor(a.who), a.tick, reader))
            })
    }
}

impl Fences {
    fn add(&mut self, number: u64, clocks: &Clocks, w: usize, mask: u32) {
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
        self.after(clocks, word)
            .any(|(who, f)| who == reader.0 || clocks.ordered(Actor(who), f.tick, reader))
    }

    /// The fences after the write of a word, each with its thread.
    fn after(&self, clocks: &Clocks, word: &Written) -> impl Iterator<Item = (u32, &Fenced)> {
        let later = self.by.iter().flat_map(|(who, all)| {
            let later = all.iter().rev().take_while(|f| f.number > word.number);
            later.map(|f| (*who, f))
        });
        later.filter(|(who, f)| {
            *who == word.who || word.tick < f.floor.0 || clocks.covers(&f.snap, word.who, word.tick)
        })
    }
}
