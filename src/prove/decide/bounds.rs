//! Are the places that data choose inside of their arrays?
//!
//! Problem: of the reference an access at such a place is part of being defined, so it is taken for granted; the optimized
//! kernel must access nothing that does not follow from it. The way, for each place that the optimized kernel accesses:
//! the reference does so too (the same bits, or the same linear form where no integer wraps); or the ranges that follow
//! from the reads of the reference, from the guards of the access and from facts keep it inside; or an input is
//! found on which the reference stays inside and the optimized kernel does not.
//!
//! Sound: a range of an integer follows from a read of the reference only if that happens under conditions that the access
//! has as well, and only as far as the arithmetic of the reference does not wrap, which is listed.
//!
//! A kernel that is looked at alone has no reference: there facts and contents decide (`alone`).
//!
//! Not claimed: relations between several integers, but that the same combination of them is read, or that the Boolean
//! back end shows what is asked (`search`).

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::refute::cells;
use super::refute::links::Links;
use crate::answer::{Assumption, AssumptionKind};
use crate::sim::gather::{Gather, Object};
use crate::sim::{DefectKind, Finding, Outcome, UnknownKind};
use crate::spec::{Arrays, ElemTy, Limits};
use crate::term::conditions::meet;
use crate::term::eval::Cone;
use crate::term::gather::Linear;
use crate::term::{BitsOp, ICmp, TermId, TermStore};

/// Accesses for which an input is looked for.
const SEARCHES: u32 = 16;
/// Failures of the Boolean back end after which it is not asked.
const PROOFS: u32 = 64;

mod alone;
mod search;

pub use alone::{alone, left_out};
pub use search::Input;
use search::{proved, refuted};

/// What holds where a gather is inside of its array: a condition over the inputs.
pub(crate) fn inside(store: &mut TermStore, g: &Gather, arrays: &Arrays) -> TermId {
    let (lo, hi) = g.span;
    let size = (hi - lo) as u64;
    let extent = extent(g, arrays);
    let from = store.bits(64, lo as u64);
    let first = store.bits_op(BitsOp::Add, g.raw, from);
    let mut ok = match extent {
        Some(e) if e < size => store.bool(false),
        Some(e) => {
            let last = store.bits(64, e - size);
            store.icmp(ICmp::ULe, first, last)
        }
        None => {
            let zero = store.bits(64, 0);
            store.icmp(ICmp::SLe, zero, first)
        }
    };
    if let Some(n) = g.unaligned {
        let mask = store.bits(64, u64::from(n) - 1);
        let low = store.bits_op(BitsOp::And, first, mask);
        let zero = store.bits(64, 0);
        let aligned = store.icmp(ICmp::Eq, low, zero);
        ok = store.and(ok, aligned);
    }
    match g.cond {
        Some(c) => {
            let not = store.not(c);
            store.or(not, ok)
        }
        None => ok,
    }
}

/// The bytes of the object of an access, where they are known.
fn extent(g: &Gather, arrays: &Arrays) -> Option<u64> {
    match &g.object {
        Object::Array(a) => arrays.0.get(a.0 as usize)?.extent,
        Object::Own(_, bytes) => Some(*bytes),
        // Nothing is inside.
        Object::Failure(_) => Some(0),
    }
}

/// The name of the object of an access.
fn name(g: &Gather, arrays: &Arrays) -> String {
    match &g.object {
        Object::Array(a) => crate::explain::text::array_name(arrays, *a),
        Object::Own(name, _) => name.to_string(),
        Object::Failure(_) => "no array".into(),
    }
}

/// What the kernel does where the condition of an entry holds, if it fails there.
fn failure(g: &Gather) -> Option<&'static str> {
    match g.object {
        Object::Failure(what) => Some(what),
        Object::Array(_) | Object::Own(..) => None,
    }
}

/// Whether numbers alone decide a condition: what a formula reads at places that data choose leaves them free.
fn asks_numbers(store: &TermStore, cond: Option<TermId>, arrays: &Arrays) -> bool {
    let cone = Cone::new(store, cond.as_slice());
    let cells = cells::cells(store, &cone, arrays);
    cells.iter().all(|c| matches!(c.ty, ElemTy::Float(_)))
}

/// The reads of the reference, prepared for many questions.
pub(crate) struct PreparedReads<'a> {
    store: &'a TermStore,
    arrays: &'a Arrays,
    reads: Vec<Read<'a>>,
    /// Reads by the bits of their places, and by the linear forms of these: of the reads of a table most are another one's.
    by_raw: FxHashMap<TermId, Vec<usize>>,
    by_linear: FxHashMap<Linear, Vec<usize>>,
    /// The ranges of integers under conditions that were met.
    ranges: FxHashMap<Vec<TermId>, Rc<Ranges>>,
    /// Some access was shown to be inside by other bits than those of the reference.
    by_form: bool,
}

