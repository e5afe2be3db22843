//! Are the bits of every output the same for every schedule?
//!
//! Proved: in a run without races every read finds the bits that the program order and the synchronisation decide, so
//! that one schedule stands for all, bit for bit (confluence). What the rule about races lets pass in any order is the
//! exception, and [`effects`] names it: where no such instruction is executed, and no unordered writes are equal
//! over the reals only, the answer is yes. So it is where a run by words ([`crate::term::word`]), in which a float is the
//! operations that made it, leaves nothing open: updates of memory that meet in any order are then such that every order
//! makes the same bits, and orders of waits and tickets were all run and left the same operations. Refuted: the kernel is
//! executed on numbers under several legal schedules (orders of the CTAs, of warps, of diverged lanes, and of the lanes of an
//! atomic instruction), and an output holds different bits; that shows a difference whatever else is open. Anything else
//! is unknown.
//!
//! Not claimed: bits across devices or compilers; a multiplication and an addition may be contracted or not.

use crate::alone::asked;
use crate::answer::determinism::{Determinism, SameBits, Schedules};
use crate::answer::{Part, Sides, Site, Verdict};
use crate::bits::canon::{Canon, Reader};
use crate::decide::goal::is_compared;
use crate::explain::text;
use crate::explore::{self, Look, Reason};
use crate::grid::{Subject, numbers};
use crate::input::Lowered;
use crate::kernel::{Fmt, Kernel, Pc, ScheduleUse};
use crate::sim::numbers::Memory;
use crate::sim::schedule::ScheduleRng;
use crate::sim::{Outcome, WarningKind};
use crate::spec::launch::Selection;
use crate::spec::{Domain, ElemTy, Numbered};
use crate::term::{ArrayId, TermId};

use super::confirm::shown;
use super::execute::filled;
use super::limits::LIMITS;
use super::sample::{LAWS, Law, everywhere, length};

/// Places that are named.
const PLACES: usize = 8;

/// Kinds of input on which other schedules are executed.
const TRIED: usize = 6;

/// Orders that are drawn for one input.
const DRAWN: u64 = 8;

