//! The flags that commands share, and how their words are read.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use indexmap::IndexMap;

use volta::ask::Targets;
use volta::spec::Build;
use volta::spec::binding::{parse_arg, parse_map};
use volta::spec::launch::triple;
use volta::spec::manifest::{ArgText, Cta, Settings, Triple, denied};

/// What the flags of all questions about kernels have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common<'a> {
    /// The kernels that the command line names.
    pub files: &'a [PathBuf],
    pub launch: &'a LaunchArgs,
    pub bind: &'a BindArgs,
    /// Where and how the result goes.
    pub output: &'a OutputArgs,
}

impl Common<'_> {
    /// What they say, as a layer of settings.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        settings(self.launch, self.bind, Some(self.output))
    }
}

/// The flags of a question about kernels.
pub(crate) trait Flags: Sync {
    /// The flags as a layer of settings.
    fn settings(&self) -> Result<Settings, String>;

    /// What all of these have.
    fn common(&self) -> Common<'_>;

    /// Where parts of the answer are written.
    fn targets(&self) -> Targets<'_> {
        Targets::default()
    }

    /// The manifest whose entries ask the question, in the place of kernels.
    fn manifest(&self) -> Option<&Path> {
        None
    }
}

/// Launch flags of one kernel or both.
#[derive(Debug, Args)]
#[command(next_help_heading = "Launch")]
pub(crate) struct LaunchArgs {
    /// Block (N, 1, 1).
    #[arg(long, value_name = "N", conflicts_with = "block")]
    pub threads: Option<u32>,
    /// Block, %ntid.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub block: Option<Triple>,
    /// Grid, %nctaid: every CTA of it is run.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub grid: Option<Triple>,
    /// Cluster, %cluster_nctaid, where the kernel does not declare it.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub cluster: Option<Triple>,
    /// The one CTA that is run instead, %ctaid.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = indices)]
    pub cta: Option<Cta>,
    /// Every CTA of the grid, which is what happens anyway.
    #[arg(long, conflicts_with = "cta")]
    pub all_ctas: bool,
    /// Extent of dynamic shared memory.
    #[arg(long, value_name = "BYTES")]
    pub dynamic_shared: Option<u64>,
    /// Assume that the lanes of a warp run in lock step.
    #[arg(long)]
    pub warp_sync: bool,
    /// Count unordered writes of equal values as data races.
    #[arg(long)]
    pub strict: bool,
    /// Run the command for each of these sizes (n=1..9,50), `{EXPR}` in any other value being replaced.
    #[arg(long = "for", value_name = "NAME=LIST", allow_hyphen_values = true)]
    pub sizes: Vec<String>,
}

/// Bindings.
#[derive(Debug, Args)]
#[command(next_help_heading = "Bindings")]
pub(crate) struct BindArgs {
    /// What a parameter or a module variable is: KEY is its position or name, KEY+BYTES a field, VALUE a number (48, 1.5, 1.5:f32, inf) or an array such as in:f32[64,64], with its contents where they are known: =0, =[3,1,2], =iota, =@FILE.npy.
    #[arg(long, value_name = "KEY=VALUE", value_parser = arg_text)]
    pub arg: Vec<(String, ArgText)>,
    /// Two pointer parameters that are the same array, as for a kernel that works in place.
    #[arg(long, value_name = "A=B", value_parser = alias_text)]
    pub alias: Vec<(String, String)>,
    /// What is known of the data: `KEY in A..B` says that each element of an array lies there, B excluded for integers and included for floats.
    #[arg(long, value_name = "FACT")]
    pub assume: Vec<String>,
    /// A name for a parameter or field, which reports use and other flags may.
    #[arg(long, value_name = "KEY=NAME", value_parser = name_text)]
    pub name: Vec<(String, String)>,
    /// An array that no parameter is, for arrays of pointers: --arg '0=in:ptr[2]=[$a,$b+64]'.
    #[arg(long, value_name = "NAME=ARRAY", value_parser = buffer_text)]
    pub buffer: Vec<(String, ArgText)>,
    /// A TOML file with any of these settings.
    #[arg(long, value_name = "FILE.toml")]
    pub spec: Option<PathBuf>,
    /// Take every float constant as it is written.
    #[arg(long)]
    pub exact_constants: bool,
    /// Let finite masks (-1e9, the least float) stand for minus infinity; rows that are masked whole are left out.
    #[arg(long)]
    pub masks_are_infinite: bool,
    /// Accept proofs by evaluation at random points, with a bound on the error, where forms are too large.
    #[arg(long)]
    pub probabilistic: bool,
    /// Report where the kernels round to narrow formats, and where the optimized one does more.
    #[arg(long)]
    pub precision: bool,
    /// Assume the wmma fragment layout of an architecture.
    #[arg(long, value_name = "ARCH")]
    pub wmma_layout: Option<String>,
    #[command(flatten)]
    pub build: BuildArgs,
}

