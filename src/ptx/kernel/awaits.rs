//! Loops that do nothing but wait: an access, and ways back to it on which nothing happens.
//!
//! Problem: a thread that spins on a flag reads it as often as the schedule likes. If no way back to the read has an
//! effect, and what the loop leaves in registers matters neither to its next round nor after it, then the number of
//! rounds matters to nobody, and the loop is one step that blocks until the read gives a value that ends it.
//! Source: "VSync" (ASPLOS 2021), await loops.
//!
//! The body of such a loop are the instructions on ways from the access back to it; all of them compute. The
//! condition on registers is one of liveness: none that the loop writes is live before the access. A register that
//! only counts rounds, or the length of a sleep, is not live, because nothing that is live is made of it; one that
//! also ends the loop is, and then the loop is none that waits.
//!
//! A branch in such a body all of whose ways lead back to the access, without an exit and without a cycle, only chooses how
//! long the round takes, and is silent: what it asks (a count, a clock) is not live by it. `cuda::atomic::wait` spins
//! first and sleeps later by such branches.
//!
//! A loop that tries an update, and waits by a load of the same word before it tries again, is one such loop too: the load only
//! delays the next try.
//!
//! A loop of a whole CTA in which one thread looks and tells the others is one too ([`super::relays`]).
//!
//! The direction that is sound: what is not understood is an effect. Whether a value ends the loop is not asked here;
//! the simulator walks the body with it.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::bodies::{MAX_BODY, body, computes, may_wait, successors, targets};
use super::demand::demanded;
use super::operands::uses;
use super::relays::relay;
use super::{Kernel, Op, Pc, RegId, Sem, Src};

/// Words of liveness that are kept; kernels that need more have no loops that wait.
const MAX_WORDS: usize = 1 << 24;

/// A loop that waits, by the access that it waits at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Await {
    /// The instructions on ways from the access to one of the same word in the loop, these apart.
    pub body: FxHashSet<u32>,
    /// The accesses of the loop, to which a way back leads.
    pub polls: FxHashSet<u32>,
    /// Loads of the word in the body that wait by themselves before the loop goes round: what lets it end ends them too.
    pub inner: FxHashSet<u32>,
    /// True if what the access read is of use after the loop.
    pub is_used: bool,
    /// Branches of the body that every way of which leads back from.
    pub silent: FxHashSet<u32>,
    /// The instructions by which the thread that looks tells the others of its CTA what it read ([`super::relays`]).
    pub relay: FxHashSet<u32>,
    /// The update that every way out of the loop comes to next, where this load delays its tries; whether both are
    /// of one word, the simulator looks.
    pub delays: Option<Pc>,
}

/// The loops of a kernel that wait, by their accesses.
#[derive(Debug, Default)]
pub struct Awaits {
    /// The loops.
    pub by_access: BTreeMap<Pc, Await>,
    /// Registers that are live; where there is no access whose old value is used, nobody asks.
    pub live: Option<Live>,
    /// For each register the bits that matter, where there are such accesses.
    pub demanded: Vec<u64>,
}

