//! One CTA, as something that is run with more or less known.

use std::sync::Arc;

use crate::kernel::Kernel;
use crate::spec::{Arrays, Bindings, Launch, Limits, Mode};
use crate::term::TermId;

use super::address::pins::Asked;
use super::footprint::Noting;
use super::program::Program;
use super::stop::Obstacle;
use super::unused::Ended;
use super::{Finding, Outcome, Side, UnknownKind};

/// What one CTA is run with.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its launch.
    pub launch: &'a Launch,
    /// How that is run.
    pub mode: Mode,
    /// What its parameters are bound to.
    pub bindings: &'a Bindings,
    /// The arrays.
    pub arrays: &'a Arrays,
    /// Which kernel of a pair it is.
    pub side: Side,
    /// When the run ends.
    pub limits: &'a Limits,
}

/// One CTA as something that is run with more or less known.
pub(super) struct OneCta<'a> {
    pub inputs: &'a Inputs<'a>,
    pub noting: &'a Noting,
    /// What the text of its kernel says.
    pub program: Arc<Program>,
}

/// What a run leaves.
#[derive(Default)]
pub(super) struct Ran {
    /// Why it ended before it could say anything.
    pub obstacle: Option<Obstacle>,
    pub outcome: Outcome,
    /// What is needed to tell racing loads apart.
    pub ended: Ended,
    /// The conditions that it decided.
    pub decided: Vec<(TermId, bool)>,
    /// Which bits of bases would decide what is open.
    pub asked: Asked,
}

impl Ran {
    pub(super) fn open(obstacle: Obstacle) -> Ran {
        Ran {
            obstacle: Some(obstacle),
            ..Ran::default()
        }
    }

    pub(super) fn limit(message: String) -> Ran {
        let mut ran = Ran::default();
        ran.outcome
            .unknowns
            .push(Finding::new(UnknownKind::Limit, message));
        ran
    }
}

impl OneCta<'_> {
    /// True if the first run makes no numbers of data.
    pub(super) fn begins_without_values(&self) -> bool {
        let mode = self.inputs.mode;
        let may = !mode.has_numbers() && mode.made_by().is_none();
        may && self.noting.known.without_values
    }
}
