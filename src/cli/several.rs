//! The flags of commands about several kernels, or several rows.

use std::path::{Path, PathBuf};
use std::slice::from_ref;

use clap::Args;

use volta::spec::manifest::{Settings, Side};

use super::shared::{BindArgs, Common, Flags, LaunchArgs, OutputArgs};

/// How bits are compared.
#[derive(Debug, Args)]
pub(crate) struct BitsArgs {
    /// Compare bits: equivalent if both kernels write the same ones, by the same operations.
    #[arg(long, conflicts_with = "formula")]
    pub bits: bool,
    /// Build both kernels with ptxas, for the target named or their own, and read there which products and sums it joins.
    #[arg(long, value_name = "TARGET", num_args = 0..=1, require_equals = true, requires = "bits")]
    pub sass: Option<Option<String>>,
}

/// `volta classes`.
#[derive(Debug, Args)]
pub(crate) struct ClassesArgs {
    /// Two kernels or more, in PTX or CUDA, or one manifest whose [[classes]] are run.
    #[arg(required = true, value_names = ["KERNEL... | volta.toml"])]
    pub files: Vec<PathBuf>,
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

/// `volta steps`.
#[derive(Debug, Args)]
pub(crate) struct StepsArgs {
    /// The file: [naive], a [[step]] for each step, and what all of them are given.
    pub file: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `volta rows`.
#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    /// The kernel, in PTX or CUDA.
    pub kernel: PathBuf,
    /// Which rows of outputs are made of which rows of inputs, e.g. 'y[i,*] of x[i,*], r[i]'.
    #[arg(long, value_name = "OUTPUTS of INPUTS")]
    pub rows: Option<String>,
    /// Compare over the reals, not by bits.
    #[arg(long)]
    pub values: bool,
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

impl Flags for ClassesArgs {
    fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            kernels: self.files.iter().map(Side::path).collect(),
            entry: self.entry.clone(),
            bits: Some(true),
            ..self.common().settings()?
        })
    }

    fn common(&self) -> Common<'_> {
        Common {
            files: &self.files,
            launch: &self.launch,
            bind: &self.bind,
            output: &self.output,
        }
    }

    fn manifest(&self) -> Option<&Path> {
        match &self.files[..] {
            [only] if only.extension().is_some_and(|e| e == "toml") => Some(only),
            _ => None,
        }
    }
}

impl Flags for RowsArgs {
    fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            kernel: Some(Side::path(&self.kernel)),
            entry: self.entry.clone(),
            rows: self.rows.clone(),
            values: self.values.then_some(true),
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
