//! One word that strong accesses touch: its writes in the order of the run, and who observed which.
//!
//! The order of the run is one order of the writes. An access that nothing orders against another stands at a place
//! that the schedule chose; it is excused only where every place gives the same:
//!
//! * read-modify-writes of one commutative operation whose old values are unused;
//! * steps that the driver makes in each order ([`super::hold`]);
//! * a loop that waits, and the writes before it: it learns what every write gives that it may have observed.
//!
//! A loop that waits may observe a write that does not happen before it, or the last one that does, if that value
//! ends it. If the writes that do not happen before it are in one order among each other, these are the ends of that
//! order; if they are additions in any order, all sums of a part of them.

use rustc_hash::FxHashSet;

use crate::kernel::{AtomOp, IntTy, NumTy, Pc};

use super::super::machine::{Machine, RegionId, SHARED};
use super::super::race::Kind;
use super::super::value::Val;
use super::super::warp::LANES;
use super::hold::{Snapshot, after};
use super::{At, Event, Head, Who};
use crate::sim::Tid;

/// Sums of parts that are looked at.
const MAX_SUMS: u64 = 1 << 12;

/// A word: the CTA whose shared memory it is in, the region, the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The CTA; `u32::MAX` for memory that all share.
    pub cta: u32,
    /// The region.
    pub region: RegionId,
    /// Its first byte.
    pub off: u64,
}

/// A strong write.
#[derive(Clone, Debug)]
pub struct Write {
    /// Who wrote, and when.
    pub by: At,
    /// The instruction.
    pub pc: Pc,
    /// What it did.
    pub kind: Kind,
    /// What it gave to memory, if that is known.
    pub operand: Option<u64>,
    /// What the word held before it.
    pub before: Option<u64>,
    /// What a reader of it learns.
    pub heads: Vec<Head>,
    /// The driver chose its place among others.
    pub chosen: bool,
    /// The write before it happens before it.
    pub follows: bool,
    /// Every earlier write comes before it for certain.
    pub last: bool,
}

/// A read, or the reading half of a read-modify-write.
#[derive(Clone, Debug)]
pub struct Read {
    /// Who read, and when.
    pub by: At,
    /// The instruction.
    pub pc: Pc,
    /// Number of writes before it.
    pub after: usize,
    /// It ended a loop that waits.
    pub waited: bool,
    /// What that loop depends on, if only the end of it matters.
    pub ends: Option<Snapshot>,
}

/// A word that strong accesses touch.
#[derive(Clone, Debug, Default)]
pub struct Location {
    /// Its size in bytes.
    pub bytes: u32,
    /// The writes so far.
    pub writes: Vec<Write>,
    /// The reads so far.
    pub reads: Vec<Read>,
}

/// What a loop that waits learns.
#[derive(Debug)]
pub enum Observed {
    /// From the heads of this write; `None` is what the word held at first.
    Write(Option<usize>),
    /// Several values end it, and it matters which.
    Open(usize),
}

