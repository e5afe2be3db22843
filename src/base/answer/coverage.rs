//! What the sizes of a launch showed of the conditions of a kernel, and what several launches show together.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Part, Report, WarningKind};

/// A size to run a command at again, as flags of the command line say it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// What `--for` calls it.
    pub name: String,
    /// Its value in the run.
    pub now: i64,
    /// Other values, the nearest first.
    pub values: Vec<i64>,
    /// The flags that give it, each with its value: `{n}` and expressions of it stand for the size. What follows it, such as
    /// the grid and the extents of arrays, goes with it.
    pub flags: Vec<[String; 2]>,
}

impl Proposal {
    /// The flags as a shell takes them, with `--for`.
    pub fn text(&self) -> String {
        let values: Vec<String> = self.values.iter().map(i64::to_string).collect();
        let mut out = format!("--for {}={}", self.name, values.join(","));
        for [flag, value] in &self.flags {
            let plain = |c: char| c.is_ascii_alphanumeric() || "=+-_.,:/".contains(c);
            match value.chars().all(plain) {
                true => out.push_str(&format!(" {flag} {value}")),
                false => out.push_str(&format!(" {flag} '{}'", value.replace('\'', "'\\''"))),
            }
        }
        out
    }

    /// Two kernels with one grid have it by one flag.
    fn join_grids(&mut self) {
        let grids: Vec<usize> = (0..self.flags.len())
            .filter(|&i| matches!(self.flags[i][0].as_str(), "--ref-grid" | "--opt-grid"))
            .collect();
        if let [a, b] = grids[..]
            && self.flags[a][1] == self.flags[b][1]
        {
            self.flags[a][0] = "--grid".to_string();
            self.flags.remove(b);
        }
    }
}

/// Values of one size that are proposed.
const VALUES: usize = 4;

/// What the warnings of a report propose, each size once: the ones that more warnings name come first.
pub fn proposals(report: &Report) -> Vec<Proposal> {
    let mut out: Vec<(usize, Proposal)> = Vec::new();
    for p in report.warnings.iter().flat_map(|w| &w.sizes) {
        match out
            .iter_mut()
            .find(|(_, o)| o.flags.first() == p.flags.first())
        {
            Some((count, one)) => {
                *count += 1;
                // What goes with it for one guard, or for one kernel, goes with it for all.
                for flag in &p.flags {
                    if !one.flags.iter().any(|f| sets(f) == sets(flag)) {
                        one.flags.push(flag.clone());
                    }
                }
                let new = p.values.iter().filter(|v| !one.values.contains(v));
                let new: Vec<i64> = new.copied().collect();
                one.values.extend(new);
            }
            None => out.push((1, p.clone())),
        }
    }
    out.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut out: Vec<Proposal> = out.into_iter().map(|(_, p)| p).collect();
    for p in &mut out {
        p.values.truncate(VALUES);
        p.join_grids();
    }
    out
}

/// What a flag sets: its word, and the key of a binding.
fn sets([word, value]: &[String; 2]) -> (&str, &str) {
    match value.split_once('=') {
        Some((key, _)) => (word, key),
        None => (word, ""),
    }
}

/// What is thin about a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Thin {
    /// A loop ran at most once.
    Once,
    /// It always had this value.
    Only(bool),
}

/// A condition that a run came to.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The kernel.
    pub kernel: Part,
    /// Where it stands.
    pub at: Position,
    /// What is thin about it, if anything is.
    pub thin: Option<Thin>,
}

/// File, line and column.
pub type Position = (String, u32, u32);

/// A place of a kernel in a text, by its SHA-256.
type Place = (Part, Option<String>, Position);

/// Takes back what one instance of a command was too small to show, where others show it: the instances together are
/// what was looked at. Says of each report whether it changed.
pub fn unite(reports: &mut [&mut Report]) -> Vec<bool> {
    // A file of one name may hold another text in another instance.
    let text = |r: &Report, at: &Position| r.inputs.files.get(&at.0).cloned();
    let mut seen: FxHashMap<Place, Vec<Option<Thin>>> = FxHashMap::default();
    for r in reports.iter() {
        for looked in &r.looked {
            let key = (looked.kernel, text(r, &looked.at), looked.at.clone());
            let all = seen.entry(key).or_default();
            if !all.contains(&looked.thin) {
                all.push(looked.thin);
            }
        }
    }
    let shown = |key: &Place| {
        let all = seen.get(key).map_or(&[][..], |all| all);
        let has = |thin| all.contains(&thin);
        has(None) || has(Some(Thin::Only(true))) && has(Some(Thin::Only(false)))
    };
    let kind = WarningKind::ThinCoverage;
    let mut out = Vec::new();
    for report in reports {
        let before = report.warnings.len();
        let files = report.inputs.files.clone();
        report.warnings.retain(|w| {
            let mut places = w.sites.iter().map(|s| (s.file.clone(), s.line, s.column));
            let text = |at: &Position| files.get(&at.0).cloned();
            w.kind != kind || !places.all(|at| shown(&(w.kernel, text(&at), at)))
        });
        if !report.warnings.iter().any(|w| w.kind == kind && !w.allowed) {
            report.denied.retain(|k| *k != kind);
        }
        out.push(report.warnings.len() != before);
    }
    out
}
