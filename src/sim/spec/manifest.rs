//! The keys of a manifest and of a `--spec` file, and the layers that settings come in.
//!
//! One type, [`Settings`], holds everything that a launch and its bindings can say; the command
//! line, a `--spec` file, `[defaults]` and an entry of a manifest each are one `Settings`. Layers
//! are applied from the lowest to the highest; inside a layer what is said about one kernel beats
//! what is said about both. The keys of the tables are the flags without their dashes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny};

use crate::answer::{Part, WarningKind, kinds};

use super::SpecError;
use super::binding::{Arg, ArgValue, ArrayDecl, Key, stream_of};
use super::build::{self, Build};
use super::contents::Sources;
use super::facts::Fact;
use super::launch::{LaunchSpec, triple};
use super::limits::DEFAULT_TIMEOUT;
use super::names;
use super::only::Only;
use super::pointers;
use super::sizes::Sizes;

mod entries;
mod loose;
mod side;

pub(super) use entries::entry_key;
pub use entries::{ENTRY_KEYS, Entry, Manifest};
pub use side::{FormulaText, Side, SideSettings};

/// Everything that can be said about a check or a race.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Name of an entry.
    pub name: Option<String>,
    /// The kernel of a race.
    pub kernel: Option<Side>,
    /// The reference of a check.
    pub reference: Option<Side>,
    /// The optimized kernel of a check.
    pub optimized: Option<Side>,
    /// The kernels of classes.
    pub kernels: Vec<Side>,
    /// Which rows of outputs are made of which rows of inputs.
    pub rows: Option<String>,
    /// Rows are compared over the reals.
    pub values: Option<bool>,
    /// The formula that is the reference of a check, or `@` and the file that holds it.
    pub formula: Option<String>,
    /// The verdict that an entry must get.
    pub expect: Option<String>,
    /// Kinds of defects that must be found.
    pub defects: Vec<String>,
    /// Number of threads: a block (N, 1, 1).
    #[serde(deserialize_with = "loose::number")]
    pub threads: Option<u32>,
    /// Block.
    pub block: Option<Triple>,
    /// Grid.
    pub grid: Option<Triple>,
    /// Extent of a cluster.
    pub cluster: Option<Triple>,
    /// CTA.
    pub cta: Option<Cta>,
    /// Every CTA, which is what happens anyway where no CTA is named.
    #[serde(alias = "all_ctas")]
    pub all_ctas: Option<bool>,
    /// Name of the entry function.
    pub entry: Option<String>,
    /// Architecture for which CUDA is compiled.
    pub arch: Option<String>,
    /// Flags of the compiler of CUDA; those of all layers together.
    #[serde(alias = "nvcc_flag", deserialize_with = "build::flags")]
    pub nvcc_flag: Vec<String>,
    /// Bindings of both kernels.
    pub args: IndexMap<String, ArgText>,
    /// Pairs of parameters.
    #[serde(deserialize_with = "loose::pairs")]
    pub map: Vec<(String, String)>,
    /// Pointers that may overlap.
    #[serde(deserialize_with = "loose::pairs")]
    pub alias: Vec<(String, String)>,
    /// Names of parameters.
    pub names: IndexMap<String, String>,
    /// Parts of outputs that are compared.
    pub only: Vec<String>,
    /// Arrays that no parameter is.
    pub buffers: IndexMap<String, ArgText>,
    /// What is known of the data.
    pub assume: Vec<String>,
    /// Extent of dynamic shared memory.
    #[serde(alias = "dynamic_shared", deserialize_with = "loose::number")]
    pub dynamic_shared: Option<u64>,
    /// Lock-step warps.
    #[serde(alias = "warp_sync")]
    pub warp_sync: Option<bool>,
    /// Warnings that count as defects.
    pub strict: Option<bool>,
    /// Every launch that nothing binds.
    pub any: Option<bool>,
    /// Kinds of warnings that make the exit status 1; those of all layers together.
    pub deny: Vec<String>,
    /// Kinds of denied warnings that an entry must have.
    pub denied: Vec<String>,
    /// No recovery of constants.
    #[serde(alias = "exact_constants")]
    pub exact_constants: Option<bool>,
    /// Finite masks stand for minus infinity.
    #[serde(alias = "masks_are_infinite")]
    pub masks_are_infinite: Option<bool>,
    /// Accept proofs by evaluation at random points.
    pub probabilistic: Option<bool>,
    /// Compare bits.
    pub bits: Option<bool>,
    /// Read from built code what the assembler joins; for a target, if one is named. No manifest says so.
    #[serde(skip)]
    pub sass: Option<Option<String>>,
    /// Say which synchronising operations a race needs.
    pub slack: Option<bool>,
    /// One file holds the reference and the optimized kernel. No manifest says so.
    #[serde(skip)]
    pub in_one_file: bool,
    /// Places in the text of synchronising operations that the kernel is looked at without. No manifest says so.
    #[serde(skip)]
    pub without: Vec<u32>,
    /// Report differences of precision.
    pub precision: Option<bool>,
    /// Measure what rounding does, on so many inputs.
    #[serde(deserialize_with = "loose::samples")]
    pub rounding: Option<u64>,
    /// Say whether the bits of outputs are the same for every schedule.
    pub deterministic: Option<bool>,
    /// Make a certificate of a proof.
    #[serde(skip)]
    pub certificate: Option<bool>,
    /// Architecture whose wmma layout is assumed.
    #[serde(alias = "wmma_layout")]
    pub wmma_layout: Option<String>,
    /// The seed of contents that are drawn.
    #[serde(deserialize_with = "loose::number")]
    pub seed: Option<u64>,
    /// Seconds.
    #[serde(deserialize_with = "loose::seconds")]
    pub timeout: Option<f64>,
    /// Units of work for each verdict.
    #[serde(deserialize_with = "loose::number")]
    pub budget: Option<u64>,
    /// Bytes.
    #[serde(alias = "memory_limit", deserialize_with = "loose::number")]
    pub memory_limit: Option<u64>,
    /// The lists of sizes, which are read before what they fill.
    #[serde(rename = "for")]
    pub lists: IgnoredAny,
    /// The sizes of the instance.
    #[serde(skip)]
    pub sizes: Sizes,
    /// True for `[defaults]`.
    #[serde(skip)]
    pub is_default: bool,
}

