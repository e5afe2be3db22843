//! A certificate of `equivalent`: what was compared under which launch and assumptions, for another program to check.
//!
//! The problem: a proof by one program is believed by those who believe the program. The way: what the verdict speaks of
//! is written down, so that a program that shares no code with this one can run both texts on inputs of its own choice
//! and see the verdict fail if it is wrong: hashes of the texts, launch, what every parameter was bound to, the facts and
//! constants that were taken for granted, the bytes of outputs that were matched, and regions of inputs with a sample of
//! each ([`regions`]).
//!
//! Sound: a certificate changes no verdict, and is made of `equivalent` alone. Its digest, a hash of its content in one
//! spelling ([`canonical`]), tells a certificate that was altered by accident or by hand from one as it was written; it is
//! no signature.
//!
//! Not claimed: that the samples are all regions that there are (each test on data has each outcome that the inputs tried
//! here reach), and anything of formulas, sequences, bits, probable proofs and cases of contents: those have no
//! certificate, with the reason.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::answer::{self, CertificateMade, Outputs, Part, Report, Subject, Verdict, WarningKind};
use crate::diag::foreign;
use crate::kernel::{GlobalVar, Kernel};
use crate::sim::Outcome;
use crate::spec::{self, Array, Arrays, Bindings, Origin, Resolved, Role, Setup};
use crate::term::ArrayId;
use crate::term::facts::{Elements, Numbers};

mod premises;
mod regions;

pub(crate) use regions::Regions;

/// The shape of a certificate.
const SCHEMA: &str = "volta-certificate/1";

/// A certificate, but for its digest.
#[derive(Clone, Debug, Serialize)]
struct Certificate<'a> {
    schema: &'static str,
    volta: &'a str,
    verdict: Verdict,
    covers: String,
    reference: Side<'a>,
    optimized: Side<'a>,
    arrays: Vec<ArrayEntry<'a>>,
    facts: Vec<Fact>,
    floats: Vec<FloatFact>,
    readings: Vec<ReadAs>,
    assumptions: Vec<answer::Assumption>,
    warnings: Vec<Excused>,
    matched: &'a [Matched],
    regions: &'a regions::ProvedRegions,
}

/// One kernel with its launch.
#[derive(Clone, Debug, Serialize)]
struct Side<'a> {
    file: &'a str,
    sha256: &'a str,
    entry: &'a str,
    block: [u32; 3],
    grid: [u32; 3],
    /// The CTAs that were run; null is all of the grid.
    ctas: Option<&'a [[u32; 3]]>,
    dynamic_shared: Option<u64>,
    warp_sync: bool,
    /// What stands in the parameter space, by byte offset.
    parameters: Vec<Parameter>,
    /// The arrays of module variables, by name.
    variables: Vec<Variable>,
}

/// A piece of the parameter space.
#[derive(Clone, Debug, Serialize)]
struct Parameter {
    parameter: u32,
    offset: u32,
    bytes: u32,
    #[serde(flatten)]
    value: Bound,
}

/// What a piece is bound to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Bound {
    /// The address of a byte of an array.
    Pointer { array: u32, at: u64 },
    /// Known bits, as hexadecimal digits.
    Bits(String),
    /// An unknown, the same number in both kernels: an array of one element.
    Unknown { array: u32 },
    /// A tensor map of an array.
    Map { array: u32 },
}

/// A module variable.
#[derive(Clone, Debug, Serialize)]
struct Variable {
    name: String,
    array: u32,
}

/// An array of the pair.
#[derive(Clone, Debug, Serialize)]
struct ArrayEntry<'a> {
    name: &'a str,
    origin: &'static str,
    role: Option<&'static str>,
    r#type: Option<String>,
    shape: &'a [u64],
    bytes: Option<u64>,
    align: Option<u32>,
    /// Its bytes before the launch where they are known, as hexadecimal digits; zeros follow.
    contents: Option<String>,
    /// It holds pointers.
    pointers: bool,
    /// A part of it is compared only.
    partial: bool,
}

/// What is taken for granted of the elements of an array.
#[derive(Clone, Debug, Serialize)]
struct Fact {
    array: u32,
    bits: u8,
    least: String,
    greatest: String,
    distinct: bool,
    sorted: bool,
    pow2: bool,
}

/// In which range the floats of an array lie, ends included.
#[derive(Clone, Debug, Serialize)]
struct FloatFact {
    array: u32,
    least: String,
    greatest: String,
}

/// A constant and the number that it is read as.
#[derive(Clone, Debug, Serialize)]
struct ReadAs {
    format: String,
    bits: String,
    reading: String,
    /// The reading is that of one divided by the constant.
    reciprocal: bool,
}

/// A warning that says why two unordered accesses are no race.
#[derive(Clone, Debug, Serialize)]
struct Excused {
    kernel: Part,
    kind: WarningKind,
    lines: Vec<u32>,
}

/// The bytes of an array that were compared, `first..end first..end ...`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Matched {
    array: u32,
    bytes: String,
}

