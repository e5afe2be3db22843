//! `volta race --any`: is the kernel free of races, deadlocks and memory errors in every launch?
//!
//! Problem: block, grid, integers and data that no flag binds take every value that the facts allow. Source: two
//! arbitrary threads stand for all of them (GPUVerify, OOPSLA 2012), control flow by predication ("A lock-step
//! semantics for GPU kernels", ESOP 2013); how this differs: addresses are compared over the integers in a mixed
//! radix, with obligations against wrap-around, before anything is blasted to bits.
//!
//! Two halves that share nothing but the question. [`launches`] runs small launches in the simulator: only what it
//! confirms is `defective`. [`proof`] reads the code once for an arbitrary thread and shows that no two threads
//! conflict: only when every obligation is discharged, and no launch was seen to break, the answer is `clean`. All else is
//! `unknown` with the obligations that are left.

use std::time::Instant;

use crate::answer::{
    Assumption, AssumptionKind, Command, DefectKind, Each, Failure, Finding, Launches, Part,
    Report, Scope, Subject, UnknownKind, Verdict, WarningKind, coverage,
};
use crate::found::findings::Moments;
use crate::input::{self, Files, Lowered};
use crate::kernel::{Op, ParamUse};
use crate::sim::NO_ARRAY;
use crate::spec::launch::MAX_THREADS;
use crate::spec::{self, KernelSpec, Layers, Limits, Settings, Which};
use crate::work;

mod addresses;
mod apart;
mod assumed;
mod barriers;
mod conditions;
mod conflicts;
mod copies;
pub mod decides;
mod differ;
mod execute;
mod expr;
mod facts;
mod flow;
mod gates;
mod given;
mod hints;
mod integers;
mod intervals;
mod invariants;
mod joined;
mod lanes;
mod launches;
mod limits;
mod linear;
mod loops;
mod meanings;
mod memory;
mod obligations;
mod proof;
mod prover;
mod radix;
mod renaming;
mod state;
mod threads;
mod unused;
mod walk;
mod words;
mod written;

use facts::{Names, Size, SizeFact};
use launches::{Concrete, FreeInt, Freedom};
use limits::{
    ALL_LAUNCHES, FILLED, FILLED_LAUNCHES, FIRST_LOOKS, MAX_FILLED, MAX_LAUNCHES_FILLED, MAX_TRIED,
    ONE_LAUNCH, PROOF, WRITTEN_LAUNCHES,
};
use prover::Proof;

/// Everything that is asked.
struct Question<'a> {
    /// What was said, without the facts about sizes.
    layers: Vec<Settings>,
    files: &'a Files,
    spec: KernelSpec,
    lowered: Lowered,
    freedom: Freedom,
    limits: Limits,
    /// The time in seconds and the work that the question may take.
    asked: (Option<f64>, Option<u64>),
    start: Instant,
}

/// What the launches that were run came to.
#[derive(Default)]
struct Tried {
    /// The launch that breaks, with its report.
    broken: Option<(Concrete, Report)>,
    /// What arrays hold in the launches that are run, by the key that binds each.
    filled: Vec<(String, String)>,
    /// What the launches that did not break found together.
    base: Option<Report>,
    /// Why the first launch that could not be run was refused.
    refused: Option<Failure>,
    count: usize,
    /// A launch was left out that breaks for want of an array alone.
    is_missing: bool,
}

impl Tried {
    /// Adds warnings of a launch whose other findings are not told.
    fn found(&mut self, mut warnings: Vec<Finding<WarningKind>>) {
        warnings.retain(|w| w.kind != WarningKind::ThinCoverage);
        if let Some(all) = &mut self.base {
            joined::findings(&mut all.warnings, warnings);
        }
    }
}

