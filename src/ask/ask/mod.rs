//! The questions that can be asked about kernels.
//!
//! A command line, an entry of a manifest and a request of a client ask one thing in three ways. `cli`, `gate` and `serve`
//! take theirs apart by what the [`Question`] says of itself, so that none of them knows one by name: a question is its
//! engine, a file of this folder, and a row of the list below.

use std::path::{Path, PathBuf};

use crate::answer::{Answer, Command, ErrorKind, Failure, Part, Verdict};
use crate::grid::prepared::Runs;
use crate::input::Files;
use crate::spec::binding::Key;
use crate::spec::{Entry, Layers, Manifest, Settings, Which};

mod check;
mod classes;
mod lift;
mod race;
mod rows;
mod run;
mod slack;

/// Something that can be asked about kernels.
pub trait Question: Sync {
    /// The command that asks it; its name is also the word of a request and of a table of a manifest.
    fn command(&self) -> Command;

    /// The kernels that it is about.
    fn roles(&self) -> Roles;

    /// The verdicts that it can come to, the one that entries expect by default first.
    fn verdicts(&self) -> &'static [Verdict];

    /// What it is asked of, of a command or an entry at several sizes.
    fn sizes(&self) -> Sizes {
        Sizes::Each
    }

    /// True if an answer can be kept by the texts and the settings of [`Roles::sides`].
    fn is_cached(&self) -> bool {
        true
    }

    /// The entries of a manifest that ask it.
    fn entries<'m>(&self, _manifest: &'m Manifest) -> &'m [Entry] {
        &[]
    }

    /// The answer, about the instances that [`Question::sizes`] names, in that order.
    fn ask(&self, instances: &[Layers], held: &Held) -> Result<Answer, Failure>;
}

/// The list of questions, and the question of each command.
macro_rules! questions {
    ($($name:ident in $file:ident,)*) => {
        /// All of them, in the order of help and of the entries of a manifest.
        pub static QUESTIONS: &[&dyn Question] = &[$(&$file::$name),*];

        /// The question of a command.
        pub fn of(command: Command) -> &'static dyn Question {
            match command {
                $(Command::$name => &$file::$name,)*
            }
        }
    };
}

questions! {
    Check in check,
    Race in race,
    Run in run,
    Slack in slack,
    Classes in classes,
    Rows in rows,
    Lift in lift,
}

/// The question that a word names.
pub fn named(word: &str) -> Option<&'static dyn Question> {
    let mut all = QUESTIONS.iter().copied();
    all.find(|q| q.command().name() == word)
}

/// The kernels that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// One kernel.
    One,
    /// A reference and an optimized kernel.
    Pair,
    /// Kernels of one rank.
    Several,
}

impl Roles {
    /// The sides of settings that say what they are.
    pub fn sides(self) -> &'static [Which] {
        match self {
            Roles::One | Roles::Several => &[Which::Kernel],
            Roles::Pair => &[Which::Reference, Which::Optimized],
        }
    }

    /// The first key of an entry that says something of a kernel that there is not.
    pub fn stray(self, entry: &Settings) -> Option<&'static str> {
        match self {
            Roles::Pair => entry.kernel.is_some().then_some("kernel"),
            Roles::One | Roles::Several => {
                let reference = entry.reference.is_some().then_some("reference");
                reference.or(entry.optimized.is_some().then_some("optimized"))
            }
        }
    }

    /// What a finding about all of them is of.
    pub fn part(self) -> Part {
        match self {
            Roles::One => Part::Kernel,
            Roles::Pair | Roles::Several => Part::Pair,
        }
    }
}

/// What a question is asked of, of instances at several sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Each instance by itself.
    Each,
    /// Each instance, and behind it the smallest one.
    BesideSmallest,
    /// All instances together.
    Together,
}

/// What whoever asks has, beside the settings.
#[derive(Clone, Copy)]
pub struct Held<'a> {
    /// The files that were read.
    pub files: &'a Files,
    /// Runs of a reference that may be asked about again.
    pub runs: Option<&'a Runs>,
    /// True for an entry of a manifest, whose settings may ask for more than its command does.
    pub is_entry: bool,
    /// Where parts of the answer are written.
    pub to: Targets<'a>,
}

impl<'a> Held<'a> {
    /// Files and nothing else.
    pub fn new(files: &'a Files) -> Held<'a> {
        Held {
            files,
            runs: None,
            is_entry: false,
            to: Targets::default(),
        }
    }
}

/// Files that parts of an answer are written to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Targets<'a> {
    /// For outputs of a run, each by its parameter.
    pub outputs: &'a [(Key, PathBuf)],
    /// For the certificate of a proof.
    pub certificate: Option<&'a Path>,
}

/// The instance that a question is about.
fn first<'a>(instances: &[Layers<'a>]) -> Result<Layers<'a>, Failure> {
    let first = instances.first().copied();
    first.ok_or_else(|| Failure::new(ErrorKind::Usage, "there is no instance to run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_commands_and_questions_are_one_to_one() {
        for question in QUESTIONS {
            let command = question.command();
            assert_eq!(of(command).command(), command);
            let named = named(command.name()).map(Question::command);
            assert_eq!(named, Some(command));
        }
    }
}
