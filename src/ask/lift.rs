//! `lift`: what does one kernel compute, as formulas?

use super::{Held, Question, Roles, Sizes};
use crate::answer::{Answer, Command, Failure, Verdict};
use crate::lift::lift;
use crate::spec::{Layers, Settings};

pub(super) struct Lift;

impl Question for Lift {
    fn command(&self) -> Command {
        Command::Lift
    }

    fn roles(&self) -> Roles {
        Roles::One
    }

    fn verdicts(&self) -> &'static [Verdict] {
        use Verdict::*;
        &[Lifted, Defective, Unknown]
    }

    /// A formula is one for all sizes.
    fn sizes(&self) -> Sizes {
        Sizes::Together
    }

    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure> {
        let owned = |layers: &Layers| layers.0.iter().map(|&s| s.clone()).collect();
        let instances: Vec<Vec<Settings>> = instances.iter().map(owned).collect();
        lift(&instances, held.files)
    }
}
