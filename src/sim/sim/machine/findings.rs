//! Findings of a run.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::answer::Assumption;
use crate::kernel::Pc;

use super::super::{DefectKind, Finding, Site, UnknownKind, WarningKind};

/// Findings, grouped by kind and places.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Found {
    /// Defects.
    pub defects: BTreeMap<(DefectKind, Vec<Pc>), Finding<DefectKind>>,
    /// Warnings.
    pub warnings: BTreeMap<(WarningKind, Vec<Pc>), Finding<WarningKind>>,
    /// Unknowns.
    pub unknowns: BTreeMap<(UnknownKind, Vec<Pc>), Finding<UnknownKind>>,
    /// Assumptions made on the way.
    pub assumptions: FxHashSet<Assumption>,
}

impl Found {
    /// The warning about a pair of instructions, if there is one.
    pub(in crate::sim) fn warned(
        &mut self,
        kind: WarningKind,
        pcs: [Pc; 2],
    ) -> Option<&mut Finding<WarningKind>> {
        self.warnings.get_mut(&(kind, pcs.to_vec()))
    }
}

fn record<K: Copy + Ord>(
    map: &mut BTreeMap<(K, Vec<Pc>), Finding<K>>,
    kind: K,
    count: u64,
    sites: Vec<Site>,
    message: impl FnOnce() -> String,
) {
    record_with(map, kind, count, sites, message, |_| {});
}

/// The same, where the sites of a finding that is new are completed.
pub(super) fn record_with<K: Copy + Ord>(
    map: &mut BTreeMap<(K, Vec<Pc>), Finding<K>>,
    kind: K,
    count: u64,
    mut sites: Vec<Site>,
    message: impl FnOnce() -> String,
    complete: impl FnOnce(&mut [Site]),
) {
    let pcs = sites.iter().map(|s| s.pc).collect();
    map.entry((kind, pcs))
        .and_modify(|f| f.count += count)
        .or_insert_with(|| {
            complete(&mut sites);
            Finding::new(kind, message()).times(count).at(sites)
        });
}

impl Found {
    /// Records a defect that happened several times.
    pub(in crate::sim) fn defect_counted(
        &mut self,
        kind: DefectKind,
        count: u64,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        record(&mut self.defects, kind, count, sites, message);
    }

    /// Records a warning.
    pub(in crate::sim) fn warn(
        &mut self,
        kind: WarningKind,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        record(&mut self.warnings, kind, 1, sites, message);
    }

    /// Records a reason of `unknown`.
    pub(in crate::sim) fn unknown(
        &mut self,
        kind: UnknownKind,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        record(&mut self.unknowns, kind, 1, sites, message);
    }
}
