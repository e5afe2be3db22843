//! One command at several sizes: its instances side by side, and one answer for all of them.
//!
//! The verdict is the worst, by the precedence of exit statuses; an instance that cannot be run makes the
//! whole an input error. The rest of the answer is that of the first instance with this verdict, one with
//! something denied before others; the answers of all instances stand beside it. Each
//! instance has threads of its own, so that its time limit measures its work and not that of a neighbour
//! whose work its threads would help with.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answer::coverage::Proposal;
use crate::answer::{
    Answer, AtSize, ErrorKind, Failure, Finding, GateResult, Instance, Part, Report, WarningKind,
    coverage,
};
use crate::spec::Sizes;

/// Stack of the threads that work, as of those of the executable.
const STACK: usize = 256 << 20;

/// The answer of a command that is run for each of some sizes; one without sizes is the command itself.
/// `judge` answers an instance by its number.
pub fn answer(
    command: &str,
    sizes: &[Sizes],
    judge: &(dyn Fn(usize) -> Result<Answer, Failure> + Sync),
) -> Result<Answer, Failure> {
    if let [one] = sizes
        && one.is_empty()
    {
        return judge(0);
    }
    merge(command, each(sizes, judge)?)
}

/// The answers of all instances.
pub fn each(
    sizes: &[Sizes],
    judge: &(dyn Fn(usize) -> Result<Answer, Failure> + Sync),
) -> Result<Vec<AtSize>, Failure> {
    let results = side_by_side(sizes.len(), judge)?;
    let parts = sizes.iter().zip(results).map(|(sizes, result)| AtSize {
        sizes: sizes.clone(),
        result,
    });
    Ok(parts.collect())
}

/// The answer of a command with those at the sizes that it proposes. One of them that cannot be run, such as contents that
/// have the length that they have, is told beside the others.
pub fn cover(
    command: &str,
    first: Answer,
    proposals: &[Proposal],
    more: Vec<AtSize>,
) -> Result<Answer, Failure> {
    let now = proposals.iter().map(|p| (p.name.clone(), p.now));
    let mut parts = vec![AtSize {
        sizes: Sizes(now.collect()),
        result: Ok(first),
    }];
    let mut notes = Vec::new();
    for part in more {
        match &part.result {
            Ok(_) => parts.push(part),
            Err(failure) => notes.push(format!("{} was not run: {failure}", part.sizes)),
        }
    }
    let mut out = merge(command, parts)?;
    note(&mut out, notes);
    Ok(out)
}

/// Adds notes to an answer, and to the part that stands for it.
pub fn note(answer: &mut Answer, notes: Vec<String>) {
    let notes = notes.into_iter();
    let notes = notes.map(|n| Finding::new(Part::Kernel, WarningKind::Note, n));
    let notes: Vec<Finding<WarningKind>> = notes.collect();
    let sizes = Sizes(answer.report.sizes.clone());
    let part = answer.parts.iter_mut().find(|p| p.sizes == sizes);
    if let Some(Ok(part)) = part.map(|p| &mut p.result) {
        part.report.warnings.extend(notes.iter().cloned());
    }
    answer.report.warnings.extend(notes);
}

/// The results of all instances, at most as many at a time as there are threads.
fn side_by_side(
    count: usize,
    judge: &(dyn Fn(usize) -> Result<Answer, Failure> + Sync),
) -> Result<Vec<Result<Answer, Failure>>, Failure> {
    let jobs = rayon::current_num_threads();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<Answer, Failure>>>> = Mutex::new(vec![None; count]);
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return;
            }
            // The last ones share the threads that are left over.
            let threads = (jobs / (count - i).min(jobs)).max(1);
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .stack_size(STACK)
                .build();
            let result = match pool {
                Ok(pool) => pool.install(|| judge(i)),
                Err(e) => Err(Failure::new(
                    ErrorKind::Internal,
                    format!("cannot start threads: {e}"),
                )),
            };
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done[i] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(count) {
            scope.spawn(work);
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let missing = || Err(Failure::new(ErrorKind::Internal, "an instance was lost"));
    Ok(done
        .into_iter()
        .map(|r| r.unwrap_or_else(missing))
        .collect())
}

/// One answer for all instances of a command.
pub fn merge(command: &str, mut parts: Vec<AtSize>) -> Result<Answer, Failure> {
    unite(
        parts
            .iter_mut()
            .filter_map(|p| p.result.as_mut().ok())
            .collect(),
    );
    let instances: Vec<Instance> = parts.iter().map(|p| instance(command, p)).collect();
    let failed = parts
        .iter()
        .find_map(|p| Some((&p.sizes, p.result.as_ref().err()?)));
    if let Some((sizes, failure)) = failed {
        let mut out = failure.clone();
        if let Some(first) = out.diagnostics.first_mut() {
            first.message = format!("{sizes}: {}", first.message);
        }
        out.instances = instances;
        return Err(out);
    }
    let answers = || {
        parts
            .iter()
            .filter_map(|p| Some((p, p.result.as_ref().ok()?)))
    };
    let Some((at, worst)) = Answer::worst(&parts) else {
        return Err(Failure::new(
            ErrorKind::Usage,
            "there is no instance to run",
        ));
    };
    let mut report = worst.report.clone();
    let mut denied: Vec<WarningKind> = answers()
        .flat_map(|(_, a)| a.report.denied.clone())
        .collect();
    denied.sort_unstable();
    denied.dedup();
    report.denied = denied;
    report.sizes = at.sizes.0.clone();
    report.instances = instances;
    Ok(Answer {
        report,
        text: None,
        cached: answers().all(|(_, a)| a.cached),
        parts,
    })
}

/// Leaves out of each answer what it was too small to show, and another one shows.
pub(crate) fn unite(mut answers: Vec<&mut Answer>) {
    let mut reports: Vec<&mut Report> = answers.iter_mut().map(|a| &mut a.report).collect();
    let changed = coverage::unite(&mut reports);
    for (answer, changed) in answers.into_iter().zip(changed) {
        if changed {
            answer.text = None;
        }
    }
}

/// One instance as it is reported.
fn instance(command: &str, part: &AtSize) -> Instance {
    Instance {
        sizes: part.sizes.0.clone(),
        result: match &part.result {
            Ok(answer) => GateResult::Report(Box::new(answer.report.clone())),
            Err(failure) => GateResult::Error(failure.answer(Some(command))),
        },
    }
}
