//! Strong accesses to one location, as they are made.

use crate::kernel::{AtomOp, IntTy, NumTy, Pc, Scope};
use crate::sim::Tid;
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Core, Machine, Synchronisation};
use crate::sim::race::AccessKind;
use crate::sim::region::RegionId;
use crate::sim::strong::exec::note;
use crate::sim::strong::update::after;
use crate::sim::strong::{At, Event, Head, Trouble};
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};

use super::{Key, Observed, Read, Write, add_head};

impl Synchronisation {
    /// Does a write come before what a thread does now: by happens-before, or because it was observed?
    fn write_is_known(&self, key: &Key, i: usize, t: Tid) -> bool {
        let Some(l) = self.strong.locations.get(key) else {
            return false;
        };
        let w = &l.writes[i];
        w.by.who == t
            || self.knows(t, w.by)
            || l.reads
                .iter()
                .any(|r| r.after > i && (r.by.who == t || self.knows(t, r.by)))
    }

    /// Are all strong writes of a word known to a thread, if only because it observed the last of them?
    pub(crate) fn all_known(&self, key: &Key, t: Tid) -> bool {
        let n = self.strong.locations.get(key).map_or(0, |l| l.writes.len());
        n > 0 && (0..n).all(|i| self.write_is_known(key, i, t))
    }

    /// A plain write of a word comes after the strong writes that its thread observed, even where nothing else orders
    /// them; whoever is ordered after that write is ordered after them.
    pub(crate) fn forget_observed(
        &mut self,
        (region, w, mask): (RegionId, usize, u32),
        offs: &[u64; LANES],
        bytes: u64,
    ) {
        for lane in lanes(mask) {
            let (key, t) = (
                Key {
                    region,
                    off: offs[lane],
                },
                Tid((w * LANES + lane) as u32),
            );
            let sized = self
                .strong
                .locations
                .get(&key)
                .is_some_and(|l| u64::from(l.bytes) == bytes);
            if sized && self.all_known(&key, t) {
                self.order.forget_updates(region, key.off, bytes);
            }
        }
    }

    /// Adds a pair whose order is open.
    pub(crate) fn open_pair(
        &mut self,
        key: Key,
        earlier: (Pc, Tid),
        later: (Pc, Tid),
        why: &'static str,
    ) {
        let new = Trouble {
            earlier,
            later,
            key,
            why,
            count: 1,
        };
        note(&mut self.strong.troubles, new);
    }
}

impl Core<'_> {
    /// What a word holds.
    fn held_value(&mut self, key: Key, bytes: u32, pc: Pc) -> Val {
        let ty = NumTy::Int(IntTy {
            width: (bytes * 8) as u8,
            signed: false,
        });
        let r = &mut self.memory.regions[key.region.0 as usize];
        r.load(&mut self.values, key.off, ty, pc.0)
    }

    /// What a word holds, if it is known.
    pub(crate) fn word_at(&mut self, key: Key, bytes: u32, pc: Pc) -> Option<u64> {
        match self.held_value(key, bytes, pc) {
            Val::Conc(v) => Some(v),
            v => match self.values.of_bits_plain(v, (bytes * 8) as u8) {
                Val::Conc(v) => Some(v),
                _ => None,
            },
        }
    }
}