/// A read with its linear form and its conditions.
type Read<'a> = (&'a Gather, Linear, Vec<TermId>);

/// An array and a linear form without its constant part.
type Spot<'l> = (&'l Object, &'l [(TermId, i128)]);

type Ranges = FxHashMap<TermId, (i128, i128)>;

impl<'a> PreparedReads<'a> {
    pub(crate) fn new(
        store: &'a TermStore,
        reads: &'a [Gather],
        forms: Vec<Linear>,
        arrays: &'a Arrays,
    ) -> PreparedReads<'a> {
        let mut by_raw: FxHashMap<TermId, Vec<usize>> = FxHashMap::default();
        let mut by_linear: FxHashMap<Linear, Vec<usize>> = FxHashMap::default();
        for (i, (g, l)) in reads.iter().zip(&forms).enumerate() {
            by_raw.entry(g.raw).or_default().push(i);
            by_linear.entry(l.clone()).or_default().push(i);
        }
        let all = reads.iter().zip(forms);
        PreparedReads {
            store,
            arrays,
            reads: all.map(|(g, l)| (g, l, store.conjuncts(g.cond))).collect(),
            by_raw,
            by_linear,
            ranges: FxHashMap::default(),
            by_form: false,
        }
    }

    fn extent(&self, g: &Gather) -> Option<i128> {
        extent(g, self.arrays).map(i128::from)
    }

    /// Whether an access of the optimized kernel stays inside of its array, as far as can be shown.
    pub(crate) fn is_inside(&mut self, g: &Gather, linear: &Linear) -> bool {
        let conds = self.store.conjuncts(g.cond);
        let implied = |own: &[TermId]| own.iter().all(|c| conds.binary_search(c).is_ok());
        // A variable of one kernel is none of the other.
        let is_array = matches!(g.object, Object::Array(_));
        let covers = |same: Option<&Vec<usize>>, fits: &dyn Fn(&Gather) -> bool| {
            let same = same.into_iter().flatten().map(|&i| &self.reads[i]);
            let all =
                same.filter(|r| is_array && implied(&r.2) && r.0.object == g.object && fits(r.0));
            let span = all.fold(None, |s: Option<(i64, i64)>, r| {
                let (a, b) = r.0.span;
                Some(s.map_or((a, b), |(x, y)| (x.min(a), y.max(b))))
            });
            span.is_some_and(|(a, b)| a <= g.span.0 && g.span.1 <= b)
        };
        let aligned = |r: &Gather| match g.unaligned {
            None => true,
            Some(n) => {
                let by = (r.span.0 - g.span.0).rem_euclid(i64::from(n));
                r.unaligned.is_some_and(|m| m >= n) && by == 0
            }
        };
        if covers(self.by_raw.get(&g.raw), &aligned) {
            return true;
        }
        if g.unaligned.is_some() {
            return false;
        }
        let ranges = match self.ranges.get(&conds) {
            Some(known) => known.clone(),
            None => {
                let reads: Vec<_> = self.reads.iter().filter(|r| implied(&r.2)).collect();
                Rc::new(self.ranges_of(&reads, &conds))
            }
        };
        let of = |t: TermId| {
            let own = self.store.integer_range(t);
            ranges.get(&t).map_or(own, |r| meet(*r, own))
        };
        if !g.fits.iter().all(|f| f.holds(of)) {
            self.ranges.entry(conds).or_insert(ranges);
            return false;
        }
        let within = || {
            let ((lo, hi), extent) = linear.interval(of).zip(self.extent(g))?;
            Some(0 <= lo + i128::from(g.span.0) && hi + i128::from(g.span.1) <= extent)
        };
        let found = covers(self.by_linear.get(linear), &|_| true) || within() == Some(true);
        self.by_form |= found;
        self.ranges.entry(conds).or_insert(ranges);
        found
    }

    /// Whether what was found rests on arithmetic of the reference that does not wrap: one symbol may stand for
    /// other bits only then.
    pub(crate) fn wraps(&self) -> bool {
        let mut raws: FxHashMap<Spot<'_>, TermId> = FxHashMap::default();
        let reads = self.reads.iter();
        let several = reads
            .filter(|(g, l, _)| *raws.entry((&g.object, &l.terms[..])).or_insert(g.raw) != g.raw);
        let several = several.count() > 0;
        (self.by_form || several) && self.reads.iter().any(|r| !r.0.fits.is_empty())
    }

    /// Ranges of integers.
    fn ranges_of(&self, reads: &[&Read<'_>], conds: &[TermId]) -> Ranges {
        let mut out = Ranges::default();
        let mut add = |t: TermId, range: (i128, i128)| {
            let own = out
                .get(&t)
                .copied()
                .unwrap_or_else(|| self.store.integer_range(t));
            out.insert(t, meet(own, range));
        };
        for &&(g, ref linear, _) in reads {
            // One integer alone: k * t + lo >= 0 and k * t + hi <= extent.
            let (&[(t, k)], Some(extent)) = (&linear.terms[..], self.extent(g)) else {
                continue;
            };
            let least = -(linear.constant + i128::from(g.span.0));
            let most = extent - linear.constant - i128::from(g.span.1);
            let range = match k > 0 {
                true => (
                    least.div_euclid(k) + i128::from(least.rem_euclid(k) != 0),
                    most.div_euclid(k),
                ),
                false => (
                    -most.div_euclid(-k),
                    -(least.div_euclid(-k) + i128::from(least.rem_euclid(-k) != 0)),
                ),
            };
            add(t, range);
        }
        for &c in conds {
            if let Some((t, range)) = self.store.bounded(c) {
                add(t, range);
            }
        }
        out
    }
}

