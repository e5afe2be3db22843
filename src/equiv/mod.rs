//! Are two clean outcomes equal?
//!
//! Problem: every element that either kernel writes must be the same function of the inputs, and
//! the optimized kernel must be defined wherever the reference is. Source: "Equivalence Checking of
//! ML GPU Kernels" for the decision by canonical forms; refutation by evaluation is how this
//! differs. The way: `elements` makes one condition for each element, `prove` decides it by equal
//! terms or equal canonical forms and discharges definedness (`needs`), `witness` searches for an
//! input on which the sides differ.
//!
//! Sound: `Equivalent` only if every condition is proved, `NotEquivalent` only with an input that
//! was evaluated with known error, or an element that surely only one kernel writes. A
//! reference element has to be defined where it is compared; the others need not be.
//!
//! Conditions are decided in parallel, in chunks whose size depends on nothing but their number.
//! Once a chunk holds a refutation later chunks are skipped, and what they may have found is
//! dropped: the result is the same for any number of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashSet;

mod canon;
mod cases;
mod cells;
mod discharge;
mod elements;
mod explain;
mod linear;
mod needs;
mod prove;
mod text;
mod types;
mod witness;

pub use discharge::discharge;
pub use types::*;

use elements::Condition;
use prove::{Proof, Prover};

use crate::norm::Readings;
use crate::sim::{Clean, Outcome, Side, UnknownKind, Writes};
use crate::spec::Arrays;
use crate::term::eval::Value;
use crate::term::{ArrayId, ConstId, Term, TermId, TermStore};

/// Terms and edges that a quick search and a thorough one may evaluate, and the number of thorough
/// ones in a chunk.
const QUICK_STEPS: u64 = 2_000_000;
const STEPS: u64 = 50_000_000;
const SEARCHES: usize = 2;

/// Terms and edges that are worth a chunk of their own, and the largest number of chunks that
/// work, rather than the number of conditions, asks for: enough for many cores.
const CHUNK_WORK: usize = 25_000;
const MAX_CHUNKS: usize = 48;

/// Decides whether two runs compute the same.
pub fn decide(reference: Clean, optimized: Clean, arrays: &Arrays, options: &Options) -> Decision {
    let (reference, optimized) = (reference.into_inner(), optimized.into_inner());
    let shared = shared_unknowns(&reference.store, &optimized.store);
    let Outcome {
        mut store,
        writes: reference,
        ..
    } = reference;
    let optimized = {
        let map = store.import(&optimized.store);
        let piece = |(off, t): (u64, TermId)| (off, map[t.0 as usize]);
        let moved = optimized
            .writes
            .into_iter()
            .map(|(a, w)| (a, w.into_iter().map(piece).collect::<Writes>()));
        moved.collect::<BTreeMap<ArrayId, Writes>>()
    };
    let conditions = elements::conditions(&mut store, &reference, &optimized, arrays, options);
    let mut decision = summary(&store, &conditions, arrays);
    if conditions.is_empty() {
        decision.unknowns.push(Unresolved {
            kind: UnknownKind::NothingToCompare,
            message: "neither kernel writes an element that is compared".to_string(),
            count: 1,
        });
        return decision;
    }
    if shared {
        decision.unknowns.push(Unresolved {
            kind: UnknownKind::NondeterministicValue,
            message: "both kernels share a value that depends on the schedule".to_string(),
            count: 1,
        });
        return decision;
    }
    let readings = if options.exact_constants {
        Readings::default()
    } else {
        Readings::of(&store)
    };
    let judge = Judge {
        store: &store,
        arrays,
        options,
        readings: Arc::new(readings),
    };
    judge.all(&conditions, &mut decision);
    decision
}

/// True if the two stores use one number for unknowns of their own, which would make them equal.
fn shared_unknowns(a: &TermStore, b: &TermStore) -> bool {
    let serials = |s: &TermStore| -> FxHashSet<u32> {
        (0..s.len() as u32)
            .filter_map(|i| match s.get(TermId(i)) {
                Term::Fresh { serial, .. } => Some(serial),
                _ => None,
            })
            .collect()
    };
    !serials(a).is_disjoint(&serials(b))
}

