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
pub(crate) struct Ranges {
    /// The bindings without them, until they were asked about; none where there are no ranges.
    setup: Option<Setup>,
    /// The answer with them.
    with: Option<Report>,
}

impl Ranges {
    /// Those of the bindings of a question.
    pub(crate) fn new(setup: &Setup) -> Ranges {
        let mut without = setup.clone();
        let mut some = false;
        for k in &mut without.kernels {
            if let Some(rest) = k.bindings.facts.without_floats() {
                k.bindings.facts = Arc::new(rest);
                some = true;
            }
        }
        Ranges {
            setup: some.then_some(without),
            with: None,
        }
    }
}

impl<L: Fn(&Setup, bool) -> Ran> Refinement<Question<'_, L>> for Ranges {
    fn reason(&self) -> Reason {
        Reason::Ranges
    }

    fn look(&mut self, question: &Question<L>, known: &mut Knowledge, ran: Ran) -> Next<Ran> {
        if let Some(mut with) = self.with.take() {
            return Next::Pass(ran.map(|mut answered| {
                let report = answered.report.take();
                let proves = |r: &Report| matches!(r.verdict, Verdict::Equivalent | Verdict::Clean);
                answered.report = Some(match report.filter(proves) {
                    Some(mut report) => {
                        report.rounding = with.rounding.take();
                        report
                    }
                    None => with,
                });
                answered
            }));
        }
        let open = |a: &Answered| {
            let report = a.report.as_ref();
            report.is_some_and(|r| r.verdict == Verdict::Unknown)
        };
        let is_open = ran.as_ref().is_ok_and(open) && question.limits.reached().is_none();
        let Some(setup) = self.setup.take().filter(|_| is_open) else {
            return Next::Pass(ran);
        };
        self.with = ran.ok().and_then(|a| a.report);
        known.content = Some(setup);
        Next::Again
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}
