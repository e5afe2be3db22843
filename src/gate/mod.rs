//! `volta gate`: every check and race of a manifest, each with the verdict that it must get.
//!
//! Entries run in parallel and are reported in the order of the manifest, checks first, those of the
//! manifests that it includes after its own. With
//! `--stats` or `--fail-fast` they run one after the other, so that the numbers are those of one
//! entry and nothing runs after the first failure.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::answer::gate::{EntryResult, GateReport, ManifestCommand};
use crate::answer::{Answer, AtSize, Command, ErrorKind, Failure, Kind, UnknownKind, WarningKind};
use crate::ask::{Held, Sizes};
use crate::diag::Diagnostic;
use crate::grid::prepared::Runs;
use crate::input::{Compile, Files};
use crate::instances;
use crate::spec::{Layers, Settings, limits};
use crate::work;

pub mod cache;
mod ledger;
mod memory;
mod plan;

use cache::Cache;
pub use ledger::Ledgers;
use plan::{Job, Plan};

/// What `gate` was asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Only entries whose name holds this text.
    pub filter: Option<String>,
    /// Only entries of this command.
    pub only: Option<Command>,
    /// Only entries of this part.
    pub shard: Option<Shard>,
    /// Entries that are left out, by name. Their lines in a ledger stay as they are.
    pub without: BTreeSet<String>,
    /// Stop after the first entry that fails.
    pub fail_fast: bool,
    /// Measure each entry alone.
    pub stats: bool,
    /// Where results are kept.
    pub cache: Option<Cache>,
    /// The compiler of CUDA files.
    pub compiler: Option<Arc<dyn Compile>>,
    /// What each entry came to and cost before.
    pub ledgers: Option<Ledgers>,
    /// Settings above those of the manifest.
    pub over: Settings,
}

impl Request {
    /// Its files, none of which is read yet.
    fn files(&self) -> Files {
        match &self.compiler {
            Some(compiler) => Files::new().compiling(compiler.clone()),
            None => Files::new(),
        }
    }
}

/// One of several parts of a manifest, which machines run beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: u64,
    of: u64,
}

impl Shard {
    /// The part `part`, from 1, of `of`.
    pub fn new(part: u64, of: u64) -> Option<Shard> {
        (1..=of).contains(&part).then_some(Shard { part, of })
    }

    /// True if an entry belongs to it, which its name alone decides, so that a new entry moves no other.
    fn has(self, name: &str) -> bool {
        let digest = Sha256::digest(name.as_bytes());
        let head = digest.iter().take(8);
        let hash = head.fold(0, |n: u64, &byte| n << 8 | u64::from(byte));
        hash % self.of == self.part - 1
    }
}

/// The manifest of the working directory.
pub fn here() -> Result<&'static Path, Failure> {
    let path = Path::new("volta.toml");
    match path.exists() {
        true => Ok(path),
        false => {
            let why = "there is no volta.toml in this folder, and no manifest is named";
            let help = "write one with `volta init REFERENCE.ptx OPTIMIZED.ptx > volta.toml`";
            Err(Failure {
                diagnostics: vec![Diagnostic::error(ErrorKind::File.name(), why).help(help)],
                ..Failure::new(ErrorKind::File, why)
            })
        }
    }
}

