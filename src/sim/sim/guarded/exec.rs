//! Accesses under conditions, as they are noted.

use crate::kernel::{Op, Pc};
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Machine, Synchronisation};
use crate::sim::memory::RegionKind;
use crate::sim::place::Target;
use crate::sim::race::{AccessKind, Conflict, Finding, Party, SameWrite};
use crate::sim::region::RegionId;
use crate::sim::val::Val;
use crate::sim::warp::LANES;
use crate::sim::{Site, Tid, WarningKind};
use crate::term::{Agreement, ICmp, TermId};

use super::{Guard, Key, Seen};

impl Synchronisation {
    /// From now on every pair of accesses that data decide about is met for itself.
    pub(in crate::sim) fn meet_each(&mut self) {
        self.meet_some();
        self.order
            .each_report(|r| (r.each, r.always_each) = (true, true));
    }

    /// The same, so long as there are few pairs.
    pub(in crate::sim) fn meet_some(&mut self) {
        let mut spent = false;
        self.order.each_report(|r| spent |= r.is_spent());
        self.order.each_report(|r| r.each = !spent);
    }
}

impl Machine<'_> {
    /// All accesses to arrays under conditions; `None` if some were not remembered.
    pub(in crate::sim) fn guards(&self) -> Option<Vec<Guard>> {
        if self.conditions.guarded.full {
            return None;
        }
        let mut seen: Vec<(&Key, &Seen)> = self.conditions.guarded.seen.iter().collect();
        seen.sort_unstable_by_key(|s| *s.0);
        let guard = |(&(pc, _, region, off), s): (&Key, &Seen)| {
            let RegionKind::Array(array) = self.core.memory.regions[region.0 as usize].kind else {
                return None;
            };
            Some(Guard {
                array,
                off,
                bytes: s.bytes,
                writes: !matches!(self.core.inst(pc).op, Op::Ld { .. }),
                cond: s.ever,
            })
        };
        Some(seen.into_iter().filter_map(guard).collect())
    }

    /// Remembers the accesses of an instruction that happen under a condition.
    pub(in crate::sim) fn note_conditions(
        &mut self,
        w: usize,
        pc: Pc,
        targets: &[Target],
        bytes: u32,
    ) {
        if targets.iter().all(|t| t.cond.is_none()) {
            return;
        }
        let tick = self.sync.order.clocks.stamp(w as u32).0;
        // A copy that was issued before may still be under way, whatever is known of its issuer.
        let floor = match self.sync.order.agent {
            Some(_) => 0,
            None => self.sync.order.clocks.floor().0,
        };
        for t in targets {
            let Some(cond) = t.cond else { continue };
            let g = &mut self.conditions.guarded;
            if g.seen.len() >= LIMITS.guarded_accesses {
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
            let store = &mut self.core.values.store;
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

    /// Of the pairs that were just met, adds those of which both accesses may happen.
    pub(in crate::sim) fn keep_possible(&mut self) {
        let held = self.sync.order.held.as_mut().map(|h| &mut h.report);
        let mut found: Vec<(bool, Finding)> = Vec::new();
        for (of_held, r) in [(false, Some(&mut self.sync.order.report)), (true, held)] {
            let all = r.map(|r| std::mem::take(&mut r.possible));
            found.extend(all.into_iter().flatten().map(|f| (of_held, f)));
        }
        for (of_held, f) in found {
            let region = RegionId(f.region.0);
            if self.excluded((&f.earlier, &f.later), region, f.offset) {
                continue;
            }
            let yes = self.core.values.store.bool(true);
            let of = |p| self.conditions.guarded.witness(p, region, f.offset, yes);
            if f.conflict == Conflict::Conditional
                && let Some(both) = of(&f.earlier).zip(of(&f.later))
            {
                self.conditions.guarded.keep(f.clone(), both);
            }
            let report = match &mut self.sync.order.held {
                Some(h) if of_held => &mut h.report,
                _ => &mut self.sync.order.report,
            };
            for p in [&f.earlier, &f.later] {
                if p.kind == AccessKind::Read {
                    report.add_reader(p.pc, p.thread);
                }
            }
            report.add(f.conflict, f.region, f.offset, f.earlier, f.later);
        }
    }

    /// True if no input makes both accesses of a pair happen, whatever access of those threads at that place it is.
    pub(in crate::sim) fn excluded(
        &mut self,
        (a, b): (&Party, &Party),
        region: RegionId,
        at: u64,
    ) -> bool {
        if !self.sync.order.report.each || !a.conditional && !b.conditional {
            return false;
        }
        let yes = self.core.values.store.bool(true);
        let of = |p: &Party| match p.conditional {
            false => Some(yes),
            true => Some(self.conditions.guarded.find(p, region, at)?.any),
        };
        let Some((a, b)) = of(a).zip(of(b)) else {
            return false;
        };
        self.core.values.store.excludes(a, b) || self.never(&[a, b])
    }

    /// True if no input satisfies some conditions, whatever choices they are made of.
    pub(in crate::sim) fn never(&mut self, conds: &[TermId]) -> bool {
        let cases = &mut self.conditions.guarded.cases;
        cases.work < LIMITS.guarded_cases && self.core.values.store.never(conds, cases)
    }

    /// Remembers what a store of one element under a condition wrote.
    pub(in crate::sim) fn note_guarded_value(
        &mut self,
        w: usize,
        pc: Pc,
        t: &Target,
        bits: u8,
        v: Val,
    ) {
        // In a run without values a write that meets another is a finding.
        if v == Val::Absent {
            return;
        }
        let value = self.core.values.bits(v, bits);
        let key = (pc, Tid((w * LANES + t.lane) as u32), t.region, t.off as u64);
        let Some(seen) = self.conditions.guarded.seen.get_mut(&key) else {
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
    pub(in crate::sim) fn keep_conditions(&mut self) {
        let yes = self.core.values.store.bool(true);
        let guarded = &mut self.conditions.guarded;
        for f in self.sync.order.report.findings() {
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
    pub(in crate::sim) fn guarded_same_value(
        &mut self,
        c: &SameWrite,
        memory: TermId,
        v: TermId,
        warning: (Vec<Site>, String),
    ) {
        let key = (c.earlier.pc, c.later.pc);
        let Some((cond, earlier)) = self.guarded_pair(c, memory) else {
            self.conditions.guarded.conds.entry(key).or_insert(None);
            return self.sync.add_race(c.otherwise, c);
        };
        if earlier == v {
            if self.core.values.store.as_bool(cond) != Some(false) {
                let kind = match self.core.values.store.agreement(earlier, v) {
                    Agreement::Same => WarningKind::SameValueWrite,
                    _ if c.within => WarningKind::RealEqualWrite,
                    _ => WarningKind::RealEqualRace,
                };
                self.core.found.warn(kind, warning.0, || warning.1);
            }
            return;
        }
        let s = &mut self.core.values.store;
        let same = s.icmp(ICmp::Eq, earlier, v);
        let differ = s.not(same);
        self.conditions
            .guarded
            .conds
            .entry(key)
            .or_insert(Some((cond, differ)));
        if self.sync.order.report.each {
            let example = Finding {
                conflict: c.otherwise,
                count: 1,
                region: c.region,
                offset: c.offset,
                earlier: c.earlier,
                later: c.later,
            };
            self.conditions.guarded.keep(example, (cond, differ));
        }
        self.sync.add_race(c.otherwise, c);
    }

    /// The condition under which both writes happen, and the bits that the earlier one writes then.
    fn guarded_pair(&mut self, c: &SameWrite, memory: TermId) -> Option<(TermId, TermId)> {
        let yes = self.core.values.store.bool(true);
        let region = RegionId(c.region.0);
        let of = |p| self.conditions.guarded.cond(p, region, c.offset, yes);
        let (a, b) = (of(&c.earlier)?, of(&c.later)?);
        let value = match c.earlier.conditional {
            true => {
                self.conditions
                    .guarded
                    .find(&c.earlier, region, c.offset)?
                    .value?
            }
            false if c.current => memory,
            false => return None,
        };
        Some((self.core.values.store.and(a, b), value))
    }
}
