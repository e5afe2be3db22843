//! Branches and loops that small integers decide: one case for each content that the facts allow.
//!
//! Problem: `for (k = row[i]; k < row[i + 1]; k++)` has no outcome over symbols. Where `--assume` says that there are few
//! contents of an array, or few values of a parameter without one, the command is run for each, with that content known.
//!
//! Sound: an array is split only whole, into all contents that its facts allow; facts about different arrays are
//! independent. A proof needs one of every case. A case in which the reference (or a kernel that is looked at alone)
//! leaves its arrays because of that content is left out, as for places that data choose, which is said; one case at
//! least has to remain. A defect or a difference in a case is one for its content, which is shown.
//!
//! A content is that of the array before the first launch, as if the user had bound it.
//!
//! Not claimed: anything where the contents are more than [`MOST`].

use std::sync::Arc;

use crate::answer::{
    self, AssumptionKind, DefectKind, Finding, Part, UnknownKind, Verdict, WarningKind,
};
use crate::explain::text;
use crate::report::{Failure, Report};
use crate::spec::{ElemTy, Origin, Setup, Value};
use crate::term::ArrayId;
use crate::term::facts::Elements;

/// Contents that are looked at.
const MOST: usize = 64;
/// Contents of one array before its facts are asked.
const TRIED: u128 = 1 << 12;

/// One content of all arrays that are split.
struct Case {
    setup: Setup,
    /// In words.
    text: String,
    inputs: Vec<(String, answer::InputElement)>,
}

/// Runs a command, and where it is open because of what data decide again for each content that the facts allow. Where
/// they allow few, ways that data choose are followed only if these say nothing: each way may cost as much as a content,
/// and what ways leave is decided together.
pub(crate) fn each(
    setup: &Setup,
    mut look: impl FnMut(&Setup) -> Result<Report, Failure>,
) -> Result<Report, Failure> {
    let mut known = setup.clone();
    known.kernels.iter_mut().for_each(|k| k.launch.ways = false);
    let cases = split(&known);
    if cases.is_empty() {
        return look(setup);
    }
    let first = look(&known)?;
    let report = of_cases(cases, first, &mut look)?;
    let open = report.verdict == Verdict::Unknown && report.unknown.iter().any(depends_on_data);
    if !open {
        return Ok(report);
    }
    let followed = look(setup)?;
    Ok(match followed.verdict {
        Verdict::Unknown => report,
        _ => followed,
    })
}

fn of_cases(
    cases: Vec<Case>,
    first: Report,
    look: &mut impl FnMut(&Setup) -> Result<Report, Failure>,
) -> Result<Report, Failure> {
    if first.verdict != Verdict::Unknown || !first.unknown.iter().any(depends_on_data) {
        return Ok(first);
    }
    let (mut proved, mut left_out) = (None, 0);
    let count = cases.len();
    for case in cases {
        let mut report = look(&case.setup)?;
        match report.verdict {
            Verdict::Equivalent | Verdict::Clean => proved = Some(report),
            Verdict::Defective if leaves_arrays(&report) => left_out += 1,
            // Where no row has an element, none is written.
            Verdict::Unknown if writes_nothing(&report) => {}
            _ => {
                case.tell(&mut report);
                return Ok(report);
            }
        }
    }
    let Some(mut report) = proved else {
        return Ok(first);
    };
    let rest = match left_out {
        0 => String::new(),
        n => format!("; {n} of them, on which a kernel leaves its arrays, are left out"),
    };
    report.assumptions.push(AssumptionKind::Fact.says(format!(
        "each of the {count} contents that --assume allows was looked at{rest}"
    )));
    Ok(report)
}

fn depends_on_data(u: &Finding<UnknownKind>) -> bool {
    use UnknownKind::*;
    matches!(
        u.kind,
        // The last two may be about one way of a branch that data decide.
        DataDependentBranch
            | DataDependentAddress
            | MissingBinding
            | UnboundedLoop
            | Undecided
            | Undefined
    )
}

/// True if nothing is open but that there is nothing to compare.
fn writes_nothing(report: &Report) -> bool {
    let nothing = |u: &Finding<UnknownKind>| u.kind == UnknownKind::NothingToCompare;
    !report.unknown.is_empty() && report.unknown.iter().all(nothing)
}

/// True if the reference, or the only kernel, accesses what lies outside of its arrays.
fn leaves_arrays(report: &Report) -> bool {
    let outside = |d: &Finding<DefectKind>| {
        d.kind == DefectKind::OutOfBounds && matches!(d.kernel, Part::Reference | Part::Kernel)
    };
    report.defects.iter().any(outside)
}