/// What is said of a failure that neither was excluded nor found.
fn open_failure(what: &str) -> String {
    format!(
        "neither was it shown that no input makes the kernel go where it {what}, nor was such an input found: say more of the \
         data with --assume 'KEY in A..B'"
    )
}

/// What the reads of a pair at places that data choose come to.
#[derive(Debug, Default)]
pub struct Settled {
    /// Reads of the optimized kernel that leave their arrays.
    pub defects: Vec<Finding<DefectKind>>,
    /// What was not shown.
    pub unknowns: Vec<Finding<UnknownKind>>,
    /// What was taken for granted.
    pub assumptions: Vec<Assumption>,
}

impl Settled {
    /// Adds a read that was not shown to be inside, with the input, if any, on which it is not.
    fn add(&mut self, store: &TermStore, g: &Gather, found: Option<String>, arrays: &Arrays) {
        let sites = vec![g.site.clone()];
        let place = format!("a place in {} that data choose", name(g, arrays));
        match (found, failure(g)) {
            (Some(with), Some(what)) => add(
                &mut self.defects,
                Finding::new(
                    DefectKind::Assertion,
                    format!("the kernel {what} with {with}, where the reference is defined"),
                )
                .at(sites),
            ),
            (None, Some(what)) => add(
                &mut self.unknowns,
                Finding::new(UnknownKind::Undecided, open_failure(what)).at(sites),
            ),
            (Some(with), None) if g.unaligned.is_some() => add(
                &mut self.defects,
                Finding::new(
                    DefectKind::MisalignedAccess,
                    format!("{place} is not aligned or not inside with {with}"),
                )
                .at(sites),
            ),
            (Some(with), None) => add(
                &mut self.defects,
                Finding::new(
                    DefectKind::OutOfBounds,
                    format!(
                        "{place} is outside of it with {with}, where the reference accesses nothing outside"
                    ),
                )
                .at(sites),
            ),
            (None, None) => {
                let by = chosen_by(store, g, arrays);
                let message = match g.fits.is_empty() {
                    true => format!(
                        "that {place} lies in it does not follow from what the reference accesses: say what its indices \
                         are with --assume '{by} in A..B'"
                    ),
                    false => format!(
                        "whether the integers that choose {place} wrap is open: say how large its indices are with \
                         --assume '{by} in A..B'"
                    ),
                };
                let finding = Finding::new(UnknownKind::DataDependentAddress, message);
                add(&mut self.unknowns, finding.at(sites));
            }
        }
    }
}

