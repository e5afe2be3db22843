//! Which findings have one root.
//!
//! Problem: one barrier that is missing makes a race of each pair of accesses that it would have ordered, and of each
//! value that is read too early. People want to see the barrier once.
//!
//! The instructions that threads wait at cut the code of a kernel into stretches. Races of one kernel between the same two
//! stretches share their root: an order between any two accesses of them is an order between all. A value that was not
//! written yet shares the root of a race of its read.
//!
//! Not claimed: that one barrier more would do. A cause groups what is shown; no verdict rests on it.

use indexmap::IndexMap;

use crate::answer::{DefectKind, Part};
use crate::kernel::{Kernel, Op, Pc};
use crate::sim::Finding;

/// A pair of stretches, the earlier one first.
type Root = (u32, u32);

/// The cause of each defect of a run; none for one that shares its root with no other.
pub(super) fn causes(
    kernel: &Kernel,
    part: Part,
    found: &[Finding<DefectKind>],
) -> Vec<Option<String>> {
    let stretches = stretches(kernel);
    let of = |pc: Pc| stretches.get(pc.0 as usize).copied().unwrap_or(0);
    let race = |f: &Finding<DefectKind>| -> Option<Root> {
        let (first, last) = (f.sites.first()?, f.sites.last()?);
        let (a, b) = (of(first.pc), of(last.pc));
        (f.kind == DefectKind::DataRace).then_some((a.min(b), a.max(b)))
    };
    let root = |f: &Finding<DefectKind>| match f.kind {
        DefectKind::DataRace => race(f),
        DefectKind::UninitializedRead => {
            let read = f.sites.first()?.pc;
            let same = |r: &&Finding<DefectKind>| r.sites.iter().any(|s| s.pc == read);
            found.iter().filter(same).find_map(race)
        }
        DefectKind::Deadlock
        | DefectKind::BarrierMisuse
        | DefectKind::OutOfBounds
        | DefectKind::MisalignedAccess
        | DefectKind::Assertion
        | DefectKind::OrderDependent
        | DefectKind::Lifetime => None,
    };
    let roots: Vec<Option<Root>> = found.iter().map(root).collect();
    let mut counts: IndexMap<Root, u32> = IndexMap::new();
    for root in roots.iter().flatten() {
        *counts.entry(*root).or_default() += 1;
    }
    counts.retain(|_, n| *n > 1);
    let name = |root: &Option<Root>| {
        let index = counts.get_index_of(root.as_ref()?)?;
        Some(format!("{}-{}", part.name(), index + 1))
    };
    roots.iter().map(name).collect()
}

/// The stretch of each instruction, counted from the start of the kernel.
fn stretches(kernel: &Kernel) -> Vec<u32> {
    let mut stretch = 0;
    let next = |op: &Op| {
        stretch += u32::from(is_boundary(op));
        stretch
    };
    kernel.insts.iter().map(|i| &i.op).map(next).collect()
}

/// True for instructions that threads wait at for others.
fn is_boundary(op: &Op) -> bool {
    match op {
        Op::Async(op) => op.effects().gathers,
        op => matches!(op, Op::Bar { .. } | Op::WarpSync { .. }),
    }
}
