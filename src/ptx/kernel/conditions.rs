//! Conditions that the size of a launch can change.
//!
//! The problem: a run shows one size. A guard that never took one of its values there, or a loop that ran once, may
//! hide a mistake that another size shows; but only where a size flows into it, for what follows from literal
//! numbers alone is the same at every size. Sizes are the integers among the parameters, the grid, and the block
//! unless the kernel fixes it.
//!
//! A size flows through integer arithmetic, memory that the CTA writes, and exchanges between lanes; a register that
//! is written again and again inside a loop depends on whatever ends the loop. What an asynchronous copy, an atomic
//! or a float gives depends on data or on the schedule, and counts for nothing.
//!
//! Not claimed: that there is a size that changes a condition. It is a warning, and no verdict rests on it.

use rustc_hash::FxHashMap;

use super::flow::{Flow, Graph, Origin, reach, reach_with_globals};
use super::operands::{Next, next};
use super::usage::{Loads, loads, mark_pointers};
use super::{Guard, Kernel, NumTy, Op, Pc, RegId, Special, Src};

/// Predicates that one predicate is taken apart into.
const PARTS: usize = 16;

/// Steps that are spent on the loops of one kernel: those that come later are not looked at.
const WORK: usize = 1 << 22;

/// Something that a launch is sized by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// The number at a byte of a parameter: its index, and the offset in it.
    Number(u32, u32),
    /// The grid.
    Grid,
    /// The block.
    Block,
}

/// Where a condition is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    /// The guard of an instruction, before it.
    Guard,
    /// What an instruction compares, or the predicate by which it selects.
    Result,
}

/// A condition that sizes flow into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The instruction.
    pub pc: Pc,
    /// Where it is seen there.
    pub seen: Seen,
    /// The register that holds it, true if it is not zero.
    pub holds: Guard,
    /// The sizes, in ascending order.
    pub sizes: Vec<Size>,
    /// The loop that it ends, if it ends one.
    pub ends: Option<Ends>,
}

/// How a condition ends a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It stands behind the body, which runs again where it is true.
    Behind,
    /// It stands before the body, which is left where it is true.
    Before,
}

/// The conditions of a kernel that sizes flow into, in order of their instructions.
pub fn conditions(kernel: &Kernel) -> Vec<Condition> {
    let Loads { mut uses, seeds } = loads(kernel);
    let pointers = reach_with_globals(&Graph::new(kernel, Flow::Pointer), &seeds, uses.len());
    mark_pointers(kernel, &pointers, &mut uses);
    let sizes: Vec<Option<Size>> = uses
        .iter()
        .map(|u| {
            let float = u.loaded.iter().any(|ty| matches!(ty, NumTy::Float(_)));
            let number = u.param.filter(|_| !u.pointer && !float);
            number.map(|p| Size::Number(p, u.offset))
        })
        .collect();
    let known = |seed: &&(RegId, Origin)| sizes[seed.1 as usize].is_some();
    let mut seeds: Vec<(RegId, Origin)> = seeds.iter().filter(known).copied().collect();
    let grid = sizes.len() as Origin;
    let block = grid + 1;
    for inst in &kernel.insts {
        if let Op::Special { dst, special } = inst.op {
            match shape(special) {
                Some(Size::Grid) => seeds.push((dst, grid)),
                Some(Size::Block) if kernel.reqntid.is_none() => seeds.push((dst, block)),
                _ => {}
            }
        }
    }
    let mut graph = Graph::new(kernel, Flow::Sizes);
    let loops = loops(kernel);
    graph.extend(carried(kernel, &loops));
    let flow = reach(&graph, &seeds);
    let size = |o: &Origin| match *o {
        o if o == grid => Some(Size::Grid),
        o if o == block => Some(Size::Block),
        o => sizes[o as usize],
    };
    let mut out = Vec::new();
    for (pc, inst) in (0u32..).map(Pc).zip(&kernel.insts) {
        let guard = inst.guard.map(|g| (Seen::Guard, g));
        for (seen, holds) in guard.into_iter().chain(result(&inst.op)) {
            let origins = flow.origins(Src::Reg(holds.reg)).iter();
            let mut sizes: Vec<Size> = origins.filter_map(size).collect();
            sizes.sort_unstable();
            if !sizes.is_empty() {
                out.push(Condition {
                    pc,
                    seen,
                    holds,
                    sizes,
                    ends: loops.ends(pc, seen),
                });
            }
        }
    }
    out
}

