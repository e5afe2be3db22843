//! Which CTAs of a pair are run, so that what is compared is complete on both sides.
//!
//! Both grids are run whole unless a flag names a CTA. Then the CTAs that are named lead: the elements
//! under test are those that they write, and each kernel is run at the CTAs that write them,
//! whichever these are. Nothing else is compared.
//!
//! Sound: a kernel counts as covered only if no CTA that was left out writes an element under
//! test; what is not covered is told to `decide`, for which an element that only one kernel writes
//! is then open.

use std::cell::RefCell;
use std::sync::Arc;

use super::prepared::{Runs, is_numbered};
use super::select::{self, Elements};
use super::sequence::{self, Ended};
use super::{Covered, Subject, all, cover};
use crate::decide::Coverage;
use crate::explore::{Next, Reason, Refinement, Stage, refined};
use crate::kernel::{Kernel, Op, Space};
use crate::sim::{Finding, Outcome, UnknownKind};
use crate::spec::Resolved;
use crate::spec::launch::Selection;
use crate::term::TermStore;
use crate::work;

/// Both kernels, run where they are compared.
#[derive(Debug)]
pub struct Scope {
    /// The reference and the optimized kernel.
    pub kernels: [Ended; 2],
    /// Whether CTAs that were not run may write elements under test.
    pub coverage: [Coverage; 2],
}

impl Scope {
    fn of(reference: Ended, optimized: Ended) -> Scope {
        let kernels = [reference, optimized];
        Scope {
            coverage: kernels.each_ref().map(|k| coverage(k.whole())),
            kernels,
        }
    }
}

/// Runs a pair of sequences, the reference first, which may have been run before. CTAs are chosen only where each side
/// is one launch.
pub fn run(sides: [&[Subject]; 2], prepared: Option<&Runs>) -> Scope {
    let pair = |premises: &Premises, kept: Option<Ended>| {
        let resolved = given(sides[1], premises);
        let optimized = with(sides[1], &resolved);
        if let ([reference], [optimized]) = (sides[0], &optimized[..])
            && are_chosen([reference, optimized])
        {
            return chosen(&[*reference, *optimized]);
        }
        let reference =
            || prepared.map_or_else(|| sequence::run(sides[0]), |runs| runs.run(sides[0]));
        let optimized = || match prepared {
            Some(runs) if premises.is_none() && optimized.iter().all(is_numbered) => {
                runs.run(&optimized)
            }
            Some(_) | None => sequence::run(&optimized),
        };
        match kept {
            Some(reference) => Scope::of(reference, optimized()),
            None => {
                let (reference, optimized) = work::both(reference, optimized);
                Scope::of(reference, optimized)
            }
        }
    };
    refined(&Pair::new(pair), None, &mut [&mut OnPremises])
}

/// What holds of every input on which the reference is defined, if that is known.
type Premises = Option<Arc<TermStore>>;

/// A pair, as something that is run with more or less known of the inputs.
struct Pair<R> {
    run: R,
    /// The reference, where it has ended and need not be run again.
    kept: RefCell<Option<Ended>>,
}

impl<R: Fn(&Premises, Option<Ended>) -> Scope> Pair<R> {
    fn new(run: R) -> Self {
        Pair {
            run,
            kept: RefCell::default(),
        }
    }
}

impl<R: Fn(&Premises, Option<Ended>) -> Scope> Stage for Pair<R> {
    type Knowledge = Premises;
    type Ran = Scope;

    fn run(&self, premises: &Premises) -> Scope {
        (self.run)(premises, self.kept.take())
    }

    fn ended(&self, why: String) -> Scope {
        let mut optimized = Ended::default();
        let limit = Finding::new(UnknownKind::Limit, why);
        optimized.outcome.unknowns.push(limit);
        Scope::of(self.kept.take().unwrap_or_default(), optimized)
    }
}

/// A defect that some inputs show counts only where one of them is an input on which the reference is defined, and what
/// that takes is known when the reference has ended. Both sides run at once, since few have such a defect.
struct OnPremises;

impl<R: Fn(&Premises, Option<Ended>) -> Scope> Refinement<Pair<R>> for OnPremises {
    fn reason(&self) -> Reason {
        Reason::Premises
    }

    fn look(&mut self, pair: &Pair<R>, premises: &mut Premises, ran: Scope) -> Next<Scope> {
        let of_data = |u: &Finding<UnknownKind>| {
            matches!(u.kind, UnknownKind::Undefined | UnknownKind::Undecided)
        };
        let [reference, optimized] = ran.kernels.each_ref().map(|k| &k.outcome);
        let is_found = !optimized.defects.is_empty() || optimized.unknowns.iter().any(of_data);
        if premises.is_some() || !is_found || reference.store.premises.is_empty() {
            return Next::Pass(ran);
        }
        let mut store = TermStore::new();
        store.import_below(&reference.store, &[]);
        *premises = Some(Arc::new(store));
        let [reference, _] = ran.kernels;
        *pair.kept.borrow_mut() = Some(reference);
        Next::Again
    }

    fn reset(&mut self, premises: &mut Premises) {
        *premises = None;
    }
}

/// What the launches of a side are bound to, with the inputs to be those of which premises hold.
fn given(side: &[Subject], premises: &Premises) -> Vec<Resolved> {
    let with = |s: &Subject| {
        let mut resolved = s.resolved.clone();
        resolved.bindings.premises = premises.clone();
        resolved
    };
    side.iter().map(with).collect()
}

