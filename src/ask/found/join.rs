//! One report of several that answer one question together: those of the contents that facts allow.
//!
//! Problem: what a part found, warns of or takes for granted holds of the whole, and none of it may be lost. The way:
//! every field is named, so that a new one does not compile before it is said here what becomes of it.
//!
//! Sound: the verdict is the worst one, the assumptions are those of all parts, and a proof at random points may be wrong
//! in each of them.

use indexmap::IndexMap;

use crate::answer::rounding::{Close, Error, Kind, Measured, Rounding, Spread};
use crate::answer::{
    Assumption, AssumptionKind, CertificateMade, Chance, DecisionCounts, Determinism, Finding,
    KernelAnswer, Output, Outputs, Precision, Report, RunCounts, SameBits, Scope, Seconds, Sides,
    Site, Stats, Subject, Values, coverage, precision,
};
use crate::decide;

/// Adds another part: the answer is then about both.
pub(crate) fn join(mine: &mut Report, mut other: Report) {
    coverage::unite(&mut [&mut *mine, &mut other]);
    let Report {
        // The parts are of one question: one program, one command, one launch.
        schema: _,
        volta: _,
        command: _,
        inputs: _,
        sizes: _,
        instances: _,
        verdict,
        values,
        scope,
        kernel,
        reference,
        optimized,
        sync,
        together,
        every_launch,
        classes,
        sass,
        defects,
        warnings,
        denied,
        unknown,
        counterexample,
        outputs,
        probabilistic,
        assumptions,
        precision,
        deterministic,
        determinism,
        rounding,
        certificate,
        stats,
        looked,
    } = other;
    if verdict.rank() > mine.verdict.rank() {
        mine.verdict = verdict;
    }
    both(&mut mine.values, values, |a, b| *a = worse_values(*a, b));
    join_scope(&mut mine.scope, scope);
    both(&mut mine.kernel, kernel, join_subject);
    both(&mut mine.reference, reference, join_subject);
    both(&mut mine.optimized, optimized, join_subject);
    // What is found in the text of the kernels is the same in every part.
    both(&mut mine.sync, sync, |_, _| {});
    both(&mut mine.together, together, |_, _| {});
    both(&mut mine.every_launch, every_launch, |_, _| {});
    both(&mut mine.classes, classes, |_, _| {});
    both(&mut mine.sass, sass, |_, _| {});
    findings(&mut mine.defects, defects);
    findings(&mut mine.warnings, warnings);
    findings(&mut mine.unknown, unknown);
    mine.denied.extend(denied);
    mine.denied.sort_unstable();
    mine.denied.dedup();
    // One input is enough.
    both(&mut mine.counterexample, counterexample, |_, _| {});
    join_outputs(&mut mine.outputs, outputs);
    Assumption::unite(&mut mine.assumptions, assumptions);
    both(&mut mine.probabilistic, probabilistic, join_chance);
    if let Some(chance) = &mine.probabilistic {
        say_chance(&mut mine.assumptions, chance);
    }
    join_precision(&mut mine.precision, precision);
    let worse = |a: &mut SameBits, b| *a = worse_bits(*a, b);
    both(&mut mine.deterministic, deterministic, worse);
    both(&mut mine.determinism, determinism, join_determinism);
    both(&mut mine.rounding, rounding, join_rounding);
    both(&mut mine.certificate, certificate, |a, _| {
        let why = "the proof is one for each content that --assume allows";
        *a = CertificateMade::none(why.into());
    });
    join_stats(&mut mine.stats, stats);
    for l in looked {
        let same = |k: &coverage::Looked| (k.kernel, &k.at, k.thin) == (l.kernel, &l.at, l.thin);
        if !mine.looked.iter().any(same) {
            mine.looked.push(l);
        }
    }
}

/// Joins what both may lack.
fn both<T>(mine: &mut Option<T>, theirs: Option<T>, join: impl FnOnce(&mut T, T)) {
    match (mine.as_mut(), theirs) {
        (Some(a), Some(b)) => join(a, b),
        (None, Some(b)) => *mine = Some(b),
        (_, None) => {}
    }
}

