//! Answers as text: a formatter for each output format, and how runs and errors become answers.

use std::fmt;
use std::sync::Arc;

use crate::answer::kernel::Options as Asked;
use crate::answer::{
    self, Bound, Each, ErrorKind, Inputs, KernelAnswer, Kind, Launched, Outputs, Part, Precision,
    RunCounts, Schema, Scope, Site, SourceLine, Subject, schema,
};
use crate::diag::{Diagnostic, MOST_ERRORS, Source};
use crate::explain::{Counterexample, OutputSummary};
use crate::foreign::{sentence, styled, visible};
use crate::kernel::{self, Kernel};
use crate::spec::{KernelSpec, Number, Options, Sizes, SpecError, TomlError};

mod cause;
pub mod coverage;
pub mod explain;
pub mod gate;
pub mod html;
pub mod human;
mod join;
pub mod json;
pub mod junit;
pub mod launches;
pub mod precision;
mod rounding;
pub mod sarif;
pub mod values;

pub use crate::answer::{Report, Verdict};
pub use launches::Ran;

/// Exit status of a usage or input error.
pub const EXIT_ERROR: u8 = 2;

/// Exit status where nothing is claimed.
pub const EXIT_UNKNOWN: u8 = 3;

/// A report as it is written: every output format is made from it, and it can be kept.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was found.
    pub report: Report,
    /// The text for people, styled.
    pub text: String,
    /// True if it was not computed now.
    pub cached: bool,
    /// The instances, where the command was run at several sizes.
    pub parts: Vec<AtSize>,
}

impl Answer {
    /// The exit status of the contract.
    pub fn exit(&self) -> u8 {
        self.report.exit()
    }
}

impl From<Report> for Answer {
    fn from(report: Report) -> Self {
        Answer {
            text: human::report(&report),
            report,
            cached: false,
            parts: Vec::new(),
        }
    }
}

/// One instance with its answer.
#[derive(Clone, Debug)]
pub struct AtSize {
    /// What the names of sizes stand for.
    pub sizes: Sizes,
    /// The answer.
    pub result: Result<Answer, Failure>,
}

/// What a report says about the launches of one side.
#[derive(Clone, Debug)]
pub struct Described {
    part: Part,
    is_sequence: bool,
    kernels: Vec<KernelAnswer>,
    /// Of a kernel alone.
    ctas: Option<Vec<[u32; 3]>>,
    launched: Vec<Launched>,
    bound: Vec<Vec<Bound>>,
    counts: RunCounts,
    /// The files and their SHA-256.
    files: Vec<(String, String)>,
}

/// A report of nothing but what was run, for the rest to be filled in.
pub fn begin(command: answer::Command, sides: Vec<Described>, options: &Options) -> Report {
    let mut scope = Scope {
        whole_grid: sides.iter().flat_map(|s| &s.kernels).all(|k| k.whole_grid),
        ..Scope::default()
    };
    let mut inputs = Inputs {
        options: asked(options),
        ..Inputs::default()
    };
    let mut stats = answer::Stats::default();
    let mut subjects = answer::Sides::default();
    for s in sides {
        match s.part {
            Part::Kernel => scope.ctas = s.ctas,
            Part::Reference => scope.reference_ctas = s.ctas,
            Part::Optimized => scope.optimized_ctas = s.ctas,
            Part::Pair | Part::Formula => {}
        }
        inputs.files.extend(s.files);
        let is_sequence = s.is_sequence;
        inputs.launch.put(s.part, Each::of(s.launched, is_sequence));
        inputs.bindings.put(s.part, Each::of(s.bound, is_sequence));
        stats.kernels.put(s.part, s.counts);
        let subject = match Each::of(s.kernels, is_sequence) {
            Each::One(kernel) => Subject::Kernel(kernel),
            Each::All(launches) => Subject::Sequence { launches },
        };
        subjects.put(s.part, subject);
    }
    Report {
        schema: Schema::V2,
        volta: schema::version(),
        command,
        verdict: Verdict::Unknown,
        values: None,
        scope,
        subjects,
        inputs,
        defects: Vec::new(),
        warnings: Vec::new(),
        denied: Vec::new(),
        unknown: Vec::new(),
        counterexample: None,
        slack: None,
        classes: None,
        sass: None,
        sizes: Default::default(),
        instances: Vec::new(),
        outputs: Outputs::Compared(Vec::new()),
        probabilistic: None,
        assumptions: Vec::new(),
        precision: Precision::default(),
        deterministic: None,
        determinism: None,
        rounding: None,
        certificate: None,
        stats,
        looked: Vec::new(),
    }
}

fn asked(o: &Options) -> Asked {
    Asked {
        map: o.map.iter().map(|(a, b)| format!("{a}={b}")).collect(),
        deny: o.deny.clone(),
        strict: o.strict,
        exact_constants: o.exact_constants,
        masks_are_infinite: o.masks_are_infinite,
        probabilistic: o.probabilistic,
        bits: o.bits,
        timeout: o.timeout.map(|t| t.as_secs_f64()),
        budget: o.budget,
        memory_limit: o.memory_limit,
    }
}

impl From<&Number> for Bound {
    fn from(n: &Number) -> Bound {
        Bound {
            parameter: n.position,
            name: n.name.clone(),
            offset: n.offset,
            r#type: n.ty.name().to_string(),
            bytes: n.hex(),
            field: n.field,
        }
    }
}

