//! Flags of what is asked of more than one launch.

use clap::Args;

/// Which launches a race is looked for in.
#[derive(Debug, Args)]
pub(crate) struct AnyArgs {
    /// Every launch: all blocks, grids, integers and data that no flag binds and --assume allows.
    #[arg(long)]
    pub any: bool,
}

/// Which further sizes are run.
#[derive(Debug, Args)]
pub(crate) struct CoverArgs {
    /// Run the sizes that thin-coverage proposes too, as --for does.
    #[arg(long, conflicts_with = "sizes")]
    pub cover: bool,
}
