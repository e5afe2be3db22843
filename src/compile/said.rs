//! What nvcc says, as errors with their places in the CUDA file.

use std::path::Path;
use std::sync::Arc;

use crate::answer::{ErrorKind, Failure, Kind};
use crate::diag::foreign::visible;
use crate::diag::{Diagnostic, Source};

/// Lines that are shown where no place is told.
const SHOWN: usize = 12;

/// The failure that nvcc tells.
pub(super) fn failure(cuda: &Arc<Source>, said: &str) -> Failure {
    let is_error = |line: &&str| line.contains("error");
    let errors = said.lines().filter(is_error).map(|line| {
        let of_header = || Diagnostic::error(ErrorKind::Syntax.name(), line.trim());
        (error(cuda, line), of_header)
    });
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (at, of_header) in errors {
        match at {
            Some(at) => own.push(at),
            None => others.push(of_header()),
        }
    }
    if !own.is_empty() {
        own.extend(others);
        return Failure::at(ErrorKind::Syntax, cuda, own);
    }
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<String> = lines.take(SHOWN).map(|l| visible(l).into_owned()).collect();
    let message = format!("{}: nvcc says\n{}", visible(&cuda.name), lines.join("\n"));
    Failure::new(ErrorKind::Syntax, message)
}

/// An error in the file: `FILE(LINE): error: ...` of its compiler, `FILE:LINE:COLUMN: fatal error: ...` of its preprocessor.
fn error(cuda: &Source, line: &str) -> Option<Diagnostic> {
    let (place, what) = line
        .split_once(": error: ")
        .or_else(|| line.split_once(": fatal error: "))
        .or_else(|| {
            let (place, rest) = line.split_once(": error ")?;
            Some((place, rest.split_once(": ")?.1))
        })?;
    let (file, number) = match place.strip_suffix(')').and_then(|p| p.rsplit_once('(')) {
        Some(at) => at,
        None => {
            let mut parts = place.splitn(3, ':');
            (parts.next()?, parts.next()?)
        }
    };
    let [there, here] = [file, &cuda.name].map(|name| Path::new(name).canonicalize().ok());
    if there.is_none() || there != here {
        return None;
    }
    let span = cuda.line_span(number.parse().ok()?)?;
    let found = Diagnostic::error(ErrorKind::Syntax.name(), what.trim());
    Some(found.label(span, ""))
}
