//! What has to be shown for every launch, and what of it is left.
//!
//! Each obligation is a question whether conditions can hold together: the guards of one or two threads, what is known of
//! their symbols, and what would be wrong. It is asked of gates first, and of whole numbers where products of sizes stand
//! in the way. A question that is not answered `never` is an open obligation; its model is a launch to try.

use rustc_hash::FxHashSet;

use super::assumed::launch_conditions;
use super::expr::Id;
use super::flow::Flow;
use super::gates::{Holds, together};
use super::launches::Concrete;
use super::limits::{MAX_INSTRUCTIONS, MODEL_BLOCKS, MODEL_GRIDS, NEAR};
use super::prover::{NumbersRead, Proof, Prover, Subject, launch_of};
use super::state::Walk;
use super::{barriers, conflicts, copies};
use crate::answer::{Finding, Part, UnknownKind};
use crate::kernel::structured::Blocks;
use crate::kernel::{NumTy, Op};
use crate::spec::{Field, Value};

/// Whether there is a launch in which the kernel may break.
pub(super) fn prove(subject: &Subject) -> Proof {
    let mut out = Proof::default();
    let blocks = Blocks::new(subject.kernel);
    let read = subject.limits.guarded(|| {
        let is_large = subject.kernel.insts.len() > MAX_INSTRUCTIONS;
        Flow::new(&blocks).filter(|_| !is_large)
    });
    let flow = match read {
        Ok(Some(flow)) => flow,
        Ok(None) => {
            let message = "the control flow has loops with several entries, or is too large";
            let found = Finding::new(Part::Kernel, UnknownKind::UnboundedLoop, message);
            out.open.push(found);
            return out;
        }
        Err(why) => return ended(out, why),
    };
    let (walk, always) = match subject.limits.guarded(|| walked(subject, &blocks, &flow)) {
        Ok(walked) => walked,
        Err(why) => return ended(out, why),
    };
    out.numbers = numbers_read(subject, &walk);
    let mut prover = Prover {
        subject,
        w: walk,
        always,
        out,
        exact: Vec::new(),
        warps: None,
        theirs: Vec::new(),
    };
    let all = subject.limits.timed(|| prover.all());
    match all {
        Ok(()) => prover.out,
        Err(why) => {
            prover.out.holds = false;
            ended(prover.out, why)
        }
    }
}

/// A proof that a limit ended.
fn ended(mut proof: Proof, why: &str) -> Proof {
    let message = format!("{why} while the code was read for every launch");
    let found = Finding::new(Part::Kernel, UnknownKind::Limit, message);
    proof.open.push(found);
    proof
}

/// All that an arbitrary thread does, and the conditions of every launch.
fn walked<'a>(subject: &'a Subject, blocks: &'a Blocks, flow: &'a Flow) -> (Walk<'a>, Vec<Id>) {
    let f = subject.freedom;
    let mut written: FxHashSet<u32> = FxHashSet::default();
    loop {
        let sizes = (f.block, f.grid, f.most);
        let mut walk = Walk::new(subject.kernel, subject.resolved, blocks, flow, sizes)
            .with_written(written.clone());
        let always = launch_conditions(&mut walk, f);
        walk.always = always.clone();
        let plain = always.iter().filter(|c| !walk.e.has_product(**c));
        walk.plain = plain.copied().collect();
        walk.limits = Some(*subject.limits);
        walk.run();
        walk.end_copies();
        let writes = walk.writes();
        if writes.is_subset(&written) {
            return (walk, always);
        }
        written.extend(writes);
    }
}

/// A launch, and those with one integer a little larger: what divides a number is not always among the conditions.
fn beside(launch: &Concrete) -> impl Iterator<Item = Concrete> {
    let more = (0..launch.ints.len()).flat_map(|k| (1..=NEAR).map(move |d| (k, d)));
    let near = more.map(move |(k, d)| {
        let mut near = launch.clone();
        near.ints[k] = near.ints[k].saturating_add(d);
        near
    });
    std::iter::once(launch.clone()).chain(near)
}