/// The launches of a side with other bindings.
fn with<'a>(side: &[Subject<'a>], resolved: &'a [Resolved]) -> Vec<Subject<'a>> {
    let each = side.iter().zip(resolved);
    each.map(|(s, resolved)| Subject { resolved, ..*s })
        .collect()
}

/// Whether some CTAs of a pair of launches are asked for, and not all.
fn are_chosen(subjects: [&Subject; 2]) -> bool {
    let given = subjects.map(|s| s.resolved.selection == Selection::Given);
    let count = subjects.map(|s| s.resolved.launch.ctas());
    given != [false, false] && count != [1, 1]
}

/// Runs a pair of launches at the CTAs that are asked for.
fn chosen(subjects: &[Subject; 2]) -> Scope {
    let given = subjects
        .each_ref()
        .map(|s| s.resolved.selection == Selection::Given);
    let lead = |i: usize| {
        let s: &Subject = &subjects[i];
        given[i].then(|| cover(s, &[s.resolved.launch.rank()]))
    };
    let (a, b) = work::both(|| lead(0), || lead(1));
    let led = [a, b];
    let clean = |k: &Covered| k.outcome.defects.is_empty() && k.outcome.unknowns.is_empty();
    if !led.iter().flatten().all(clean) {
        // There is nothing to compare, but each kernel is looked at.
        let mut index = 0;
        let kernels = led.map(|k| {
            let s = &subjects[index];
            index += 1;
            k.unwrap_or_else(|| cover(s, &[s.resolved.launch.rank()]))
        });
        return Scope {
            kernels: kernels.map(Ended::from),
            coverage: [Coverage::SelectedCtas; 2],
        };
    }
    let written = |k: &Covered| select::elements(k, subjects[0].arrays);
    let wanted = led.iter().flatten().map(written);
    let wanted = wanted.reduce(select::both).unwrap_or_default();
    let [a, b] = led;
    let (a, b) = work::both(
        || complete(&subjects[0], a, &wanted),
        || complete(&subjects[1], b, &wanted),
    );
    let ((mut a, whole_a), (mut b, whole_b)) = (a, b);
    for (k, s) in [(&mut a, &subjects[0]), (&mut b, &subjects[1])] {
        select::restrict(k, &wanted, s.arrays);
    }
    Scope {
        kernels: [a, b].map(Ended::from),
        coverage: [coverage(whole_a), coverage(whole_b)],
    }
}

/// Runs a sequence against a reference that is no kernel, of which `expand` gives the elements that are asked for, or
/// all. What the kernel writes leads where a flag names a CTA.
pub fn against<E>(
    launches: &[Subject],
    expand: impl FnOnce(Option<&Elements>) -> Result<Outcome, E>,
) -> Result<Scope, E> {
    let whole = |outcome: Outcome| Covered {
        terms: outcome.store.len() as u64,
        outcome,
        ctas: Vec::new(),
        whole: true,
        wrote: Elements::new(),
    };
    let chosen =
        |s: &Subject| s.resolved.selection == Selection::Given && s.resolved.launch.ctas() > 1;
    let subject = match launches {
        [one] if chosen(one) => one,
        _ => {
            // What is wrong with a formula is known before a kernel is run.
            let reference = Ended::from(whole(expand(None)?));
            let pair = Pair::new(|premises: &Premises, kept: Option<Ended>| {
                let resolved = given(launches, premises);
                let kernel = sequence::run(&with(launches, &resolved));
                Scope::of(kept.unwrap_or_default(), kernel)
            });
            *pair.kept.borrow_mut() = Some(reference);
            return Ok(refined(&pair, None, &mut [&mut OnPremises]));
        }
    };
    let led = cover(subject, &[subject.resolved.launch.rank()]);
    let wanted = select::elements(&led, subject.arrays);
    let mut reference = whole(expand(Some(&wanted))?);
    let (mut kernel, complete) = complete(subject, Some(led), &wanted);
    for k in [&mut reference, &mut kernel] {
        select::restrict(k, &wanted, subject.arrays);
    }
    Ok(Scope {
        kernels: [reference, kernel].map(Ended::from),
        coverage: [Coverage::WholeGrid, coverage(complete)],
    })
}

fn coverage(whole: bool) -> Coverage {
    match whole {
        true => Coverage::WholeGrid,
        false => Coverage::SelectedCtas,
    }
}

/// The CTAs of a kernel that write the elements under test, and whether these are all that do.
fn complete(s: &Subject, led: Option<Covered>, wanted: &Elements) -> (Covered, bool) {
    let rank = s.resolved.launch.rank();
    let Some(led) = led else {
        if s.resolved.launch.ctas() == 1 {
            return (all(s), true);
        }
        return select::covering(s, wanted, None);
    };
    let missing = select::without(wanted, &select::elements(&led, s.arrays));
    // Other CTAs that write the same would race with this one, unless all of them use atomics.
    if led.whole || missing.is_empty() && !has_atomics(s.kernel) {
        return (led, true);
    }
    select::covering(s, wanted, Some(rank))
}

/// True if a kernel may update arrays by atomics, to which several CTAs may add.
fn has_atomics(kernel: &Kernel) -> bool {
    let global = |op: &Op| match op {
        Op::Atom { access, .. } => matches!(access.space, Space::Global | Space::Generic),
        _ => false,
    };
    kernel.insts.iter().any(|i| global(&i.op))
}
