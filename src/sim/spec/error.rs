//! What can be wrong with a launch or a binding.

use std::sync::Arc;

use thiserror::Error;

use crate::answer::kinds::near;
use crate::answer::{ErrorKind, Failure, Kind, Part};
use crate::diag::{Diagnostic, Source, Span};
use crate::kernel::Kernel;

use super::KernelSpec;

/// An input error of the launch or the bindings.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // The fields are what the sentences say.
pub enum SpecError {
    #[error(
        "`{arch}` is not an architecture whose wmma layout is known: --wmma-layout takes sm_80"
    )]
    UnknownLayout { arch: String },
    #[error(
        "no file is given for the {which} kernel: an entry names it with `{which} = \"FILE.ptx\"`"
    )]
    NoFile { which: &'static str },
    #[error("this command takes one launch, and not a sequence of them")]
    OneLaunch,
    #[error(
        "the {which} is a list of launches, so that nothing can be said of it as a whole: say it of each launch in the list"
    )]
    BesideLaunches { which: &'static str },
    #[error(
        "all CTAs of a launch of a sequence are run, since the next one reads what they write: leave out `cta`"
    )]
    CtaOfSequence,
    #[error("the reference is given twice: it is either a formula or a kernel, once")]
    TwoReferences,
    #[error("`{kernel}` has no .reqntid: give its block with {flag}{hint}")]
    NoBlock {
        kernel: String,
        flag: &'static str,
        hint: String,
    },
    #[error("the block {given} has more threads than .maxntid of `{kernel}` allows, {most}")]
    BlockAboveMaxntid {
        kernel: String,
        given: String,
        most: u64,
    },
    #[error(
        "`{kernel}` declares {bytes} bytes of static shared memory; a kernel can have {most}: use .extern .shared for more"
    )]
    TooMuchShared {
        kernel: String,
        bytes: u64,
        most: u64,
    },
    #[error(
        "the block {given} contradicts .reqntid {required} of `{kernel}`: leave it out, or give {required}"
    )]
    BlockAgainstReqntid {
        kernel: String,
        given: String,
        required: String,
    },
    #[error("give either threads or block, not both")]
    ThreadsAndBlock,
    #[error(
        "a CTA cannot have the block {block}: at most 1024,1024,64 and 1024 threads, at least one"
    )]
    BadBlock { block: String },
    #[error("{grid} is not a grid: at most 2147483647,65535,65535, at least 1")]
    BadGrid { grid: String },
    #[error("{cluster} is not a cluster: at most 16 CTAs, at least one")]
    BadCluster { cluster: String },
    #[error(
        "the grid {grid} is not a multiple of the cluster {cluster}: give the grid with --grid"
    )]
    ClusterInGrid { cluster: String, grid: String },
    #[error(
        "the cluster {given} contradicts .reqnctapercluster {required} of `{kernel}`: leave it out, or give {required}"
    )]
    ClusterAgainstDirective {
        kernel: String,
        given: String,
        required: String,
    },
    #[error("CTA {cta} is outside the grid {grid}: give the grid with --grid")]
    CtaOutsideGrid { cta: String, grid: String },
    #[error(
        "{bytes} bytes of dynamic shared memory are more than any device has: give what the launch gives, in bytes"
    )]
    BadDynamicShared { bytes: u64 },
    #[error("`{word}` is not a kind of warning{near}; `volta explain` lists the kinds")]
    UnknownKind { word: String, near: String },
    #[error("a timeout of {seconds} seconds is not possible")]
    BadTimeout { seconds: f64 },
    #[error("the binding `{text}` cannot be read: {why}")]
    BadArg { text: String, why: String },
    #[error("the contents of `{text}` cannot be taken: {why}")]
    Contents { text: String, why: String },
    #[error(
        "`{reference}` and `{optimized}` are one array, but are given different contents: give them once, \
         or pair other parameters with --map"
    )]
    TwoContents {
        reference: String,
        optimized: String,
    },
    #[error("the pairing `{text}` cannot be read: {why}")]
    BadMap { text: String, why: String },
    #[error("the fact `{text}` cannot be assumed: {why}")]
    BadFact { text: String, why: String },
    #[error("the alias `{text}` cannot be read: {why}")]
    BadAlias { text: String, why: String },
    #[error("the name `{text}` cannot be given: {why}")]
    BadName { text: String, why: String },
    #[error("the array of pointers `{array}` cannot be bound: {why}")]
    BadPointers { array: String, why: String },
    #[error("the binding `{key}={view}` of `{kernel}` cannot be made: {why}")]
    BadView {
        key: String,
        view: String,
        kernel: String,
        why: String,
    },
    #[error(
        "`{param}` of `{kernel}` is a pointer, and no buffer is bound to it: bind it with `\"{position}\" = \"$NAME\"`, \
         where `buffers` declares NAME, or with 0 (null)"
    )]
    NoBuffer {
        param: String,
        kernel: String,
        position: u32,
    },
    #[error(
        "`{param}` of `{kernel}` is bound to an array of its own, which no other launch sees: declare it in `buffers`, \
         and bind it with `\"{position}\" = \"$NAME\"`"
    )]
    OwnArray {
        param: String,
        kernel: String,
        position: u32,
    },
    #[error(
        "`{param}` of `{kernel}` has no value, and in a sequence no parameter of the other side is paired with it: bind it \
         with a number, or with `\"{position}\" = \"$NAME\"`, where NAME is a buffer of one element, `in:f32[1]`"
    )]
    NoValue {
        param: String,
        kernel: String,
        position: u32,
    },
    #[error("`{key}` is not for sequences: buffers have names, by which the sides are paired")]
    NotForSequences { key: &'static str },
    #[error("{which}, launch {launch}: {error}")]
    InLaunch {
        which: &'static str,
        launch: u32,
        error: Box<SpecError>,
    },
    #[error("the part `{text}` cannot be compared: {why}")]
    BadOnly { text: String, why: String },
    #[error(
        "the alias `{text}` names no two parameters of {kernels}; their parameters are {params}"
    )]
    NoSuchAlias {
        text: String,
        kernels: String,
        params: String,
    },
    #[error(
        "the alias `{text}` needs two pointers, but `{param}` of `{kernel}` is bound to a number: \
         leave out its --arg"
    )]
    AliasOfNumber {
        text: String,
        param: String,
        kernel: String,
    },
    #[error("the alias `{text}` needs two pointers, but `{param}` of `{kernel}` is {ty}")]
    AliasOfScalar {
        text: String,
        param: String,
        kernel: String,
        ty: String,
    },
    #[error(
        "the binding `{text}` names no parameter of {kernels}{near}; its parameters are {params}"
    )]
    NoSuchParam {
        text: String,
        near: String,
        kernels: String,
        params: String,
    },
    #[error("the bindings `{first}` and `{second}` name the same bytes of `{param}`")]
    BoundTwice {
        first: String,
        second: String,
        param: String,
    },
    #[error("the binding `{text}` does not fit `{param}` of `{kernel}`, which is {ty}: {why}")]
    DoesNotFit {
        text: String,
        param: String,
        kernel: String,
        ty: Box<str>,
        why: String,
    },
    #[error(
        "the binding `{text}` names parameter {first} of the reference and parameter {second} of the optimized kernel, which are not \
         paired: pair them with --map {name}={name}, or bind each with --ref-arg and --opt-arg"
    )]
    NamesApart {
        text: String,
        name: String,
        first: usize,
        second: usize,
    },
    #[error(
        "`{param}` of the {bound} kernel is bound to a number, and `{partner}` of the {free} one, which \
         is paired with it, is not: give {flags}, or --arg for both"
    )]
    OneSided {
        bound: &'static str,
        param: String,
        free: &'static str,
        partner: String,
        flags: String,
    },
    #[error(
        "parameter {position} is `{reference}`, {first}, in the reference and `{optimized}`, {second}, in the \
         optimized kernel, so that they are not paired, and one has no value: give it to both with --arg {position}=VALUE, or pair others with --map"
    )]
    Widths {
        position: u32,
        reference: String,
        first: String,
        optimized: String,
        second: String,
    },
    #[error(
        "the binding `{text}` is of `{reference}`, {first}, in the reference and of `{optimized}`, {second}, in the \
         optimized kernel, which are not paired: pair what belongs together with --map, or give each its value \
         with --ref-arg and --opt-arg"
    )]
    TwoMeanings {
        text: String,
        reference: String,
        first: String,
        optimized: String,
        second: Box<str>,
    },
    #[error("the pairing `{text}` names no parameter of `{kernel}`; its parameters are {params}")]
    NoSuchMapped {
        text: String,
        kernel: String,
        params: String,
    },
    #[error("the pairing `{text}` names a parameter that is already paired")]
    MappedTwice { text: String },
    #[error("the pairing `{text}` is of different types: {reference} and {optimized}")]
    MappedTypes {
        text: String,
        reference: String,
        optimized: String,
    },
    #[error(
        "`{reference}` and `{optimized}` are one array, but bound as {first} and {second}: \
         bind them alike, or pair other parameters with --map"
    )]
    DeclaredTwice {
        reference: String,
        optimized: String,
        first: String,
        second: String,
    },
}

