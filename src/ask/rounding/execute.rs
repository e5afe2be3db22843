//! A kernel of a command executed on one input, with the machine's arithmetic.
//!
//! The problem: `check` and `race` leave inputs open, and what they say of a machine needs them known. The way: the
//! input is given by cells, elements with their bits; every array without contents is filled from them, with zeros
//! where no cell lies, and every scalar without a value is what its cell says. Then the kernel runs as `run` runs it
//! ([`numbers::in_order`]).
//!
//! Not claimed: anything where the run ends in a finding. The schedule is one of those that the launch allows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decide::refute::cells::Cell;
use crate::grid::{Covered, Subject, numbers};
use crate::sim::numbers::Memory;
use crate::sim::{Outcome, UnknownKind};
use crate::spec::launch::Selection;
use crate::spec::{Arrays, Domain, Given, Origin, Resolved, Role};
use crate::term::ArrayId;

use super::limits::LIMITS;

/// The bits of an element: where it lies, its size in bytes, and the bits.
pub(crate) type Bits = (ArrayId, u64, u8, u64);

/// The same of cells and their values.
pub(crate) fn bits(cells: &[Cell], values: &[u64]) -> Vec<Bits> {
    let one = |(c, v): (&Cell, &u64)| (c.array, c.off, c.bytes, *v);
    cells.iter().zip(values).map(one).collect()
}

/// The bindings of a kernel with an input; `None` if an element lies too far behind in its array.
pub(super) fn filled(resolved: &Resolved, arrays: &Arrays, input: &[Bits]) -> Option<Resolved> {
    let mut out = resolved.clone();
    let wobbling = match out.mode.domain {
        Domain::Numbers { wobbling } => wobbling,
        Domain::Reals { .. } | Domain::Words { .. } => None,
    };
    out.mode.domain = Domain::Numbers { wobbling };
    let mut by_array: BTreeMap<ArrayId, Vec<&Bits>> = BTreeMap::new();
    for b in input {
        by_array.entry(b.0).or_default().push(b);
    }
    for (i, array) in out.arrays.0.iter_mut().enumerate() {
        let id = ArrayId(i as u32);
        let cells = by_array.get(&id).map_or(&[][..], Vec::as_slice);
        let open = arrays[id].initial.is_none() && array.role != Some(Role::Out);
        // Memory of numbers has a place for each byte.
        if array.extent.is_some_and(|n| n > LIMITS.array_bytes) {
            return None;
        }
        match array.origin {
            Origin::Pointer if open => {
                let mut bytes: Vec<u8> = Vec::new();
                for (_, off, n, value) in cells {
                    let end = off.checked_add(u64::from(*n))?;
                    if end > LIMITS.array_bytes {
                        return None;
                    }
                    bytes.resize(bytes.len().max(end as usize), 0);
                    let given = &value.to_le_bytes()[..usize::from(*n)];
                    bytes[*off as usize..end as usize].copy_from_slice(given);
                }
                array.initial = Some(Arc::from(bytes));
            }
            Origin::Scalar => {
                let given = |(_, off, n, value): &&Bits| Given {
                    array: id,
                    off: *off,
                    bytes: *n,
                    value: *value,
                };
                out.bindings.given.extend(cells.iter().map(given));
                if cells.is_empty() {
                    let (array, off, bytes, value) = (id, 0, 8, 0);
                    out.bindings.given.push(Given {
                        array,
                        off,
                        bytes,
                        value,
                    });
                }
            }
            Origin::Pointer | Origin::Global | Origin::Const => {}
        }
    }
    Some(out)
}

/// What a kernel did on an input.
pub(crate) struct Ran {
    pub covered: Covered,
    memory: Option<Memory>,
}

/// Executes a kernel on an input, at every CTA or at the one that a flag names; `None` where that cannot be done.
pub(crate) fn execute(subject: &Subject<'_>, input: &[Bits], whole: bool) -> Option<Ran> {
    let resolved = filled(subject.resolved, subject.arrays, input)?;
    let executed = Subject {
        resolved: &resolved,
        ..*subject
    };
    let ranks = match resolved.selection {
        Selection::Given if !whole => vec![resolved.launch.rank()],
        Selection::Given | Selection::All => numbers::all_ranks(&executed).ok()?,
    };
    let (covered, memory) = numbers::in_order(&executed, &ranks);
    Some(Ran { covered, memory })
}

impl Ran {
    /// True if the run ended with every value known; values that depend on an order are those of one schedule.
    pub(super) fn is_known(&self) -> bool {
        let outcome: &Outcome = &self.covered.outcome;
        let order = |k| k == UnknownKind::NondeterministicValue;
        let open = outcome
            .unknowns
            .iter()
            .any(|u| !order(u.kind) || u.sites.len() < 2);
        outcome.defects.is_empty() && !open
    }

    /// The bits of an element of at most 8 bytes, if something was written or known there.
    pub(super) fn element(&self, array: ArrayId, off: u64, bytes: u64) -> Option<u64> {
        self.memory.as_ref()?.word(array, off, bytes)
    }
}
