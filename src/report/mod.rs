//! Answers as text: a formatter for each output format, and how runs and errors become answers.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::answer::kernel::Options as Asked;
use crate::answer::{
    self, Bound, DefectKind, ErrorKind, Finding, Inputs, KernelAnswer, Kind, Launched, Outputs,
    Part, Precision, RunCounts, Schema, Scope, Site, SourceLine, Subject, UnknownKind, WarningKind,
    schema,
};
use crate::diag::{Diagnostic, MOST_ERRORS, Source};
use crate::explain::{Counterexample, OutputSummary};
use crate::grid::Covered;
use crate::kernel::{self, Kernel};
use crate::sim;
use crate::spec::launch::Selection;
use crate::spec::{
    KernelSpec, Launch, Number, Options, Resolved, Sizes, SpecError, TomlError, Unbound,
};

mod cause;
pub mod coverage;
pub mod escape;
pub mod explain;
pub mod gate;
pub mod html;
pub mod human;
pub mod json;
pub mod junit;
pub mod precision;
mod rounding;
pub mod sarif;
pub mod values;

pub use crate::answer::{Report, Verdict};

/// Exit status of a usage or input error.
pub const EXIT_ERROR: u8 = 2;

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

/// What a report says about a kernel that was run.
#[derive(Clone, Debug)]
pub struct Described {
    part: Part,
    kernel: KernelAnswer,
    ctas: Vec<[u32; 3]>,
    launched: Launched,
    bound: Vec<Bound>,
    counts: RunCounts,
    /// The file and its SHA-256.
    file: (String, String),
}

