//! The same bits: whether two runs by words leave the same bits in every element.
//!
//! Problem: autotuned kernels must agree to the last bit, and equality over the reals says nothing of that. Both
//! kernels are run with floats as words ([`crate::term::word`]), brought into one store up to the identities that keep every bit
//! ([`identities`], [`canon`]), and compared by id. Where ids differ, an input is looked for on which the
//! machine's arithmetic gives different bits ([`witness`]); where none is found, the first operation that differs
//! ([`differ`]) is what is said.
//!
//! Sound: equal ids are the same operations on the same operands, up to identities that are tested on every f16; any NaN
//! equals any NaN where floats are compared, and nowhere else. A product and a sum that a compiler may join are the same
//! only at one place of one kernel. Not claimed: what other orders of float atomics give (`order-dependent`).

use std::collections::BTreeMap;

pub mod canon;
pub mod differ;
pub mod identities;
pub mod joined;
mod reading;
#[cfg(test)]
mod tests;
pub mod value;
pub mod witness;

use crate::answer::{AssumptionKind, Site};
use crate::decide::goal::{self, Element, Run};
use crate::decide::{self};
use crate::explain::{
    Counterexample, Counts, Decision, Difference, InputValue, OutputSummary, Unresolved, Verdict,
    text,
};
use crate::kernel::Kernel;
use crate::norm::{self, Equality, Normalizer};
use crate::sim::{Clean, Side, UnknownKind};
use crate::spec::{Array, Arrays, ElemTy, Role};
use crate::term::show::Bounds;
use crate::term::{ArrayId, Term, TermId, TermStore};
use joined::Settled;

use rustc_hash::FxHashMap;

use canon::{Canon, Images, Reader};

/// Elements that differ for which an input is looked for.
const SEARCHED: usize = 24;

/// What proved an element.
const BY: &str = "operations";

/// Elements that are compared as integers.
const INTEGERS: usize = 1 << 12;

/// Terms that are looked at for all cases of all elements together.
const CASES: usize = 1 << 26;

/// Conditions by which one element is split.
const CONDITIONS: usize = 8;

/// A pair of kernels that were run.
pub struct Pair<'a> {
    /// The kernels of the launches of both, each with the number of its code.
    pub kernels: Vec<(u32, &'a Kernel)>,
    /// The arrays of the pair.
    pub arrays: &'a Arrays,
    /// The limits, and what of the grids was run.
    pub options: &'a decide::Options,
    /// What a compiler may join it joins everywhere or nowhere.
    pub contracts_alike: bool,
    /// What a compiler joined, where that is known.
    pub settled: Option<&'a Settled>,
}

/// The answer, and the places where the element that is refuted, or stays open, differs first.
pub struct Decided {
    /// The answer.
    pub decision: Decision,
    /// The places.
    pub sites: Vec<Site>,
}

/// Both runs, with their elements.
struct Compared<'a> {
    pair: &'a Pair<'a>,
    runs: [Run; 2],
    elements: Vec<Element>,
    readers: Vec<Reader>,
    images: [Images; 2],
}

/// Decides whether two runs leave the same bits.
pub fn decide(runs: [Clean; 2], pair: &Pair<'_>) -> Decided {
    let mut runs = runs.map(|r| {
        let outcome = r.into_inner();
        Run {
            store: outcome.store,
            writes: outcome.writes,
        }
    });
    let [a, b] = &mut runs;
    let elements = goal::elements(a, b, pair.arrays, pair.options);
    let readers: Vec<Reader> = elements
        .iter()
        .map(|e| {
            let declared = pair.arrays.0.get(e.array.0 as usize).and_then(|a| a.elem);
            let contents = [
                (&runs[0].store, e.content[0]),
                (&runs[1].store, e.content[1]),
            ];
            canon::reader(declared, &contents)
        })
        .collect();
    let mut canon = canon(pair, pair.contracts_alike);
    let images = images(&mut canon, &runs, &elements, &readers);
    let compared = Compared {
        pair,
        runs,
        elements,
        readers,
        images,
    };
    compared.decided(&mut canon)
}