fn join_sides<T>(mine: &mut Sides<T>, theirs: Sides<T>, join: impl Fn(&mut T, T)) {
    let Sides {
        kernel,
        reference,
        optimized,
    } = theirs;
    both(&mut mine.kernel, kernel, &join);
    both(&mut mine.reference, reference, &join);
    both(&mut mine.optimized, optimized, &join);
}

/// Adds what there is no equal of.
fn union<T>(mine: &mut Vec<T>, theirs: Vec<T>, same: impl Fn(&T, &T) -> bool) {
    for b in theirs {
        if !mine.iter().any(|a| same(a, &b)) {
            mine.push(b);
        }
    }
}

/// Adds findings; one of the same kind at the same places is counted.
pub(crate) fn findings<K: PartialEq>(mine: &mut Vec<Finding<K>>, theirs: Vec<Finding<K>>) {
    let places = |f: &Finding<K>| -> Vec<_> {
        let place = |s: &Site| (s.launch, s.file.clone(), s.line, s.column);
        f.sites.iter().map(place).collect()
    };
    for b in theirs {
        let at = places(&b);
        // What has no place is told apart by its sentence.
        let same = |a: &&mut Finding<K>| {
            (a.kernel, &a.kind) == (b.kernel, &b.kind)
                && places(a) == at
                && (!at.is_empty() || a.message == b.message)
        };
        match mine.iter_mut().find(same) {
            Some(a) => a.count += b.count,
            None => mine.push(b),
        }
    }
}

/// The one of higher rank, the first of equals.
fn worse<T: Copy>(a: T, b: T, rank: impl Fn(T) -> u8) -> T {
    if rank(b) > rank(a) { b } else { a }
}

fn worse_values(a: Values, b: Values) -> Values {
    worse(a, b, |v| match v {
        Values::Equal => 0,
        Values::Unknown => 1,
        Values::Different => 2,
    })
}

fn worse_bits(a: SameBits, b: SameBits) -> SameBits {
    worse(a, b, |v| match v {
        SameBits::Yes => 0,
        SameBits::Unknown => 1,
        SameBits::No => 2,
    })
}

fn join_determinism(mine: &mut Determinism, theirs: Determinism) {
    if worse_bits(mine.answer, theirs.answer) != mine.answer {
        *mine = theirs;
    }
}

fn join_scope(mine: &mut Scope, theirs: Scope) {
    let Scope {
        ctas,
        reference_ctas,
        optimized_ctas,
        whole_grid,
        launches,
    } = theirs;
    let all = |a: &mut Vec<[u32; 3]>, b| union(a, b, |x, y| x == y);
    both(&mut mine.ctas, ctas, all);
    both(&mut mine.reference_ctas, reference_ctas, all);
    both(&mut mine.optimized_ctas, optimized_ctas, all);
    mine.whole_grid &= whole_grid;
    both(&mut mine.launches, launches, |a, b| {
        union(&mut a.assumed, b.assumed, |x, y| x == y);
    });
}

fn join_subject(mine: &mut Subject, theirs: Subject) {
    let join = |a: &mut KernelAnswer, b: KernelAnswer| a.whole_grid &= b.whole_grid;
    match (mine, theirs) {
        (Subject::Kernel(a), Subject::Kernel(b)) => join(a, b),
        (Subject::Sequence { launches: a }, Subject::Sequence { launches: b }) => {
            a.iter_mut().zip(b).for_each(|(a, b)| join(a, b));
        }
        (Subject::Kernel(_) | Subject::Sequence { .. } | Subject::Formula { .. }, _) => {}
    }
}