/// Three extents; missing ones are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triple(pub [u32; 3]);

/// Three indices; missing ones are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cta(pub [u32; 3]);

/// The text of a binding's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgText(pub String);

impl ArgText {
    /// Makes the path of contents relative to `base`.
    fn rebase(&mut self, base: &Path) {
        if let Some((array, contents)) = self.0.split_once('=')
            && let Some(path) = contents.trim().strip_prefix('@')
        {
            let path = base.join(path.trim());
            self.0 = format!("{array}=@{}", path.display());
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    One(u32),
    Many(Vec<Item>),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    Number(u32),
    Text(String),
}

impl Number {
    fn read(self, rest: u32) -> Result<[u32; 3], String> {
        match self {
            Number::One(n) => Ok([n, rest, rest]),
            Number::Text(text) => triple(&text, rest),
            Number::Many(list) if (1..=3).contains(&list.len()) => {
                let mut out = [rest; 3];
                for (slot, item) in out.iter_mut().zip(list) {
                    *slot = match item {
                        Item::Number(n) => n,
                        Item::Text(text) => {
                            let number = text.trim().parse();
                            number.map_err(|_| format!("`{text}` is no number below 2^32"))?
                        }
                    };
                }
                Ok(out)
            }
            Number::Many(_) => Err("one to three numbers are needed".into()),
        }
    }
}

impl<'de> Deserialize<'de> for Triple {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(d)?;
        number.read(1).map(Triple).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Cta {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(d)?;
        number.read(0).map(Cta).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for ArgText {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Int(i64),
            Float(f64),
            Text(String),
        }
        Ok(ArgText(match Written::deserialize(d)? {
            Written::Int(v) => v.to_string(),
            Written::Float(v) => format!("{v:?}"),
            Written::Text(text) => text,
        }))
    }
}

impl Settings {
    /// Makes the paths of kernels and of contents relative to `base`.
    pub fn rebase(&mut self, base: &Path) {
        if let Some(file) = self.formula.as_ref().and_then(|f| f.strip_prefix('@')) {
            self.formula = Some(format!("@{}", base.join(file).display()));
        }
        let args = self.args.values_mut().chain(self.buffers.values_mut());
        args.for_each(|arg| arg.rebase(base));
        let sides = [&mut self.kernel, &mut self.reference, &mut self.optimized];
        let sides = sides.into_iter().flatten().chain(&mut self.kernels);
        sides.for_each(|s| s.rebase(base));
    }
}

/// Which kernel of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// The only one.
    Kernel,
    /// The reference.
    Reference,
    /// The optimized one.
    Optimized,
}

impl Which {
    /// The word that reports and tables use.
    pub fn name(self) -> &'static str {
        match self {
            Which::Kernel => "kernel",
            Which::Reference => "reference",
            Which::Optimized => "optimized",
        }
    }

