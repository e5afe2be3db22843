//! What a report says against its kernels, by its roots: what a user mends once stands once, with all that goes away with it.
//!
//! Findings that share a `cause` are one root: the first of them is its head. A counterexample is a root of its own. The
//! order is that of the verdicts, so that the first root is the reason of the verdict: defects, the counterexample, reasons
//! of `unknown`, warnings but those that the user allows.

use indexmap::IndexMap;

use crate::answer::{Family, Finding, Kind, Report, Site, Verdict};

use super::place::Spot;

/// A finding apart from the list that it stands in.
pub(super) struct Told<'a> {
    /// The word of its kind.
    pub kind: &'static str,
    /// Its sentence, with the side that it is about and how often it was found.
    pub text: String,
    /// Where.
    pub sites: &'a [Site],
    /// What the user can do.
    pub hint: Option<&'a str>,
}

impl<'a> Told<'a> {
    /// The line that people look at first.
    pub(super) fn spot(&self) -> Option<Spot<'a>> {
        self.sites.first().map(Spot::source)
    }
}

/// One root.
pub(super) struct Root<'a> {
    /// The list that it stands in; that of a counterexample is [`Family::Defect`].
    pub family: Family,
    /// The first finding.
    pub head: Told<'a>,
    /// The others of the same cause.
    pub rest: Vec<Told<'a>>,
}

impl<'a> Root<'a> {
    /// Where it stands: a root without a line stands at the kernel, the optimized one of two.
    pub(super) fn spot(&self, report: &'a Report) -> Option<Spot<'a>> {
        let kernel = || Spot::kernels(report).into_iter().next();
        self.head.spot().or_else(kernel)
    }

    /// `FILE:LINE: KIND: ...`, for people.
    pub(super) fn told(&self, report: &Report) -> String {
        let at = self.spot(report).map(|at| at.shown() + ": ");
        let (at, head) = (at.unwrap_or_default(), &self.head);
        format!("{at}{}: {}", head.kind, head.text)
    }
}

/// All roots of a report.
pub(super) fn roots(report: &Report) -> Vec<Root<'_>> {
    let mut out = gathered(Family::Defect, &report.defects);
    out.extend(report.counterexample.as_ref().map(|example| {
        let text = match &example.difference {
            Some(d) => format!("{}: {}", example.message, d.message),
            None => example.message.clone(),
        };
        Root {
            family: Family::Defect,
            head: Told {
                kind: Verdict::NotEquivalent.name(),
                text,
                sites: &[],
                hint: None,
            },
            rest: Vec::new(),
        }
    }));
    out.extend(gathered(Family::Unknown, &report.unknown));
    out.extend(gathered(Family::Warning, &report.warnings));
    out
}

/// The reason of an exit status that is not 0: none where the report has no word for it.
pub(super) fn reason(report: &Report) -> Option<Root<'_>> {
    let is_denied = report.verdict.exit() == 0;
    let counts = |root: &Root| match root.family {
        Family::Warning => report.denied.iter().any(|k| k.name() == root.head.kind),
        _ => !is_denied,
    };
    roots(report).into_iter().find(counts)
}

fn gathered<K: Kind>(family: Family, findings: &[Finding<K>]) -> Vec<Root<'_>> {
    let mut out: Vec<Root> = Vec::new();
    let mut causes: IndexMap<&str, usize> = IndexMap::new();
    for f in findings.iter().filter(|f| !f.allowed) {
        let times = match f.count {
            0 | 1 => String::new(),
            n => format!(" ({n} times)"),
        };
        let told = Told {
            kind: f.kind.name(),
            text: format!("{}{}{times}", f.prefix(), f.message),
            sites: &f.sites,
            hint: f.hint.as_deref(),
        };
        let next = out.len();
        let at = match &f.cause {
            Some(cause) => *causes.entry(cause).or_insert(next),
            None => next,
        };
        match out.get_mut(at) {
            Some(root) => root.rest.push(told),
            None => out.push(Root {
                family,
                head: told,
                rest: Vec::new(),
            }),
        }
    }
    out
}
