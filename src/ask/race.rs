//! `volta race`: is this kernel, or are the launches of this sequence, free of races, deadlocks and memory errors?
//!
//! The first half of the pipeline of `check`: parse, lower, resolve, run one CTA or the whole grid,
//! and discharge what the runs left open.

use std::slice::from_ref;
use std::time::Instant;

use crate::alone::{Alone, asked, bound};
use crate::answer::{Command, ErrorKind, Failure, Report, Verdict};
use crate::any;
use crate::asked::{Answered, Question};
use crate::cases;
use crate::check::{counted, one_launch_each, take_real_equal};
use crate::decide;
use crate::decide::bounds::Settled;
use crate::found::findings::{Found, Moments};
use crate::found::launches::{self, ran};
use crate::grid::Subject;
use crate::grid::sequence::{self, Ended};
use crate::input::{self, Files, Lowered};
use crate::kernel::Fmt;
use crate::mended;
use crate::number::{Decoded, decode};
use crate::rounding::schedules::same_bits;
use crate::sim::Side;
use crate::spec::{ElemTy, KernelSpec, Layers, Limits, Mode, Options, Setup, Which};
use crate::trial;

/// Looks at one kernel, or at the launches of a sequence, as the layers of settings say.
pub fn race(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let mut report = counted(layers, || raced(layers, files))?;
    if !layers.options()?.any {
        mended::advise(&mut report, (layers, files), start, |files| {
            raced(layers, files).ok()
        });
    }
    Ok(report)
}

fn raced(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    if options.any && options.deterministic {
        let message = "--deterministic is about one launch, and --any about every one";
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    if options.any {
        return any::race(layers, files);
    }
    let specs = input::launches(layers, Which::Kernel, files)?;
    let limits = options.limits(start);
    if options.deterministic {
        one_launch_each(&specs, "--deterministic")?;
    }

    let (lowered, setup) = bound(&specs, &[], files)?;
    let parsed = Instant::now();

    let looked = Looked {
        options: &options,
        specs: &specs,
        lowered: &lowered,
        limits,
        times: (start, parsed),
    };
    cases::answer(&Question {
        setup: &setup,
        lowered: &lowered,
        limits,
        may_remember: true,
        look: |case: &Setup, may_remember| Ok(looked.judged(case, may_remember)),
    })
}

/// Whether a launch is free of races for all finite contents of its arrays of floats, the others as they are: then lanes of
/// one instance that store other bits into one place store one real.
pub(crate) fn excuses_instances(alone: &Alone, options: &Options, limits: Limits) -> bool {
    let mut setup = alone.setup.clone();
    for array in &mut setup.arrays.0 {
        let Some(ElemTy::Float(fmt)) = array.elem else {
            continue;
        };
        if !array
            .initial
            .take()
            .is_none_or(|bytes| are_finite(&bytes, fmt))
        {
            return false;
        }
    }
    setup.kernels[0].mode = Mode::default();
    let now = Instant::now();
    let looked = Looked {
        options,
        specs: from_ref(&alone.spec),
        lowered: from_ref(&alone.lowered),
        limits,
        times: (now, now),
    };
    let asked = Question {
        setup: &setup,
        lowered: looked.lowered,
        limits,
        may_remember: true,
        look: |case: &Setup, may_remember| Ok(looked.judged(case, may_remember)),
    };
    cases::answer(&asked).is_ok_and(|report| report.verdict == Verdict::Clean)
}

fn are_finite(bytes: &[u8], fmt: Fmt) -> bool {
    let mut elements = bytes.chunks_exact(fmt.bits().div_ceil(8) as usize);
    elements.all(|element| {
        let bits = element.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b));
        !matches!(decode(fmt, bits).value, Decoded::Nan | Decoded::Infinite)
    })
}

/// Launches that are looked at, apart from the bindings.
struct Looked<'a> {
    options: &'a Options,
    specs: &'a [KernelSpec],
    lowered: &'a [Lowered],
    limits: Limits,
    /// When it began, and when the files were read.
    times: (Instant, Instant),
}

