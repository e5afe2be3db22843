//! The order of accesses: clocks, shadows of the regions, named barriers.
//!
//! A thin layer that turns what the clock, shadow and barrier machinery finds into findings of
//! the run. It also decides whose reads are tracked: an array that is only read needs no shadow,
//! so reads of an array are tracked only from the start of a run in which that array is known to
//! be written; the first run that writes an array after untracked reads of it is started again.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::AssumptionKind;
use crate::kernel::{AtomOp, Inst, Kernel, Op, Pc, Scope};
use crate::term::{ArrayId, TermId};

use super::attribution::{self, Held, Rows, View};
use super::by_value::ByValue;
use super::clock::{Clocks, Shape};
use super::machine::{Machine, RegionId, SHARED, Stop, region_of};
use super::proxy::Through;
use super::race::{self, By, Conflict, Kind, Party, Report, SameWrite};
use super::shadow::{Shadow, WarpAccess};
use super::warp::{LANES, lanes};
use super::{Conditional, DefectKind, Finding, Site, Tid, UnknownKind, WarningKind};

/// Who accessed what, and what happens before what.
pub(super) struct Order {
    /// Happens-before.
    pub clocks: Clocks,
    shadows: Vec<Option<Shadow>>,
    /// Findings and pairs of writes to compare.
    pub report: Report,
    tracked: Vec<bool>,
    read_untracked: Vec<bool>,
    warp_sync: bool,
    /// The agents of the lanes, while an asynchronous operation makes its accesses.
    pub agent: Option<super::clock::Actor>,
    /// Which operation makes its accesses.
    pub through: Through,
    /// Memory through the generic and the async proxy.
    pub proxies: super::proxy::Proxies,
    /// Words that `ld.global.nc` read, with one reader.
    nc_reads: FxHashMap<(RegionId, u64), (Pc, Tid)>,
    /// Words of tracked arrays that were written, with one writer.
    nc_writes: FxHashMap<(RegionId, u64), (Pc, Tid)>,
    nc_pairs: Vec<NcPair>,
    has_nc: bool,
    /// Under which attribution the accesses of a collective on matrices are made.
    pub view: View,
    /// Whether accesses are each lane's own.
    pub by: By,
    /// Shared memory under the other attribution.
    pub held: Option<Held>,
    /// Rows of matrices that were loaded and stored.
    pub rows: Rows,
    /// Racing loads of which the racing writes may be made.
    pub by_value: ByValue,
}

/// A word that is written and read through the non-coherent cache: writer, reader.
struct NcPair {
    region: RegionId,
    off: u64,
    write: (Pc, Tid),
    read: (Pc, Tid),
}

impl Order {
    /// Nothing has been accessed.
    pub(super) fn new(
        kernel: &Kernel,
        shape: Shape,
        regions: usize,
        warp_sync: bool,
        tracked: &FxHashSet<ArrayId>,
    ) -> Self {
        let has_nc = |i: &Inst| matches!(&i.op, Op::Ld { access, .. } if access.nc);
        let mut t = vec![false; regions];
        t[SHARED.0 as usize] = true;
        for a in tracked {
            t[region_of(*a).0 as usize] = true;
        }
        let layers = super::mbarrier::heads::layers(kernel, shape.ctas());
        let mut clocks = Clocks::with_layers(shape, layers);
        let proxies = super::proxy::Proxies::new(kernel);
        if proxies.follows_reads() {
            clocks.keep_apart();
        }
        Order {
            held: Held::new(kernel, &clocks),
            rows: Rows::new(kernel),
            by_value: ByValue::default(),
            clocks,
            shadows: (0..regions).map(|_| None).collect(),
            report: Report::default(),
            tracked: t,
            read_untracked: vec![false; regions],
            warp_sync,
            agent: None,
            through: Through::Thread,
            proxies,
            nc_reads: FxHashMap::default(),
            nc_writes: FxHashMap::default(),
            nc_pairs: Vec::new(),
            has_nc: kernel.insts.iter().any(has_nc),
            view: View::Both,
            by: By::Lanes,
        }
    }

    /// True if reads of a region are tracked.
    #[inline]
    pub(super) fn tracks(&self, r: RegionId) -> bool {
        self.tracked[r.0 as usize]
    }

