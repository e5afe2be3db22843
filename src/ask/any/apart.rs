//! Whether two accesses never meet: that no two threads have them without order at the same bytes.

use super::expr::Id;
use super::gates::{Holds, Model, together};
use super::prover::Prover;
use super::radix::meets;
use super::state::{Accessed, Barrier, By, Does, Object};
use super::threads::Relation;
use crate::answer::{Finding, Part, Site, WarningKind};
use crate::kernel::Pc;

/// Whether two threads never have these accesses without order at the same bytes.
pub(super) fn apart_always(
    p: &mut Prover,
    a: &Accessed,
    b: &Accessed,
) -> Result<(), Option<Model>> {
    if let Err(model) = within(p, a, b) {
        // Barriers of warps order their own lanes; threads of different warps are asked about alone.
        if !p.w.out.barriers.iter().any(|b| b.warp && b.orders) {
            return Err(model);
        }
        for same in [false, true] {
            p.warps = Some(same);
            let open = within(p, a, b);
            p.warps = None;
            open?;
        }
    }
    match p.w.out.objects[a.object as usize] {
        Object::Array(_) => between(p, a, b),
        Object::Constant(_)
        | Object::Shared(_)
        | Object::Dynamic
        | Object::Local(_)
        | Object::Param(_) => Ok(()),
    }
}

pub(super) fn conflict(a: Does, b: Does) -> bool {
    match (a, b) {
        (Does::Reads, Does::Reads) => false,
        (Does::Updates(n), Does::Updates(m)) => n != m,
        _ => true,
    }
}

/// Accesses of two CTAs, which nothing orders.
fn between(p: &mut Prover, a: &Accessed, b: &Accessed) -> Result<(), Option<Model>> {
    if p.w.sizes.ctaid.iter().all(|c| p.w.e.value(*c).is_some()) {
        return Ok(());
    }
    question(p, (a, &[]), (b, &[]), &Relation::Between, &[])
}

/// Accesses of two threads of one CTA.
fn within(p: &mut Prover, a: &Accessed, b: &Accessed) -> Result<(), Option<Model>> {
    let common: Vec<usize> = a
        .loops
        .iter()
        .zip(&b.loops)
        .take_while(|(x, y)| x == y)
        .map(|(x, _)| *x)
        .collect();
    let ordered = |p: &Prover, l: usize| {
        p.w.out
            .barriers
            .iter()
            .any(|b| orders(p, b) && b.loops.contains(&l))
    };
    let shared: Vec<usize> = common
        .iter()
        .copied()
        .take_while(|l| ordered(p, *l))
        .collect();
    // The same iteration of all of them.
    let (first, second) = if a.at <= b.at { (a, b) } else { (b, a) };
    let after = waits(p, first, second, &shared, (first.done(), second.at));
    let both = both_come(p, first, second);
    question(
        p,
        (first, &after.0),
        (second, &after.1),
        &Relation::Within(shared.clone()),
        &both,
    )?;
    // An iteration and the next one, or a later one.
    for n in 1..=shared.len() {
        let loops = shared[..n].to_vec();
        let l = shared[n - 1];
        let orders_all = has_barrier_each_time(p, l, &loops);
        for (x, y) in [(a, b), (b, a)] {
            let mut left = waits(p, x, y, &loops, (x.done(), usize::MAX)).0;
            let right = waits(p, x, y, &loops, (0, y.at)).1;
            let goes_on = p.w.out.loops.get(&l).and_then(|s| s.goes_on);
            left.extend(goes_on);
            question(
                p,
                (x, &left),
                (y, &right),
                &Relation::Next(loops.clone()),
                &[],
            )?;
            if !orders_all {
                question(
                    p,
                    (x, &[]),
                    (y, &[]),
                    &Relation::Within(loops[..n - 1].to_vec()),
                    &[],
                )?;
            }
            if a.at == b.at {
                break;
            }
        }
    }
    Ok(())
}

/// Guards of barriers outside of loops that stand between two accesses; they keep threads in order that both come there.
fn both_come(p: &Prover, a: &Accessed, b: &Accessed) -> Vec<Id> {
    let all = p.w.out.barriers.iter();
    let between =
        all.filter(|x| orders(p, x) && x.loops.is_empty() && a.done() < x.at && x.at < b.at);
    between.map(|x| x.guard).collect()
}

fn orders(p: &Prover, b: &Barrier) -> bool {
    b.orders && (!b.warp || p.warps == Some(true))
}

/// Whether every iteration that goes on has a barrier of the whole CTA.
fn has_barrier_each_time(p: &Prover, l: usize, loops: &[usize]) -> bool {
    let Some(summary) = p.w.out.loops.get(&l) else {
        return false;
    };
    let given: Vec<Id> = [summary.before, summary.goes_on]
        .into_iter()
        .flatten()
        .flat_map(|c| p.w.e.literals(c))
        .collect();
    let mut all = p.w.out.barriers.iter();
    all.any(|b| {
        orders(p, b)
            && b.loops == loops
            && p.w.e.literals(b.guard).iter().all(|c| given.contains(c))
    })
}