/// How CUDA files become PTX.
#[derive(Debug, Args)]
#[command(next_help_heading = "CUDA files")]
pub(crate) struct BuildArgs {
    /// Architecture for which .cu files are compiled (sm_80 if not given).
    #[arg(long, value_name = "sm_NN")]
    pub arch: Option<String>,
    /// A flag of nvcc for .cu files, such as -DN=64 or --use_fast_math (repeatable).
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub nvcc_flag: Vec<String>,
}

impl BuildArgs {
    /// How the files of the command line are compiled.
    pub(crate) fn of_files(&self) -> Build {
        Build {
            arch: self.arch.clone(),
            flags: self.nvcc_flag.clone(),
        }
    }
}

/// Where and how the result goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Format of the report.
    #[arg(long, default_value = "human", value_name = "FORMAT")]
    format: Format,
    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the report to a file.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the report in another format too (repeatable).
    #[arg(long, value_name = "FORMAT=FILE", value_parser = also)]
    pub also: Vec<(Format, PathBuf)>,
    /// Kinds of warnings that make the exit status 1; `warnings` is all of them.
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_parser = warning_kind)]
    pub deny: Vec<String>,
    /// Number of threads that volta uses.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Give up after this time.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Give up after so many units of work, which are the same on every machine and for any number of threads.
    #[arg(long, value_name = "N")]
    pub budget: Option<u64>,
    /// Give up beyond this amount of memory.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = size_text)]
    pub memory_limit: Option<u64>,
}

impl OutputArgs {
    /// The format that was asked for.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// The flags as a layer of settings above those of a manifest.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            timeout: self.timeout,
            budget: self.budget,
            memory_limit: self.memory_limit,
            deny: self.deny.clone(),
            ..Settings::default()
        }
    }
}

/// Formats of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    #[default]
    Human,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
    /// A page.
    Html,
    /// Annotations of a GitHub workflow; the summary of the step too, where GITHUB_STEP_SUMMARY names its file.
    Github,
}

impl Format {
    /// The format of a word.
    pub(crate) fn parse(word: &str) -> Result<Format, String> {
        Format::from_str(word, false)
    }
}

/// `FORMAT=FILE`.
pub(crate) fn also(text: &str) -> Result<(Format, PathBuf), String> {
    match text.split_once('=') {
        Some((format, file)) if !file.is_empty() => {
            let formats = "human, json, sarif, junit, html or github";
            let format = Format::parse(format);
            let format = format.map_err(|_| format!("the format is none of {formats}"))?;
            Ok((format, PathBuf::from(file)))
        }
        _ => Err("it is FORMAT=FILE, e.g. sarif=volta.sarif".to_string()),
    }
}

