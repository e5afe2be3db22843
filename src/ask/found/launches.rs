//! The launches of one side: how their findings become those of an answer.
//!
//! A kernel alone is one launch. Each finding names the launch that it is of, whose kernel its places are in.

use sha2::{Digest, Sha256};

use crate::answer::{
    self, Bound, DefectKind, Finding, KernelAnswer, Kind, Launched, Part, RunCounts, Site,
    UnknownKind, WarningKind,
};
use crate::grid::Covered;
use crate::grid::sequence::Ended;
use crate::input::Lowered;
use crate::kernel::{self, Kernel};
use crate::sim;
use crate::spec::launch::Selection;
use crate::spec::{KernelSpec, Launch, Resolved, Setup, Unbound};

use super::{Described, cause};

fn site(site: &sim::Site, ran: Ran) -> Site {
    let Ran { kernel, launch, .. } = ran;
    let mut out = Site::new(&kernel.source, kernel.span(site.pc), &site.text);
    out.threads = site.threads.iter().map(|t| launch.tid(t.0)).collect();
    out.cta = site.cta;
    out.launch = ran.spec.step;
    let step = |s: &sim::Step| {
        let start = kernel.span(s.pc).start;
        answer::Step {
            step: s.step,
            line: kernel.source.position(start).line,
            text: kernel.source.excerpt(start).into_owned(),
            barrier: s.barrier,
        }
    };
    out.around = site.around.iter().map(step).collect();
    out.source = kernel.source_line(site.pc);
    out
}

/// A launch that was run, for turning findings into those of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// What was asked for.
    pub spec: &'a KernelSpec,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its launch.
    pub launch: &'a Launch,
    /// What was bound, and what was not.
    pub resolved: &'a Resolved,
}

impl Ran<'_> {
    /// Its part in the command.
    pub fn part(self) -> Part {
        self.spec.which.part()
    }

    /// Says of every integer without a value that it needs one, where a run ended for want of one:
    /// beside those that `known` names. The hint of each is a flag that binds it to the number of threads, a value that
    /// most sizes may have.
    pub fn missing(self, known: &mut Vec<Finding<UnknownKind>>) {
        let kind = UnknownKind::MissingBinding;
        if !known.iter().any(|e| e.kind == kind) {
            return;
        }
        let extents = [self.launch.block, self.launch.grid].into_iter().flatten();
        let threads: u64 = extents.map(u64::from).product();
        let filled = |f: &mut Finding<UnknownKind>| {
            let flag = f.message.split_once("bind it with ");
            if let Some((flag, _)) = flag.and_then(|(_, rest)| rest.rsplit_once("=VALUE")) {
                f.hint = Some(format!("{flag}={}", threads.max(1)));
            }
        };
        let named = |flag: &str| {
            let flag = format!("with {flag}=VALUE");
            known
                .iter()
                .any(|e| e.kind == kind && e.message.contains(&flag))
        };
        let unbound = self.resolved.unbound.iter();
        let finding = |u: &Unbound| {
            let message = format!(
                "parameter {} can decide a branch or an address, and has no value: bind it with {}=VALUE",
                u.name, u.flag
            );
            let (source, span) = (&self.kernel.source, self.kernel.span(u.pc));
            let site = Site::new(source, span, "is read here");
            Finding::new(self.spec.which.part(), kind, message).at(vec![site])
        };
        let more: Vec<_> = unbound.filter(|u| !named(&u.flag)).map(finding).collect();
        known.extend(more);
        known.iter_mut().filter(|f| f.kind == kind).for_each(filled);
    }

    /// Says that an answer speaks of some CTAs of a grid only.
    pub fn partial(self, covered: &Covered) -> Option<Finding<WarningKind>> {
        let part = self.resolved.selection == Selection::Given && !covered.whole;
        part.then(|| {
            let message = format!(
                "{} of {} CTAs are looked at, since a flag names one: the others may do anything",
                covered.ctas.len(),
                self.launch.ctas()
            );
            Finding::new(self.spec.which.part(), WarningKind::PartialGrid, message)
        })
    }
}

/// The launches of a command.
pub(crate) fn ran<'a>(
    specs: &'a [KernelSpec],
    lowered: &'a [Lowered],
    setup: &'a Setup,
) -> Vec<Ran<'a>> {
    let all = specs.iter().zip(lowered).zip(&setup.kernels);
    let one = |((spec, lowered), resolved): ((&'a KernelSpec, &'a Lowered), &'a Resolved)| Ran {
        spec,
        kernel: &lowered.kernel,
        launch: &resolved.launch,
        resolved,
    };
    all.map(one).collect()
}

