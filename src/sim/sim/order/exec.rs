//! Accesses of the machine, as they are ordered.

use rustc_hash::FxHashSet;

use crate::answer::AssumptionKind;
use crate::kernel::{AtomOp, Op, Pc, Scope};
use crate::sim::attribution;
use crate::sim::machine::{Core, Machine, Synchronisation};
use crate::sim::order::NcPair;
use crate::sim::race::View;
use crate::sim::race::{self, AccessKind, Conflict, Party, SameWrite};
use crate::sim::region::{RegionId, SHARED};
use crate::sim::stop::Stop;
use crate::sim::warp::LANES;
use crate::sim::{Conditional, DefectKind, Finding, Site, Tid, UnknownKind, WarningKind};
use crate::term::TermId;

use super::Order;

impl Synchronisation {
    /// Adds a pair of accesses to the findings of the run.
    pub(in crate::sim) fn add_race(&mut self, c: Conflict, s: &SameWrite) {
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

    /// Lanes end: their clocks stop.
    pub(in crate::sim) fn exit_clock(&mut self, w: usize, mask: u32) {
        self.order.clocks.exit(w as u32, mask);
    }
}

impl Core<'_> {
    fn party_site(&self, r: RegionId, off: u64, p: &Party, bytes: u32) -> Site {
        let place = self.place(r, off, bytes);
        let verb = match p.kind {
            _ if p.agent && p.kind.writes() => "starts an asynchronous copy to",
            _ if p.agent => "starts an asynchronous copy from",
            AccessKind::Read | AccessKind::StrongRead => "reads",
            AccessKind::Write | AccessKind::StrongWrite => "writes",
            AccessKind::Atomic { .. } => "updates",
        };
        Site::new(p.pc, vec![p.thread], format!("{verb} {place}"))
    }

    /// A pair in words, and the places of both sides.
    fn told(&self, f: &race::Finding) -> (String, Vec<Site>) {
        let r = RegionId(f.region.0);
        let [earlier, later] = [&f.earlier, &f.later];
        let [first, bytes] = [earlier, later].map(|p| self.access_bytes(p.pc));
        let sites = vec![
            self.party_site(r, f.offset, earlier, first),
            self.party_site(r, f.offset, later, bytes),
        ];
        let place = self.place(r, f.offset, bytes);
        let what = format!(
            "{} of {place} by thread {} and {} by thread {}",
            earlier.kind.name(),
            self.fixed.team.name(earlier.thread.0),
            later.kind.name(),
            self.fixed.team.name(later.thread.0)
        );
        (what, sites)
    }

    /// What a pair is beside the rule for plain accesses: strong ones, which volatile ones are too, race with no
    /// strong one of the same width. `None` for the read of a value that the other side checks again.
    pub(in crate::sim) fn weakened(&self, f: &race::Finding) -> Option<Conflict> {
        let (a, b) = (&f.earlier, &f.later);
        let narrow =
            |p: &race::Party| !p.agent && self.fixed.kernel.scope(p.pc) == Some(Scope::Cta);
        let apart = || {
            let ctas = [a, b].map(|p| self.fixed.team.split_tid(p.thread).0);
            ctas[0] != ctas[1]
        };
        if f.conflict == Conflict::Strong && (narrow(a) || narrow(b)) && apart() {
            return Some(Conflict::Race);
        }
        let plain = matches!(f.conflict, Conflict::Race | Conflict::Conditional);
        if !plain || a.agent || b.agent {
            return Some(f.conflict);
        }
        let strong = |p: &race::Party| self.fixed.kernel.is_strong(p.pc);
        let wide = !(narrow(a) || narrow(b)) || !apart();
        if wide && strong(a) && strong(b) && self.access_bytes(a.pc) == self.access_bytes(b.pc) {
            return Some(Conflict::Strong);
        }
        let expects = |read: &race::Party, other: &race::Party| {
            let swap = matches!(
                other.kind,
                race::AccessKind::Atomic {
                    op: AtomOp::Cas,
                    ..
                }
            );
            swap && read.kind == race::AccessKind::Read
                && crate::kernel::rechecked::rechecked(self.fixed.kernel).contains(&read.pc)
        };
        match expects(a, b) || expects(b, a) {
            true => None,
            false => Some(f.conflict),
        }
    }

    pub(in crate::sim) fn access_bytes(&self, pc: Pc) -> u32 {
        match &self.inst(pc).op {
            Op::Ld { access, .. } | Op::St { access, .. } | Op::Atom { access, .. } => {
                access.ty.bits() / 8
            }
            _ => 4,
        }
    }

    fn synchronisation_hint(&self, r: RegionId, a: u32, b: u32) -> &'static str {
        let same_warp = a / LANES as u32 == b / LANES as u32;
        let ctas = [a, b].map(|t| self.fixed.team.split_tid(Tid(t)).0);
        if ctas[0] != ctas[1] {
            return match self.fixed.launch.cluster_ctas() > 1 {
                true => "a barrier of the cluster between them would",
                false => "fences and a flag between the CTAs would",
            };
        }
        match (same_warp, r == SHARED) {
            (true, _) => "bar.warp.sync or a barrier between them would",
            (false, _) => "a barrier between them would",
        }
    }

    /// A word that is read through the non-coherent cache is written.
    fn report_nc(
        &mut self,
        NcPair {
            region,
            off,
            write,
            read,
        }: NcPair,
    ) {
        let place = self.place(region, off, 4);
        let sites = vec![
            Site::new(write.0, vec![write.1], format!("writes {place}")),
            Site::new(
                read.0,
                vec![read.1],
                format!("reads {place} through the non-coherent cache"),
            ),
        ];
        self.defect(DefectKind::DataRace, sites, || {
            format!("ld.global.nc reads {place}, which the kernel writes: no barrier orders that")
        });
    }
}

