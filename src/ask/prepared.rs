//! One reference and many candidates, in memory.
//!
//! [`Reference::prepare`] reads and runs a reference once; [`Reference::check`] compares a candidate with it. A check has
//! threads of its own, with the stack that parsers of hostile text want, is ended by its own [`Cancel`], and turns a panic
//! into a [`Failure`]; nothing of it is kept in the process but what its reference came to.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::answer::{ErrorKind, Failure, Report};
use crate::check::check_prepared;
use crate::diag::Source;
use crate::grid::prepared::Runs;
use crate::input::{self, File, Files};
use crate::spec::manifest::Side;
use crate::spec::{Layers, Settings};

pub use crate::spec::limits::Cancel;

/// Stack of the threads of a check: nothing recurses over terms, but a parser may want more than the default for hostile
/// input. It is reserved and not used.
const STACK: usize = 256 << 20;

/// The text of a kernel, with the name that reports give it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// What reports call it.
    pub name: &'a str,
    /// PTX.
    pub ptx: &'a str,
}

/// A reference that candidates are compared with, from any thread.
#[derive(Debug)]
pub struct Reference {
    file: Arc<File>,
    settings: Settings,
    runs: Runs,
    report: Report,
}

impl Reference {
    /// Reads a reference and compares it with itself. `settings` are those of an entry of a manifest: launch and bindings
    /// as every check has them, facts, time (`timeout`) and memory of a check.
    ///
    /// # Errors
    ///
    /// Where the text, the launch or the bindings are wrong. A reference that has a defect is prepared all the same:
    /// [`Reference::report`] tells.
    pub fn prepare(text: Text, settings: &Settings) -> Result<Reference, Failure> {
        let file = parsed(text)?;
        let runs = Runs::within(settings.memory_limit);
        let report = compared(
            (&file, file.clone()),
            [settings, &Settings::default()],
            &runs,
            &Cancel::default(),
        )?;
        Ok(Reference {
            file,
            settings: settings.clone(),
            runs,
            report,
        })
    }

    /// What a comparison with itself came to: where this is not `equivalent`, no candidate is.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Compares a candidate with the reference. `settings` lie above those of the reference: what they say of the launch
    /// and the bindings counts for the check.
    ///
    /// # Errors
    ///
    /// Where the text, the launch or the bindings are wrong, and where volta itself fails. Neither says anything about
    /// the candidate.
    pub fn check(
        &self,
        candidate: Text,
        settings: &Settings,
        cancel: &Cancel,
    ) -> Result<Report, Failure> {
        let candidate = parsed(candidate)?;
        let layers = [&self.settings, settings];
        compared((&self.file, candidate), layers, &self.runs, cancel)
    }
}

fn parsed(text: Text) -> Result<Arc<File>, Failure> {
    let source = Source::new(text.name, text.ptx)
        .map_err(|e| Failure::new(ErrorKind::File, e.to_string()))?;
    input::parse(Arc::new(source))
}

/// Compares two texts, on threads of their own.
fn compared(
    (reference, optimized): (&Arc<File>, Arc<File>),
    [below, above]: [&Settings; 2],
    runs: &Runs,
    cancel: &Cancel,
) -> Result<Report, Failure> {
    // Names that no file has.
    let names = ["\0reference", "\0candidate"].map(Path::new);
    let files = Files::new();
    files.insert(names[0], Ok(reference.clone()));
    files.insert(names[1], Ok(optimized));
    let mut above = above.clone();
    put(&mut above.reference, names[0]);
    put(&mut above.optimized, names[1]);
    let broken = |why: String| Failure::new(ErrorKind::Internal, why);
    let pool = cancel
        .threads()
        .stack_size(STACK)
        .build()
        .map_err(|e| broken(format!("cannot start threads: {e}")))?;
    let work = || pool.install(|| check_prepared(Layers(&[below, &above]), &files, Some(runs)));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|what| {
        let text = what.downcast_ref::<String>().map(String::as_str);
        let text = text.or(what.downcast_ref::<&str>().copied());
        Err(broken(format!(
            "internal error, nothing is claimed: {}",
            text.unwrap_or_default()
        )))
    })
}

