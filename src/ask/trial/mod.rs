//! A pair on known data, where one kernel has no outcome over symbols, or bits of computed numbers decide.
//!
//! The problem: if an address or a branch of the optimized kernel depends on input data, its run
//! ends in `unknown`, though most such kernels are plainly wrong: the lane of a shuffle that is read
//! from the wrong register, a flag that tests a value. The way: give the arrays known content, run
//! both kernels, and compare what they write (`inputs` says which inputs, and when a difference
//! counts). The semantics are the same, with more of it known.
//!
//! Sound: only where the reference has a clean run over symbols, so that no property of the data that
//! it takes for granted is broken, and a clean run with values on this input, does a difference or a
//! defect of the optimized kernel count. Nothing else is concluded.

mod inputs;

use crate::answer::{self, Assumption, DefectKind, Part, UnknownKind, WarningKind};
use crate::decide::bounds::Input;
use crate::explain::{self, Counterexample, InputValue, Verdict};
use crate::explore::{self, Look, Reason};
use crate::found::launches::{self, Ran};
use crate::grid::{Subject, scope};
use crate::sim::{Clean, Finding, Outcome};
use crate::spec::{Given, Limits, Resolved, Role, Setup};
use crate::term::ArrayId;

/// Instructions times lanes that the trials of a pair may take.
const WORK: u64 = 100_000_000;

/// Trials that leave open what was open before, after which no other is made.
const UNCHANGED: u32 = 3;

/// What a trial found.
pub(crate) enum Refuted {
    /// An output differs.
    Differs(Box<Counterexample>, Vec<Assumption>),
    /// Defects of the optimized kernel.
    Defects(Vec<answer::Finding<DefectKind>>),
}