/// What must hold for no barrier to stand between an access of the first thread and a later one of the second: barriers
/// that the first comes to after its access, and that the second comes to before its own, are not met; and around
/// loops that only one of them is in, an iteration that is not the last, or not the first, has no barrier of its own.
fn waits(
    p: &mut Prover,
    a: &Accessed,
    b: &Accessed,
    shared: &[usize],
    (from, to): (usize, usize),
) -> (Vec<Id>, Vec<Id>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let all: Vec<Barrier> =
        p.w.out
            .barriers
            .iter()
            .filter(|x| orders(p, x))
            .cloned()
            .collect();
    for x in &all {
        if x.loops.is_empty() || x.at <= from || x.at >= to || !x.loops.starts_with(shared) {
            continue;
        }
        if a.loops.starts_with(&x.loops) && x.at > a.done() {
            left.push(p.w.e.not(x.guard));
        }
        if b.loops.starts_with(&x.loops) && x.at < b.at {
            right.push(p.w.e.not(x.guard));
        }
    }
    // The first loop of each alone: the access of the first is in the last iteration, that of the second in the first.
    let alone = |x: &Accessed, y: &Accessed| {
        x.loops
            .get(shared.len())
            .copied()
            .filter(|l| y.loops.get(shared.len()) != Some(l))
    };
    if let Some(l) = alone(a, b)
        && starts_with_barrier(p, l)
        && let Some(on) = p.w.out.loops.get(&l).and_then(|s| s.goes_on)
        && to != 0
    {
        left.push(p.w.e.not(on));
    }
    if let Some(l) = alone(b, a)
        && has_barrier_each_time(p, l, &[shared, &[l]].concat())
        && let Some(summary) = p.w.out.loops.get(&l).cloned()
        && b.loops.len() == shared.len() + 1
        // What is still under way there is not over at the barriers of the loop.
        && all.iter().all(|x| x.at > from || !x.loops.contains(&l))
    {
        for (h, v) in &summary.first {
            right.push(p.w.e.compare(super::expr::Order::Equal, *h, *v));
        }
    }
    (left, right)
}

/// Whether every iteration that begins has a barrier.
fn starts_with_barrier(p: &Prover, l: usize) -> bool {
    let Some(before) = p.w.out.loops.get(&l).and_then(|s| s.before) else {
        return false;
    };
    let given = p.w.e.literals(before);
    let mut all = p.w.out.barriers.iter();
    all.any(|b| {
        orders(p, b)
            && b.loops.last() == Some(&l)
            && p.w.e.literals(b.guard).iter().all(|c| given.contains(c))
    })
}

/// Whether two accesses never meet, each under conditions of its own thread, or write one value.
fn question(
    p: &mut Prover,
    a: (&Accessed, &[Id]),
    b: (&Accessed, &[Id]),
    relation: &Relation,
    both: &[Id],
) -> Result<(), Option<Model>> {
    // What threads have in common is a question about their numbers alone, however large the value is.
    let free = match p.subject.strict {
        true => None,
        false => p.in_common(a.0, b.0, relation),
    };
    if free.is_some() && meet_apart(p, a, b, (relation, free), both).is_ok() {
        return Ok(());
    }
    meet_apart(p, a, b, (relation, None), both)
}