/// An empty store for a pair, with what is known of its inputs.
fn canon(pair: &Pair<'_>, contracts_alike: bool) -> Canon {
    let finite = |a: &Array| match (a.role, &a.initial, a.elem) {
        (Some(Role::In | Role::InOut), None, Some(ElemTy::Float(fmt))) => Some(fmt),
        _ => None,
    };
    let mut canon = Canon::default();
    canon.contracts_alike = contracts_alike;
    canon.settled = pair.settled.cloned().unwrap_or_default();
    canon.identities.finite = pair.arrays.0.iter().map(finite).collect();
    canon
}

fn images(
    canon: &mut Canon,
    runs: &[Run; 2],
    elements: &[Element],
    readers: &[Reader],
) -> [Images; 2] {
    [0, 1].map(|i| {
        let roots: Vec<(TermId, Reader)> = elements
            .iter()
            .zip(readers)
            .map(|(e, &r)| (e.content[i], r))
            .collect();
        canon.add(&runs[i].store, &roots)
    })
}

impl Compared<'_> {
    fn decided(&self, canon: &mut Canon) -> Decided {
        let mut decision = self.summary();
        decision.counts.terms = canon.store.len() as u64;
        let mut sites = Vec::new();
        if self.elements.is_empty() {
            let message = "neither kernel writes an element that is compared";
            decision
                .unknowns
                .push(unresolved(UnknownKind::NothingToCompare, message.into()));
        }
        if canon.has_reals {
            let message = "an instruction that a kernel executes has no model of its bits";
            decision.unknowns.push(unresolved(
                UnknownKind::UnsupportedInstruction,
                message.into(),
            ));
            return Decided { decision, sites };
        }
        if canon.reads_payload && self.runs.iter().any(|r| r.store.has_nan_by_order()) {
            let message =
                "bits are read that may be those of a NaN, and the order of writes decides which";
            decision
                .unknowns
                .push(unresolved(UnknownKind::OrderDependent, message.into()));
        }
        let open = self.proved(&mut decision);
        self.one_sided(&open, &mut decision);
        let mut open: Vec<usize> = open
            .into_iter()
            .filter(|&i| self.elements[i].only.is_none())
            .collect();
        open = self.integers(open, canon, &mut decision);
        if decision.counterexample.is_none() {
            sites = self.refute(&open, &mut decision);
        }
        if decision.counterexample.is_none() {
            open = self.by_cases(open, canon, &mut decision);
        }
        if let (None, Some(&first)) = (&decision.counterexample, open.first()) {
            let (why, at) = self.open(first, &open, canon);
            decision.unknowns.push(why);
            sites = at;
        }
        if canon.identities.relies_on_inputs {
            let message = "inputs without known contents are finite numbers";
            decision
                .assumptions
                .push(AssumptionKind::Finite.says(message));
        }
        if canon.has_places {
            let message = "a product and a sum without rounding modifiers are joined by the assembler \
                           wherever one place of a kernel is executed, or nowhere";
            decision
                .assumptions
                .push(AssumptionKind::Contraction.says(message));
        }
        if self.pair.contracts_alike {
            let message = "the assembler joins products and sums without rounding modifiers alike in \
                           both kernels, as --assume says";
            decision
                .assumptions
                .push(AssumptionKind::Contraction.says(message));
        }
        decision.verdict = match (&decision.counterexample, decision.unknowns.is_empty()) {
            (Some(_), _) => Verdict::NotEquivalent,
            (None, true) => Verdict::Equivalent,
            (None, false) => Verdict::Unknown,
        };
        Decided { decision, sites }
    }

    fn name(&self, e: &Element) -> String {
        text::element(self.pair.arrays, e.array, e.off, e.bytes.into())
    }

    fn declared(&self, array: ArrayId) -> Option<ElemTy> {
        self.pair.arrays.0.get(array.0 as usize)?.elem
    }

    fn summary(&self) -> Decision {
        let mut outputs: BTreeMap<ArrayId, OutputSummary> = BTreeMap::new();
        for e in &self.elements {
            let o = outputs.entry(e.array).or_insert_with(|| OutputSummary {
                array: e.array,
                name: text::array_name(self.pair.arrays, e.array),
                elements: 0,
                proved: 0,
                by: BTreeMap::new(),
            });
            o.elements += 1;
        }
        Decision {
            verdict: Verdict::Unknown,
            outputs: outputs.into_values().collect(),
            counterexample: None,
            unknowns: Vec::new(),
            by_rounding: false,
            warnings: Vec::new(),
            assumptions: Vec::new(),
            chance: None,
            counts: Counts {
                conditions: self.elements.len() as u64,
                ..Counts::default()
            },
        }
    }

    /// Counts the elements that are the same; gives the others.
    fn proved(&self, decision: &mut Decision) -> Vec<usize> {
        let mut open = Vec::new();
        for (i, e) in self.elements.iter().enumerate() {
            let [a, b] = [0, 1].map(|s| self.images[s].get(e.content[s], self.readers[i]));
            if a != b || e.only.is_some() {
                open.push(i);
                continue;
            }
            count(decision, e, BY);
        }
        open
    }

    /// Elements that no float makes are compared as integers are everywhere; gives those that stay open.
    fn integers(&self, open: Vec<usize>, canon: &Canon, decision: &mut Decision) -> Vec<usize> {
        let mut normalizer = Normalizer::new(&canon.store, norm::Limits::default());
        let mut left = INTEGERS;
        let mut is_open = |&i: &usize| {
            let [a, b] = self.both(&self.images, i);
            let is_float = [a, b].iter().any(|&t| canon.store.as_word(t).is_some());
            if is_float || left == 0 {
                return true;
            }
            left -= 1;
            let equal = normalizer.equal(a, b) == Equality::Equal;
            if equal {
                count(decision, &self.elements[i], "integers");
            }
            !equal
        };
        open.into_iter().filter(|i| is_open(i)).collect()
    }

    /// What an element became on both sides.
    fn both(&self, images: &[Images; 2], i: usize) -> [TermId; 2] {
        [0, 1].map(|s| images[s].get(self.elements[i].content[s], self.readers[i]))
    }

    /// Elements that are the same whatever the conditions of their choices are; gives those that stay open, or all if one does.
    fn by_cases(&self, open: Vec<usize>, canon: &mut Canon, decision: &mut Decision) -> Vec<usize> {
        let size: usize = self.runs.iter().map(|r| r.store.len()).sum();
        let mut left = CASES / size.max(1);
        let mut rest = open.iter();
        let holds = rest.all(|&i| self.in_all_cases(i, canon, &mut left));
        canon.assumed.clear();
        if !holds {
            return open;
        }
        for i in open {
            count(decision, &self.elements[i], "cases");
        }
        Vec::new()
    }

    /// Splits an element by the conditions of its choices, each of which holds or does not whatever the others do.
    fn in_all_cases(&self, i: usize, canon: &mut Canon, left: &mut usize) -> bool {
        let (e, reader) = (&self.elements[i], self.readers[i]);
        let mut cases: Vec<Vec<(TermId, bool)>> = vec![Vec::new()];
        while let Some(case) = cases.pop() {
            if *left == 0 || self.pair.options.limits.reached().is_some() {
                return false;
            }
            *left -= 1;
            canon.assumed = case.iter().copied().collect();
            let [a, b] = [0, 1].map(|s| {
                let images = canon.add(&self.runs[s].store, &[(e.content[s], reader)]);
                images.get(e.content[s], reader)
            });
            if a == b {
                continue;
            }
            match condition(&canon.store, &[a, b]) {
                Some(p) if case.len() < CONDITIONS => {
                    cases.extend([true, false].map(|holds| {
                        let mut more = case.clone();
                        more.push((p, holds));
                        more
                    }));
                }
                _ => return false,
            }
        }
        true
    }

    /// Elements that only one kernel writes.
    fn one_sided(&self, open: &[usize], decision: &mut Decision) {
        for &i in open {
            let e = &self.elements[i];
            let Some(only) = e.only else { continue };
            let who = match only.side {
                Side::Reference => "reference",
                Side::Optimized => "optimized kernel",
            };
            let message = format!("only the {who} writes {}", self.name(e));
            if only.certain {
                decision.counterexample = Some(self.at(e, message));
                return;
            }
            if decision.unknowns.is_empty() {
                let message = format!("{message} in the CTAs that were run");
                decision
                    .unknowns
                    .push(unresolved(UnknownKind::Undecided, message));
            }
        }
    }

    fn at(&self, e: &Element, message: String) -> Counterexample {
        Counterexample {
            array: e.array,
            output: text::array_name(self.pair.arrays, e.array),
            elem: self.declared(e.array),
            element: text::index(self.pair.arrays, e.array, e.off, e.bytes.into()),
            offset: e.off,
            reference: None,
            optimized: None,
            message,
            difference: None,
            inputs: Vec::new(),
            writes: None,
        }
    }

    /// Looks for an input on which one of some elements differs; gives the places where that one differs first.
    fn refute(&self, open: &[usize], decision: &mut Decision) -> Vec<Site> {
        for (seed, &i) in spread(open).enumerate() {
            let e = &self.elements[i];
            let declared = self.declared(e.array);
            let fmt = witness::format(self.readers[i], declared, e.bytes);
            let question = witness::Question {
                stores: [&self.runs[0].store, &self.runs[1].store],
                terms: e.content,
                fmt,
                arrays: self.pair.arrays,
                limits: self.pair.options.limits,
                seed: seed as u64,
            };
            let Some(found) = witness::search(&question) else {
                continue;
            };
            let ty = declared.or(fmt.map(ElemTy::Float));
            let [reference, optimized] = found.values.map(|v| text::bits(v, ty));
            let message = format!(
                "{} is {} ({:#x}) in the reference and {} ({:#x}) in the optimized kernel",
                self.name(e),
                reference.text,
                found.values[0],
                optimized.text,
                found.values[1]
            );
            let (difference, sites) = self.difference(i);
            let inputs = found
                .inputs
                .iter()
                .map(|&(array, offset, ty, bits)| InputValue {
                    array,
                    name: text::array_name(self.pair.arrays, array),
                    element: text::index(self.pair.arrays, array, offset, ty.bytes()),
                    offset,
                    ty: text::type_name(ty),
                    value: text::bits(bits, Some(ty)),
                });
            decision.counterexample = Some(Counterexample {
                reference: Some(reference),
                optimized: Some(optimized),
                difference: Some(difference),
                inputs: inputs.collect(),
                ..self.at(e, message)
            });
            return sites;
        }
        Vec::new()
    }

    /// The first operation that differs in an element, and where it stands.
    fn difference(&self, i: usize) -> (Difference, Vec<Site>) {
        let e = &self.elements[i];
        let [a, b] = [0, 1].map(|s| differ::Side {
            store: &self.runs[s].store,
            images: &self.images[s],
        });
        let (x, y) = differ::first(a, b, (e.content[0], e.content[1]));
        let mut sites = Vec::new();
        let mut said = |side: differ::Side<'_>, t: TermId| {
            let formula = text::formula(side.store, self.pair.arrays, t, Bounds::default());
            let kernel = |code| self.pair.kernels.iter().find(|k| k.0 == code);
            let origin = side.origin(t);
            match origin.and_then(|(code, pc)| Some((kernel(code)?.1, pc))) {
                None => formula,
                Some((kernel, pc)) => {
                    let site = Site::new(&kernel.source, kernel.span(pc), "differs here first");
                    let line = format!("{formula} ({}:{})", site.file, site.line);
                    sites.push(site);
                    line
                }
            }
        };
        let (reference, optimized) = (said(a, x), said(b, y));
        let message = format!(
            "the first operation that differs is {reference} in the reference and {optimized} in the \
             optimized kernel"
        );
        let difference = Difference {
            message,
            reference,
            optimized,
        };
        (difference, sites)
    }

    /// Why elements stay open.
    fn open(&self, first: usize, open: &[usize], canon: &Canon) -> (Unresolved, Vec<Site>) {
        let (difference, sites) = self.difference(first);
        let mut kind = UnknownKind::DifferentOrder;
        if canon.has_places && self.is_alike(open) {
            kind = UnknownKind::Contraction;
        }
        let mut message = format!(
            "{}: {}",
            self.name(&self.elements[first]),
            difference.message
        );
        if open.len() > 1 {
            let more = open.len() - 1;
            let s = if more == 1 { "" } else { "s" };
            message.push_str(&format!(" (and {more} more element{s})"));
        }
        let why = Unresolved {
            count: open.len() as u64,
            difference: Some(difference),
            ..unresolved(kind, message)
        };
        (why, sites)
    }

    /// True if all elements are the same once products and sums are joined everywhere or nowhere.
    fn is_alike(&self, open: &[usize]) -> bool {
        let mut canon = canon(self.pair, true);
        let elements: Vec<Element> = open.iter().map(|&i| self.elements[i]).collect();
        let readers: Vec<Reader> = open.iter().map(|&i| self.readers[i]).collect();
        let images = images(&mut canon, &self.runs, &elements, &readers);
        elements
            .iter()
            .zip(readers)
            .all(|(e, r)| images[0].get(e.content[0], r) == images[1].get(e.content[1], r))
    }
}

