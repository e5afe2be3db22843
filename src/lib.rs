//! volta proves that an optimized GPU kernel computes what its reference computes.
//!
//! # What is claimed
//!
//! [`check`](check::check) compares two PTX kernels and answers `equivalent`, `not-equivalent`,
//! `defective` or `unknown`; [`race`](race::race) looks at one kernel and answers `clean`,
//! `defective` or `unknown`. `equivalent` means: for every schedule of the threads, and every real
//! input on which the reference is defined, both kernels end without race, deadlock or memory
//! error, and every output element is the same real-valued expression. `not-equivalent` comes with
//! an input on which an output differs, `defective` with both sides of the defect. Everything
//! else is `unknown` with its reasons: nothing that is not modelled is ever skipped, and whatever
//! an answer takes for granted stands in its report. Only where the user accepts it
//! (`--probabilistic`) may `equivalent` rest on evaluation at random points, and then it names the
//! chance of its error. Roundings to narrow formats are listed beside the answer
//! ([`precision`]), which is about real numbers.
//!
//! Two results carry the claim, both from "Equivalence Checking of ML GPU Kernels": one schedule
//! stands for all of them when it is free of races and deadlocks, and equality of sums of
//! polynomials times exponentials of polynomials is decidable. The semantics of barriers follow
//! "Verification of Producer-Consumer Synchronization in GPU Programs" (PLDI 2015).
//!
//! # The way through
//!
//! ```text
//! text --ptx--> Module --kernel--> Kernel --sim--> Outcome --norm--> Canon --decide--> Decision --found--> Report --report--> text
//! ```
//!
//! Folders are stages, files are techniques; each arrow is one function and each waist one type.
//! `src/docs/architecture.md` has a page for each waist, and says how to add to it. The stages stand in members of the workspace,
//! each a folder of `src` whose `lib.rs` says what its folders are; a member knows only those before it. In reading order:
//!
//! * `base`, what all share: [`scalar`], [`answer`], [`diag`], [`work`], [`progress`].
//! * `ptx`, text to kernels: [`ptx`], [`kernel`].
//! * `term`, values and their canonical forms: [`number`], [`term`], [`norm`], [`special`].
//! * `sim`, one kernel to one outcome: [`spec`], [`precision`], [`explore`], [`sim`].
//! * `prove`, outcomes to rulings: [`grid`], [`formula`], [`reading`], [`decide`], [`explain`], [`bits`].
//! * `ask`, the questions, each an engine from kernels to a report: [`check`], [`race`], [`any`], [`run`], [`lift`], [`rows`],
//!   [`classes`], [`slack`]; [`ask`] lists them, and [`found`] is how what they find becomes reports.
//! * Here stands what knows no question by name: [`report`], a formatter for each output format, which reads answers alone;
//!   [`compile`], CUDA files to PTX by the nvcc of the user; [`cache`], texts that need not be made again;
//!   [`gate`], the entries of manifests; [`serve`], questions in worker processes for a client; and the command line.
//!
//! # From Rust
//!
//! [`prepared`] holds one reference for many candidates:
//!
//! ```
//! use volta::prepared::{Cancel, Reference, Text};
//! use volta::answer::Verdict;
//! use volta::spec::Settings;
//!
//! let twice = |op: &str| format!(
//!     ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry twice(.param .u64 y) {{\n\
//!      .reg .u64 %d; .reg .f32 %f;\nld.param.u64 %d, [y];\nld.global.f32 %f, [%d];\n{op}\nst.global.f32 [%d], %f;\nret;\n}}\n"
//! );
//! let settings: Settings = toml::from_str("threads = 1\nargs = { y = 'inout:f32[1]' }")?;
//! let plain = twice("add.f32 %f, %f, %f;");
//! let reference = Reference::prepare(Text { name: "plain", ptx: &plain }, &settings)?;
//!
//! let check = |ptx: &str| reference.check(Text { name: "candidate", ptx }, &settings, &Cancel::default());
//! assert_eq!(check(&twice("mul.f32 %f, %f, 0f40000000;"))?.verdict, Verdict::Equivalent);
//! assert_eq!(check(&twice("mul.f32 %f, %f, 0f40400000;"))?.verdict, Verdict::NotEquivalent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! * Nothing after [`kernel`] looks at strings; the way back to the text is a table of spans.
//! * Only a [`sim::Clean`] outcome can be compared: the precondition of the confluence argument is
//!   a type.
//! * A child has a smaller [`term::TermId`] than its parent, and nothing recurses over terms.
//! * Equal ids are equal terms. Nothing depends on the order of a hash table: a report has the
//!   same bytes, but for its times, whatever the number of threads.
//! * No input makes volta panic; a limit on time or memory ends in `unknown`.

pub mod cache;
pub mod compile;
pub mod gate;
pub mod report;
pub mod serve;

pub use volta_ask::{
    alone, any, ask, asked, cases, certificate, check, classes, dump, found, init, input,
    instances, lift, prepared, race, rounding, rows, run, sass, slack, spec_file, steps, trial,
};
pub use volta_base::{answer, diag, progress, scalar, work};
pub use volta_prove::{bits, decide, explain, formula, grid, reading};
pub use volta_ptx::{kernel, ptx};
pub use volta_sim::{explore, precision, sim, spec};
pub use volta_term::{norm, number, special, term};
