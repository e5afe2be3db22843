//! Why a question about one kernel or a pair is asked again.
//!
//! It is asked with the bindings as they are given, and then with more known: how numbers were made ([`Made`]), and what
//! arrays hold of which the facts allow few contents ([`crate::cases`]). Last it is asked without the ranges of floats
//! ([`Ranges`]).

use std::sync::Arc;

use crate::answer::{Failure, Finding, Part, Report, UnknownKind, Values, Verdict};
use crate::explore::{Next, Reason, Refinement, Stage};
use crate::input::Lowered;
use crate::spec::{Domain, Limits, Setup};

/// A question, apart from what is known.
pub(crate) struct Question<'a, L> {
    /// The bindings.
    pub setup: &'a Setup,
    /// The kernels.
    pub lowered: &'a [Lowered],
    /// When it ends.
    pub limits: Limits,
    /// Whether numbers may be made to remember how they were made.
    pub may_remember: bool,
    /// Answers it.
    pub look: L,
}

/// What is known when a question is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Knowledge {
    /// The bindings with the contents of some arrays; none are those that are given.
    pub content: Option<Setup>,
    /// Ways that data choose are not followed.
    pub without_forks: bool,
    /// Numbers remember how they were made.
    pub made: bool,
}

/// An answer; none where bits of computed numbers decide, and numbers may be made to remember more.
pub(crate) struct Answered {
    /// What is known.
    pub report: Option<Report>,
    /// Bits of computed numbers decide something of which the runs did not remember enough.
    pub forgot: bool,
}

type Ran = Result<Answered, Failure>;

impl<L: Fn(&Setup, bool) -> Ran> Stage for Question<'_, L> {
    type Knowledge = Knowledge;
    type Ran = Ran;

    fn run(&self, known: &Knowledge) -> Ran {
        let mut setup = known.content.as_ref().unwrap_or(self.setup).clone();
        if known.without_forks {
            setup.kernels.iter_mut().for_each(|k| k.mode.forks = false);
        }
        if known.made {
            remember(&mut setup, self.lowered);
        }
        let may_remember = self.may_remember && !known.made && self.limits.reached().is_none();
        (self.look)(&setup, may_remember)
    }

    fn ended(&self, why: String) -> Ran {
        let mut answered = (self.look)(self.setup, false)?;
        if let Some(report) = &mut answered.report {
            let open = Finding::new(
                Part::Pair,
                UnknownKind::Limit,
                format!("{why} of a question"),
            );
            report.unknown.push(open);
            if matches!(report.verdict, Verdict::Equivalent | Verdict::Clean) {
                report.verdict = Verdict::Unknown;
                report.values = report.values.map(|_| Values::Unknown);
            }
        }
        Ok(answered)
    }
}

/// Lets numbers remember how they were made, and by which code: launches of one kernel are of one.
fn remember(setup: &mut Setup, lowered: &[Lowered]) {
    for (l, k) in lowered.iter().zip(&mut setup.kernels) {
        let first = lowered.iter().position(|m| l.is_one(m));
        k.mode.domain = Domain::Reals {
            made_by: first.map(|i| i as u32),
        };
    }
}

/// Something whose numbers can remember how they were made.
pub(crate) trait Remembers: Stage {
    /// Whether they do.
    fn made(known: &mut Self::Knowledge) -> &mut bool;

    /// Whether a run in which they do not is to be made again with numbers that do: bits of computed numbers decide
    /// something.
    fn asks(&self, ran: &Self::Ran) -> bool;
}

impl<L: Fn(&Setup, bool) -> Ran> Remembers for Question<'_, L> {
    fn made(known: &mut Knowledge) -> &mut bool {
        &mut known.made
    }

    fn asks(&self, ran: &Ran) -> bool {
        let is_over = || self.limits.reached().is_some();
        let forgot = |a: &Answered| a.forgot && !(a.report.is_some() && is_over());
        self.may_remember && ran.as_ref().is_ok_and(forgot)
    }
}

/// Numbers remember how they were made where bits of computed numbers decide something.
pub(crate) struct Made;

impl<S: Remembers> Refinement<S> for Made {
    fn reason(&self) -> Reason {
        Reason::Made
    }

    fn look(&mut self, stage: &S, known: &mut S::Knowledge, ran: S::Ran) -> Next<S::Ran> {
        let made = S::made(known);
        if *made || !stage.asks(&ran) {
            return Next::Pass(ran);
        }
        *made = true;
        Next::Again
    }

    fn reset(&mut self, known: &mut S::Knowledge) {
        *S::made(known) = false;
    }
}

/// A question that is open with the ranges of floats that facts say is asked without them.
///
/// Terms are made with what facts say of them: a test of a library function that a range decides is gone, and with it the
/// form by which the function is known. What is proved of all data holds of those that facts leave, so a proof without the ranges
/// is one with them; anything else that is found without them says nothing.
#[derive(Default)]
pub(crate) struct Ranges {
    /// The answer with them, while it is asked without.
    with: Option<Report>,
}

/// The bindings without what facts say of floats; `None` where they say nothing.
fn without_ranges(setup: &Setup) -> Option<Setup> {
    let kernels = setup.kernels.iter();
    let left: Vec<_> = kernels.map(|k| k.bindings.facts.without_floats()).collect();
    if left.iter().all(Option::is_none) {
        return None;
    }
    let mut setup = setup.clone();
    for (k, left) in setup.kernels.iter_mut().zip(left) {
        if let Some(left) = left {
            k.bindings.facts = Arc::new(left);
        }
    }
    Some(setup)
}

impl<L: Fn(&Setup, bool) -> Ran> Refinement<Question<'_, L>> for Ranges {
    fn reason(&self) -> Reason {
        Reason::Ranges
    }

    fn look(&mut self, question: &Question<L>, known: &mut Knowledge, ran: Ran) -> Next<Ran> {
        let has = |ran: &Ran, verdicts: &[Verdict]| {
            let report = ran.as_ref().ok().and_then(|a| a.report.as_ref());
            report.is_some_and(|r| verdicts.contains(&r.verdict))
        };
        let Some(mut with) = self.with.take() else {
            let is_open = has(&ran, &[Verdict::Unknown]) && question.limits.reached().is_none();
            let Some(setup) = is_open.then(|| without_ranges(question.setup)).flatten() else {
                return Next::Pass(ran);
            };
            self.with = ran.ok().and_then(|a| a.report);
            known.content = Some(setup);
            return Next::Again;
        };
        Next::Pass(match has(&ran, &[Verdict::Equivalent, Verdict::Clean]) {
            true => ran.map(|mut answered| {
                if let Some(report) = &mut answered.report {
                    report.rounding = with.rounding.take();
                }
                answered
            }),
            false => Ok(Answered {
                report: Some(with),
                forgot: false,
            }),
        })
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}