/// Says where a kernel is, beside what is said of its launch.
fn put(side: &mut Option<Side>, file: &Path) {
    side.get_or_insert_default().file = Some(PathBuf::from(file));
}

#[cfg(test)]
mod tests {
    use crate::answer::{UnknownKind, Verdict};

    use super::*;

    const SPEC: &str = "threads = 32\nargs = { x = 'in:f32[32]', y = 'out:f32[32]' }";

    fn kernel(op: &str) -> String {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {{\n\
             .reg .u64 %d<4>; .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .pred %p;\nld.param.u64 %d0, [x];\nld.param.u64 %d1, [y];\n\
             mov.u32 %r0, %tid.x;\nmul.wide.u32 %d2, %r0, 4;\nadd.u64 %d0, %d0, %d2;\nadd.u64 %d1, %d1, %d2;\n\
             ld.global.f32 %f0, [%d0];\n{op}\nst.global.f32 [%d1], %f1;\nret;\n}}\n"
        )
    }

    fn prepared() -> Reference {
        let settings: Settings = toml::from_str(SPEC).expect("settings");
        let ptx = kernel("add.f32 %f1, %f0, %f0;");
        let text = Text {
            name: "reference",
            ptx: &ptx,
        };
        Reference::prepare(text, &settings).expect("a reference")
    }

    fn check(r: &Reference, op: &str, settings: &str, cancel: &Cancel) -> Result<Report, Failure> {
        let settings = toml::from_str(settings).expect("settings");
        let text = Text {
            name: "candidate",
            ptx: &kernel(op),
        };
        r.check(text, &settings, cancel)
    }

    #[test]
    fn candidates_share_a_run_where_everything_is_alike() {
        let r = prepared();
        assert_eq!(r.report().verdict, Verdict::Equivalent);
        let (cancel, held) = (Cancel::default(), r.runs.count());
        let verdict =
            |op: &str, settings: &str| check(&r, op, settings, &cancel).expect("a report").verdict;
        let twice = "mul.f32 %f1, %f0, 0f40000000;";
        assert_eq!(verdict(twice, ""), Verdict::Equivalent);
        assert_eq!(verdict("mov.f32 %f1, %f0;", ""), Verdict::NotEquivalent);
        assert_eq!(r.runs.count(), held, "the reference was run again");
        // What is said above changes what the reference is given: it is run for that, and the first run stays.
        let other = "args = { x = 'in:f32[64]' }";
        assert_eq!(verdict(twice, other), Verdict::Equivalent);
        assert_eq!(r.runs.count(), held + 1);
        assert_eq!(verdict(twice, "threads = 16"), Verdict::Equivalent);
        assert_eq!(verdict("mov.f32 %f1, %f0;", ""), Verdict::NotEquivalent);
    }

    #[test]
    fn a_cancelled_check_claims_nothing_and_no_other_is() {
        let r = prepared();
        let (ended, free) = (Cancel::default(), Cancel::default());
        ended.cancel();
        let endless = "L: bra L;";
        let report = check(&r, endless, "", &ended).expect("a report");
        assert_eq!(report.verdict, Verdict::Unknown);
        assert!(report.unknown.iter().any(|u| u.kind == UnknownKind::Limit));
        let report = check(&r, "add.f32 %f1, %f0, %f0;", "", &free);
        assert_eq!(report.expect("a report").verdict, Verdict::Equivalent);
    }

    #[test]
    fn errors_are_errors() {
        let failure = check(&prepared(), "no such thing", "", &Cancel::default());
        let failure: Box<dyn std::error::Error> = Box::new(failure.expect_err("no kernel"));
        assert!(!failure.to_string().is_empty());
    }
}