/// The same, where the value does not depend on some bits of the number of the thread, or with the value as it is.
fn meet_apart(
    p: &mut Prover,
    (a, left): (&Accessed, &[Id]),
    (b, right): (&Accessed, &[Id]),
    (relation, free): (&Relation, Option<u32>),
    both: &[Id],
) -> Result<(), Option<Model>> {
    p.theirs.clear();
    let distinct = p.distinct(relation);
    let value = b.value.filter(|_| free.is_none()).unwrap_or(b.offset);
    let sizes = p.w.sizes;
    let rank = sizes.rank(&mut p.w.e);
    let spoken = [a.guard, a.offset, b.guard, b.offset];
    let numbers = p.w.e.numbers(&spoken);
    // Another lane makes the access of a row, be it the lane of this thread that gives the address of another one.
    let rows =
        a.at != b.at && (a.by == By::Warp || b.by == By::Warp) && *relation != Relation::Between;
    // One thread may stand for both then, which has one ticket.
    let tickets = match rows {
        true => Vec::new(),
        false => p.tickets(&spoken, relation),
    };
    let mut ids = vec![b.guard, b.offset, value, rank];
    ids.extend(&distinct);
    ids.extend(both);
    ids.extend(right);
    let plain = ids.len();
    ids.extend(&numbers);
    ids.extend(tickets.iter().flat_map(|t| &t.0));
    let (there, known) = p.second(&ids, relation);
    let mut differ = p.w.e.truth(false);
    for (x, y) in distinct.iter().zip(&there[4..7]) {
        let not = p.unequal(*x, *y);
        differ = p.w.e.or(differ, not);
    }
    if rows {
        differ = p.w.e.truth(true);
    }
    let mut conditions = vec![a.guard, there[0], differ];
    conditions.extend(left);
    if let Some(same) = p.warps {
        let is = p.same_warp(rank, there[3]);
        conditions.push(if same { is } else { p.w.e.not(is) });
    }
    for (x, y) in both.iter().zip(&there[7..]) {
        let meet = p.w.e.and(*x, *y);
        conditions.push(p.w.e.not(meet));
    }
    conditions.extend(&there[7 + both.len()..plain]);
    let (numbers_there, tickets_there) = there[plain..].split_at(numbers.len());
    let own = [vec![a.guard, a.offset], left.to_vec(), both.to_vec()].concat();
    conditions.extend(p.implications(&own));
    conditions.extend(known);
    let object = p.w.out.objects[a.object as usize];
    let width = if object.is_shared() { 32 } else { 64 };
    let x = p.w.e.resize(a.offset, width, false);
    let y = p.w.e.resize(there[1], width, false);
    let overlap = meets(&mut p.w.e, (x, u64::from(a.bytes)), (y, u64::from(b.bytes)));
    let mut bits = conditions.clone();
    bits.extend(&p.w.plain);
    bits.push(overlap);
    let Holds::Perhaps(model) = together(&p.w.e, &bits, object.is_shared(), p.subject.limits)
    else {
        return Ok(());
    };
    let ends = ((a.offset, a.bytes), (there[1], b.bytes));
    let mut digits = p.digits_meet(conditions, ends, !object.is_shared());
    let open = match together(&p.w.e, &digits, false, p.subject.limits) {
        Holds::Never => return Ok(()),
        Holds::Perhaps(better) => better.or(model),
    };
    // What the threads never have in common is said to the gates.
    digits.push(overlap);
    let others = numbers_there.iter().copied();
    let pairs: Vec<(Id, Id)> = numbers.into_iter().zip(others).collect();
    let mut more = p.numbers_differ(&pairs, &bits);
    more.extend(tickets_apart(p, tickets, tickets_there));
    if !more.is_empty() {
        digits.extend(more);
        if let Holds::Never = together(&p.w.e, &digits, false, p.subject.limits) {
            return Ok(());
        }
    }
    let same = match free {
        Some(free) => {
            let differ = p.differ_for(free, (sizes.tid[0], there[4]));
            let elsewhere = p.unequal(x, y);
            digits.push(p.w.e.or(elsewhere, differ));
            let holds = together(&p.w.e, &digits, false, p.subject.limits);
            matches!(holds, Holds::Never)
        }
        None => !p.subject.strict && same_value(p, (a, x), (b, y, there[2]), digits),
    };
    if same {
        note_same_value(p, [a.pc, b.pc]);
        return Ok(());
    }
    Err(open)
}

/// That the tickets of the first thread and those of the second one lie apart, group for group, as their updates say.
fn tickets_apart(p: &mut Prover, tickets: Vec<(Vec<Id>, u64)>, theirs: &[Id]) -> Vec<Id> {
    let (mut out, mut draws) = (Vec::new(), theirs.iter());
    for (group, way) in tickets {
        let others: Vec<Id> = draws.by_ref().take(group.len()).copied().collect();
        for (x, y) in group
            .iter()
            .flat_map(|x| others.iter().map(move |y| (*x, *y)))
        {
            out.extend(p.apart((x, y), way));
        }
    }
    out
}

/// Warns of two writes of one value to one place, once for each line.
fn note_same_value(p: &mut Prover, writes: [Pc; 2]) {
    let kernel = p.subject.kernel;
    let sites = writes.map(|pc| Site::new(&kernel.source, kernel.span(pc), "writes"));
    let message = "two threads may write the same value to the same place without order";
    let warning =
        Finding::new(Part::Kernel, WarningKind::SameValueWrite, message).at(sites.to_vec());
    if !p.out.warnings.iter().any(|w| {
        w.message == message && w.sites.len() == 2 && w.sites[0].line == warning.sites[0].line
    }) {
        p.out.warnings.push(warning);
    }
}

/// Whether two writes that meet are of the same bytes and the same value: by its name, or as one function of equal words.
fn same_value(
    p: &mut Prover,
    (a, x): (&Accessed, Id),
    (b, y, there): (&Accessed, Id, Id),
    mut conditions: Vec<Id>,
) -> bool {
    let (Some(here), Some(_), true) = (a.value, b.value, a.bytes == b.bytes) else {
        return false;
    };
    if here == there {
        return true;
    }
    conditions.extend(p.congruent((here, there)));
    let (elsewhere, other) = (p.unequal(x, y), p.unequal(here, there));
    conditions.push(p.w.e.or(elsewhere, other));
    let holds = together(&p.w.e, &conditions, false, p.subject.limits);
    matches!(holds, Holds::Never)
}