/// Answers for the kernels of a pair, or for the one beside a formula, that ran without a finding.
pub(crate) fn of_pair(
    subjects: &[Subject<'_>],
    lowered: &[Lowered],
    runs: [&Outcome; 2],
) -> Sides<Determinism> {
    let mut out = Sides::default();
    let parts = [Part::Reference, Part::Optimized];
    let first = parts.len().saturating_sub(subjects.len());
    let of = subjects.iter().zip(lowered);
    for ((part, outcome), (subject, lowered)) in parts.into_iter().zip(runs).skip(first).zip(of) {
        out.put(part, same_bits((subject, lowered), outcome, Verdict::Clean));
    }
    out
}

/// Answers for a kernel that was run, with the verdict about it.
pub(crate) fn same_bits(
    (subject, lowered): (&Subject<'_>, &Lowered),
    outcome: &Outcome,
    verdict: Verdict,
) -> Determinism {
    let answer = |answer, because: &str, sites| Determinism {
        answer,
        because: because.to_string(),
        sites,
        schedules: None,
    };
    let of = |what: ScheduleUse| places(subject, outcome, what);
    let sums = of(ScheduleUse::Sum);
    let rest: Vec<Pc> = [of(ScheduleUse::Order), of(ScheduleUse::Volatile)].concat();
    let real = |k| matches!(k, WarningKind::RealEqualWrite | WarningKind::RealEqualRace);
    let unequal = outcome.warnings.iter().any(|w| real(w.kind));
    let is_clean = verdict == Verdict::Clean;
    if is_clean && sums.is_empty() && rest.is_empty() && !unequal {
        let because = "every access is ordered, and no float is summed up in memory";
        return answer(SameBits::Yes, because, Vec::new());
    }
    let site = |pc: &Pc| {
        Site::new(
            &subject.kernel.source,
            subject.kernel.span(*pc),
            "depends on the order",
        )
    };
    let sites: Vec<Site> = sums.iter().chain(&rest).take(PLACES).map(site).collect();
    let unknown = |because: &str| answer(SameBits::Unknown, because, sites.clone());
    if verdict == Verdict::Defective {
        return unknown("the kernel has a defect");
    }
    if is_clean && by_words(subject, lowered.exact()) {
        let because = "every order of the updates that meet in memory makes the same bits";
        return answer(SameBits::Yes, because, Vec::new());
    }
    if let Some(found) = refuted((subject, lowered), outcome) {
        return Determinism {
            schedules: Some(found),
            ..answer(
                SameBits::No,
                "two schedules of the launch give different bits",
                sites,
            )
        };
    }
    unknown(match (is_clean, sums.is_empty(), rest.is_empty()) {
        (false, ..) => "the run left something open",
        (_, false, _) => "floats are summed up in memory in any order",
        (_, true, false) => "an instruction may read or leave what the schedule decides",
        (_, true, true) => "unordered writes are equal over the reals only",
    })
}

/// True if a run in which floats are the operations that made them leaves nothing open.
fn by_words(subject: &Subject<'_>, kernel: &Kernel) -> bool {
    let mut resolved = subject.resolved.clone();
    resolved.mode.domain = Domain::Words {
        numbered: Numbered {
            code: 0,
            run: None,
            of: 1,
        },
        unfolded: false,
    };
    let by_words = Subject {
        kernel,
        resolved: &resolved,
        without_values: false,
        ..*subject
    };
    let outcome = asked(&by_words).outcome;
    let real = |k| matches!(k, WarningKind::RealEqualWrite | WarningKind::RealEqualRace);
    let is_open = !outcome.defects.is_empty()
        || !outcome.unknowns.is_empty()
        || !outcome.by_schedule.is_empty()
        || outcome.warnings.iter().any(|w| real(w.kind));
    // Which NaN was written last, a reader of bits would see.
    if is_open || outcome.store.has_nan_by_order() {
        return false;
    }
    let written = outcome.writes.values().flat_map(|w| w.iter());
    let roots: Vec<(TermId, Reader)> = written.map(|(_, t)| (*t, Reader::Bits)).collect();
    let mut canon = Canon::default();
    canon.add(&outcome.store, &roots);
    // A real number says nothing of its bits.
    !canon.has_reals
}

/// The instructions that were executed into which the schedule enters in some way.
fn places(subject: &Subject<'_>, outcome: &Outcome, what: ScheduleUse) -> Vec<Pc> {
    let insts = subject.kernel.insts.iter().enumerate();
    let ran = |i: usize| outcome.executed.get(i).is_none_or(|&n| n > 0);
    insts
        .filter(|(i, inst)| ran(*i) && inst.op.effects().schedule == what)
        .map(|(i, _)| Pc(i as u32))
        .collect()
}

/// An element that two schedules leave with different bits.
fn refuted((subject, lowered): (&Subject<'_>, &Lowered), outcome: &Outcome) -> Option<Schedules> {
    let work = outcome.stats.thread_instructions;
    if work > LIMITS.confirm || subject.resolved.selection != Selection::All {
        return None;
    }
    let runs = (LIMITS.confirm / work.max(1)).clamp(2, DRAWN);
    LAWS.iter()
        .take(TRIED)
        .find_map(|law| refuted_on((subject, lowered), law, runs))
}

/// The same on one kind of input.
fn refuted_on(
    (subject, lowered): (&Subject<'_>, &Lowered),
    law: &Law,
    runs: u64,
) -> Option<Schedules> {
    let ctas = subject.resolved.launch.ctas();
    let input = everywhere(subject, law)?;
    let resolved = filled(subject.resolved, subject.arrays, &input)?;
    let executed = Subject {
        kernel: &lowered.kernel,
        resolved: &resolved,
        ..*subject
    };
    let rechecked = lowered.rechecked();
    let ranks: Vec<u64> = (0..ctas).collect();
    let turned: Vec<u64> = ranks.iter().rev().copied().collect();
    let first = numbers::in_other_order(&executed, (&ranks, None), &rechecked)?;
    let reversed = (ctas > 1).then_some((turned, None, "the CTAs in the opposite order"));
    let drawn = (1..=runs).map(|seed| {
        let mut rng = ScheduleRng::new(seed);
        let mut ranks = ranks.clone();
        ranks.sort_by_cached_key(|_| rng.below(u64::MAX));
        let order = match ctas {
            1 => "warps and lanes in an order that was drawn",
            _ => "CTAs, warps and lanes in an order that was drawn",
        };
        (ranks, Some(seed), order)
    });
    let orders = reversed.into_iter().chain(drawn);
    let limits = &subject.deciding.limits;
    explore::found(Reason::Schedules, orders, limits, |(ranks, seed, order)| {
        let second = numbers::in_other_order(&executed, (&ranks, seed), &rechecked);
        let differs = second.and_then(|second| differing(subject, [&first, &second]));
        let Some((array, off, elem, [x, y])) = differs else {
            return Look::Next;
        };
        Look::Shows(Schedules {
            output: text::array_name(subject.arrays, array),
            element: text::index(subject.arrays, array, off, elem.bytes()),
            input: law.name.to_string(),
            first: shown(elem, x),
            second: shown(elem, y),
            order: order.to_string(),
        })
    })
}

/// The first element of an output that differs.
fn differing(
    subject: &Subject<'_>,
    memory: [&Memory; 2],
) -> Option<(ArrayId, u64, ElemTy, [u64; 2])> {
    for (i, a) in subject
        .arrays
        .0
        .iter()
        .enumerate()
        .filter(|(_, a)| is_compared(a))
    {
        let id = ArrayId(i as u32);
        let elem = a.elem.unwrap_or(ElemTy::Float(Fmt::F32));
        let count = length(subject, i).min(LIMITS.array_bytes) / elem.bytes().max(1);
        for k in 0..count {
            let off = k * elem.bytes();
            let [x, y] = memory.map(|m| m.word(id, off, elem.bytes()));
            if let (Some(x), Some(y)) = (x, y)
                && x != y
            {
                return Some((id, off, elem, [x, y]));
            }
        }
    }
    None
}
