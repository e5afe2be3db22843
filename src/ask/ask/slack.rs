//! `slack`: which synchronising operations does a kernel need?

use super::{Held, Question, Roles, first};
use crate::answer::{Answer, Command, Failure, Verdict};
use crate::slack::slack;
use crate::spec::Layers;

pub(super) struct Slack;

impl Question for Slack {
    fn command(&self) -> Command {
        Command::Slack
    }

    fn roles(&self) -> Roles {
        Roles::One
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Clean, Defective, Unknown]
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        Ok(Answer::of(slack(first(instances)?, held.files)?))
    }
}