/// The loops of a kernel that wait.
pub fn awaits(kernel: &Kernel) -> Awaits {
    let accesses: Vec<Pc> = (0u32..)
        .zip(&kernel.insts)
        .filter(|(_, inst)| inst.guard.is_none() && may_wait(&inst.op))
        .map(|(pc, _)| Pc(pc))
        .collect();
    let guarded = (0u32..).zip(&kernel.insts);
    let guarded = guarded.filter(|(_, inst)| inst.guard.is_some() && may_wait(&inst.op));
    let relayed: Vec<(Pc, FxHashSet<u32>)> = guarded
        .filter_map(|(pc, _)| Some((Pc(pc), relay(kernel, Pc(pc))?)))
        .collect();
    let mut out = Awaits::default();
    let updates = |i: &super::Inst| matches!(&i.op, Op::Atom { dsts, .. } if !dsts.is_empty());
    if accesses.is_empty() && relayed.is_empty() && !kernel.insts.iter().any(updates) {
        return out;
    }
    let targets = targets(kernel);
    let Some((live, silent)) = live(kernel, &accesses, &targets) else {
        return out;
    };
    for around in [false, true] {
        for &pc in &accesses {
            let polls = FxHashSet::from_iter([pc.0]);
            let inner = match around {
                true => delays(kernel, &out, pc),
                false => FxHashSet::default(),
            };
            let begin = cut(kernel, &targets, pc);
            if around != inner.is_empty()
                && let Some(body) = body(kernel, pc, (&polls, &inner))
                && let Some(found) = waits(kernel, &live, begin, pc, (body, polls, inner))
                && !asks_clock(kernel, &found.body, &silent)
            {
                let of_it = silent.intersection(&found.body).copied().collect();
                out.by_access.insert(
                    pc,
                    Await {
                        silent: of_it,
                        ..found
                    },
                );
            }
        }
    }
    for (pc, relay) in relayed {
        let polls = FxHashSet::from_iter([pc.0]);
        let meets = |at: &u32| {
            relay.contains(at) && matches!(kernel.insts[*at as usize].op, Op::Bar { .. })
        };
        let begin = cut_through(kernel, &targets, pc, meets);
        let inner = FxHashSet::default();
        if let Some(body) = body(kernel, pc, (&polls, &relay))
            && let Some(found) = waits(kernel, &live, begin, pc, (body, polls, inner))
            && !asks_clock(kernel, &found.body, &FxHashSet::default())
        {
            out.by_access.insert(pc, Await { relay, ..found });
        }
    }
    // A first look before the loop, at the same word, is part of it.
    loop {
        let more = first_looks(kernel, (&live, &targets, &silent), &out, &accesses);
        if more.is_empty() {
            break;
        }
        out.by_access.extend(more);
    }
    let delays: Vec<(u32, Pc)> = (out.by_access.iter())
        .flat_map(|(pc, wait)| wait.inner.iter().map(|at| (*at, *pc)))
        .filter(|(at, pc)| leads_to(kernel, &out, Pc(*at), *pc))
        .collect();
    for (at, pc) in delays {
        if let Some(look) = out.by_access.get_mut(&Pc(at)) {
            look.delays = look.delays.max(Some(pc));
        }
    }
    out.live = Some(live);
    out.demanded = demanded(kernel);
    out
}

/// The accesses that look before a loop which is known to wait, with the loop that each becomes part of.
fn first_looks(
    kernel: &Kernel,
    (live, targets, silent): (&Live, &FxHashSet<u32>, &FxHashSet<u32>),
    known: &Awaits,
    accesses: &[Pc],
) -> Vec<(Pc, Await)> {
    let mut more = Vec::new();
    for &pc in accesses
        .iter()
        .filter(|pc| !known.by_access.contains_key(pc))
    {
        let same = |other: &&Pc| {
            let (a, b) = (
                &kernel.insts[pc.0 as usize].op,
                &kernel.insts[other.0 as usize].op,
            );
            same_access(kernel, a, b)
        };
        // Who looks for others does not look before.
        let alone = known.by_access.iter().filter(|(_, a)| a.relay.is_empty());
        let polls = alone.map(|(p, _)| p).filter(same).map(|p| p.0);
        let polls: FxHashSet<u32> = polls.collect();
        let inside = polls.iter().filter_map(|p| known.by_access.get(&Pc(*p)));
        let inner = inside.flat_map(|a| a.inner.iter().copied()).collect();
        if let Some(body) = body(kernel, pc, (&polls, &inner))
            && let Some(found) =
                first_look(kernel, (live, targets), known, pc, (body, polls, inner))
            && !asks_clock(kernel, &found.body, silent)
        {
            more.push((pc, found));
        }
    }
    more
}