/// Looks at one kernel in every launch.
pub fn race(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let question = Question::new(layers, files)?;
    let mut all = question.freedom.launches();
    let mut tried = Tried::default();
    let mut is_empty = false;
    if all.is_empty() {
        let modelled = question.modelled()?;
        is_empty = modelled.is_empty();
        all = modelled;
        all.retain(|launch| question.is_small(launch));
        if all.is_empty() {
            tried.base = Some(question.begun()?);
        }
    }
    let (first, rest) = all.split_at(all.len().min(FIRST_LOOKS));
    question.run(first, ALL_LAUNCHES, &mut tried);
    if tried.is_missing && tried.base.is_none() {
        tried.base = Some(question.begun()?);
    }
    let mut proof = Proof::default();
    if tried.broken.is_none() && tried.base.is_some() {
        proof = question.prove()?;
        let guided = proof.candidates.iter().filter(|c| question.is_small(c));
        let guided: Vec<Concrete> = guided.cloned().collect();
        question.run(&guided, ALL_LAUNCHES, &mut tried);
        if !proof.holds {
            // Small ones first: a candidate may be large.
            let few = all.iter().take(MAX_LAUNCHES_FILLED).chain(&guided);
            let few: Vec<Concrete> = few.cloned().collect();
            question.run_filled(&few, &proof, &mut tried);
        }
        // A place that nothing wrote is looked for in launches where no proof speaks of it.
        let most = match (proof.holds, &proof.unwritten[..]) {
            (false, _) => Some(ALL_LAUNCHES),
            (true, []) => None,
            (true, _) => Some(WRITTEN_LAUNCHES),
        };
        if let (Some(most), None) = (most, &tried.broken) {
            question.run(rest, most, &mut tried);
        }
    }
    if let Some(all) = &mut tried.base {
        coverage::unite(&mut [all]);
    }
    // What launches alone tell, no launch told.
    let has_looked = tried.count > 0 || proof.unwritten.is_empty();
    let report = match (tried.broken, tried.base, tried.refused) {
        (Some((launch, mut report)), others, _) => {
            let others = others.map_or_else(Vec::new, |all| all.warnings);
            let others = others
                .into_iter()
                .filter(|w| w.kind != WarningKind::ThinCoverage);
            joined::findings(&mut report.warnings, others.collect());
            question.defective(&launch, &tried.filled, report)
        }
        (None, Some(base), _) if proof.holds && !is_empty && has_looked && !tried.is_missing => {
            question.clean(base, proof)
        }
        (None, Some(base), _) => {
            let mut open = proof.open;
            if tried.is_missing {
                open.splice(0..0, question.missing());
            }
            for memory in proof.unwritten.iter().filter(|_| !has_looked) {
                let message = format!(
                    "whether {memory} that a thread reads was written before is not known, and no launch is small enough to look"
                );
                open.push(Finding::new(Part::Kernel, UnknownKind::Undecided, message));
            }
            if is_empty {
                let message = "no launch was found that satisfies what --assume says";
                open.push(Finding::new(Part::Kernel, UnknownKind::Undecided, message));
            }
            question.undecided(base, open, tried.count)
        }
        (None, None, Some(failure)) => return Err(failure),
        (None, None, None) => return Err(question.contradiction()),
    };
    Ok(report)
}

