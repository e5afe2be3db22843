//! A few inputs for all elements at once, before anything is normalised.
//!
//! The problem: most wrong kernels differ from their reference on almost every input, and to build a
//! canonical form of what is wrong can take a minute. The way: all goals that differ are one cone of
//! terms, which is evaluated in doubles on a few inputs; the element that is furthest apart is then
//! evaluated with known error like every other candidate.
//!
//! Sound: an answer was checked by [`Hunt::check`]. Not claimed: that no answer means anything.

use super::cells;
use super::patterns::{self, Pattern, Random};
use super::witness::{Checked, Found, Hunt};
use crate::decide::goal::Pairs;
use crate::decide::limits::SCREEN;
use crate::decide::options::Options;
use crate::spec::{Arrays, ElemTy};
use crate::term::{TermId, TermStore};
use crate::work;

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// An element, by its place, and an input that tells its sides apart.
    pub found: Option<(usize, Found)>,
    /// Inputs that were tried.
    pub tried: u64,
}

/// The inputs that are tried, those first that tell most apart: numbers without symmetry, then
/// equal ones, large and small ones, and those at which comparisons change their minds.
fn inputs(integers: bool, near: usize) -> Vec<Pattern> {
    let mut out = vec![
        Pattern::Integers(3),
        Pattern::Fractions(2),
        Pattern::Positive(3),
        Pattern::All(0.0),
        Pattern::All(-2.0),
    ];
    if integers {
        out.extend([Pattern::Bits, Pattern::Ends, Pattern::Ends]);
    }
    out.extend((0..near.min(6)).map(Pattern::Near));
    out.extend((0..near.min(6)).map(Pattern::Beyond));
    out.extend([
        Pattern::Scaled(4),
        Pattern::Scaled(-6),
        Pattern::Wild,
        Pattern::Scaled(-12),
        Pattern::Cycle(1),
        Pattern::Integers(8),
        Pattern::Fractions(6),
        Pattern::Positive(16),
    ]);
    out
}

/// Looks at a few inputs.
pub(crate) fn screen(
    store: &TermStore,
    goals: &[&Pairs],
    arrays: &Arrays,
    options: &Options,
) -> Look {
    let mut out = Look::default();
    // Places of elements, with the goals that differ.
    let differing = goals.iter().enumerate();
    let differing: Vec<(usize, (TermId, TermId))> = differing
        .flat_map(|(i, g)| {
            g.iter()
                .filter(|(a, b)| a != b && !store.is_loose(*a) && !store.is_loose(*b))
                .map(move |&p| (i, p))
        })
        .collect();
    if differing.is_empty() {
        return out;
    }
    let pairs: Pairs = differing.iter().map(|d| d.1).collect();
    let mut all = Hunt::new(store, &pairs, arrays);
    let near = patterns::thresholds(store, &all.cone);
    let integers = all
        .cells()
        .iter()
        .any(|c| matches!(c.ty, ElemTy::Int { .. }));
    let mut random = Random(options.seed);
    let (mut checks, mut check_steps) = (0, 0);
    for (n, pattern) in inputs(integers, near.len()).into_iter().enumerate() {
        let spent = all.cost() * n as u64;
        if n >= SCREEN.least && spent >= SCREEN.steps || options.limits.reached().is_some() {
            break;
        }
        let values = patterns::candidate(all.cells(), pattern, &near, &mut random);
        out.tried += 1;
        work::spend(all.cost());
        let Some(k) = furthest(&all.differences(&values)) else {
            continue;
        };
        let place = differing[k].0;
        let hunt = Hunt::new(store, goals[place], arrays);
        let cost = hunt.cost();
        if checks == SCREEN.checks || checks > 0 && check_steps + cost > SCREEN.check_steps {
            break;
        }
        checks += 1;
        check_steps += cost;
        work::spend(cost);
        let own = cells::some(hunt.cells(), all.cells(), &values);
        if let Checked::Apart(apart) = hunt.check(&own) {
            out.found = Some((place, hunt.found_at(&own, *apart)));
            return out;
        }
    }
    out
}

/// The first place where the sides are nearly as far apart as anywhere; a value that overflows in
/// doubles says little, so that finite differences come first.
fn furthest(differences: &[f64]) -> Option<usize> {
    let seen = |d: &f64| *d >= SCREEN.seen;
    let finite = differences.iter().copied().filter(|d| d.is_finite());
    let most = finite.fold(0.0, f64::max);
    match seen(&most) {
        true => differences
            .iter()
            .position(|d| d.is_finite() && *d >= most / 2.0),
        false => differences.iter().position(seen),
    }
}