/// What is live in a kernel but for the guards of silent branches, and those. A branch is one only if its loop waits:
/// then what the ways write is of no use where they meet.
fn live(
    kernel: &Kernel,
    accesses: &[Pc],
    targets: &FxHashSet<u32>,
) -> Option<(Live, FxHashSet<u32>)> {
    let none = FxHashSet::default();
    let around = |pc: Pc| {
        let polls = FxHashSet::from_iter([pc.0]);
        let body = body(kernel, pc, (&polls, &none))?;
        let silent = silent(kernel, &body, pc);
        (!silent.is_empty()).then_some((pc, body, silent))
    };
    let mut loops: Vec<(Pc, FxHashSet<u32>, FxHashSet<u32>)> =
        accesses.iter().filter_map(|pc| around(*pc)).collect();
    loop {
        let all: FxHashSet<u32> = loops.iter().flat_map(|l| l.2.iter().copied()).collect();
        let live = Live::new(kernel, &all)?;
        let count = loops.len();
        loops.retain(|(pc, body, _)| {
            let begin = cut(kernel, targets, *pc);
            let polls = FxHashSet::from_iter([pc.0]);
            let found = waits(
                kernel,
                &live,
                begin,
                *pc,
                (body.clone(), polls, none.clone()),
            );
            found.is_some_and(|found| !asks_clock(kernel, &found.body, &all))
        });
        if loops.len() == count {
            return Some((live, all));
        }
    }
}

/// The branches of a body from which every way leads back to the access, through computations alone and in no cycle.
fn silent(kernel: &Kernel, body: &FxHashSet<u32>, pc: Pc) -> FxHashSet<u32> {
    let mut back: FxHashSet<u32> = FxHashSet::default();
    loop {
        let leads = |at: &u32| {
            let inst = &kernel.insts[*at as usize];
            let to = successors(kernel, Pc(*at));
            computes(&inst.op) && to.iter().all(|t| *t == pc.0 || back.contains(t))
        };
        let more: Vec<u32> = body
            .iter()
            .filter(|at| !back.contains(at) && leads(at))
            .copied()
            .collect();
        if more.is_empty() {
            break;
        }
        back.extend(more);
    }
    back.retain(|at| {
        let inst = &kernel.insts[*at as usize];
        inst.guard.is_some() && matches!(inst.op, Op::Bra { .. })
    });
    back
}

/// The loop around an access, if none of the registers that it writes is live where each round begins.
fn waits(
    kernel: &Kernel,
    live: &Live,
    begin: u32,
    pc: Pc,
    (body, polls, inner): (FxHashSet<u32>, FxHashSet<u32>, FxHashSet<u32>),
) -> Option<Await> {
    let written = written(kernel, pc, &body);
    if written.iter().any(|r| live.before(begin, *r)) {
        return None;
    }
    let mut exits = exits(kernel, pc, &body, &polls).into_iter();
    let is_used = exits.any(|e| written.iter().any(|r| live.before(e, *r)));
    let inner = inner.into_iter().filter(|at| body.contains(at)).collect();
    Some(Await {
        body,
        polls,
        inner,
        is_used,
        silent: FxHashSet::default(),
        relay: FxHashSet::default(),
        delays: None,
    })
}

/// True if all ways out of the loop of a load lead straight to an update, whose address they leave as it is, and
/// nothing that the loop leaves behind is of use.
fn leads_to(kernel: &Kernel, known: &Awaits, look: Pc, update: Pc) -> bool {
    let Some(wait) = known.by_access.get(&look).filter(|a| !a.is_used) else {
        return false;
    };
    let Op::Atom { addr, .. } = &kernel.insts[update.0 as usize].op else {
        return false;
    };
    let base = addr.base;
    exits(kernel, look, &wait.body, &wait.polls)
        .into_iter()
        .all(|mut at| {
            for _ in 0..MAX_BODY {
                if at == update.0 {
                    return true;
                }
                let Some(inst) = kernel.insts.get(at as usize) else {
                    return false;
                };
                let mut moves = false;
                inst.op.defs(&mut |r| moves |= Src::Reg(r) == base);
                let computes = inst.op.is_pure() || matches!(inst.op, Op::Bra { .. } | Op::Nop);
                let [to] = successors(kernel, Pc(at))[..] else {
                    return false;
                };
                if moves || !computes {
                    return false;
                }
                at = to;
            }
            false
        })
}

