//! Input, output and exit codes of the `volta` executable.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::CommandFactory;
use clap::error::ErrorKind;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use volta::gate::cache::Cache;
use volta::input::{self, Files};
use volta::report::{self, Answer, EXIT_ERROR, Failure};
use volta::spec::{Layers, Settings, Sizes, limits};
use volta::spec_file::SpecFile;
use volta::{check, dump, gate, instances, progress, race, serve, spec};

mod cli;
mod command_lines;

use cli::{Cli, Command, DumpArgs, Format, GateArgs, OutputArgs, Question, ServeArgs, Stage};
use command_lines::Line;

/// Stack of the threads that work; nothing recurses over terms, but a debug build of a parser or a
/// printer may want more than the default for hostile input.
const STACK: usize = 256 << 20;

/// The exit status of a process that an interrupt ended, as shells report it.
const EXIT_INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let lines = match command_lines::read(&argv) {
        Ok(lines) => lines,
        Err(e) => return ExitCode::from(usage(&e)),
    };
    let Some(Line { cli, .. }) = lines.first() else {
        return ExitCode::from(EXIT_ERROR);
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
    let jobs = cli.command.threads();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0) as usize)
        .stack_size(STACK)
        .build();
    let result = match pool {
        Ok(pool) => {
            let work = AssertUnwindSafe(|| pool.install(|| run(&lines)));
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
fn run(lines: &[Line]) -> Result<(String, u8), Failure> {
    let command = match lines {
        [Line { cli, .. }, rest @ ..] if rest.is_empty() || cli.command.question().is_some() => {
            &cli.command
        }
        _ => {
            return Err(Failure::new(
                "usage",
                "this command takes one size at a time",
            ));
        }
    };
    let format = command.output().map_or(Format::Human, OutputArgs::format);
    match command {
        Command::Check(_) | Command::Race(_) | Command::Run(_) => {
            let answer = answer(lines, command.name())?;
            let code = answer.verdict.exit();
            Ok((show(answer, format), code))
        }
        Command::Gate(a) => run_gate(a, format),
        Command::Serve(a) => serve(a),
        Command::ServeWorker(a) => {
            serve::worker::work(a.memory_limit);
            Ok((String::new(), 0))
        }
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
        Command::Dump(a) => run_dump(a, &lines[0].sizes),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "volta", &mut out);
            Ok((String::from_utf8_lossy(&out).into_owned(), 0))
        }
        Command::Man { command } => manual(command.as_deref()),
        Command::Schema => Ok((report::json::SCHEMA_TEXT.to_string(), 0)),
    }
}

/// The answer to the question of a command, at each of its sizes.
fn answer(lines: &[Line], name: &'static str) -> Result<Answer, Failure> {
    let commands = || lines.iter().map(|l| &l.cli.command);
    let questions: Vec<Question> = commands().filter_map(Command::question).collect();
    let files = Files::given(questions.iter().flat_map(|q| q.files.iter().copied()));
    let specs = Specs::default();
    let asked = |i: usize| -> Result<Vec<Settings>, Failure> {
        let (question, sizes) = (&questions[i], &lines[i].sizes);
        let mut layers = specs.settings(question.spec, sizes)?;
        let flags = question.settings.clone();
        let mut flags = flags.map_err(|message| Failure::new("usage", message))?;
        flags.sizes = sizes.clone();
        layers.push(flags);
        Ok(layers)
    };
    let bar = spinner(name);
    let judge = |i: usize| {
        let layers = asked(i)?;
        let layers: Vec<&Settings> = layers.iter().collect();
        let layers = Layers(&layers);
        match &lines[i].cli.command {
            Command::Check(_) => Ok(Answer::from(&check::check(layers, &files)?)),
            Command::Run(a) => {
                let executed = volta::run::run(layers, &files)?;
                executed.save(&a.save)?;
                Ok(Answer::from(&executed))
            }
            _ => Ok(Answer::from(&race::race(layers, &files)?)),
        }
    };
    // The memory limit of a command that does one thing is that of the process.
    let limit = |layers: Vec<Settings>| layers.iter().rev().find_map(|s| s.memory_limit);
    limits::limit_process(asked(0).ok().and_then(limit));
    let sizes: Vec<Sizes> = lines.iter().map(|l| l.sizes.clone()).collect();
    let answer = instances::answer(name, &sizes, &judge);
    bar.finish_and_clear();
    answer
}

/// Spec files by path, each read once.
#[derive(Default)]
struct Specs(Mutex<HashMap<PathBuf, SpecFile>>);

impl Specs {
    /// The layers of settings of one instance.
    fn settings(&self, path: Option<&Path>, sizes: &Sizes) -> Result<Vec<Settings>, Failure> {
        let Some(path) = path else {
            return Ok(Vec::new());
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match known.get(path) {
            Some(file) => file.clone(),
            None => {
                let file = SpecFile::read(path)?;
                known.insert(path.to_path_buf(), file.clone());
                file
            }
        };
        drop(known);
        if file.lists()?.names().any(|n| !sizes.0.contains_key(n)) {
            let message = "a spec file that --for chooses cannot have `for`";
            return Err(Failure::new("spec", message));
        }
        file.settings(sizes)
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

/// Answers the requests of the standard input until it ends.
fn serve(a: &ServeArgs) -> Result<(String, u8), Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::new("", format!("cannot find this program: {e}")))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = a.jobs.map_or(processors, usize::from);
    let options = serve::Options {
        program,
        jobs,
        threads: (processors / jobs).max(1),
        memory: a
            .memory_limit
            .or_else(|| Some(limits::usual()? / jobs as u64)),
    };
    serve::serve(io::BufReader::new(io::stdin()), io::stdout(), &options);
    let code = if limits::interrupted() {
        EXIT_INTERRUPTED as u8
    } else {
        0
    };
    Ok((String::new(), code))
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

fn run_dump(a: &DumpArgs, sizes: &Sizes) -> Result<(String, u8), Failure> {
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
            let mut flags = a.settings(path).map_err(|m| usage(&m))?;
            flags.sizes = sizes.clone();
            let mut layers = Specs::default().settings(a.bind.spec.as_deref(), sizes)?;
            layers.push(flags);
            let layers: Vec<&Settings> = layers.iter().collect();
            let layers = Layers(&layers);
            out = match a.stage {
                Stage::Terms => dump::terms(layers, &files)?,
                Stage::Canon => dump::canon(layers, &files)?,
                _ => dump::trace(layers, &files)?,
            };
        }
    }
    Ok((out, 0))
}

fn show(answer: Answer, format: Format) -> String {
    match format {
        Format::Json => json_text(&answer.object),
        Format::Sarif => json_text(&report::sarif::report(&answer)),
        Format::Junit => report::junit::report(&answer),
        Format::Html => report::html::report(&answer),
        Format::Human => answer.text,
    }
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
        let known = ["check", "race", "run", "gate"];
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
