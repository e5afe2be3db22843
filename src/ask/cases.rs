//! Branches and loops that small integers decide: one case for each content that the facts allow.
//!
//! Problem: `for (k = row[i]; k < row[i + 1]; k++)` has no outcome over symbols. Where `--assume` says that there are few
//! contents of an array, or few values of a parameter without one, the command is run for each, with that content known.
//!
//! Sound: an array is split only whole, into all contents that its facts allow; facts about different arrays are
//! independent. A proof needs one of every case, and warns of and takes for granted what any of them does. A case in
//! which the reference leaves its arrays because of that content is left out, as for places that data choose, and is
//! shown; one case at least has to remain. A defect or a difference in a case is one for its content, which is shown: a
//! kernel that is looked at alone leaves its arrays on a content that the facts allow.
//!
//! A content is that of the array before the first launch, as if the user had bound it.
//!
//! Not claimed: anything where the contents are more than [`MOST`].

use std::sync::Arc;

use crate::answer::{
    self, AssumptionKind, Command, DefectKind, ErrorKind, Failure, Finding, Outputs, Part, Report,
    UnknownKind, Values, Verdict, WarningKind,
};
use crate::asked::{Answered, Knowledge, Made, Question, Ranges};
use crate::explain::text;
use crate::explore::{Next, Reason, Refinement, refined};
use crate::found::join::join;
use crate::grid::HAPPENS;
use crate::spec::{ElemTy, Origin, Setup, Value};
use crate::term::ArrayId;
use crate::term::facts::Elements;

/// Contents that are looked at.
const MOST: usize = Reason::Contents.most() as usize - 1;
/// Contents of one array before its facts are asked.
const TRIED: u128 = 1 << 12;

/// One content of all arrays that are split.
struct Case {
    setup: Setup,
    /// In words.
    text: String,
    inputs: Vec<(String, answer::InputElement)>,
}

/// The answer to a question, which is asked again with more known as long as that says more.
pub(crate) fn answer<L: Fn(&Setup, bool) -> Result<Answered, Failure>>(
    question: &Question<L>,
) -> Result<Report, Failure> {
    let mut contents = Contents::new(question.setup);
    let known = Knowledge {
        without_forks: contents.are_few(),
        ..Knowledge::default()
    };
    // Contents are those that all facts allow.
    let keeps_ranges = contents.are_few();
    let (mut made, mut ranges) = (Made, Ranges::default());
    let mut ladder: Vec<&mut dyn Refinement<Question<L>>> = vec![&mut made, &mut contents];
    if !keeps_ranges {
        ladder.push(&mut ranges);
    }
    let answered = refined(question, known, &mut ladder)?;
    answered
        .report
        .ok_or_else(|| Failure::new(ErrorKind::Internal, "a question was not asked again"))
}

/// The contents that the facts allow, one after the other. Where they allow few, ways that data choose are followed only if
/// these say nothing: each way may cost as much as a content, and what ways leave is decided together.
struct Contents {
    /// Those that are left, the next one last; how many they were.
    left: Vec<Case>,
    count: usize,
    at: At,
    /// The answer with no content known.
    first: Option<Report>,
    /// The one that is asked about.
    case: Option<Case>,
    /// What all so far come to.
    all: Option<Report>,
    proved: bool,
    left_out: LeftOut,
}

/// How far the contents are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    First,
    Contents,
    /// Ways that data choose are followed after all.
    Followed,
}

impl<L: Fn(&Setup, bool) -> Result<Answered, Failure>> Refinement<Question<'_, L>> for Contents {
    fn reason(&self) -> Reason {
        Reason::Contents
    }

    fn look(
        &mut self,
        _: &Question<L>,
        known: &mut Knowledge,
        ran: Result<Answered, Failure>,
    ) -> Next<Result<Answered, Failure>> {
        let report = match ran {
            Ok(Answered {
                report: Some(report),
                ..
            }) => report,
            ran => return Next::Pass(ran),
        };
        let report = match self.take(report) {
            Some(report) => report,
            None => {
                self.case = self.left.pop();
                known.content = self.case.as_ref().map(|c| c.setup.clone());
                return Next::Again;
            }
        };
        if self.at == At::Contents && is_open(&report) {
            self.at = At::Followed;
            self.all = Some(report);
            (known.content, known.without_forks) = (None, false);
            return Next::Again;
        }
        Next::Pass(Ok(Answered {
            report: Some(report),
            forgot: false,
        }))
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}

impl Contents {
    /// Those of the bindings of a question.
    fn new(setup: &Setup) -> Contents {
        let mut left = split(setup);
        left.reverse();
        Contents {
            count: left.len(),
            left,
            at: At::First,
            first: None,
            case: None,
            all: None,
            proved: false,
            left_out: LeftOut::default(),
        }
    }

