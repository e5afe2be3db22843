//! What one run alone found is found by all runs together, field by field.

use super::*;
use crate::answer::AssumptionKind;
use crate::kernel::{Fmt, Pc};
use crate::sim::footprint::Change;
use crate::sim::gather::{Gather, Object};
use crate::sim::taken::Counts;
use crate::sim::{DefectKind, Finding, Otherwise, Site, UnknownKind, WarningKind};

/// A term that is another one in each store.
fn term(o: &mut Outcome) -> TermId {
    o.store.elem(ArrayId(7), Fmt::F32, 4)
}

fn is_term(o: &Outcome, t: TermId) -> bool {
    o.store.clone().elem(ArrayId(7), Fmt::F32, 4) == t
}

fn site() -> Site {
    Site::new(Pc(3), Vec::new(), "is here")
}

/// What becomes of a field of another run.
enum Fate {
    /// The run has something in it, and then the whole has it.
    Kept(fn(&mut Outcome), fn(&Outcome, &Memories) -> bool),
    /// It is of its run alone, and why.
    Dropped(&'static str),
}
use Fate::*;

/// The list of fields, without a rest: a field that has no row here does not compile.
macro_rules! fields {
    ($($field:ident: $fate:expr,)*) => {
        fn fates(all: &Outcome) -> Vec<(&'static str, Fate)> {
            let Outcome { $($field: _),* } = all;
            vec![$((stringify!($field), $fate)),*]
        }
    };
}

fields! {
    store: Dropped("its terms are imported, which the fields that speak of them show"),
    writes: Kept(
        |o| { let t = term(o); o.writes.entry(ArrayId(1)).or_default().insert(8, t); },
        |o, m| m.writes.get(&ArrayId(1)).is_none_or(|w| is_term(o, w[&8])),
    ),
    defects: Kept(
        |o| o.defects.push(Finding::new(DefectKind::DataRace, "d")),
        |o, _| o.defects.iter().any(|d| d.message == "d"),
    ),
    warnings: Kept(
        |o| o.warnings.push(Finding::new(WarningKind::Note, "w")),
        |o, _| o.warnings.iter().any(|w| w.message == "w"),
    ),
    unknowns: Kept(
        |o| o.unknowns.push(Finding::new(UnknownKind::Limit, "u")),
        |o, _| o.unknowns.iter().any(|u| u.message == "u"),
    ),
    by_schedule: Kept(
        |o| o.by_schedule.push(Finding::new(UnknownKind::OrderDependent, "s")),
        |o, _| o.by_schedule.iter().any(|u| u.message == "s"),
    ),
    obligations: Kept(
        |o| {
            let t = term(o);
            o.obligations.push(Obligation {
                equal: (t, t),
                warning: Finding::new(WarningKind::Note, "o"),
                otherwise: Otherwise::Open(Finding::new(UnknownKind::OrderDependent, "o")),
            });
        },
        |o, _| o.obligations.iter().any(|k| is_term(o, k.equal.0) && is_term(o, k.equal.1)),
    ),
    conditionals: Kept(
        |o| {
            let t = term(o);
            o.conditionals.push(Conditional {
                cond: t,
                values: vec![t],
                defect: Finding::new(DefectKind::DataRace, "c"),
                open: Finding::new(UnknownKind::Undecided, "c"),
            });
        },
        |o, _| o.conditionals.iter().any(|c| is_term(o, c.cond) && is_term(o, c.values[0])),
    ),
    gathers: Kept(
        |o| {
            let t = term(o);
            o.gathers.push(Gather {
                object: Object::Array(ArrayId(2)),
                raw: t,
                cond: Some(t),
                span: (0, 4),
                unaligned: None,
                fits: Vec::new(),
                site: site(),
            });
        },
        |o, _| o.gathers.iter().any(|g| is_term(o, g.raw)),
    ),
    assumptions: Kept(
        |o| o.assumptions.push(AssumptionKind::Written.says("a")),
        |o, _| o.assumptions.iter().any(|a| a.message == "a"),
    ),
    stats: Kept(|o| o.stats.accesses += 5, |o, _| o.stats.accesses >= 5),
    executed: Kept(|o| o.executed = vec![0, 0, 7], |o, _| o.executed.get(2) >= Some(&7)),
    taken: Kept(
        |o| o.taken.counts = vec![Counts { yes: 2, no: 0 }],
        |o, _| o.taken.counts.first().is_some_and(|c| c.yes >= 2),
    ),
    footprint: Kept(
        |o| o.footprint.change(Change { array: ArrayId(5), start: 0, end: 4 }),
        |o, _| o.footprint.changes().next().is_some(),
    ),
    guards: Kept(
        |o| {
            let cond = term(o);
            let guard = Guard { array: ArrayId(3), off: 0, bytes: 4, writes: true, cond };
            o.guards.get_or_insert_default().push(guard);
        },
        |o, _| o.guards.iter().flatten().any(|g| is_term(o, g.cond)),
    ),
    opaque: Kept(
        |o| { let t = term(o); o.opaque.push(Opaque { words: vec![t], says: vec![1] }); },
        |o, _| o.opaque.iter().any(|k| is_term(o, k.words[0])),
    ),
    waits_late: Kept(|o| o.waits_late = true, |o, _| o.waits_late),
    reads_foreign: Kept(|o| o.reads_foreign = true, |o, _| o.reads_foreign),
    fresh: Kept(|o| o.fresh = 9, |o, _| o.fresh >= 9),
    first_fresh: Dropped("serials are those of the whole"),
    narrow: Kept(
        |o| { let t = term(o); o.narrow.small = true; o.narrow.terms.insert(t); },
        |o, _| o.narrow.small && o.narrow.terms.iter().any(|t| is_term(o, *t)),
    ),
    beyond: Kept(|o| o.beyond = true, |o, _| o.beyond),
    tracked: Kept(
        |o| { o.tracked.insert(ArrayId(4)); },
        |o, _| o.tracked.contains(&ArrayId(4)),
    ),
    without_values: Kept(|o| o.without_values = true, |o, _| o.without_values),
    memory: Dropped("runs on numbers are one execution each"),
    steps: Dropped("the choices of a run are those of its own order"),
    trace: Dropped("the order of execution is asked for of one run"),
}

/// A run in which nothing was found; its terms have other numbers than those of another one.
fn run(terms: u64) -> Outcome {
    let mut out = Outcome {
        guards: Some(Vec::new()),
        ..Outcome::default()
    };
    for k in 0..terms {
        out.store.elem(ArrayId(0), Fmt::F32, 4 * k);
    }
    out
}

#[test]
fn what_a_run_found_is_found_by_all() {
    for symbols in [Symbols::Shared, Symbols::Apart] {
        for (name, fate) in fates(&Outcome::default()) {
            let (fill, shows) = match fate {
                Kept(fill, shows) => (fill, shows),
                Dropped(because) => {
                    assert!(!because.is_empty(), "{name}");
                    continue;
                }
            };
            let empty = (run(1), run(3));
            assert!(
                !shows(&empty.0, &Memories::default()) || name == "writes",
                "{name}: nothing shows it"
            );
            // In the first run, in a later one, and in both.
            for (first, later) in [(true, false), (false, true), (true, true)] {
                let (mut whole, mut other) = (run(1), run(3));
                if first {
                    fill(&mut whole);
                }
                if later {
                    fill(&mut other);
                }
                let left = whole.join(other, symbols);
                assert!(
                    shows(&whole, &left),
                    "{name} of a run is lost ({symbols:?})"
                );
                assert_eq!(name == "writes" && later, !left.writes.is_empty(), "{name}");
            }
        }
    }
}
