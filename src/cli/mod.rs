//! The command line: every flag of the contract, and nothing about what it does.
//!
//! The flags of a command become one layer of [`Settings`], above a `--spec` file. A flag that is
//! not built yet is a usage error, never ignored.

use shared::{
    BindArgs, Common, Flags, LaunchArgs, OutputArgs, arg_text, extents, indices, map_text,
    settings, size_text, table,
};
use std::path::PathBuf;
use std::slice::from_ref;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use number_args::NumberArgs;
use several::{BitsArgs, ClassesArgs, RowsArgs, StepsArgs};
use volta::answer;
use volta::ask::{self, Targets};
use volta::gate::Shard;
use volta::spec::binding::Key;
use volta::spec::manifest::{ArgText, Cta, Settings, Side, Triple};

mod any;
pub(crate) mod asking;
pub(crate) mod command_lines;
mod lift_args;
pub(crate) mod number_args;
pub(crate) mod outputs;
pub(crate) mod paste;
pub(crate) mod several;
pub(crate) mod shared;

/// Proves that an optimized GPU kernel (PTX or CUDA) computes what its reference computes.
#[derive(Debug, Parser)]
#[command(name = "volta", version, about, after_help = EXAMPLES, max_term_width = 120)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  volta check naive.cu fast.cu --threads 128 --grid 8 --arg n=1024
  volta race kernel.ptx --threads 256 --arg 0=in:f32[1024] --deny warnings
  volta gate volta.toml --also sarif=volta.sarif --also html=volta.html
  volta explain data-race

Exit status:
  0  proved: equivalent, clean; every entry of a manifest got what it must get
  1  refuted: not-equivalent, defective; or a warning that --deny names
  2  usage or input error
  3  unknown";

const CHECK_EXAMPLES: &str = "\
Examples:
  volta check naive.cu fast.cu --threads 128 --arg n=128
  volta check kernels.cu --ref-entry 'scale<128>' --opt-entry 'scale<256>' --ref-block 128 --opt-block 256
  volta check naive.ptx fast.ptx --ref-block 32 --opt-block 128 --opt-grid 4 --arg 0=in:f32[64,64] --arg 1=out:f32[64]
  volta check naive.ptx fast.ptx --threads 128 --arg 2=1024 --deny narrower,partial-grid --json

Exit status: 0 equivalent, 1 not-equivalent or defective or denied, 2 input error, 3 unknown";

const RACE_EXAMPLES: &str = "\
Examples:
  volta race kernel.ptx --threads 256
  volta race kernel.ptx --entry reduce --block 16,16 --grid 4,4 --dynamic-shared 4096 --arg n=1024
  volta race kernel.ptx --threads 256 --strict --also html=report.html

Exit status: 0 clean, 1 defective or denied, 2 input error, 3 unknown";

const SLACK_EXAMPLES: &str = "\
Examples:
  volta slack kernel.ptx --threads 256
  volta slack kernel.ptx --threads 256 --for n=1,64,100 --arg '2={n}' --json

Exit status: that of race: 0 clean, 1 defective or denied, 2 input error, 3 unknown";

const GATE_EXAMPLES: &str = "\
Examples:
  volta init naive.ptx fast.ptx > volta.toml
  volta gate
  volta gate kernels/volta.toml --shard 1/4 --also sarif=volta.sarif --also junit=volta.xml
  volta gate --format github

Exit status: 0 every entry got its `expect`, 1 one did not or has something denied, 2 a bad manifest or input";