/// Of each output that part counts that leaves most of it open, or else compares most.
fn join_outputs(mine: &mut Outputs, theirs: Outputs) {
    let (Outputs::Compared(mine), Outputs::Compared(theirs)) = (mine, theirs) else {
        return;
    };
    for b in theirs {
        let size = |o: &Output| (o.elements - o.proved.min(o.elements), o.elements);
        match mine.iter_mut().find(|a| a.name == b.name) {
            Some(a) if size(a) < size(&b) => *a = b,
            Some(_) => {}
            None => mine.push(b),
        }
    }
}

/// Each part may be wrong by its own chance.
fn join_chance(mine: &mut Chance, theirs: Chance) {
    let (a, b) = (mine.log2_error, theirs.log2_error);
    let log2_error = a.max(b) + (1.0 + (-(a - b).abs()).exp2()).log2();
    let all = decide::Chance {
        elements: mine.elements + theirs.elements,
        points: mine.points.max(theirs.points) as usize,
        error: log2_error.ceil(),
    };
    *mine = (&all).into();
}

/// Lists the chance of all parts in place of those of each.
fn say_chance(assumptions: &mut Vec<Assumption>, chance: &Chance) {
    let all = decide::Chance {
        elements: chance.elements,
        points: chance.points as usize,
        error: chance.log2_error,
    };
    assumptions.retain(|a| a.kind != AssumptionKind::Probability);
    assumptions.push(all.assumption());
}

