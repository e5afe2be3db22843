//! The machine: everything that the threads of one CTA, or of several that run together, share while they run.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::answer::Assumption;
use crate::kernel::{Inst, Kernel, Pc, RegId, Space, Src};
use crate::spec::{Arrays, Bindings, Launch, Limits, Mode, Numbered, Value};
use crate::term::questions::Question;
use crate::term::{ArrayId, TermId};

use super::cta::Inputs;
use super::memory::{Region, RegionKind};
use super::program::Program;
use super::region::{PARAM, RegionId, base, region_of};
use super::setup::{given, put_field, put_globals, regions, values};
use super::val::Val;
use super::value::Values;
use super::warp::{LANES, Warp, lanes};
use super::{DefectKind, Finding, Side, Site, Stats, Tid, UnknownKind, WarningKind};

/// The state of a run.
pub(super) struct Machine<'k> {
    /// What the text of the kernel says.
    pub program: Arc<Program>,
    /// The code.
    pub kernel: &'k Kernel,
    /// The launch.
    pub launch: &'k Launch,
    /// The arrays of the pair.
    pub arrays: &'k Arrays,
    /// What stands in the parameter space.
    pub bindings: &'k Bindings,
    /// Bounds.
    pub limits: &'k Limits,
    /// Terms and conversions.
    pub values: Values,
    /// Memory.
    pub regions: Vec<Region>,
    /// Warps in order of rank.
    pub warps: Vec<Warp>,
    /// Accesses and their order.
    pub order: super::order::Order,
    /// Asynchronous copies under way, by warp.
    pub copies: Vec<super::copy::Copies>,
    /// Bulk copies to global memory under way, by warp.
    pub bulk: Vec<super::bulk::Bulk>,
    /// Tensor maps.
    pub maps: super::tensor_map::Maps,
    /// Products of warpgroups under way.
    pub products: super::wgmma::Products,
    /// Tensor memory.
    pub tensor: super::tensor_memory::TensorMemory,
    /// Opaque fragments.
    pub fragments: super::wmma::Fragments,
    /// The mbarriers.
    pub objects: super::mbarrier::Objects,
    /// The named barriers of each CTA.
    pub barriers: Vec<super::barrier::Barriers>,
    /// The CTAs that run together.
    pub team: super::cluster::Team,
    /// The barrier of each cluster.
    pub cluster_barriers: Vec<super::cluster::barrier::ClusterBarrier>,
    /// Objects that were made and may be published by a fence of their own.
    pub inits: super::cluster::inits::Inits,
    /// Accesses of the shared memory of other CTAs.
    pub lifetimes: super::cluster::Lifetimes,
    /// Requests to cancel the launch of other clusters.
    pub requests: super::cluster::Requests,
    /// What is known of launches before that may still run.
    pub dependents: super::dependents::Dependents,
    /// Predicates of lanes that wait in a barrier reduction: warp, lane, predicate.
    pub votes: Vec<(usize, usize, TermId)>,
    /// Warp collectives under way, by warp.
    pub meetings: Vec<super::collective::Meeting>,
    /// Findings so far.
    pub found: Found,
    /// Counts.
    pub stats: Stats,
    /// How often threads executed each instruction other than a plain jump.
    pub executed: Vec<u64>,
    /// Serial of the next fresh symbol.
    pub fresh: u32,
    /// What lies between branches and their joins.
    pub branch_regions: super::branch::Regions,
    /// An example of each instruction that read uninitialised bytes; poison terms name the pc.
    pub unset_sites: BTreeMap<Pc, Site>,
    /// Which terms stand above something that was never written.
    pub poisons: super::unwritten::Poisons,
    /// Where symbols came from whose value depends on the schedule, by serial.
    pub fresh_sites: BTreeMap<u32, Site>,
    /// Values about which nothing is known, and why.
    pub doubts: super::reach::Doubts,
    /// The run ended before all threads did.
    pub ended_early: bool,
    /// Unordered writes whose values are yet to be compared.
    pub pending: Vec<super::Obligation>,
    /// Findings that are defects if some input satisfies a condition.
    pub conditionals: Vec<super::Conditional>,
    /// The conditions of accesses under guards that depend on data.
    pub guarded: super::guarded::Guarded,
    /// What each warp did last.
    pub trails: super::trail::Trails,
    /// What fences and flags have published.
    pub fences: super::fences::Fences,
    /// Fences beside relaxed operations on mbarriers and barriers of the cluster.
    pub patterns: super::mbarrier::heads::Patterns,
    /// Operations on mbarriers that order less than they seem to, for messages.
    pub weak: super::mbarrier::hints::Weak,
    /// The same among CTAs that run together.
    pub strong: super::strong::Strong,
    /// Which lanes `activemask` names.
    pub(super) mode: Mode,
    /// How often something was done that other threads can see.
    pub effects: u64,
    /// That count at the end of the last turn, for how many turns it had not changed, and how many of them only waited.
    pub last_turn: (u64, u32, u32),
    /// How each instruction is executed.
    pub classes: Vec<super::plain::Class>,
    /// Bases of objects, and what numbers carry of them.
    pub prov: super::address::provenance::Provenances,
    /// Registers that ever carried a base.
    pub carriers: Vec<bool>,
    /// The variables of shared memory that were laid out again: from where, and to where.
    pub moved: Vec<(u64, u64)>,
    /// Instructions that name a variable or read such a register.
    pub watched: Vec<bool>,
    /// Pairs of values and places that are pending.
    pub compared: FxHashSet<(TermId, TermId, Pc, Pc)>,
    /// Instructions until the next look at the limits.
    pub budget: u32,
    /// True once a limit was reached within an instruction.
    pub late: bool,
    /// Accesses out of bounds.
    pub runaway: super::runaway::Runaway,
    /// Loads that are taken to be of no use.
    pub unused: super::unused::Unused,
    /// Serials of the values that they got.
    pub unused_serials: super::unused::Serials,
    /// Choices of a schedule that is not round robin.
    pub dice: Option<super::schedule::Dice>,
    /// Warp, lanes and instruction of each step, where that is noted.
    pub trace: Option<Vec<(u32, u32, Pc)>>,
    /// What was touched in arrays, where that is noted.
    pub footprint: super::Footprint,
    /// Which values the conditions took that a size can change.
    pub taken: super::taken::Taken,
    /// What was read where data choose.
    pub gathers: super::gather::Gathers,
    /// Sums of floats in memory, where floats are words.
    pub float_updates: rustc_hash::FxHashMap<(RegionId, u64), super::words::FloatSums>,
    /// Serial of the first fresh symbol.
    pub first_fresh: u32,
    /// What this run decides of conditions.
    pub ways: super::ways::Ways,
    global_regions: Vec<RegionId>,
}