    /// A region is about to be written; an error if reads of it went untracked.
    #[inline]
    pub(super) fn note_write(&mut self, r: RegionId) -> Result<(), ()> {
        if !self.tracked[r.0 as usize] {
            if self.read_untracked[r.0 as usize] {
                return Err(());
            }
            self.tracked[r.0 as usize] = true;
        }
        Ok(())
    }

    /// A region that is not tracked is read.
    #[inline]
    pub(super) fn note_untracked_read(&mut self, r: RegionId) {
        self.read_untracked[r.0 as usize] = true;
    }

    /// `bar.warp.sync` completed.
    pub(super) fn warp_sync(&mut self, w: usize, members: u32) {
        self.clocks.warp_sync(w as u32, members);
    }

    /// Lanes of a warp go to their next instruction together: with lock-step warps that orders
    /// them. Which side of a branch goes first, nothing says.
    pub(super) fn step(&mut self, w: usize, together: u32) {
        let live = self.clocks.live(w as u32);
        self.clocks.warp_sync(w as u32, live & together);
    }

    /// True if warps run in lock-step.
    #[inline]
    pub(super) fn in_lock_step(&self) -> bool {
        self.warp_sync
    }

    /// Does something with what was found, under each attribution.
    pub(super) fn each_report(&mut self, mut f: impl FnMut(&mut Report)) {
        f(&mut self.report);
        if let Some(held) = &mut self.held {
            f(&mut held.report);
        }
    }

    /// True if no pair of accesses was found wrong.
    pub(super) fn finds_nothing(&self) -> bool {
        let held = self.held.as_ref();
        self.report.is_empty() && held.is_none_or(|h| h.report.is_empty())
    }

    /// The lanes of a warp access one region; returns the unordered writes to compare.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        region: RegionId,
        w: usize,
        mask: u32,
        pc: Pc,
        offs: &[u64; LANES],
        elem: u32,
        count: u32,
        kind: Kind,
        conditional: bool,
        nc: bool,
    ) -> Vec<SameWrite> {
        if self.has_nc && region != SHARED {
            self.non_coherent(region, w, mask, pc, offs, elem * count, kind, nc);
        }
        if kind.writes() {
            let bytes = (elem * count) as u64;
            let by = (self.through, self.agent, conditional);
            let who = (w, mask, pc);
            self.proxies
                .written(&self.clocks, region, who, (offs, bytes), by);
        }
        if !kind.writes() && self.agent.is_none() && self.proxies.follows_reads() {
            let place = (offs, u64::from(elem * count));
            self.proxies
                .read(&self.clocks, region, (w, mask, pc), place);
        }
        if self.report.full() || self.held.as_ref().is_some_and(|h| h.report.full()) {
            return Vec::new();
        }
        let Order {
            clocks,
            shadows,
            report,
            agent,
            held,
            ..
        } = self;
        let shadow = shadows[region.0 as usize]
            .get_or_insert_with(|| Shadow::new(race::RegionId(region.0), clocks));
        let access = WarpAccess {
            warp: w as u32,
            agent: *agent,
            mask,
            pc,
            offsets: offs,
            elem: elem as u8,
            count: count as u8,
            kind,
            conditional,
            by: self.by,
        };
        if self.view != View::Holder {
            shadow.access(clocks, &access, report);
        }
        let same = std::mem::take(&mut report.same);
        match held {
            Some(held) if region == SHARED && self.view != View::Giver => {
                held.access(clocks, &access, self.view, same)
            }
            _ => same,
        }
    }

    /// Updates of some bytes come before the write that follows, because its thread observed them.
    pub(super) fn forget_updates(&mut self, region: RegionId, off: u64, bytes: u64) {
        if let Some(shadow) = &mut self.shadows[region.0 as usize] {
            shadow.forget_updates(off, bytes);
        }
    }

    /// What `ld.global.nc` reads must not be written while the kernel runs, in any order.
    #[allow(clippy::too_many_arguments)]
    fn non_coherent(
        &mut self,
        region: RegionId,
        w: usize,
        mask: u32,
        pc: Pc,
        offs: &[u64; LANES],
        size: u32,
        kind: Kind,
        nc: bool,
    ) {
        if !nc && !kind.writes() {
            return;
        }
        for lane in lanes(mask) {
            let me = (pc, Tid((w * LANES + lane) as u32));
            for word in offs[lane] / 4..(offs[lane] + size as u64).div_ceil(4) {
                let key = (region, word);
                let (mine, theirs) = if nc {
                    (&mut self.nc_reads, &self.nc_writes)
                } else {
                    (&mut self.nc_writes, &self.nc_reads)
                };
                mine.entry(key).or_insert(me);
                if let Some(&other) = theirs.get(&key) {
                    let (write, read) = if nc { (other, me) } else { (me, other) };
                    if !self
                        .nc_pairs
                        .iter()
                        .any(|p| p.region == region && p.write.0 == write.0 && p.read.0 == read.0)
                    {
                        self.nc_pairs.push(NcPair {
                            region,
                            off: word * 4,
                            write,
                            read,
                        });
                    }
                }
            }
        }
    }
}

