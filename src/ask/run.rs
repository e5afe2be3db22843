//! `volta run`: a kernel executed on numbers.
//!
//! The pipeline of `race`, with every input known: parse, lower, resolve, execute the CTAs one after the other with
//! the machine's arithmetic ([`crate::number`]), and show what the arrays hold then. The schedule is round robin, one of
//! those that a launch allows; races and memory errors of the run are found as in `race`.
//!
//! Not claimed: the bits of approximations and of matrix instructions on a given device, and anything about
//! other inputs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::slice::from_ref;
use std::time::Instant;

use crate::alone::Alone;
use crate::answer::{
    self, Command, ErrorKind, Failure, Outputs, Part, Report, UnknownKind, Verdict,
};
use crate::check::counted;
use crate::decide;
use crate::found::findings::{Found, Moments, take_defects};
use crate::found::launches;
use crate::found::values::Values;
use crate::grid::numbers;
use crate::grid::sequence::Ended;
use crate::input::Files;
use crate::kernel::{Kernel, Pc, pure};
use crate::race;
use crate::sim::numbers::Memory;
use crate::sim::{Outcome, WarningKind};
use crate::spec::binding::Key;
use crate::spec::launch::Selection;
use crate::spec::{self, Array, Arrays, Domain, Layers, Origin, Resolved, Role, Setup, Value, npy};
use crate::term::ArrayId;

/// A kernel that was executed.
#[derive(Clone, Debug)]
pub struct Executed {
    /// What was found.
    pub report: Report,
    /// What its outputs hold.
    pub outputs: Vec<Values>,
    /// The array behind each parameter, by position.
    arrays: Vec<Named>,
    /// A limit ended it, so that there are no outputs.
    is_cut: bool,
}

/// Executes one kernel as the layers of settings say.
pub fn run(layers: Layers, files: &Files) -> Result<Executed, Failure> {
    counted(layers, || executed(layers, files))
}

impl AsMut<Report> for Executed {
    fn as_mut(&mut self) -> &mut Report {
        &mut self.report
    }
}

fn executed(layers: Layers, files: &Files) -> Result<Executed, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let limits = options.limits(start);
    let mut alone = Alone::read(layers, Some(options.seed), files)?;
    let parsed = Instant::now();
    let kernel = alone.lowered.run_by(&alone.setup.kernels[0].mode);
    require_values(kernel, &alone.setup)?;
    alone.setup.kernels[0].mode.domain = Domain::Numbers { wobbling: None };

    let (setup, resolved) = (&alone.setup, &alone.setup.kernels[0]);
    let deciding = decide::Options {
        limits,
        ..decide::Options::default()
    };
    let subject = alone.subject(&deciding);
    let ranks = match resolved.selection {
        Selection::Given => vec![resolved.launch.rank()],
        Selection::All => numbers::all_ranks(&subject).map_err(|n| {
            let message = format!("the grid has {n} CTAs, too many to run: choose one with --cta");
            Failure::new(ErrorKind::Launch, message)
        })?,
    };
    let (mut covered, memory) = numbers::in_order(&subject, &ranks);
    let equal = |k| k == WarningKind::RealEqualWrite;
    let are_equal = !covered.outcome.warnings.iter().any(|w| equal(w.kind))
        || race::excuses_instances(&alone, &options, limits);
    let races = take_defects(&mut covered.outcome, |k| {
        k == WarningKind::RealEqualRace || equal(k) && !are_equal
    });
    covered.outcome.defects.extend(races);
    let moments = Moments {
        read: (start, parsed),
        ran: Instant::now(),
    };
    let notes = order_notes(&mut covered.outcome, &alone.lowered.rechecked());
    let mut side = Ended::from(covered);
    let ran = alone.ran();
    let lowered = from_ref(&alone.lowered);
    let mut found = Found::default();
    found.add_side((&ran, lowered), &mut side, options.strict);
    let notes = launches::warnings(&ran, &notes);
    found.warnings.extend(notes);
    // What a run left that a limit ended is no result.
    let is_cut = found.unknown.iter().any(|u| u.kind == UnknownKind::Limit);
    let (outputs, open) = match is_cut {
        true => (Vec::new(), false),
        false => outputs(setup, &side.outcome, memory.as_ref()),
    };
    if open && found.defects.is_empty() && found.unknown.is_empty() {
        let (kind, message) = match has_large_output(setup, &side.outcome) {
            true => (
                UnknownKind::Limit,
                format!("an output has more than {SHOWN} bytes"),
            ),
            false => (
                UnknownKind::NondeterministicValue,
                "something that is not known reaches an array".into(),
            ),
        };
        found
            .unknown
            .push(answer::Finding::new(Part::Kernel, kind, message));
    }
    let verdict = match (found.defects.is_empty(), found.unknown.is_empty()) {
        (false, _) => Verdict::Defective,
        (true, false) => Verdict::Unknown,
        (true, true) => Verdict::Ran,
    };
    let arrays = parameters(kernel, (setup, resolved), &outputs);
    let written = outputs.iter().map(Values::written).collect();
    let report = Report {
        verdict,
        outputs: Outputs::Written(written),
        ..found.report((Command::Run, &options), setup, moments)
    };
    Ok(Executed {
        report,
        outputs,
        arrays,
        is_cut,
    })
}

