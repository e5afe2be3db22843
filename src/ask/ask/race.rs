//! `race`: is one kernel free of defects?

use super::{Held, Question, Roles, first};
use crate::answer::{Answer, Command, Failure, Report, Verdict};
use crate::race::race;
use crate::slack::slack;
use crate::spec::{Entry, Layers, Manifest};

pub(super) struct Race;

impl Question for Race {
    fn command(&self) -> Command {
        Command::Race
    }

    fn roles(&self) -> Roles {
        Roles::One
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Clean, Defective, Unknown]
    }

    fn entries<'m>(&self, manifest: &'m Manifest) -> &'m [Entry] {
        &manifest.race
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        let layers = first(instances)?;
        // The verdict is that of a race: what is needed stands beside it.
        let report = match held.is_entry && layers.options()?.slack {
            true => Report {
                command: Command::Race,
                ..slack(layers, held.files)?
            },
            false => race(layers, held.files)?,
        };
        Ok(Answer::of(report))
    }
}