/// Launches that models of the facts are, the small ones first; `None` if the facts contradict each other.
pub(super) fn launches_of_facts(subject: &Subject) -> Option<Vec<Concrete>> {
    let blocks = Blocks::new(subject.kernel);
    let Some(flow) = Flow::new(&blocks) else {
        return Some(Vec::new());
    };
    let f = subject.freedom;
    let fixed = |own: [Option<u32>; 3], shape: Option<[u32; 3]>| match shape {
        Some(shape) => [0, 1, 2].map(|i| own[i].or(Some(shape[i]))),
        None => own,
    };
    let mut out: Vec<Concrete> = Vec::new();
    for grid in MODEL_GRIDS.map(Some).into_iter().chain([None]) {
        for block in MODEL_BLOCKS.map(Some).into_iter().chain([None]) {
            let mut own = f.clone();
            (own.block, own.grid) = (fixed(f.block, block), fixed(f.grid, grid));
            let sizes = (own.block, own.grid, own.most);
            let mut walk = Walk::new(subject.kernel, subject.resolved, &blocks, &flow, sizes);
            let conditions = launch_conditions(&mut walk, &own);
            let model = match together(&walk.e, &conditions, true, subject.limits) {
                Holds::Never if (block, grid) == (None, None) && out.is_empty() => return None,
                Holds::Never | Holds::Perhaps(None) => continue,
                Holds::Perhaps(Some(model)) => model,
            };
            let launch = launch_of(&mut walk, &own, &model);
            let found = beside(&launch).find(|near| f.admits(near));
            out.extend(found.filter(|near| !out.contains(near)));
        }
    }
    Some(out)
}

/// Arrays of which nothing is said, and of which numbers of one width are read.
fn numbers_read(subject: &Subject, walk: &Walk) -> Vec<NumbersRead> {
    let mut widths: Vec<(u32, u32)> = Vec::new();
    for a in &walk.out.accesses {
        let ty = match &walk.kernel.insts[a.pc.0 as usize].op {
            Op::Ld { access, .. } | Op::Atom { access, .. } => access.ty,
            _ => continue,
        };
        let width = (a.object, a.bytes);
        if matches!(ty, NumTy::Int(_)) && a.bytes <= 8 && !widths.contains(&width) {
            widths.push(width);
        }
    }
    let alone = |o: u32| widths.iter().filter(|w| w.0 == o).count() == 1;
    let named = widths
        .iter()
        .filter(|w| alone(w.0))
        .filter_map(|&(o, bytes)| {
            let n = walk.out.objects[o as usize].bound()?;
            let array = subject.arrays.0.get(n as usize)?;
            let fields = &subject.resolved.bindings.fields;
            let is = |f: &&Field| matches!(f.value, Value::Pointer(a, 0) if a.0 == n);
            let at = fields.iter().find(is)?.offset;
            let key = subject.kernel.params.iter().position(|p| p.offset == at)?;
            (array.extent.is_none() && array.initial.is_none()).then(|| NumbersRead {
                key: key.to_string(),
                bytes,
                written: walk.written.contains(&o),
            })
        });
    named.collect()
}

impl Prover<'_, '_> {
    pub(super) fn all(&mut self) {
        self.out.assumed = std::mem::take(&mut self.w.out.assumed);
        let gaps = std::mem::take(&mut self.w.out.gaps);
        for g in gaps {
            self.leave_open(g.kind, &g.what, &[g.pc], None);
        }
        // What is not followed leaves the answer open whatever else is shown.
        if self.w.e.full || !self.out.open.is_empty() {
            return;
        }
        self.loops();
        self.duties();
        self.bounds();
        copies::copies(self);
        barriers::barriers(self);
        conflicts::accesses(self);
        if let Some(why) = self.subject.limits.reached() {
            self.leave_open(UnknownKind::Limit, why, &[], None);
        }
        self.out.holds = self.out.open.is_empty() && !self.w.e.full;
        if self.out.holds {
            self.out.unwritten = self.reads_unwritten();
        }
    }
}
