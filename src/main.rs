//! Input, output and exit codes of the `volta` executable.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::CommandFactory;
use clap::error::ErrorKind as Asked;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use volta::answer::gate::GateReport;
use volta::answer::{Answer, EXIT_ERROR, ErrorKind, Failure, schema};
use volta::ask::Held;
use volta::compile::Nvcc;
use volta::diag::foreign::{listing, styled, whole};
use volta::gate::cache::Cache;
use volta::input::{Compile, Files};
use volta::report::{self, explain, human};
use volta::spec::{Layers, Settings, Sizes, limits};
use volta::spec_file::SpecFile;
use volta::steps::{StepsReport, steps};
use volta::{ask, cache, dump, gate, init, instances, progress, serve};

mod cli;

use cli::command_lines::{self, Line};
use cli::outputs::Outputs;
use cli::shared::{Flags, Format};
use cli::{Cli, Command, DumpArgs, GateArgs, Question, ServeArgs, Stage};

/// Stack of the threads that work; nothing recurses over terms, but a debug build of a parser or a
/// printer may want more than the default for hostile input.
const STACK: usize = 256 << 20;

/// The exit status of a process that an interrupt ended, as shells report it.
const EXIT_INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let lines = match command_lines::read(&argv) {
        Ok(lines) => lines,
        Err(e) => return ExitCode::from(usage(&argv, e)),
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
                Err(Failure::new(ErrorKind::Internal, message))
            })
        }
        Err(e) => Err(Failure::new(
            ErrorKind::Internal,
            format!("cannot start threads: {e}"),
        )),
    };
    let outputs = Outputs::of(cli.command.output());
    let written = result.and_then(|(done, code)| {
        outputs.write(|format| done.text(format))?;
        outputs.summarise(|| done.summary())?;
        Ok(code)
    });
    match written {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(outputs.fail(Some(cli.command.name()), &failure)),
    }
}

/// What a command came to, before it is written in a format.
enum Done {
    /// A text of volta itself, such as a manual page.
    Own(String),
    /// A text that holds text of files.
    Text(String),
    Answer(Box<Answer>),
    Gate(GateReport),
    Steps(StepsReport),
}

impl Done {
    /// The summary of a step of a workflow; a text is none.
    fn summary(&self) -> Option<String> {
        use report::summary;
        match self {
            Done::Own(_) | Done::Text(_) => None,
            Done::Answer(a) => Some(summary::report(a)),
            Done::Gate(g) => Some(summary::gate(g)),
            Done::Steps(s) => Some(summary::gate(&s.checks)),
        }
    }

    /// It in a format; a text has only one.
    fn text(&self, format: Format) -> String {
        use report::{github, html, json, junit, sarif};
        match (self, format) {
            (Done::Own(text), _) => text.clone(),
            (Done::Text(text), _) => listing(text),
            (Done::Answer(a), Format::Json) => json::text(&a.report),
            (Done::Answer(a), Format::Sarif) => json::text(&sarif::report(a)),
            (Done::Answer(a), Format::Junit) => junit::report(a),
            (Done::Answer(a), Format::Html) => html::report(a),
            (Done::Answer(a), Format::Github) => github::report(a),
            (Done::Answer(a), Format::Human) => {
                let argv: Vec<OsString> = std::env::args_os().collect();
                let paste = cli::paste::with_missing(&argv, &a.report);
                human::answer(a) + &paste.unwrap_or_default()
            }
            (Done::Gate(g), Format::Json) => json::text(&g.answer()),
            (Done::Gate(g), Format::Sarif) => json::text(&sarif::gate(g)),
            (Done::Gate(g), Format::Junit) => junit::gate(g),
            (Done::Gate(g), Format::Html) => html::gate(g),
            (Done::Gate(g), Format::Github) => github::gate(g),
            (Done::Gate(g), Format::Human) => human::gate(g),
            (Done::Steps(s), Format::Json) => json::text(&s.answer()),
            (Done::Steps(s), Format::Sarif) => json::text(&sarif::gate(&s.checks)),
            (Done::Steps(s), Format::Junit) => junit::gate(&s.checks),
            (Done::Steps(s), Format::Html) => html::gate(&s.checks),
            (Done::Steps(s), Format::Github) => github::gate(&s.checks),
            (Done::Steps(s), Format::Human) => human::steps(s),
        }
    }
}

