//! `volta rows`: does a row of the outputs depend on the batch that it is in?
//!
//! Problem: a model that is served gives one row of a batch other bits than the same row alone, if the kernel's launch,
//! its splits or its reads depend on the batch. Each row of each instance is compared with row 0 of the smallest one,
//! as `check` compares two kernels: by bits, or over the reals with `--values`. The elements of the row in the named arrays
//! have the names of those of row 0 ([`rename`]), every other row of a named array is a stranger on both sides, and all
//! else is read whole and must not depend on the row.
//!
//! Sound: the rows that are compared are those of these launches; nothing is said of other sizes.

use std::time::Instant;

mod launched;
pub mod pattern;
pub mod rename;

use crate::alone::bound;
use crate::answer::{
    self, Command, ErrorKind, Failure, Outputs, Part, Report, RowLaunch, UnknownKind, Verdict,
};
use crate::bits;
use crate::check::counted;
use crate::decide::{self, Coverage};
use crate::explain::{self, Decision};
use crate::found::findings::{Found, Moments};
use crate::found::launches::{Ran, ran};
use crate::grid::Subject;
use crate::grid::sequence::{self, Ended};
use crate::input::{self, Files, Lowered};
use crate::kernel::Kernel;
use crate::sim::Side;
use crate::spec::{
    Array, Arrays, Domain, KernelSpec, Layers, Limits, Numbered, Options, Role, Setup, Which,
};
use crate::term::ArrayId;

use pattern::{Pattern, Rowed};
use rename::{Named, Renaming};

/// One instance, run: a launch, or several one after the other.
struct Instance {
    specs: Vec<KernelSpec>,
    lowered: Vec<Lowered>,
    setup: Setup,
    covered: Ended,
}

/// Compares the rows of an instance with row 0 of the smallest one.
pub fn rows(small: Layers, layers: Layers, files: &Files) -> Result<Report, Failure> {
    counted(layers, || judged(small, layers, files))
}

fn judged(small: Layers, layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let mut options = layers.options()?;
    let named = layers.0.iter().rev();
    let text = named.clone().find_map(|l| l.rows.as_deref());
    let text = text.ok_or_else(|| {
        let message = "--rows says which rows are compared, such as 'y[i,*] of x[i,*]'";
        Failure::new(ErrorKind::Usage, message)
    })?;
    let pattern = Pattern::parse(text)?;
    let by_values = named.clone().find_map(|l| l.values).unwrap_or(false);
    options.bits = !by_values;
    let limits = options.limits(start);
    let mut small = Instance::read(small, files)?;
    let mut here = Instance::read(layers, files)?;
    let parsed = Instant::now();
    // What depends on the schedule is another unknown on each side.
    if !by_values {
        number([&mut small, &mut here]);
    }
    small.run(limits, Side::Reference);
    here.run(limits, Side::Optimized);
    let moments = Moments {
        read: (start, parsed),
        ran: Instant::now(),
    };
    let mut compared = Compared {
        pattern: &pattern,
        small: &small,
        here: &here,
        options: &options,
        limits,
        found: Found::default(),
        outputs: Vec::new(),
        example: None,
    };
    let ran = here.ran();
    compared.found.describe(&ran, &here.covered);
    compared.compare()?;
    let Compared {
        mut found,
        outputs,
        example,
        ..
    } = compared;
    let verdict = match (&example, found.defects.is_empty(), found.unknown.is_empty()) {
        (_, false, _) => Verdict::Defective,
        (Some(_), ..) => Verdict::NotEquivalent,
        (None, true, true) => Verdict::Equivalent,
        (None, true, false) => Verdict::Unknown,
    };
    found.miss(&ran);
    Ok(Report {
        verdict,
        counterexample: example,
        outputs: Outputs::Compared(outputs),
        ..found.report((Command::Rows, &options), &here.setup, moments)
    })
}