/// Runs a manifest. `progress` is called with the number of finished entries, of all entries, and
/// the name of the one that finished last.
pub fn gate(
    path: &Path,
    request: &Request,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<GateReport, Failure> {
    let plan = Plan::read(path)?;
    let mut jobs = plan.jobs();
    let name = path.display();
    if let Some(only) = request.only {
        jobs.retain(|j| j.question.command() == only);
    }
    if let Some(filter) = &request.filter {
        jobs.retain(|j| j.name.contains(filter.as_str()));
    }
    if jobs.is_empty() {
        let message = match &request.filter {
            Some(filter) => format!("{name}: no entry has `{filter}` in its name"),
            None => match request.only {
                Some(only) => format!("{name}: there is no [[{}]]", only.name()),
                None => format!("{name}: there is no [[check]] and no [[race]]"),
            },
        };
        return Err(Failure::new(ErrorKind::Manifest, message));
    }
    jobs.retain(|j| !request.without.contains(&j.name));
    if let Some(shard) = request.shard {
        jobs.retain(|j| shard.has(&j.name));
    }

    let known = Known {
        files: request.files(),
        runs: Runs::within(limits::process()),
        // An entry that is measured runs all of its own.
        shared: match request.stats {
            true => HashSet::new(),
            false => shared(&jobs),
        },
    };
    let done = AtomicUsize::new(0);
    let last = Mutex::new(());
    let run = |job: &Job| {
        let result = run(job, request, &known);
        let _guard = last.lock();
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress(count.min(jobs.len()), jobs.len(), &job.name);
        result
    };
    let mut entries = if request.stats || request.fail_fast {
        let mut entries = Vec::new();
        for job in &jobs {
            entries.push(run(job));
            if request.fail_fast && !entries.iter().all(|e| e.ok) {
                break;
            }
        }
        entries
    } else {
        let mut entries: Vec<EntryResult> = work::each(jobs.par_iter(), run);
        // What did not fit beside the others may fit alone.
        for (entry, job) in entries.iter_mut().zip(&jobs) {
            if entry.result.as_ref().is_ok_and(out_of_memory) && !limits::interrupted() {
                *entry = run(job);
            }
        }
        entries
    };
    let is_whole = request.filter.is_none()
        && request.only.is_none()
        && request.shard.is_none()
        && request.without.is_empty()
        && entries.len() == jobs.len();
    let ledger = match &request.ledgers {
        Some(ledgers) => ledger::hold(path, &mut entries, ledgers, is_whole)?,
        None => Vec::new(),
    };
    Ok(GateReport {
        command: ManifestCommand::Gate,
        entries,
        ledger,
        stats: request.stats,
    })
}

/// What entries share.
struct Known {
    files: Files,
    runs: Runs,
    /// Files that are the reference of several instances.
    shared: HashSet<PathBuf>,
}

/// The files that are the reference of several instances of some entries.
fn shared(jobs: &[Job]) -> HashSet<PathBuf> {
    let (mut seen, mut shared) = (HashSet::new(), HashSet::new());
    let instances = jobs.iter().flat_map(|j| &j.entry.instances).flatten();
    for file in instances.filter_map(|s| s.reference.as_ref()?.file.as_ref()) {
        if !seen.insert(file) {
            shared.insert(file.clone());
        }
    }
    shared
}

fn run(job: &Job, request: &Request, known: &Known) -> EntryResult {
    let start = Instant::now();
    if request.stats {
        memory::reset_peak();
    }
    let result = match &job.refused {
        Some(why) => Err(Failure::new(ErrorKind::Manifest, why)),
        None => answer(job, request, known),
    };
    let why = match &result {
        Err(failure) => Some(failure.message().to_string()),
        Ok(answer) => judge(answer, job),
    };
    EntryResult {
        name: job.name.clone(),
        manifest: job.place.clone(),
        command: job.question.command(),
        expect: job.expect.to_string(),
        ok: why.is_none(),
        why,
        time: start.elapsed(),
        peak: request.stats.then(memory::peak).flatten(),
        result,
    }
}

/// Whether the memory limit cut an answer short.
fn out_of_memory(answer: &Answer) -> bool {
    let parts = answer.parts.iter().filter_map(|p| p.result.as_ref().ok());
    let reports = parts.chain([answer]).map(|a| &a.report);
    let mut reasons = reports.flat_map(|r| &r.unknown);
    reasons.any(|u| u.kind == UnknownKind::Limit && u.message.contains("memory limit"))
}

/// The answer about an entry, that of all its instances together.
fn answer(job: &Job, request: &Request, known: &Known) -> Result<Answer, Failure> {
    let all = &job.entry.instances;
    let sizes = job.question.sizes();
    if sizes == Sizes::Together {
        let all: Vec<_> = all.iter().map(|i| layers(i, &request.over)).collect();
        let all: Vec<Layers> = all.iter().map(|layers| Layers(layers)).collect();
        return instance(job, &all, None, known);
    }
    let smallest = all.iter().min_by_key(|i| i[1].sizes.total());
    let smallest = smallest.filter(|_| sizes == Sizes::BesideSmallest);
    let smallest = smallest.map(|i| layers(i, &request.over));
    let one = |here: &[Settings; 2]| {
        let here = layers(here, &request.over);
        let layers = [Some(&here), smallest.as_ref()];
        let layers: Vec<Layers> = layers.into_iter().flatten().map(|l| Layers(l)).collect();
        instance(job, &layers, request.cache.as_ref(), known)
    };
    if let [only] = &all[..]
        && only[1].sizes.is_empty()
    {
        return one(only);
    }
    let part = |instance: &[Settings; 2]| AtSize {
        sizes: instance[1].sizes.clone(),
        result: one(instance),
    };
    let parts = match request.stats || request.fail_fast {
        true => all.iter().map(part).collect(),
        false => work::each(all.par_iter(), part),
    };
    instances::merge(job.question.command().name(), parts)
}

/// The settings of an instance, and those above them, lowest first.
fn layers<'s>([below, own]: &'s [Settings; 2], over: &'s Settings) -> [&'s Settings; 3] {
    [below, own, over]
}