/// What has to be kept of two runs before a decision takes them.
pub(crate) struct Draft {
    matched: Vec<Matched>,
    regions: Regions,
}

/// The certificate of a report, or why it has none.
pub(crate) fn of(
    draft: Option<Draft>,
    report: &Report,
    setup: &Setup,
    kernels: &[&Kernel],
) -> CertificateMade {
    match draft {
        Some(draft) => draft.finish(report, setup, kernels),
        None => CertificateMade::none(format!("the verdict is {}", report.verdict.name())),
    }
}

impl Draft {
    /// Keeps it.
    pub(crate) fn new(runs: [&Outcome; 2], arrays: &Arrays) -> Draft {
        Draft {
            matched: matched(runs, arrays),
            regions: Regions::new(runs, arrays),
        }
    }

    /// The certificate of a report, if there is one.
    pub(crate) fn finish(
        self,
        report: &Report,
        setup: &Setup,
        kernels: &[&Kernel],
    ) -> CertificateMade {
        let why = match report.verdict {
            Verdict::Equivalent if report.probabilistic.is_some() => "the proof is a probable one",
            Verdict::Equivalent if setup.kernels.len() != 2 => "it is of one launch of two kernels",
            Verdict::Equivalent => "",
            other => return CertificateMade::none(format!("the verdict is {}", other.name())),
        };
        if !why.is_empty() {
            return CertificateMade::none(why.to_string());
        }
        let regions = self.regions.found(&setup.arrays);
        let (Some(reference), Some(optimized)) = (
            side(report, Part::Reference, (kernels[0], &setup.kernels[0])),
            side(report, Part::Optimized, (kernels[1], &setup.kernels[1])),
        ) else {
            return CertificateMade::none("it is of two kernels".to_string());
        };
        let arrays = setup.arrays.0.iter().enumerate();
        let arrays = arrays.map(|(i, a)| array(a, regions.types.get(i).cloned().flatten()));
        let mut certificate = Certificate {
            schema: SCHEMA,
            volta: &report.volta,
            verdict: report.verdict,
            covers: covers(report),
            reference,
            optimized,
            arrays: arrays.collect(),
            facts: facts(&setup.kernels[0].bindings),
            floats: floats(&setup.kernels[0].bindings),
            readings: report.assumptions.iter().filter_map(reading).collect(),
            assumptions: report.assumptions.clone(),
            warnings: excused(report),
            matched: &self.matched,
            regions: &regions,
        };
        let own = premises::of(&certificate);
        certificate.assumptions.extend(own);
        match serde_json::to_value(&certificate) {
            Ok(value) => CertificateMade::new(sealed(value), regions.count()),
            Err(e) => CertificateMade::none(format!("it cannot be written: {e}")),
        }
    }
}

/// What a certificate speaks of, as a sentence.
fn covers(report: &Report) -> String {
    let elements: u64 = match &report.outputs {
        Outputs::Compared(all) => all.iter().map(|o| o.proved).sum(),
        _ => 0,
    };
    let grid = match report.scope.whole_grid {
        true => "all CTAs of both grids",
        false => "the CTAs that are listed",
    };
    format!(
        "one launch of each kernel, {grid}, {elements} elements; other sizes and launches are not covered"
    )
}

fn side<'a>(
    report: &'a Report,
    part: Part,
    (code, resolved): (&Kernel, &Resolved),
) -> Option<Side<'a>> {
    let (_, subject) = report.subjects().into_iter().find(|(p, _)| *p == part)?;
    let Subject::Kernel(kernel) = subject else {
        return None;
    };
    let sha256 = report.inputs.files.get(&kernel.file)?;
    let ctas = report.scope.of(part);
    let fields = resolved.bindings.fields.iter();
    let parameter = |f: &spec::Field| Parameter {
        parameter: f.param,
        offset: f.offset,
        bytes: f.bytes,
        value: match f.value {
            spec::Value::Pointer(array, at) => Bound::Pointer { array: array.0, at },
            spec::Value::Bits(bits) => Bound::Bits(format!("{bits:x}")),
            spec::Value::Map(array, _) => Bound::Map { array: array.0 },
            spec::Value::Symbol(array) => Bound::Unknown { array: array.0 },
        },
    };
    Some(Side {
        file: &kernel.file,
        sha256,
        entry: &kernel.entry,
        block: kernel.block,
        grid: kernel.grid,
        ctas: (!kernel.whole_grid).then_some(ctas),
        dynamic_shared: kernel.dynamic_shared,
        warp_sync: resolved.launch.warp_sync,
        parameters: fields.map(parameter).collect(),
        variables: variables(code, resolved),
    })
}

fn variables(kernel: &Kernel, resolved: &Resolved) -> Vec<Variable> {
    let globals = kernel.globals.iter().zip(&resolved.bindings.globals);
    let variable = |(g, id): (&GlobalVar, &ArrayId)| Variable {
        name: g.name.clone(),
        array: id.0,
    };
    globals.map(variable).collect()
}