impl Executed {
    /// Writes outputs to `.npy` files, each named by its parameter; none of a run that a limit ended.
    pub fn save(&self, wanted: &[(Key, PathBuf)]) -> Result<(), Failure> {
        if self.is_cut {
            return Ok(());
        }
        for (key, path) in wanted {
            let mut arrays = self.arrays.iter();
            let named = arrays.find(|(position, names, _)| {
                key.names(*position, &names.each_ref().map(String::as_str))
            });
            let Some((_, _, output)) = named else {
                let message = format!(
                    "--save names no output: `{}` is bound as none (out: or inout:)",
                    key.show()
                );
                return Err(Failure::new(ErrorKind::Binding, message));
            };
            let values = &self.outputs[*output];
            let (bytes, _) = values.bytes();
            let file = npy::write(values.elem, &values.shape, &bytes);
            std::fs::write(path, file).map_err(|e| {
                Failure::new(
                    ErrorKind::File,
                    format!("cannot write `{}`: {e}", path.display()),
                )
            })?;
        }
        Ok(())
    }
}

/// True if an array is known before the launch, or need not be.
fn is_ready(a: &Array) -> bool {
    match a.origin {
        // What an array of pointers holds was said, or it would be none.
        Origin::Pointer => {
            a.initial.is_some()
                || a.pointers.is_some()
                || matches!(a.role, Some(Role::Out | Role::Scratch))
        }
        // A scalar is asked for by its flag, a variable has its initialiser.
        Origin::Scalar | Origin::Global | Origin::Const => true,
    }
}

/// The arrays that arrays of pointers point to.
fn pointed_to(arrays: &Arrays) -> impl Iterator<Item = &Array> {
    let entries = arrays
        .0
        .iter()
        .flat_map(|a| a.pointers.iter().flat_map(|p| p.iter()));
    let targets: BTreeSet<ArrayId> = entries.filter_map(|&(_, to)| Some(to?.0)).collect();
    targets.into_iter().map(|id| &arrays[id])
}

/// Every input needs contents, every scalar a value.
fn require_values(kernel: &Kernel, setup: &Setup) -> Result<(), Failure> {
    let resolved = &setup.kernels[0];
    let mut missing: Vec<(u32, String)> = Vec::new();
    for field in &resolved.bindings.fields {
        let (Value::Pointer(id, _) | Value::Map(id, _)) = field.value else {
            continue;
        };
        let a = &resolved.arrays[id];
        let known = a.extent.is_some() && !a.shape.is_empty() && a.elem.is_some();
        if known && is_ready(a) || resolved.unread.contains(&field.offset) {
            continue;
        }
        let mut flags = resolved.bindings.flags.iter();
        let flag = flags.find(|f| (f.start..f.start + f.bytes).contains(&field.offset));
        let flag = flag.map_or(String::new(), |f| f.at(field.offset));
        let text = match (known, a.elem) {
            (true, Some(elem)) => {
                let dims: Vec<String> = a.shape.iter().map(u64::to_string).collect();
                let role = if a.role == Some(Role::In) {
                    "in:"
                } else {
                    "inout:"
                };
                format!("{flag}={role}{}[{}]=CONTENTS", elem.name(), dims.join(","))
            }
            _ => format!("{flag}=in:TYPE[N]=CONTENTS (or out:TYPE[N])"),
        };
        missing.push((field.offset, format!("`{}` with {text}", a.name)));
    }
    for a in pointed_to(&resolved.arrays) {
        if !is_ready(a) {
            missing.push((
                u32::MAX,
                format!("`{}` with contents in its --buffer", a.name),
            ));
        }
    }
    for u in &resolved.without_value {
        missing.push((u32::MAX, format!("`{}` with {}=VALUE", u.name, u.flag)));
    }
    for &g in &resolved.bindings.globals {
        if let Some(function) = pure::function_of(&resolved.arrays[g].name) {
            let why = match pure::is_texture(function) {
                true => "a texture holds what the host says, and no file does",
                false => "it has no body, and that it is pure does not say what it computes",
            };
            let message = format!("`run` cannot call `{function}`: {why}");
            return Err(Failure::new(ErrorKind::Fact, message));
        }
    }
    for (var, &id) in kernel.globals.iter().zip(&resolved.bindings.globals) {
        let a = &resolved.arrays[id];
        let begins = a.initial.is_some() || a.pointers.is_some() || a.begins_unset();
        if !begins && var.relocs.is_empty() {
            let role = if var.constant { "in" } else { "inout" };
            let text = format!("`{0}` with --arg {0}={role}:TYPE[N]=CONTENTS", var.name);
            missing.push((u32::MAX, text));
        }
    }
    missing.sort();
    if missing.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = missing.into_iter().map(|m| m.1).collect();
    let message = format!(
        "`run` needs to know every input; bind {} (CONTENTS: a number, [a,b,...], iota, @FILE.npy, normal, uniform)",
        list.join(", ")
    );
    Err(Failure::new(ErrorKind::Contents, message))
}

