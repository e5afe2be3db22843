//! The steps that are held, made one after the other, and which of them are chosen.
//!
//! The problem: the orders of n steps are n!, and most of them differ in nothing. Steps on different words change
//! places; so do two read-modify-writes of one word if what each makes of its old value is the same before and after
//! the other, up to the next instruction with an effect: "am I the last" is the same question for all but the last.
//! Of two steps that change places and follow each other, the one by the lower thread comes first; a run that would
//! make them the other way round ends.
//!
//! Complete: of all orders that differ only in steps that change places, the least one has no such pair, so it is run.

use crate::kernel::Pc;
use crate::sim::Tid;

use super::super::UnknownKind;
use super::super::at::site;
use super::super::machine::{Machine, Synchronisation};
use super::super::stop::Stop;
use super::Key;
use super::hold::{Choice, Ready, Steps, Waiting};

impl Synchronisation {
    /// The steps of the run.
    pub(crate) fn steps(&mut self) -> Option<Steps> {
        if !self.strong.on {
            return None;
        }
        let mut steps = std::mem::take(&mut self.strong.held.steps);
        let mut locations = self.strong.locations.values();
        steps.doubtful = self.strong.doubtful;
        steps.waited = locations.any(|l| l.reads.iter().any(|r| r.waited));
        Some(steps)
    }
}

impl Machine<'_> {
    /// Lets lanes that are held go on; false if none can.
    pub(crate) fn make_step(&mut self) -> Result<bool, Stop> {
        if !self.sync.strong.on {
            return Ok(false);
        }
        let mut waiting = std::mem::take(&mut self.sync.strong.held.waiting);
        waiting.sort_unstable();
        let mut ready = Vec::with_capacity(waiting.len());
        for h in &waiting {
            ready.push((*h, self.judge(h.w, h.lane, h.pc)));
        }
        let mut next: Vec<(Waiting, Ready)> = ready.clone();
        next.retain(|w| w.1 == Ready::Reads);
        if next.is_empty() {
            ready.retain(|w| matches!(w.1, Ready::Updates | Ready::Chooses));
            next.extend(self.choose_step(&ready)?);
        }
        waiting.retain(|w| !next.iter().any(|n| n.0 == *w));
        self.sync.strong.held.waiting = waiting;
        for (h, r) in &next {
            self.grant(h.w, h.lane, h.pc, *r)?;
        }
        Ok(!next.is_empty())
    }

    /// Chooses one of the steps at hand.
    fn choose_step(
        &mut self,
        ready: &[(Waiting, Ready)],
    ) -> Result<Option<(Waiting, Ready)>, Stop> {
        if ready.is_empty() {
            return Ok(None);
        }
        let mut among: Vec<(Waiting, Ready)> = ready.to_vec();
        if let Some((last, free)) = self.sync.strong.held.last.take() {
            among.retain(|(h, _)| {
                let before = free.iter().find(|f| f.0 == *h).map(|f| f.1);
                let same = before.is_some() && before == self.word_of(h).map(|w| w.1);
                !(same && *h < last)
            });
        }
        if among.is_empty() {
            self.sync.strong.held.steps.redundant = true;
            return Err(Stop::Finding);
        }
        let all: Vec<(Pc, Tid)> = among.iter().map(|(h, _)| (h.pc, h.who())).collect();
        let i = self.choose(&all);
        let (h, r) = among[i];
        let others: Vec<Waiting> = ready.iter().map(|o| o.0).filter(|o| *o != h).collect();
        let free = self.that_change_places(h, &others);
        self.sync.strong.held.last = Some((h, free));
        Ok(Some((h, r)))
    }

    /// Chooses one of several.
    pub(crate) fn choose(&mut self, among: &[(Pc, Tid)]) -> usize {
        let held = &mut self.sync.strong.held;
        let n = held.steps.choices.len();
        let of = among.len() as u32;
        let taken = held.plan.get(n).copied().unwrap_or(0).min(of - 1);
        let (pc, by) = among[taken as usize];
        let (cta, thread) = self.core.fixed.team.split_tid(by);
        held.steps.choices.push(Choice {
            taken,
            of,
            cta,
            thread,
            pc,
        });
        taken as usize
    }

    /// The word of a step, what it holds, and how often it was written.
    fn word_of(&mut self, h: &Waiting) -> Option<(Key, (u64, usize))> {
        let (key, bytes) = self.held_at(h.w, h.lane, h.pc)?;
        let writes = self
            .sync
            .strong
            .locations
            .get(&key)
            .map_or(0, |l| l.writes.len());
        Some((key, (self.core.word_at(key, bytes, h.pc)?, writes)))
    }

    /// The steps that can come before or after one without a difference, with what their words hold after it.
    fn that_change_places(
        &mut self,
        a: Waiting,
        others: &[Waiting],
    ) -> Vec<(Waiting, (u64, usize))> {
        let mut out = Vec::new();
        let Some((key, (v, count))) = self.word_of(&a) else {
            return out;
        };
        let waits = |m: &Self, h: &Waiting| m.sync.strong.awaits.by_access.contains_key(&h.pc);
        for b in others {
            let Some((other, w)) = self.word_of(b) else {
                continue;
            };
            if other != key {
                out.push((*b, w));
                continue;
            }
            if waits(self, &a) || waits(self, b) {
                continue;
            }
            let mut of = |h: &Waiting, v: u64| {
                let lane = (h.w, h.lane);
                Some((
                    self.core.after_step(lane, h.pc, v)?,
                    self.class_of(lane, h.pc, v)?,
                ))
            };
            let alone = (of(&a, v), of(b, v));
            let (Some((after_a, class_a)), Some((after_b, class_b))) = alone else {
                continue;
            };
            let second = (of(&a, after_b), of(b, after_a));
            if let (Some((one, a_second)), Some((two, b_second))) = second
                && (one, &a_second, &b_second) == (two, &class_a, &class_b)
            {
                out.push((*b, (after_a, count + 1)));
            }
        }
        out
    }

    /// Lanes that are held for ever on something that is not known; true if there are any.
    pub(crate) fn open_waits(&mut self) -> bool {
        let waiting = self.sync.strong.held.waiting.clone();
        let mut any = false;
        for h in &waiting {
            if self.judge(h.w, h.lane, h.pc) != Ready::Open {
                continue;
            }
            any = true;
            let what = match self.held_at(h.w, h.lane, h.pc) {
                Some((key, bytes)) => self.core.place(key.region, key.off, bytes),
                None => "a word".into(),
            };
            let site = site(h.pc, h.w, 1 << h.lane, format!("waits for {what}"));
            self.core
                .found
                .unknown(UnknownKind::NondeterministicValue, vec![site], || {
                    format!(
                        "whether the loop that waits for {what} ends is not known: bind its first \
                     content (=0), or wait by a comparison with a known number"
                    )
                });
        }
        any
    }

    /// What a lane waits for that is held, in words.
    pub(crate) fn held_wait(&mut self, w: usize, lane: usize) -> Option<String> {
        let mut all = self.sync.strong.held.waiting.iter();
        let pc = all.find(|h| (h.w, h.lane) == (w, lane))?.pc;
        let (key, bytes) = self.held_at(w, lane, pc)?;
        let place = self.core.place(key.region, key.off, bytes);
        Some(match self.core.word_at(key, bytes, pc) {
            Some(v) => format!("waits for {place}, which stays {v}"),
            None => format!("waits for {place}"),
        })
    }
}
