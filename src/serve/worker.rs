//! A worker of `volta serve`: one request after the other, on the references that it holds.
//!
//! It says `started` before it looks at a job, so that the server knows whether a job that was lost with its worker
//! had any part in that; and it ends with its standard input, whatever it is at, so that it never outlives the server.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{Command, ErrorKind};
use crate::diag::Source;
use crate::input::{self, File, Files};
use crate::report::{Failure, Report};
use crate::spec::manifest::Side;
use crate::spec::{ENTRY_KEYS, Layers, Settings, Which, limits};
use crate::{check, race};

use super::answer;
use super::request::{How, Kernel, Launch, Origin};

/// The line that comes before each answer.
pub const STARTED: &str = "started";

/// A request as a worker gets it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Of the client.
    pub id: Value,
    /// `prepare`, `check` or `race`.
    pub command: String,
    /// The reference.
    pub reference: Option<Reference>,
    /// The optimized kernel, or the only one.
    pub kernel: Option<Kernel>,
    /// Launch and bindings, above those of the reference.
    pub launch: Launch,
    /// How to answer.
    pub how: How,
    /// Handles that are not asked for again.
    pub drop: Vec<String>,
}

/// A reference of a job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reference {
    /// Its handle, if it has one.
    pub handle: Option<String>,
    /// Its text, unless the worker holds it.
    pub kernel: Option<Kernel>,
    /// What was said when it was prepared.
    pub launch: Launch,
}

/// What a worker holds.
#[derive(Default)]
struct Worker {
    prepared: HashMap<String, Arc<File>>,
}

/// Runs the jobs of the standard input, within this much memory.
pub fn run(memory: Option<u64>, panicked: &dyn Fn() -> String) {
    limits::limit_process(memory);
    let (jobs, next) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.map_or(true, |line| jobs.send(line).is_err()) {
                break;
            }
        }
        std::process::exit(0);
    });
    let mut worker = Worker::default();
    while let Ok(line) = next.recv() {
        if say(STARTED).is_err() {
            return;
        }
        let Ok(job) = serde_json::from_str::<Job>(&line) else {
            return;
        };
        let work = panic::catch_unwind(AssertUnwindSafe(|| worker.answer(&job)));
        let survived = work.is_ok();
        let line = work.unwrap_or_else(|_| {
            lost(
                &job.id,
                &job.command,
                &format!("internal error: {}", panicked()),
                &job.how,
            )
        });
        // After a panic nothing that this process holds is trusted; an interrupt holds for all that follows.
        if say(&line).is_err() || !survived || limits::interrupted() {
            return;
        }
    }
}

/// The answer to a request that something ended.
pub fn lost(id: &Value, command: &str, why: &str, how: &How) -> String {
    let command = match command {
        "check" => Command::Check,
        "race" => Command::Race,
        _ => return answer::refused(id, &Failure::new(ErrorKind::Internal, why)),
    };
    let report = answer::ended(command, format!("{why}, nothing is claimed"));
    answer::reported(id, report, &how.formats).unwrap_or_else(|f| answer::refused(id, &f))
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

impl Worker {
    fn answer(&mut self, job: &Job) -> String {
        for handle in &job.drop {
            self.prepared.remove(handle);
        }
        self.result(job)
            .unwrap_or_else(|f| answer::refused(&job.id, &f))
    }

    fn result(&mut self, job: &Job) -> Result<String, Failure> {
        let files = Files::new();
        let mut base = Settings::default();
        let mut own = settings(&job.launch)?;
        own.timeout = job.how.timeout.or(own.timeout);
        if let Some(reference) = &job.reference {
            base = settings(&reference.launch)?;
            own.reference.get_or_insert_default().file = Some(self.reference(reference, &files)?);
        }
        if let Some(kernel) = &job.kernel {
            let (side, role) = match job.command.as_str() {
                "race" => (&mut own.kernel, "kernel"),
                _ => (&mut own.optimized, "optimized"),
            };
            side.get_or_insert_default().file = Some(put(kernel, role, role, &files)?.0);
        }
        let layers = [&base, &own];
        let layers = Layers(&layers);
        let report = match job.command.as_str() {
            "check" => check::check(layers, &files)?,
            "race" => race::race(layers, &files)?,
            _ => return self.prepare(job, layers, &files),
        };
        reported(job, report)
    }

    /// Reads a reference as every check against it will.
    fn prepare(&self, job: &Job, layers: Layers, files: &Files) -> Result<String, Failure> {
        input::lower(files, &layers.kernel(Which::Reference)?)?;
        let handle = job.reference.as_ref().and_then(|r| r.handle.as_ref());
        Ok(json!({"id": job.id, "ok": true, "handle": handle}).to_string())
    }

    /// Puts the text of a reference among the files; the name that it has there.
    fn reference(&mut self, reference: &Reference, files: &Files) -> Result<PathBuf, Failure> {
        let held = |worker: &Worker| {
            let file = worker.prepared.get(reference.handle.as_ref()?)?;
            Some(file.clone())
        };
        if let Some(file) = held(self) {
            let key = key("reference");
            files.insert(&key, Ok(file));
            return Ok(key);
        }
        let kernel = reference.kernel.as_ref();
        let kernel =
            kernel.ok_or_else(|| Failure::new(ErrorKind::Usage, "the reference is missing"))?;
        let (path, file) = put(kernel, "reference", "reference", files)?;
        if let (Some(handle), Some(file)) = (&reference.handle, file) {
            self.prepared.insert(handle.clone(), file);
        }
        Ok(path)
    }
}

fn reported(job: &Job, report: Report) -> Result<String, Failure> {
    answer::reported(&job.id, report, &job.how.formats)
}

/// A name that no file has.
fn key(role: &str) -> PathBuf {
    PathBuf::from(format!("\0{role}"))
}

/// Puts a kernel among the files: its name there, and its tree where it came as text.
fn put(
    kernel: &Kernel,
    role: &str,
    name: &str,
    files: &Files,
) -> Result<(PathBuf, Option<Arc<File>>), Failure> {
    match kernel.origin(name)? {
        Origin::File(path) => Ok((path.to_path_buf(), None)),
        Origin::Text(text, name) => {
            let source = Source::new(name, text);
            let source = source.map_err(|e| Failure::new(ErrorKind::File, e.to_string()))?;
            let file = input::parse(Arc::new(source));
            let key = key(role);
            files.insert(&key, file.clone());
            Ok((key, Some(file?)))
        }
    }
}

/// Keys of a manifest, which name no file: a request has its kernels in places of their own.
fn settings(launch: &Launch) -> Result<Settings, Failure> {
    let refuse = |why: String| Failure::new(ErrorKind::Usage, format!("launch: {why}"));
    let settings: Settings =
        serde_json::from_value(Value::Object(launch.clone())).map_err(|e| refuse(e.to_string()))?;
    if let Some(key) = ENTRY_KEYS.iter().find(|k| launch.contains_key(**k)) {
        return Err(refuse(format!("`{key}` belongs in a manifest")));
    }
    let sides = [&settings.kernel, &settings.reference, &settings.optimized];
    let names_file = |side: &Option<Side>| side.as_ref().is_some_and(|s| s.file.is_some());
    if sides.into_iter().any(names_file) {
        let why = "a kernel is a key of the request, not of `launch`";
        return Err(refuse(why.into()));
    }
    Ok(settings)
}