/// A look before a loop that waits for the same: where it succeeds, everything must be as if a look in the loop had.
fn first_look(
    kernel: &Kernel,
    (live, targets): (&Live, &FxHashSet<u32>),
    known: &Awaits,
    pc: Pc,
    (body, polls, mut inner): (FxHashSet<u32>, FxHashSet<u32>, FxHashSet<u32>),
) -> Option<Await> {
    inner.retain(|at| body.contains(at));
    let own = exits(kernel, pc, &body, &polls);
    let written = written(kernel, pc, &body);
    let reached = body
        .iter()
        .flat_map(|at| successors(kernel, Pc(*at)))
        .find(|to| polls.contains(to))?;
    let inside = known.by_access.get(&Pc(reached))?;
    let theirs = exits(kernel, Pc(reached), &inside.body, &inside.polls);
    let apart = on_both_ways(kernel, pc, &body, &inside.body);
    let begin = cut(kernel, targets, Pc(reached));
    let kept = |r: &RegId| live.before(begin, *r) && !apart.contains(r);
    if own != theirs || written.iter().any(kept) {
        return None;
    }
    let result = |pc: u32| {
        let mut out = Vec::new();
        kernel.insts[pc as usize].op.defs(&mut |r| out.push(r));
        out
    };
    let is_live = |r: &RegId| own.iter().any(|e| live.before(*e, *r));
    let theirs = inside.written(kernel, Pc(reached));
    let both = written.iter().chain(&theirs);
    let own_result = |r: &RegId| is_live(r) && !apart.contains(r);
    let after: FxHashSet<RegId> = both.copied().filter(own_result).collect();
    let of_result = |r: &RegId| result(pc.0).contains(r) && result(reached).contains(r);
    after.iter().all(of_result).then(|| Await {
        is_used: !after.is_empty(),
        silent: inside.silent.intersection(&body).copied().collect(),
        relay: FxHashSet::default(),
        body,
        polls,
        inner,
        delays: None,
    })
}

/// Registers that are written between a first look and the loop, on every way and whatever the look found.
fn on_both_ways(
    kernel: &Kernel,
    pc: Pc,
    body: &FxHashSet<u32>,
    inside: &FxHashSet<u32>,
) -> FxHashSet<RegId> {
    let before: Vec<u32> = body.difference(inside).copied().collect();
    let inst = |at: &u32| &kernel.insts[*at as usize];
    let mut out: FxHashSet<RegId> = FxHashSet::default();
    // Where nothing branches before the loop, all of it is executed.
    let branches = |at: &u32| inst(at).guard.is_some() || matches!(inst(at).op, Op::Brx { .. });
    if before.iter().any(branches) {
        return out;
    }
    let mut made: FxHashSet<RegId> = FxHashSet::default();
    kernel.insts[pc.0 as usize].op.defs(&mut |r| {
        made.insert(r);
    });
    loop {
        let count = made.len();
        for at in &before {
            let mut of_it = false;
            uses(inst(at), |r| of_it |= made.contains(&r));
            if of_it {
                inst(at).op.defs(&mut |r| {
                    made.insert(r);
                });
            }
        }
        if made.len() == count {
            break;
        }
    }
    for at in &before {
        inst(at).op.defs(&mut |r| {
            out.insert(r);
        });
    }
    // The loop itself must not write them again.
    for at in inside {
        inst(at).op.defs(&mut |r| {
            out.remove(&r);
        });
    }
    out.retain(|r| !made.contains(r));
    out
}

/// Two loads, or two updates by equal numbers, that do the same; whether to the same word, the simulator looks.
fn same_access(kernel: &Kernel, a: &Op, b: &Op) -> bool {
    let equal = |a: Src, b: Src| {
        let number = constant(kernel, a);
        a == b || number.is_some() && number == constant(kernel, b)
    };
    match (a, b) {
        (Op::Ld { access: x, .. }, Op::Ld { access: y, .. }) => x == y,
        (
            Op::Atom {
                op: f,
                access: x,
                lanes: m,
                srcs: p,
                cas: c,
                ..
            },
            Op::Atom {
                op: g,
                access: y,
                lanes: n,
                srcs: q,
                cas: d,
                ..
            },
        ) => {
            let swapped = match (c, d) {
                (Some(c), Some(d)) => equal(*c, *d),
                (c, d) => c.is_none() && d.is_none(),
            };
            let given = p.len() == q.len() && p.iter().zip(q).all(|(a, b)| equal(*a, *b));
            (f, x, m) == (g, y, n) && swapped && given
        }
        _ => false,
    }
}

