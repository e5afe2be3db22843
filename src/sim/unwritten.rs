//! Values that were never written and reach an output.
//!
//! The problem: an output that holds poison whatever the input is a defect. One that selects between
//! poison and something else by input data is one only if some input selects the poison, and such an
//! input is looked for with the other findings that data decides about.
//!
//! Sound: the condition is that of one way through the selects at the top of the term to a part that is
//! poison for certain. Where none is found, or no input, the output stays `unknown`.
//!
//! Many outputs share one large cone of terms, so whether poison stands below a term is marked from the
//! leaves upwards, once for each term, and no question walks down again.

use crate::kernel::Pc;
use crate::term::{ArrayId, Term, TermId, TermStore};

use super::machine::Machine;
use super::{Conditional, DefectKind, Finding, Site, UnknownKind};

/// What is known of the poison below the terms of one store, which may grow.
#[derive(Debug, Default)]
pub(super) struct Poisons {
    marks: Vec<Mark>,
}

/// The poison below a term.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// A poison term below: the one that a walk meets that looks at last operands first.
    below: Option<TermId>,
    /// True if the term is poison whichever sides its selects take.
    surely: bool,
}

impl Poisons {
    /// The marks of a term, once all terms up to it have theirs.
    fn of(&mut self, store: &TermStore, t: TermId) -> Mark {
        if store.is_total(t) {
            return Mark::default();
        }
        for i in self.marks.len()..=t.0 as usize {
            let mark = self.mark(store, TermId(i as u32));
            self.marks.push(mark);
        }
        self.marks[t.0 as usize]
    }

    /// The marks of a term from those of its operands, which have smaller ids.
    fn mark(&self, store: &TermStore, t: TermId) -> Mark {
        let mut mark = Mark::default();
        if store.is_total(t) {
            return mark;
        }
        store.children(t, |c| {
            let below = self.marks[c.0 as usize];
            mark.below = below.below.or(mark.below);
            mark.surely |= below.surely;
        });
        match store.get(t) {
            // The tree of operations keeps choices that the real has decided.
            Term::Made(made) => self.marks[made.real().0 as usize],
            Term::Poison { .. } => Mark {
                below: Some(t),
                surely: true,
            },
            Term::Select(p, ..) | Term::BitsSelect(p, ..) => Mark {
                surely: self.marks[p.0 as usize].surely,
                ..mark
            },
            _ => mark,
        }
    }
}

/// Parts of a term that are looked at.
const MOST: usize = 256;

impl Machine<'_> {
    /// True if a value that was never written stands below a term, selects aside.
    pub(super) fn is_poison(&mut self, t: TermId) -> bool {
        self.poisons.of(&self.values.store, t).surely
    }

    /// True if a value that was never written stands anywhere below a term.
    pub(super) fn may_be_poison(&mut self, t: TermId) -> bool {
        self.poisons.of(&self.values.store, t).below.is_some()
    }

    /// The read that brought a poison value in.
    pub(super) fn poison_source(&mut self, t: TermId) -> Option<Site> {
        let store = &self.values.store;
        let below = self.poisons.of(store, t).below?;
        let Term::Poison { site, .. } = store.get(below) else {
            return None;
        };
        // Poison is always somebody's: without a place of its own, the end of the code.
        let end = self.kernel.insts.len().saturating_sub(1) as u32;
        let pc = Pc(site.min(end));
        let known = self.unset_sites.get(&pc).cloned();
        known.or_else(|| {
            Some(Site::new(
                pc,
                Vec::new(),
                "reads a register that was never written",
            ))
        })
    }

    /// Uninitialised values that reach an output are defects at the read that brought them in.
    pub(super) fn report_poison(&mut self, outputs: &[(TermId, ArrayId, u64)]) {
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
                c.values.push(t);
                continue;
            }
            let Some(cond) = self.chosen_poison(t) else {
                self.unknown(UnknownKind::Undefined, vec![source], || message);
                continue;
            };
            self.conditionals.push(Conditional {
                cond,
                values: vec![t],
                defect: Finding::new(
                    DefectKind::UninitializedRead,
                    format!("a value that was never written reaches {place}"),
                )
                .at(vec![source.clone()]),
                open: Finding::new(UnknownKind::Undefined, message).at(vec![source]),
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
                Term::Made(made) => {
                    work.push((made.real(), cond));
                    continue;
                }
                _ => {
                    // Poison in an operand is poison in the result.
                    let mut operands = Vec::new();
                    store.children(t, |c| operands.push(c));
                    operands.retain(|c| !self.values.store.is_total(*c));
                    work.extend(operands.into_iter().map(|c| (c, cond)));
                    match self.is_poison(t) {
                        true => return Some(cond),
                        false => continue,
                    }
                }
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
