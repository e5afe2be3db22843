//! Accesses of different CTAs to the same bytes.
//!
//! The problem: nothing orders the threads of different CTAs while a kernel runs, so any two
//! conflicting accesses of theirs are unordered. Source: PTX ISA 9.0, sections 8.5 (scopes), 8.7.1
//! (conflict, data race). The rule for a pair is that of `sim::race`, but that strong accesses must
//! also name a scope that holds both CTAs.
//!
//! Each CTA is compared with all that came before, byte by byte: what was touched is kept by class
//! of access (what it does, how wide its scope is), and one instruction stands for all of a class
//! that touched a byte. The pairs that are left out are of classes that have been compared, so that
//! a byte without finding has none.
//!
//! Sound: a data race is claimed only where neither access depends on input data, and the kernel
//! has no means to synchronise CTAs, which is a fence or an acquiring access together with a read
//! that could observe another CTA; otherwise the pair is `unknown`.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::intervals::Intervals;
use crate::kernel::{Kernel, Op, Pc, Scope, Sem};
use crate::sim::Change;
use crate::sim::footprint::Access;
use crate::sim::race::{AccessKind, Conflict, Rule, rule};
use crate::term::{ArrayId, TermId};
use crate::work;

/// What accesses of one class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) kind: AccessKind,
    conditional: bool,
    /// The scope holds all CTAs of the grid.
    wide: Option<bool>,
    elem: u32,
}

/// An access of one CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The CTA.
    pub rank: u64,
    /// The instruction.
    pub pc: Pc,
    /// What it does.
    pub kind: AccessKind,
    /// Size of its elements.
    pub elem: u32,
}

/// What two CTAs that touch the same bytes mean for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Atomics of one commutative operation: the updates of both are made.
    Combine(AccessKind),
    /// Plain writes, whose values are to be compared.
    Same(Record, Record),
    /// Plain writes of bytes that one of the CTAs wrote with several values: a race where the last ones differ, and open
    /// where they do not.
    Changed(Record, Record),
    /// Accesses under conditions, of which one writes: nothing if the conditions exclude each other.
    Guarded(Record, Record),
    /// A finding: memory says nothing.
    Conflict,
}

/// Bytes of an array that this CTA and an earlier one touched, at least one of them by a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The array.
    pub array: ArrayId,
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// What it means.
    pub what: Meeting,
}

/// An element at which accesses under conditions may meet.
#[derive(Clone, Copy, Debug)]
pub struct Met {
    /// The array.
    pub array: ArrayId,
    /// The first byte, and the one after the last.
    pub bytes: (u64, u64),
    /// The accesses.
    pub records: (Record, Record),
    /// A race if this holds.
    pub cond: Option<TermId>,
}

/// What is wrong with a pair of instructions of different CTAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// A data race, or the weaker findings of the race rule.
    Unordered(Conflict),
    /// The kernel may order them in a way that is not followed.
    Fenced,
    /// Plain writes of bytes that one of the CTAs writes with several values.
    Rewritten,
    /// Atomics whose scope is a cluster, which may or may not hold both CTAs.
    Cluster,
}

/// All pairs of two instructions with the same trouble, and the first as an example.
#[derive(Clone, Debug)]
pub struct Found {
    /// What is wrong.
    pub trouble: Trouble,
    /// Number of elements.
    pub count: u64,
    /// The array of the example.
    pub array: ArrayId,
    /// The first byte that both touch.
    pub off: u64,
    /// The access of the CTA that comes first.
    pub earlier: Record,
    /// The other one.
    pub later: Record,
    /// It is a data race if this holds.
    pub cond: Option<TermId>,
}

#[derive(Debug, Default)]
pub(super) struct Bytes {
    pub(super) classes: Vec<(Class, Intervals<Record>)>,
    /// Bytes that a CTA writes with several values.
    rewritten: Intervals<()>,
}

/// Everything that the CTAs so far touched.
#[derive(Debug)]
pub struct Between<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) arrays: BTreeMap<ArrayId, Bytes>,
    found: IndexMap<(Trouble, Pc, Pc), Found>,
    pub(super) fenced: bool,
}

impl<'k> Between<'k> {
    /// No CTA so far.
    pub fn new(kernel: &'k Kernel) -> Self {
        Between {
            kernel,
            arrays: BTreeMap::new(),
            found: IndexMap::new(),
            fenced: may_synchronise(kernel),
        }
    }

    /// What was found, in the order in which it was first seen.
    pub fn found(&self) -> impl Iterator<Item = &Found> {
        self.found.values()
    }

