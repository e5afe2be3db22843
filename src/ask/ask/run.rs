//! `run`: what does one kernel compute of some numbers?

use super::{Held, Question, Roles, first};
use crate::answer::{Answer, Command, Failure, Verdict};
use crate::run::run;
use crate::spec::Layers;

pub(super) struct Run;

impl Question for Run {
    fn command(&self) -> Command {
        Command::Run
    }

    fn roles(&self) -> Roles {
        Roles::One
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Ran, Defective, Unknown]
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        let executed = run(first(instances)?, held.files)?;
        executed.save(held.to.outputs)?;
        Ok(Answer::of(executed.report))
    }
}