impl Machine<'_> {
    /// Turns what the shadows found into findings.
    pub(in crate::sim) fn collect_races(&mut self) {
        // The last step of a run that stopped.
        self.core
            .threads
            .trails
            .keep(self.sync.order.report.findings());
        self.keep_conditions();
        self.report_strong();
        let held = self.sync.order.held.as_ref().map(|h| &h.report);
        let found = attribution::settle(&self.sync.order.report, held);
        if self.sync.order.report.same_lane {
            let assumption = AssumptionKind::Machine.says(attribution::SAME_LANE);
            self.core.found.assumptions.insert(assumption);
        }
        for f in found {
            self.report_race(&f);
        }
        self.further_examples();
        for pair in std::mem::take(&mut self.sync.order.nc_pairs) {
            self.core.report_nc(pair);
        }
    }

    /// Turns a pair of accesses that nothing orders into what is said of it.
    fn report_race(&mut self, f: &race::Finding) {
        let (what, mut sites) = self.core.told(f);
        let r = RegionId(f.region.0);
        let (a, b) = (f.earlier.thread.0, f.later.thread.0);
        self.core.threads.trails.attach(f, &mut sites);
        let count = f.count;
        let strong = self.is_followed(f);
        match self.core.weakened(f) {
            // Looked at word by word.
            Some(Conflict::Strong | Conflict::ByExit) if strong && self.sync.strong.on => {}
            None => {
                self.core.found.unknown(UnknownKind::Undecided, sites, || {
                    format!("{what}: whether anything but the exchange that checks it again depends on what is read is not known")
                });
            }
            Some(Conflict::Race) if self.sync.strong.coarse => {
                self.core.found.unknown(UnknownKind::Undecided, sites, || {
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
                    Some((who, started)) => self.missing_wait(f, who, started),
                    None if f.later.agent => {
                        "a barrier between them, before the asynchronous operation, is missing"
                            .into()
                    }
                    None => self.core.synchronisation_hint(r, a, b).into(),
                };
                self.core
                    .found
                    .defect_counted(DefectKind::DataRace, count, sites, || {
                        format!("{what}: nothing orders them; {apart}")
                    });
            }
            Some(Conflict::Conditional) => {
                let conds = self.conditions.guarded.of(f);
                self.conditional_race(f, what, sites, conds);
            }
            Some(Conflict::ByExit) => {
                self.core.found.unknown(UnknownKind::Undecided, sites, || {
                    format!("{what}: only the exit of a thread orders them")
                });
            }
            Some(Conflict::Layout) => {
                let hint = self.core.synchronisation_hint(r, a, b);
                self.core.found.unknown(UnknownKind::UnspecifiedLayout, sites, || {
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
                self.core.found.warn(WarningKind::DefaultScope, sites, || {
                    format!("{what}: only the devices that exist order them; {hint}")
                });
            }
            Some(Conflict::Strong) => {
                self.core
                    .found
                    .unknown(UnknownKind::NondeterministicValue, sites, || {
                        format!("{what}: their order depends on the schedule")
                    });
            }
        }
    }

    /// Pairs at other places by instructions of which a pair was found.
    fn further_examples(&mut self) {
        let report = &self.sync.order.report;
        let of = |f: &race::Finding| (f.earlier.pc, f.later.pc, f.offset);
        let named: FxHashSet<_> = report.findings().map(of).collect();
        for (f, conds) in self.conditions.guarded.take_more() {
            if named.contains(&of(&f)) || self.core.weakened(&f) != Some(Conflict::Conditional) {
                continue;
            }
            let (what, sites) = self.core.told(&f);
            self.conditional_race(&f, what, sites, Some(conds));
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
            return self
                .core
                .found
                .unknown(UnknownKind::Undecided, sites, || open);
        };
        let r = RegionId(f.region.0);
        let hint = self
            .core
            .synchronisation_hint(r, f.earlier.thread.0, f.later.thread.0);
        self.conditions.conditionals.push(Conditional {
            cond: self.core.values.store.and(a, b),
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
    fn missing_wait(
        &self,
        f: &race::Finding,
        who: crate::sim::clock::Actor,
        started: bool,
    ) -> String {
        use crate::kernel::AsyncOp;
        let wait = match &self.core.inst(f.earlier.pc).op {
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
        let issuer = self.core.fixed.team.name(f.earlier.thread.0);
        let own = f.later.thread == f.earlier.thread;
        let (missing, ended) = (started || own, self.sync.order.clocks.observed(who));
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

    /// True when the clocks are used up.
    pub(in crate::sim) fn clocks_exhausted(&mut self) -> Result<(), Stop> {
        if !self.sync.order.clocks.exhausted() {
            return Ok(());
        }
        self.core.found.unknown(UnknownKind::Limit, Vec::new(), || {
            "the kernel synchronises more often than the clocks can count".into()
        });
        Err(Stop::Finding)
    }
}