/// Runs both sides on known data, if that can tell anything: the reference was clean, and the
/// optimized kernel without defects. `ran` describes the optimized kernel.
pub(crate) fn run(
    sides: &[&[Subject<'_>]],
    reference: &Clean,
    optimized: &Outcome,
    ran: &[Ran<'_>],
) -> Option<Refuted> {
    let &[first, second] = sides else {
        return None;
    };
    let sides = [first, second];
    let any = first.first()?;
    let of_data = |u: &Finding<UnknownKind>| u.kind.is_of_data();
    if !optimized.defects.is_empty() || !optimized.unknowns.iter().all(of_data) {
        return None;
    }
    let arrays = any.arrays;
    let written =
        |a: ArrayId| reference.writes.contains_key(&a) || optimized.writes.contains_key(&a);
    let stores = [&reference.store, &optimized.store];
    let rounds = stores.iter().any(|s| inputs::rounds(s));
    let mut options = *any.deciding;
    let cost = reference.stats.thread_instructions + optimized.stats.thread_instructions;
    let most = (WORK / cost.max(1)).max(1) as usize;
    let inputs = inputs::inputs(stores, written, arrays, options.seed);
    let places = |o: &Outcome| -> Vec<_> {
        let place = |u: &Finding<UnknownKind>| (u.kind, u.sites.first().map(|s| s.pc));
        o.unknowns.iter().map(place).collect()
    };
    let (open, mut unchanged) = (places(optimized), 0);
    let inputs = inputs.iter().take(most);
    explore::found(Reason::Inputs, inputs, &any.deciding.limits, |input| {
        let known = sides.map(|side| {
            let known = side.iter().map(|s| {
                let mut r: Resolved = s.resolved.clone();
                r.bindings.given = input.given();
                r
            });
            known.collect::<Vec<Resolved>>()
        });
        let with = |i: usize| {
            let launches = sides[i].iter().zip(&known[i]);
            let with = launches.map(|(s, resolved)| Subject { resolved, ..*s });
            with.collect::<Vec<Subject>>()
        };
        let scope = scope::run([&with(0), &with(1)], None);
        [options.reference, options.optimized] = scope.coverage;
        let [reference, optimized] = scope.kernels.map(|k| k.outcome);
        let Ok(reference) = reference.into_clean(true) else {
            return Look::Next;
        };
        if !optimized.defects.is_empty() {
            let all: Vec<_> = reference.writes.values().flatten().map(|w| *w.1).collect();
            if !inputs::has_values(&reference.store, &all) {
                return Look::Next;
            }
            let mut entries = launches::defects(ran, &optimized.defects);
            let shown = input.shown(arrays);
            for e in &mut entries {
                e.message = format!("{}, {}", e.message, on(&shown));
            }
            return Look::Shows(Refuted::Defects(entries));
        }
        let optimized = match optimized.into_clean(true) {
            Ok(clean) => clean,
            Err(outcome) => {
                unchanged += u32::from(places(&outcome) == open);
                return match unchanged {
                    UNCHANGED.. => Look::End,
                    _ => Look::Next,
                };
            }
        };
        let decision = explain::decide(reference, optimized, arrays, &options);
        let differs = decision.verdict == Verdict::NotEquivalent;
        let example = decision.counterexample.filter(|_| differs);
        let Some(mut example) = example.filter(|e| inputs::counts(e, rounds)) else {
            return Look::Next;
        };
        example.inputs.extend(input.shown(arrays));
        example.inputs.sort_by_key(|i| (i.array, i.offset));
        Look::Shows(Refuted::Differs(Box::new(example), decision.assumptions))
    })
}

/// Runs one kernel on known data where its outcome over symbols is open: races, deadlocks and misused barriers that it
/// shows there, and how many inputs were tried. What it accesses outside of its arrays says nothing, for that the data
/// are such that it does not is taken for granted, unless facts bound all that is given.
pub(crate) fn alone(
    setup: &Setup,
    outcome: &Outcome,
    limits: Limits,
    run: impl Fn(&Setup) -> Outcome,
) -> (u32, Vec<Finding<DefectKind>>) {
    let open = |u: &Finding<UnknownKind>| {
        matches!(
            u.kind,
            UnknownKind::DataDependentBranch | UnknownKind::DataDependentAddress
        )
    };
    if !outcome.defects.is_empty() || !outcome.unknowns.iter().any(open) {
        return (0, Vec::new());
    }
    let cost = outcome.stats.thread_instructions.max(1);
    let most = (WORK / cost).clamp(1, 16) as usize;
    let mut tried = 0;
    let inputs = inputs::plain(&outcome.store, &setup.arrays);
    let inputs = inputs.into_iter().take(most);
    let found = explore::found(Reason::Inputs, inputs, &limits, |input| {
        tried += 1;
        let found = run(&with(setup, input.given()));
        let facts = &outcome.store.facts;
        let is_bounded = |g: &Given| facts.of(g.array).is_some_and(|e| e.is_bounded());
        let bounded = input.given().iter().all(is_bounded);
        let counts = |d: &Finding<DefectKind>| match d.kind {
            DefectKind::DataRace | DefectKind::Deadlock | DefectKind::BarrierMisuse => true,
            DefectKind::OutOfBounds => bounded,
            _ => false,
        };
        if found.defects.is_empty() || !found.defects.iter().all(counts) {
            return Look::Next;
        }
        let shown = on(&input.shown(&setup.arrays));
        let mut defects = found.defects;
        for d in &mut defects {
            d.message = format!("{}, {shown}", d.message);
        }
        Look::Shows(defects)
    });
    (tried, found.unwrap_or_default())
}

/// Bindings with some of what arrays hold known.
fn with(setup: &Setup, given: Vec<Given>) -> Setup {
    let mut known = setup.clone();
    for k in &mut known.kernels {
        k.bindings.given.extend_from_slice(&given);
    }
    known
}

/// Runs one kernel on an input: whether it leaves an array, or accesses one where it is not aligned.
pub(crate) fn leaves_arrays(
    setup: &Setup,
    (input, fails): (&Input, bool),
    run: impl Fn(&Setup) -> Outcome,
) -> bool {
    // The launches of a sequence see what those before them wrote.
    let is_input = |a: ArrayId| setup.arrays[a].role == Some(Role::In);
    if setup.kernels.len() > 1 && !input.iter().all(|(c, _)| is_input(c.array)) {
        return false;
    }
    let given = input.iter().map(|(c, value)| Given {
        array: c.array,
        off: c.off,
        bytes: c.bytes,
        value: *value,
    });
    let known = with(setup, given.collect());
    let astray = |kind: DefectKind| match kind {
        DefectKind::OutOfBounds | DefectKind::MisalignedAccess => !fails,
        DefectKind::Assertion => fails,
        _ => false,
    };
    run(&known).defects.iter().any(|d| astray(d.kind))
}

/// Inputs in a sentence.
fn on(inputs: &[InputValue]) -> String {
    const SHOWN: usize = 4;
    let one = |i: &InputValue| {
        let index: Vec<String> = i.element.iter().map(u64::to_string).collect();
        match index.is_empty() {
            true => format!("{} = {}", i.name, i.value.text),
            false => format!("{}[{}] = {}", i.name, index.join(","), i.value.text),
        }
    };
    let first: Vec<String> = inputs.iter().take(SHOWN).map(one).collect();
    let rest = match inputs.len().saturating_sub(SHOWN) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    match first.is_empty() {
        true => "on inputs that are all 0".into(),
        false => format!("on the input {}{rest}", first.join(", ")),
    }
}

/// Says that a kernel was run on known data, and what that is worth.
pub(crate) fn proves_nothing(tried: u32) -> answer::Finding<WarningKind> {
    let message = format!(
        "the kernel was run on {tried} contents of its arrays (zeros, ones, small numbers, permutations), which showed \
         no defect and prove nothing"
    );
    answer::Finding::new(Part::Kernel, WarningKind::Note, message)
}

/// Says that both kernels were run on one input, and why.
pub(crate) fn note(unknown: &[answer::Finding<UnknownKind>]) -> answer::Finding<WarningKind> {
    let why = unknown.first().map_or("", |u| u.message.as_str());
    let message = format!(
        "the optimized kernel has no outcome for all inputs ({why}); both kernels were run on one \
         input, which told them apart"
    );
    answer::Finding::new(Part::Pair, WarningKind::Note, message)
}