    /// The same as reports name it.
    pub fn part(self) -> Part {
        match self {
            Which::Kernel => Part::Kernel,
            Which::Reference => Part::Reference,
            Which::Optimized => Part::Optimized,
        }
    }

    fn of(self, s: &Settings) -> Option<&Side> {
        match self {
            Which::Kernel => s.kernel.as_ref(),
            Which::Reference => s.reference.as_ref(),
            Which::Optimized => s.optimized.as_ref(),
        }
    }
}

/// What all layers together say about one kernel.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// Which kernel.
    pub which: Which,
    /// Its place in a sequence.
    pub step: Option<u32>,
    /// The PTX file.
    pub file: PathBuf,
    /// Compiler settings of a CUDA file.
    pub build: Build,
    /// Name of the entry function, or a unique part of it.
    pub entry: Option<String>,
    /// Where the other kernel of the pair is in the same file, what is said of its entry.
    pub beside: Option<Option<String>>,
    /// Launch.
    pub launch: LaunchSpec,
    /// Bindings, lowest layer first.
    pub args: Vec<Arg>,
    /// Parameters that point to one array.
    pub alias: Vec<(Key, Key)>,
    /// What is known of the data.
    pub assume: Vec<Fact>,
    /// Names of parameters and fields.
    pub names: Vec<(Key, String)>,
    /// Parts of outputs that are compared.
    pub only: Vec<Only>,
    /// Arrays that no parameter is.
    pub buffers: Vec<(String, ArrayDecl)>,
    /// Places in the text of synchronising operations that are left out.
    pub without: Vec<u32>,
}

/// What all layers together say about the run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pairs of parameters.
    pub map: Vec<(Key, Key)>,
    /// What names of sizes stand for.
    pub sizes: Sizes,
    /// Warnings that count as defects.
    pub strict: bool,
    /// A race is looked for in every launch that nothing binds.
    pub any: bool,
    /// Kinds of warnings that make the exit status 1.
    pub deny: Vec<WarningKind>,
    /// Rounded constants are never read as the numbers that they stand for.
    pub exact_constants: bool,
    /// Finite constants of a size that only masks have stand for minus infinity.
    pub masks_are_infinite: bool,
    /// Proofs by random evaluation count.
    pub probabilistic: bool,
    /// What is compared are bits.
    pub bits: bool,
    /// What the assembler joins is read from the code that it builds, for this target if one is named.
    pub sass: Option<Option<String>>,
    /// Which synchronising operations are needed is asked too.
    pub slack: bool,
    /// What a compiler may join it joins everywhere or nowhere.
    pub contracts_alike: bool,
    /// People are told where the kernels round to narrow formats.
    pub precision: bool,
    /// Inputs on which rounding is measured.
    pub rounding: u64,
    /// It is said whether the bits of outputs are the same for every schedule.
    pub deterministic: bool,
    /// A certificate is made of a proof.
    pub certificate: bool,
    /// Wall-clock limit; none where there is a budget and nothing was said of time.
    pub timeout: Option<Duration>,
    /// Units of work that the verdict may take.
    pub budget: Option<u64>,
    /// Memory limit in bytes.
    pub memory_limit: Option<u64>,
    /// The seed of contents that are drawn.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            map: Vec::new(),
            sizes: Sizes::default(),
            strict: false,
            any: false,
            deny: Vec::new(),
            exact_constants: false,
            masks_are_infinite: false,
            probabilistic: false,
            bits: false,
            sass: None,
            slack: false,
            contracts_alike: false,
            precision: false,
            rounding: 0,
            deterministic: false,
            certificate: false,
            timeout: Some(DEFAULT_TIMEOUT),
            budget: None,
            memory_limit: None,
            seed: 0,
        }
    }
}