/// The answer about an instance of an entry, beside others if the question is about those too; computed unless it is known.
fn instance(
    job: &Job,
    instances: &[Layers],
    cache: Option<&Cache>,
    known: &Known,
) -> Result<Answer, Failure> {
    let (question, files) = (job.question, &known.files);
    let cache = cache.filter(|_| question.is_cached());
    let slot = cache.zip(instances.first());
    let slot = slot.and_then(|(c, &l)| Some((c, c.key(l, question.roles().sides(), files)?)));
    if let Some(answer) = slot.as_ref().and_then(|(c, key)| c.get(key)) {
        return Ok(answer);
    }
    let settings = instances.iter().flat_map(|layers| layers.0);
    let mut references = settings.filter_map(|s| s.reference.as_ref()?.file.as_ref());
    let is_shared = references.any(|file| known.shared.contains(file));
    let held = Held {
        runs: is_shared.then_some(&known.runs),
        is_entry: true,
        ..Held::new(files)
    };
    let answer = question.ask(instances, &held)?;
    if let Some((c, key)) = slot {
        c.put(&key, &answer);
    }
    Ok(answer)
}

/// Why an answer is not what the entry must get.
fn judge(answer: &Answer, job: &Job) -> Option<String> {
    let report = &answer.report;
    let verdict = report.verdict.name();
    if verdict != job.expect {
        return Some(format!("{verdict} instead of {}", job.expect));
    }
    let parts = answer.parts.iter().filter_map(|p| p.result.as_ref().ok());
    let defects = parts.chain([answer]).flat_map(|a| &a.report.defects);
    let head = job.entry.head();
    let found = |kind: &String| defects.clone().any(|d| d.kind.name() == kind);
    let missing = head.defects.iter().filter(|k| !found(k));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        return Some(format!("no {} was found", missing.join(", no ")));
    }
    let wanted = &head.denied;
    let is_wanted = |k: &&WarningKind| wanted.iter().any(|w| w == k.name());
    let stray = report.denied.iter().filter(|k| !is_wanted(k));
    let stray: Vec<&str> = stray.map(|k| k.name()).collect();
    if !stray.is_empty() {
        return Some(format!("{} is denied", stray.join(", ")));
    }
    let denied = |w: &&String| report.denied.iter().any(|k| k.name() == *w);
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|w| !denied(w))
        .map(String::as_str)
        .collect();
    (!missing.is_empty()).then(|| format!("no {} was denied", missing.join(", no ")))
}
