//! Flags that ask what numbers say beside the claim about reals.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;

use volta::answer::{ErrorKind, Failure};

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

/// An error where two instances of a command would write one certificate.
pub(crate) fn apart<'a>(certificates: impl Iterator<Item = &'a Path>) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for path in certificates {
        if !seen.insert(path) {
            let message = "a certificate is of one instance: name the sizes of --for in its file, as in --certificate 'n-{n}.json'";
            return Err(Failure::new(ErrorKind::Usage, message));
        }
    }
    Ok(())
}