/// The number that an operand is wherever it is read.
fn constant(kernel: &Kernel, src: Src) -> Option<u64> {
    let Src::Reg(reg) = src else {
        return match src {
            Src::Imm(n) => Some(n),
            _ => None,
        };
    };
    let mut found = None;
    for inst in &kernel.insts {
        let mut writes = false;
        inst.op.defs(&mut |r| writes |= r == reg);
        let number = match (&inst.op, inst.guard) {
            _ if !writes => continue,
            (
                Op::Mov {
                    src: Src::Imm(n), ..
                },
                None,
            ) => *n,
            _ => return None,
        };
        if found.replace(number).is_some_and(|n| n != number) {
            return None;
        }
    }
    found
}

/// Loads that wait by themselves and order nothing, which an update of the same scope may go round by: whether they read its
/// word, and end at what lets it end, the simulator looks.
fn delays(kernel: &Kernel, known: &Awaits, pc: Pc) -> FxHashSet<u32> {
    let Op::Atom { access: own, .. } = &kernel.insts[pc.0 as usize].op else {
        return FxHashSet::default();
    };
    if known.by_access.contains_key(&pc) {
        return FxHashSet::default();
    }
    let fence = |at: &u32| matches!(kernel.insts[*at as usize].op, Op::Fence { .. });
    let all = known.by_access.iter().filter(|(at, wait)| {
        let Op::Ld { access, .. } = &kernel.insts[at.0 as usize].op else {
            return false;
        };
        let relaxed = access.volatile || access.sem == Sem::Relaxed;
        let wide = access.volatile || access.scope >= own.scope;
        let same = access.ty.bits() == own.ty.bits();
        relaxed && wide && same && !wait.is_used && !wait.body.iter().any(fence)
    });
    all.map(|(at, _)| at.0).collect()
}

impl Await {
    fn written(&self, kernel: &Kernel, pc: Pc) -> FxHashSet<RegId> {
        written(kernel, pc, &self.body)
    }
}

fn written(kernel: &Kernel, pc: Pc, body: &FxHashSet<u32>) -> FxHashSet<RegId> {
    let mut written: FxHashSet<RegId> = FxHashSet::default();
    for at in body.iter().chain([&pc.0]) {
        kernel.insts[*at as usize].op.defs(&mut |r| {
            written.insert(r);
        });
    }
    written
}

/// Where the straight code that leads to an access begins: who comes to the access comes through it.
fn cut(kernel: &Kernel, targets: &FxHashSet<u32>, pc: Pc) -> u32 {
    cut_through(kernel, targets, pc, |_| false)
}

/// The same, where some instructions that write no register do not end it.
fn cut_through(
    kernel: &Kernel,
    targets: &FxHashSet<u32>,
    pc: Pc,
    through: impl Fn(&u32) -> bool,
) -> u32 {
    let mut at = pc.0;
    while at > 0 && !targets.contains(&at) {
        let before = &kernel.insts[at as usize - 1];
        if !before.op.is_pure() && !through(&(at - 1)) {
            break;
        }
        at -= 1;
    }
    at
}