impl SpecError {
    /// The same, found in a launch of a sequence.
    pub(super) fn of(self, spec: &KernelSpec) -> SpecError {
        match spec.step {
            None => self,
            Some(launch) => SpecError::InLaunch {
                which: spec.which.name(),
                launch,
                error: Box::new(self),
            },
        }
    }

    /// The name of the kernel that it is about, if it is about one.
    fn kernel(&self) -> Option<&str> {
        use SpecError::*;
        match self {
            NoBlock { kernel, .. }
            | BlockAboveMaxntid { kernel, .. }
            | TooMuchShared { kernel, .. }
            | BlockAgainstReqntid { kernel, .. }
            | ClusterAgainstDirective { kernel, .. }
            | AliasOfNumber { kernel, .. }
            | AliasOfScalar { kernel, .. }
            | DoesNotFit { kernel, .. }
            | NoSuchMapped { kernel, .. } => Some(kernel),
            NoSuchParam { kernels, .. } => Some(kernels.trim_matches('`')),
            UnknownLayout { .. }
            | NoFile { .. }
            | TwoReferences
            | ThreadsAndBlock
            | BadBlock { .. }
            | BadGrid { .. }
            | BadCluster { .. }
            | ClusterInGrid { .. }
            | CtaOutsideGrid { .. }
            | BadDynamicShared { .. }
            | UnknownKind { .. }
            | BadTimeout { .. }
            | BadArg { .. }
            | Contents { .. }
            | TwoContents { .. }
            | BadMap { .. }
            | BadFact { .. }
            | BadAlias { .. }
            | BadName { .. }
            | BadPointers { .. }
            | BadOnly { .. }
            | NoSuchAlias { .. }
            | BoundTwice { .. }
            | NamesApart { .. }
            | OneSided { .. }
            | Widths { .. }
            | TwoMeanings { .. }
            | MappedTwice { .. }
            | MappedTypes { .. }
            | OneLaunch
            | BesideLaunches { .. }
            | CtaOfSequence
            | BadView { .. }
            | NoBuffer { .. }
            | OwnArray { .. }
            | NoValue { .. }
            | NotForSequences { .. }
            | DeclaredTwice { .. } => None,
            InLaunch { error, .. } => error.kernel(),
        }
    }

