//! `check`: are two kernels equivalent?

use std::path::Path;

use super::{Held, Question, Roles, first};
use crate::answer::{Answer, Command, ErrorKind, Failure, Report, Verdict};
use crate::check::check_prepared;
use crate::spec::{Entry, Layers, Manifest};

pub(super) struct Check;

impl Question for Check {
    fn command(&self) -> Command {
        Command::Check
    }

    fn roles(&self) -> Roles {
        Roles::Pair
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Equivalent, NotEquivalent, Defective, Unknown]
    }

    fn entries<'m>(&self, manifest: &'m Manifest) -> &'m [Entry] {
        &manifest.check
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        let mut report = check_prepared(first(instances)?, held.files, held.runs)?;
        if let Some(path) = held.to.certificate {
            write_certificate(path, &mut report)?;
        }
        Ok(Answer::of(report))
    }
}

/// Writes the certificate of a report, if there is one.
fn write_certificate(path: &Path, report: &mut Report) -> Result<(), Failure> {
    let Some(made) = &mut report.certificate else {
        return Ok(());
    };
    let Some(text) = made.text.take() else {
        return Ok(());
    };
    std::fs::write(path, text).map_err(|e| {
        let message = format!("cannot write `{}`: {e}", path.display());
        Failure::new(ErrorKind::File, message)
    })?;
    made.file = Some(path.display().to_string());
    Ok(())
}
