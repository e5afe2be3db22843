//! Requests about several kernels, or about one kernel at two launches.

use crate::answer::Failure;
use crate::input::Files;
use crate::spec::Settings;

use super::answer;
use super::job::Job;
use super::kernel::Launch;
use super::subject::Subject;
use super::worker;

/// The launch of a job, and the smallest one that it is compared with.
pub(super) fn beside(job: &Job, files: &Files) -> Result<[Settings; 2], Failure> {
    let here = kernel(job, job.kernel.as_ref(), &job.launch, "kernel", files)?;
    let small = match &job.reference {
        Some(small) => kernel(job, small.kernel.as_ref(), &small.launch, "smallest", files)?,
        None => here.clone(),
    };
    Ok([here, small])
}

/// The kernels of a job that has several.
pub(super) fn kernels(job: &Job, files: &Files) -> Result<Settings, Failure> {
    let role = "kernel";
    let mut own = worker::own(job, &job.launch)?;
    if let Some(kernels) = &job.kernel {
        let known = worker::texts(kernels, role);
        let paths = worker::place(kernels, role, &known, files)?;
        own.kernels = kernels.launches(paths)?;
    }
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
    let mut own = worker::own(job, launch)?;
    let subject = subject.ok_or_else(|| answer::usage("the kernel is missing"))?;
    let known = worker::texts(subject, role);
    let side = worker::put(subject, role, &known, files)?;
    worker::settle(&mut own.kernel, side, role)?;
    Ok(own)
}
