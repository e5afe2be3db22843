//! Flags that ask what numbers say beside the claim about reals.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::Args;

use volta::answer::{ErrorKind, Failure, Report};

/// Flags of `check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "On numbers")]
pub(crate) struct NumberArgs {
    /// Execute both kernels on inputs beside their real values, and measure what rounding does.
    #[arg(long, value_name = "SAMPLES", num_args = 0..=1, require_equals = true, default_missing_value = "48",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rounding: Option<u64>,
    /// Write what was proved to a file that `python -m volta.replay` checks by a program of its own.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
}

impl NumberArgs {
    /// Writes the certificate of a report, if one was asked for and there is one.
    pub(crate) fn write_certificate(&self, report: &mut Report) -> Result<(), Failure> {
        let (Some(path), Some(made)) = (&self.certificate, &mut report.certificate) else {
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
}

/// An error where two instances of a command would write one certificate.
pub(crate) fn apart<'a>(all: impl Iterator<Item = &'a NumberArgs>) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for path in all.filter_map(|a| a.certificate.as_ref()) {
        if !seen.insert(path) {
            let message = "a certificate is of one instance: name the sizes of --for in its file, as in --certificate 'n-{n}.json'";
            return Err(Failure::new(ErrorKind::Usage, message));
        }
    }
    Ok(())
}