fn array(a: &Array, by_use: Option<String>) -> ArrayEntry<'_> {
    let role = |r: Role| match r {
        Role::In => "in",
        Role::Out => "out",
        Role::InOut => "inout",
        Role::Scratch => "scratch",
    };
    ArrayEntry {
        name: &a.name,
        origin: match a.origin {
            Origin::Pointer => "pointer",
            Origin::Scalar => "scalar",
            Origin::Global => "global",
            Origin::Const => "const",
        },
        role: a.role.map(role),
        r#type: a.elem.map(|e| e.name()).or(by_use),
        shape: &a.shape,
        bytes: a.extent,
        align: a.align,
        contents: a.initial.as_ref().map(|bytes| hex(bytes)),
        pointers: a.pointers.is_some(),
        partial: a.only.is_some(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    bytes[..end].iter().map(|b| format!("{b:02x}")).collect()
}

fn facts(bindings: &Bindings) -> Vec<Fact> {
    let fact = |e: &Elements| Fact {
        array: e.array.0,
        bits: e.width,
        least: e.lo.to_string(),
        greatest: e.hi.to_string(),
        distinct: e.distinct,
        sorted: e.sorted,
        pow2: e.pow2,
    };
    bindings.facts.all().iter().map(fact).collect()
}

fn floats(bindings: &Bindings) -> Vec<FloatFact> {
    let fact = |f: &Numbers| {
        let (least, greatest) = f.ends();
        let [least, greatest] = [least, greatest].map(|x| format!("{x:?}"));
        FloatFact {
            array: f.array.0,
            least,
            greatest,
        }
    };
    bindings.facts.numbers().iter().map(fact).collect()
}

/// The reading of a constant that an assumption is, by the one form in which it is written.
fn reading(a: &answer::Assumption) -> Option<ReadAs> {
    let (left, reading) = a.message.split_once(" is read as ")?;
    let (reciprocal, constant) = match left.strip_prefix("the reciprocal of ") {
        Some(rest) => (true, rest),
        None => (false, left),
    };
    let (bits, rest) = constant.split_once(" (")?;
    let (_, format) = rest.strip_suffix(')')?.split_once(", ")?;
    Some(ReadAs {
        format: format.to_string(),
        bits: bits.strip_prefix("0x")?.to_string(),
        reading: reading.to_string(),
        reciprocal,
    })
}

/// The warnings that excuse unordered accesses.
fn excused(report: &Report) -> Vec<Excused> {
    let excuses = |k: WarningKind| {
        matches!(
            k,
            WarningKind::SameValueWrite
                | WarningKind::RealEqualWrite
                | WarningKind::UnusedRead
                | WarningKind::OrderedByValue
        )
    };
    let warnings = report.warnings.iter().filter(|w| excuses(w.kind));
    let excused = |w: &answer::Finding<WarningKind>| {
        let mut lines: Vec<u32> = w.sites.iter().map(|s| s.line).collect();
        lines.sort_unstable();
        lines.dedup();
        Excused {
            kernel: w.kernel,
            kind: w.kind,
            lines,
        }
    };
    warnings.map(excused).collect()
}

/// The bytes that were compared.
fn matched(runs: [&Outcome; 2], arrays: &Arrays) -> Vec<Matched> {
    let wrote = runs.map(Outcome::wrote);
    let mut out = Vec::new();
    for (i, a) in arrays.0.iter().enumerate() {
        if !crate::decide::goal::is_compared(a) {
            continue;
        }
        let id = ArrayId(i as u32);
        let mut all: Vec<(u64, u64)> = wrote
            .iter()
            .filter_map(|w| w.get(&id))
            .flatten()
            .copied()
            .collect();
        all.sort_unstable();
        if a.only.is_some() {
            let size = a.elem.map_or(1, |e| e.bytes().max(1));
            let elements = |&(from, to): &(u64, u64)| from / size..to.div_ceil(size);
            let selected = all.iter().flat_map(elements).filter(|&e| a.is_selected(e));
            all = selected.map(|e| (e * size, (e + 1) * size)).collect();
        }
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in all {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        if !joined.is_empty() {
            let ranges: Vec<String> = joined.iter().map(|(a, b)| format!("{a}..{b}")).collect();
            out.push(Matched {
                array: id.0,
                bytes: ranges.join(" "),
            });
        }
    }
    out
}

/// The text of a certificate with its digest.
fn sealed(mut value: Value) -> String {
    let digest = Sha256::digest(canonical(&value).as_bytes());
    let digest: String = digest.iter().map(|b| format!("{b:02x}")).collect();
    if let Value::Object(map) = &mut value {
        map.insert("digest".to_string(), Value::String(digest));
    }
    // Its keys are strings, the only thing that JSON asks for.
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    foreign::json(&text) + "\n"
}

/// The one spelling of a JSON value whose numbers are integers: keys sorted, no blanks.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            let entry = |k: &&String| {
                format!(
                    "{}:{}",
                    Value::String((*k).clone()),
                    canonical(&map[k.as_str()])
                )
            };
            let entries: Vec<String> = keys.iter().map(entry).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(canonical).collect();
            format!("[{}]", list.join(","))
        }
        other => other.to_string(),
    }
}
