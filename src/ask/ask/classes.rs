//! `classes`: which of several kernels leave the same bits?

use super::{Held, Question, Roles, first};
use crate::answer::{Answer, Command, Failure, Verdict};
use crate::classes::classes;
use crate::spec::{Entry, Layers, Manifest};

pub(super) struct Classes;

impl Question for Classes {
    fn command(&self) -> Command {
        Command::Classes
    }

    fn roles(&self) -> Roles {
        Roles::Several
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Equivalent, NotEquivalent, Defective, Unknown]
    }

    /// A key is of one kernel or of a pair.
    fn is_cached(&self) -> bool {
        false
    }

    fn entries<'m>(&self, manifest: &'m Manifest) -> &'m [Entry] {
        &manifest.classes
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        Ok(Answer::of(classes(first(instances)?, held.files)?))
    }
}
