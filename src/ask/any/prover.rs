//! A proof that is under way: obligations that are left, and how a question is asked.

use rustc_hash::FxHashSet;

use super::expr::{Id, Level, Order};
use super::gates::{Holds, Model, together};
use super::integers::Integers;
use super::launches::{Concrete, Freedom};
use super::limits::MAX_GRID_THREADS;
use super::state::{Counter, Walk};
use crate::answer::{Assumption, Finding, Part, Site, UnknownKind, WarningKind};
use crate::kernel::{Kernel, Pc};
use crate::spec::{Arrays, Limits, Resolved};

/// What a proof came to.
#[derive(Default)]
pub(super) struct Proof {
    pub open: Vec<Finding<UnknownKind>>,
    pub warnings: Vec<Finding<WarningKind>>,
    pub assumed: Vec<Assumption>,
    pub candidates: Vec<Concrete>,
    /// Arrays of unknown extent of which whole numbers are read.
    pub numbers: Vec<NumbersRead>,
    /// Whether nothing was left out and all was shown.
    pub holds: bool,
    /// The memory that was not shown to be written before it is read, in words.
    pub unwritten: Vec<&'static str>,
}

/// An array of which whole numbers are read.
pub(super) struct NumbersRead {
    /// The key that binds it.
    pub key: String,
    /// Bytes of each number.
    pub bytes: u32,
    /// Whether the launch writes it.
    pub written: bool,
}

/// What a proof is about.
pub(super) struct Subject<'a> {
    pub kernel: &'a Kernel,
    pub resolved: &'a Resolved,
    pub arrays: &'a Arrays,
    pub freedom: &'a Freedom,
    pub strict: bool,
    pub limits: &'a Limits,
}

/// A proof that is under way.
pub(super) struct Prover<'a, 'w> {
    pub subject: &'a Subject<'a>,
    pub w: Walk<'w>,
    /// Conditions that hold of every launch.
    pub always: Vec<Id>,
    pub out: Proof,
    /// Counters that were shown not to wrap, with how they are read.
    pub exact: Vec<(usize, bool)>,
    /// Whether questions are about lanes of one warp, about threads of different warps, or about all.
    pub warps: Option<bool>,
    /// Counters of the second thread, in the question that is asked.
    pub theirs: Vec<(Counter, Option<bool>)>,
}

impl Prover<'_, '_> {
    /// Records an obligation that is open, with a launch to try.
    pub(super) fn leave_open(
        &mut self,
        kind: UnknownKind,
        what: &str,
        at: &[Pc],
        model: Option<&Model>,
    ) {
        let kernel = self.subject.kernel;
        let sites = at
            .iter()
            .map(|pc| Site::new(&kernel.source, kernel.span(*pc), ""))
            .collect();
        let finding = Finding::new(Part::Kernel, kind, what).at(sites);
        self.out.open.push(finding);
        if let Some(model) = model {
            self.try_launch(model);
        }
    }

    /// A launch is to be run that may show what is left open.
    pub(super) fn try_launch(&mut self, model: &Model) {
        let launch = self.launch_of(model);
        if !self.out.candidates.contains(&launch) {
            self.out.candidates.push(launch);
        }
    }

    /// Says which fact would help with what was left open last.
    pub(super) fn suggest(&mut self, fact: Option<String>) {
        if let (Some(fact), Some(last)) = (fact, self.out.open.last_mut()) {
            last.hint = Some(format!(
                "if that cannot wrap around, say so: --assume '{fact}'"
            ));
        }
    }

    /// The launch that values of symbols speak of.
    pub(super) fn launch_of(&mut self, model: &Model) -> Concrete {
        launch_of(&mut self.w, self.subject.freedom, model)
    }

    /// Whether conditions of one thread never hold together; if they may, the model is one of a small launch, where there is one.
    pub(super) fn never_or_small(&mut self, conditions: &[Id]) -> Result<(), Option<Model>> {
        let model = match self.never(conditions) {
            Err(Some(model)) => model,
            other => return other,
        };
        let s = self.w.sizes;
        for (threads, ctas) in SMALL {
            let mut all = conditions.to_vec();
            for (sizes, first) in [(s.ntid, threads), (s.nctaid, ctas)] {
                for (axis, n) in sizes.into_iter().enumerate() {
                    if self.w.e.value(n).is_some() {
                        continue;
                    }
                    let most = self.w.e.constant(if axis == 0 { first } else { 1 }, 32);
                    let above = self.w.e.compare(Order::Below, most, n);
                    all.push(self.w.e.not(above));
                }
            }
            if let Err(Some(small)) = self.never(&all) {
                return Err(Some(small));
            }
        }
        Err(Some(model))
    }