    /// Which of these kernels it is about: the only one, or the one that it names, unless both have that name.
    pub fn part(&self, kernels: &[(&Kernel, &KernelSpec)]) -> Option<Part> {
        if let [(_, spec)] = kernels {
            return Some(spec.which.part());
        }
        if let SpecError::InLaunch { which, .. } = self {
            let mut all = kernels.iter().map(|k| k.1.which);
            return all.find(|w| w.name() == *which).map(|w| w.part());
        }
        let named = |k: &&(&Kernel, &KernelSpec)| self.kernel() == Some(k.0.name.as_str());
        let mut found = kernels.iter().filter(named);
        let first = found.next()?;
        found.next().is_none().then(|| first.1.which.part())
    }

    /// The error that a command ends with, about one of these kernels if it names one.
    pub fn about(&self, kernels: &[(&Kernel, &KernelSpec)]) -> Failure {
        let mut out = Failure::new(self.kind(), self.to_string());
        out.which = self.part(kernels);
        out
    }

    /// The kind that reports name.
    pub fn kind(&self) -> ErrorKind {
        use SpecError::*;
        match self {
            UnknownLayout { .. }
            | NoBlock { .. }
            | BlockAboveMaxntid { .. }
            | TooMuchShared { .. }
            | BlockAgainstReqntid { .. }
            | ClusterAgainstDirective { .. }
            | ThreadsAndBlock
            | BadBlock { .. }
            | BadGrid { .. }
            | BadCluster { .. }
            | ClusterInGrid { .. }
            | CtaOutsideGrid { .. }
            | CtaOfSequence
            | BadDynamicShared { .. } => ErrorKind::Launch,
            Contents { .. } | TwoContents { .. } => ErrorKind::Contents,
            BadFact { .. } => ErrorKind::Fact,
            BadName { .. } | BadPointers { .. } | BadOnly { .. } => ErrorKind::Binding,
            BadView { .. }
            | NoBuffer { .. }
            | OwnArray { .. }
            | NoValue { .. }
            | NotForSequences { .. } => ErrorKind::Binding,
            InLaunch { error, .. } => error.kind(),
            OneLaunch
            | BesideLaunches { .. }
            | TwoReferences
            | UnknownKind { .. }
            | BadTimeout { .. } => ErrorKind::Usage,
            NoFile { .. } => ErrorKind::Manifest,
            BadArg { .. }
            | BadMap { .. }
            | BadAlias { .. }
            | NoSuchAlias { .. }
            | AliasOfNumber { .. }
            | AliasOfScalar { .. }
            | NoSuchParam { .. }
            | BoundTwice { .. }
            | DoesNotFit { .. }
            | NamesApart { .. }
            | OneSided { .. }
            | Widths { .. }
            | TwoMeanings { .. }
            | NoSuchMapped { .. }
            | MappedTwice { .. }
            | MappedTypes { .. }
            | DeclaredTwice { .. } => ErrorKind::Binding,
        }
    }
}