/// Numbers the code of both: a compiler may join a product and a sum in one code and not in another.
fn number(instances: [&mut Instance; 2]) {
    let all: Vec<&Lowered> = instances.iter().flat_map(|i| &i.lowered).collect();
    let first = |l: &&Lowered| all.iter().position(|m| l.is_one(m)).unwrap_or(0) as u32;
    let codes: Vec<u32> = all.iter().map(first).collect();
    let of = codes.len() as u32;
    let launches = instances.into_iter().flat_map(|i| &mut i.setup.kernels);
    for (k, code) in launches.zip(codes) {
        let run = None;
        k.mode.domain = Domain::Words {
            numbered: Numbered { code, run, of },
            unfolded: false,
        };
    }
}

impl Instance {
    fn read(layers: Layers, files: &Files) -> Result<Instance, Failure> {
        let specs = input::launches(layers, Which::Kernel, files)?;
        let (lowered, setup) = bound(&specs, &[], files)?;
        Ok(Instance {
            specs,
            lowered,
            setup,
            covered: Ended::default(),
        })
    }

    /// True if both launch the same code in the same order.
    fn is_of(&self, other: &Instance) -> bool {
        let same = |(a, b): (&Lowered, &Lowered)| a.is_one(b);
        self.lowered.len() == other.lowered.len()
            && self.lowered.iter().zip(&other.lowered).all(same)
    }

    /// The launches, for findings.
    fn ran(&self) -> Vec<Ran<'_>> {
        ran(&self.specs, &self.lowered, &self.setup)
    }

    /// The kernels, each with the number of its code.
    fn numbered(&self) -> impl Iterator<Item = (u32, &Kernel)> {
        let launches = self.lowered.iter().zip(&self.setup.kernels);
        launches.filter_map(|(l, k)| Some((k.mode.words()?.code, &l.kernel)))
    }

    /// Runs the launches, by words where their code has a number, else over the reals.
    fn run(&mut self, limits: Limits, side: Side) {
        let deciding = decide::Options {
            limits,
            ..decide::Options::default()
        };
        let launches = self.lowered.iter().zip(&self.setup.kernels);
        let subjects: Vec<Subject> = launches
            .map(|(lowered, resolved)| Subject {
                kernel: lowered.run_by(&resolved.mode),
                resolved,
                side,
                arrays: &self.setup.arrays,
                deciding: &deciding,
                without_values: false,
            })
            .collect();
        self.covered = sequence::run(&subjects);
    }

    /// The launch that an operation stands in, by its file; the last one where there is none.
    fn launched(&self, site: Option<&answer::Site>) -> usize {
        let file = |l: &Lowered| site.is_some_and(|s| s.file == l.kernel.source.name);
        let found = self.lowered.iter().position(file);
        found.unwrap_or(self.lowered.len() - 1)
    }

    /// The arrays of a list.
    fn arrays(&self, list: &[Rowed]) -> Result<Vec<ArrayId>, Failure> {
        list.iter().map(|r| r.array(&self.setup)).collect()
    }

    /// The only array of a name.
    fn named(&self, name: &str) -> Option<ArrayId> {
        let all = self.setup.arrays.0.iter().enumerate();
        let mut named = all.filter(|(_, a)| a.name == name);
        let (i, _) = named.next()?;
        named.next().is_none().then_some(ArrayId(i as u32))
    }
}

/// Two instances whose rows are compared.
struct Compared<'a> {
    pattern: &'a Pattern,
    small: &'a Instance,
    here: &'a Instance,
    options: &'a Options,
    limits: Limits,
    found: Found<'a>,
    outputs: Vec<answer::Output>,
    example: Option<answer::Counterexample>,
}

/// The arrays of both instances, and all arrays of the comparison.
struct RowArrays {
    small: Renaming,
    here: Renaming,
    arrays: Arrays,
    /// Number of rows here.
    rows: u64,
}