impl Looked<'_> {
    fn deciding(&self) -> decide::Options {
        decide::Options {
            limits: self.limits,
            ..decide::Options::default()
        }
    }

    /// The launches with their bindings.
    fn subjects<'s>(
        &'s self,
        setup: &'s Setup,
        deciding: &'s decide::Options,
        without_values: bool,
    ) -> Vec<Subject<'s>> {
        let all = self.lowered.iter().zip(&setup.kernels);
        let subjects = all.map(|(lowered, resolved)| Subject {
            kernel: lowered.run_by(&resolved.mode),
            resolved,
            side: Side::Reference,
            arrays: &setup.arrays,
            deciding,
            without_values,
        });
        subjects.collect()
    }

    /// Runs the launches, without values where that is enough: whether bits depend on the schedule is a question of values.
    fn run(&self, setup: &Setup) -> Ended {
        self.run_with(setup, self.options.deterministic)
    }

    fn run_with(&self, setup: &Setup, values: bool) -> Ended {
        let deciding = self.deciding();
        match &self.subjects(setup, &deciding, !values)[..] {
            [one] => asked(one).into(),
            launches => sequence::run(launches),
        }
    }

    /// What the places that data choose come to.
    fn places(&self, setup: &Setup, side: &Ended) -> Settled {
        decide::bounds::alone(
            &side.outcome,
            &setup.arrays,
            &self.deciding(),
            |input, fails| trial::leaves_arrays(setup, (input, fails), |s| self.run(s).outcome),
        )
    }

    /// The answer; none where bits of computed numbers decide something, and numbers may be made to remember more.
    fn judged(&self, setup: &Setup, may_remember: bool) -> Answered {
        let Looked {
            options, limits, ..
        } = *self;
        let mut side = self.run(setup);
        let remembers = setup.kernels.iter().all(|k| k.mode.made_by().is_some());
        let store = &side.outcome.store;
        let forgot = !remembers && (store.has_merged() || store.has_flips());
        if forgot && may_remember {
            return Answered {
                report: None,
                forgot,
            };
        }
        let mut places = self.places(setup, &side);
        // What guards a place may be values that no address depends on.
        if !places.unknowns.is_empty() && !self.options.deterministic {
            side = self.run_with(setup, true);
            places = self.places(setup, &side);
        }
        // A race is about bits; what is equal over the reals is none only where a warp stores it at once.
        take_real_equal(&mut side.outcome, forgot);
        let moments = Moments {
            read: self.times,
            ran: Instant::now(),
        };
        let ran = ran(self.specs, self.lowered, setup);
        // Nor is an output that differs from run to run, but where that is the question.
        let mut by_schedule = Vec::new();
        if !options.deterministic {
            by_schedule = std::mem::take(&mut side.outcome.by_schedule);
        }
        let mut found = Found::default();
        found.add_side((&ran, self.lowered), &mut side, options.strict);
        found.assumptions.extend(places.assumptions);
        found
            .defects
            .extend(launches::defects(&ran, &places.defects));
        found
            .unknown
            .extend(launches::unknowns(&ran, &places.unknowns));
        found.note(launches::unknowns(&ran, &by_schedule));
        let (tried, shown) = match found.defects.is_empty() {
            true => trial::alone(setup, &side.outcome, limits, |s| self.run(s).outcome),
            false => (0, Vec::new()),
        };
        found.defects.extend(launches::defects(&ran, &shown));
        if tried > 0 && shown.is_empty() {
            found.warnings.push(trial::proves_nothing(tried));
        }
        found.miss(&ran);
        let verdict = match (found.defects.is_empty(), found.unknown.is_empty()) {
            (false, _) => Verdict::Defective,
            (true, false) => Verdict::Unknown,
            (true, true) => Verdict::Clean,
        };
        let deciding = self.deciding();
        let subjects = self.subjects(setup, &deciding, !self.options.deterministic);
        let determinism = subjects.first().filter(|_| options.deterministic);
        let determinism = determinism
            .map(|subject| same_bits((subject, &self.lowered[0]), &side.outcome, verdict));
        let report = Report {
            verdict,
            deterministic: determinism.as_ref().map(|d| d.answer),
            determinism,
            ..found.report((Command::Race, options), setup, moments)
        };
        Answered {
            report: Some(report),
            forgot,
        }
    }
}
