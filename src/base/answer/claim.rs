//! The verdict of a report as a sentence.

use super::kinds::ONE_SCHEDULE;
use super::{Command, Report, Verdict};

impl Report {
    /// What the verdict says, in words.
    pub fn claim(&self) -> &'static str {
        match self.verdict {
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
            Verdict::Equivalent if self.formula().is_some() => {
                "the kernel computes what the formula says, without race, deadlock or memory error"
            }
            Verdict::Equivalent if self.inputs.options.bits => {
                "both kernels leave the same bits, by the same operations, without race, deadlock or memory error"
            }
            Verdict::Equivalent => {
                "both kernels compute the same real-valued outputs, without race, deadlock or memory error"
            }
            // Which launches are cancelled is chosen by the schedule that was run.
            Verdict::Clean if self.assumptions.iter().any(|a| a.message == ONE_SCHEDULE) => {
                "no race, deadlock, barrier misuse or memory error under the schedule that was run"
            }
            Verdict::Clean => {
                "no race, deadlock, barrier misuse or memory error under any schedule"
            }
            Verdict::NotEquivalent if self.formula().is_some() => {
                "the kernel computes something else than the formula says"
            }
            Verdict::NotEquivalent if self.inputs.options.bits => {
                "the kernels leave different bits"
            }
            Verdict::NotEquivalent => "the kernels compute different outputs",
            Verdict::Defective if self.kernels().count() > 1 => "a kernel has a defect",
            Verdict::Defective => "the kernel has a defect",
            Verdict::Ran => {
                "executed on numbers, under one schedule, without race, deadlock or memory error"
            }
            Verdict::Lifted => {
                "the kernel computes these formulas, without race, deadlock or memory error"
            }
            Verdict::Unknown => "nothing is claimed; each reason is below",
        }
    }
}
