//! Input, output and exit codes of the `volta` executable.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use volta::gate::cache::Cache;
use volta::input::{self, Files};
use volta::report::{self, Answer, EXIT_ERROR, Failure, Report};
use volta::spec::{Layers, Settings, limits};
use volta::{check, dump, gate, progress, race, spec};

mod cli;

use cli::{Cli, Command, DumpArgs, Format, GateArgs, OutputArgs, Stage};

/// Stack of the threads that work; nothing recurses over terms, but a debug build of a parser or a
/// printer may want more than the default for hostile input.
const STACK: usize = 256 << 20;

/// The exit status of a process that an interrupt ended, as shells report it.
const EXIT_INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return ExitCode::from(usage(&e)),
    };
    let panicked: &'static Mutex<String> = Box::leak(Box::default());
    panic::set_hook(Box::new(move |info| {
        let mut text = panicked.lock().unwrap_or_else(PoisonError::into_inner);
        if text.is_empty() {
            *text = info.to_string();
        }
    }));
    // The first interrupt ends with what is known; the second one ends at once.
    let _ = ctrlc::set_handler(|| {
        if limits::interrupted() {
            std::process::exit(EXIT_INTERRUPTED);
        }
        limits::interrupt();
    });
    let jobs = cli.command.output().and_then(|o| o.jobs);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0) as usize)
        .stack_size(STACK)
        .build();
    let result = match pool {
        Ok(pool) => {
            let work = AssertUnwindSafe(|| pool.install(|| run(&cli.command)));
            panic::catch_unwind(work).unwrap_or_else(|_| {
                let what = panicked.lock().unwrap_or_else(PoisonError::into_inner);
                let message = format!("internal error, nothing is claimed: {what}");
                Err(Failure::new("internal", message))
            })
        }
        Err(e) => Err(Failure::new("", format!("cannot start threads: {e}"))),
    };
    let (text, code) = match result {
        Ok(done) => done,
        Err(failure) => return ExitCode::from(fail(&cli.command, &failure)),
    };
    match emit(cli.command.output(), &text) {
        Ok(()) => ExitCode::from(code),
        Err(failure) => ExitCode::from(fail(&cli.command, &failure)),
    }
}

/// Runs a command; the result is what to print and the exit status.
fn run(command: &Command) -> Result<(String, u8), Failure> {
    let usage = |message| Failure::new("usage", message);
    let format = command.output().map_or(Format::Human, OutputArgs::format);
    match command {
        Command::Check(a) => {
            let flags = a.settings().map_err(usage)?;
            let spec = spec_file(a.bind.spec.as_deref())?;
            one_process(&[&spec, &flags]);
            let bar = spinner("check");
            let files = Files::given(a.files.iter().map(PathBuf::as_path));
            let report = check::check(Layers(&[&spec, &flags]), &files);
            bar.finish_and_clear();
            Ok(show(&report?, format))
        }
        Command::Race(a) => {
            let flags = a.settings().map_err(usage)?;
            let spec = spec_file(a.bind.spec.as_deref())?;
            one_process(&[&spec, &flags]);
            let bar = spinner("race");
            let report = race::race(Layers(&[&spec, &flags]), &Files::given([&*a.kernel]));
            bar.finish_and_clear();
            Ok(show(&report?, format))
        }
        Command::Gate(a) => run_gate(a, format),
        Command::Init(a) => {
            let files = Files::given(a.kernels.iter().map(PathBuf::as_path));
            let mut kernels = Vec::new();
            for path in &a.kernels {
                let file = files.open(path)?;
                for kernel in input::lower_all(&file)? {
                    kernels.push((path.display().to_string(), kernel));
                }
            }
            Ok((spec::init::manifest(&kernels), 0))
        }
        Command::Dump(a) => run_dump(a),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "volta", &mut out);
            Ok((String::from_utf8_lossy(&out).into_owned(), 0))
        }
        Command::Man { command } => manual(command.as_deref()),
        Command::Schema => Ok((report::json::SCHEMA_TEXT.to_string(), 0)),
    }
}

/// The manual page of volta or of one of its commands.
fn manual(command: Option<&str>) -> Result<(String, u8), Failure> {
    let mut all = Cli::command();
    all.build();
    let page = match command {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(c) => c.clone(),
            None => {
                let message = format!("`{name}` is not a command; see volta --help");
                return Err(Failure::new("usage", message));
            }
        },
    };
    let mut out = Vec::new();
    let done = clap_mangen::Man::new(page).render(&mut out);
    done.map_err(|e| Failure::new("", format!("cannot write the manual page: {e}")))?;
    Ok((String::from_utf8_lossy(&out).into_owned(), 0))
}

/// The memory limit of a command that does one thing is that of the process.
fn one_process(layers: &[&Settings]) {
    limits::limit_process(layers.iter().rev().find_map(|s| s.memory_limit));
}

fn spec_file(path: Option<&Path>) -> Result<Settings, Failure> {
    let Some(path) = path else {
        return Ok(Settings::default());
    };
    let source = input::text(path)?;
    let settings = Settings::parse(&source.text).map_err(|e| Failure::toml(&source, "spec", e))?;
    match settings.entry_key() {
        Some(key) => {
            let message = format!("{}: `{key}` belongs in a manifest", path.display());
            Err(Failure::new("spec", message))
        }
        None => Ok(settings),
    }
}

