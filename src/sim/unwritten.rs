//! Values that were never written and reach an output.
//!
//! The problem: an output that holds poison whatever the input is a defect. One that selects between
//! poison and something else by input data is one only if some input selects the poison, and such an
//! input is looked for with the other findings that data decides about.
//!
//! Sound: the condition is that of one way through the selects at the top of the term to a part that is
//! poison for certain. Where none is found, or no input, the output stays `unknown`.

use crate::term::{ArrayId, Term, TermId};

use super::machine::Machine;
use super::{Conditional, DefectKind, Finding, UnknownKind};

/// Parts of a term that are looked at.
const MOST: usize = 256;

impl Machine<'_> {
    /// Uninitialised values that reach an output are defects at the read that brought them in.
    pub fn report_poison(&mut self, outputs: &[(TermId, ArrayId, u64)]) {
        let earlier = self.conditionals.len();
        for &(t, a, off) in outputs {
            let surely = self.is_poison(t);
            let Some(source) = self.poison_source(t) else {
                continue;
            };
            let place = self.place(self.region_of(a), off, 4);
            if surely {
                self.defect(DefectKind::UninitializedRead, vec![source], || {
                    format!("a value that was never written reaches {place}")
                });
                continue;
            }
            let message = format!("a value that was never written may reach {place}");
            let known = self.conditionals[earlier..]
                .iter_mut()
                .find(|c| c.open.sites.iter().any(|s| s.pc == source.pc));
            if let Some(c) = known {
                c.defect.count += 1;
                c.open.count += 1;
                continue;
            }
            let Some(cond) = self.chosen_poison(t) else {
                self.unknown(UnknownKind::Undefined, vec![source], || message);
                continue;
            };
            self.conditionals.push(Conditional {
                cond,
                defect: Finding {
                    kind: DefectKind::UninitializedRead,
                    message: format!("a value that was never written reaches {place}"),
                    count: 1,
                    sites: vec![source.clone()],
                },
                open: Finding {
                    kind: UnknownKind::Undefined,
                    message,
                    count: 1,
                    sites: vec![source],
                },
            });
        }
    }

    /// A condition under which a term is poison, if its selects tell one.
    fn chosen_poison(&mut self, t: TermId) -> Option<TermId> {
        let yes = self.values.store.bool(true);
        let mut work = vec![(t, yes)];
        for _ in 0..MOST {
            let (t, cond) = work.pop()?;
            let store = &mut self.values.store;
            if store.is_total(t) || store.as_bool(cond) == Some(false) {
                continue;
            }
            let (p, yes, no) = match store.get(t) {
                Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => (p, a, b),
                Term::Concat(parts) => {
                    let parts: Vec<TermId> = parts.iter().map(|i| TermId(*i)).collect();
                    work.extend(parts.into_iter().map(|part| (part, cond)));
                    continue;
                }
                Term::OfReal { real, .. } => {
                    work.push((real, cond));
                    continue;
                }
                Term::OfBits { bits, .. } => {
                    work.push((bits, cond));
                    continue;
                }
                _ => match self.is_poison(t) {
                    true => return Some(cond),
                    false => continue,
                },
            };
            let store = &mut self.values.store;
            if !store.is_total(p) {
                continue;
            }
            let not = store.not(p);
            let (a, b) = (store.and(cond, p), store.and(cond, not));
            work.extend([(no, b), (yes, a)]);
        }
        None
    }
}
