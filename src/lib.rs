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
//! ([`kernel::precision`]), which is about real numbers.
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
//! `src/docs/architecture.md` has a page for each waist, and says how to add to it. In reading order:
//!
//! * [`diag`]: spans, sources, how a message with its lines is rendered, and text of others as it may be shown, in every
//!   format ([`diag::foreign`]).
//! * [`ptx`]: text to [`ptx::Module`], the whole of PTX ISA 9.0 as a spanned tree.
//! * [`kernel`]: one entry to [`kernel::Kernel`]: names become indices, opcodes an enum, calls are
//!   expanded, labels are program counters.
//! * [`spec`]: what a kernel is launched with. Parameters of both kernels become one table of
//!   [`spec::Arrays`]; an input element is the same symbol in both exactly if it is the same
//!   element of the same array.
//! * [`number`]: floats as a machine has them, bits to bits.
//! * [`term`]: the values, a hash-consed DAG over reals, bits and booleans, and an evaluator that
//!   shares no code with the normaliser.
//! * [`formula`]: a line of mathematics to the same outcome as a run.
//! * [`sim`]: all threads of a CTA under one schedule, with happens-before tracked exactly, to a
//!   [`sim::Outcome`]: what was written, and what went wrong.
//! * [`grid`]: several CTAs of one launch as one outcome, and what they do to each other; launches one after the other.
//! * `special`: NaN, infinities and where they are read; canonical forms know reals only.
//! * [`norm`]: terms to canonical forms.
//! * `reading`: what constants and expanded library functions stand for, as listed assumptions.
//! * [`decide`]: two clean outcomes to rulings: a few inputs first, then tactics, cheapest first.
//! * [`bits`]: whether two runs leave the same bits.
//! * `certificate`: what a proof was of, for a program that shares no code with this one to check.
//! * [`explain`]: rulings to an [`explain::Decision`] with its sentences, and what differs.
//! * [`any`]: one kernel in every launch: small launches that are run, and two arbitrary threads for the rest.
//! * [`answer`]: what was found, as types; [`found`]: how runs and decisions become them; [`report`]: a formatter for each
//!   output format, which reads them alone; [`progress`]: how far the process is.
//! * [`lift`]: values of elements back to lines of mathematics, which are then proved.
//! * [`input`], [`check`], [`race`], [`run`], [`gate`], [`dump`]: the drivers, each of which reads as the
//!   pipeline; [`ask`] lists the questions, which command lines, manifests and clients ask alike; [`instances`] runs one at several sizes, which flags or a [`spec_file`] give; [`serve`] runs them in
//!   worker processes for a client; `trial` runs kernels on known data where they depend on it, and
//!   `cases` once for each content of a few small integers. [`prepared`] holds a reference for many candidates; [`steps`]
//!   compares the steps of one operator with its naive kernel and with each other.
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

mod alone;
pub mod answer;
pub mod any;
pub mod ask;
mod asked;
pub mod bits;
mod cases;
mod certificate;
pub mod check;
pub mod classes;
pub mod decide;
pub mod diag;
pub mod dump;
pub mod explain;
pub mod explore;
pub mod formula;
pub mod found;
pub mod gate;
pub mod grid;
pub mod input;
pub mod instances;
pub mod kernel;
pub mod lift;
pub mod norm;
pub mod number;
pub mod prepared;
pub mod progress;
pub mod ptx;
pub mod race;
mod reading;
pub mod report;
mod rounding;
pub mod rows;
pub mod run;
pub mod sass;
pub mod serve;
pub mod sim;
pub mod slack;
pub mod spec;
pub mod spec_file;
mod special;
pub mod steps;
pub mod term;
mod trial;
pub mod work;