const STEPS_EXAMPLES: &str = "\
The file:
  [naive]                     # file, entry, block, grid, args, dynamic-shared, or a formula
  file = \"softmax.ptx\"
  entry = \"naive\"
  block = \"{rows}\"

  [defaults]                  # or at the top: what a [[check]] of a manifest can say of both kernels
  args = { 0 = \"in:f32[{rows},{cols}]\", 1 = \"out:f32[{rows},{cols}]\", 2 = \"{cols}\" }
  for = { rows = [77, 128], cols = [53, 96] }

  [[step]]                    # as [naive], with a name; the file of [naive] if none is given
  name = \"one warp a row\"
  entry = \"warp\"
  block = 32
  grid = \"{rows}\"

Exit status: 0 every step is equivalent, 1 one is not or has something denied, 2 input error, 3 unknown";

/// The commands that are questions about kernels: each asks the one of its name by its flags.
macro_rules! questions {
    ($($(#[$about:meta])* $name:ident($flags:ty),)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Question {
            $($(#[$about])* $name(Box<$flags>),)*
        }

        impl Question {
            /// What is asked.
            pub(crate) fn asked(&self) -> &'static dyn ask::Question {
                match self {
                    $(Question::$name(_) => ask::of(answer::Command::$name),)*
                }
            }

            /// How it is asked.
            pub(crate) fn flags(&self) -> &dyn Flags {
                match self {
                    $(Question::$name(flags) => &**flags,)*
                }
            }
        }
    };
}

questions! {
    /// Are the two kernels equivalent?
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Is this kernel free of races, deadlocks and memory errors?
    #[command(after_help = RACE_EXAMPLES)]
    Race(RaceArgs),
    /// Execute a kernel on numbers, without a GPU.
    Run(RunArgs),
    /// Which barriers, waits and fences does a kernel need, and for what?
    #[command(after_help = SLACK_EXAMPLES)]
    Slack(RaceArgs),
    /// Which of these kernels or configurations leave the same bits?
    Classes(ClassesArgs),
    /// Does a row depend on the batch that it is in?
    Rows(RowsArgs),
    /// What a kernel computes, as formulas that are proved.
    #[command(after_help = lift_args::EXAMPLES)]
    Lift(lift_args::LiftArgs),
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Ask(Question),
    /// Compare the steps of an operator with its naive kernel, and each with the step before.
    #[command(after_help = STEPS_EXAMPLES)]
    Steps(Box<StepsArgs>),
    /// Run every check and race of a manifest.
    #[command(after_help = GATE_EXAMPLES)]
    Gate(Box<GateArgs>),
    /// Answer requests as JSON lines on the standard input and output, for harnesses.
    Serve(ServeArgs),
    /// Run the requests of a server.
    #[command(hide = true)]
    ServeWorker(ServeArgs),
    /// Print a manifest that runs: a race of each kernel, and a check of two, the first of which is the reference.
    Init(InitArgs),
    /// Print a stage of the pipeline.
    Dump(Box<DumpArgs>),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, in roff.
    Man {
        /// Of one command.
        command: Option<String>,
    },
    /// Print the JSON Schema of --format json.
    Schema,
    /// What a kind of finding, warning, unknown, assumption or error means, with an example.
    Explain {
        /// Its word; all words if none is given.
        kind: Option<String>,
    },
}

impl Command {
    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Ask(q) => q.asked().command().name(),
            Command::Steps(_) => "steps",
            Command::Gate(_) => "gate",
            Command::Serve(_) => "serve",
            Command::ServeWorker(_) => "serve-worker",
            Command::Init(_) => "init",
            Command::Dump(_) => "dump",
            Command::Completions { .. } => "completions",
            Command::Man { .. } => "man",
            Command::Schema => "schema",
            Command::Explain { .. } => "explain",
        }
    }

    /// Number of threads that it works with, if that was said; a server leaves the work to others.
    pub(crate) fn threads(&self) -> Option<u16> {
        match self {
            Command::Serve(_) => Some(1),
            Command::ServeWorker(a) => a.jobs,
            _ => self.output()?.jobs,
        }
    }

    /// What it asks about kernels, if that is one question.
    pub(crate) fn question(&self) -> Option<&Question> {
        match self {
            Command::Ask(q) if q.flags().manifest().is_none() => Some(q),
            _ => None,
        }
    }

    /// Where and how its result goes.
    pub(crate) fn output(&self) -> Option<&OutputArgs> {
        match self {
            Command::Ask(q) => Some(q.flags().common().output),
            Command::Gate(a) => Some(&a.output),
            Command::Steps(a) => Some(&a.output),
            _ => None,
        }
    }
}

/// `volta check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The reference and the optimized kernel, in PTX or CUDA; one file that holds both; with --formula the optimized kernel alone.
    #[arg(required = true, num_args = 1..=2, value_names = ["REF", "OPT"])]
    pub files: Vec<PathBuf>,
    /// What the kernel should compute, e.g. 'y[i] = 2*x[i]', or @FILE: the reference instead of a kernel.
    #[arg(long, value_name = "TEXT|@FILE")]
    pub formula: Option<String>,
    #[command(flatten)]
    pub same: BitsArgs,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub bind: BindArgs,
    #[command(flatten)]
    pub pair: PairArgs,
    #[command(flatten)]
    pub numbers: NumberArgs,
    #[command(flatten)]
    pub sizes: any::CoverArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `volta race`.
#[derive(Debug, Args)]
pub(crate) struct RaceArgs {
    /// The kernel, in PTX or CUDA.
    pub kernel: PathBuf,
    /// Entry function: its name, or a part that no other has.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Say whether the bits of every output are the same for every schedule.
    #[arg(long)]
    pub deterministic: bool,
    #[command(flatten)]
    pub every: any::AnyArgs,
    #[command(flatten)]
    pub sizes: any::CoverArgs,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub bind: BindArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `volta run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The kernel, in PTX or CUDA.
    pub kernel: PathBuf,
    /// Entry function: its name, or a part that no other has.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Seed of the contents normal and uniform.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write an output to a file, e.g. 1=y.npy.
    #[arg(long, value_name = "KEY=FILE.npy", value_parser = save_text)]
    pub save: Vec<(Key, PathBuf)>,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub bind: BindArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `volta gate`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// The manifest; volta.toml of this folder if none is named.
    pub manifest: Option<PathBuf>,
    /// Only entries whose name holds this text.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Stop after the first entry that fails.
    #[arg(long)]
    pub fail_fast: bool,
    /// Do not read or write cached results.
    #[arg(long)]
    pub no_cache: bool,
    /// Where results are cached.
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Only the I-th of N parts of the entries, by a hash of their names: an entry keeps its part when others come.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Compare verdict, kinds, tactics and work of each entry with FILE, and fail where they differ or where there is a tenth
    /// more work; of a folder, with its ledger A/B.ledger for each manifest A/B.toml.
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Write the lines of the ledger that fail, or whose work fell by a tenth.
    #[arg(long, requires = "ledger")]
    pub bless: bool,
    /// Show time, memory and counts of each entry.
    #[arg(long)]
    pub stats: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `volta serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Number of requests that run side by side.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Memory of each request.
    #[arg(long, value_name = "BYTES", value_parser = size_text)]
    pub memory_limit: Option<u64>,
    /// Compile .cu files that requests name, by nvcc: an #include in them may name any file.
    #[arg(long)]
    pub compile: bool,
}

/// `volta init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Files of PTX or CUDA.
    #[arg(required = true)]
    pub kernels: Vec<PathBuf>,
}