/// Runs a command; the result is what to print and the exit status.
fn run(lines: &[Line]) -> Result<(Done, u8), Failure> {
    let command = match lines {
        [Line { cli, .. }, rest @ ..] if rest.is_empty() || cli.command.question().is_some() => {
            &cli.command
        }
        _ => {
            return Err(Failure::new(
                ErrorKind::Usage,
                "this command takes one size at a time",
            ));
        }
    };
    match command {
        Command::Ask(q) => match q.flags().manifest() {
            Some(manifest) => run_entries(q, manifest),
            None => {
                let answer = answer(lines, command.name())?;
                let code = answer.exit();
                Ok((Done::Answer(Box::new(answer)), code))
            }
        },
        Command::Gate(a) => run_gate(a),
        Command::Steps(a) => run_steps(a),
        Command::Serve(a) => serve(a),
        Command::ServeWorker(a) => {
            serve::worker::work(a.memory_limit, a.compile.then(compiler));
            Ok((Done::Own(String::new()), 0))
        }
        Command::Init(a) => {
            let files = given(&a.kernels);
            Ok((Done::Text(init::manifest(&a.kernels, &files)?), 0))
        }
        Command::Dump(a) => Ok((Done::Text(run_dump(a, &lines[0].sizes)?), 0)),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "volta", &mut out);
            Ok((Done::Own(String::from_utf8_lossy(&out).into_owned()), 0))
        }
        Command::Man { command } => Ok((Done::Own(manual(command.as_deref())?), 0)),
        Command::Schema => Ok((Done::Own(schema::text()), 0)),
        Command::Explain { kind } => {
            let text = match kind {
                Some(word) => explain::kind(word, &volta::found::tables())?,
                None => explain::list(),
            };
            Ok((Done::Own(text), 0))
        }
    }
}

/// The compiler of CUDA files, with what it made before.
fn compiler() -> Arc<dyn Compile> {
    Arc::new(Nvcc::new(cache::default_dir().as_deref()))
}

/// The files of a command line.
fn given<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Files {
    let paths = paths.into_iter().map(PathBuf::as_path);
    Files::given(paths).compiling(compiler())
}

/// The answer to the question of a command, at each of its sizes.
fn answer(lines: &[Line], name: &'static str) -> Result<Answer, Failure> {
    let questions = lines.iter().filter_map(|l| l.cli.command.question());
    let questions: Vec<&Question> = questions.collect();
    let flags: Vec<&dyn Flags> = questions.iter().map(|q| q.flags()).collect();
    let Some(question) = questions.first().map(|q| q.asked()) else {
        let message = "there is no instance to run";
        return Err(Failure::new(ErrorKind::Usage, message));
    };
    let files = given(flags.iter().flat_map(|f| f.common().files));
    let specs = Specs::default();
    let asked = |i: usize| -> Result<Vec<Settings>, Failure> {
        let sizes = &lines[i].sizes;
        let mut layers = specs.settings(flags[i].common().bind.spec.as_deref(), sizes)?;
        let own = flags[i].settings();
        let mut own = own.map_err(|message| Failure::new(ErrorKind::Usage, message))?;
        own.sizes = sizes.clone();
        layers.push(own);
        Ok(layers)
    };
    cli::number_args::apart(flags.iter().filter_map(|f| f.targets().certificate))?;
    let bar = spinner(name);
    // Asks about some of the instances; what is written is of the first.
    let ask = |all: &[usize]| {
        let instances = all.iter().map(|&i| asked(i));
        let instances: Vec<Vec<Settings>> = instances.collect::<Result<_, _>>()?;
        let instances: Vec<Vec<&Settings>> = instances.iter().map(|i| i.iter().collect()).collect();
        let instances: Vec<Layers> = instances.iter().map(|i| Layers(i)).collect();
        let first = all.first().map(|&i| flags[i].targets());
        let held = Held {
            to: first.unwrap_or_default(),
            ..Held::new(&files)
        };
        question.ask(&instances, &held)
    };
    let smallest = (0..lines.len()).min_by_key(|&i| lines[i].sizes.total());
    let judge = |i: usize| match question.sizes() {
        ask::Sizes::BesideSmallest => ask(&[i, smallest.unwrap_or(i)]),
        ask::Sizes::Each | ask::Sizes::Together => ask(&[i]),
    };
    if question.sizes() == ask::Sizes::Together {
        let all: Vec<usize> = (0..lines.len()).collect();
        let answer = ask(&all);
        bar.finish_and_clear();
        return answer;
    }
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
            return Err(Failure::new(ErrorKind::Manifest, message));
        }
        file.settings(sizes)
    }
}

/// The manual page of volta or of one of its commands.
fn manual(command: Option<&str>) -> Result<String, Failure> {
    let mut all = Cli::command();
    all.build();
    let page = match command {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(c) => c.clone(),
            None => {
                let message = format!("`{name}` is not a command; see volta --help");
                return Err(Failure::new(ErrorKind::Usage, message));
            }
        },
    };
    let mut out = Vec::new();
    let done = clap_mangen::Man::new(page).render(&mut out);
    done.map_err(|e| {
        Failure::new(
            ErrorKind::File,
            format!("cannot write the manual page: {e}"),
        )
    })?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Answers the requests of the standard input until it ends.
fn serve(a: &ServeArgs) -> Result<(Done, u8), Failure> {
    let program = std::env::current_exe()
        .map_err(|e| Failure::new(ErrorKind::File, format!("cannot find this program: {e}")))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = a.jobs.map_or(processors, usize::from);
    let options = serve::Options {
        program,
        jobs,
        threads: (processors / jobs).max(1),
        memory: a
            .memory_limit
            .or_else(|| Some(limits::usual()? / jobs as u64)),
        compile: a.compile,
        is_gone: serve::client::is_gone,
    };
    if !serve::serve(io::BufReader::new(io::stdin()), io::stdout(), &options) {
        std::process::exit(EXIT_INTERRUPTED);
    }
    let code = if limits::interrupted() {
        EXIT_INTERRUPTED as u8
    } else {
        0
    };
    Ok((Done::Own(String::new()), code))
}

