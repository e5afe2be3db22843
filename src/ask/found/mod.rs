//! How runs, decisions and what else was found become an answer.
//!
//! A report is begun with what was run ([`begin`]) and filled in by the command. [`launches`] turns the findings of a run
//! into those of an answer, with their places; those of one root share a cause, what the sizes were too small to show is a
//! warning (`coverage`), and roundings to narrow formats are listed beside it ([`precision`]). `join` makes one report of
//! several.
//!
//! Nothing here prints: an answer holds words and numbers, and `report` shows them.

use crate::answer::kernel::Options as Asked;
use crate::answer::tables::Tables;
use crate::answer::{
    Bound, Command, Each, Inputs, KernelAnswer, Launched, Outputs, Part, Precision, Report,
    RunCounts, Schema, Scope, Sides, Stats, Subject, Verdict, schema,
};
use crate::bits::identities;
use crate::explore;
use crate::spec::Options;

mod cause;
mod coverage;
pub(crate) mod findings;
pub(crate) mod join;
pub mod launches;
pub mod precision;
pub mod values;

pub use launches::Ran;

/// The tables that `volta explain` shows.
pub fn tables() -> Tables {
    Tables {
        identities: identities::about(),
        runs: explore::about(),
    }
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
pub fn begin(command: Command, sides: Vec<Described>, options: &Options) -> Report {
    let mut scope = Scope {
        whole_grid: sides.iter().flat_map(|s| &s.kernels).all(|k| k.whole_grid),
        ..Scope::default()
    };
    let mut inputs = Inputs {
        options: asked(options),
        ..Inputs::default()
    };
    let mut counts = Sides::default();
    let mut subjects = Sides::default();
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
        counts.put(s.part, s.counts);
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
        kernel: subjects.kernel,
        reference: subjects.reference,
        optimized: subjects.optimized,
        inputs,
        defects: Vec::new(),
        warnings: Vec::new(),
        denied: Vec::new(),
        unknown: Vec::new(),
        counterexample: None,
        sync: None,
        together: None,
        every_launch: None,
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
        stats: Stats {
            kernel: counts.kernel,
            reference: counts.reference,
            optimized: counts.optimized,
            ..Stats::default()
        },
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