impl Machine<'_> {
    /// A strong access of one word, before it is made.
    pub(crate) fn at_location(&mut self, e: &Event) {
        let before = self.core.word_at(e.key, e.bytes, e.pc);
        let held = self.core.held_value(e.key, e.bytes, e.pc);
        let t = e.who;
        let granted = self.sync.strong.held.granted == Some((e.who, e.pc));
        let in_loop = self
            .sync
            .strong
            .awaits
            .by_access
            .get(&e.pc)
            .map(|a| a.is_used);
        let waits = granted && (in_loop.is_some() || self.sync.strong.held.observed.is_some());
        let idle = e.is_idle() || granted && self.sync.strong.held.idle;
        let writes = e.kind.writes() && !idle;
        let reads = matches!(e.kind, AccessKind::StrongRead | AccessKind::Atomic { .. });
        let l = self.sync.strong.locations.entry(e.key).or_default();
        l.bytes = l.bytes.max(e.bytes);
        let n = l.writes.len();
        let by = self.sync.at_now(t);
        // The place of the access among the writes before it.
        self.look_at_scopes(e, writes);
        let (warp, lane) = (t.0 as usize / LANES, t.0 as usize % LANES);
        if granted && self.only_delays(warp, lane, e.pc) {
            return;
        }
        let mut last = true;
        if writes || !waits {
            last = self.look_back(e, (n, granted, waits), before.filter(|_| writes));
        }
        let follows = n == 0 || self.sync.write_is_known(&e.key, n - 1, t);
        let heads_of = |m: &Self, i: usize| m.sync.strong.locations[&e.key].writes[i].heads.clone();
        let mut heads = match n {
            0 => Vec::new(),
            n => heads_of(self, n - 1),
        };
        // An update whose old value nobody uses comes at any place among others.
        if reads && !matches!(e.kind, AccessKind::Atomic { used: false, .. }) {
            self.read_word(e, (n, granted, writes), by, &heads);
        }
        if !writes {
            return;
        }
        let mut sequential = self.sync.sequential(t);
        if matches!(e.kind, AccessKind::Atomic { .. })
            && let Some(w) = self.sync.strong.locations[&e.key].writes.last()
        {
            for h in w.sequential.clone() {
                add_head(&mut sequential, h);
            }
        }
        let fences = self.sync.strong.sequential.get(&t).copied().unwrap_or(0);
        let released = self.sync.released(e);
        if !matches!(e.kind, AccessKind::Atomic { .. }) {
            // What the same thread released here before, its later writes of the word still do.
            let own = self.sync.strong.locations[&e.key]
                .writes
                .last()
                .is_some_and(|w| w.by.who == e.who && !matches!(w.kind, AccessKind::Atomic { .. }));
            if !own {
                heads.clear();
            }
        }
        for h in released {
            add_head(&mut heads, h);
        }
        if let Some(l) = self.sync.strong.locations.get_mut(&e.key) {
            l.writes.push(Write {
                by,
                pc: e.pc,
                kind: e.kind,
                operand: e.operand,
                before,
                held,
                scope: e.scope,
                heads,
                sequential,
                fences,
                chosen: granted,
                follows,
                last,
            });
        }
    }

    /// The reading half of an access: what it observes, and what the write of another thread may come to change.
    fn read_word(
        &mut self,
        e: &Event,
        (n, granted, writes): (usize, bool, bool),
        by: At,
        heads: &[Head],
    ) {
        let in_loop = self
            .sync
            .strong
            .awaits
            .by_access
            .get(&e.pc)
            .map(|a| a.is_used);
        let mut after = n;
        let mut learned = heads.to_vec();
        if let Some(i) = self.sync.strong.held.observed.take().filter(|_| granted) {
            after = i.map_or(0, |i| i + 1);
            let l = &self.sync.strong.locations[&e.key];
            learned = i.map_or(Vec::new(), |i| l.writes[i].heads.clone());
        }
        self.observe(e, &learned);
        let l = &self.sync.strong.locations[&e.key];
        let seen = after.checked_sub(1);
        let fences = seen.map_or(Vec::new(), |i| l.writes[i].sequential.clone());
        let heard = self.core.heard(e.who, &fences, e.scope);
        if !heard.is_empty() {
            let at = self.sync.at_now(e.who);
            self.sync.strong.observed.push((at, heard));
        }
        let waited = granted && in_loop.is_some() && !writes;
        let only_ends = waited && in_loop == Some(false);
        let place = (e.who.0 as usize / LANES, e.who.0 as usize % LANES);
        let ends = match only_ends {
            true => self.snapshot_of(place, e.pc),
            false => None,
        };
        if let Some(l) = self.sync.strong.locations.get_mut(&e.key) {
            l.reads.push(Read {
                by,
                pc: e.pc,
                scope: e.scope,
                after,
                waited,
                chosen: waited && !only_ends,
                ends,
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
        let t = e.who;
        let mut found = Vec::new();
        let mut last = true;
        // A loop that takes a word waits for the write that lets it.
        let enabled = granted && waits && self.sync.strong.held.enabled;
        for i in (0..n).rev() {
            let w = &self.sync.strong.locations[&e.key].writes[i];
            let both_chosen = granted && w.chosen;
            if enabled && i == n - 1 {
                if w.last {
                    break;
                }
                continue;
            }
            if self.sync.write_is_known(&e.key, i, t) {
                continue;
            }
            if both_chosen {
                let (by, fences) = (
                    self.sync.strong.locations[&e.key].writes[i].by.who,
                    self.sync.strong.locations[&e.key].writes[i].fences,
                );
                let own = self.sync.strong.sequential.get(&t).copied().unwrap_or(0);
                for (t, fences) in [(by, fences), (t, own)] {
                    let words = self.sync.strong.contended.entry((t, fences)).or_default();
                    words.insert(e.key, e.pc);
                }
                continue;
            }
            let w = &self.sync.strong.locations[&e.key].writes[i];
            last = false;
            if !commutes(&w.kind, &e.kind) && !e.is_idle() {
                found.push(((w.pc, w.by.who), "their order depends on the schedule"));
            }
        }
        if e.kind.writes() && !e.is_idle() {
            self.look_at_reads(e, before, &mut found);
        }
        for (earlier, why) in found {
            self.sync.open_pair(e.key, earlier, (e.pc, e.who), why);
        }
        last
    }

    /// Accesses of which one has a scope without the other's thread are no strong ones for each other: a data race.
    fn look_at_scopes(&mut self, e: &Event, writes: bool) {
        let l = &self.sync.strong.locations[&e.key];
        let strong = |by: At, scope: Scope| {
            self.core.holds(scope, by.who, e.who) && self.core.holds(e.scope, e.who, by.who)
                || self.sync.knows(e.who, by)
        };
        let before = l.writes.iter().map(|w| (w.pc, w.by, w.scope));
        let reads = l.reads.iter().map(|r| (r.pc, r.by, r.scope));
        let mut all = before.chain(reads.filter(|_| writes));
        let Some((pc, by, _)) = all.find(|(_, by, scope)| !strong(*by, *scope)) else {
            return;
        };
        let new = Trouble {
            earlier: (pc, by.who),
            later: (e.pc, e.who),
            key: e.key,
            why: "the scope of one does not hold the thread of the other, for which it is not atomic",
            count: 1,
        };
        note(&mut self.sync.strong.narrow, new);
    }

    /// The reads before a write that might as well come after it.
    fn look_at_reads(
        &mut self,
        e: &Event,
        before: Option<u64>,
        found: &mut Vec<((Pc, Tid), &'static str)>,
    ) {
        let t = e.who;
        let new = match e.kind {
            AccessKind::Atomic { op, ty, .. } => {
                before.and_then(|old| after(op, ty, old, e.operand, None))
            }
            _ => e.operand,
        };
        let l = &self.sync.strong.locations[&e.key];
        let mut late: Vec<Read> = Vec::new();
        for r in &l.reads {
            let is_update = l.writes.iter().any(|w| w.pc == r.pc && w.by == r.by);
            if r.by.who != e.who && !is_update && !r.chosen && !self.sync.knows(t, r.by) {
                late.push(r.clone());
            }
        }
        for r in late {
            let why = match r.waited {
                false => "their order depends on the schedule",
                true if self.still_ends(e, &r, (before, new)) => continue,
                true => "a thread that waits for the first value may miss it",
            };
            found.push(((r.pc, r.by.who), why));
        }
    }

    /// Would a loop that has ended also end at what updates since then leave, in whatever order they come?
    fn still_ends(
        &mut self,
        e: &Event,
        r: &Read,
        (before, new): (Option<u64>, Option<u64>),
    ) -> bool {
        let place = (e.who.0 as usize / LANES, e.who.0 as usize % LANES);
        let (Some(ends), Some(new)) = (&r.ends, new) else {
            return false;
        };
        let writes = &self.sync.strong.locations[&e.key].writes;
        let since: Vec<&Write> = writes[r.after..].iter().collect();
        let own = since.iter().any(|w| w.by.who == r.by.who);
        let AccessKind::Atomic { op, ty, .. } = e.kind else {
            // Of a later store it learns no less than it did, if that store releases all that the one which it
            // observed does: one thread made both and those between, and no scope of it is narrower.
            let stores =
                |w: &Write| w.by.who == e.who && !matches!(w.kind, AccessKind::Atomic { .. });
            let learns = match r.after.checked_sub(1).map(|i| &writes[i]) {
                Some(w) => stores(w) && since.iter().all(|w| stores(w)) && e.scope >= w.scope,
                None => true,
            };
            return learns && !own && self.would_end(place, r.pc, ends, new) == Some(true);
        };
        let adds = |op: AtomOp, ty: NumTy| op == AtomOp::Add && matches!(ty, NumTy::Int(_));
        let all_add = adds(op, ty)
            && since
                .iter()
                .all(|w| matches!(w.kind, AccessKind::Atomic { op, ty, .. } if adds(op, ty)));
        if !all_add {
            // It may as well go on after this update, of which it learns more.
            return !own && self.would_end(place, r.pc, ends, new) == Some(true);
        }
        // What the thread itself adds comes after it has gone on.
        let others = since.iter().filter(|w| w.by.who != r.by.who);
        let mut by: Vec<Option<u64>> = others.map(|w| w.operand).collect();
        by.push(e.operand);
        let base = since.first().map_or(before, |w| w.before);
        let (Some(by), Some(base)) = (by.into_iter().collect::<Option<Vec<u64>>>(), base) else {
            return false;
        };
        let (pc, ends) = (r.pc, ends.clone());
        let Some(sums) = sums(base, &by, e.bytes) else {
            return false;
        };
        sums.into_iter()
            .all(|v| self.would_end(place, pc, &ends, v) == Some(true))
    }

    /// What a read that no loop waits at may give, the last value first, each with the write from whose heads it
    /// learns; none if that is not known. Old values are given, and the last one is in memory.
    pub(crate) fn settle_read(
        &mut self,
        (t, key, bytes, pc): (Tid, Key, u32, Pc),
    ) -> Option<Vec<(Option<Val>, Option<usize>)>> {
        let n = (self.sync.strong.locations.get(&key)).map_or(0, |l| l.writes.len());
        let mut first = n;
        while first > 0 && !self.sync.write_is_known(&key, first - 1, t) {
            first -= 1;
        }
        if first == n {
            return Some(vec![(None, n.checked_sub(1))]);
        }
        let now = self.core.held_value(key, bytes, pc);
        let free: Vec<Write> = self.sync.strong.locations[&key].writes[first..].to_vec();
        let ordered = free.iter().skip(1).all(|w| w.follows || w.chosen);
        // What each of them publishes, the later ones do too.
        let grows = free
            .windows(2)
            .all(|p| matches!(p[1].kind, AccessKind::Atomic { .. }) || p[0].by.who == p[1].by.who);
        let mut ends: Vec<(Val, Option<Val>, Option<usize>)> = Vec::new();
        for i in (first..=n).rev() {
            let (value, given) = match i == n {
                true => (now, None),
                false => (free[i - first].held, Some(free[i - first].held)),
            };
            match ends.iter_mut().find(|e| e.0 == value) {
                Some(e) => e.2 = i.checked_sub(1),
                None => ends.push((value, given, i.checked_sub(1))),
            }
        }
        let known = ordered && (grows || ends.len() == n + 1 - first);
        known.then(|| ends.into_iter().map(|(_, given, i)| (given, i)).collect())
    }

    /// What a loop that waits has observed for certain. `passes` says which values end it.
    pub(crate) fn settle_wait(
        &mut self,
        (t, key, bytes, pc): (Tid, Key, u32, Pc),
        is_used: bool,
        passes: &mut dyn FnMut(&mut Self, u64) -> Option<bool>,
    ) -> Observed {
        let now = self.core.word_at(key, bytes, pc);
        let n = self
            .sync
            .strong
            .locations
            .get(&key)
            .map_or(0, |l| l.writes.len());
        let one = |i: usize| Observed::Writes(vec![(now, i.checked_sub(1))]);
        // The writes that do not happen before it.
        let mut first = n;
        while first > 0 && !self.sync.write_is_known(&key, first - 1, t) {
            first -= 1;
        }
        if first == n {
            return one(n);
        }
        let free: Vec<Write> = self.sync.strong.locations[&key].writes[first..].to_vec();
        let ordered = free.iter().skip(1).all(|w| w.follows || w.chosen);
        // What each of them publishes, the later ones do too.
        let grows = free
            .windows(2)
            .all(|p| matches!(p[1].kind, AccessKind::Atomic { .. }) || p[0].by.who == p[1].by.who);
        if ordered {
            // The value after each of them, and the one before all.
            let mut ends: Vec<(Option<u64>, Option<usize>)> = Vec::new();
            let mut count = 0;
            for i in (first..=n).rev() {
                let value = match i == n {
                    true => now,
                    false => free[i - first].before,
                };
                let Some(v) = value else {
                    return Observed::Open(n);
                };
                match passes(self, v) {
                    Some(true) => {
                        count += 1;
                        let learned = (value, i.checked_sub(1));
                        match ends.iter_mut().find(|e| e.0 == value || !is_used) {
                            Some(e) => *e = learned,
                            None => ends.push(learned),
                        }
                    }
                    Some(false) => {}
                    None => return Observed::Open(n),
                }
            }
            return match grows || count == ends.len() {
                true => Observed::Writes(ends),
                false => Observed::Open(n),
            };
        }
        match self.parts_pass(&free, now, bytes, passes) {
            Some(false) => one(n),
            // Any of them may be among those that were not yet there.
            _ if !is_used => one(first),
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
        let mut by = Vec::new();
        let mut base = now?;
        for w in free {
            let AccessKind::Atomic {
                op: AtomOp::Add,
                ty: NumTy::Int(_),
                ..
            } = w.kind
            else {
                return None;
            };
            by.push(w.operand?);
            base = base.wrapping_sub(w.operand?);
        }
        let mut all = sums(base, &by, bytes)?;
        // The last one is the sum of all.
        all.pop();
        for v in all {
            if passes(self, v)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// The sums of a number and each part of some others, that of all last; `None` if there are too many.
fn sums(base: u64, by: &[u64], bytes: u32) -> Option<Vec<u64>> {
    let mask = u64::MAX >> (64 - 8 * bytes);
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for &n in by {
        match counts.iter_mut().find(|c| c.0 == n) {
            Some(c) => c.1 += 1,
            None => counts.push((n, 1)),
        }
    }
    let parts = counts
        .iter()
        .try_fold(1u64, |n, c| n.checked_mul(c.1 + 1))?;
    let sum = |part: u64| {
        let (mut rest, mut v) = (part, base);
        for (by, count) in &counts {
            v = v.wrapping_add(by.wrapping_mul(rest % (count + 1)));
            rest /= count + 1;
        }
        v & mask
    };
    (parts <= LIMITS.location_sums).then(|| (0..parts).map(sum).collect())
}

fn commutes(a: &AccessKind, b: &AccessKind) -> bool {
    use crate::sim::race::{Rule, rule};
    rule(*a, *b, true) == Rule::Fine
}
