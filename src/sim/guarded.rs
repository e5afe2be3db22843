//! Conditions of the accesses that input data decides about.
//!
//! The problem: an access under a guard that depends on data happens for some inputs only, so that a
//! pair of accesses that nothing orders is a race only if some input makes both happen. What the
//! shadow remembers of an access is thread and instruction; here is the condition under which the
//! latest of them touched an address, and what it wrote.
//!
//! A pair of which no input makes both happen is nothing ([`TermStore::excludes`](crate::term::TermStore::excludes)), whatever
//! access of its threads to that place it is. Another is handed on with the conjunction of its conditions: a data race if an input is found
//! that satisfies it, nothing if none can, `unknown` otherwise. Two writes of one value are compared
//! where both happen.
//!
//! Sound: what is not known for certain (two writes of the same thread, instruction and address that
//! may not have been ordered before the first was looked at; too many) gives no
//! condition, and the pair stays `unknown`.

use rustc_hash::FxHashMap;

use crate::kernel::{Op, Pc};
use crate::term::enumerate::Cases;
use crate::term::{Agreement, ArrayId, ICmp, TermId};

use super::machine::{Machine, RegionId};
use super::memory::RegionKind;
use super::place::Target;
use super::race::{Conflict, Finding, Kind, Party, SameWrite};
use super::value::Val;
use super::warp::LANES;
use super::{Site, Tid, WarningKind};

/// Accesses that are remembered.
const MOST: usize = 1 << 18;

/// Terms times cases that are looked at.
const ENUMERATED: u64 = 1 << 24;

/// Further examples of a pair of instructions.
const EXAMPLES: usize = 8;

/// Bytes of the widest access.
const WIDEST: u64 = 32;

type Key = (Pc, Tid, RegionId, u64);

/// The latest access of a thread to an address by one instruction.
#[derive(Clone, Copy, Debug)]
struct Seen {
    tick: u32,
    bytes: u32,
    /// `None` if there were several.
    cond: Option<TermId>,
    /// That one of them holds.
    any: TermId,
    /// That one of them holds, or of those before that all know of.
    ever: TermId,
    /// That of the latest.
    latest: TermId,
    /// The bits that it wrote; `None` if there were several, or none.
    value: Option<TermId>,
}

/// Accesses to bytes of an array under a condition, by one instruction of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The array.
    pub array: ArrayId,
    /// The first byte.
    pub off: u64,
    /// How many there are.
    pub bytes: u32,
    /// True if they are written.
    pub writes: bool,
    /// The condition.
    pub cond: TermId,
}

impl Guard {
    /// True if all of these bytes are accessed.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        self.off <= start && end <= self.off + u64::from(self.bytes)
    }
}

/// What is remembered of accesses under conditions.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    seen: FxHashMap<Key, Seen>,
    /// Cases that were looked at for conditions that no input satisfies.
    cases: Cases,
    /// True once something was not remembered.
    full: bool,
    /// Of pairs of instructions: the conditions of the example.
    conds: FxHashMap<(Pc, Pc), Option<(TermId, TermId)>>,
    /// Further examples, at other places.
    more: Vec<(Finding, (TermId, TermId))>,
}

impl Guarded {
    /// The condition of one side of a pair at a byte; `yes` for an access without one.
    fn cond(&self, p: &Party, region: RegionId, at: u64, yes: TermId) -> Option<TermId> {
        match p.conditional {
            false => Some(yes),
            true => self.find(p, region, at)?.cond,
        }
    }

    /// A condition under which one side of a pair that was just found is unordered with the other. Of several
    /// accesses of a thread the latest is: were it ordered before the other side, all of them would be.
    /// Copies may end in another order.
    fn witness(&self, p: &Party, region: RegionId, at: u64, yes: TermId) -> Option<TermId> {
        match p.conditional && !p.agent {
            false => self.cond(p, region, at, yes),
            true => Some(self.find(p, region, at)?.latest),
        }
    }

