//! The words of a report that are no kinds of findings: its verdicts and its headings, for `volta explain`.

use crate::answer::Verdict;

/// What `volta explain` says of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// The word as the report has it.
    pub word: &'static str,
    /// What it is.
    pub family: &'static str,
    /// One sentence.
    pub says: &'static str,
    /// What it means, in a few sentences.
    pub means: &'static str,
    /// What brings it about.
    pub example: &'static str,
    /// What to do next.
    pub hint: &'static str,
}

/// The family of the verdicts.
pub(super) const VERDICT: &str = "verdict";

/// The family of the headings.
pub(super) const HEADING: &str = "heading of a report";

/// Every word, in the order in which they are listed.
pub(super) fn all() -> impl Iterator<Item = Word> {
    VERDICTS.into_iter().map(verdict).chain(HEADINGS)
}

/// The verdicts in the order of the page: those that prove, those that refute, the one that does neither.
const VERDICTS: [Verdict; 7] = [
    Verdict::Equivalent,
    Verdict::Clean,
    Verdict::Ran,
    Verdict::Lifted,
    Verdict::NotEquivalent,
    Verdict::Defective,
    Verdict::Unknown,
];

/// The page of a verdict.
fn verdict(v: Verdict) -> Word {
    let (says, means, example, hint) = match v {
        Verdict::Equivalent => (
            "Both kernels compute the same, and neither has a defect (exit 0).",
            "Of `check`: for every schedule of the threads and every real input on which the reference is defined, both kernels end without race, deadlock, barrier misuse or memory error, and every compared element is the same real-valued expression. Of `check --bits` and `classes`: every element is made by the same machine operations on the same operands. Of `rows`: each row is the same function of its own row, in the launches that were run. Rounding is judged by `--bits` alone.",
            "volta check naive.ptx fast.ptx --threads 128",
            "read the list below `assuming` and the warnings, then ask for other sizes (`--for n=1..9,64`) and for the rounding (`--rounding`)",
        ),
        Verdict::Clean => (
            "The kernel has no race, deadlock, barrier misuse or memory error (exit 0).",
            "Of `race` and `slack`: it holds for every schedule of the launch that the report names and for every content of its arrays; with `--any` for every launch of the scope that the report prints. What the kernel computes is not judged.",
            "volta race kernel.ptx --threads 128",
            "read the list below `assuming`, then ask about every launch (`race --any`), or compare the values with a reference (`check`)",
        ),
        Verdict::Ran => (
            "The kernel was executed on numbers (exit 0).",
            "Of `run`: it ended under one schedule without race or memory error, and the report has what its arrays hold then. Nothing is claimed of other inputs or schedules.",
            "volta run kernel.ptx --threads 4 --arg 0=in:f32[4]=iota --arg 1=out:f32[4]",
            "ask `race` for every schedule and `check` for every input",
        ),
        Verdict::Lifted => (
            "The outputs of the kernel are the formulas that are printed (exit 0).",
            "Of `lift`: each formula was proved equal to the kernel at the sizes that were run. With several sizes one formula stands for all of them, and what it says of sizes between those is a conjecture.",
            "volta lift kernel.ptx --threads 32 --arg 0=in:f32[32] --arg 1=out:f32[32]",
            "give the formula to `check --formula` to prove it of other sizes or of another kernel",
        ),
        Verdict::NotEquivalent => (
            "The kernels differ, and the report shows an input on which they do (exit 1).",
            "An output element has two values on the input below `counterexample`, or only one of the kernels writes it. Of `--bits`, `classes` and `rows` without `--values`: the machine's arithmetic gives different bits on that input. Neither kernel has a defect: `defective` would be said first.",
            "volta check naive.ptx fast.ptx --threads 128   # where fast.ptx forgets a factor",
            "run both kernels on the input that is shown. If both are right, the reference is not the specification; an element that only one kernel writes often means a wrong --grid, --block or binding",
        ),
        Verdict::Defective => (
            "A kernel has a race, a deadlock, a misused barrier or a memory error (exit 1).",
            "Each error below the verdict is a defect that some schedule or input brings about, with both sides of it: threads, lines of the PTX, and lines of the source where it was compiled with -lineinfo. The line `values` of a `check` says whether the results agree all the same.",
            "volta race kernel.ptx --threads 64   # where a __syncthreads() is missing",
            "look at the two places; `volta explain KIND` explains the word in brackets behind `error`. A race in a CTA needs the barrier that the message names; one between CTAs another launch or an atomic operation",
        ),
        Verdict::Unknown => (
            "Nothing is claimed; every reason is named (exit 3).",
            "Neither a proof nor a counterexample was found. Each reason has a word in brackets, the line where it arose, and what can be done. It is no pass: `gate` fails an entry that is unknown unless the entry expects it.",
            "volta race kernel.ptx --threads 128   # for (i = 0; i < n; i++) with n not bound",
            "do what the reason says: bind a parameter (`missing-binding`), give more time or a smaller launch (`limit`), compare in steps through a kernel between the two (`undecided`)",
        ),
    };
    Word {
        word: v.name(),
        family: VERDICT,
        says,
        means,
        example,
        hint,
    }
}