impl Machine<'_> {
    fn party_site(&self, r: RegionId, off: u64, p: &Party, bytes: u32) -> Site {
        let place = self.place(r, off, bytes);
        let verb = match p.kind {
            _ if p.agent && p.kind.writes() => "starts an asynchronous copy to",
            _ if p.agent => "starts an asynchronous copy from",
            Kind::Read | Kind::StrongRead => "reads",
            Kind::Write | Kind::StrongWrite => "writes",
            Kind::Atomic { .. } => "updates",
        };
        Site::new(p.pc, vec![p.thread], format!("{verb} {place}"))
    }

    /// Adds a pair of accesses to the findings of the run.
    pub(super) fn add_race(&mut self, c: Conflict, s: &SameWrite) {
        let region = race::RegionId(s.region.0);
        let Order { report, held, .. } = &mut self.order;
        if s.view != View::Holder {
            report.add(c, region, s.offset, s.earlier, s.later);
        }
        if s.view != View::Giver
            && s.region.0 == SHARED.0
            && let Some(held) = held
        {
            let report = &mut held.report;
            report.add(c, region, s.offset, s.earlier, s.later);
        }
    }

    /// Turns what the shadows found into findings.
    pub(super) fn collect_races(&mut self) {
        // The last step of a run that stopped.
        self.trails.keep(self.order.report.findings());
        self.keep_conditions();
        self.report_strong();
        let held = self.order.held.as_ref().map(|h| &h.report);
        let found = attribution::settle(&self.order.report, held);
        if self.order.report.same_lane {
            let assumption = AssumptionKind::Machine.says(attribution::SAME_LANE);
            self.found.assumptions.insert(assumption);
        }
        for f in found {
            let r = RegionId(f.region.0);
            let bytes = self.access_bytes(f.later.pc);
            let mut sites = vec![
                self.party_site(r, f.offset, &f.earlier, self.access_bytes(f.earlier.pc)),
                self.party_site(r, f.offset, &f.later, bytes),
            ];
            self.trails.attach(&f, &mut sites);
            let place = self.place(r, f.offset, bytes);
            let (a, b) = (f.earlier.thread.0, f.later.thread.0);
            let what = format!(
                "{} of {place} by thread {} and {} by thread {}",
                f.earlier.kind.name(),
                self.team.name(a),
                f.later.kind.name(),
                self.team.name(b)
            );
            let count = f.count;
            let strong = self.is_followed(&f);
            match self.weakened(&f) {
                // Looked at word by word.
                Some(Conflict::Strong | Conflict::ByExit) if strong && self.strong.on => {}
                None => {
                    self.unknown(UnknownKind::Undecided, sites, || {
                        format!("{what}: whether anything but the exchange that checks it again depends on what is read is not known")
                    });
                }
                Some(Conflict::Race) if self.strong.coarse => {
                    self.unknown(UnknownKind::Undecided, sites, || {
                        format!("{what}: too many fences to follow what they order")
                    });
                }
                Some(Conflict::Race) => {
                    let apart = match f.earlier.loose {
                        _ if let Some(hint) =
                            self.hint_of_patterns((r, f.offset), a, b, &mut sites) =>
                        {
                            hint
                        }
                        Some((who, started)) => self.missing_wait(&f, who, started),
                        None if f.later.agent => {
                            "a barrier between them, before the asynchronous operation, is missing"
                                .into()
                        }
                        None => self.synchronisation_hint(r, a, b).into(),
                    };
                    self.defect_counted(DefectKind::DataRace, count, sites, || {
                        format!("{what}: nothing orders them; {apart}")
                    });
                }
                Some(Conflict::Conditional) => {
                    let conds = self.guarded.of(&f);
                    self.conditional_race(&f, what, sites, conds);
                }
                Some(Conflict::ByExit) => {
                    self.unknown(UnknownKind::Undecided, sites, || {
                        format!("{what}: only the exit of a thread orders them")
                    });
                }
                Some(Conflict::Layout) => {
                    let hint = self.synchronisation_hint(r, a, b);
                    self.unknown(UnknownKind::UnspecifiedLayout, sites, || {
                        format!(
                            "{what}, if these lanes make the accesses: which lane of a warp accesses an \
                             element of a matrix, the manual leaves open; {hint} order them"
                        )
                    });
                }
                Some(Conflict::DefaultScope) => {
                    let hint = self.hint_of_patterns((r, f.offset), a, b, &mut sites);
                    let hint = hint.unwrap_or_else(|| {
                        "an arrival or a wait between them has no scope, which is .cta: .release.cluster and \
                         .acquire.cluster are missing"
                            .into()
                    });
                    self.warn(WarningKind::DefaultScope, sites, || {
                        format!("{what}: only the devices that exist order them; {hint}")
                    });
                }
                Some(Conflict::Strong) => {
                    self.unknown(UnknownKind::NondeterministicValue, sites, || {
                        format!("{what}: their order depends on the schedule")
                    });
                }
            }
        }
        self.further_examples();
        for pair in std::mem::take(&mut self.order.nc_pairs) {
            let NcPair {
                region: r,
                off,
                write,
                read,
            } = pair;
            let place = self.place(r, off, 4);
            let sites = vec![
                Site::new(write.0, vec![write.1], format!("writes {place}")),
                Site::new(
                    read.0,
                    vec![read.1],
                    format!("reads {place} through the non-coherent cache"),
                ),
            ];
            self.defect(DefectKind::DataRace, sites, || {
                format!(
                    "ld.global.nc reads {place}, which the kernel writes: no barrier orders that"
                )
            });
        }
    }

    /// Pairs at other places by instructions of which a pair was found.
    fn further_examples(&mut self) {
        let report = &self.order.report;
        let of = |f: &race::Finding| (f.earlier.pc, f.later.pc, f.offset);
        let named: FxHashSet<_> = report.findings().map(of).collect();
        for (f, conds) in self.guarded.take_more() {
            if named.contains(&of(&f)) || self.weakened(&f) != Some(Conflict::Conditional) {
                continue;
            }
            let r = RegionId(f.region.0);
            let bytes = self.access_bytes(f.later.pc);
            let sites = vec![
                self.party_site(r, f.offset, &f.earlier, self.access_bytes(f.earlier.pc)),
                self.party_site(r, f.offset, &f.later, bytes),
            ];
            let place = self.place(r, f.offset, bytes);
            let (a, b) = (f.earlier.thread.0, f.later.thread.0);
            let what = format!(
                "{} of {place} by thread {} and {} by thread {}",
                f.earlier.kind.name(),
                self.team.name(a),
                f.later.kind.name(),
                self.team.name(b)
            );
            self.conditional_race(&f, what, sites, Some(conds));
        }
    }

    /// What a pair is beside the rule for plain accesses: strong ones, which volatile ones are too, race with no
    /// strong one of the same width. `None` for the read of a value that the other side checks again.
    pub(super) fn weakened(&self, f: &race::Finding) -> Option<Conflict> {
        let (a, b) = (&f.earlier, &f.later);
        let narrow = |p: &race::Party| !p.agent && self.kernel.scope(p.pc) == Some(Scope::Cta);
        let apart = || {
            let ctas = [a, b].map(|p| self.team.split_tid(p.thread).0);
            ctas[0] != ctas[1]
        };
        if f.conflict == Conflict::Strong && (narrow(a) || narrow(b)) && apart() {
            return Some(Conflict::Race);
        }
        let plain = matches!(f.conflict, Conflict::Race | Conflict::Conditional);
        if !plain || a.agent || b.agent {
            return Some(f.conflict);
        }
        let strong = |p: &race::Party| self.kernel.is_strong(p.pc);
        let wide = !(narrow(a) || narrow(b)) || !apart();
        if wide && strong(a) && strong(b) && self.access_bytes(a.pc) == self.access_bytes(b.pc) {
            return Some(Conflict::Strong);
        }
        let expects = |read: &race::Party, other: &race::Party| {
            let swap = matches!(
                other.kind,
                race::Kind::Atomic {
                    op: AtomOp::Cas,
                    ..
                }
            );
            swap && read.kind == race::Kind::Read
                && crate::kernel::rechecked::rechecked(self.kernel).contains(&read.pc)
        };
        match expects(a, b) || expects(b, a) {
            true => None,
            false => Some(f.conflict),
        }
    }

    /// A pair that is a race if some input makes both accesses happen.
    fn conditional_race(
        &mut self,
        f: &race::Finding,
        what: String,
        sites: Vec<Site>,
        conds: Option<(TermId, TermId)>,
    ) {
        let open = format!("{what}: nothing orders them, if input data makes both happen");
        let Some((a, b)) = conds else {
            return self.unknown(UnknownKind::Undecided, sites, || open);
        };
        let r = RegionId(f.region.0);
        let hint = self.synchronisation_hint(r, f.earlier.thread.0, f.later.thread.0);
        self.conditionals.push(Conditional {
            cond: self.values.store.and(a, b),
            values: Vec::new(),
            defect: Finding::new(
                DefectKind::DataRace,
                format!("{what}: nothing orders them; {hint}"),
            )
            .times(f.count)
            .at(sites.clone()),
            open: Finding::new(UnknownKind::Undecided, open)
                .times(f.count)
                .at(sites),
        });
    }

    /// What should have ended an agent before a later access: its issuer's wait, or a barrier
    /// after that.
    fn missing_wait(&self, f: &race::Finding, who: super::clock::Actor, started: bool) -> String {
        use crate::kernel::AsyncOp;
        let wait = match &self.inst(f.earlier.pc).op {
            Op::Async(op) if matches!(**op, AsyncOp::Wgmma(_)) => "wgmma.wait_group",
            Op::Async(op) if matches!(**op, AsyncOp::Bulk(_)) => {
                "cp.async.bulk.wait_group, or a wait on an mbarrier that counts its bytes,"
            }
            Op::Async(op) if matches!(**op, AsyncOp::Cluster(_)) => {
                "a wait on the mbarrier that counts its bytes"
            }
            Op::Async(_) => "tcgen05.commit on an mbarrier, and a wait for that,",
            _ => "cp.async.wait_group, or a wait on an mbarrier,",
        };
        let issuer = self.team.name(f.earlier.thread.0);
        let own = f.later.thread == f.earlier.thread;
        let (missing, ended) = (started || own, self.order.clocks.observed(who));
        match (missing, ended) {
            (true, true) if own => format!(
                "{wait} of thread {issuer} comes too late or leaves too many groups under way"
            ),
            (true, true) => format!(
                "{wait} of thread {issuer} comes too late for the barrier before the second, or a \
                 barrier after it is missing"
            ),
            (true, false) => format!("{wait} of thread {issuer} is missing before the second"),
            (false, true) => {
                format!("a barrier between the wait of thread {issuer} and the second is missing")
            }
            (false, false) => {
                format!("{wait} of thread {issuer}, and a barrier after it, are missing")
            }
        }
    }

    pub(super) fn access_bytes(&self, pc: Pc) -> u32 {
        match &self.inst(pc).op {
            Op::Ld { access, .. } | Op::St { access, .. } | Op::Atom { access, .. } => {
                access.ty.bits() / 8
            }
            _ => 4,
        }
    }

    fn synchronisation_hint(&self, r: RegionId, a: u32, b: u32) -> &'static str {
        let same_warp = a / LANES as u32 == b / LANES as u32;
        let ctas = [a, b].map(|t| self.team.split_tid(Tid(t)).0);
        if ctas[0] != ctas[1] {
            return match self.launch.cluster_ctas() > 1 {
                true => "a barrier of the cluster between them would",
                false => "fences and a flag between the CTAs would",
            };
        }
        match (same_warp, r == SHARED) {
            (true, _) => "bar.warp.sync or a barrier between them would",
            (false, _) => "a barrier between them would",
        }
    }

    /// Lanes end: their clocks stop.
    pub(super) fn exit_clock(&mut self, w: usize, mask: u32) {
        self.order.clocks.exit(w as u32, mask);
    }

    /// True when the clocks are used up.
    pub(super) fn clocks_exhausted(&mut self) -> Result<(), Stop> {
        if !self.order.clocks.exhausted() {
            return Ok(());
        }
        self.unknown(UnknownKind::Limit, Vec::new(), || {
            "the kernel synchronises more often than the clocks can count".into()
        });
        Err(Stop::Finding)
    }
}