fn summary(store: &TermStore, conditions: &[Condition], arrays: &Arrays) -> Decision {
    let mut outputs: BTreeMap<ArrayId, OutputSummary> = BTreeMap::new();
    for c in conditions {
        let o = outputs.entry(c.array).or_insert_with(|| OutputSummary {
            array: c.array,
            name: text::array_name(arrays, c.array),
            elements: 0,
            proved: 0,
        });
        o.elements += 1;
    }
    Decision {
        verdict: Verdict::Unknown,
        outputs: outputs.into_values().collect(),
        counterexample: None,
        unknowns: Vec::new(),
        warnings: Vec::new(),
        assumptions: Vec::new(),
        counts: Counts {
            conditions: conditions.len() as u64,
            terms: store.len() as u64,
            ..Counts::default()
        },
    }
}

/// How a condition was decided.
enum Ruling {
    Identical,
    SameForm {
        positive_logarithms: bool,
    },
    ByCases {
        positive_logarithms: bool,
    },
    /// The same form once these constants are read as what they stand for.
    Recovered {
        positive_logarithms: bool,
        used: BTreeSet<ConstId>,
    },
    Refuted(Box<Counterexample>),
    Open(Unresolved),
}

/// The rulings of one chunk, up to and including the first refutation.
struct Chunk {
    rulings: Vec<Ruling>,
    candidates: u64,
}

/// Proves every pair of a condition; the flag says that arguments of logarithms are taken to be
/// positive. The failure is the first that says more than a doubt about definedness.
fn prove_all(
    c: &Condition,
    mut prove: impl FnMut(TermId, TermId) -> Proof,
) -> Result<bool, (Proof, TermId, TermId)> {
    let mut logarithms = false;
    let mut failure = None;
    for &(a, b) in &c.pairs {
        match prove(a, b) {
            Proof::Yes {
                positive_logarithms,
            } => logarithms |= positive_logarithms,
            p @ Proof::Undefined(_) => failure = failure.or(Some((p, a, b))),
            p => return Err((p, a, b)),
        }
    }
    failure.map_or(Ok(logarithms), Err)
}

struct Judge<'a> {
    store: &'a TermStore,
    arrays: &'a Arrays,
    options: &'a Options,
    readings: Arc<Readings>,
}

/// The provers of a chunk: the exact one, and the one that reads rounded constants.
struct Provers<'a> {
    exact: Prover<'a>,
    recovering: Option<Prover<'a>>,
}