impl From<SpecError> for Failure {
    fn from(e: SpecError) -> Self {
        Failure::new(e.kind(), e.to_string())
    }
}

/// A manifest or spec file that cannot be read, with the place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TomlError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
}

impl TomlError {
    /// The error that a command ends with, in the text of the file.
    pub fn at(self, source: &Arc<Source>) -> Failure {
        let kind = ErrorKind::Manifest;
        let mut d = Diagnostic::error(kind.name(), self.message);
        if let Some(span) = self.span {
            d = d.label(span, "");
        }
        Failure::at(kind, source, vec![d])
    }
}

/// A message of the reader of TOML: of a key that it does not know it lists all, and the nearest is what was meant.
fn with_nearest(message: &str) -> String {
    let unknown = |text: &str| -> Option<String> {
        let (key, all) = text
            .strip_prefix("unknown field `")?
            .split_once("`, expected ")?;
        let all = all.split('`').skip(1).step_by(2);
        // A key with an underscore is another spelling of one with a dash.
        let all: Vec<&str> = all.filter(|key| !key.contains('_')).collect();
        let meant = match near(key, &all).first() {
            Some(first) => format!(" (did you mean `{first}`?)"),
            None => String::new(),
        };
        let all = all.join(", ");
        Some(format!("unknown field `{key}`{meant}; the keys are {all}"))
    };
    unknown(message).unwrap_or_else(|| message.to_string())
}

impl From<toml::de::Error> for TomlError {
    fn from(e: toml::de::Error) -> Self {
        let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let span = e.span().map(|s| Span {
            start: place(s.start),
            end: place(s.end),
        });
        TomlError {
            message: with_nearest(e.message()),
            span,
        }
    }
}