/// What is taken for granted of the assembler, among what is said of the data.
const CONTRACTS_ALIKE: &str = "contracts-alike";

/// The layers of settings, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a>(pub &'a [&'a Settings]);

impl Layers<'_> {
    /// What concerns neither kernel alone.
    pub fn options(self) -> Result<Options, SpecError> {
        let mut out = Options {
            sizes: self.sizes(),
            ..Options::default()
        };
        let mut timed = None;
        for layer in self.0 {
            if let Some(strict) = layer.strict {
                out.strict = strict;
            }
            out.any = layer.any.unwrap_or(out.any);
            for word in &layer.deny {
                out.deny.extend(denied(word)?);
            }
            if let Some(exact) = layer.exact_constants {
                out.exact_constants = exact;
            }
            out.masks_are_infinite = (layer.masks_are_infinite).unwrap_or(out.masks_are_infinite);
            out.probabilistic = layer.probabilistic.unwrap_or(out.probabilistic);
            out.precision = layer.precision.unwrap_or(out.precision);
            out.bits = layer.bits.unwrap_or(out.bits);
            out.sass = layer.sass.clone().or(out.sass);
            out.slack = layer.slack.unwrap_or(out.slack);
            out.contracts_alike |= layer.assume.iter().any(|a| a.trim() == CONTRACTS_ALIKE);
            out.rounding = layer.rounding.unwrap_or(out.rounding);
            out.deterministic = layer.deterministic.unwrap_or(out.deterministic);
            out.certificate = layer.certificate.unwrap_or(out.certificate);
            if let Some(seconds) = layer.timeout {
                let timeout = Duration::try_from_secs_f64(seconds).ok();
                timed = Some(timeout.ok_or(SpecError::BadTimeout { seconds })?);
            }
            out.budget = layer.budget.or(out.budget);
            out.seed = layer.seed.unwrap_or(out.seed);
            out.memory_limit = layer.memory_limit.or(out.memory_limit);
            if !layer.map.is_empty() {
                out.map.clear();
            }
            for (reference, optimized) in &layer.map {
                let key = |text: &str| {
                    Key::parse(text).map_err(|why| SpecError::BadMap {
                        text: format!("{reference}={optimized}"),
                        why,
                    })
                };
                out.map.push((key(reference)?, key(optimized)?));
            }
        }
        out.timeout = timed.or(out.timeout.filter(|_| out.budget.is_none()));
        Ok(out)
    }

    /// Pairs of parameters that point to one array; the highest layer that names any counts.
    fn alias(self) -> Result<Vec<(Key, Key)>, SpecError> {
        let named = self.0.iter().rev().find(|l| !l.alias.is_empty());
        let pairs = named.into_iter().flat_map(|l| &l.alias);
        let read = |(a, b): &(String, String)| {
            let key = |text: &str| {
                Key::parse(text).map_err(|why| SpecError::BadAlias {
                    text: format!("{a}={b}"),
                    why,
                })
            };
            Ok((key(a)?, key(b)?))
        };
        pairs.map(read).collect()
    }

    /// What all layers say of the data.
    fn assume(self) -> Result<Vec<Fact>, SpecError> {
        let all = self.0.iter().flat_map(|l| &l.assume);
        let of_data = all.filter(|text| text.trim() != CONTRACTS_ALIKE);
        of_data.map(|text| Fact::parse(text)).collect()
    }

    /// The formula that is the reference, if it is no kernel: of the highest layer that says which.
    pub fn formula(self) -> Result<Option<FormulaText>, SpecError> {
        let mut out = None;
        for s in self.0 {
            let side = s.reference.as_ref();
            let own = side.and_then(|r| r.formula.clone());
            let flag = s.formula.as_deref().map(FormulaText::parse);
            let file = side.is_some_and(|r| r.file.is_some() || !r.launches.is_empty());
            match (own, flag, file) {
                (None, None, false) => {}
                (None, None, true) => out = None,
                (Some(f), None, false) | (None, Some(f), false) => out = Some(f),
                _ => return Err(SpecError::TwoReferences),
            }
        }
        Ok(out)
    }

    /// The sizes of the instance.
    pub fn sizes(self) -> Sizes {
        let named = self.0.iter().rev().find(|l| !l.sizes.is_empty());
        named.map(|l| l.sizes.clone()).unwrap_or_default()
    }

    /// Names of parameters: what a higher layer says of a key counts.
    fn names(self) -> Result<Vec<(Key, String)>, SpecError> {
        let mut all: IndexMap<&str, &str> = IndexMap::new();
        for (key, name) in self.0.iter().flat_map(|l| &l.names) {
            all.insert(key.trim(), name);
        }
        all.iter()
            .map(|(key, name)| names::parse(key, name))
            .collect()
    }

    /// Arrays that no parameter is: what a higher layer says of a name counts.
    fn buffers(self) -> Result<Vec<(String, ArrayDecl)>, SpecError> {
        let mut all: IndexMap<&str, &str> = IndexMap::new();
        for (name, array) in self.0.iter().flat_map(|l| &l.buffers) {
            all.insert(name.trim(), &array.0);
        }
        let read = all
            .iter()
            .map(|(name, array)| pointers::buffer(name, array));
        read.collect()
    }

    /// Parts of outputs; the highest layer that names any counts.
    fn only(self) -> Result<Vec<Only>, SpecError> {
        let named = self.0.iter().rev().find(|l| !l.only.is_empty());
        let all = named.into_iter().flat_map(|l| &l.only);
        all.map(|text| Only::parse(text)).collect()
    }

    /// What concerns one kernel, of which there is one launch.
    pub fn kernel(self, which: Which) -> Result<KernelSpec, SpecError> {
        match self.sequence(which)? {
            None => self.launch(which, None),
            Some(_) => Err(SpecError::OneLaunch),
        }
    }

    /// What concerns each launch of one side.
    pub fn launches(self, which: Which) -> Result<Vec<KernelSpec>, SpecError> {
        match self.sequence(which)? {
            None => Ok(vec![self.launch(which, None)?]),
            Some(n) => (0..n).map(|i| self.launch(which, Some(i))).collect(),
        }
    }

    /// The number of launches of a side that is a list of them: of the highest layer that says what it is.
    fn sequence(self, which: Which) -> Result<Option<usize>, SpecError> {
        let mut above = false;
        for side in self.0.iter().rev().filter_map(|s| which.of(s)) {
            match (side.launches.len(), &side.file) {
                (0, None) => above |= !side.own.is_empty(),
                (0, Some(_)) => return Ok(None),
                _ if above => {
                    return Err(SpecError::BesideLaunches {
                        which: which.name(),
                    });
                }
                (n, _) => return Ok(Some(n)),
            }
        }
        Ok(None)
    }

    /// What is said of the entry of the other kernel, where one file holds both.
    fn beside(self, which: Which) -> Option<Option<String>> {
        let other = match which {
            Which::Kernel => return None,
            Which::Reference => Which::Optimized,
            Which::Optimized => Which::Reference,
        };
        let layers = self.0.iter().rev();
        let mut named = layers
            .clone()
            .filter_map(|s| other.of(s)?.own.entry.clone());
        layers.clone().any(|s| s.in_one_file).then(|| named.next())
    }

    fn launch(self, which: Which, step: Option<usize>) -> Result<KernelSpec, SpecError> {
        let (mut file, mut entry, mut args) = (None, None, Vec::new());
        let mut launch = LaunchSpec::default();
        for (layer, &s) in self.0.iter().enumerate() {
            let none = SideSettings::default();
            let side = which.of(s).map(|side| side.launch(step.unwrap_or(0)));
            let own = side.map_or(&none, |side| &side.own);
            file = side.and_then(|s| s.file.clone()).or(file);
            entry = own.entry.clone().or(s.entry.clone()).or(entry);
            let block = block(own.threads, own.block)?.or(block(s.threads, s.block)?);
            launch.block = block.or(launch.block);
            launch.grid = own.grid.or(s.grid).map(|t| t.0).or(launch.grid);
            launch.cluster = s.cluster.map(|t| t.0).or(launch.cluster);
            if s.all_ctas == Some(true) {
                launch.cta = None;
            }
            launch.cta = own.cta.or(s.cta).map(|t| t.0).or(launch.cta);
            launch.dynamic_shared = own
                .dynamic_shared
                .or(s.dynamic_shared)
                .or(launch.dynamic_shared);
            launch.warp_sync = s.warp_sync.unwrap_or(launch.warp_sync);
            if let Some(arch) = &s.wmma_layout {
                if arch != "sm_80" {
                    return Err(SpecError::UnknownLayout { arch: arch.clone() });
                }
                launch.wmma_layout = true;
            }
            for (own, table) in [(false, &s.args), (true, &own.args)] {
                let layer = 2 * layer + own as usize;
                for (key, value) in table {
                    args.push(Arg {
                        optional: s.is_default,
                        ..arg(key, &value.0, layer, own)?
                    });
                }
            }
        }
        let which_name = which.name();
        let file = file.ok_or(SpecError::NoFile { which: which_name })?;
        if step.is_some() && launch.cta.is_some() {
            return Err(SpecError::CtaOfSequence);
        }
        Ok(KernelSpec {
            which,
            step: step.map(|i| i as u32),
            file,
            build: Build {
                arch: self.0.iter().rev().find_map(|l| l.arch.clone()),
                flags: self.0.iter().flat_map(|l| l.nvcc_flag.clone()).collect(),
            },
            entry,
            beside: self.beside(which),
            launch,
            args,
            alias: self.alias()?,
            assume: self.assume()?,
            names: self.names()?,
            only: self.only()?,
            buffers: self.buffers()?,
            without: self.0.iter().flat_map(|l| l.without.clone()).collect(),
        })
    }
}