/// Bytes: a number, or one of kibibytes, mebibytes or gibibytes.
pub(super) fn size_text(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit = units
        .iter()
        .find_map(|&(u, bits)| Some((text.strip_suffix(u)?, bits)));
    let (number, bits) = unit.unwrap_or((text, 0));
    let bytes: Option<u64> = number.parse().ok();
    let bytes = bytes.and_then(|n| n.checked_mul(1 << bits));
    bytes.ok_or_else(|| "it is a number of bytes, e.g. 4000000000, 512M or 1G".to_string())
}

pub(super) fn extents(text: &str) -> Result<Triple, String> {
    triple(text, 1).map(Triple)
}

pub(super) fn indices(text: &str) -> Result<Cta, String> {
    triple(text, 0).map(Cta)
}

pub(super) fn warning_kind(text: &str) -> Result<String, String> {
    let word = text.trim();
    denied(word).map_err(|e| e.to_string())?;
    Ok(word.to_string())
}

pub(super) fn arg_text(text: &str) -> Result<(String, ArgText), String> {
    parse_arg(text)?;
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    Ok((key.trim().to_string(), ArgText(value.trim().to_string())))
}

pub(super) fn map_text(text: &str) -> Result<(String, String), String> {
    parse_map(text)?;
    let (a, b) = text.split_once('=').unwrap_or((text, ""));
    Ok((a.trim().to_string(), b.trim().to_string()))
}

pub(super) fn buffer_text(text: &str) -> Result<(String, ArgText), String> {
    let (name, array) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not NAME=ARRAY, e.g. a=in:f32[64]"))?;
    Ok((name.trim().to_string(), ArgText(array.trim().to_string())))
}

pub(super) fn name_text(text: &str) -> Result<(String, String), String> {
    let (key, name) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not KEY=NAME, e.g. 0=x"))?;
    Ok((key.trim().to_string(), name.trim().to_string()))
}

pub(super) fn alias_text(text: &str) -> Result<(String, String), String> {
    map_text(text).map_err(|_| format!("`{text}` is not A=B, two parameters, e.g. 0=2"))
}

/// A list of `KEY=VALUE` as a table; a key that is given twice is an error.
pub(super) fn table<V: Clone>(
    flag: &str,
    list: &[(String, V)],
) -> Result<IndexMap<String, V>, String> {
    let mut out = IndexMap::new();
    for (key, value) in list {
        if out.insert(key.clone(), value.clone()).is_some() {
            return Err(format!("{flag} is given twice for `{key}`"));
        }
    }
    Ok(out)
}

/// What the flags that every command has say.
pub(crate) fn settings(
    launch: &LaunchArgs,
    bind: &BindArgs,
    output: Option<&OutputArgs>,
) -> Result<Settings, String> {
    let set = |flag: bool| flag.then_some(true);
    Ok(Settings {
        threads: launch.threads,
        block: launch.block,
        grid: launch.grid,
        cluster: launch.cluster,
        cta: launch.cta,
        all_ctas: set(launch.all_ctas),
        dynamic_shared: launch.dynamic_shared,
        warp_sync: set(launch.warp_sync),
        strict: set(launch.strict),
        args: table("--arg", &bind.arg)?,
        assume: bind.assume.clone(),
        alias: bind.alias.clone(),
        names: table("--name", &bind.name)?,
        buffers: table("--buffer", &bind.buffer)?,
        arch: bind.build.arch.clone(),
        nvcc_flag: bind.build.nvcc_flag.clone(),
        exact_constants: set(bind.exact_constants),
        masks_are_infinite: set(bind.masks_are_infinite),
        probabilistic: set(bind.probabilistic),
        precision: set(bind.precision),
        wmma_layout: bind.wmma_layout.clone(),
        timeout: output.and_then(|o| o.timeout),
        budget: output.and_then(|o| o.budget),
        memory_limit: output.and_then(|o| o.memory_limit),
        deny: output.map_or_else(Vec::new, |o| o.deny.clone()),
        ..Settings::default()
    })
}