/// Findings, grouped by kind and places.
#[derive(Debug, Default)]
pub(super) struct Found {
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
    pub(super) fn warned(
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
fn record_with<K: Copy + Ord>(
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

impl<'k> Machine<'k> {
    /// A machine with memory laid out and all threads at the first instruction; `None` if the
    /// block has more threads than a CTA can have.
    pub(super) fn new(
        inputs: &Inputs<'k>,
        program: Arc<Program>,
        tracked: &FxHashSet<ArrayId>,
    ) -> Option<Self> {
        let Inputs {
            kernel,
            launch,
            mode,
            bindings,
            arrays,
            side,
            limits,
        } = *inputs;
        let ctas = launch.team(mode.together);
        let shape = super::clock::Shape::several(launch.threads(), ctas.len() as u32)?;
        let team = super::cluster::Team::new(ctas, shape, launch.cluster_ctas());
        let mut values = values(inputs);
        let mut regions = regions(inputs);
        let given = given(bindings, &mut regions);
        let global_regions: Vec<RegionId> = (0..kernel.globals.len())
            .map(|g| region_of(bindings.globals[g]))
            .collect();
        let mut prov = super::address::layout::bases(kernel, launch, arrays, &global_regions);
        prov.ranks = team.many();
        let param = &mut regions[PARAM.0 as usize];
        for f in &bindings.fields {
            put_field(f, param, (&mut values, &mut prov), &given);
        }
        put_globals(kernel, &global_regions, &mut regions, &mut prov);
        super::address::layout::preset_pointers(arrays, &mut regions, &mut prov);
        regions.iter_mut().for_each(|r| r.take_over(&mut values));
        let before = bindings.left.as_ref().map_or(0, |left| left.fresh);
        let first_fresh = first_fresh(side, mode.words()) + before;
        let n_warps = shape.warps();
        let warps = (0..n_warps)
            .map(|w| {
                let lanes = shape.members(w).count_ones();
                Warp::new(kernel.reg_width.len(), lanes, w * LANES as u32)
            })
            .collect();
        let mut machine = Machine {
            fences: super::fences::Fences::new(kernel),
            patterns: super::mbarrier::heads::Patterns::new(kernel),
            weak: Default::default(),
            strong: Default::default(),
            mode,
            effects: 0,
            last_turn: (0, 0, 0),
            trails: super::trail::Trails::new(program.kinds.clone(), n_warps as usize),
            classes: program.classes.clone(),
            prov,
            moved: Vec::new(),
            carriers: vec![false; kernel.reg_width.len()],
            watched: program.watched.clone(),
            kernel,
            launch,
            arrays,
            bindings,
            limits,
            order: super::order::Order::new(
                kernel,
                shape,
                regions.len(),
                launch.warp_sync,
                tracked,
            ),
            copies: (0..n_warps).map(|_| Default::default()).collect(),
            bulk: (0..n_warps).map(|_| Default::default()).collect(),
            maps: Default::default(),
            products: super::wgmma::Products::new(kernel, n_warps as usize),
            tensor: super::tensor_memory::TensorMemory::new(kernel, team.len()),
            fragments: super::wmma::Fragments::new(n_warps as usize),
            objects: Default::default(),
            barriers: (0..team.len() as u32)
                .map(super::barrier::Barriers::of)
                .collect(),
            cluster_barriers: super::cluster::barriers(&team, n_warps as usize),
            inits: super::cluster::inits::Inits::new(kernel),
            lifetimes: super::cluster::Lifetimes::new(n_warps as usize),
            requests: super::cluster::Requests::default(),
            team,
            dependents: Default::default(),
            votes: Vec::new(),
            meetings: (0..n_warps).map(|_| Default::default()).collect(),
            values,
            regions,
            warps,
            found: Found::default(),
            stats: Stats::default(),
            executed: vec![0; kernel.insts.len()],
            budget: 1,
            late: false,
            runaway: super::runaway::Runaway::default(),
            unused: Default::default(),
            unused_serials: Default::default(),
            dice: None,
            trace: None,
            footprint: super::Footprint::default(),
            taken: super::taken::Taken::new(kernel),
            gathers: Default::default(),
            float_updates: Default::default(),
            fresh: first_fresh,
            first_fresh,
            ways: Default::default(),
            branch_regions: Default::default(),
            unset_sites: BTreeMap::new(),
            poisons: Default::default(),
            fresh_sites: BTreeMap::new(),
            doubts: Default::default(),
            ended_early: false,
            pending: Vec::new(),
            conditionals: Vec::new(),
            guarded: super::guarded::Guarded::default(),
            compared: FxHashSet::default(),
            global_regions,
            program,
        };
        machine.dependents = super::dependents::Dependents::new(kernel, &mut machine.order.clocks);
        machine.take_maps();
        for f in &bindings.fields {
            if let Value::Map(a, i) = f.value
                && let Some(decl) = bindings.maps.get(i as usize)
            {
                let mut map = super::tensor_box::TensorMap::of_host(decl, base(region_of(a)));
                map.carried = machine.prov.of_array(region_of(a));
                machine.put_map(PARAM, u64::from(f.offset), map);
            }
        }
        Some(machine)
    }

    /// The instruction at a pc.
    #[inline]
    pub(super) fn inst(&self, pc: Pc) -> &'k Inst {
        &self.kernel.insts[pc.0 as usize]
    }

    /// The value of a source operand in a lane.
    #[inline]
    pub(super) fn src(&self, w: usize, s: Src, lane: usize) -> Val {
        match s {
            Src::Reg(r) => self.warps[w].get(r, lane),
            Src::Imm(v) => Val::Conc(v),
            Src::Global(g, off) => {
                Val::Conc(base(self.global_regions[g.0 as usize]).wrapping_add_signed(off))
            }
            Src::Var(space, at, plus) => {
                let own = match space {
                    Space::Shared | Space::SharedCluster => self.team.own_rank_bits(w),
                    _ => 0,
                };
                let at = match space {
                    Space::Shared | Space::SharedCluster => self.moved_to(at.into()),
                    _ => at.into(),
                };
                Val::Conc(at.wrapping_add_signed(plus).wrapping_add(own))
            }
        }
    }

    /// Lanes of `mask` in which a source is symbolic.
    #[inline]
    pub(super) fn symbolic(&self, w: usize, s: Src) -> u32 {
        match s {
            Src::Reg(r) => self.warps[w].symbolic(r),
            _ => 0,
        }
    }

    /// The lane words of a source that is plain bits in every lane that matters.
    #[inline]
    pub(super) fn words(&self, w: usize, s: Src) -> [u64; LANES] {
        match s {
            Src::Reg(r) => *self.warps[w].words(r),
            Src::Imm(v) => [v; LANES],
            Src::Global(..) | Src::Var(..) => match self.src(w, s, 0) {
                Val::Conc(v) => [v; LANES],
                _ => [0; LANES],
            },
        }
    }

    /// Width of a register in bits.
    #[inline]
    pub(super) fn width(&self, r: RegId) -> u8 {
        self.kernel.reg_width[r.0 as usize]
    }

    /// Writes a lane of a register; plain bits are cut to its width.
    #[inline]
    pub(super) fn set(&mut self, w: usize, r: RegId, lane: usize, v: Val) {
        let v = match v {
            Val::Conc(b) => Val::Conc(b & (u64::MAX >> (64 - self.width(r) as u32))),
            _ => v,
        };
        self.warps[w].set(r, lane, v);
    }

    /// Threads of the lanes of a warp.
    pub(super) fn tids(&self, w: usize, mask: u32) -> Vec<Tid> {
        lanes(mask)
            .map(|l| Tid(self.warps[w].first + l as u32))
            .collect()
    }

    /// The line of an instruction in its file.
    pub(super) fn line(&self, pc: Pc) -> u32 {
        crate::answer::Site::new(&self.kernel.source, self.kernel.span(pc), "").line
    }

    /// A site of lanes of a warp.
    pub(super) fn site(&self, pc: Pc, w: usize, mask: u32, text: impl Into<String>) -> Site {
        Site::new(pc, self.tids(w, mask), text)
    }

    /// True if no defect was found so far.
    pub(super) fn is_fine(&self) -> bool {
        self.found.defects.is_empty() && self.order.finds_nothing()
    }

    /// Records a defect that is seen when its threads are at its sites.
    pub(super) fn defect(
        &mut self,
        kind: DefectKind,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        let (trails, now) = (&self.trails, self.stats.warp_instructions);
        let found = &mut self.found.defects;
        record_with(found, kind, 1, sites, message, |s| trails.before(s, now));
    }

    /// Records a defect that happened several times.
    pub(super) fn defect_counted(
        &mut self,
        kind: DefectKind,
        count: u64,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        record(&mut self.found.defects, kind, count, sites, message);
    }

    /// Records a warning.
    pub(super) fn warn(
        &mut self,
        kind: WarningKind,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        record(&mut self.found.warnings, kind, 1, sites, message);
    }

    /// Records a reason of `unknown`.
    pub(super) fn unknown(
        &mut self,
        kind: UnknownKind,
        sites: Vec<Site>,
        message: impl FnOnce() -> String,
    ) {
        record(&mut self.found.unknowns, kind, 1, sites, message);
    }

    /// A symbol that nothing else equals, and the reason recorded for when it matters.
    pub(super) fn fresh_bits(&mut self, width: u8) -> TermId {
        let serial = self.fresh;
        self.fresh += 1;
        self.values.store.fresh(width, serial)
    }

    /// Whether rounding turns the answer of a test over.
    pub(super) fn flip(&mut self, question: Question) -> TermId {
        if self.values.store.facts.reals_decide {
            return self.values.store.bool(false);
        }
        let serial = self.fresh;
        self.fresh += 1;
        self.values.store.flip(serial, question)
    }

    /// A symbol whose value depends on the schedule or the machine.
    pub(super) fn volatile_bits(&mut self, width: u8, site: Site) -> TermId {
        self.fresh_sites.insert(self.fresh, site);
        self.fresh_bits(width)
    }

    /// The region of a variable.
    pub(super) fn global_region(&self, g: crate::kernel::GlobalId) -> RegionId {
        self.global_regions[g.0 as usize]
    }

    /// The region of an array.
    pub(super) fn region_of(&self, a: ArrayId) -> RegionId {
        region_of(a)
    }

    /// An element of shared memory as text, with its CTA where several run.
    fn shared_place(&self, off: u64, bytes: u32) -> String {
        if self.team.many() {
            let (slot, own) = super::cluster::split(off as i64);
            let name = self.own_place(own as u64, bytes);
            return match self.team.index(slot) {
                Some(cta) => format!("{name} of CTA {}", crate::spec::launch::show(cta)),
                None => name,
            };
        }
        self.own_place(off, bytes)
    }

    /// An element of the shared memory of a CTA as text.
    fn own_place(&self, off: u64, bytes: u32) -> String {
        let off = self.unmoved(off);
        let dynamic = self.kernel.dynamic_shared.map(u64::from);
        let var = self
            .kernel
            .shared
            .iter()
            .rev()
            .find(|v| v.offset as u64 <= off && off < (v.offset + v.bytes.max(1)) as u64)
            .or_else(|| {
                self.kernel
                    .shared
                    .iter()
                    .rev()
                    .find(|v| v.bytes == 0 && v.offset as u64 <= off)
            })
            .or_else(|| {
                let mut shared = self.kernel.shared.iter().rev();
                shared.find(|v| v.offset as u64 <= off && dynamic.is_none_or(|d| off < d))
            });
        match var {
            Some(v) => {
                let e = if v.elem > 1 { v.elem } else { bytes.max(1) } as u64;
                element(&v.name, off - v.offset as u64, e)
            }
            None => format!("shared memory at byte {off}"),
        }
    }

    /// An element of a region as text: `s[3]`, `a[2] (byte 8)`.
    pub(super) fn place(&self, r: RegionId, off: u64, bytes: u32) -> String {
        let region = &self.regions[r.0 as usize];
        match region.kind {
            RegionKind::Shared => self.shared_place(off, bytes),
            RegionKind::Local => {
                let n = self.kernel.local_bytes;
                let at = off % super::place::local_stride(n);
                format!("local memory at byte {at} of {n}")
            }
            RegionKind::Param => format!("parameter space at byte {off}"),
            RegionKind::Array(a) => {
                let info = &self.arrays[a];
                let e = info.elem.map_or(bytes.max(1) as u64, |t| t.bytes());
                element(&info.name, off, e)
            }
        }
    }
}

/// Where the serials of the fresh symbols of a side start; the bit below is that of flips.
fn first_fresh(side: Side, words: Option<Numbered>) -> u32 {
    let run = words.and_then(|w| Some((w.run?, w.of.div_ceil(2).max(1))));
    match (run, side) {
        (Some((run, pairs)), _) => ((run % 2) << 31) | (run / 2 * ((1 << 30) / pairs)),
        (None, Side::Reference) => 0,
        (None, Side::Optimized) => 1 << 31,
    }
}

fn element(name: &str, off: u64, size: u64) -> String {
    if off.is_multiple_of(size) {
        format!("{name}[{}]", off / size)
    } else {
        format!("{name} at byte {off}")
    }
}