impl Compared<'_> {
    fn compare(&mut self) -> Result<(), Failure> {
        let names = self.names()?;
        let (small, here) = (self.small, self.here);
        for instance in [small, here] {
            let ran = instance.ran();
            self.found.told(&ran, &instance.lowered, &instance.covered);
            self.found.add(&ran, &instance.covered.outcome);
            if std::ptr::eq(small, here) {
                break;
            }
        }
        dedup(&mut self.found);
        if !self.found.defects.is_empty() || !self.found.unknown.is_empty() {
            return Ok(());
        }
        for row in 0..names.rows {
            if let Some(what) = self.limits.reached() {
                let message = format!("{what} before row {row} was compared");
                self.open(UnknownKind::Limit, message);
                return Ok(());
            }
            let runs = [
                rename::row(&small.covered.outcome, &names.small, 0),
                rename::row(&here.covered.outcome, &names.here, row),
            ];
            let [Some(a), Some(b)] = runs else {
                let message = "data choose which row of a named array is read, or the place in an array of launches in a sequence";
                self.open(UnknownKind::DataDependentAddress, message.into());
                return Ok(());
            };
            let (Ok(a), Ok(b)) = (a.into_clean(true), b.into_clean(true)) else {
                return Ok(());
            };
            let deciding = decide::Options {
                limits: self.limits,
                reference: Coverage::WholeGrid,
                optimized: Coverage::WholeGrid,
                ..decide::Options::default()
            };
            let (decision, sites) = match self.options.bits {
                false => (explain::decide(a, b, &names.arrays, &deciding), Vec::new()),
                true => {
                    let pair = bits::Pair {
                        kernels: small.numbered().chain(here.numbered()).collect(),
                        arrays: &names.arrays,
                        options: &deciding,
                        contracts_alike: self.options.contracts_alike,
                        settled: None,
                    };
                    let decided = bits::decide([a, b], &pair);
                    (decided.decision, decided.sites)
                }
            };
            if self.add(row, decision, sites) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn open(&mut self, kind: UnknownKind, message: String) {
        let finding = answer::Finding::new(Part::Kernel, kind, message);
        self.found.unknown.push(finding);
    }

    /// Adds what was found of one row; true once nothing more is asked.
    fn add(&mut self, row: u64, decision: Decision, sites: Vec<answer::Site>) -> bool {
        for o in &decision.outputs {
            match self.outputs.iter_mut().find(|all| all.name == o.name) {
                Some(all) => {
                    all.elements += o.elements;
                    all.proved += o.proved;
                    for (by, n) in &o.by {
                        *all.by.entry(by.to_string()).or_default() += n;
                    }
                }
                None => self.outputs.push(o.into()),
            }
        }
        self.found.assume(&decision.assumptions);
        if let Some(example) = decision.counterexample {
            let mut example: answer::Counterexample = example.into();
            let site = sites.into_iter().next_back();
            let launch = &self.here.setup.kernels[self.here.launched(site.as_ref())].launch;
            let output = self.pattern.outputs.first();
            if let Some(o) = output
                && let Some(index) = example.element.get_mut(o.dimension)
            {
                *index = row;
            }
            let sizes = &self.options.sizes.0;
            let at = match sizes.is_empty() {
                true => String::new(),
                false => format!(" at {}", self.options.sizes),
            };
            example.message = format!(
                "row {row}{at} is not what row 0 of the smallest instance is: {} (here the reference is row 0); {}",
                example.message,
                launched::decided(self.small, self.here)
            );
            example.rows = Some(answer::Rows {
                row,
                other: 0,
                sizes: sizes.clone(),
                launch: RowLaunch {
                    block: launch.block,
                    grid: launch.grid,
                },
                site,
            });
            self.example = Some(example);
            return true;
        }
        for u in decision.unknowns {
            let message = format!("row {row}: {}", u.message);
            let finding = answer::Finding {
                difference: u.difference,
                count: u.count,
                ..answer::Finding::new(Part::Kernel, u.kind, message)
            };
            self.found.unknown.push(finding.at(sites.clone()));
        }
        !self.found.unknown.is_empty()
    }

    /// The named arrays, with a stranger for each on either side, and what the others are in the smallest instance.
    fn names(&self) -> Result<RowArrays, Failure> {
        let mut arrays = self.small.setup.arrays.clone();
        for a in &mut arrays.0 {
            a.only = None;
        }
        let whole = self.whole(&mut arrays);
        let instances = [self.small, self.here];
        let mut named = |list: &[Rowed]| -> Result<[Vec<Named>; 2], Failure> {
            let mut out = [Vec::new(), Vec::new()];
            let small = self.small.arrays(list)?;
            for (k, rowed) in list.iter().enumerate() {
                for (side, instance) in instances.into_iter().enumerate() {
                    let id = instance.arrays(list)?[k];
                    let here = &instance.setup.arrays[id];
                    let strangers = ArrayId(arrays.0.len() as u32);
                    let of = Array {
                        name: format!("{} of other rows", here.name),
                        role: Some(Role::In),
                        initial: None,
                        ..here.clone()
                    };
                    arrays.0.push(of);
                    let own = small[k];
                    let both = [here, &self.small.setup.arrays[own]];
                    let n = Named::new([id, own], strangers, rowed.dimension, both);
                    let n = n.filter(|_| side == 0 || whole[id.0 as usize] == own);
                    out[side].push(n.ok_or_else(|| {
                        let message =
                            format!("--rows: `{}` is another array at another size", rowed.name);
                        Failure::new(ErrorKind::Usage, message)
                    })?);
                }
            }
            Ok(out)
        };
        let outputs = named(&self.pattern.outputs)?;
        let inputs = named(&self.pattern.inputs)?;
        let of = |n: &Named| n.shape.get(n.dimension).copied().unwrap_or(0);
        let rows = outputs[1].iter().map(of).max().unwrap_or(0);
        let known = |n: &&Named| arrays[n.own].initial.is_some();
        if let Some(n) = inputs.iter().flatten().find(known) {
            let message = format!(
                "--rows: the contents of `{}` are known, and so do not stand for those of another row",
                arrays[n.own].name
            );
            return Err(Failure::new(ErrorKind::Usage, message));
        }
        let ([small_outputs, outputs], [small_inputs, inputs]) = (outputs, inputs);
        Ok(RowArrays {
            small: Renaming {
                outputs: small_outputs,
                inputs: small_inputs,
                whole: Vec::new(),
            },
            here: Renaming {
                outputs,
                inputs,
                whole,
            },
            arrays,
            rows,
        })
    }

    /// What each array is in the smallest instance: that at its place, for launches in a sequence that of its name, else one
    /// that only this instance has.
    fn whole(&self, arrays: &mut Arrays) -> Vec<ArrayId> {
        let [small, here] = [self.small, self.here];
        let own = here.setup.arrays.0.iter().enumerate();
        own.map(|(i, a)| {
            let id = ArrayId(i as u32);
            if small.specs.len() == 1 && here.specs.len() == 1 {
                return id;
            }
            let same = |b: &ArrayId| small.setup.arrays[*b].initial == a.initial;
            let named = here.named(&a.name).and_then(|_| small.named(&a.name));
            named.filter(same).unwrap_or_else(|| {
                arrays.0.push(a.clone());
                ArrayId(arrays.0.len() as u32 - 1)
            })
        })
        .collect()
    }
}

/// Findings of two instances, each once.
fn dedup(found: &mut Found) {
    let mut seen = Vec::new();
    found.defects.retain(|f| is_new(&mut seen, &f.message));
    found.warnings.retain(|f| is_new(&mut seen, &f.message));
    found.unknown.retain(|f| is_new(&mut seen, &f.message));
}

fn is_new(seen: &mut Vec<String>, message: &str) -> bool {
    let new = !seen.iter().any(|s| s == message);
    if new {
        seen.push(message.to_string());
    }
    new
}