    fn find(&self, p: &Party, region: RegionId, at: u64) -> Option<&Seen> {
        if self.full {
            return None;
        }
        let covers = |d: u64| {
            let seen = self.seen.get(&(p.pc, p.thread, region, at - d))?;
            (d < seen.bytes as u64).then_some(seen)
        };
        let mut found = (0..WIDEST.min(at + 1)).filter_map(covers);
        // Accesses of one instruction that overlap in part are not told apart.
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Keeps a further example of a pair of instructions, if it is at another place than those before.
    fn keep(&mut self, f: Finding, conds: (TermId, TermId)) {
        let key = |f: &Finding| (f.earlier.pc, f.later.pc);
        let same = self.more.iter().filter(|m| key(&m.0) == key(&f));
        let known = same.clone().any(|m| m.0.offset == f.offset);
        if !known && same.count() < EXAMPLES {
            self.more.push((f, conds));
        }
    }

    /// Further examples, each with its conditions.
    pub(crate) fn take_more(&mut self) -> Vec<(Finding, (TermId, TermId))> {
        std::mem::take(&mut self.more)
    }

    /// The conditions of the example of a finding, as they were when it was found.
    pub(crate) fn of(&self, f: &Finding) -> Option<(TermId, TermId)> {
        self.conds
            .get(&(f.earlier.pc, f.later.pc))
            .copied()
            .flatten()
    }
}

impl Machine<'_> {
    /// All accesses to arrays under conditions; `None` if some were not remembered.
    pub(super) fn guards(&self) -> Option<Vec<Guard>> {
        if self.guarded.full {
            return None;
        }
        let mut seen: Vec<(&Key, &Seen)> = self.guarded.seen.iter().collect();
        seen.sort_unstable_by_key(|s| *s.0);
        let guard = |(&(pc, _, region, off), s): (&Key, &Seen)| {
            let RegionKind::Array(array) = self.regions[region.0 as usize].kind else {
                return None;
            };
            Some(Guard {
                array,
                off,
                bytes: s.bytes,
                writes: !matches!(self.inst(pc).op, Op::Ld { .. }),
                cond: s.ever,
            })
        };
        Some(seen.into_iter().filter_map(guard).collect())
    }

    /// Remembers the accesses of an instruction that happen under a condition.
    pub(super) fn note_conditions(&mut self, w: usize, pc: Pc, targets: &[Target], bytes: u32) {
        if targets.iter().all(|t| t.cond.is_none()) {
            return;
        }
        let tick = self.order.clocks.stamp(w as u32).0;
        // A copy that was issued before may still be under way, whatever is known of its issuer.
        let floor = match self.order.agent {
            Some(_) => 0,
            None => self.order.clocks.floor().0,
        };
        for t in targets {
            let Some(cond) = t.cond else { continue };
            let g = &mut self.guarded;
            if g.seen.len() >= MOST {
                g.full = true;
                return;
            }
            let key = (pc, Tid((w * LANES + t.lane) as u32), t.region, t.off as u64);
            let new = Seen {
                tick,
                bytes,
                cond: Some(cond),
                any: cond,
                ever: cond,
                latest: cond,
                value: None,
            };
            let store = &mut self.values.store;
            g.seen
                .entry(key)
                .and_modify(|old| {
                    // What all know of cannot be part of a pair any more.
                    let over = old.tick < floor;
                    old.tick = tick;
                    old.latest = cond;
                    let ever = store.or(old.ever, cond);
                    old.ever = ever;
                    if over {
                        *old = Seen { ever, ..new };
                    } else if old.cond != new.cond {
                        old.cond = None;
                        old.any = store.or(old.any, cond);
                    }
                })
                .or_insert(new);
        }
    }

    /// From now on every pair of accesses that data decide about is met for itself.
    pub(super) fn meet_each(&mut self) {
        self.meet_some();
        self.order
            .each_report(|r| (r.each, r.always_each) = (true, true));
    }

    /// The same, so long as there are few pairs.
    pub(super) fn meet_some(&mut self) {
        let mut spent = false;
        self.order.each_report(|r| spent |= r.is_spent());
        self.order.each_report(|r| r.each = !spent);
    }

    /// Of the pairs that were just met, adds those of which both accesses may happen.
    pub(super) fn keep_possible(&mut self) {
        let held = self.order.held.as_mut().map(|h| &mut h.report);
        let mut found: Vec<(bool, Finding)> = Vec::new();
        for (of_held, r) in [(false, Some(&mut self.order.report)), (true, held)] {
            let all = r.map(|r| std::mem::take(&mut r.possible));
            found.extend(all.into_iter().flatten().map(|f| (of_held, f)));
        }
        for (of_held, f) in found {
            let region = RegionId(f.region.0);
            if self.excluded((&f.earlier, &f.later), region, f.offset) {
                continue;
            }
            let yes = self.values.store.bool(true);
            let of = |p| self.guarded.witness(p, region, f.offset, yes);
            if f.conflict == Conflict::Conditional
                && let Some(both) = of(&f.earlier).zip(of(&f.later))
            {
                self.guarded.keep(f.clone(), both);
            }
            let report = match &mut self.order.held {
                Some(h) if of_held => &mut h.report,
                _ => &mut self.order.report,
            };
            for p in [&f.earlier, &f.later] {
                if p.kind == Kind::Read {
                    report.add_reader(p.pc, p.thread);
                }
            }
            report.add(f.conflict, f.region, f.offset, f.earlier, f.later);
        }
    }

