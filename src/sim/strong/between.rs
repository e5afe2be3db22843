//! Accesses of arrays by threads of different CTAs that run together.
//!
//! The problem: within a CTA a shadow knows who accessed each byte; between CTAs the same question is asked of words
//! and the vectors that CTAs hand each other. Each word keeps its accesses until a plain write that comes after all of
//! them, and one for each thread and sort of access at most.
//!
//! Two strong accesses of one word in scopes that hold both are for [`super::location`]. The direction that is
//! sound: a pair is a data race only if both accesses happen for certain and no asynchronous copy makes one of
//! them; other pairs are open.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::kernel::{Op, Pc, Scope};
use crate::sim::Tid;

use super::super::clock::{Actor, Tick};
use super::super::machine::{Machine, RegionId};
use super::super::race::{Kind, Rule, rule};
use super::super::warp::{LANES, lanes};
use super::{At, Who, is_wide};

/// An access of a word.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cta: u32,
    who: Actor,
    /// The thread, or the one that started the copy.
    thread: Tid,
    at: Tick,
    pc: Pc,
    kind: Kind,
    /// The bytes of the word.
    bytes: u8,
    /// First byte and size of the element.
    element: (u64, u32),
    /// The scope of a strong access.
    scope: Scope,
    conditional: bool,
    agent: bool,
}

/// What is wrong with a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing orders two accesses.
    Race,
    /// Both are strong, but the scope of one does not hold both threads.
    Scope,
    /// Plain writes of the same bytes, of which the values are equal.
    Same,
    /// A race if data make both happen, or if an asynchronous copy has not ended.
    Open,
}

/// Pairs of two instructions with the same fault.
#[derive(Clone, Debug)]
pub struct Found {
    /// What is wrong.
    pub fault: Fault,
    /// The earlier access of the run.
    pub earlier: (Pc, Who, Kind),
    /// The later one.
    pub later: (Pc, Who, Kind),
    /// The place of an example.
    pub at: (RegionId, u64),
    /// How many words.
    pub count: u64,
}

/// Accesses of arrays by CTA.
#[derive(Debug, Default)]
pub struct Between {
    words: FxHashMap<(RegionId, u64), Vec<Entry>>,
    /// Pairs that nothing orders.
    pub found: BTreeMap<(Fault, Pc, Pc), Found>,
}

/// Accesses of lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// The region.
    pub region: RegionId,
    /// The warp and its lanes.
    pub lanes: (usize, u32),
    /// The instruction.
    pub pc: Pc,
    /// First bytes.
    pub offs: &'a [u64; LANES],
    /// Size and number of elements.
    pub elems: (u32, u32),
    /// What is done.
    pub kind: Kind,
    /// Whether data decide if it happens.
    pub conditional: bool,
}

impl Machine<'_> {
    /// Compares accesses of an array with those of other CTAs.
    pub fn access_between(&mut self, a: &Accesses) {
        let (w, mask) = a.lanes;
        let scope = match &self.inst(a.pc).op {
            Op::Ld { access, .. } | Op::St { access, .. } | Op::Atom { access, .. } => {
                match access.volatile {
                    true => Scope::Sys,
                    false => access.scope,
                }
            }
            _ => Scope::Cta,
        };
        let size = u64::from(a.elems.0) * u64::from(a.elems.1);
        for lane in lanes(mask) {
            let t = Tid((w * LANES + lane) as u32);
            let (start, end) = (a.offs[lane], a.offs[lane] + size);
            for word in start / 4..end.div_ceil(4) {
                let (lo, hi) = (start.max(4 * word), end.min(4 * word + 4));
                let bits = ((1u32 << (hi - lo)) - 1) << (lo - 4 * word);
                let first = start + (lo - start) / u64::from(a.elems.0) * u64::from(a.elems.0);
                let agent = self.order.agent;
                let new = Entry {
                    cta: self.strong.cta,
                    who: agent.map_or(Actor(t.0), |base| Actor(base.0 + lane as u32)),
                    thread: t,
                    at: self.at_now(t).at,
                    pc: a.pc,
                    kind: a.kind,
                    bytes: bits as u8,
                    element: (first, a.elems.0),
                    scope,
                    conditional: a.conditional,
                    agent: agent.is_some(),
                };
                self.compare_between((a.region, word), t, &new);
            }
        }
    }

    fn compare_between(&mut self, at: (RegionId, u64), t: Tid, new: &Entry) {
        let mut list = self.strong.between.words.remove(&at).unwrap_or_default();
        let mut clean = true;
        for e in list.iter().filter(|e| e.cta != new.cta) {
            if e.bytes & new.bytes == 0 || !e.kind.writes() && !new.kind.writes() {
                continue;
            }
            let strong = e.kind.strong() && new.kind.strong();
            let same = e.element == new.element;
            if strong && same && is_wide(e.scope) && is_wide(new.scope) {
                continue;
            }
            let by = At {
                who: (e.cta, Tid(e.who.0)),
                at: e.at,
            };
            let observed = || {
                e.kind.strong() && self.is_observed(&self.key(at.0, e.element.0), by.who, t)
            };
            if !e.agent && (self.knows(t, by) || observed()) {
                continue;
            }
            clean = false;
            let open = e.conditional || new.conditional || e.agent || new.agent;
            let plain_writes = rule(e.kind, new.kind, same) == Rule::SameBytes;
            let fault = match (open, strong && same) {
                (true, _) => Fault::Open,
                (false, true) => match [e.scope, new.scope].contains(&Scope::Cluster) {
                    true => Fault::Open,
                    false => Fault::Scope,
                },
                (false, false) if plain_writes => Fault::Same,
                (false, false) => Fault::Race,
            };
            let found = Found {
                fault,
                earlier: (e.pc, (e.cta, e.thread), e.kind),
                later: (new.pc, self.who(t), new.kind),
                at: (at.0, e.element.0),
                count: 1,
            };
            let key = (fault, e.pc, new.pc);
            let all = &mut self.strong.between.found;
            all.entry(key).and_modify(|f| f.count += 1).or_insert(found);
        }
        let covers = |e: &Entry| e.bytes & !new.bytes == 0;
        if new.kind == Kind::Write && !new.conditional && clean {
            list.retain(|e| !covers(e));
        } else {
            let clocks = &self.order.clocks;
            list.retain(|e| {
                let alike = e.cta == new.cta && e.kind == new.kind && covers(e) && !e.agent;
                let own = alike && e.who == new.who;
                let later = alike && !new.agent && !e.kind.strong();
                !(own || later && clocks.ordered(e.who, e.at, t))
            });
        }
        list.push(*new);
        self.strong.between.words.insert(at, list);
    }
}