/// Settles the reads of a pair.
pub fn settle(
    reference: &Outcome,
    optimized: &Outcome,
    arrays: &Arrays,
    (seed, limits): (u64, &Limits),
) -> Settled {
    let mut out = Settled::default();
    if reference.gathers.is_empty() && optimized.gathers.is_empty() {
        return out;
    }
    let mut store = TermStore::new();
    let reads = moved(&mut store, reference);
    let accesses = moved(&mut store, optimized);
    let mut premises: Vec<TermId> = reads
        .iter()
        .map(|g| inside(&mut store, g, arrays))
        .collect();
    premises.sort_unstable();
    premises.dedup();
    let goals: Vec<TermId> = accesses
        .iter()
        .map(|g| inside(&mut store, g, arrays))
        .collect();
    if !is_satisfiable(&store, &premises, arrays) {
        out.unknowns.push(Finding::new(
            UnknownKind::Undefined,
            "no input was found on which all places that data choose lie in their arrays",
        ));
        return out;
    }
    let [forms, own] = [&reads, &accesses].map(|all| -> Vec<Linear> {
        let form = |g: &Gather| match store.linear(g.raw) {
            Some(i) => i.linear,
            None => Linear::atom(g.raw),
        };
        all.iter().map(form).collect()
    });
    let mut known = PreparedReads::new(&store, &reads, forms, arrays);
    let (mut searches, mut proofs) = (0, PROOFS);
    for ((g, &goal), linear) in accesses.iter().zip(&goals).zip(&own) {
        if premises.binary_search(&goal).is_ok() || known.is_inside(g, linear) {
            continue;
        }
        // What was refuted at one instruction is not looked for again.
        let pc = g.site.pc;
        let refuted_there = |f: &&mut Finding<DefectKind>| f.sites.iter().any(|s| s.pc == pc);
        if let Some(f) = out.defects.iter_mut().find(refuted_there) {
            f.count += 1;
            continue;
        }
        searches += 1;
        // What a formula reads is not listed as what a kernel reads is, so that it refutes nothing.
        let is_kernel = reference.stats.warp_instructions > 0
            || failure(g).is_some() && asks_numbers(&store, g.cond, arrays);
        let found = match searches > SEARCHES || !is_kernel {
            true => None,
            false => refuted(&store, (goal, g.raw), &premises, arrays, seed),
        };
        if found.is_none() && proofs > 0 {
            if proved(&store, goal, &premises, limits) {
                continue;
            }
            proofs -= 1;
        }
        let found = found.map(|f| crate::explain::text::inputs(&store, &f, arrays));
        out.add(&store, g, found, arrays);
    }
    if known.wraps() {
        let said = "in the reference, no integer wraps on the way to a place that data choose";
        out.assumptions.push(AssumptionKind::NoWrap.says(said));
    }
    out
}

/// The array or parameter that chooses the place of an access, where it is one.
fn chosen_by(store: &TermStore, g: &Gather, arrays: &Arrays) -> String {
    let cone = Cone::new(store, &[g.raw]);
    let mut all: Vec<String> = cells::cells(store, &cone, arrays)
        .iter()
        .map(|c| crate::explain::text::array_name(arrays, store.array_of(c.array)))
        .collect();
    all.sort_unstable();
    all.dedup();
    match &all[..] {
        [one] => one.clone(),
        _ => "KEY".into(),
    }
}

fn add<K: PartialEq>(list: &mut Vec<Finding<K>>, f: Finding<K>) {
    let same = |g: &&mut Finding<K>| g.sites.first().map(|s| s.pc) == f.sites.first().map(|s| s.pc);
    match list.iter_mut().find(same) {
        Some(g) => g.count += f.count,
        None => list.push(f),
    }
}

/// The gathers of a run in a store.
fn moved(store: &mut TermStore, run: &Outcome) -> Vec<Gather> {
    let mut roots: Vec<TermId> = Vec::new();
    for g in &run.gathers {
        roots.push(g.raw);
        roots.extend(g.cond);
        roots.extend(
            g.fits
                .iter()
                .flat_map(|f| f.value.terms.iter().map(|t| t.0)),
        );
    }
    let images = store.import_below(&run.store, &roots);
    let map: FxHashMap<TermId, TermId> = roots.into_iter().zip(images).collect();
    let gathers = run.gathers.iter().cloned();
    gathers.map(|g| g.moved(|t| map[&t], None)).collect()
}

/// Whether an input was found of which all premises hold.
fn is_satisfiable(store: &TermStore, premises: &[TermId], arrays: &Arrays) -> bool {
    let cone = Cone::new(store, premises);
    let cells = cells::cells(store, &cone, arrays);
    let links = Links::new(store, &cells, premises);
    links.is_none_or(|l| l.settled(store, &cells, &vec![0; cells.len()]).is_some())
}

/// Keeps what holds where all reads of a run are inside beside its terms.
pub fn note_premises(run: &mut Outcome, arrays: &Arrays) {
    for g in &run.gathers {
        let p = inside(&mut run.store, g, arrays);
        if run.store.as_bool(p) != Some(true) && !run.store.premises.contains(&p) {
            run.store.premises.push(p);
        }
    }
}