fn join_precision(mine: &mut Precision, theirs: Precision) {
    let Precision {
        kernels,
        differences,
        shown,
    } = theirs;
    fn key(r: &precision::Rounding) -> (&str, &str, Option<&str>, &str, Option<u32>) {
        let line = r.sites.first().map(|s| s.line);
        (&r.format, &r.kind, r.from.as_deref(), &r.r#use, line)
    }
    join_sides(&mut mine.kernels, kernels, |mine, theirs| {
        for b in theirs {
            match mine.iter_mut().find(|a| key(a) == key(&b)) {
                Some(a) => {
                    a.instructions = a.instructions.max(b.instructions);
                    a.executions = a.executions.max(b.executions);
                    a.values = a.values.max(b.values);
                }
                None => mine.push(b),
            }
        }
    });
    union(&mut mine.differences, differences, |a, b| {
        (&a.kind, &a.format, &a.message) == (&b.kind, &b.format, &b.message)
    });
    mine.shown |= shown;
}

fn join_rounding(mine: &mut Rounding, theirs: Rounding) {
    let Rounding {
        samples,
        seed: _, // one for the question
        left_out,
        outputs,
        deterministic,
    } = theirs;
    mine.samples += samples;
    both(&mut mine.left_out, left_out, |_, _| {});
    for b in outputs {
        match mine.outputs.iter_mut().find(|a| a.name == b.name) {
            Some(a) => join_measured(a, b),
            None => mine.outputs.push(b),
        }
    }
    join_sides(&mut mine.deterministic, deterministic, join_determinism);
}

fn join_measured(mine: &mut Measured, theirs: Measured) {
    let Measured {
        name: _,   // by it they were paired
        r#type: _, // of one array
        elements,
        errors,
        inputs,
        by_element,
    } = theirs;
    mine.elements = mine.elements.max(elements);
    join_sides(&mut mine.errors, errors, join_error);
    for b in inputs {
        match mine.inputs.iter_mut().find(|a| a.name == b.name) {
            Some(a) => join_kind(a, b),
            None => mine.inputs.push(b),
        }
    }
    join_sides(&mut mine.by_element, by_element, |mine, theirs| {
        let known = mine.len().min(theirs.len());
        mine.iter_mut()
            .zip(&theirs)
            .for_each(|(a, b)| *a = a.max(*b));
        mine.extend(&theirs[known..]);
    });
}

fn join_error(mine: &mut Error, theirs: Error) {
    let Error {
        spread,
        worst,
        operations,
        bound,
    } = theirs;
    if spread.ulps > mine.spread.ulps {
        (mine.worst, mine.operations) = (worst, operations);
    }
    join_spread(&mut mine.spread, spread);
    // A bound holds of all inputs only if each part has one.
    mine.bound = mine.bound.take().zip(bound).map(|(mut a, b)| {
        a.roundings = a.roundings.max(b.roundings);
        a.of_terms = a.of_terms.zip(b.of_terms).map(|(x, y)| x.max(y));
        a.rest = a.rest.zip(b.rest).map(|(x, y)| x.max(y));
        a.within = a.within.into_iter().chain(b.within).reduce(f64::min);
        a.left_out = a.left_out.or(b.left_out);
        a.absolute = a.absolute.zip(b.absolute).map(|(x, y)| x.max(y));
        a
    });
}

/// The mean is that of the worse part.
fn join_spread(mine: &mut Spread, theirs: Spread) {
    let Spread {
        ulps,
        mean_ulps,
        relative,
        absolute,
        overflows,
        underflows,
        nans,
    } = theirs;
    mine.ulps = mine.ulps.max(ulps);
    mine.mean_ulps = mine.mean_ulps.max(mean_ulps);
    mine.relative = mine.relative.max(relative);
    mine.absolute = mine.absolute.max(absolute);
    mine.overflows += overflows;
    mine.underflows += underflows;
    mine.nans += nans;
}

fn join_kind(mine: &mut Kind, theirs: Kind) {
    let Kind {
        name: _, // by it they were paired
        samples,
        errors,
        close,
    } = theirs;
    mine.samples += samples;
    join_sides(&mut mine.errors, errors, join_spread);
    both(&mut mine.close, close, |a, b| {
        let Close {
            passes,
            rtol: _, // the default of the type
            atol: _, // likewise
            least_rtol,
            least_atol,
            same_bits,
        } = b;
        a.passes &= passes;
        a.least_rtol = a.least_rtol.zip(least_rtol).map(|(x, y)| x.max(y));
        a.least_atol = a.least_atol.zip(least_atol).map(|(x, y)| x.max(y));
        a.same_bits &= same_bits;
    });
}

fn join_stats(mine: &mut Stats, theirs: Stats) {
    let Stats {
        kernel,
        reference,
        optimized,
        decision,
        work,
        runs,
        rules,
        seconds,
    } = theirs;
    both(&mut mine.kernel, kernel, join_runs);
    both(&mut mine.reference, reference, join_runs);
    both(&mut mine.optimized, optimized, join_runs);
    both(&mut mine.decision, decision, |a, b| {
        let DecisionCounts {
            conditions,
            by,
            terms,
            candidates,
        } = b;
        a.conditions += conditions;
        add_counts(&mut a.by, by);
        a.terms += terms;
        a.candidates += candidates;
    });
    mine.work += work;
    add_counts(&mut mine.runs, runs);
    add_counts(&mut mine.rules, rules);
    join_seconds(&mut mine.seconds, seconds);
}

fn join_runs(mine: &mut RunCounts, theirs: RunCounts) {
    let RunCounts {
        thread_instructions,
        warp_instructions,
        barrier_arrivals,
        warp_syncs,
        accesses,
        terms,
    } = theirs;
    mine.thread_instructions += thread_instructions;
    mine.warp_instructions += warp_instructions;
    mine.barrier_arrivals += barrier_arrivals;
    mine.warp_syncs += warp_syncs;
    mine.accesses += accesses;
    mine.terms += terms;
}

fn add_counts(mine: &mut IndexMap<String, u64>, theirs: IndexMap<String, u64>) {
    for (name, n) in theirs {
        *mine.entry(name).or_default() += n;
    }
}

/// Each part counts from the start of the question: what is not parsing and not its own decision was spent on runs.
fn join_seconds(mine: &mut Seconds, theirs: Seconds) {
    let Seconds {
        parse,
        simulate: _, // what is left of the total
        decide,
        total,
    } = theirs;
    mine.parse = mine.parse.max(parse);
    mine.decide += decide;
    mine.total = mine.total.max(total);
    mine.simulate = (mine.total - mine.parse - mine.decide).max(0.0);
}

#[cfg(test)]
mod tests;