/// A report of nothing but what was run, for the rest to be filled in.
pub fn begin(command: answer::Command, kernels: Vec<Described>, options: &Options) -> Report {
    let mut scope = Scope {
        whole_grid: kernels.iter().all(|k| k.kernel.whole_grid),
        ..Scope::default()
    };
    let mut inputs = Inputs {
        options: asked(options),
        ..Inputs::default()
    };
    let mut stats = answer::Stats::default();
    let mut sides = answer::Sides::default();
    for k in kernels {
        match k.part {
            Part::Kernel => scope.ctas = Some(k.ctas),
            Part::Reference => scope.reference_ctas = Some(k.ctas),
            Part::Optimized => scope.optimized_ctas = Some(k.ctas),
            Part::Pair | Part::Formula => {}
        }
        inputs.files.insert(k.file.0, k.file.1);
        inputs.launch.put(k.part, k.launched);
        inputs.bindings.put(k.part, k.bound);
        stats.kernels.put(k.part, k.counts);
        sides.put(k.part, Subject::Kernel(k.kernel));
    }
    Report {
        schema: Schema::V2,
        volta: schema::version(),
        command,
        verdict: Verdict::Unknown,
        values: None,
        scope,
        subjects: sides,
        inputs,
        defects: Vec::new(),
        warnings: Vec::new(),
        denied: Vec::new(),
        unknown: Vec::new(),
        counterexample: None,
        slack: None,
        classes: None,
        sizes: Default::default(),
        instances: Vec::new(),
        outputs: Outputs::Compared(Vec::new()),
        probabilistic: None,
        assumptions: Vec::new(),
        precision: Precision::default(),
        deterministic: None,
        determinism: None,
        rounding: None,
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
        probabilistic: o.probabilistic,
        bits: o.bits,
        timeout: o.timeout.as_secs_f64(),
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

fn site(site: &sim::Site, kernel: &Kernel, launch: &Launch) -> Site {
    let mut out = Site::new(&kernel.source, kernel.span(site.pc), &site.text);
    out.threads = site.threads.iter().map(|t| launch.tid(t.0)).collect();
    out.cta = site.cta;
    let step = |s: &sim::Step| {
        let start = kernel.span(s.pc).start;
        answer::Step {
            step: s.step,
            line: kernel.source.position(start).line,
            text: kernel.source.excerpt(start).into_owned(),
            barrier: s.barrier,
        }
    };
    out.around = site.around.iter().map(step).collect();
    out.source = source_line(kernel, site.pc);
    out
}

/// A kernel that was run, for turning findings into those of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// What was asked for.
    pub spec: &'a KernelSpec,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its launch.
    pub launch: &'a Launch,
    /// What was bound, and what was not.
    pub resolved: &'a Resolved,
}

impl Ran<'_> {
    /// Its part in the command.
    pub fn part(self) -> Part {
        self.spec.which.part()
    }

    /// Says of every integer without a value that it needs one, where a run ended for want of one:
    /// beside those that `known` names.
    pub fn missing(self, known: &[Finding<UnknownKind>]) -> Vec<Finding<UnknownKind>> {
        let kind = UnknownKind::MissingBinding;
        if !known.iter().any(|e| e.kind == kind) {
            return Vec::new();
        }
        let named = |flag: &str| {
            let flag = format!("with {flag}=VALUE");
            known
                .iter()
                .any(|e| e.kind == kind && e.message.contains(&flag))
        };
        let unbound = self.resolved.unbound.iter();
        let finding = |u: &Unbound| {
            let message = format!(
                "parameter {} can decide a branch or an address, and has no value: bind it with {}=VALUE",
                u.name, u.flag
            );
            let (source, span) = (&self.kernel.source, self.kernel.span(u.pc));
            let site = Site::new(source, span, "is read here");
            Finding::new(self.part(), kind, message).at(vec![site])
        };
        unbound.filter(|u| !named(&u.flag)).map(finding).collect()
    }

    /// Says that an answer speaks of some CTAs of a grid only.
    pub fn partial(self, covered: &Covered) -> Option<Finding<WarningKind>> {
        let part = self.resolved.selection == Selection::Given && !covered.whole;
        part.then(|| {
            let message = format!(
                "{} of {} CTAs are looked at, since a flag names one: the others may do anything",
                covered.ctas.len(),
                self.launch.ctas()
            );
            Finding::new(self.part(), WarningKind::PartialGrid, message)
        })
    }

    /// Defects of a run.
    pub fn defects(self, found: &[sim::Finding<DefectKind>]) -> Vec<Finding<DefectKind>> {
        let mut out = self.findings(found, |k| k);
        let causes = cause::causes(self.kernel, self.part(), found);
        for (f, cause) in out.iter_mut().zip(causes) {
            f.cause = cause;
        }
        out
    }

    /// Warnings of a run.
    pub fn warnings(self, found: &[sim::Finding<sim::WarningKind>]) -> Vec<Finding<WarningKind>> {
        self.findings(found, sim::WarningKind::named)
    }

    /// What a run leaves open.
    pub fn unknowns(self, found: &[sim::Finding<UnknownKind>]) -> Vec<Finding<UnknownKind>> {
        self.findings(found, |k| k)
    }

    fn findings<A: Copy, K: Kind>(
        self,
        found: &[sim::Finding<A>],
        named: impl Fn(A) -> K,
    ) -> Vec<Finding<K>> {
        let finding = |f: &sim::Finding<A>| Finding {
            count: f.count,
            sites: f
                .sites
                .iter()
                .map(|s| site(s, self.kernel, self.launch))
                .collect(),
            ..Finding::new(self.part(), named(f.kind), f.message.as_str())
        };
        found.iter().map(finding).collect()
    }

    /// What the report says about the kernel itself.
    pub fn describe(self, covered: &Covered) -> Described {
        let (source, stats) = (&self.kernel.source, covered.outcome.stats);
        let digest = Sha256::digest(source.text.as_bytes());
        let digest = digest.iter().map(|b| format!("{b:02x}")).collect();
        let named = self.resolved.selection == Selection::Given;
        Described {
            part: self.part(),
            kernel: KernelAnswer {
                file: source.name.clone(),
                entry: self.kernel.name.clone(),
                demangled: kernel::demangled(&self.kernel.name),
                line: source.position(self.kernel.name_span.start).line,
                block: self.launch.block,
                grid: self.launch.grid,
                dynamic_shared: self.launch.dynamic_shared,
                whole_grid: covered.whole,
            },
            ctas: covered.ctas.clone(),
            launched: Launched {
                cta: named.then_some(self.launch.cta),
                warp_sync: self.launch.warp_sync,
                args: self.spec.args.iter().map(|a| a.text.clone()).collect(),
                alias: self
                    .spec
                    .alias
                    .iter()
                    .map(|(a, b)| format!("{a}={b}"))
                    .collect(),
            },
            bound: self.resolved.numbers.iter().map(Bound::from).collect(),
            counts: RunCounts {
                thread_instructions: stats.thread_instructions,
                warp_instructions: stats.warp_instructions,
                barrier_arrivals: stats.barrier_arrivals,
                warp_syncs: stats.warp_syncs,
                accesses: stats.accesses,
                terms: covered.terms,
            },
            file: (source.name.clone(), digest),
        }
    }
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
                        out.push_str(help);
                    }
                }
            }
            out.push('\n');
        }
        out
    }
}

impl From<SpecError> for Failure {
    fn from(e: SpecError) -> Self {
        Failure::new(e.kind(), e.to_string())
    }
}
