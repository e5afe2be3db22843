//! A worker of `volta serve`: one request after the other, on the references that it holds.
//!
//! It says `started` before it looks at a job, so that the server knows whether a job that was lost with its worker
//! had any part in that; and it ends with its standard input, whatever it is at, so that it never outlives the server.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use serde_json::{Value, json};

use crate::answer::{Answer, Failure};
use crate::ask::{self, Held, Question, Roles, Sizes};
use crate::diag::Source;
use crate::grid::prepared::Runs;
use crate::input::{self, Compile, File, Files};
use crate::spec::manifest::Side;
use crate::spec::{ENTRY_KEYS, Layers, Settings, Which, limits};

use super::answer;
use super::job::{Job, Reference};
use super::kernel::{Launch, Origin};
use super::request::How;
use super::several;
use super::subject::Subject;

/// The line that comes before each answer.
pub const STARTED: &str = "started";

/// What a worker holds.
struct Worker {
    prepared: HashMap<String, HeldReference>,
    /// What those of them came to that were compared.
    runs: Runs,
    /// The compiler of CUDA files, if they are compiled here.
    compiler: Option<Arc<dyn Compile>>,
}

/// A reference that a worker holds.
struct HeldReference {
    reference: Subject,
    /// The file of each of its kernels; launches of one text are of one file.
    files: Vec<Option<Parsed>>,
}

pub(super) type Parsed = Result<Arc<File>, Failure>;

/// Runs the jobs of the standard input, within this much memory.
pub fn work(memory: Option<u64>, compiler: Option<Arc<dyn Compile>>) {
    limits::limit_process(memory);
    let panicked: Arc<Mutex<String>> = Arc::default();
    let seen = panicked.clone();
    panic::set_hook(Box::new(move |info| {
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let (jobs, next) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.map_or(true, |line| jobs.send(line).is_err()) {
                break;
            }
        }
        std::process::exit(0);
    });
    let mut worker = Worker {
        prepared: HashMap::new(),
        runs: Runs::within(memory),
        compiler,
    };
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
            let what = panicked.lock().unwrap_or_else(PoisonError::into_inner);
            lost(
                &job.id,
                &job.command,
                &format!("internal error: {what}"),
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
    let Some(question) = ask::named(command) else {
        return answer::ended_early(id, why);
    };
    let report = answer::ended(question, format!("{why}, nothing is claimed"));
    answer::reported(id, &Answer::of(report), &how.formats)
        .unwrap_or_else(|f| answer::refused(id, &f))
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
        // The server counts on it from now on, whatever becomes of this job.
        if let Some(Reference {
            handle: Some(handle),
            kernel: Some(kernel),
            ..
        }) = &job.reference
        {
            let reference = kernel.clone();
            let files = texts(kernel, "reference");
            let held = HeldReference { reference, files };
            self.prepared.insert(handle.clone(), held);
        }
        self.result(job)
            .unwrap_or_else(|f| answer::refused(&job.id, &f))
    }

    fn result(&mut self, job: &Job) -> Result<String, Failure> {
        let files = match &self.compiler {
            Some(compiler) => Files::new().compiling(compiler.clone()),
            None => Files::new(),
        };
        let Some(question) = ask::named(&job.command) else {
            let layers = self.layers(job, Roles::Pair, &files)?;
            return self.prepare(job, Layers(&layers.each_ref()), &files);
        };
        let instances = self.instances(job, question, &files)?;
        let instances: Vec<Vec<&Settings>> = instances.iter().map(|i| i.iter().collect()).collect();
        let instances: Vec<Layers> = instances.iter().map(|i| Layers(i)).collect();
        let is_prepared = job.reference.as_ref().is_some_and(|r| r.handle.is_some());
        let held = Held {
            runs: is_prepared.then_some(&self.runs),
            ..Held::new(&files)
        };
        let answer = question.ask(&instances, &held)?;
        answer::reported(&job.id, &answer, &job.how.formats)
    }

    /// What a question is asked of: the layers of settings of each instance.
    fn instances(
        &self,
        job: &Job,
        question: &dyn Question,
        files: &Files,
    ) -> Result<Vec<Vec<Settings>>, Failure> {
        Ok(match (question.roles(), question.sizes()) {
            (Roles::Several, _) => vec![vec![several::kernels(job, files)?]],
            (_, Sizes::BesideSmallest) => {
                let [here, smallest] = several::beside(job, files)?;
                vec![vec![here], vec![smallest]]
            }
            (roles, Sizes::Each | Sizes::Together) => {
                vec![self.layers(job, roles, files)?.to_vec()]
            }
        })
    }

    /// The settings of one kernel or of a pair: what was said of a reference when it was prepared, and what the job says.
    fn layers(&self, job: &Job, roles: Roles, files: &Files) -> Result<[Settings; 2], Failure> {
        let mut base = Settings::default();
        let mut own = own(job, &job.launch)?;
        if let Some(reference) = &job.reference {
            let mut launch = named(&reference.launch)?;
            match reference.formula()? {
                // It takes the place of all that a manifest says of a kernel.
                Some(formula) => {
                    let side = json!({ "formula": formula });
                    if let Some(other) = launch.insert("reference".into(), side) {
                        let why = format!("launch: a formula is not launched with {other}");
                        return Err(answer::usage(why));
                    }
                }
                None => {
                    let side = self.reference(reference, files)?;
                    settle(&mut own.reference, side, "reference")?;
                }
            }
            base = settings(launch)?;
        }
        if let Some(kernel) = &job.kernel {
            let (side, role) = match roles {
                Roles::Pair => (&mut own.optimized, "optimized"),
                Roles::One | Roles::Several => (&mut own.kernel, "kernel"),
            };
            let known = texts(kernel, role);
            settle(side, put(kernel, role, &known, files)?, role)?;
        }
        Ok([base, own])
    }

    /// Reads a reference as every check against it will.
    fn prepare(&self, job: &Job, layers: Layers, files: &Files) -> Result<String, Failure> {
        let handle = job.reference.as_ref().and_then(|r| r.handle.as_ref());
        let formula = job.reference.as_ref().map(Reference::formula);
        if formula.transpose()?.flatten().is_none() {
            for launch in layers.launches(Which::Reference)? {
                input::lower(files, &launch)?;
            }
        }
        Ok(answer::line(
            &json!({"id": job.id, "ok": true, "handle": handle}),
        ))
    }

    /// Puts the texts of a reference among the files; what a manifest would say of it.
    fn reference(&self, reference: &Reference, files: &Files) -> Result<Side, Failure> {
        let role = "reference";
        let handle = reference.handle.as_ref();
        if let Some(held) = handle.and_then(|h| self.prepared.get(h)) {
            return put(&held.reference, role, &held.files, files);
        }
        let subject = reference.kernel.as_ref();
        let subject = subject.ok_or_else(|| answer::usage("the reference is missing"))?;
        put(subject, role, &texts(subject, role), files)
    }
}