/// Runs the entries of a manifest that ask a question.
fn run_entries(q: &Question, manifest: &Path) -> Result<(Done, u8), Failure> {
    let output = q.flags().common().output;
    let request = gate::Request {
        only: Some(q.asked().command()),
        compiler: Some(compiler()),
        over: output.settings(),
        ..gate::Request::default()
    };
    limits::limit_process(output.memory_limit);
    let report = gate::gate(manifest, &request, &|_, _, _| {})?;
    let code = report.exit();
    Ok((Done::Gate(report), code))
}

fn run_gate(a: &GateArgs) -> Result<(Done, u8), Failure> {
    // Measurements are of work that is done.
    let cache = match (a.no_cache || a.stats, &a.cache_dir) {
        (true, _) => None,
        (false, Some(dir)) => Some(dir.clone()),
        (false, None) => cache::default_dir(),
    };
    let compiler: Arc<dyn Compile> = Arc::new(Nvcc::new(cache.as_deref()));
    let request = gate::Request {
        filter: a.filter.clone(),
        only: None,
        fail_fast: a.fail_fast,
        stats: a.stats,
        shard: a.shard,
        compiler: Some(compiler),
        cache: cache.and_then(|dir| Cache::open(&dir)),
        ledgers: a.ledger.clone().map(|path| gate::Ledgers {
            path,
            bless: a.bless,
        }),
        without: BTreeSet::new(),
        over: a.output.settings(),
    };
    limits::limit_process(a.output.memory_limit);
    let manifest = match &a.manifest {
        Some(named) => named.as_path(),
        None => gate::here()?,
    };
    let report = with_progress(|progress| gate::gate(manifest, &request, progress))?;
    let code = report.exit();
    Ok((Done::Gate(report), code))
}

fn run_steps(a: &cli::several::StepsArgs) -> Result<(Done, u8), Failure> {
    limits::limit_process(a.output.memory_limit);
    let over = a.output.settings();
    let files = Files::new().compiling(compiler());
    let report = with_progress(|progress| steps(&a.file, &over, &files, progress))?;
    let code = report.exit();
    Ok((Done::Steps(report), code))
}

/// Does work of several parts, with a bar on a terminal: the parts that are done, all, and the name of the last one.
fn with_progress<T>(work: impl FnOnce(&(dyn Fn(usize, usize, &str) + Sync)) -> T) -> T {
    let bar = progress_bar();
    let done = work(&|done, all, name| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(whole(name).into_owned());
    });
    bar.finish_and_clear();
    done
}

fn run_dump(a: &DumpArgs, sizes: &Sizes) -> Result<String, Failure> {
    let files = given(&a.files);
    let build = a.bind.build.of_files();
    let entry = a.entry.as_deref();
    let mut out = String::new();
    match a.stage {
        Stage::Ast | Stage::Kernel => {
            for path in &a.files {
                let file = files.open(path, &build)?;
                match a.stage {
                    Stage::Ast => out.push_str(&dump::ast(&file)),
                    _ => out.push_str(&dump::kernel(&file, entry)?),
                }
            }
        }
        Stage::Trace | Stage::Terms | Stage::Canon => {
            let usage = |message: &str| Failure::new(ErrorKind::Usage, message);
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
    Ok(out)
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

/// Prints an error of the command line, or what `--help` and `--version` ask for.
fn usage(argv: &[OsString], e: clap::Error) -> u8 {
    if matches!(e.kind(), Asked::DisplayHelp | Asked::DisplayVersion) {
        let _ = e.print();
        return 0;
    }
    // The message quotes arguments as they are, line ends among them: what is wrong is said of arguments that show.
    let shown = argv
        .iter()
        .map(|a| OsString::from(whole(&a.to_string_lossy()).into_owned()));
    let shown: Vec<OsString> = shown.collect();
    let again = (shown != argv).then(|| command_lines::read(&shown).err());
    let e = match again.flatten() {
        Some(again) if again.kind() == e.kind() => again,
        _ => e,
    };
    let args = argv
        .iter()
        .skip(1)
        .map(|a| a.to_string_lossy().into_owned());
    let args: Vec<String> = args.collect();
    let outputs = Outputs::guessed(&args);
    if outputs.format == Format::Human && outputs.also.is_empty() {
        let text = styled(&e.render().ansi().to_string());
        let _ = anstream::stderr().write_all(text.as_bytes());
        return EXIT_ERROR;
    }
    let commands = Cli::command();
    let known = |a: &&String| commands.find_subcommand(a.as_str()).is_some();
    let command = args.iter().find(known);
    let text = e.to_string();
    let message = text.trim().trim_start_matches("error: ");
    let failure = Failure::new(ErrorKind::Usage, message);
    outputs.fail(command.map(String::as_str), &failure)
}