fn run_gate(a: &GateArgs, format: Format) -> Result<(String, u8), Failure> {
    // Measurements are of work that is done.
    let cache = match (a.no_cache || a.stats, &a.cache_dir) {
        (true, _) => None,
        (false, Some(dir)) => Some(dir.clone()),
        (false, None) => gate::cache::default_dir(),
    };
    let request = gate::Request {
        filter: a.filter.clone(),
        fail_fast: a.fail_fast,
        stats: a.stats,
        cache: cache.and_then(|dir| Cache::open(&dir)),
        over: Settings {
            timeout: a.output.timeout,
            memory_limit: a.output.memory_limit,
            ..Settings::default()
        },
    };
    limits::limit_process(a.output.memory_limit);
    let bar = progress_bar();
    let progress = |done: usize, all: usize, name: &str| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(name.to_string());
    };
    let report = gate::gate(&a.manifest, &request, &progress);
    bar.finish_and_clear();
    let report = report?;
    let text = match format {
        Format::Json => json_text(&report::json::gate(&report)),
        Format::Sarif => json_text(&report::sarif::gate(&report)),
        Format::Junit => report::junit::gate(&report),
        Format::Html => report::html::gate(&report),
        Format::Human => report::human::gate(&report),
    };
    Ok((text, report.exit()))
}

fn run_dump(a: &DumpArgs) -> Result<(String, u8), Failure> {
    let files = Files::given(a.files.iter().map(PathBuf::as_path));
    let entry = a.entry.as_deref();
    let mut out = String::new();
    match a.stage {
        Stage::Ast | Stage::Kernel => {
            for path in &a.files {
                let file = files.open(path)?;
                match a.stage {
                    Stage::Ast => out.push_str(&dump::ast(&file)),
                    _ => out.push_str(&dump::kernel(&file, entry)?),
                }
            }
        }
        Stage::Trace | Stage::Terms | Stage::Canon => {
            let usage = |message: &str| Failure::new("usage", message);
            let [path] = a.files.as_slice() else {
                return Err(usage("this stage takes one file"));
            };
            let flags = a.settings(path).map_err(|m| usage(&m))?;
            let spec = spec_file(a.bind.spec.as_deref())?;
            let layers = Layers(&[&spec, &flags]);
            out = match a.stage {
                Stage::Terms => dump::terms(layers, &files)?,
                Stage::Canon => dump::canon(layers, &files)?,
                _ => dump::trace(layers, &files)?,
            };
        }
    }
    Ok((out, 0))
}

fn show(report: &Report, format: Format) -> (String, u8) {
    let answer = Answer::from(report);
    let text = match format {
        Format::Json => json_text(&answer.object),
        Format::Sarif => json_text(&report::sarif::report(&answer)),
        Format::Junit => report::junit::report(&answer),
        Format::Html => report::html::report(&answer),
        Format::Human => answer.text,
    };
    (text, report.verdict.exit())
}

/// A bar on a terminal, nothing elsewhere.
fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A spinner on a terminal while one check or race runs.
fn spinner(message: &str) -> ProgressBar {
    let bar = progress_bar();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed} {stage}") {
        let stage = |_: &ProgressState, out: &mut dyn fmt::Write| {
            // A terminal that cannot be written to is told nothing.
            let _ = out.write_str(&progress::line());
        };
        bar.set_style(style.with_key("stage", stage));
    }
    bar.set_message(message.to_string());
    bar
}

fn json_text(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Writes a result to the file that was asked for or to the standard output.
fn emit(output: Option<&OutputArgs>, text: &str) -> Result<(), Failure> {
    match output.and_then(|o| o.output.as_deref()) {
        Some(path) => {
            let plain = anstream::adapter::strip_str(text).to_string();
            std::fs::write(path, plain)
                .map_err(|e| Failure::new("", format!("cannot write `{}`: {e}", path.display())))
        }
        None => {
            let mut out = anstream::stdout().lock();
            match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that has seen enough is no failure.
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                    Err(Failure::new("", format!("cannot write the report: {e}")))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Prints a usage or input error as the format asks; the result is the exit status.
fn fail(command: &Command, failure: &Failure) -> u8 {
    let (output, name) = (command.output(), command.name());
    let text = match output.map_or(Format::Human, OutputArgs::format) {
        Format::Json => json_text(&report::json::failure(Some(name), failure)),
        Format::Sarif => json_text(&report::sarif::failure(failure)),
        Format::Junit => report::junit::failure(name, failure),
        Format::Html => report::html::failure(name, failure),
        Format::Human => String::new(),
    };
    if text.is_empty() || emit(output, &text).is_err() {
        let _ = anstream::stderr().write_all(failure.render().as_bytes());
    }
    EXIT_ERROR
}

/// Prints an error of the command line, or what `--help` and `--version` ask for.
fn usage(e: &clap::Error) -> u8 {
    if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = e.print();
        return 0;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.iter().any(|a| a == "--json" || a == "--format=json")
        || args
            .windows(2)
            .any(|w| w[0] == "--format" && w[1] == "json");
    if json {
        let known = ["check", "race", "gate"];
        let command = args.iter().find(|a| known.contains(&a.as_str()));
        let text = e.to_string();
        let message = text.trim().trim_start_matches("error: ");
        let failure = Failure::new("usage", message);
        let value = report::json::failure(command.map(String::as_str), &failure);
        let _ = io::stdout().write_all(json_text(&value).as_bytes());
    } else {
        let _ = e.print();
    }
    EXIT_ERROR
}