/// Counts an element that is proved.
fn count(decision: &mut Decision, e: &Element, by: &'static str) {
    *decision.counts.by.entry(by).or_default() += 1;
    let mut outputs = decision.outputs.iter_mut();
    if let Some(o) = outputs.find(|o| o.array == e.array) {
        o.proved += 1;
        *o.by.entry(by).or_default() += 1;
    }
}

/// A condition by which something is chosen below some terms, and which no other condition makes up: the choice with the
/// most below it, so that what is decided without the others is not split by them.
fn condition(store: &TermStore, roots: &[TermId]) -> Option<TermId> {
    let mut heights: FxHashMap<TermId, u32> = FxHashMap::default();
    let mut highest: Option<(u32, TermId)> = None;
    for t in store.reachable(roots) {
        let mut height = 0;
        store.children(t, |c| height = height.max(heights[&c] + 1));
        heights.insert(t, height);
        if let Term::BitsSelect(p, ..) = store.get(t)
            && highest.is_none_or(|(h, _)| h < height)
        {
            highest = Some((height, p));
        }
    }
    let mut open = vec![highest?.1];
    while let Some(p) = open.pop() {
        match store.get(p) {
            Term::Bool(_) => {}
            Term::Not(a) => open.push(a),
            Term::And(a, b) | Term::Or(a, b) | Term::Xor(a, b) => open.extend([a, b]),
            _ => return Some(p),
        }
    }
    None
}

/// Some of the elements that are open, from all parts.
fn spread(open: &[usize]) -> impl Iterator<Item = &usize> {
    let step = open.len().div_ceil(SEARCHED).max(1);
    open.iter().step_by(step)
}

fn unresolved(kind: UnknownKind, message: String) -> Unresolved {
    Unresolved {
        kind,
        message,
        count: 1,
        difference: None,
    }
}