/// What depends on an order that other schedules change is no reason for `unknown` here: the values are those of
/// the schedule that was run.
fn order_notes(outcome: &mut Outcome, rechecked: &[Pc]) -> Vec<crate::sim::Finding<WarningKind>> {
    let mut unknowns = std::mem::take(&mut outcome.unknowns);
    unknowns.append(&mut outcome.by_schedule);
    let has_values = unknowns.iter().all(|u| numbers::is_order(u, rechecked));
    let (order, rest) = unknowns
        .into_iter()
        .partition(|u| has_values && u.sites.len() > 1);
    outcome.unknowns = rest;
    let order: Vec<crate::sim::Finding<UnknownKind>> = order;
    let why = "the values are those of one schedule";
    let note = |u: crate::sim::Finding<UnknownKind>| u.of(WarningKind::Note).because(why);
    order.into_iter().map(note).collect()
}

/// True if an array is an output: what is bound so, and what the kernel writes of the rest.
fn is_output(a: &Array, written: bool) -> bool {
    match (a.origin, a.role) {
        (Origin::Pointer | Origin::Global, Some(Role::Out | Role::InOut)) => true,
        (Origin::Pointer, Some(Role::In) | None) => written,
        (_, Some(Role::Scratch)) | (Origin::Scalar | Origin::Const | Origin::Global, _) => false,
    }
}

/// Bytes of an output that are shown.
const SHOWN: u64 = 1 << 28;

/// True if an output is too large to be shown.
fn has_large_output(setup: &Setup, outcome: &Outcome) -> bool {
    let mut arrays = (0..).map(ArrayId).zip(&setup.arrays.0);
    arrays.any(|(id, a)| {
        let large = a.extent.is_some_and(|n| n > SHOWN);
        large && is_output(a, outcome.writes.contains_key(&id))
    })
}

/// What the outputs hold; true with it if something in them is not known.
fn outputs(setup: &Setup, outcome: &Outcome, memory: Option<&Memory>) -> (Vec<Values>, bool) {
    let arrays = setup.arrays.0.iter().enumerate();
    let written = |i: usize| outcome.writes.contains_key(&ArrayId(i as u32));
    let chosen = arrays.filter(|(i, a)| is_output(a, written(*i)));
    let chosen: Vec<(usize, &Array)> = chosen.collect();
    let values = chosen.iter().filter_map(|&(i, a)| {
        let elem = a.elem?;
        let count: u64 = a.shape.iter().product();
        let size = elem.bytes();
        // What is larger is not shown, element by element.
        count.checked_mul(size).filter(|n| *n <= SHOWN)?;
        let bytes = memory?.bytes(ArrayId(i as u32), count * size)?;
        let element = |part: &[Option<u8>]| {
            part.iter()
                .rev()
                .try_fold(0, |v, b| Some(v << 8 | u64::from((*b)?)))
        };
        Some(Values {
            name: a.name.clone(),
            elem,
            shape: a.shape.clone(),
            elements: bytes.chunks(size as usize).map(element).collect(),
        })
    });
    let values: Vec<Values> = values.collect();
    let open = values.len() < chosen.len();
    (values, open)
}

/// Position, names and output of a parameter.
type Named = (u32, [String; 2], usize);

/// Position, names and output of each parameter and variable that is one; a variable has no position.
fn parameters(
    kernel: &Kernel,
    (setup, resolved): (&Setup, &Resolved),
    outputs: &[Values],
) -> Vec<Named> {
    let fields = resolved.bindings.fields.iter();
    let of = |f: &spec::Field| {
        let (Value::Pointer(id, _) | Value::Map(id, _)) = f.value else {
            return None;
        };
        let name = &setup.arrays[id].name;
        let output = outputs.iter().position(|o| o.name == *name)?;
        let symbol = &kernel.params.get(f.param as usize)?.symbol;
        Some((f.param, [name.clone(), symbol.clone()], output))
    };
    let globals = resolved.bindings.globals.iter().filter_map(|id| {
        let name = &setup.arrays[*id].name;
        let output = outputs.iter().position(|o| o.name == *name)?;
        Some((u32::MAX, [name.clone(), name.clone()], output))
    });
    fields.filter_map(of).chain(globals).collect()
}
