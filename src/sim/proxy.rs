//! Shared memory seen through two proxies.
//!
//! Problem: a store goes through the generic proxy, an operand of a tensor core or of a bulk
//! copy is read through the async proxy. Happens-before alone does not make the store visible:
//! there must be a `fence.proxy.async` on the way (PTX ISA 9.0, sections 8.6 and 9.7.13.4). The
//! fence may be executed by the writer before it releases, or by the reader after it acquired.
//!
//! A fence of a third thread counts if it lies on the way: after the write, and before the read.
//!
//! How this differs: `cp.async` is of the generic proxy too, but compilers leave the fence out
//! after waiting for it, so its visibility is an assumption that the report states. A fence that is not known to
//! be on the way makes the read `unknown` rather than a defect.
//!
//! Not claimed: the other direction. A generic read after an observed completion needs no fence.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::clock::{Actor, Clocks, Snapshot, Tick};
use super::order::Order;
use super::warp::{LANES, lanes};
use super::{Tid, machine::Machine};
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
pub enum Through {
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

/// Writes and fences of a CTA.
pub struct Proxies {
    on: bool,
    number: u64,
    words: Vec<Written>,
    /// Those of each thread, in order.
    fences: FxHashMap<u32, Vec<Fenced>>,
    last: u64,
}

/// What is known of a read through the async proxy.
pub enum Seen {
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
    pub fn new(kernel: &Kernel) -> Proxies {
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
            words: Vec::new(),
            fences: FxHashMap::default(),
            last: 0,
        }
    }

    /// Lanes write shared memory through the generic proxy.
    #[allow(clippy::too_many_arguments)]
    pub fn written(
        &mut self,
        clocks: &Clocks,
        w: usize,
        mask: u32,
        pc: Pc,
        offs: &[u64; LANES],
        bytes: u64,
        by: Through,
    ) {
        if !self.on {
            return;
        }
        self.number += 1;
        let tick = clocks.stamp(w as u32).0;
        for lane in lanes(mask) {
            let (from, to) = (offs[lane] / 4, (offs[lane] + bytes).div_ceil(4));
            if self.words.len() < to as usize {
                self.words.resize(to as usize, Written::default());
            }
            for word in &mut self.words[from as usize..to as usize] {
                *word = Written {
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

    /// Lanes execute `fence.proxy.async`.
    pub fn fence(&mut self, clocks: &Clocks, w: usize, mask: u32) {
        self.number += 1;
        self.last = self.number;
        for lane in lanes(mask) {
            let tid = Tid((w * LANES + lane) as u32);
            let fenced = Fenced {
                number: self.number,
                tick: clocks.stamp(w as u32),
                floor: clocks.floor(),
                snap: Arc::new(clocks.snapshot(tid)),
            };
            let own = self.fences.entry(tid.0).or_default();
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
        self.fences.iter().any(|(who, all)| {
            let later = all.iter().rev().take_while(|f| f.number > word.number);
            later.into_iter().any(|f| on_the_way(*who, f))
        })
    }

    /// A thread has words read through the async proxy.
    pub fn seen(&self, clocks: &Clocks, reader: Tid, from: u64, bytes: u64) -> Seen {
        let (mut out, mut done) = (Seen::Yes, None::<Written>);
        let range = (from / 4) as usize..(from + bytes).div_ceil(4) as usize;
        for word in self.words.iter().take(range.end).skip(range.start) {
            if word.number == 0 {
                continue;
            }
            let same =
                |d: &Written| (d.number, d.who, d.tick) == (word.number, word.who, word.tick);
            if done.is_some_and(|d| same(&d)) || self.between(clocks, word, reader) {
                done = Some(*word);
                continue;
            }
            if word.copied {
                out = Seen::Copied;
                continue;
            }
            let (who, pc) = (Tid(word.who), Pc(word.pc));
            return match self.last > word.number {
                true => Seen::Perhaps(who, pc),
                false => Seen::No(who, pc),
            };
        }
        out
    }
}

impl Machine<'_> {
    /// Bytes are overwritten through the async proxy. Compilers order that after writes of threads
    /// by a barrier alone, so it is an assumption where the fence is missing.
    pub fn assume_proxy(&mut self, w: usize, lane: usize, from: u64, bytes: u64) -> bool {
        let Order {
            proxies, clocks, ..
        } = &self.order;
        let writer = Tid(self.warps[w].first + lane as u32);
        if !matches!(proxies.seen(clocks, writer, from, bytes), Seen::Yes) {
            self.found
                .assumptions
                .insert(AssumptionKind::Visibility.says(
                    "a bulk copy that a barrier orders after writes of threads overwrites them, \
                 without fence.proxy.async",
                ));
        }
        true
    }

    /// Says what is wrong with reads of shared memory through the async proxy; true if nothing.
    pub fn check_proxy(&mut self, w: usize, mask: u32, pc: Pc, from: u64, bytes: u64) -> bool {
        let reader = self.tids(w, mask)[0];
        let seen = self
            .order
            .proxies
            .seen(&self.order.clocks, reader, from, bytes);
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
        let place = self.place(super::machine::SHARED, from, 4);
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
            self.unknown(super::UnknownKind::Undecided, sites, message);
        }
        false
    }
}
