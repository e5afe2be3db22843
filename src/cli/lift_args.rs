//! The flags of `volta lift`.

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use volta::spec::manifest::{Settings, Side};

use super::{BindArgs, Common, Flags, LaunchArgs, OutputArgs};

pub(super) const EXAMPLES: &str = "\
Examples:
  volta lift softmax.ptx --threads 32 --name 0=x --name 1=y --arg x=in:f32[4,32] --arg y=out:f32[4,32]
  volta lift matmul.ptx --block 16,16 --for n=16,32,48 --arg 0=in:f32[{n},{n}] --arg 1=in:f32[{n},{n}] --arg 2=out:f32[{n},{n}]

Exit status: 0 lifted, 1 defective or denied, 2 input error, 3 unknown";

/// `volta lift`.
#[derive(Debug, Args)]
pub(crate) struct LiftArgs {
    /// The kernel, in PTX or CUDA.
    pub kernel: PathBuf,
    /// Entry function: its name, or a part that no other has.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub bind: BindArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl Flags for LiftArgs {
    fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            kernel: Some(Side::path(&self.kernel)),
            entry: self.entry.clone(),
            ..self.common().settings()?
        })
    }

    fn common(&self) -> Common<'_> {
        Common {
            files: from_ref(&self.kernel),
            launch: &self.launch,
            bind: &self.bind,
            output: &self.output,
        }
    }
}
