//! What a proof claims: something, and under which reading of infinities.
//!
//! Problem: where the reference is not a number nothing is claimed of the optimized kernel, so that a reference that
//! is never one proves anything. Of each element that was proved one input has to be seen on which the
//! reference is a number or an infinity; zeros, ones and the like show it of nearly all at once.

use super::canon::{Canon, SIGN_WORK};
use super::goal::Condition;
use super::judge::Judge;
use super::limits::SEARCHES;
use super::prove::By;
use super::refute::links::{self, Links};
use super::refute::{cells, patterns};
use super::ruling::{Ruling, Rulings, Why};
use crate::answer::AssumptionKind;
use crate::number::random::Random;
use crate::special::Survey;
use crate::term::approx::Fast;
use crate::term::eval::Cone;
use crate::term::{Sort, TermId};

/// What is taken for granted of infinities that are no constants.
const POLES: &str = "where the reference divides by 0 it is an infinity, and the optimized kernel may be that or not a \
     number; the sign of the zero is the same in both";

impl Judge<'_> {
    /// The goals of an element whose reference may be no real.
    fn partial(&self, c: &Condition) -> Vec<(TermId, TermId)> {
        let store = self.store;
        let is_partial =
            |&(a, _): &(TermId, TermId)| store.sort(a) == Sort::Real && !store.is_total(a);
        c.pairs.iter().copied().filter(is_partial).collect()
    }

    /// Takes back proofs of which no input was found on which the reference is a number.
    pub(super) fn claim_something(&self, rulings: &mut Rulings) {
        let all = self.conditions.iter().zip(&rulings.of).enumerate();
        let proved =
            all.filter(|(_, (c, r))| matches!(r, Ruling::Proved(_)) && !self.partial(c).is_empty());
        let mut open: Vec<usize> = proved.map(|(i, _)| i).collect();
        let roots_of = |i: usize| {
            let goals = self.partial(&self.conditions[i]).into_iter();
            goals.map(|p| p.0)
        };
        let mut random = Random(self.options.seed);
        let mut scratch = Vec::new();
        let (mut tried, mut left) = (0, SEARCHES.thorough);
        while !open.is_empty() && left > 0 {
            let roots: Vec<TermId> = open.iter().flat_map(|&i| roots_of(i)).collect();
            let premises = links::premises(self.store, &roots);
            let roots: Vec<TermId> = roots.into_iter().chain(premises.iter().copied()).collect();
            let cone = Cone::new(self.store, &roots);
            let cells = cells::cells(self.store, &cone, self.arrays);
            let links = Links::new(self.store, &cells, &premises);
            let near = patterns::thresholds(self.store, &cone);
            let constants = cone.constants(self.store);
            let Some(pattern) = patterns::patterns(&cells, near.len()).get(tried).copied() else {
                break;
            };
            tried += 1;
            left = left.saturating_sub(cone.size() as u64);
            let values = patterns::candidate(&cells, pattern, &near, &mut random);
            let values = match &links {
                None => Some(values),
                Some(l) => l.settled(self.store, &cells, &values),
            };
            let Some(values) = values else { continue };
            let inputs = cells::inputs(&cells, &values);
            let found = cone.approximate(self.store, &constants, &inputs, &mut scratch);
            let mut found = found.iter();
            open.retain(|&i| {
                let own: Vec<&Fast> = found.by_ref().take(roots_of(i).count()).collect();
                own.iter().any(|v| v.f.is_nan())
            });
        }
        for i in open {
            rulings.of[i] = Ruling::Open(Why::Nothing);
        }
    }

    /// Says that infinities that finite operands make are compared with what is not a number.
    pub(super) fn name_poles(&self, rulings: &mut Rulings) {
        let mut canon = Canon::bounded(self.store, &self.options.limits, Some(SIGN_WORK));
        let mut survey = Survey::default();
        let proved = self.conditions.iter().zip(&rulings.of);
        let proved = proved.filter(|(_, r)| matches!(r, Ruling::Proved(p) if p.by != By::TERMS));
        let mut pairs = proved.flat_map(|(c, _)| self.partial(c));
        if pairs.any(|(a, b)| a != b && survey.has_poles(self.store, a, &mut canon)) {
            rulings
                .assumptions
                .push(AssumptionKind::Defined.says(POLES));
        }
    }
}