/// Where a loop can be left to.
fn exits(kernel: &Kernel, pc: Pc, body: &FxHashSet<u32>, polls: &FxHashSet<u32>) -> Vec<u32> {
    let mut out = Vec::new();
    for &at in body.iter().chain([&pc.0]) {
        let to = successors(kernel, Pc(at));
        out.extend(
            to.into_iter()
                .filter(|t| !polls.contains(t) && !body.contains(t)),
        );
    }
    // A jump and nothing else is no place of its own.
    for e in &mut out {
        while let Some(Op::Bra { target, .. }) = kernel.insts.get(*e as usize).map(|i| &i.op)
            && kernel.insts[*e as usize].guard.is_none()
            && target.0 > *e
        {
            *e = target.0;
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// True if a clock decides in a body more than how long a round takes.
fn asks_clock(kernel: &Kernel, body: &FxHashSet<u32>, silent: &FxHashSet<u32>) -> bool {
    let insts = || body.iter().map(|at| (at, &kernel.insts[*at as usize]));
    let mut made: FxHashSet<RegId> = FxHashSet::default();
    loop {
        let count = made.len();
        for (_, inst) in insts() {
            let mut of_it = matches!(inst.op, Op::Special { .. }) && !inst.op.is_pure();
            uses(inst, |r| of_it |= made.contains(&r));
            if of_it {
                inst.op.defs(&mut |r| {
                    made.insert(r);
                });
            }
        }
        if made.len() == count {
            break;
        }
    }
    insts().any(|(at, inst)| {
        let asks = match &inst.op {
            Op::Bra { .. } => inst.guard.is_some_and(|g| made.contains(&g.reg)),
            Op::Brx { .. } => !made.is_empty(),
            _ => false,
        };
        asks && !silent.contains(at)
    })
}

/// Registers that are live before each instruction, where the operands of a computation are live only if one of
/// its results is.
#[derive(Debug)]
pub struct Live {
    words: usize,
    before: Vec<u64>,
}

impl Live {
    /// Those of a kernel, where these branches ask nothing; `None` if there are too many.
    pub fn new(kernel: &Kernel, silent: &FxHashSet<u32>) -> Option<Live> {
        let n = kernel.insts.len();
        let words = kernel.reg_width.len().div_ceil(64);
        if n.checked_mul(words)? > MAX_WORDS {
            return None;
        }
        let mut live = Live {
            words,
            before: vec![0; n * words],
        };
        let to: Vec<Vec<u32>> = (0..n as u32).map(|i| successors(kernel, Pc(i))).collect();
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (i, to) in (0u32..).zip(&to) {
            for t in to.iter().filter(|t| (**t as usize) < n) {
                from[*t as usize].push(i);
            }
        }
        let mut waiting = vec![true; n];
        let mut work: Vec<u32> = (0..n as u32).collect();
        let mut row = vec![0u64; words];
        while let Some(i) = work.pop() {
            waiting[i as usize] = false;
            row.fill(0);
            for t in to[i as usize].iter().filter(|t| (**t as usize) < n) {
                let at = *t as usize * words;
                for (r, b) in row.iter_mut().zip(&live.before[at..at + words]) {
                    *r |= b;
                }
            }
            if !silent.contains(&i) {
                Live::step(kernel, i, &mut row);
            }
            let at = i as usize * words;
            if live.before[at..at + words] != row[..] {
                live.before[at..at + words].copy_from_slice(&row);
                for f in &from[i as usize] {
                    if !std::mem::replace(&mut waiting[*f as usize], true) {
                        work.push(*f);
                    }
                }
            }
        }
        Some(live)
    }

    /// From the registers that are live after an instruction to those before it.
    fn step(kernel: &Kernel, at: u32, row: &mut [u64]) {
        let inst = &kernel.insts[at as usize];
        let has = |row: &[u64], r: RegId| row[r.0 as usize / 64] >> (r.0 % 64) & 1 == 1;
        let mut needed = !inst.op.is_pure();
        inst.op.defs(&mut |r| needed |= has(row, r));
        if !needed {
            return;
        }
        if inst.guard.is_none() {
            inst.op
                .defs(&mut |r| row[r.0 as usize / 64] &= !(1 << (r.0 % 64)));
        }
        uses(inst, |r| row[r.0 as usize / 64] |= 1 << (r.0 % 64));
    }

    /// True if a register is live before an instruction.
    pub fn before(&self, at: u32, r: RegId) -> bool {
        let i = at as usize * self.words + r.0 as usize / 64;
        self.before.get(i).is_some_and(|w| w >> (r.0 % 64) & 1 == 1)
    }
}
