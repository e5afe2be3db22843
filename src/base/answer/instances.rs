//! An answer with its text, and those of a command at several sizes.

use std::fmt;

use indexmap::IndexMap;

use super::{Failure, Report};

/// A report as it is written: every output format is made from it, and it can be kept.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was found.
    pub report: Report,
    /// The text for people, styled, where it was written before.
    pub text: Option<String>,
    /// True if it was not computed now.
    pub cached: bool,
    /// The instances, where the command was run at several sizes.
    pub parts: Vec<AtSize>,
}

impl Answer {
    /// The answer of one run.
    pub fn of(report: Report) -> Answer {
        Answer {
            report,
            text: None,
            cached: false,
            parts: Vec::new(),
        }
    }

    /// The instance whose answer stands for all: the first with the worst verdict, one with something denied before others.
    pub fn worst(parts: &[AtSize]) -> Option<(&AtSize, &Answer)> {
        let rank = |a: &Answer| (a.report.verdict.rank(), !a.report.denied.is_empty());
        let answers = parts
            .iter()
            .filter_map(|p| Some((p, p.result.as_ref().ok()?)));
        answers.reduce(|worst, next| match rank(next.1) > rank(worst.1) {
            true => next,
            false => worst,
        })
    }

    /// The exit status of the contract.
    pub fn exit(&self) -> u8 {
        self.report.exit()
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

/// What a name stands for in one instance, in the order of the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(pub IndexMap<String, i64>);

impl Sizes {
    /// True without any name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How large an instance is, to tell the smallest: the sum of its sizes.
    pub fn total(&self) -> i128 {
        self.0.values().map(|&n| i128::from(n)).sum()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}