/// All contents of the arrays and parameters of which the facts allow few; none if they are too many.
fn split(setup: &Setup) -> Vec<Case> {
    let Some(facts) = setup.kernels.first().map(|k| k.bindings.facts.clone()) else {
        return Vec::new();
    };
    let mut all: Vec<Vec<(Elements, Vec<i128>)>> = vec![Vec::new()];
    for e in facts.all() {
        let a = &setup.arrays[e.array];
        let is_open = matches!(a.origin, Origin::Pointer | Origin::Scalar)
            && a.initial.is_none()
            && !a.begins_unset();
        let Some(contents) = contents(e).filter(|_| is_open) else {
            continue;
        };
        if all.len() * contents.len() > MOST {
            continue;
        }
        all = all
            .into_iter()
            .flat_map(|c| {
                contents.iter().map(move |v| {
                    let mut c = c.clone();
                    c.push((*e, v.clone()));
                    c
                })
            })
            .collect();
    }
    all.retain(|c| !c.is_empty());
    all.into_iter().map(|c| Case::new(setup, &c)).collect()
}

/// The contents of an array that its facts allow, if they are few.
fn contents(e: &Elements) -> Option<Vec<Vec<i128>>> {
    let values = u128::try_from(e.hi - e.lo + 1).ok()?;
    let count = u32::try_from(e.count?).ok().filter(|n| *n > 0)?;
    values.checked_pow(count).filter(|n| *n <= TRIED)?;
    let mut out: Vec<Vec<i128>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = |v: Vec<i128>| {
            (e.lo..=e.hi).map(move |x| {
                let mut v = v.clone();
                v.push(x);
                v
            })
        };
        out = out.into_iter().flat_map(longer).collect();
    }
    out.retain(|v| {
        let at: Vec<(u64, i128)> = (0..).zip(v.iter().copied()).collect();
        e.allow(&at)
    });
    (out.len() <= MOST).then_some(out)
}

/// Gives a parameter its value in every launch that has it.
fn known_parameter(setup: &mut Setup, parameter: ArrayId, value: u64) {
    let fields = setup
        .kernels
        .iter_mut()
        .flat_map(|k| &mut k.bindings.fields);
    for f in fields.filter(|f| f.value == Value::Symbol(parameter)) {
        f.value = Value::Bits(value);
    }
}

impl Case {
    fn new(setup: &Setup, contents: &[(Elements, Vec<i128>)]) -> Case {
        let mut setup = setup.clone();
        let (mut texts, mut inputs) = (Vec::new(), Vec::new());
        for (e, values) in contents {
            let bytes = usize::from(e.width / 8);
            let bits = |v: &i128| *v as u64 & (u64::MAX >> (64 - e.width));
            match setup.arrays[e.array].origin {
                Origin::Scalar => known_parameter(&mut setup, e.array, bits(&values[0])),
                _ => {
                    let byte = |v: &i128| bits(v).to_le_bytes().into_iter().take(bytes);
                    let content: Arc<[u8]> = values.iter().flat_map(byte).collect();
                    let seen = setup.kernels.iter_mut().map(|k| &mut k.arrays);
                    for arrays in seen.chain([&mut setup.arrays]) {
                        arrays.0[e.array.0 as usize].initial = Some(content.clone());
                    }
                }
            }
            let name = setup.arrays[e.array].name.clone();
            let shown: Vec<String> = values.iter().map(i128::to_string).collect();
            texts.push(match &shown[..] {
                [one] => format!("{name} = {one}"),
                all => format!("{name} = [{}]", all.join(",")),
            });
            let ty = setup.arrays[e.array].elem.unwrap_or(ElemTy::Int {
                width: e.width,
                signed: true,
            });
            for (i, v) in values.iter().enumerate().filter(|(_, v)| **v != 0) {
                let off = (i * bytes) as u64;
                let element = answer::InputElement {
                    element: text::index(&setup.arrays, e.array, off, bytes as u64),
                    r#type: text::type_name(ty),
                    value: text::bits(bits(v), Some(ty)),
                };
                inputs.push((name.clone(), element));
            }
        }
        Case {
            setup,
            text: texts.join(", "),
            inputs,
        }
    }

    /// Says which content a report is about.
    fn tell(self, report: &mut Report) {
        let message = format!("the answer is about the content {}", self.text);
        let part = match report.defects.first() {
            Some(d) => d.kernel,
            None => report.unknown.first().map_or(Part::Pair, |u| u.kernel),
        };
        report
            .warnings
            .push(answer::Finding::new(part, WarningKind::Note, message));
        if let Some(c) = &mut report.counterexample {
            for (name, element) in self.inputs {
                c.inputs.entry(name).or_default().push(element);
            }
        }
    }
}
