//! Flags that ask what numbers say beside the claim about reals.

use clap::Args;

/// Flags of `check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "On numbers")]
pub struct NumberArgs {
    /// Execute both kernels on inputs beside their real values, and measure what rounding does.
    #[arg(long, value_name = "SAMPLES", num_args = 0..=1, require_equals = true, default_missing_value = "48",
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rounding: Option<u64>,
}
