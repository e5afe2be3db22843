//! Registers that were never written, as instructions read them.

use crate::kernel::Pc;
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Core, Machine};
use crate::sim::region::region_of;
use crate::sim::value::Values;
use crate::sim::{Conditional, DefectKind, Finding, Site, UnknownKind};
use crate::term::{ArrayId, Term, TermId};

impl Values {
    /// True if a value that was never written stands below a term, selects aside.
    pub(in crate::sim) fn is_poison(&mut self, t: TermId) -> bool {
        self.poisons.of(&self.store, t).surely
    }

    /// True if a value that was never written stands anywhere below a term.
    pub(in crate::sim) fn may_be_poison(&mut self, t: TermId) -> bool {
        self.poisons.of(&self.store, t).below.is_some()
    }

    /// A condition under which a term is poison, if its selects tell one.
    fn chosen_poison(&mut self, t: TermId) -> Option<TermId> {
        let yes = self.store.bool(true);
        let mut work = vec![(t, yes)];
        for _ in 0..LIMITS.unwritten_parts {
            let (t, cond) = work.pop()?;
            let store = &mut self.store;
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
                    operands.retain(|c| !self.store.is_total(*c));
                    work.extend(operands.into_iter().map(|c| (c, cond)));
                    match self.is_poison(t) {
                        true => return Some(cond),
                        false => continue,
                    }
                }
            };
            let store = &mut self.store;
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

impl Core<'_> {
    /// The read that brought a poison value in.
    pub(in crate::sim) fn poison_source(&mut self, t: TermId) -> Option<Site> {
        let store = &self.values.store;
        let below = self.values.poisons.of(store, t).below?;
        let Term::Poison { site, .. } = store.get(below) else {
            return None;
        };
        // Poison is always somebody's: without a place of its own, the end of the code.
        let end = self.fixed.kernel.insts.len().saturating_sub(1) as u32;
        let pc = Pc(site.min(end));
        let known = self.memory.unset_sites.get(&pc).cloned();
        known.or_else(|| {
            Some(Site::new(
                pc,
                Vec::new(),
                "reads a register that was never written",
            ))
        })
    }
}

impl Machine<'_> {
    /// Uninitialised values that reach an output are defects at the read that brought them in.
    pub(in crate::sim) fn report_poison(&mut self, outputs: &[(TermId, ArrayId, u64)]) {
        let earlier = self.conditions.conditionals.len();
        for &(t, a, off) in outputs {
            let surely = self.core.values.is_poison(t);
            let Some(source) = self.core.poison_source(t) else {
                continue;
            };
            let place = self.core.place(region_of(a), off, 4);
            if surely {
                self.core
                    .defect(DefectKind::UninitializedRead, vec![source], || {
                        format!("a value that was never written reaches {place}")
                    });
                continue;
            }
            let message = format!("a value that was never written may reach {place}");
            let known = self.conditions.conditionals[earlier..]
                .iter_mut()
                .find(|c| c.open.sites.iter().any(|s| s.pc == source.pc));
            if let Some(c) = known {
                c.defect.count += 1;
                c.open.count += 1;
                c.values.push(t);
                continue;
            }
            let Some(cond) = self.core.values.chosen_poison(t) else {
                self.core
                    .found
                    .unknown(UnknownKind::Undefined, vec![source], || message);
                continue;
            };
            self.conditions.conditionals.push(Conditional {
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
}
