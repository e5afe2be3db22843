//! `lift`: what does one kernel compute, as formulas?

use super::{Held, Question, Roles, Sizes};
use crate::answer::{Answer, AtSize, Command, ErrorKind, Failure, Verdict};
use crate::instances;
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
        let settings: Vec<Vec<Settings>> = instances.iter().map(owned).collect();
        let (sizes, results) = lift(&settings, held.files)?;
        let parts = sizes.into_iter().zip(results);
        let mut parts = parts.map(|(sizes, result)| AtSize {
            sizes,
            result: result.map(Answer::of),
        });
        match instances.len() {
            1 => match parts.next() {
                Some(one) => one.result,
                None => Err(Failure::new(ErrorKind::Internal, "an instance was lost")),
            },
            _ => instances::merge("lift", parts.collect()),
        }
    }
}
