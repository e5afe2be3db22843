//! A counterexample that can be read: zeros and small integers where the search had other numbers.
//!
//! Groups of inputs are set to zero, then to one, while the values stay apart, in groups that get
//! smaller (delta debugging: "Simplifying and Isolating Failure-Inducing Input", TSE 2002); what is
//! left is rounded one by one. The steps are taken in doubles, with a margin, and the result is
//! evaluated with known error once; where that does not confirm it, every step is.
//!
//! Sound: what is returned was checked as the counterexample was that it is made of. Not claimed:
//! that no smaller one exists.

use super::cells;
use super::witness::{Checked, DifferingInput, Hunt};
use crate::decide::goal::Pairs;
use crate::decide::limits::{MINIMISE, SEARCHES};
use crate::spec::{Arrays, Limits};
use crate::term::TermStore;
use crate::work;

struct Minimiser<'h, 's> {
    hunt: &'h mut Hunt<'s>,
    left: u64,
    limits: Limits,
    /// Every step is checked with known error.
    rigorous: bool,
}

/// The same counterexample with inputs that are simpler, as far as they can be made so cheaply.
pub(crate) fn minimise(
    store: &TermStore,
    pairs: &Pairs,
    arrays: &Arrays,
    found: DifferingInput,
    limits: Limits,
) -> DifferingInput {
    let mut hunt = Hunt::new(store, pairs, arrays);
    // The inputs are some of the cells, in their order.
    let mut given = found.inputs.iter().peekable();
    let values: Vec<u64> = hunt
        .cells()
        .iter()
        .map(|cell| {
            given
                .next_if(|(c, _)| c == cell)
                .map_or(0, |&(_, bits)| bits)
        })
        .collect();
    for rigorous in [false, true] {
        let mut minimiser = Minimiser {
            hunt: &mut hunt,
            left: MINIMISE.steps,
            limits,
            rigorous,
        };
        let simple = minimiser.simplify(values.clone());
        if let Some(found) = hunt.found(&simple) {
            return found;
        }
    }
    found
}

impl Minimiser<'_, '_> {
    fn simplify(&mut self, mut values: Vec<u64>) -> Vec<u64> {
        self.groups(&mut values, 0.0);
        self.groups(&mut values, 1.0);
        self.groups(&mut values, 0.0);
        let kept: Vec<usize> = (0..values.len()).filter(|&i| values[i] != 0).collect();
        for &i in kept.iter().take(MINIMISE.rounded) {
            let ty = self.hunt.cells()[i].ty;
            for v in [1.0, -1.0, 2.0, -2.0, 3.0, 8.0] {
                let bits = cells::encode(ty, v);
                if bits == values[i] {
                    break;
                }
                let old = std::mem::replace(&mut values[i], bits);
                if self.still(&values) {
                    break;
                }
                values[i] = old;
            }
        }
        values
    }

    /// Sets as many inputs that are not zero to a number as possible.
    fn groups(&mut self, values: &mut [u64], number: f64) {
        let bits: Vec<u64> = self
            .hunt
            .cells()
            .iter()
            .map(|c| cells::encode(c.ty, number))
            .collect();
        let mut size = values.len().max(1);
        loop {
            let open: Vec<usize> = (0..values.len())
                .filter(|&i| values[i] != 0 && values[i] != bits[i])
                .collect();
            let mut changed = false;
            for group in open.chunks(size) {
                let old: Vec<u64> = group.iter().map(|&i| values[i]).collect();
                for &i in group {
                    values[i] = bits[i];
                }
                if self.still(values) {
                    changed = true;
                    continue;
                }
                for (&i, &v) in group.iter().zip(&old) {
                    values[i] = v;
                }
            }
            if size == 1 && !changed || self.left == 0 {
                return;
            }
            size = (size / 2).max(1);
        }
    }

    /// Whether the values of the terms are still apart.
    fn still(&mut self, values: &[u64]) -> bool {
        let cost = self.hunt.cost() * if self.rigorous { MINIMISE.rigorous } else { 1 };
        if self.left < cost || self.limits.reached().is_some() {
            self.left = 0;
            return false;
        }
        self.left -= cost;
        work::spend(cost);
        match self.rigorous {
            false => self.hunt.difference(values) >= MINIMISE.margin,
            true => {
                self.hunt.difference(values) >= SEARCHES.seen
                    && matches!(self.hunt.check(values), Checked::Apart(_))
            }
        }
    }
}