/// The part of launches in the command.
pub fn part(launches: &[Ran]) -> Part {
    launches
        .first()
        .map_or(Part::Kernel, |l| l.spec.which.part())
}

/// The launch that a finding is of.
fn launch<K>(f: &sim::Finding<K>) -> usize {
    f.sites.first().map_or(0, |s| s.launch as usize)
}

/// Defects of a side.
pub fn defects(launches: &[Ran], found: &[sim::Finding<DefectKind>]) -> Vec<Finding<DefectKind>> {
    let mut out = Vec::new();
    for (i, ran) in launches.iter().enumerate() {
        let own = found.iter().filter(|f| launch(f) == i).cloned();
        let own: Vec<sim::Finding<DefectKind>> = own.collect();
        let causes = cause::causes(ran.kernel, part(launches), &own);
        let mut own = findings(&launches[i..=i], &own, |k| k);
        for (f, cause) in own.iter_mut().zip(causes) {
            f.cause = match ran.spec.step {
                None => cause,
                Some(step) => cause.map(|c| format!("{c}-launch-{step}")),
            };
        }
        out.append(&mut own);
    }
    out
}

/// Warnings of a side.
pub fn warnings(
    launches: &[Ran],
    found: &[sim::Finding<sim::WarningKind>],
) -> Vec<Finding<WarningKind>> {
    findings(launches, found, sim::WarningKind::named)
}

/// What the runs of a side leave open.
pub fn unknowns(
    launches: &[Ran],
    found: &[sim::Finding<UnknownKind>],
) -> Vec<Finding<UnknownKind>> {
    findings(launches, found, |k| k)
}

fn findings<A: Copy, K: Kind>(
    launches: &[Ran],
    found: &[sim::Finding<A>],
    named: impl Fn(A) -> K,
) -> Vec<Finding<K>> {
    let finding = |f: &sim::Finding<A>| {
        let of = launches.get(launch(f)).or(launches.first());
        let sites = of.map_or(Vec::new(), |ran| {
            f.sites.iter().map(|s| site(s, *ran)).collect()
        });
        Finding {
            count: f.count,
            sites,
            ..Finding::new(part(launches), named(f.kind), f.message.as_str())
        }
    };
    found.iter().map(finding).collect()
}

/// What the report says about a side itself.
pub fn describe(launches: &[Ran], ended: &Ended) -> Described {
    let is_sequence = launches.iter().any(|l| l.spec.step.is_some());
    let mut out = Described {
        part: part(launches),
        is_sequence,
        kernels: Vec::new(),
        ctas: None,
        launched: Vec::new(),
        bound: Vec::new(),
        counts: RunCounts::default(),
        files: Vec::new(),
    };
    let none = Covered::default();
    for (i, ran) in launches.iter().enumerate() {
        let covered = ended.launches.get(i).unwrap_or(&none);
        let (source, stats) = (&ran.kernel.source, covered.outcome.stats);
        let digest = Sha256::digest(source.text.as_bytes());
        let digest = digest.iter().map(|b| format!("{b:02x}")).collect();
        out.files.push((source.name.clone(), digest));
        out.kernels.push(KernelAnswer {
            file: source.name.clone(),
            entry: ran.kernel.name.clone(),
            demangled: kernel::demangled(&ran.kernel.name),
            line: source.position(ran.kernel.name_span.start).line,
            block: ran.launch.block,
            grid: ran.launch.grid,
            dynamic_shared: ran.launch.dynamic_shared,
            whole_grid: covered.whole,
        });
        if !is_sequence {
            out.ctas = Some(covered.ctas.clone());
        }
        out.launched.push(ran.launched());
        let numbers = ran.resolved.numbers.iter();
        out.bound.push(numbers.map(Bound::from).collect());
        let c = &mut out.counts;
        c.thread_instructions += stats.thread_instructions;
        c.warp_instructions += stats.warp_instructions;
        c.barrier_arrivals += stats.barrier_arrivals;
        c.warp_syncs += stats.warp_syncs;
        c.accesses += stats.accesses;
        c.terms += covered.terms;
    }
    out
}

impl Ran<'_> {
    /// How it was launched.
    fn launched(self) -> Launched {
        let named = self.resolved.selection == Selection::Given;
        let alias = self.spec.alias.iter();
        Launched {
            cta: named.then_some(self.launch.cta),
            warp_sync: self.launch.warp_sync,
            args: self.spec.args.iter().map(|a| a.text.clone()).collect(),
            alias: alias.map(|(a, b)| format!("{a}={b}")).collect(),
        }
    }
}
