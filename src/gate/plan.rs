//! The entries of a manifest and of the manifests that it includes.
//!
//! A team keeps one manifest beside each family of kernels and one that includes them all. Every
//! included manifest keeps its own `[defaults]`; its paths are relative to itself. Manifests are
//! files of anyone: each is read once, so that a cycle is an error and not a hang, and the number of
//! them is bounded. The names of all entries together are different, so that a name in a report, a
//! filter or a cache means one entry.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Source, Span, visible};
use crate::input;
use crate::report::{Failure, Kind};
use crate::sim::DefectKind;
use crate::spec::{Entry, Manifest};

/// Manifests of one plan.
const MOST: usize = 1000;

/// A manifest and what it includes.
pub struct Plan {
    files: Vec<Read>,
}

struct Read {
    name: String,
    manifest: Manifest,
}

/// One entry.
pub struct Job<'a> {
    /// Its name; no other has it.
    pub name: String,
    /// The verdict that it must get.
    pub expect: &'a str,
    /// A check or a race.
    pub is_check: bool,
    /// What it says itself, for each of its instances.
    pub entry: &'a Entry,
}

/// A manifest that is to be read, and the place that names it.
struct Wanted {
    path: PathBuf,
    by: Option<(Arc<Source>, Span)>,
    /// The manifests on the way here.
    way: Vec<PathBuf>,
}

impl Plan {
    /// Reads a manifest and those that it includes: depth first, in the order of their names.
    pub fn read(path: &Path) -> Result<Plan, Failure> {
        let mut files = Vec::new();
        let mut seen: HashMap<PathBuf, String> = HashMap::new();
        let mut wanted = vec![Wanted {
            path: path.to_path_buf(),
            by: None,
            way: Vec::new(),
        }];
        while let Some(next) = wanted.pop() {
            let name = visible(&next.path.display().to_string()).into_owned();
            let refuse = |why: String| match &next.by {
                Some((source, span)) => {
                    let d = Diagnostic::error("manifest", why).label(*span, "");
                    Failure::at(source, vec![d])
                }
                None => Failure::new("manifest", why),
            };
            let source = match (input::text(&next.path), &next.by) {
                (Ok(source), _) => source,
                (Err(e), None) => return Err(e),
                (Err(e), Some(_)) => return Err(refuse(format!("include: {}", e.message()))),
            };
            // One file has one resolved path, whatever links and dots lead to it.
            let real = std::fs::canonicalize(&next.path).unwrap_or(next.path.clone());
            if next.way.contains(&real) {
                return Err(refuse(format!("include: `{name}` includes itself")));
            }
            if let Some(first) = seen.insert(real.clone(), name.clone()) {
                return Err(refuse(format!(
                    "include: `{name}` is included twice, first as `{first}`"
                )));
            }
            if files.len() == MOST {
                return Err(refuse(format!("include: more than {MOST} manifests")));
            }
            let base = next.path.parent().unwrap_or(Path::new(""));
            let manifest = Manifest::parse(&source.text, base)
                .map_err(|e| Failure::toml(&source, "manifest", e))?;
            let mut way = next.way;
            way.push(real);
            // The last of a stack is read first.
            wanted.extend(manifest.include.iter().rev().map(|include| {
                let span = include.span();
                Wanted {
                    path: base.join(include.get_ref()),
                    by: Some((
                        source.clone(),
                        Span::new(span.start as u32, span.end as u32),
                    )),
                    way: way.clone(),
                }
            }));
            files.push(Read { name, manifest });
        }
        Ok(Plan { files })
    }

    /// Every entry of every manifest.
    pub fn jobs(&self) -> Result<Vec<Job<'_>>, Failure> {
        let mut out = Vec::new();
        let mut places: HashMap<String, String> = HashMap::new();
        for Read { name, manifest } in &self.files {
            let refuse = |why| Failure::new("manifest", format!("{name}: {why}"));
            for (job, place) in jobs(manifest).map_err(refuse)? {
                let here = format!("{name}: {place}");
                if let Some(first) = places.insert(job.name.clone(), here.clone()) {
                    let why = "has the name of another entry; give it one of its own";
                    let message = format!("{here} {why}, the first is {first}");
                    return Err(Failure::new("manifest", message));
                }
                out.push(job);
            }
        }
        Ok(out)
    }
}

/// The entries of one manifest, each with the words for its place.
fn jobs(manifest: &Manifest) -> Result<Vec<(Job<'_>, String)>, String> {
    let checks = manifest.check.iter().map(|e| (true, e));
    let races = manifest.race.iter().map(|e| (false, e));
    let mut out = Vec::new();
    for (number, (is_check, all)) in checks.chain(races).enumerate() {
        let entry = all.head();
        let number = if is_check {
            number + 1
        } else {
            number + 1 - manifest.check.len()
        };
        let kind = if is_check { "check" } else { "race" };
        let name = entry.name.clone().unwrap_or(format!("{kind}-{number}"));
        let name = visible(&name).into_owned();
        let place = format!("[[{kind}]] {number} (`{name}`)");
        let (stray, verdicts): (_, &[&str]) = if is_check {
            let stray = entry.kernel.is_some().then_some("kernel");
            (
                stray,
                &["equivalent", "not-equivalent", "defective", "unknown"],
            )
        } else {
            let reference = entry.reference.is_some().then_some("reference");
            let optimized = entry.optimized.is_some().then_some("optimized");
            (reference.or(optimized), &["clean", "defective", "unknown"])
        };
        if let Some(key) = stray {
            return Err(format!("{place}: `{key}` is not a key of a [[{kind}]]"));
        }
        let expect = entry.expect.as_deref().unwrap_or(verdicts[0]);
        if !verdicts.contains(&expect) {
            let list = verdicts.join(", ");
            return Err(format!(
                "{place}: a {kind} cannot expect `{expect}`; it is one of {list}"
            ));
        }
        if let Some(kind) = entry.defects.iter().find(|d| !is_defect(d)) {
            return Err(format!("{place}: `{kind}` is not a kind of defect"));
        }
        let job = Job {
            name,
            expect,
            is_check,
            entry: all,
        };
        out.push((job, place));
    }
    Ok(out)
}

fn is_defect(name: &str) -> bool {
    use DefectKind::*;
    let all = [
        DataRace,
        Deadlock,
        BarrierMisuse,
        OutOfBounds,
        UninitializedRead,
        MisalignedAccess,
        Assertion,
    ];
    all.iter().any(|k| k.name() == name)
}
