//! Which CTAs of a pair are run, so that what is compared is complete on both sides.
//!
//! Both grids are run whole unless a flag names a CTA. Then the CTAs that are named lead: the elements
//! under test are those that they write, and each kernel is run at the CTAs that write them,
//! whichever these are. Nothing else is compared.
//!
//! Sound: a kernel counts as covered only if no CTA that was left out writes an element under
//! test; what is not covered is told to `decide`, for which an element that only one kernel writes
//! is then open.

use super::select::{self, Elements};
use super::sequence::{self, Ended};
use super::{Covered, Subject, all, cover};
use crate::decide::Coverage;
use crate::kernel::{Kernel, Op, Space};
use crate::sim::Outcome;
use crate::spec::launch::Selection;

/// Both kernels, run where they are compared.
#[derive(Debug)]
pub struct Scope {
    /// The reference and the optimized kernel.
    pub kernels: [Ended; 2],
    /// Whether CTAs that were not run may write elements under test.
    pub coverage: [Coverage; 2],
}

/// Runs a pair of sequences, the reference first. CTAs are chosen only where each side is one launch.
pub fn run(sides: [&[Subject]; 2]) -> Scope {
    let &[[reference], [optimized]] = &sides else {
        let [a, b] = sides;
        let (a, b) = rayon::join(|| sequence::run(a), || sequence::run(b));
        let kernels = [a, b];
        let coverage = kernels.each_ref().map(|k| coverage(k.whole()));
        return Scope { kernels, coverage };
    };
    chosen(&[*reference, *optimized])
}

/// Runs a pair of launches.
fn chosen(subjects: &[Subject; 2]) -> Scope {
    let selection = subjects.each_ref().map(|s| s.resolved.selection);
    let count = subjects.each_ref().map(|s| s.resolved.launch.ctas());
    let given = selection.map(|s| s == Selection::Given);
    if given == [false, false] || count == [1, 1] {
        let (a, b) = rayon::join(|| all(&subjects[0]), || all(&subjects[1]));
        let coverage = [coverage(a.whole), coverage(b.whole)];
        let kernels = [a, b].map(Ended::from);
        return Scope { kernels, coverage };
    }
    let lead = |i: usize| {
        let s: &Subject = &subjects[i];
        given[i].then(|| cover(s, &[s.resolved.launch.rank()]))
    };
    let (a, b) = rayon::join(|| lead(0), || lead(1));
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
    let (a, b) = rayon::join(
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
            let reference = whole(expand(None)?);
            let kernel = sequence::run(launches);
            let coverage = [Coverage::WholeGrid, coverage(kernel.whole())];
            let kernels = [reference.into(), kernel];
            return Ok(Scope { kernels, coverage });
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