    /// True if no input makes both accesses of a pair happen, whatever access of those threads at that place it is.
    pub(super) fn excluded(&mut self, (a, b): (&Party, &Party), region: RegionId, at: u64) -> bool {
        if !self.order.report.each || !a.conditional && !b.conditional {
            return false;
        }
        let yes = self.values.store.bool(true);
        let of = |p: &Party| match p.conditional {
            false => Some(yes),
            true => Some(self.guarded.find(p, region, at)?.any),
        };
        let Some((a, b)) = of(a).zip(of(b)) else {
            return false;
        };
        self.values.store.excludes(a, b) || self.never(&[a, b])
    }

    /// True if no input satisfies some conditions, whatever choices they are made of.
    pub(super) fn never(&mut self, conds: &[TermId]) -> bool {
        let cases = &mut self.guarded.cases;
        cases.work < ENUMERATED && self.values.store.never(conds, cases)
    }

    /// Remembers what a store of one element under a condition wrote.
    pub(super) fn note_guarded_value(&mut self, w: usize, pc: Pc, t: &Target, bits: u8, v: Val) {
        // In a run without values a write that meets another is a finding.
        if v == Val::Absent {
            return;
        }
        let value = self.values.bits(v, bits);
        let key = (pc, Tid((w * LANES + t.lane) as u32), t.region, t.off as u64);
        let Some(seen) = self.guarded.seen.get_mut(&key) else {
            return;
        };
        seen.value = match seen.value {
            Some(old) if old != value => None,
            // After several conditions there may have been several values.
            None if seen.cond.is_none() => None,
            _ => Some(value),
        };
    }

    /// Looks up the conditions of pairs that were just found.
    pub(super) fn keep_conditions(&mut self) {
        let yes = self.values.store.bool(true);
        let guarded = &mut self.guarded;
        for f in self.order.report.findings() {
            let key = (f.earlier.pc, f.later.pc);
            if f.conflict != Conflict::Conditional || guarded.conds.contains_key(&key) {
                continue;
            }
            let region = RegionId(f.region.0);
            let of = |p| guarded.witness(p, region, f.offset, yes);
            let both = of(&f.earlier).zip(of(&f.later));
            guarded.conds.insert(key, both);
        }
    }

    /// Two writes that nothing orders and of which input data decides one at least: `memory` is what
    /// was there before the later one, `v` what that writes. The same value is a warning, whatever
    /// the conditions; others are a race where both happen and they differ.
    pub(super) fn guarded_same_value(
        &mut self,
        c: &SameWrite,
        memory: TermId,
        v: TermId,
        warning: (Vec<Site>, String),
    ) {
        let key = (c.earlier.pc, c.later.pc);
        let Some((cond, earlier)) = self.guarded_pair(c, memory) else {
            self.guarded.conds.entry(key).or_insert(None);
            return self.add_race(c.otherwise, c);
        };
        if earlier == v {
            if self.values.store.as_bool(cond) != Some(false) {
                let kind = match self.values.store.agreement(earlier, v) {
                    Agreement::Same => WarningKind::SameValueWrite,
                    _ if c.within => WarningKind::RealEqualWrite,
                    _ => WarningKind::RealEqualRace,
                };
                self.warn(kind, warning.0, || warning.1);
            }
            return;
        }
        let s = &mut self.values.store;
        let same = s.icmp(ICmp::Eq, earlier, v);
        let differ = s.not(same);
        self.guarded
            .conds
            .entry(key)
            .or_insert(Some((cond, differ)));
        if self.order.report.each {
            let example = Finding {
                conflict: c.otherwise,
                count: 1,
                region: c.region,
                offset: c.offset,
                earlier: c.earlier,
                later: c.later,
            };
            self.guarded.keep(example, (cond, differ));
        }
        self.add_race(c.otherwise, c);
    }

    /// The condition under which both writes happen, and the bits that the earlier one writes then.
    fn guarded_pair(&mut self, c: &SameWrite, memory: TermId) -> Option<(TermId, TermId)> {
        let yes = self.values.store.bool(true);
        let region = RegionId(c.region.0);
        let of = |p| self.guarded.cond(p, region, c.offset, yes);
        let (a, b) = (of(&c.earlier)?, of(&c.later)?);
        let value = match c.earlier.conditional {
            true => self.guarded.find(&c.earlier, region, c.offset)?.value?,
            false if c.current => memory,
            false => return None,
        };
        Some((self.values.store.and(a, b), value))
    }
}
