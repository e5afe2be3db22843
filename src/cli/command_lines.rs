//! The command lines of the instances that `--for`, or the `for` of a spec file, asks for.
//!
//! `{EXPR}` is replaced in the arguments before they are read, so that every flag takes part alike. The lists
//! themselves stay as they are. Without lists there is one command line, which is not touched.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Error, Parser};

use volta::answer::coverage::Proposal;
use volta::spec::sizes::fill;
use volta::spec::{Lists, Sizes};
use volta::spec_file::SpecFile;

use super::Cli;

/// One instance of a command.
pub(crate) struct Line {
    /// What the names of sizes stand for; empty for a command without lists.
    pub sizes: Sizes,
    /// Its command line.
    pub cli: Cli,
    /// Flags that stand above those of the command line.
    pub over: Option<Cli>,
}

/// The instances of a command line at the sizes that are proposed for it.
pub(crate) fn proposed(
    argv: &[OsString],
    line: &Line,
    proposals: &[Proposal],
) -> Result<Vec<Line>, Error> {
    let question = line.cli.command.question();
    let files = question.map_or(&[][..], |q| q.flags().common().files);
    let mut out: Vec<Line> = Vec::new();
    for p in proposals {
        let mut above: Vec<OsString> = vec!["volta".into(), line.cli.command.name().into()];
        // A file that is given to a check alone is compared with a formula.
        if let ("check", [_]) = (line.cli.command.name(), files) {
            above.extend(["--formula".into(), "0".into()]);
        }
        let values: Vec<String> = p.values.iter().map(i64::to_string).collect();
        above.push(format!("--for={}={}", p.name, values.join(",")).into());
        above.extend(p.flags.iter().flatten().map(OsString::from));
        above.push("--".into());
        above.extend(files.iter().map(OsString::from));
        for above in read(&above)? {
            out.push(Line {
                sizes: above.sizes,
                cli: Cli::try_parse_from(argv)?,
                over: Some(above.cli),
            });
        }
    }
    Ok(out)
}

/// The instances of a command line, at least one.
pub(crate) fn read(argv: &[OsString]) -> Result<Vec<Line>, Error> {
    let refuse = |why: String| Cli::command().error(ErrorKind::ValueValidation, why);
    let flags = values(argv, "--for");
    let flags = flags.iter().map(|&i| value(&argv[i], "--for"));
    let mut lists = Lists::of_flags(flags).map_err(refuse)?;
    // What is wrong with a spec file is said when its settings are read.
    if let Some(spec) = values(argv, "--spec")
        .last()
        .map(|&i| value(&argv[i], "--spec"))
        && !spec.contains('{')
        && let Ok(below) = SpecFile::read(Path::new(spec)).and_then(|s| s.lists())
    {
        lists = lists.over(&below);
    }
    let all = lists.combinations().map_err(refuse)?;
    let mut out: Vec<Line> = Vec::with_capacity(all.len());
    for sizes in all {
        let argv = filled(argv, &sizes).map_err(refuse)?;
        let cli = Cli::try_parse_from(argv)?;
        let to = |line: &Line| {
            line.cli
                .command
                .output()
                .map(|o| (o.output.clone(), o.also.clone()))
        };
        let line = Line {
            sizes,
            cli,
            over: None,
        };
        if out.first().is_some_and(|first| to(first) != to(&line)) {
            return Err(refuse(
                "one report is written: --output cannot depend on --for".into(),
            ));
        }
        out.push(line);
    }
    Ok(out)
}

/// The arguments of one instance.
fn filled(argv: &[OsString], sizes: &Sizes) -> Result<Vec<OsString>, String> {
    if sizes.is_empty() {
        return Ok(argv.to_vec());
    }
    let kept = values(argv, "--for");
    let fill = |(i, arg): (usize, &OsString)| match arg.to_str() {
        Some(text) if i > 0 && !kept.contains(&i) => {
            let full = fill(text, sizes);
            let full = full.map_err(|e| format!("in `{text}`, for {sizes}: {}", e.message))?;
            Ok(OsString::from(full.into_owned()))
        }
        _ => Ok(arg.clone()),
    };
    argv.iter().enumerate().map(fill).collect()
}

/// The arguments that hold the values of a flag, as `--flag=VALUE` or behind `--flag`.
fn values(argv: &[OsString], flag: &str) -> Vec<usize> {
    let text = |i: usize| argv.get(i).and_then(|a| a.to_str());
    let joined = format!("{flag}=");
    let mut out = Vec::new();
    let mut i = 1;
    while let Some(arg) = argv.get(i).map(|_| text(i).unwrap_or("")) {
        match arg {
            "--" => break,
            _ if arg == flag && text(i + 1).is_some() => {
                out.push(i + 1);
                i += 1;
            }
            _ if arg.starts_with(&joined) => out.push(i),
            _ => {}
        }
        i += 1;
    }
    out
}

/// The value in an argument that [`values`] found.
fn value<'a>(arg: &'a OsString, flag: &str) -> &'a str {
    let text = arg.to_str().unwrap_or("");
    let joined = text.strip_prefix(flag).and_then(|t| t.strip_prefix('='));
    joined.unwrap_or(text)
}