/// What a job says of a launch.
pub(super) fn own(job: &Job, launch: &Launch) -> Result<Settings, Failure> {
    let mut own = settings(named(launch)?)?;
    own.timeout = job.how.timeout.or(own.timeout);
    own.budget = job.how.budget.or(own.budget);
    Ok(own)
}

/// A name that no file has.
fn key(role: &str, number: usize) -> PathBuf {
    PathBuf::from(format!("\0{role} {number}"))
}

fn parsed(text: &str, name: &str) -> Parsed {
    let source = Source::new(name, text).map_err(|e| answer::usage(e.to_string()))?;
    input::parse(Arc::new(source))
}

/// The kernels of a subject that are texts, parsed once each: a text that comes again is that of an earlier one.
pub(super) fn texts(subject: &Subject, role: &str) -> Vec<Option<Parsed>> {
    let all = subject.kernels(role);
    let text = |i: usize| match all[i].0.origin(&all[i].1) {
        Ok(Origin::Text(text, name)) => Some((text, name)),
        _ => None,
    };
    let mut out: Vec<Option<Parsed>> = Vec::new();
    for i in 0..all.len() {
        let earlier = (0..i).find(|&j| text(i).is_some() && text(j) == text(i));
        let file = match earlier {
            Some(j) => out[j].clone(),
            None => text(i).map(|(text, name)| parsed(text, name)),
        };
        out.push(file);
    }
    out
}

/// Puts the kernels of a subject among the files; what a manifest would say of it.
pub(super) fn put(
    subject: &Subject,
    role: &str,
    known: &[Option<Parsed>],
    files: &Files,
) -> Result<Side, Failure> {
    subject.side(place(subject, role, known, files)?)
}

/// Puts the kernels of a subject among the files, under these names.
pub(super) fn place(
    subject: &Subject,
    role: &str,
    known: &[Option<Parsed>],
    files: &Files,
) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for (i, (kernel, role)) in subject.kernels(role).into_iter().enumerate() {
        paths.push(match kernel.origin(&role)? {
            Origin::File(path) => path.to_path_buf(),
            Origin::Text(..) => {
                let key = key(&role, i);
                if let Some(Some(file)) = known.get(i) {
                    files.insert(&key, file.clone());
                }
                key
            }
            Origin::Formula(_) => {
                let why = format!("{role}: only a reference can be a formula");
                return Err(answer::usage(why));
            }
        });
    }
    Ok(paths)
}

/// Says what a side is, beside what is said of its launch.
pub(super) fn settle(own: &mut Option<Side>, side: Side, role: &str) -> Result<(), Failure> {
    match (own, side.launches.is_empty()) {
        (Some(own), true) => own.file = side.file,
        (own @ None, _) => *own = Some(side),
        (Some(_), false) => {
            let why = format!(
                "launch: `{role}` is a list of launches, so that each says what is said of it"
            );
            return Err(answer::usage(why));
        }
    }
    Ok(())
}

/// Further keys that a manifest has and a request has not: it has its kernels in places of their own and is one instance.
const NOT_HERE: [&str; 3] = ["denied", "for", "formula"];

/// Keys of a manifest, none of which says where a kernel is.
fn named(launch: &Launch) -> Result<Launch, Failure> {
    let refuse = |why: String| Err(answer::usage(format!("launch: {why}")));
    let mut strange = ENTRY_KEYS.iter().chain(&NOT_HERE);
    if let Some(key) = strange.find(|key| launch.contains_key(**key)) {
        return refuse(format!("`{key}` belongs in a manifest"));
    }
    for side in ["kernel", "reference", "optimized"] {
        let own = match launch.get(side) {
            None => continue,
            Some(Value::Object(own)) => own,
            Some(_) => return refuse(format!("`{side}` is a key of the request itself")),
        };
        if own.contains_key("file") || own.contains_key("formula") {
            return refuse(format!("what `{side}` is, the request itself says"));
        }
    }
    Ok(launch.clone())
}

fn settings(launch: Launch) -> Result<Settings, Failure> {
    let read = serde_json::from_value(Value::Object(launch));
    read.map_err(|e| answer::usage(format!("launch: {e}")))
}
