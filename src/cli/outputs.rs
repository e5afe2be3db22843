//! Where a result is written: what the user names, and the file in which GitHub takes the summary of a step.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use volta::answer::{EXIT_ERROR, ErrorKind, Failure};
use volta::diag::foreign::plain;
use volta::report;

use super::shared::{Format, OutputArgs, also};

/// Where a result goes, and in which formats.
#[derive(Default)]
pub(crate) struct Outputs {
    pub format: Format,
    file: Option<PathBuf>,
    pub also: Vec<(Format, PathBuf)>,
    /// People are told the verdict alone.
    pub quiet: bool,
}

impl Outputs {
    pub(crate) fn of(args: Option<&OutputArgs>) -> Outputs {
        args.map_or_else(Outputs::default, |a| Outputs {
            format: a.format(),
            file: a.output.clone(),
            also: a.also.clone(),
            quiet: a.quiet,
        })
    }

    /// What a command line asks for that is wrong in some other place. A name with an expression of `--for` is none
    /// yet.
    pub(crate) fn guessed(args: &[String]) -> Outputs {
        let mut out = Outputs::default();
        for (i, arg) in args.iter().enumerate() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (arg.as_str(), args.get(i + 1).map(String::as_str)),
            };
            match (name, value) {
                ("--json", _) => out.format = Format::Json,
                ("--format", Some(v)) => out.format = Format::parse(v).unwrap_or(out.format),
                (_, Some(v)) if v.contains('{') => {}
                ("--output", Some(v)) => out.file = Some(PathBuf::from(v)),
                ("--also", Some(v)) => out.also.extend(also(v)),
                _ => {}
            }
        }
        out
    }

    /// Writes a result in each format.
    pub(crate) fn write(&self, text: impl Fn(Format) -> String) -> Result<(), Failure> {
        for (format, path) in &self.also {
            to_file(path, &text(*format))?;
        }
        match &self.file {
            Some(path) => to_file(path, &text(self.format)),
            None => to_stdout(&text(self.format)),
        }
    }

    /// Adds the summary of a step to the file that GitHub names, where its format is asked for.
    pub(crate) fn summarise(&self, text: impl FnOnce() -> Option<String>) -> Result<(), Failure> {
        let path = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        match (self.format, path) {
            (Format::Github, Some(path)) => match text() {
                Some(text) => append(Path::new(&path), &text),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Writes a usage or input error in each format; the result is the exit status.
    pub(crate) fn fail(&self, command: Option<&str>, failure: &Failure) -> u8 {
        let text = |format| {
            let name = command.unwrap_or("volta");
            match format {
                Format::Json => report::json::text(&failure.answer(command)),
                Format::Sarif => report::json::text(&report::sarif::failure(failure)),
                Format::Junit => report::junit::failure(name, failure),
                Format::Html => report::html::failure(name, failure),
                Format::Github => report::github::failure(failure),
                Format::Human => failure.render(),
            }
        };
        let further = self.also.iter().map(|(f, path)| to_file(path, &text(*f)));
        let first = match (self.format, &self.file) {
            // People read errors where no file takes them.
            (Format::Human, _) => None,
            (format, Some(path)) => Some(to_file(path, &text(format))),
            (format, None) => Some(to_stdout(&text(format))),
        };
        let name = command.unwrap_or("volta");
        let summary = self.summarise(|| Some(report::summary::failure(name, failure)));
        let all = further.chain(first.clone()).chain([summary]);
        let unwritten = all.filter_map(Result::err).next();
        if let Some(why) = &unwritten {
            let _ = anstream::stderr().write_all(why.render().as_bytes());
        }
        if first.is_none() || unwritten.is_some() {
            let _ = anstream::stderr().write_all(failure.render().as_bytes());
        }
        EXIT_ERROR
    }
}

fn to_file(path: &Path, text: &str) -> Result<(), Failure> {
    let cannot = |e| {
        let message = format!("cannot write `{}`: {e}", path.display());
        Failure::new(ErrorKind::File, message)
    };
    std::fs::write(path, plain(text)).map_err(cannot)
}

/// Adds a text to the end of a file. The environment names it, not the user: it is no device, no pipe, and not made here.
fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let cannot = |e: io::Error| {
        let message = format!("cannot write the summary `{}`: {e}", path.display());
        Failure::new(ErrorKind::File, message)
    };
    let about = std::fs::metadata(path).map_err(cannot)?;
    if !about.is_file() {
        return Err(cannot(io::Error::other("it is no regular file")));
    }
    let file = std::fs::OpenOptions::new().append(true).open(path);
    let mut file = file.map_err(cannot)?;
    file.write_all(text.as_bytes()).map_err(cannot)
}

fn to_stdout(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has seen enough is no failure.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write the report: {e}");
            Err(Failure::new(ErrorKind::File, message))
        }
        _ => Ok(()),
    }
}
