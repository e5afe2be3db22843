//! Requests about several kernels (`classes`), or about one kernel at two launches (`rows`).

use crate::answer::{Answer, Failure};
use crate::input::Files;
use crate::report::human;
use crate::spec::{Layers, Settings};
use crate::{classes, rows};

use super::answer;
use super::request::Launch;
use super::subject::Subject;
use super::worker::{self, Job};

/// Compares the rows of a launch with row 0 of the smallest one.
pub(super) fn rows(job: &Job, files: &Files) -> Result<Answer, Failure> {
    let here = kernel(job, job.kernel.as_ref(), &job.launch, "kernel", files)?;
    let small = match &job.reference {
        Some(small) => kernel(job, small.kernel.as_ref(), &small.launch, "smallest", files)?,
        None => here.clone(),
    };
    let report = rows::rows(Layers(&[&small]), Layers(&[&here]), files)?;
    Ok(human::answer(report))
}

/// Sorts kernels into classes of the same bits.
pub(super) fn classes(job: &Job, files: &Files) -> Result<Answer, Failure> {
    let role = "kernel";
    let mut own = base(job, &job.launch)?;
    if let Some(kernels) = &job.kernel {
        let known = worker::texts(kernels, role);
        let paths = worker::place(kernels, role, &known, files)?;
        own.kernels = kernels.launches(paths)?;
    }
    Ok(human::answer(classes::classes(Layers(&[&own]), files)?))
}

fn base(job: &Job, launch: &Launch) -> Result<Settings, Failure> {
    let mut own = worker::settings(worker::named(launch)?)?;
    own.timeout = job.how.timeout.or(own.timeout);
    own.budget = job.how.budget.or(own.budget);
    Ok(own)
}

/// One kernel and its launch as a layer of settings.
fn kernel(
    job: &Job,
    subject: Option<&Subject>,
    launch: &Launch,
    role: &str,
    files: &Files,
) -> Result<Settings, Failure> {
    let mut own = base(job, launch)?;
    let subject = subject.ok_or_else(|| answer::usage("the kernel is missing"))?;
    let known = worker::texts(subject, role);
    let side = worker::put(subject, role, &known, files)?;
    worker::settle(&mut own.kernel, side, role)?;
    Ok(own)
}