impl KernelSpec {
    /// Finds what the contents of arrays are.
    pub fn load(&mut self, from: Sources) -> Result<(), SpecError> {
        let args = self.args.iter_mut().map(|arg| match &mut arg.value {
            ArgValue::Array(decl) => Some((&arg.text, decl, arg.key.stream())),
            _ => None,
        });
        let buffers = self.buffers.iter_mut();
        let buffers = buffers.map(|(name, decl)| Some((&*name, decl, stream_of(name))));
        for (text, decl, stream) in args.chain(buffers).flatten() {
            let Some(mut contents) = decl.contents.take() else {
                continue;
            };
            let loaded = contents.load(decl, stream, from);
            loaded.map_err(|why| SpecError::Contents {
                text: shortened(text),
                why,
            })?;
            decl.contents = Some(contents);
        }
        Ok(())
    }
}

/// A binding as messages show it: a list of contents may be long.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 120;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// The word that stands for every kind of warning.
const EVERY_WARNING: &str = "warnings";

/// The kinds of warnings that a word of `deny` names.
pub fn denied(word: &str) -> Result<Vec<WarningKind>, SpecError> {
    if word == EVERY_WARNING {
        return Ok(WarningKind::ALL.to_vec());
    }
    if let Some(kind) = WarningKind::parse(word) {
        return Ok(vec![kind]);
    }
    let mut words = WarningKind::words();
    words.push(EVERY_WARNING);
    let near = match kinds::near(word, &words).as_slice() {
        [] => String::new(),
        near => format!(" (near: {})", near.join(", ")),
    };
    let word = word.to_string();
    Err(SpecError::UnknownKind { word, near })
}

fn block(threads: Option<u32>, block: Option<Triple>) -> Result<Option<[u32; 3]>, SpecError> {
    match (threads, block) {
        (Some(_), Some(_)) => Err(SpecError::ThreadsAndBlock),
        (Some(n), None) => Ok(Some([n, 1, 1])),
        (None, block) => Ok(block.map(|t| t.0)),
    }
}

fn arg(key: &str, value: &str, layer: usize, own: bool) -> Result<Arg, SpecError> {
    let text = format!("{key}={value}");
    let bad = |why| SpecError::BadArg {
        text: text.clone(),
        why,
    };
    Ok(Arg {
        key: Key::parse(key).map_err(bad)?,
        value: ArgValue::parse(value).map_err(bad)?,
        text: text.clone(),
        layer,
        own,
        optional: false,
    })
}

#[cfg(test)]
mod tests;