const HEADINGS: [Word; 4] = [
    Word {
        word: "values",
        family: HEADING,
        says: "Whether the results of two kernels agree although one of them is `defective`.",
        means: "`equal`: every compared element was proved equal under the schedule that was run, so that the defect alone is wrong. `different`: an input tells them apart too. `unknown`: neither was shown. The JSON report has it beside every verdict of `check`.",
        example: "defective: a kernel has a defect\nvalues: equal",
        hint: "mend the defect first; `equal` says that nothing else has to be mended, for the schedule that was run",
    },
    Word {
        word: "assuming",
        family: HEADING,
        says: "What the answer takes for granted.",
        means: "A verdict holds where each line of this list holds, and volta did not check them. Some are always there (arrays do not overlap), some come from flags (`--assume`, `--alias`), some from how a kernel was read (a constant, a library function). Each has a kind, which the JSON report names and `volta explain KIND` explains.",
        example: "assuming\n  - different pointer parameters point to arrays that do not overlap",
        hint: "read each line and ask whether your launch keeps it: `--alias A=B` for arrays that are one, `TYPE/alignN` for the alignment, `TYPE[EXTENT]` for the extent, `--exact-constants` for constants",
    },
    Word {
        word: "counterexample",
        family: HEADING,
        says: "An input on which the two kernels differ, with the element and both values.",
        means: "Elements that are not named are 0. `on the machine` is what rounded arithmetic gives on that input. `difference` names the smallest part in which the two expressions differ; it is for reading, and no verdict rests on it.",
        example: "counterexample: y[0] is 0 in the reference and -1 in the optimized kernel\n  difference: the optimized kernel lacks `max(0, .)`",
        hint: "run both kernels on that input; the JSON report has it whole",
    },
    Word {
        word: "denied",
        family: HEADING,
        says: "Warnings that `--deny` makes fail, and that were found (exit 1).",
        means: "The verdict stays what it is, and the exit status is 1. An entry of a manifest with something denied is not ok unless it says `denied = [KIND]`.",
        example: "volta check ref.ptx opt.ptx --threads 128 --deny narrower",
        hint: "mend what the warning names, or take its kind out of `--deny`",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_explained_in_sentences() {
        let mut seen = std::collections::HashSet::new();
        for w in all() {
            assert!(seen.insert(w.word), "{}", w.word);
            assert!(
                crate::answer::kinds::all().iter().all(|k| k.word != w.word),
                "{}",
                w.word
            );
            for text in [w.says, w.means] {
                assert!(text.ends_with('.'), "{}: {text}", w.word);
            }
            assert!(
                !w.example.is_empty() && !w.hint.is_empty() && !w.hint.ends_with('.'),
                "{}",
                w.word
            );
        }
    }
}