    /// True if there are contents that are looked at one by one.
    fn are_few(&self) -> bool {
        self.count > 0
    }

    /// Takes the answer about a content; what is known of all, or none if another one is to be looked at.
    fn take(&mut self, mut report: Report) -> Option<Report> {
        match self.at {
            At::First if self.are_few() && is_open(&report) => {
                self.at = At::Contents;
                self.first = Some(report);
                return None;
            }
            At::First => return Some(report),
            At::Followed => {
                let contents = self.all.take();
                return match report.verdict {
                    Verdict::Unknown => contents,
                    _ => Some(report),
                };
            }
            At::Contents => {}
        }
        let mut decides = false;
        let case = self.case.take();
        match report.verdict {
            Verdict::Equivalent | Verdict::Clean => self.proved = true,
            Verdict::Defective if leaves_arrays(&report) => {
                if let Some(case) = &case {
                    self.left_out.add(case, &report);
                }
                claim_nothing(&mut report);
            }
            // Where no row has an element, none is written.
            Verdict::Unknown if writes_nothing(&report) => claim_nothing(&mut report),
            _ => {
                if let Some(case) = case {
                    case.tell(&mut report);
                }
                decides = true;
            }
        }
        match &mut self.all {
            Some(all) => join(all, report),
            None => self.all = Some(report),
        }
        match decides {
            true => self.all.take(),
            false if self.left.is_empty() => self.joined(),
            false => None,
        }
    }

    /// What all contents come to.
    fn joined(&mut self) -> Option<Report> {
        let mut all = self.all.take()?;
        all.warnings.extend(self.left_out.warning(self.count));
        if !self.proved {
            let mut first = self.first.take()?;
            join(&mut first, all);
            return Some(first);
        }
        let rest = match self.left_out.count {
            0 => String::new(),
            n => format!("; {n} of them, on which the reference leaves its arrays, are left out"),
        };
        all.assumptions.push(AssumptionKind::Fact.says(format!(
            "each of the {} contents that --assume allows was looked at{rest}",
            self.count
        )));
        Some(all)
    }
}

/// True if an answer is open because of what data decide.
fn is_open(report: &Report) -> bool {
    // A parameter of which facts allow few values decides as data do, and its binding is not missing then.
    let bound = [UnknownKind::MissingBinding, UnknownKind::UnboundedLoop];
    let mut kinds = report.unknown.iter().map(|u| u.kind);
    report.verdict == Verdict::Unknown && kinds.any(|k| k.is_of_data() || bound.contains(&k))
}

/// Contents on which the reference leaves its arrays.
#[derive(Default)]
struct LeftOut {
    count: usize,
    /// The first of them, and what the reference does there.
    first: Option<(String, Finding<DefectKind>)>,
}

impl LeftOut {
    fn add(&mut self, case: &Case, report: &Report) {
        self.count += 1;
        if self.first.is_none() {
            let defect = report.defects.iter().find(|d| leaves(d));
            self.first = defect.map(|d| (case.text.clone(), d.clone()));
        }
    }

    /// Shows one of them.
    fn warning(&self, of: usize) -> Option<Finding<WarningKind>> {
        let (content, defect) = self.first.as_ref()?;
        let message = format!(
            "{} of the {of} contents that --assume allows are left out, for the reference leaves its arrays there; with \
             {content}: {}",
            self.count, defect.message
        );
        let finding = Finding::new(Part::Reference, WarningKind::Note, message);
        Some(finding.at(defect.sites.clone()))
    }
}

/// Takes what is claimed out of the report of a case that is left out; what it warns of and takes for granted stays.
fn claim_nothing(report: &mut Report) {
    report.verdict = match report.command {
        Command::Check => Verdict::Equivalent,
        _ => Verdict::Clean,
    };
    report.values = report.values.map(|_| Values::Equal);
    report.defects.clear();
    report.unknown.clear();
    report.counterexample = None;
    report.outputs = Outputs::Compared(Vec::new());
    (report.deterministic, report.determinism, report.rounding) = (None, None, None);
}

/// True if nothing is open but that there is nothing to compare.
fn writes_nothing(report: &Report) -> bool {
    let nothing = |u: &Finding<UnknownKind>| u.kind == UnknownKind::NothingToCompare;
    !report.unknown.is_empty() && report.unknown.iter().all(nothing)
}

/// True if the reference accesses what lies outside of its arrays, whatever the other inputs are.
fn leaves_arrays(report: &Report) -> bool {
    report.defects.iter().any(leaves)
}

/// A defect that other inputs bring tells of one of them: on the others the content is one of the pair.
fn leaves(d: &Finding<DefectKind>) -> bool {
    let of_content = !HAPPENS.iter().any(|h| d.message.contains(h));
    d.kind == DefectKind::OutOfBounds && d.kernel == Part::Reference && of_content
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