impl<'a> Question<'a> {
    fn new(layers: Layers, files: &'a Files) -> Result<Question<'a>, Failure> {
        let start = Instant::now();
        let options = layers.options()?;
        let mut own: Vec<Settings> = layers.0.iter().map(|&s| s.clone()).collect();
        let said: Vec<Vec<String>> = own
            .iter_mut()
            .map(|s| std::mem::take(&mut s.assume))
            .collect();
        for s in &mut own {
            s.any = Some(false);
        }
        let borrowed: Vec<&Settings> = own.iter().collect();
        let bare = input::spec(Layers(&borrowed), Which::Kernel, files, None)?;
        let mut lowered = input::lower(files, &bare)?;
        let names = Names {
            kernel: &lowered.kernel,
            given: &bare.names,
        };
        let mut facts = Vec::new();
        for (settings, texts) in own.iter_mut().zip(said) {
            for text in texts {
                match SizeFact::parse(&text, &names)? {
                    Some(fact) => facts.push(fact),
                    None => settings.assume.push(text),
                }
            }
        }
        let borrowed: Vec<&Settings> = own.iter().collect();
        let spec = input::spec(Layers(&borrowed), Which::Kernel, files, None)?;
        if spec.assume.iter().any(|f| f.pure().is_some()) {
            lowered = input::lower(files, &spec)?;
        }
        let freedom = freedom(&lowered, &spec, facts)?;
        Ok(Question {
            layers: own,
            files,
            spec,
            lowered,
            freedom,
            limits: options.limits(start),
            asked: (options.timeout.map(|t| t.as_secs_f64()), options.budget),
            start,
        })
    }

    /// Runs launches until one breaks or `most` units of work are spent.
    fn run(&self, launches: &[Concrete], most: u64, tried: &mut Tried) {
        work::within(work::part(most), || self.run_until(launches, tried));
    }

    fn run_until(&self, launches: &[Concrete], tried: &mut Tried) {
        for launch in launches {
            // The first one is run whatever is left: its report is what others begin from.
            let begun = tried.base.is_some() || tried.refused.is_some();
            if begun && self.limits.reached().is_some() {
                return;
            }
            match self.run_one(launch, &tried.filled) {
                Ok(report) if breaks(&report, &tried.filled) => {
                    if self.asks_for_arrays(&report) {
                        tried.is_missing = true;
                        continue;
                    }
                    tried.count += 1;
                    tried.broken = Some((launch.clone(), report));
                    return;
                }
                // What such a launch does out of the bounds that were made up is not told, nor what follows from that.
                Ok(report) if !tried.filled.is_empty() && report.verdict != Verdict::Clean => {}
                Ok(mut report) => {
                    tried.count += usize::from(tried.filled.is_empty());
                    self.name_launch(launch, &tried.filled, &mut report);
                    match &mut tried.base {
                        Some(_) if !tried.filled.is_empty() => tried.found(report.warnings),
                        Some(all) => joined::join(all, report),
                        None => tried.base = Some(report),
                    }
                }
                Err(failure) => {
                    tried.refused.get_or_insert(failure);
                }
            }
        }
    }

    /// Whether a launch breaks for want of an array alone: an address is a number, and parameters may be addresses that the
    /// launch gave numbers.
    fn asks_for_arrays(&self, report: &Report) -> bool {
        let is_number = |d: &Finding<DefectKind>| d.message.contains(NO_ARRAY);
        self.wide().next().is_some() && report.defects.iter().all(is_number)
    }

    /// Parameters that are not bound and may be addresses.
    fn wide(&self) -> impl Iterator<Item = &FreeInt> {
        self.freedom.ints.iter().filter(|p| p.wide)
    }

    /// What to bind where parameters may be addresses.
    fn missing(&self) -> impl Iterator<Item = Finding<UnknownKind>> {
        self.wide().map(|p| {
            let message = format!(
                "{} reaches an address, and nothing says whether it is an array: bind it with --arg {key}=inout:f32[N], or with \
                 --arg {key}=VALUE if it is a number",
                p.name,
                key = p.key
            );
            Finding::new(Part::Kernel, UnknownKind::MissingBinding, message)
        })
    }

    /// Runs launches whose arrays of numbers hold simple ones, where data choose places and branches: what symbols leave
    /// open is then decided. Only a race counts, since how many elements an array has was not said.
    fn run_filled(&self, launches: &[Concrete], proof: &Proof, tried: &mut Tried) {
        if proof.numbers.is_empty() {
            return;
        }
        work::within(work::part(FILLED_LAUNCHES), || {
            self.run_filled_until(launches, proof, tried);
        });
        if tried.broken.is_none() {
            tried.filled.clear();
        }
    }

    fn run_filled_until(&self, launches: &[Concrete], proof: &Proof, tried: &mut Tried) {
        let all = launches.chunks(1).flat_map(|l| FILLED.map(|c| (l, c)));
        for (launch, contents) in all {
            if tried.broken.is_some() || work::is_over() {
                return;
            }
            let filled = proof.numbers.iter().map(|n| {
                // What the launch writes begins at zero, as counters do.
                let (role, contents) = match n.written {
                    true => ("inout", "0"),
                    false => ("in", contents),
                };
                let text = format!("{role}:u{}[{MAX_FILLED}]={contents}", n.bytes * 8);
                (n.key.clone(), text)
            });
            tried.filled = filled.collect();
            self.run_until(launch, tried);
        }
    }

    fn run_one(&self, launch: &Concrete, filled: &[(String, String)]) -> Result<Report, Failure> {
        let left = |end: Instant| end.saturating_duration_since(Instant::now()).as_secs_f64();
        let ints = self.freedom.ints.iter().zip(&launch.ints);
        let top = Settings {
            block: Some(spec::manifest::Triple(launch.block)),
            grid: Some(spec::manifest::Triple(launch.grid)),
            args: ints
                .map(|(p, v)| (p.key.clone(), v.to_string()))
                .chain(filled.iter().cloned())
                .map(|(key, text)| (key, spec::manifest::ArgText(text)))
                .collect(),
            any: Some(false),
            timeout: self.limits.deadline.map(left),
            budget: work::part(ONE_LAUNCH),
            ..Settings::default()
        };
        let mut all: Vec<&Settings> = self.layers.iter().collect();
        all.push(&top);
        let mut report = crate::race::race(Layers(&all), self.files)?;
        // The report shows what the question allows, not what one launch was given of it.
        let asked = &mut report.inputs.options;
        (asked.timeout, asked.budget) = self.asked;
        Ok(report)
    }

    /// What is shown of all launches.
    fn prove(&self) -> Result<Proof, Failure> {
        self.subject(|subject| work::within(work::part(PROOF), || proof::prove(subject)).0)
    }

    /// Asks about what a proof is about.
    fn subject<T>(&self, ask: impl FnOnce(&prover::Subject) -> T) -> Result<T, Failure> {
        let mut probe = self.spec.clone();
        probe.launch.block = Some(self.freedom.block.map(|v| v.unwrap_or(1)));
        let setup = spec::resolve(&[(&self.lowered.kernel, &probe)], &[])?;
        let strict = self.layers.iter().rev().find_map(|s| s.strict) == Some(true);
        let kernel = crate::kernel::promote::promoted(&self.lowered.kernel);
        let subject = prover::Subject {
            kernel: &kernel,
            resolved: &setup.kernels[0],
            arrays: &setup.arrays,
            freedom: &self.freedom,
            strict,
            limits: &self.limits,
        };
        Ok(ask(&subject))
    }

    /// Whether a launch can be run in a moment.
    fn is_small(&self, launch: &Concrete) -> bool {
        let count = |v: [u32; 3]| v.iter().map(|&n| u64::from(n)).product::<u64>();
        self.freedom.admits(launch)
            && count(launch.block).saturating_mul(count(launch.grid)) <= MAX_TRIED
    }

    fn clean(&self, base: Report, proof: Proof) -> Report {
        let mut report = self.open(base);
        report.verdict = Verdict::Clean;
        for memory in &proof.unwritten {
            let message = format!(
                "{memory} that a thread reads was written before; that was looked at in small launches alone"
            );
            report
                .assumptions
                .push(AssumptionKind::Written.says(message));
        }
        Assumption::unite(&mut report.assumptions, proof.assumed);
        joined::findings(&mut report.warnings, proof.warnings);
        self.finish(report)
    }

    /// Says of each warning which launch shows it.
    fn name_launch(&self, launch: &Concrete, filled: &[(String, String)], report: &mut Report) {
        for w in report.warnings.iter_mut().filter(|w| w.hint.is_none()) {
            let command = self.command(launch, filled);
            w.hint = Some(format!("this launch shows it: {command}"));
        }
    }

    /// The command that shows what one launch does.
    fn command(&self, launch: &Concrete, filled: &[(String, String)]) -> String {
        let mut out = format!("volta race {}", self.spec.file.display());
        if let Some(entry) = &self.spec.entry {
            out += &format!(" --entry {entry}");
        }
        out += &format!(
            " --block {} --grid {}",
            spec::launch::show(launch.block),
            spec::launch::show(launch.grid)
        );
        for arg in &self.spec.args {
            out += &format!(" --arg '{}'", arg.text);
        }
        for (p, v) in self.freedom.ints.iter().zip(&launch.ints) {
            out += &format!(" --arg {}={v}", p.key);
        }
        for (key, text) in filled {
            out += &format!(" --arg '{key}={text}'");
        }
        out
    }

    /// A launch in words.
    fn words(&self, launch: &Concrete) -> String {
        let ints = self.freedom.ints.iter().zip(&launch.ints);
        let ints: Vec<String> = ints.map(|(p, v)| format!(", {} = {v}", p.name)).collect();
        format!(
            "block {}, grid {}{}",
            spec::launch::show(launch.block),
            spec::launch::show(launch.grid),
            ints.concat()
        )
    }

    fn defective(
        &self,
        launch: &Concrete,
        filled: &[(String, String)],
        mut report: Report,
    ) -> Report {
        let command = self.command(launch, filled);
        for d in report.defects.iter_mut().take(1) {
            d.hint = Some(format!("this launch shows it: {command}"));
        }
        report.scope.launches = Some(Launches {
            text: format!(
                "this launch breaks: {}{}",
                self.words(launch),
                contents(filled)
            ),
            assumed: self.assumed(),
        });
        self.finish(report)
    }

    /// The launches that a proof speaks of, in words.
    fn scope(&self) -> String {
        let f = &self.freedom;
        let show = |fixed: &[Option<u32>; 3]| {
            let list: Vec<String> = fixed
                .iter()
                .map(|v| v.map_or("*".into(), |v| v.to_string()))
                .collect();
            list.join(",")
        };
        let mut parts = Vec::new();
        match f.block {
            [Some(x), Some(y), Some(z)] => parts.push(format!("block {x},{y},{z}")),
            b => {
                let most = f.most.min(MAX_THREADS);
                parts.push(format!("all blocks {} up to {most} threads", show(&b)));
            }
        }
        match f.grid {
            [Some(x), Some(y), Some(z)] if f.block.iter().all(Option::is_some) => {
                parts.push(format!("grid {x},{y},{z}"));
            }
            [Some(x), Some(y), Some(z)] => {
                parts.push(format!("grid {x},{y},{z} of fewer than 2^31 threads"));
            }
            g => parts.push(format!("all grids {} of fewer than 2^31 threads", show(&g))),
        }
        if !f.ints.is_empty() {
            let names: Vec<&str> = f.ints.iter().map(|p| p.name.as_str()).collect();
            parts.push(format!("all values of {}", names.join(", ")));
        }
        parts.push("all data".to_string());
        let mut out = parts.join(", ");
        if !f.facts.is_empty() {
            let texts: Vec<&str> = f.facts.iter().map(|f| f.text.as_str()).collect();
            out += &format!("; with {}", texts.join(" and "));
        }
        out
    }

    /// The facts that restrict the launches.
    fn assumed(&self) -> Vec<String> {
        let mut out: Vec<String> = self.freedom.facts.iter().map(|f| f.text.clone()).collect();
        let sides = [
            ("block", self.freedom.block, self.spec.launch.block),
            ("grid", self.freedom.grid, self.spec.launch.grid),
        ];
        for (name, fixed, given) in sides {
            if given.is_some() || name == "block" && self.lowered.kernel.reqntid.is_some() {
                continue;
            }
            for (axis, v) in ["x", "y", "z"].iter().zip(fixed) {
                out.extend(v.map(|v| format!("{name}.{axis} == {v}")));
            }
        }
        out
    }

    /// Parameters that facts read without a sign.
    fn without_sign(&self) -> impl Iterator<Item = Assumption> {
        let named = |p: &&FreeInt| {
            let size = Size::Param(p.offset);
            let mut sizes = self.freedom.facts.iter().flat_map(SizeFact::sizes);
            p.unsigned && sizes.any(|s| s == size)
        };
        self.freedom.ints.iter().filter(named).map(|p| {
            let message = "has no sign where --assume speaks of it, as the kernel takes it";
            AssumptionKind::Fact.says(format!("{} {message}", p.name))
        })
    }

    /// A report that speaks of all launches, without findings.
    fn open(&self, mut base: Report) -> Report {
        base.defects.clear();
        base.unknown.clear();
        base.outputs = crate::answer::Outputs::Compared(Vec::new());
        base.scope = Scope {
            whole_grid: true,
            launches: Some(Launches {
                text: self.scope(),
                assumed: self.assumed(),
            }),
            ..Scope::default()
        };
        if let Some(Subject::Kernel(k)) = &mut base.kernel {
            // A component that takes every value is shown as 0.
            k.block = self.freedom.block.map(Option::unwrap_or_default);
            k.grid = self.freedom.grid.map(Option::unwrap_or_default);
        }
        let free = |name: &str| self.freedom.ints.iter().any(|p| p.name == name);
        if let Some(bound) = &mut base.inputs.bindings.kernel {
            let own = bound.as_mut_slice().iter_mut();
            own.for_each(|own| own.retain(|b| !free(&b.name)));
        }
        let launched = base.inputs.launch.kernel.iter_mut();
        for launched in launched.flat_map(Each::as_mut_slice) {
            launched.args = self.spec.args.iter().map(|a| a.text.clone()).collect();
        }
        base.assumptions.extend(self.without_sign());
        for f in &self.freedom.facts {
            base.assumptions
                .push(AssumptionKind::Fact.says(format!("{}, as --assume says", f.text)));
        }
        base
    }

    fn undecided(&self, base: Report, open: Vec<Finding<UnknownKind>>, tried: usize) -> Report {
        let mut report = self.open(base);
        report.verdict = Verdict::Unknown;
        report.unknown = open;
        let told = |u: &Finding<UnknownKind>| u.kind == UnknownKind::Limit;
        if let Some(why) = self
            .limits
            .reached()
            .filter(|_| !report.unknown.iter().any(told))
        {
            let limit = Finding::new(Part::Kernel, UnknownKind::Limit, why);
            report.unknown.insert(0, limit);
        }
        let message = format!(
            "{tried} small launches were run, and none of them breaks; that proves nothing of others"
        );
        report
            .unknown
            .push(Finding::new(Part::Kernel, UnknownKind::Undecided, message));
        self.finish(report)
    }

    /// Launches that models of the facts are, where none of those that are tried otherwise satisfies them; an error if no
    /// launch does. None if none was found.
    fn modelled(&self) -> Result<Vec<Concrete>, Failure> {
        let found = self.subject(|subject| {
            let models = || proof::launches_of_facts(subject);
            let (found, _) = work::within(work::part(PROOF), || self.limits.guarded(models));
            // That none was found in time says nothing.
            found.unwrap_or_else(|_| Some(Vec::new()))
        })?;
        found.ok_or_else(|| self.contradiction())
    }

    /// The report of a launch without what it found: what others begin from where no launch that satisfies the facts can be run.
    fn begun(&self) -> Result<Report, Failure> {
        let free = Freedom {
            facts: Vec::new(),
            ..self.freedom.clone()
        };
        let first = free.launches().into_iter().next();
        let launch = first.ok_or_else(|| self.contradiction())?;
        let (report, _) = work::within(work::part(ONE_LAUNCH), || self.run_one(&launch, &[]));
        let mut report = report?;
        report.warnings.clear();
        report.looked.clear();
        Ok(report)
    }

    /// No launch satisfies the facts: nothing is proved of the empty set.
    fn contradiction(&self) -> Failure {
        let message = "no launch satisfies what --assume, --block and --grid say together";
        Failure::new(crate::answer::ErrorKind::Fact, message)
    }

    fn finish(&self, mut report: Report) -> Report {
        report.command = Command::Race;
        let moments = Moments {
            read: (self.start, self.start),
            ran: self.start,
        };
        report.stats.seconds = moments.seconds();
        report
    }
}

/// Whether a report tells of a defect: on arrays whose extent was made up only if all that it tells of are races.
fn breaks(report: &Report, filled: &[(String, String)]) -> bool {
    let races = report
        .defects
        .iter()
        .all(|d| d.kind == DefectKind::DataRace);
    report.verdict == Verdict::Defective && (filled.is_empty() || races)
}

/// What arrays hold, in words.
fn contents(filled: &[(String, String)]) -> String {
    let held = |f: &(String, String)| {
        let contents = f.1.rsplit('=').next().unwrap_or_default();
        format!(", {contents} in the array at {}", f.0)
    };
    filled.iter().map(held).collect()
}

/// What a launch may choose.
fn freedom(lowered: &Lowered, spec: &KernelSpec, facts: Vec<SizeFact>) -> Result<Freedom, Failure> {
    let kernel = &lowered.kernel;
    let block = spec.launch.block.or(kernel.reqntid);
    let fixed = |given: Option<[u32; 3]>, size: fn(u8) -> Size| {
        let component = |axis: u8| match given {
            Some(v) => Some(v[axis as usize]),
            None => Freedom::unread(kernel, &facts, size(axis)).then_some(1),
        };
        [component(0), component(1), component(2)]
    };
    let (block, grid) = (
        fixed(block, Size::Block),
        fixed(spec.launch.grid, Size::Grid),
    );
    let mut probe = spec.clone();
    probe.launch.block = Some(block.map(|v| v.unwrap_or(1)));
    let setup = spec::resolve(&[(kernel, &probe)], &[])?;
    let uses = crate::kernel::param_uses(kernel);
    let ints = setup.kernels[0].without_value.iter().filter_map(|u| {
        let (position, field) = (u.place.0 as usize, u.place.1.unwrap_or(0));
        let param = kernel.params.get(position)?;
        let float = matches!(param.kind, crate::kernel::ParamKind::Float(_));
        let decides = setup.kernels[0].unbound.iter().any(|d| d.place == u.place);
        // What may be where an array begins is no number to choose.
        let own = |found: &&ParamUse| found.param == Some(position as u32) && found.offset == field;
        let own: Vec<&ParamUse> = uses.iter().filter(own).collect();
        let pointer = own.iter().any(|found| found.pointer && found.bytes == 8);
        let bytes = match kernel.insts.get(u.pc.0 as usize).map(|i| &i.op) {
            Some(Op::Ld { access, .. }) => access.ty.bits() / 8,
            _ => param.bytes,
        };
        let takes = |signed: usize| own.iter().any(|found| found.signs[signed]);
        let reaches = own.iter().any(|found| found.addresses);
        (decides && !float && !pointer).then(|| FreeInt {
            name: u.name.clone(),
            key: u.key(),
            offset: param.offset + field,
            bytes,
            unsigned: bytes == 4 && takes(0) && !takes(1),
            // A field may be half of one.
            wide: reaches && (bytes == 8 || bytes == 4 && field > 0),
        })
    });
    Ok(Freedom {
        block,
        grid,
        ints: ints.collect(),
        facts,
        most: kernel.maxntid.unwrap_or(MAX_THREADS),
    })
}
