//! Conditions that a run decides.

use crate::kernel::{Pc, Space};
use crate::sim::limits::LIMITS;
use crate::sim::machine::Machine;
use crate::sim::step::Under;
use crate::sim::stop::Obstacle;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::lanes;
use crate::term::{Term, TermId, TermStore};

use super::Plan;

impl Machine<'_> {
    /// Who goes on at an instruction whose conditions are decided; none if they are not, but may be in another run.
    pub(in crate::sim) fn decide_ways(
        &mut self,
        yes: u32,
        under: &Under,
        pc: Pc,
    ) -> Result<Option<u32>, Stop> {
        let is_apart = |p: &Plan| p.apart.contains(&pc);
        if !self.conditions.ways.plan.as_ref().is_some_and(is_apart) {
            return Ok(None);
        }
        let mut yes = yes;
        for lane in lanes(under.mask) {
            match self.decide(under.cond[lane]) {
                Some(holds) => yes |= u32::from(holds) << lane,
                None => return Ok(None),
            }
        }
        Ok(Some(yes))
    }

    /// Asks for a run that decides the conditions of an instruction, if that can be.
    pub(in crate::sim) fn ask_for_ways(&self, under: &Under, pc: Pc) -> Result<(), Stop> {
        let Some(plan) = &self.conditions.ways.plan else {
            return Ok(());
        };
        let asks_inputs = |lane| asks_inputs(&self.core.values.store, under.cond[lane]);
        match !plan.apart.contains(&pc) && lanes(under.mask).all(asks_inputs) {
            true => Err(Stop::Open(Obstacle::Fork(pc))),
            false => Ok(()),
        }
    }

    /// Whether a condition holds: by what is decided, or as the plan says.
    fn decide(&mut self, cond: TermId) -> Option<bool> {
        let store = &mut self.core.values.store;
        if let Some(known) = store.as_bool(cond) {
            return Some(known);
        }
        let not = store.not(cond);
        // Another lane may have asked the same.
        for &(asked, holds) in &self.conditions.ways.decided {
            if asked == cond || asked == not {
                return Some(holds == (asked == cond));
            }
        }
        if let Some(path) = self.conditions.ways.path {
            if store.excludes(path, cond) {
                return Some(false);
            }
            if store.excludes(path, not) {
                return Some(true);
            }
        }
        let ways = &mut self.conditions.ways;
        let at = ways.decided.len();
        if at >= LIMITS.path_conditions || !asks_inputs(store, cond) {
            return None;
        }
        let plan = ways.plan.as_ref()?;
        let holds = plan.holds.get(at).copied().unwrap_or(true);
        let new = if holds { cond } else { not };
        ways.decided.push((cond, holds));
        ways.known.push(new);
        let all = ways.path.map_or(new, |p| store.and(p, new));
        ways.path = Some(all);
        Some(holds)
    }

    /// What an access happens under if it may be one of an array, where the run decided anything.
    pub(in crate::sim) fn on_path(
        &mut self,
        exec: u32,
        space: Space,
        under: &Under,
    ) -> Option<Under> {
        let path = self.conditions.ways.path?;
        if !matches!(space, Space::Global | Space::Generic) {
            return None;
        }
        let mut all = Under::none();
        all.mask = exec;
        for lane in lanes(exec) {
            all.cond[lane] = match under.mask >> lane & 1 {
                1 => self.core.values.store.and(path, under.cond[lane]),
                _ => path,
            };
        }
        Some(all)
    }

    /// What a value is where everything holds that the run decided.
    pub(in crate::sim) fn decided_value(&mut self, v: Val) -> Val {
        self.core.values.where_true(&self.conditions.ways.known, v)
    }
}

/// True if a condition is a question about inputs alone.
fn asks_inputs(store: &TermStore, cond: TermId) -> bool {
    let below = store.met(&[cond], LIMITS.path_terms, |t, open| {
        store.children(t, |c| open.push(c));
        matches!(
            store.get(t),
            Term::Fresh { .. } | Term::Poison { .. } | Term::Word(_)
        )
    });
    below.is_some_and(|found| found.is_empty())
}
