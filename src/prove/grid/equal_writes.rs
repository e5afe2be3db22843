//! Plain writes of one element by several CTAs, which nothing orders: a warning where the values are equal, else a race, or
//! open where what the CTAs see of each other decides whether both happen ([`observed`](super::observed)).

use rayon::prelude::*;

use super::between::Record;
use super::discharge::merge;
use super::{COMPARED, NAMED, OBSERVED, Whole};
use crate::answer::kinds::REAL_EQUAL;
use crate::sim::{DefectKind, Finding, Obligation, Otherwise, Seen, UnknownKind, WarningKind};
use crate::spec::launch;
use crate::term::{ArrayId, TermId};
use crate::work;

/// Plain writes of the same element by two CTAs.
struct SameValue {
    array: ArrayId,
    off: u64,
    earlier: Record,
    later: Record,
    count: u64,
    /// Equal over the reals only.
    real: bool,
    /// The values, where they are not the same term.
    values: Option<(TermId, TermId)>,
}

impl Whole<'_> {
    /// Plain writes of one element by several CTAs: a warning where the values are equal.
    pub(super) fn compare_values(&mut self) {
        // Every same-bytes meeting is a warning at least; those with different terms are
        // obligations, which `decide` settles.
        for (f, threads) in self.same_values() {
            let place = self.place(f.array, f.off, f.later.elem);
            let ctas = [f.earlier.rank, f.later.rank].map(|r| launch::show(self.subject.cta(r)));
            let [first, second] = threads;
            let sites = vec![
                self.site(&f.earlier, first, &place),
                self.site(&f.later, second, &place),
            ];
            let who = format!(
                "{place} is written by CTA {} and by CTA {}",
                ctas[0], ctas[1]
            );
            let warning = Finding::new(
                match f.real {
                    true => WarningKind::RealEqualRace,
                    false => WarningKind::SameValueWrite,
                },
                match f.real {
                    true => format!("{who}, which nothing orders, with {REAL_EQUAL}"),
                    false => format!("{who}, which nothing orders, with the same value"),
                },
            )
            .times(f.count)
            .at(sites.clone());
            // Each CTA may come first, and then takes what another one takes in the run of its own.
            if !self.apart {
                let both = Finding::new(UnknownKind::Undecided, format!("{who}: {OBSERVED}"))
                    .times(f.count)
                    .at(sites);
                merge(&mut self.out.outcome.unknowns, both);
                continue;
            }
            let Some(values) = f.values else {
                merge(&mut self.out.outcome.warnings, warning);
                continue;
            };
            if self.are_strong(&f.earlier, &f.later) {
                self.out.outcome.unknowns.push(
                    Finding::new(
                        UnknownKind::NondeterministicValue,
                        format!("{who}: their order depends on the schedule"),
                    )
                    .times(f.count)
                    .at(sites),
                );
                continue;
            }
            let otherwise = Otherwise::Defect(
                Finding::new(
                    DefectKind::DataRace,
                    format!("{who}, which nothing orders, with different values"),
                )
                .times(f.count)
                .at(sites),
            );
            self.out.outcome.obligations.push(Obligation {
                equal: values,
                warning,
                otherwise,
            });
        }
    }

    fn same_values(&self) -> Vec<(SameValue, [Option<Seen>; 2])> {
        let equal = self.memory.equal.values().map(|e| SameValue {
            array: e.array,
            off: e.off,
            earlier: e.records.0,
            later: e.records.1,
            count: e.count,
            real: e.real,
            values: None,
        });
        let open = self.memory.pairs.iter().take(COMPARED).map(|p| SameValue {
            array: p.array,
            off: p.off,
            earlier: p.records.0,
            later: p.records.1,
            count: 1,
            real: p.real,
            values: Some(p.values),
        });
        let list: Vec<SameValue> = equal.chain(open).collect();
        work::side_by_side(list.into_par_iter().enumerate(), |(i, f)| {
            let threads = match i < NAMED {
                true => [f.earlier, f.later].map(|r| self.thread(&r, f.array, f.off)),
                false => [None, None],
            };
            (f, threads)
        })
    }
}