    /// Adds a CTA; the result is where it meets the writes of earlier ones.
    pub fn add<'c>(
        &mut self,
        rank: u64,
        accesses: &[Access],
        changes: impl Iterator<Item = &'c Change>,
    ) -> Vec<Overlap> {
        let mut out = Vec::new();
        for c in changes {
            let bytes = self.arrays.entry(c.array).or_default();
            bytes.rewritten.fill(c.start, c.end, ());
        }
        for a in accesses {
            self.compare(rank, a, &mut out);
        }
        for a in accesses {
            let (class, record) = (self.class(a), record(rank, a));
            let bytes = self.arrays.entry(a.array).or_default();
            let map = match bytes.classes.iter().position(|c| c.0 == class) {
                Some(i) => &mut bytes.classes[i].1,
                None => {
                    bytes.classes.push((class, Intervals::default()));
                    let last = bytes.classes.len() - 1;
                    &mut bytes.classes[last].1
                }
            };
            for &(start, end) in &a.bytes {
                map.fill(start, end, record);
            }
        }
        out
    }

    fn compare(&mut self, rank: u64, a: &Access, out: &mut Vec<Overlap>) {
        work::spend(1);
        let class = self.class(a);
        let later = record(rank, a);
        let Some(bytes) = self.arrays.get(&a.array) else {
            return;
        };
        let found = &mut self.found;
        let mut trouble = |t: Trouble, at: u64, end: u64, earlier: Record| {
            add(found, t, (a.array, at, end), (earlier, later));
        };
        for (other, map) in &bytes.classes {
            let verdict = self::between(other, &class, self.fenced);
            if verdict == Verdict::Fine {
                continue;
            }
            for &(lo, hi) in &a.bytes {
                for (start, end, earlier) in map.overlaps(lo, hi) {
                    let mut what = Meeting::Conflict;
                    match verdict {
                        Verdict::Combine => what = Meeting::Combine(a.kind),
                        Verdict::Compare => {
                            if let Some((at, to, ())) = bytes.rewritten.overlaps(start, end).next()
                            {
                                trouble(Trouble::Rewritten, at, to, earlier);
                                if !self.fenced {
                                    what = Meeting::Changed(earlier, later);
                                }
                            } else {
                                what = Meeting::Same(earlier, later);
                            }
                        }
                        Verdict::Trouble(Trouble::Unordered(Conflict::Conditional))
                            if other.conditional && class.conditional =>
                        {
                            what = Meeting::Guarded(earlier, later);
                        }
                        Verdict::Trouble(t) => trouble(t, start, end, earlier),
                        Verdict::Fine => {}
                    }
                    let is_guarded = matches!(what, Meeting::Guarded(..));
                    if is_guarded || other.kind.writes() && a.kind.writes() {
                        out.push(Overlap {
                            array: a.array,
                            start,
                            end,
                            what,
                        });
                    }
                }
            }
        }
    }

    /// Data may make two accesses meet, and nothing excludes it.
    pub fn may_meet(&mut self, met: Met) {
        let t = Trouble::Unordered(Conflict::Conditional);
        let bytes = (met.array, met.bytes.0, met.bytes.1);
        let found = add(&mut self.found, t, bytes, met.records);
        if !self.fenced && found.cond.is_none() {
            found.cond = met.cond;
            (found.array, found.off) = (met.array, met.bytes.0);
            (found.earlier, found.later) = met.records;
        }
    }

    fn class(&self, a: &Access) -> Class {
        let scope = match self.kernel.insts.get(a.pc.0 as usize).map(|i| &i.op) {
            Some(Op::Ld { access, .. } | Op::St { access, .. } | Op::Atom { access, .. }) => {
                access.scope
            }
            _ => Scope::Sys,
        };
        Class {
            kind: a.kind,
            conditional: a.conditional,
            wide: match scope {
                _ if !a.kind.strong() => None,
                Scope::Cta => Some(false),
                Scope::Cluster => None,
                Scope::Gpu | Scope::Sys => Some(true),
            },
            elem: a.elem,
        }
    }
}

/// Adds a pair of instructions with a trouble at some bytes.
fn add(
    found: &mut IndexMap<(Trouble, Pc, Pc), Found>,
    t: Trouble,
    (array, at, end): (ArrayId, u64, u64),
    (earlier, later): (Record, Record),
) -> &mut Found {
    let elem = later.elem.max(1) as u64;
    let f = found
        .entry((t, earlier.pc, later.pc))
        .or_insert_with(|| Found {
            trouble: t,
            count: 0,
            array,
            off: at,
            earlier,
            later,
            cond: None,
        });
    f.count += (end - at).div_ceil(elem);
    f
}

fn record(rank: u64, a: &Access) -> Record {
    Record {
        rank,
        pc: a.pc,
        kind: a.kind,
        elem: a.elem,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    Combine,
    Compare,
    Trouble(Trouble),
}

/// The rule for two classes.
fn between(a: &Class, b: &Class, fenced: bool) -> Verdict {
    let strong = a.kind.strong() && b.kind.strong();
    let conditional = a.conditional || b.conditional;
    let same = a.elem == b.elem;
    let race = match (conditional, fenced) {
        (true, _) => Trouble::Unordered(Conflict::Conditional),
        (false, true) => Trouble::Fenced,
        (false, false) => Trouble::Unordered(Conflict::Race),
    };
    match rule(a.kind, b.kind, same) {
        Rule::Fine if !a.kind.writes() && !b.kind.writes() => Verdict::Fine,
        _ if strong && (a.wide.is_none() || b.wide.is_none()) => Verdict::Trouble(Trouble::Cluster),
        _ if strong && (a.wide != Some(true) || b.wide != Some(true)) => Verdict::Trouble(race),
        Rule::Fine => Verdict::Combine,
        Rule::SameBytes if conditional => Verdict::Trouble(race),
        Rule::SameBytes => Verdict::Compare,
        Rule::Bad(Conflict::Race) => Verdict::Trouble(race),
        Rule::Bad(c) => Verdict::Trouble(Trouble::Unordered(c)),
    }
}

/// True if a kernel has what it takes to order threads of different CTAs.
fn may_synchronise(kernel: &Kernel) -> bool {
    let mut orders = false;
    let mut observes = false;
    for inst in &kernel.insts {
        match &inst.op {
            Op::Fence { scope, .. } => orders |= *scope > Scope::Cta,
            // What has no model may be a barrier of a cluster or a grid.
            Op::Unsupported(_) => return true,
            Op::Ld { access, .. } => {
                orders |= !matches!(access.sem, Sem::Weak | Sem::Relaxed);
                observes |= access.volatile || access.sem != Sem::Weak;
            }
            Op::Atom { access, dsts, .. } => {
                orders |= !matches!(access.sem, Sem::Weak | Sem::Relaxed);
                observes |= !dsts.is_empty();
            }
            _ => {}
        }
    }
    orders && observes
}