impl Judge<'_> {
    fn all(&self, conditions: &[Condition], decision: &mut Decision) {
        let size = self.chunk_size(conditions);
        let refuted = AtomicUsize::new(usize::MAX);
        let chunks: Vec<Option<Chunk>> = conditions
            .par_chunks(size)
            .enumerate()
            .map(|(i, c)| {
                if refuted.load(Ordering::Relaxed) < i {
                    return None;
                }
                let chunk = self.chunk(c);
                if let Some(Ruling::Refuted(_)) = chunk.rulings.last() {
                    refuted.fetch_min(i, Ordering::Relaxed);
                }
                Some(chunk)
            })
            .collect();
        let mut open: Vec<(ArrayId, Unresolved)> = Vec::new();
        let mut logarithms = false;
        let mut recovered: BTreeSet<ConstId> = BTreeSet::new();
        let kept = refuted.load(Ordering::Relaxed).saturating_add(1);
        for (i, chunk) in chunks.into_iter().enumerate().take(kept) {
            let Some(chunk) = chunk else { continue };
            decision.counts.candidates += chunk.candidates;
            for (ruling, c) in chunk.rulings.into_iter().zip(&conditions[i * size..]) {
                let proved = match ruling {
                    Ruling::Identical => {
                        decision.counts.by_identity += 1;
                        true
                    }
                    Ruling::SameForm {
                        positive_logarithms,
                    } => {
                        decision.counts.by_form += 1;
                        logarithms |= positive_logarithms;
                        true
                    }
                    Ruling::ByCases {
                        positive_logarithms,
                    } => {
                        decision.counts.by_cases += 1;
                        logarithms |= positive_logarithms;
                        true
                    }
                    Ruling::Recovered {
                        positive_logarithms,
                        used,
                    } => {
                        decision.counts.by_form += 1;
                        logarithms |= positive_logarithms;
                        recovered.extend(used);
                        true
                    }
                    Ruling::Refuted(w) => {
                        decision.counterexample = Some(*w);
                        false
                    }
                    Ruling::Open(u) => {
                        match open
                            .iter_mut()
                            .find(|(a, o)| *a == c.array && o.kind == u.kind)
                        {
                            Some((_, o)) => o.count += 1,
                            None => open.push((c.array, u)),
                        }
                        false
                    }
                };
                if proved && let Some(o) = decision.outputs.iter_mut().find(|o| o.array == c.array)
                {
                    o.proved += 1;
                }
            }
        }
        decision.unknowns = open.into_iter().map(|(_, u)| u).collect();
        for u in decision.unknowns.iter_mut().filter(|u| u.count > 1) {
            let more = u.count - 1;
            let s = if more == 1 { "" } else { "s" };
            u.message
                .push_str(&format!(" (and {more} more element{s})"));
        }
        if logarithms {
            decision
                .assumptions
                .push("arguments of logarithms are positive, not 0".to_string());
        }
        let readings = self.readings.describe(self.store, &recovered);
        decision.assumptions.extend(readings);
        decision.verdict = if decision.counterexample.is_some() {
            Verdict::NotEquivalent
        } else if decision.unknowns.is_empty() {
            Verdict::Equivalent
        } else {
            Verdict::Unknown
        };
    }

    /// Number of conditions of a chunk. Each chunk has a scratch of its own, in which what its
    /// conditions share is normalised once; so there are few chunks, and little work is one chunk.
    fn chunk_size(&self, conditions: &[Condition]) -> usize {
        let pairs = conditions.iter().flat_map(|c| &c.pairs);
        let open = pairs.filter(|(a, b)| a != b).flat_map(|&(a, b)| [a, b]);
        let work = self.store.cone_size(open) + conditions.len();
        let chunks = (work / CHUNK_WORK).clamp(1, MAX_CHUNKS);
        conditions.len().div_ceil(chunks).clamp(1, 1024)
    }

    fn chunk(&self, conditions: &[Condition]) -> Chunk {
        let mut provers = Provers {
            exact: Prover::new(self.store),
            recovering: None,
        };
        let mut out = Chunk {
            rulings: Vec::with_capacity(conditions.len()),
            candidates: 0,
        };
        let mut searches = 0;
        for c in conditions {
            let ruling = self.rule(c, &mut provers, &mut searches, &mut out.candidates);
            let last = matches!(ruling, Ruling::Refuted(_));
            out.rulings.push(ruling);
            if last {
                break;
            }
        }
        out
    }

    fn name(&self, c: &Condition) -> String {
        text::element(self.arrays, c.array, c.off, c.bytes as u64)
    }

    fn open(&self, c: &Condition, kind: UnknownKind, what: &str) -> Ruling {
        Ruling::Open(Unresolved {
            kind,
            message: format!("{}: {what}", self.name(c)),
            count: 1,
        })
    }

    fn late(&self) -> bool {
        let d = self.options.limits.deadline;
        d.is_some_and(|d| std::time::Instant::now() >= d)
    }

    /// Decides one condition, the cheapest way first.
    fn rule<'a>(
        &'a self,
        c: &Condition,
        provers: &mut Provers<'a>,
        searches: &mut usize,
        candidates: &mut u64,
    ) -> Ruling {
        if let Some(only) = c.only {
            return self.one_sided(c, only);
        }
        if c.pairs.iter().all(|(a, b)| a == b) {
            return Ruling::Identical;
        }
        if self.late() {
            return self.open(
                c,
                UnknownKind::Limit,
                "the time ran out before it was decided",
            );
        }
        let Provers {
            exact: prover,
            recovering,
        } = provers;
        let (failure, a, b) = match prove_all(c, |a, b| prover.implied(a, b)) {
            Ok(positive_logarithms) => {
                return Ruling::SameForm {
                    positive_logarithms,
                };
            }
            Err(failure) => failure,
        };
        if !self.readings.is_empty() {
            let readings = || Prover::recovering(self.store, self.readings.clone());
            let other = recovering.get_or_insert_with(readings);
            if let Ok(positive_logarithms) = prove_all(c, |a, b| other.implied(a, b)) {
                return Ruling::Recovered {
                    positive_logarithms,
                    used: other.used_readings().clone(),
                };
            }
        }
        let mut within_rounding = false;
        for (round, steps) in [QUICK_STEPS, STEPS].into_iter().enumerate() {
            if round == 1 && *searches >= SEARCHES {
                break;
            }
            let budget = witness::Budget {
                steps,
                deadline: self.options.limits.deadline,
            };
            let seed = self.options.seed;
            let search = witness::search(self.store, &c.pairs, self.arrays, seed, budget);
            *candidates += search.tried;
            within_rounding |= search.within_rounding;
            if let Some(found) = search.found {
                return Ruling::Refuted(Box::new(self.counterexample(c, found)));
            }
            if round == 1 || within_rounding {
                *searches += 1;
                break;
            }
            // What a quick search does not refute is worth a proof by cases.
            if failure == Proof::Differs
                && let Ok(positive_logarithms) = prove_all(c, |a, b| prover.implied_by_cases(a, b))
            {
                return Ruling::ByCases {
                    positive_logarithms,
                };
            }
        }
        let (kind, what) =
            explain::unresolved(self.store, self.arrays, failure, (a, b), within_rounding);
        self.open(c, kind, &what)
    }

    /// An element that only one kernel writes, in an array without initial content or where the
    /// other kernel's grid was not run as a whole.
    fn one_sided(&self, c: &Condition, only: elements::Only) -> Ruling {
        let (who, other) = match only.side {
            Side::Reference => ("reference", "optimized kernel"),
            Side::Optimized => ("optimized kernel", "reference"),
        };
        if !only.certain {
            let what = format!(
                "only the {who} writes it in the CTAs that were run; another CTA of the {other} may write it"
            );
            return self.open(c, UnknownKind::Undecided, &what);
        }
        let (a, b) = c.pairs[0];
        let t = if only.side == Side::Reference { a } else { b };
        let mode = crate::term::eval::Mode {
            prec: 96,
            tolerant: false,
        };
        let at = crate::term::eval::evaluate(self.store, &[t], &Default::default(), mode);
        let shown = at.first().and_then(|v| self.shown(v, c));
        let (reference, optimized) = match only.side {
            Side::Reference => (shown, None),
            Side::Optimized => (None, shown),
        };
        Ruling::Refuted(Box::new(Counterexample {
            array: c.array,
            output: text::array_name(self.arrays, c.array),
            element: text::index(self.arrays, c.array, c.off, c.bytes as u64),
            offset: c.off,
            reference,
            optimized,
            message: format!("only the {who} writes {}", self.name(c)),
            inputs: Vec::new(),
        }))
    }

    /// A value of an element; bits are read in the element's type.
    fn shown(&self, v: &Value, c: &Condition) -> Option<Shown> {
        text::value(v, c.ty)
    }

    fn counterexample(&self, c: &Condition, found: witness::Found) -> Counterexample {
        // A pair may be a part of the element; bits of a part are shown as they are.
        let ty = if c.pairs.len() == 1 { c.ty } else { None };
        let reference = text::value(&found.reference, ty);
        let optimized = text::value(&found.optimized, ty);
        let text_of = |s: &Option<Shown>| s.as_ref().map_or("undefined".into(), |s| s.text.clone());
        let message = format!(
            "{} is {} in the reference and {} in the optimized kernel",
            self.name(c),
            text_of(&reference),
            text_of(&optimized)
        );
        let input = |&(cell, bits): &(cells::Cell, u64)| InputValue {
            array: cell.array,
            name: text::array_name(self.arrays, cell.array),
            element: text::index(self.arrays, cell.array, cell.off, cell.bytes as u64),
            offset: cell.off,
            ty: text::type_name(cell.ty),
            value: text::bits(bits, Some(cell.ty)),
        };
        Counterexample {
            array: c.array,
            output: text::array_name(self.arrays, c.array),
            element: text::index(self.arrays, c.array, c.off, c.bytes as u64),
            offset: c.off,
            reference,
            optimized,
            message,
            inputs: found.inputs.iter().map(input).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
