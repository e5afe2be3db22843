//! `rows`: does a row depend on the batch that it is in?

use super::{Held, Question, Roles, Sizes, first};
use crate::answer::{Answer, Command, Failure, Verdict};
use crate::rows::rows;
use crate::spec::{Entry, Layers, Manifest};

pub(super) struct Rows;

impl Question for Rows {
    fn command(&self) -> Command {
        Command::Rows
    }

    fn roles(&self) -> Roles {
        Roles::One
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Equivalent, NotEquivalent, Defective, Unknown]
    }

    /// The row that all are compared with is one of the smallest instance.
    fn sizes(&self) -> Sizes {
        Sizes::BesideSmallest
    }

    /// A key is of one instance.
    fn is_cached(&self) -> bool {
        false
    }

    fn entries<'m>(&self, manifest: &'m Manifest) -> &'m [Entry] {
        &manifest.rows
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        let here = first(instances)?;
        let smallest = instances.get(1).copied().unwrap_or(here);
        Ok(Answer::of(rows(smallest, here, held.files)?))
    }
}