impl From<&OutputSummary> for answer::Output {
    fn from(o: &OutputSummary) -> Self {
        answer::Output {
            name: o.name.clone(),
            elements: o.elements,
            proved: o.proved,
            by: o.by.iter().map(|(t, n)| (t.to_string(), *n)).collect(),
        }
    }
}

impl From<Counterexample> for answer::Counterexample {
    fn from(c: Counterexample) -> Self {
        let mut inputs: indexmap::IndexMap<String, Vec<answer::InputElement>> = Default::default();
        for i in c.inputs {
            inputs
                .entry(i.name)
                .or_default()
                .push(answer::InputElement {
                    element: i.element,
                    r#type: i.ty,
                    value: i.value,
                });
        }
        answer::Counterexample {
            output: c.output,
            element: c.element,
            reference: c.reference,
            optimized: c.optimized,
            message: c.message,
            difference: c.difference,
            inputs,
            rows: None,
            machine: None,
        }
    }
}

impl From<&crate::decide::Chance> for answer::Chance {
    fn from(c: &crate::decide::Chance) -> Self {
        answer::Chance {
            elements: c.elements,
            points: c.points as u64,
            error: c.bound(),
            log2_error: c.error.ceil(),
        }
    }
}

impl From<&crate::explain::Counts> for answer::DecisionCounts {
    fn from(c: &crate::explain::Counts) -> Self {
        answer::DecisionCounts {
            conditions: c.conditions,
            by: c.by.iter().map(|(t, n)| (t.to_string(), *n)).collect(),
            terms: c.terms,
            candidates: c.candidates,
        }
    }
}

/// The source line of an instruction with the calls that it was inlined from.
pub fn source_line(kernel: &Kernel, pc: kernel::Pc) -> Option<SourceLine> {
    let loc = kernel.loc(pc)?;
    let frames = loc
        .inlined_from
        .iter()
        .map(|(file, line)| answer::finding::Frame {
            file: file.clone(),
            line: *line,
        });
    Some(SourceLine {
        file: loc.file.clone(),
        line: loc.line,
        inlined_from: frames.collect(),
    })
}

/// A usage or input error.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind.
    pub kind: ErrorKind,
    /// What it is about, if that is one of the kernels.
    pub which: Option<Part>,
    /// One or more messages.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that they point into.
    pub source: Option<Arc<Source>>,
    /// All instances, where the command was run at several sizes.
    pub instances: Vec<answer::Instance>,
}

impl Failure {
    /// An error without a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            which: None,
            diagnostics: vec![Diagnostic::error(kind.name(), message)],
            source: None,
            instances: Vec::new(),
        }
    }

    /// Errors in a text; of very many the first ones, and how many there are.
    pub fn at(kind: ErrorKind, source: &Arc<Source>, mut diagnostics: Vec<Diagnostic>) -> Failure {
        if diagnostics.len() > MOST_ERRORS {
            let code = diagnostics[0].code;
            let more = diagnostics.len() - MOST_ERRORS;
            diagnostics.truncate(MOST_ERRORS);
            diagnostics.push(Diagnostic::error(code, format!("{more} more errors")));
        }
        Failure {
            kind,
            which: None,
            diagnostics,
            source: Some(source.clone()),
            instances: Vec::new(),
        }
    }

    /// An error in a TOML file.
    pub fn toml(source: &Arc<Source>, e: TomlError) -> Failure {
        let kind = ErrorKind::Manifest;
        let mut d = Diagnostic::error(kind.name(), e.message);
        if let Some(span) = e.span {
            d = d.label(span, "");
        }
        Failure::at(kind, source, vec![d])
    }

    /// The same about one kernel.
    pub fn about(mut self, part: Part) -> Failure {
        self.which = Some(part);
        self
    }

    /// What the user can do about the first error.
    pub fn hint(&self) -> Option<String> {
        self.diagnostics.first()?.help.clone()
    }

    /// The message of the first error.
    pub fn message(&self) -> &str {
        self.diagnostics.first().map_or("", |d| &d.message)
    }

    /// The places of all errors.
    pub fn sites(&self) -> Vec<Site> {
        let Some(source) = &self.source else {
            return Vec::new();
        };
        let labels = self.diagnostics.iter().flat_map(|d| &d.labels);
        labels
            .map(|(span, what)| Site::new(source, *span, what))
            .collect()
    }

    /// The errors for people, with the lines that they are about.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for d in &self.diagnostics {
            match &self.source {
                Some(source) if !d.labels.is_empty() => out.push_str(&d.render(source, true)),
                _ => {
                    out.push_str(&d.to_string());
                    if let Some(help) = &d.help {
                        out.push_str("\n  help: ");
                        out.push_str(&sentence(help));
                    }
                }
            }
            out.push('\n');
        }
        styled(&out)
    }
}

impl Failure {
    /// What is wrong with the launch or the bindings of some kernels.
    pub fn of_spec(e: &SpecError, kernels: &[(&Kernel, &KernelSpec)]) -> Failure {
        let mut out = Failure::new(e.kind(), e.to_string());
        out.which = e.part(kernels);
        out
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.diagnostics.iter().enumerate() {
            let place = d.labels.first().zip(self.source.as_ref());
            if i > 0 {
                f.write_str("\n")?;
            }
            if let Some(((span, _), source)) = place {
                let line = source.position(span.start).line;
                write!(f, "{}:{line}: ", visible(&source.name))?;
            }
            f.write_str(&sentence(&d.message))?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<SpecError> for Failure {
    fn from(e: SpecError) -> Self {
        Failure::new(e.kind(), e.to_string())
    }
}
