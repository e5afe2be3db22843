//! Racing reads whose value reaches nothing.
//!
//! Problem: spare threads load what others load too, and only their stores are predicated off. Such a load races with
//! the store of another thread, and nothing is made of it.
//!
//! The way: what is made of the value of a load is followed through registers, in any order. Where that ends in stores
//! alone, as what is stored or as their guard, the pair is asked about once more for each of these stores, of threads in
//! which the one that loads comes to it.
//!
//! Sound: a value that reaches an address, a branch, a collective, an atomic, a copy or memory of the thread's own is of
//! use. What a load in a loop gives may be used in another iteration, whose words are others: neither it nor the stores may be in one.

use rustc_hash::FxHashSet;

use super::apart::apart_always;
use super::prover::Prover;
use super::state::{Accessed, Does};
use crate::answer::{Finding, Part, Site, WarningKind};
use crate::kernel::operands::uses;
use crate::kernel::{Kernel, Op, Pc, RegId, Space, Src};

/// Whether of two accesses that may meet one is a read whose value reaches nothing then, which becomes a warning.
pub(super) fn is_unused(p: &mut Prover, a: &Accessed, b: &Accessed) -> bool {
    if p.subject.strict {
        return false;
    }
    let never = match (a.does, b.does) {
        (Does::Reads, Does::Writes | Does::Updates(_)) => {
            never_stored(p, a, |p, a| apart_always(p, a, b).is_ok())
        }
        (Does::Writes | Does::Updates(_), Does::Reads) => {
            never_stored(p, b, |p, b| apart_always(p, a, b).is_ok())
        }
        _ => false,
    };
    if never {
        let kernel = p.subject.kernel;
        let site = |x: &Accessed| {
            let does = match x.does {
                Does::Reads => "reads",
                Does::Writes | Does::Updates(_) => "writes",
            };
            Site::new(&kernel.source, kernel.span(x.pc), does)
        };
        let message =
            "a thread may read what another one writes without order; what is read reaches nothing";
        let sites = vec![site(a), site(b)];
        let warning = Finding::new(Part::Kernel, WarningKind::UnusedRead, message).at(sites);
        let lines = |f: &Finding<WarningKind>| f.sites.iter().map(|s| s.line).collect::<Vec<_>>();
        let told = |w: &Finding<WarningKind>| w.message == message && lines(w) == lines(&warning);
        if !p.out.warnings.iter().any(told) {
            p.out.warnings.push(warning);
        }
    }
    never
}

/// Whether a question holds of a read at each store that is made of it, where its thread comes there.
fn never_stored(
    p: &mut Prover,
    read: &Accessed,
    holds: impl Fn(&mut Prover, &Accessed) -> bool,
) -> bool {
    let Some(stores) = stores_of(p.subject.kernel, read.pc) else {
        return false;
    };
    if !read.loops.is_empty() {
        return false;
    }
    stores.into_iter().all(|pc| {
        let all = p.w.out.accesses.iter().filter(|x| x.pc == pc);
        let guards: Vec<_> = all.map(|x| (x.guard, x.loops.is_empty())).collect();
        !guards.is_empty()
            && guards.into_iter().all(|(guard, once)| {
                let guard = p.w.e.and(read.guard, guard);
                once && holds(
                    p,
                    &Accessed {
                        guard,
                        ..read.clone()
                    },
                )
            })
    })
}

/// The stores that are made of what an instruction loads, if nothing else is.
fn stores_of(kernel: &Kernel, load: Pc) -> Option<Vec<Pc>> {
    let Op::Ld { dsts, .. } = &kernel.insts[load.0 as usize].op else {
        return None;
    };
    let mut made: FxHashSet<RegId> = dsts.iter().flatten().copied().collect();
    let mut stores: FxHashSet<Pc> = FxHashSet::default();
    loop {
        let known = made.len();
        for (i, inst) in kernel.insts.iter().enumerate() {
            let mut of = false;
            uses(inst, |r| of |= made.contains(&r));
            if !of {
                continue;
            }
            let at = |base: Src| matches!(base, Src::Reg(r) if made.contains(&r));
            match &inst.op {
                Op::Ld { addr, .. } if !at(addr.base) => {}
                Op::St { addr, access, .. } if !at(addr.base) => {
                    match access.space {
                        Space::Global | Space::Shared => stores.insert(Pc(i as u32)),
                        // It may be the thread's own memory, where it is read again.
                        _ => return None,
                    };
                }
                op if op.is_pure() => {}
                _ => return None,
            }
            inst.op.defs(&mut |r| {
                made.insert(r);
            });
        }
        if made.len() == known {
            let mut stores: Vec<Pc> = stores.into_iter().collect();
            stores.sort_unstable();
            return Some(stores);
        }
    }
}