    /// What is known of the symbols that a question speaks of, each as an implication.
    pub(super) fn implications(&mut self, about: &[Id]) -> Vec<Id> {
        let e = &self.w.e;
        let own = |s: &u32| {
            e.symbols[*s as usize].level > Level::Grid || e.symbols[*s as usize].of.is_some()
        };
        let mut seen: FxHashSet<u32> = e.symbols_of(about).into_iter().filter(own).collect();
        let mut left: Vec<(Vec<u32>, usize)> = Vec::new();
        for (i, k) in self.w.out.known.iter().enumerate() {
            left.push((e.symbols_of(&[k.holds]), i));
        }
        let mut near: Vec<usize> = Vec::new();
        loop {
            let before = left.len();
            left.retain(|(symbols, i)| {
                // What is about the whole grid alone is about every thread.
                let meets = symbols.iter().any(|s| seen.contains(s)) || !symbols.iter().any(own);
                if meets {
                    seen.extend(symbols.iter().copied().filter(own));
                    near.push(*i);
                }
                !meets
            });
            if left.len() == before {
                break;
            }
        }
        near.sort_unstable();
        let mut out = Vec::new();
        for i in near {
            let k = self.w.out.known[i];
            let not = self.w.e.not(k.premise);
            let id = self.w.e.or(not, k.holds);
            if self.w.e.value(id) != Some(1) && !out.contains(&id) {
                out.push(id);
            }
        }
        out
    }

    /// All counters, with how those are read that were shown not to wrap.
    pub(super) fn counters(&self) -> Vec<(Counter, Option<bool>)> {
        let all = self.w.out.counters.iter().map(|c| (*c, None));
        let mut all: Vec<(Counter, Option<bool>)> = all.collect();
        for (i, sign) in &self.exact {
            all[*i].1 = Some(*sign);
        }
        all
    }

    /// Whole numbers under conditions, with the counters that do not wrap.
    pub(super) fn integers(&mut self, conditions: &[Id]) -> Integers<'_> {
        let s = self.w.sizes;
        let mut counters = self.counters();
        counters.extend(self.theirs.iter().copied());
        let products = [
            (s.ntid.to_vec(), self.subject.freedom.most),
            ([s.ntid, s.nctaid].concat(), MAX_GRID_THREADS),
        ];
        // What is fixed leaves less for the product of the rest.
        let products = products.map(|(sizes, most)| {
            let taken = sizes.iter().filter_map(|id| self.w.e.value(*id));
            let taken = taken.fold(1, u64::saturating_mul).max(1);
            (sizes, i128::from(most / taken.min(most)))
        });
        let literals: Vec<Id> = conditions
            .iter()
            .chain(&self.always)
            .flat_map(|c| self.w.e.literals(*c))
            .collect();
        let always = self.always.clone();
        let mut out = Integers::new(&mut self.w.e, products.to_vec(), *self.subject.limits);
        for (c, exact) in &counters {
            out.counter(c, *exact);
        }
        // Implications whose premise is among the literals are facts.
        for c in always.iter().chain(&literals) {
            out.condition_or(*c, &literals);
        }
        // Once more: what was learnt helps to read.
        for c in always.iter().chain(&literals) {
            out.condition_or(*c, &literals);
        }
        out
    }

    /// Whether conditions of one thread never hold together.
    pub(super) fn never(&mut self, conditions: &[Id]) -> Result<(), Option<Model>> {
        let mut all = conditions.to_vec();
        all.extend(self.implications(conditions));
        all.extend(&self.w.plain);
        match together(&self.w.e, &all, true, self.subject.limits) {
            Holds::Never => Ok(()),
            Holds::Perhaps(model) => Err(model),
        }
    }
}

/// Threads of a block and CTAs of a grid that a model is asked for first.
const SMALL: [(u64, u64); 3] = [(32, 3), (32, 128), (1024, 4)];

/// The launch that values of symbols speak of.
pub(super) fn launch_of(w: &mut Walk, f: &Freedom, model: &Model) -> Concrete {
    let s = w.sizes;
    let value = |w: &Walk, id: Id| match w.e.node(id) {
        super::expr::Node::Const(v) => *v,
        super::expr::Node::Symbol(s) => model.get(s).copied().unwrap_or(1),
        _ => 1,
    };
    let triple = |w: &Walk, ids: [Id; 3]| ids.map(|id| value(w, id) as u32);
    let (block, grid) = (triple(&*w, s.ntid), triple(&*w, s.nctaid));
    let mut ints = Vec::new();
    for p in &f.ints {
        let id = w.scalar_of(p.offset, p.bytes.min(8));
        let v = value(&*w, id);
        ints.push(match p.bytes {
            4 if p.unsigned => i64::from(v as u32),
            4 => i64::from(v as u32 as i32),
            _ => v as i64,
        });
    }
    Concrete { block, grid, ints }
}