/// The instructions whose predicates a predicate is made of, itself included; far ones are left out.
pub fn made_of(kernel: &Kernel, of: RegId) -> Vec<Pc> {
    let mut regs = vec![of];
    let mut out: Vec<Pc> = Vec::new();
    let mut at = 0;
    while let Some(&reg) = regs.get(at).filter(|_| at < PARTS) {
        at += 1;
        for (pc, inst) in (0u32..).map(Pc).zip(&kernel.insts) {
            if !inst.op.writes(reg) || out.contains(&pc) {
                continue;
            }
            out.push(pc);
            inst.op.uses(&mut |r| {
                if kernel.reg_width[r.0 as usize] == 1 && !regs.contains(&r) {
                    regs.push(r);
                }
            });
        }
    }
    out
}

/// The part of a launch that a special register tells.
fn shape(special: Special) -> Option<Size> {
    match special {
        Special::Ctaid(_) | Special::Nctaid(_) | Special::ClusterId(_) | Special::NclusterId(_) => {
            Some(Size::Grid)
        }
        Special::Tid(_) | Special::Ntid(_) | Special::WarpId | Special::NwarpId => {
            Some(Size::Block)
        }
        _ => None,
    }
}

/// What an instruction compares as integers, or selects by.
fn result(op: &Op) -> Option<(Seen, Guard)> {
    let positive = |reg| Guard {
        reg,
        negated: false,
    };
    let guard = match op {
        Op::Setp {
            ty: NumTy::Int(_),
            p,
            q,
            ..
        } => positive((*p).or(*q)?),
        Op::Set {
            ty: NumTy::Int(_),
            dst,
            ..
        } => positive(*dst),
        Op::Selp { p, .. } => *p,
        _ => return None,
    };
    Some((Seen::Result, guard))
}

/// The loops of a kernel, as far as they are stretches of its text.
struct Loops {
    /// First and last instruction.
    bodies: Vec<(u32, u32)>,
    /// Branches that end a loop.
    ends: FxHashMap<u32, Ends>,
    /// For each loop, the branches by which it may end.
    exits: Vec<Vec<Guard>>,
}

impl Loops {
    fn ends(&self, pc: Pc, seen: Seen) -> Option<Ends> {
        let found = self.ends.get(&pc.0).copied();
        found.filter(|_| seen == Seen::Guard)
    }
}

fn loops(kernel: &Kernel) -> Loops {
    let mut out = Loops {
        bodies: Vec::new(),
        ends: FxHashMap::default(),
        exits: Vec::new(),
    };
    let mut branches: Vec<(u32, u32, Option<Guard>)> = Vec::new();
    for (pc, inst) in (0u32..).zip(&kernel.insts) {
        match next(kernel, Pc(pc)) {
            Next::Jump { target, .. } => branches.push((pc, target.0, inst.guard)),
            Next::End { fall: true } => branches.push((pc, u32::MAX, inst.guard)),
            _ => {}
        }
    }
    let mut work = 0;
    for &(last, first, again) in branches.iter().filter(|b| b.1 <= b.0) {
        let inside = branches.partition_point(|b| b.0 < first)..;
        let inside = branches[inside].iter().take_while(|b| b.0 < last);
        let leaves: Vec<_> = inside
            .filter(|b| b.1 < first || b.1 > last)
            .filter_map(|b| Some((b.0, b.2?)))
            .collect();
        match (again, leaves.first()) {
            (Some(_), _) => out.ends.insert(last, Ends::Behind),
            (None, Some(before)) => out.ends.insert(before.0, Ends::Before),
            (None, None) => None,
        };
        work += (last - first) as usize * (leaves.len() + 1);
        if work > WORK {
            break;
        }
        out.bodies.push((first, last));
        out.exits
            .push(leaves.into_iter().map(|l| l.1).chain(again).collect());
    }
    out
}

/// Flow from what ends a loop to the registers that its body writes again and again: those that are also written
/// elsewhere, as what a loop begins with is.
fn carried(kernel: &Kernel, loops: &Loops) -> Vec<(RegId, RegId)> {
    let mut writes = vec![0u8; kernel.reg_width.len()];
    for inst in &kernel.insts {
        inst.op
            .defs(&mut |r| writes[r.0 as usize] = writes[r.0 as usize].saturating_add(1));
    }
    let mut out = Vec::new();
    for (&(first, last), exits) in loops.bodies.iter().zip(&loops.exits) {
        for inst in &kernel.insts[first as usize..=last as usize] {
            if !super::flow::passes_sizes(&inst.op) {
                continue;
            }
            inst.op.defs(&mut |r| {
                if writes[r.0 as usize] > 1 {
                    out.extend(exits.iter().map(|g| (g.reg, r)));
                }
            });
        }
    }
    out
}