impl Machine<'_> {
    /// The word at a place of memory.
    pub fn key(&self, region: RegionId, off: u64) -> Key {
        let cta = match region == SHARED {
            true => self.strong.cta,
            false => u32::MAX,
        };
        Key { cta, region, off }
    }

    /// What a word holds, if it is known.
    pub fn word_at(&mut self, key: Key, bytes: u32, pc: Pc) -> Option<u64> {
        let ty = NumTy::Int(IntTy {
            width: (bytes * 8) as u8,
            signed: false,
        });
        let r = &mut self.regions[key.region.0 as usize];
        match r.load(&mut self.values, key.off, ty, pc.0) {
            Val::Conc(v) => Some(v),
            v => match self.values.of_bits_plain(v, (bytes * 8) as u8) {
                Val::Conc(v) => Some(v),
                _ => None,
            },
        }
    }

    /// Does a write come before what a thread does now: by happens-before, or because it was observed?
    fn write_is_known(&self, key: &Key, i: usize, t: Tid) -> bool {
        let Some(l) = self.strong.locations.get(key) else {
            return false;
        };
        let w = &l.writes[i];
        let me = self.who(t);
        w.by.who == me
            || self.knows(t, w.by)
            || l.reads
                .iter()
                .any(|r| r.after > i && (r.by.who == me || self.knows(t, r.by)))
    }

    /// True if some strong write of a word was observed by what a thread follows, of those that another thread made.
    pub fn is_observed(&self, key: &Key, by: Who, t: Tid) -> bool {
        let Some(l) = self.strong.locations.get(key) else {
            return false;
        };
        let last = l.writes.iter().rposition(|w| w.by.who == by);
        last.is_some_and(|i| self.write_is_known(key, i, t))
    }

    /// A strong access of one word, before it is made.
    pub fn at_location(&mut self, e: &Event) {
        let before = self.word_at(e.key, e.bytes, e.pc);
        let t = e.who.1;
        let granted = self.strong.held.granted == Some((e.who, e.pc));
        let waits = granted && self.strong.awaits.contains_key(&e.pc);
        let idle = e.is_idle() || granted && self.strong.held.idle;
        let writes = e.kind.writes() && !idle;
        let reads = matches!(e.kind, Kind::StrongRead | Kind::Atomic { .. });
        let l = self.strong.locations.entry(e.key).or_default();
        l.bytes = l.bytes.max(e.bytes);
        let n = l.writes.len();
        let by = self.at_now(t);
        // The place of the access among the writes before it.
        let mut last = true;
        if writes || !waits {
            last = self.look_back(e, (n, granted, waits), before.filter(|_| writes));
        }
        let follows = n == 0 || self.write_is_known(&e.key, n - 1, t);
        let heads_of = |m: &Self, i: usize| m.strong.locations[&e.key].writes[i].heads.clone();
        let mut heads = match n {
            0 => Vec::new(),
            n => heads_of(self, n - 1),
        };
        if reads {
            let used = !matches!(e.kind, Kind::Atomic { used: false, .. });
            // An update whose old value nobody uses comes at any place among others.
            if used {
                let learned = match self.strong.held.observed.take() {
                    Some(i) if waits => i.map_or(Vec::new(), |i| heads_of(self, i)),
                    _ => heads.clone(),
                };
                self.observe(e, &learned);
            }
            let waited = waits && !writes;
            let only_ends = waited && self.strong.awaits.get(&e.pc).is_some_and(|a| !a.is_used);
            let place = (t.0 as usize / LANES, t.0 as usize % LANES);
            let ends = match only_ends {
                true => self.snapshot_of(place, e.pc),
                false => None,
            };
            if let Some(l) = self.strong.locations.get_mut(&e.key) {
                l.reads.push(Read {
                    by,
                    pc: e.pc,
                    after: if used { n } else { 0 },
                    waited,
                    ends,
                });
            }
        }
        if !writes {
            return;
        }
        let released = self.released(e);
        if !matches!(e.kind, Kind::Atomic { .. }) {
            // What the same thread released here before, its later writes of the word still do.
            heads.retain(|h| h.from == e.who.0);
            let own = n > 0 && self.strong.locations[&e.key].writes[n - 1].by.who == e.who;
            if !own {
                heads.clear();
            }
        }
        for h in released {
            add_head(&mut heads, h);
        }
        let by = self.at_now(t);
        if let Some(l) = self.strong.locations.get_mut(&e.key) {
            l.writes.push(Write {
                by,
                pc: e.pc,
                kind: e.kind,
                operand: e.operand,
                before,
                heads,
                chosen: granted,
                follows,
                last,
            });
        }
    }

    /// Reports the accesses before this one that might as well come after it; true if no write is among them.
    /// `before` is what the word holds, of an access that writes.
    fn look_back(
        &mut self,
        e: &Event,
        (n, granted, waits): (usize, bool, bool),
        before: Option<u64>,
    ) -> bool {
        let t = e.who.1;
        let mut found = Vec::new();
        let mut last = true;
        // A loop that takes a word waits for the write that lets it.
        let enabled = granted && waits && self.strong.held.enabled;
        for i in (0..n).rev() {
            let w = &self.strong.locations[&e.key].writes[i];
            let both_chosen = granted && w.chosen;
            if enabled && i == n - 1 {
                if w.last {
                    break;
                }
                continue;
            }
            if both_chosen || self.write_is_known(&e.key, i, t) {
                continue;
            }
            let w = &self.strong.locations[&e.key].writes[i];
            last = false;
            if !commutes(&w.kind, &e.kind) && !e.is_idle() {
                found.push(((w.pc, w.by.who), "their order depends on the schedule"));
            }
        }
        if e.kind.writes() && !e.is_idle() {
            self.look_at_reads(e, before, &mut found);
        }
        for (earlier, why) in found {
            self.strong.trouble(e.key, earlier, (e.pc, e.who), why);
        }
        last
    }

    /// The reads before a write that might as well come after it.
    fn look_at_reads(
        &mut self,
        e: &Event,
        before: Option<u64>,
        found: &mut Vec<((Pc, Who), &'static str)>,
    ) {
        let t = e.who.1;
        let new = match e.kind {
            Kind::Atomic { op, ty, .. } => {
                before.and_then(|old| after(op, ty, old, e.operand, None))
            }
            _ => e.operand,
        };
        let l = &self.strong.locations[&e.key];
        let mut late: Vec<Read> = Vec::new();
        for r in &l.reads {
            let is_update = l.writes.iter().any(|w| w.pc == r.pc && w.by == r.by);
            let reads = r.after > 0 || r.waited;
            if r.by.who != e.who && !is_update && reads && !self.knows(t, r.by) {
                late.push(r.clone());
            }
        }
        for r in late {
            let place = (t.0 as usize / LANES, t.0 as usize % LANES);
            let why = match (r.waited, &r.ends, new) {
                (false, ..) => "their order depends on the schedule",
                // It may as well go on after this update, of which it learns more.
                (true, Some(s), Some(v))
                    if matches!(e.kind, Kind::Atomic { .. })
                        && self.would_end(place, r.pc, s, v) == Some(true) =>
                {
                    continue;
                }
                (true, ..) => "a thread that waits for the first value may miss it",
            };
            found.push(((r.pc, r.by.who), why));
        }
    }

    /// What a loop that waits has observed for certain. `passes` says which values end it.
    pub fn settle_wait(
        &mut self,
        (t, key, bytes, pc): (Tid, Key, u32, Pc),
        is_used: bool,
        passes: &mut dyn FnMut(&mut Self, u64) -> Option<bool>,
    ) -> Observed {
        let now = self.word_at(key, bytes, pc);
        let n = self.strong.locations.get(&key).map_or(0, |l| l.writes.len());
        // The writes that do not happen before it.
        let mut first = n;
        while first > 0 && !self.write_is_known(&key, first - 1, t) {
            first -= 1;
        }
        if first == n {
            return Observed::Write(n.checked_sub(1));
        }
        let free: Vec<Write> = self.strong.locations[&key].writes[first..].to_vec();
        let ordered = free.iter().skip(1).all(|w| w.follows || w.chosen);
        // What each of them publishes, the later ones do too.
        let grows = free.windows(2).all(|p| {
            matches!(p[1].kind, Kind::Atomic { .. }) || p[0].by.who == p[1].by.who
        });
        if ordered && (grows || free.len() == 1) {
            // The value after each of them, and the one before all.
            let mut learned = None;
            let mut values: FxHashSet<u64> = FxHashSet::default();
            for i in (first..=n).rev() {
                let value = match i == n {
                    true => now,
                    false => free[i - first].before,
                };
                let Some(v) = value else { return Observed::Open(n) };
                match passes(self, v) {
                    Some(true) => {
                        learned = Some(i.checked_sub(1));
                        values.insert(v);
                    }
                    Some(false) => {}
                    None => return Observed::Open(n),
                }
            }
            if is_used && values.len() > 1 {
                return Observed::Open(n);
            }
            return Observed::Write(learned.flatten());
        }
        match self.parts_pass(&free, now, bytes, passes) {
            Some(false) => Observed::Write(n.checked_sub(1)),
            // Any of them may be among those that were not yet there.
            _ if !is_used => Observed::Write(first.checked_sub(1)),
            _ => Observed::Open(n),
        }
    }

    /// Whether the sum of a part of some additions ends a loop; `None` if that is not known.
    fn parts_pass(
        &mut self,
        free: &[Write],
        now: Option<u64>,
        bytes: u32,
        passes: &mut dyn FnMut(&mut Self, u64) -> Option<bool>,
    ) -> Option<bool> {
        let mask = u64::MAX >> (64 - 8 * bytes);
        let mut counts: Vec<(u64, u64)> = Vec::new();
        let mut base = now?;
        for w in free {
            let Kind::Atomic { op: AtomOp::Add, ty: NumTy::Int(_), .. } = w.kind else {
                return None;
            };
            let by = w.operand?;
            base = base.wrapping_sub(by) & mask;
            match counts.iter_mut().find(|c| c.0 == by) {
                Some(c) => c.1 += 1,
                None => counts.push((by, 1)),
            }
        }
        let sums = counts.iter().try_fold(1u64, |n, c| n.checked_mul(c.1 + 1))?;
        if sums > MAX_SUMS {
            return None;
        }
        for part in 0..sums - 1 {
            let (mut rest, mut v) = (part, base);
            for (by, count) in &counts {
                v = v.wrapping_add(by.wrapping_mul(rest % (count + 1)));
                rest /= count + 1;
            }
            if passes(self, v & mask)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

fn commutes(a: &Kind, b: &Kind) -> bool {
    use super::super::race::{Rule, rule};
    rule(*a, *b, true) == Rule::Fine
}

/// Adds what a release publishes to what a word carries on.
fn add_head(heads: &mut Vec<Head>, h: Head) {
    match heads.iter_mut().find(|o| o.from == h.from && o.wide == h.wide) {
        Some(o) => {
            let mut all = (*o.vectors).clone();
            super::join(&mut all, &h.vectors);
            o.vectors = std::sync::Arc::new(all);
        }
        None => heads.push(h),
    }
}
