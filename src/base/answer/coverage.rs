//! What the sizes of a launch showed of the conditions of a kernel, and what several launches show together.

use rustc_hash::FxHashMap;

use super::{Part, Report, WarningKind};

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

/// Takes back what one instance of a command was too small to show, where others show it: the instances together are
/// what was looked at. Says of each report whether it changed.
pub fn unite(reports: &mut [&mut Report]) -> Vec<bool> {
    let mut seen: FxHashMap<(Part, Position), Vec<Option<Thin>>> = FxHashMap::default();
    for looked in reports.iter().flat_map(|r| &r.looked) {
        let key = (looked.kernel, looked.at.clone());
        let all = seen.entry(key).or_default();
        if !all.contains(&looked.thin) {
            all.push(looked.thin);
        }
    }
    let shown = |key: &(Part, Position)| {
        let all = seen.get(key).map_or(&[][..], |all| all);
        let has = |thin| all.contains(&thin);
        has(None) || has(Some(Thin::Only(true))) && has(Some(Thin::Only(false)))
    };
    let kind = WarningKind::ThinCoverage;
    let mut out = Vec::new();
    for report in reports {
        let before = report.warnings.len();
        report.warnings.retain(|w| {
            let mut places = w.sites.iter().map(|s| (s.file.clone(), s.line, s.column));
            w.kind != kind || !places.all(|at| shown(&(w.kernel, at)))
        });
        if !report.warnings.iter().any(|w| w.kind == kind) {
            report.denied.retain(|k| *k != kind);
        }
        out.push(report.warnings.len() != before);
    }
    out
}
