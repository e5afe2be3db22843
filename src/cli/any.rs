//! Flags of a race that is looked for in every launch.

use clap::Args;

/// Which launches a race is looked for in.
#[derive(Debug, Args)]
pub(crate) struct AnyArgs {
    /// Every launch: all blocks, grids, integers and data that no flag binds and --assume allows.
    #[arg(long)]
    pub any: bool,
}
