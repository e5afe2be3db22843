//! The verdict of a report as a sentence: what is said, and of what.

use super::kernel::show;
use super::kinds::ONE_SCHEDULE;
use super::{Command, KernelAnswer, Kind, Part, Report, Verdict};

/// Kinds of findings that are named.
const KINDS: usize = 3;

impl Report {
    /// What the verdict says and of which launch, in words.
    pub fn claim(&self) -> String {
        let said = self.said();
        let schedule = match self.verdict {
            // Which launches are cancelled is chosen by the schedule that was run.
            _ if self.assumptions.iter().any(|a| a.message == ONE_SCHEDULE) => {
                ", under the schedule that was run"
            }
            Verdict::Equivalent | Verdict::Clean | Verdict::Lifted => ", for every schedule",
            Verdict::Ran => ", under one schedule",
            Verdict::NotEquivalent | Verdict::Defective | Verdict::Unknown => "",
        };
        format!("{said}{schedule}{}", self.launch())
    }

    /// Whether it speaks of every launch.
    pub fn is_of_every_launch(&self) -> bool {
        let is_proof = matches!(self.verdict, Verdict::Clean | Verdict::Equivalent);
        is_proof && self.scope.launches.is_some()
    }

    fn said(&self) -> String {
        let text = match self.verdict {
            Verdict::Equivalent if self.command == Command::Rows => {
                "each row is the same function of its own row of the inputs, in every batch that was run"
            }
            Verdict::NotEquivalent if self.command == Command::Rows => "a row depends on its batch",
            Verdict::Equivalent if self.command == Command::Classes => {
                "all kernels leave the same bits"
            }
            Verdict::NotEquivalent if self.command == Command::Classes => {
                "some kernels leave different bits"
            }
            Verdict::Equivalent => return self.compared(),
            Verdict::Clean => "no race, deadlock, barrier misuse or memory error",
            Verdict::NotEquivalent if self.formula().is_some() => {
                "the kernel computes something else than the formula says"
            }
            Verdict::NotEquivalent if self.inputs.options.bits => {
                "the kernels leave different bits"
            }
            Verdict::NotEquivalent => "the kernels compute different outputs",
            Verdict::Defective => {
                let of = |p: Part| self.kernels().count() > 1 && p != Part::Kernel;
                let named = self.defects.iter().map(|d| match of(d.kernel) {
                    true => format!("{} in the {}", d.kind.name(), side(d.kernel)),
                    false => d.kind.name().to_string(),
                });
                return list(named);
            }
            Verdict::Ran => "executed on numbers, without race, deadlock or memory error",
            Verdict::Lifted => {
                let count = self.outputs.lifted().len();
                return format!("{} as formulas", counted(count as u64, "output"));
            }
            Verdict::Unknown => {
                let kinds = list(self.unknown.iter().map(|u| u.kind.name().to_string()));
                return match kinds.is_empty() {
                    true => "nothing is claimed".to_string(),
                    false => format!("nothing is claimed ({kinds})"),
                };
            }
        };
        text.to_string()
    }

    /// What was compared and is equal.
    fn compared(&self) -> String {
        let outputs = self.outputs.compared();
        let elements = outputs.iter().map(|o| o.elements).sum();
        let (elements, of) = (
            counted(elements, "element"),
            counted(outputs.len() as u64, "output"),
        );
        match (self.inputs.options.bits, self.formula()) {
            (true, _) => format!("the same bits in {elements} of {of}, by the same operations"),
            (false, Some(_)) => format!("what the formula says in {elements} of {of}"),
            (false, None) => format!("{elements} of {of}"),
        }
    }

    /// The launch, or the launches, that it is about.
    fn launch(&self) -> String {
        if self.is_of_every_launch()
            && let Some(launches) = &self.scope.launches
        {
            return format!("; {}", launches.text);
        }
        let all: Vec<&KernelAnswer> = self.kernels().map(|k| k.2).collect();
        let is_sequence = self.kernels().any(|k| k.1.is_some());
        let count = all.len() as u64;
        match all.as_slice() {
            [] => String::new(),
            _ if is_sequence => format!(", {}", counted(count, "launch")),
            _ if all
                .iter()
                .any(|k| k.block.contains(&0) || k.grid.contains(&0)) =>
            {
                String::new()
            }
            [first, rest @ ..] => {
                let words = |of: fn(&KernelAnswer) -> [u32; 3]| {
                    let mut words: Vec<String> = vec![short(of(first))];
                    words.extend(rest.iter().map(|k| short(of(k))));
                    words.dedup();
                    words.join(" and ")
                };
                let (block, grid) = (words(|k| k.block), words(|k| k.grid));
                let part = match (self.scope.whole_grid, rest) {
                    (true, _) => "",
                    (false, _) => " in part",
                };
                format!(", block {block}, grid {grid}{part}")
            }
        }
    }
}

fn side(part: Part) -> String {
    match part {
        Part::Optimized => "optimized kernel".to_string(),
        other => other.name().to_string(),
    }
}

/// Some words, each once.
fn list(words: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    if all.len() > KINDS {
        all.truncate(KINDS);
        all.push("...".to_string());
    }
    all.join(", ")
}

/// `1 element`, `2 elements`.
fn counted(n: u64, word: &str) -> String {
    let end = match (n, word.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{n} {word}{end}")
}

/// `4` for `4,1,1`.
fn short(shape: [u32; 3]) -> String {
    show(shape).trim_end_matches(",1").to_string()
}