/// `volta dump`.
#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    /// Files of PTX or CUDA.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Which stage.
    #[arg(long)]
    pub stage: Stage,
    /// Entry function: its name, or a part that no other has.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub launch: LaunchArgs,
    #[command(flatten)]
    pub bind: BindArgs,
}

/// Stages that can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// The syntax tree, as PTX.
    Ast,
    /// The executable form.
    Kernel,
    /// What one schedule did.
    Trace,
    /// The output terms.
    Terms,
    /// Their canonical forms.
    Canon,
}

/// Flags of one kernel of a pair.
#[derive(Debug, Args)]
#[command(next_help_heading = "One kernel of the pair")]
pub(crate) struct PairArgs {
    /// Entry function of the reference.
    #[arg(long, value_name = "NAME")]
    pub ref_entry: Option<String>,
    /// Entry function of the optimized kernel.
    #[arg(long, value_name = "NAME")]
    pub opt_entry: Option<String>,
    /// Block of the reference.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub ref_block: Option<Triple>,
    /// Block of the optimized kernel.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub opt_block: Option<Triple>,
    /// Grid of the reference.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub ref_grid: Option<Triple>,
    /// Grid of the optimized kernel.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub opt_grid: Option<Triple>,
    /// CTA of the reference.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = indices)]
    pub ref_cta: Option<Cta>,
    /// CTA of the optimized kernel.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = indices)]
    pub opt_cta: Option<Cta>,
    /// Dynamic shared memory of the reference.
    #[arg(long, value_name = "BYTES")]
    pub ref_dynamic_shared: Option<u64>,
    /// Dynamic shared memory of the optimized kernel.
    #[arg(long, value_name = "BYTES")]
    pub opt_dynamic_shared: Option<u64>,
    /// Binding of the reference alone.
    #[arg(long, value_name = "KEY=VALUE", value_parser = arg_text)]
    pub ref_arg: Vec<(String, ArgText)>,
    /// Binding of the optimized kernel alone.
    #[arg(long, value_name = "KEY=VALUE", value_parser = arg_text)]
    pub opt_arg: Vec<(String, ArgText)>,
    /// Parameters or fields that are one, where the positions differ.
    #[arg(long, value_name = "REF=OPT", value_parser = map_text)]
    pub map: Vec<(String, String)>,
    /// Compare this part of an output alone, ends excluded; other outputs are compared whole.
    #[arg(long, value_name = "KEY[A..B,...]")]
    pub only: Vec<String>,
}

fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    let shard = numbers.and_then(|(part, of)| Shard::new(part, of));
    shard.ok_or_else(|| "it is I/N, with I from 1 to N, e.g. 2/8".to_string())
}

fn save_text(text: &str) -> Result<(Key, PathBuf), String> {
    let (key, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or_else(|| format!("`{text}` is not KEY=FILE.npy, e.g. 1=y.npy"))?;
    Ok((Key::parse(key.trim())?, PathBuf::from(path)))
}

impl Flags for CheckArgs {
    fn settings(&self) -> Result<Settings, String> {
        let p = &self.pair;
        let (mut reference, mut optimized) = match (&self.formula, self.files.as_slice()) {
            (None, [a, b]) => (Side::path(a), Side::path(b)),
            (None, [both]) => (Side::path(both), Side::path(both)),
            (Some(_), [b]) => (Side::default(), Side::path(b)),
            (None, _) => {
                let message = "a check takes two files, REF and OPT, one file with two kernels, or --formula and one file";
                return Err(message.to_string());
            }
            (Some(_), _) => {
                let message = "with --formula a check takes one file: the formula is the reference";
                return Err(message.to_string());
            }
        };
        if self.formula.is_some() && p.is_about_reference() {
            let message = "a formula is not launched: --ref-* flags and --map are for two kernels";
            return Err(message.to_string());
        }
        reference.own.entry = p.ref_entry.clone();
        optimized.own.entry = p.opt_entry.clone();
        (reference.own.block, optimized.own.block) = (p.ref_block, p.opt_block);
        (reference.own.grid, optimized.own.grid) = (p.ref_grid, p.opt_grid);
        (reference.own.cta, optimized.own.cta) = (p.ref_cta, p.opt_cta);
        reference.own.dynamic_shared = p.ref_dynamic_shared;
        optimized.own.dynamic_shared = p.opt_dynamic_shared;
        reference.own.args = table("--ref-arg", &p.ref_arg)?;
        optimized.own.args = table("--opt-arg", &p.opt_arg)?;
        Ok(Settings {
            reference: self.formula.is_none().then_some(reference),
            formula: self.formula.clone(),
            in_one_file: self.formula.is_none() && self.files.len() == 1,
            optimized: Some(optimized),
            map: table("--map", &p.map)?.into_iter().collect(),
            only: p.only.clone(),
            bits: self.same.bits.then_some(true),
            sass: self.same.sass.clone(),
            rounding: self.numbers.rounding,
            certificate: self.numbers.certificate.is_some().then_some(true),
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

    fn covers(&self) -> bool {
        self.sizes.cover
    }

    fn targets(&self) -> Targets<'_> {
        Targets {
            certificate: self.numbers.certificate.as_deref(),
            ..Targets::default()
        }
    }
}

impl PairArgs {
    /// True if something is said of the reference alone, or of how it is paired.
    fn is_about_reference(&self) -> bool {
        self.ref_entry.is_some()
            || self.ref_block.is_some()
            || self.ref_grid.is_some()
            || self.ref_cta.is_some()
            || self.ref_dynamic_shared.is_some()
            || !self.ref_arg.is_empty()
            || !self.map.is_empty()
    }
}

impl Flags for RaceArgs {
    fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            kernel: Some(Side::path(&self.kernel)),
            entry: self.entry.clone(),
            any: self.every.any.then_some(true),
            deterministic: self.deterministic.then_some(true),
            ..self.common().settings()?
        })
    }

    fn covers(&self) -> bool {
        self.sizes.cover
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

impl Flags for RunArgs {
    fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            kernel: Some(Side::path(&self.kernel)),
            entry: self.entry.clone(),
            seed: self.seed,
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

    fn targets(&self) -> Targets<'_> {
        Targets {
            outputs: &self.save,
            ..Targets::default()
        }
    }
}

impl DumpArgs {
    /// The flags as a layer of settings for one file.
    pub(crate) fn settings(&self, file: &PathBuf) -> Result<Settings, String> {
        Ok(Settings {
            kernel: Some(Side::path(file)),
            entry: self.entry.clone(),
            ..settings(&self.launch, &self.bind, None)?
        })
    }
}
