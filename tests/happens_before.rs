//! The verdict of one round-robin run against all interleavings, for tiny programs.
//!
//! A program is a list of operations for each thread, without branches. The judge steps single
//! threads in every order. A data race is a reachable state in which two threads (or copies that
//! are under way) can make conflicting accesses next; a barrier is misused if an arrival falls
//! into different generations on different ways, or fails on one; a deadlock is a state without a
//! next step. An `arrive` waits for the other lanes of its warp without acquiring from them, so
//! that the judge misses races between these lanes: it is exact where warps have one lane.

use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::*;
use volta::kernel::{AtomOp, IntTy, NumTy, Pc};
use volta::sim::Tid;
use volta::sim::barrier::{Arrive, Barriers, Form, Wake};
use volta::sim::clock::{Actor, Clocks, Shape, lanes};
use volta::sim::race::{Conflict, Kind, RegionId, Report};
use volta::sim::shadow::{Shadow, WarpAccess};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Access {
        kind: Kind,
        offset: u64,
        size: u8,
    },
    /// A copy that writes, as an agent.
    Copy {
        offset: u64,
        size: u8,
    },
    /// Wait for all copies of this thread.
    Wait,
    /// The count is in warps.
    Bar {
        id: u32,
        count: Option<u32>,
        form: Form,
    },
    WarpSync(u32),
}

#[derive(Clone, Debug)]
struct Program {
    shape: Shape,
    threads: Vec<Vec<Op>>,
}

/// What a run can show, in the terms of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Verdict {
    race: bool,
    same: bool,
    strong: bool,
    deadlock: bool,
    pending: bool,
    misuse: bool,
}

fn conflict(a: (Kind, u64, u8), b: (Kind, u64, u8), v: &mut Verdict) {
    let overlap = a.1 < b.1 + u64::from(b.2) && b.1 < a.1 + u64::from(a.2);
    if !overlap || (!a.0.writes() && !b.0.writes()) {
        return;
    }
    let whole = a.1 == b.1 && a.2 == b.2;
    let add = |k| {
        matches!(
            k,
            Kind::Atomic {
                op: AtomOp::Add,
                used: false,
                ..
            }
        )
    };
    match (a.0.strong(), b.0.strong()) {
        (true, true) if whole && add(a.0) && add(b.0) => {}
        (true, true) if whole => v.strong = true,
        (false, false) if whole && a.0 == Kind::Write && b.0 == Kind::Write => v.same = true,
        _ => v.race = true,
    }
}

// The judge.

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Bar {
    /// Lanes (as bits of thread ids) that wait for their warp, with form and count.
    partial: Vec<(u32, u32, Form, Option<u32>)>,
    /// (warp, form), in order of warps.
    arrived: Vec<(u32, Form)>,
    count: Option<u32>,
    generation: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    next: Vec<u8>,
    exited: u32,
    /// Threads blocked at a barrier.
    blocked: u32,
    /// For each thread, its copies under way, by index of the operation.
    copies: Vec<u32>,
    bars: Vec<Bar>,
    /// Arrivals of each warp so far.
    ordinal: Vec<u8>,
}

struct Judge<'a> {
    p: &'a Program,
    seen: HashSet<State>,
    generation: HashMap<(u32, u8), (u32, u8)>,
    verdict: Verdict,
}

impl Judge<'_> {
    fn warp_live(&self, s: &State, w: u32) -> u32 {
        let all = lanes(self.p.shape.members(w)).map(|l| 1 << self.p.shape.tid(w, l).0);
        all.sum::<u32>() & !s.exited
    }

    fn explore(&mut self, first: State) {
        let mut stack = vec![first];
        while let Some(s) = stack.pop() {
            if self.verdict.misuse || !self.seen.insert(s.clone()) {
                continue;
            }
            self.pairs(&s);
            let before = stack.len();
            for t in 0..self.p.threads.len() {
                self.step(&s, t, &mut stack);
                for op in lanes(s.copies[t]) {
                    let mut n = s.clone();
                    n.copies[t] &= !(1 << op);
                    stack.push(n);
                }
            }
            let live = self.p.threads.len() as u32 - s.exited.count_ones();
            if stack.len() == before {
                self.verdict.deadlock |= live > 0;
                self.verdict.pending |= live == 0 && s.bars.iter().any(|b| !b.arrived.is_empty());
            }
        }
    }

    /// Conflicts between accesses that can come next.
    fn pairs(&mut self, s: &State) {
        let mut next = Vec::new();
        for (t, ops) in self.p.threads.iter().enumerate() {
            if s.blocked >> t & 1 == 0
                && let Some(Op::Access { kind, offset, size }) = ops.get(s.next[t] as usize)
            {
                next.push((*kind, *offset, *size));
            }
            for i in lanes(s.copies[t]) {
                if let Op::Copy { offset, size } = ops[i as usize] {
                    next.push((Kind::Write, offset, size));
                }
            }
        }
        for i in 0..next.len() {
            for j in 0..i {
                conflict(next[i], next[j], &mut self.verdict);
            }
        }
    }

    fn step(&mut self, s: &State, t: usize, out: &mut Vec<State>) {
        let bit = 1u32 << t;
        if (s.exited | s.blocked) & bit != 0 {
            return;
        }
        let shape = self.p.shape;
        let op = self.p.threads[t].get(s.next[t] as usize).copied();
        let mut n = s.clone();
        n.next[t] += 1;
        match op {
            Some(Op::Access { .. }) => out.push(n),
            Some(Op::Copy { .. }) => {
                n.copies[t] |= 1 << s.next[t];
                out.push(n);
            }
            Some(Op::Wait) => {
                if s.copies[t] == 0 {
                    out.push(n);
                }
            }
            None => {
                n.exited |= bit;
                let w = shape.warp(Tid(t as u32));
                for id in 0..n.bars.len() {
                    self.gather(&mut n, id, w);
                }
                for id in 0..n.bars.len() {
                    self.complete(&mut n, id);
                }
                out.push(n);
            }
            Some(Op::WarpSync(mask)) => {
                let w = shape.warp(Tid(t as u32));
                let who: Vec<usize> = lanes(mask & shape.members(w))
                    .map(|l| shape.tid(w, l).0 as usize)
                    .collect();
                let here = |&u: &usize| {
                    let op = self.p.threads[u].get(s.next[u] as usize);
                    (s.blocked | s.exited) >> u & 1 == 0 && op == Some(&Op::WarpSync(mask))
                };
                if who.iter().all(here) {
                    let mut n = s.clone();
                    for u in who {
                        n.next[u] += 1;
                    }
                    out.push(n);
                }
            }
            Some(Op::Bar { id, count, form }) => {
                let w = shape.warp(Tid(t as u32));
                let b = &mut n.bars[id as usize];
                if b.arrived.iter().any(|a| a.0 == w) {
                    self.verdict.misuse = true;
                    return;
                }
                match b.partial.iter_mut().find(|p| p.0 == w) {
                    Some(p) => {
                        if p.2 != form || self.size(p.3) != self.size(count) {
                            self.verdict.misuse = true;
                            return;
                        }
                        p.1 |= bit;
                        p.3 = p.3.and(count);
                    }
                    None => b.partial.push((w, bit, form, count)),
                }
                b.partial.sort_by_key(|p| p.0);
                n.blocked |= bit;
                self.gather(&mut n, id as usize, w);
                self.complete(&mut n, id as usize);
                out.push(n);
            }
        }
    }

    fn size(&self, count: Option<u32>) -> u32 {
        count.unwrap_or(self.p.shape.warps())
    }

    /// The warp arrives if all its lanes have.
    fn gather(&mut self, n: &mut State, id: usize, w: u32) {
        let live = self.warp_live(n, w);
        let Some(i) = n.bars[id]
            .partial
            .iter()
            .position(|p| p.0 == w && live & !p.1 == 0)
        else {
            return;
        };
        let (_, who, form, count) = n.bars[id].partial.remove(i);
        let size = self.size(count);
        let b = &mut n.bars[id];
        if b.arrived.is_empty() {
            b.count = count;
        } else {
            let red = |f: Form| !matches!(f, Form::Sync | Form::Arrive);
            let first = b.arrived[0].1;
            if self.size(b.count) != size || red(first) != red(form) {
                self.verdict.misuse = true;
            }
            b.count = b.count.and(count);
        }
        b.arrived.push((w, form));
        b.arrived.sort_by_key(|a| a.0);
        if form == Form::Arrive {
            n.blocked &= !who;
        }
        let name = (w, n.ordinal[w as usize]);
        n.ordinal[w as usize] += 1;
        let place = (id as u32, b.generation);
        if *self.generation.entry(name).or_insert(place) != place {
            self.verdict.misuse = true;
        }
    }

    fn complete(&mut self, n: &mut State, id: usize) {
        let b = &n.bars[id];
        let here = |w: u32| b.arrived.iter().any(|a| a.0 == w);
        let full = match b.count {
            Some(c) => b.arrived.len() as u32 >= c,
            None => {
                let mut warps = 0..self.p.shape.warps();
                warps.all(|w| here(w) || self.warp_live(n, w) == 0)
            }
        };
        if b.arrived.is_empty() || !full {
            return;
        }
        for (w, form) in std::mem::take(&mut n.bars[id].arrived) {
            if form != Form::Arrive {
                n.blocked &= !self.warp_live(n, w);
            }
        }
        n.bars[id].generation += 1;
    }
}

fn judge(p: &Program) -> Verdict {
    let n = p.threads.len();
    let mut j = Judge {
        p,
        seen: HashSet::new(),
        generation: HashMap::new(),
        verdict: Verdict::default(),
    };
    j.explore(State {
        next: vec![0; n],
        exited: 0,
        blocked: 0,
        copies: vec![0; n],
        bars: vec![Bar::default(); 2],
        ordinal: vec![0; p.shape.warps() as usize],
    });
    j.verdict
}

// One run, as the simulator does it.

struct Run<'a> {
    p: &'a Program,
    clocks: Clocks,
    barriers: Barriers,
    shadow: Shadow,
    report: Report,
    next: Vec<usize>,
    blocked: Vec<bool>,
    copies: Vec<Vec<Actor>>,
    same: bool,
}

impl Run<'_> {
    fn ready(&self, t: Tid) -> Option<Option<Op>> {
        let w = self.p.shape.warp(t);
        let live = self.clocks.live(w) >> self.p.shape.lane(t) & 1 != 0;
        let i = t.0 as usize;
        (live && !self.blocked[i]).then(|| self.p.threads[i].get(self.next[i]).copied())
    }

    /// Lanes of the warp with the same next operation, from the first that can step.
    fn group(&self, w: u32) -> Option<(u32, Option<Op>)> {
        let shape = self.p.shape;
        let mut found: Option<(u32, Option<Op>)> = None;
        for l in lanes(shape.members(w)) {
            let Some(op) = self.ready(shape.tid(w, l)) else {
                continue;
            };
            if let Some(Op::WarpSync(mask)) = op {
                let who = mask & shape.members(w);
                let here = |m| self.ready(shape.tid(w, m)) == Some(op);
                if !lanes(who).all(here) {
                    continue;
                }
                if found.is_none() {
                    return Some((who, op));
                }
                continue;
            }
            match &mut found {
                None => found = Some((1 << l, op)),
                Some((mask, first)) if *first == op => *mask |= 1 << l,
                _ => {}
            }
        }
        found
    }

    fn access(&mut self, w: u32, mask: u32, a: (Kind, u64, u8), agent: Option<Actor>) {
        let pc = Pc(w * 8 + mask.trailing_zeros());
        let offsets = [a.1; 32];
        let access = WarpAccess {
            warp: w,
            agent,
            mask,
            pc,
            offsets: &offsets,
            elem: a.2,
            count: 1,
            kind: a.0,
            conditional: false,
        };
        self.shadow.access(&self.clocks, &access, &mut self.report);
        self.same |= self
            .report
            .same
            .drain(..)
            .any(|s| s.otherwise == Conflict::Race);
    }

    /// Runs to the end; `Err` for a misused barrier.
    fn run(&mut self) -> Result<(), ()> {
        let shape = self.p.shape;
        let mut progress = true;
        while progress {
            progress = false;
            for w in 0..shape.warps() {
                while let Some((mask, op)) = self.group(w) {
                    progress = true;
                    self.step(w, mask, op)?;
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, w: u32, mask: u32, op: Option<Op>) -> Result<(), ()> {
        let shape = self.p.shape;
        let threads: Vec<usize> = lanes(mask).map(|l| shape.tid(w, l).0 as usize).collect();
        for &t in &threads {
            self.next[t] += 1;
        }
        let mut wake: Vec<Wake> = Vec::new();
        match op {
            None => {
                self.clocks.exit(w, mask);
                self.barriers
                    .exit(w, &mut self.clocks, &mut wake)
                    .map_err(|_| ())?;
            }
            Some(Op::Access { kind, offset, size }) => {
                self.access(w, mask, (kind, offset, size), None);
            }
            Some(Op::Copy { offset, size }) => {
                let base = self.clocks.fork(w);
                self.access(w, mask, (Kind::Write, offset, size), Some(base));
                for &t in &threads {
                    self.copies[t].push(base);
                }
            }
            Some(Op::Wait) => {
                for &t in &threads {
                    for base in std::mem::take(&mut self.copies[t]) {
                        self.clocks.join(base, 1 << shape.lane(Tid(t as u32)));
                    }
                }
            }
            Some(Op::WarpSync(_)) => self.clocks.warp_sync(w, mask),
            Some(Op::Bar { id, count, form }) => {
                for &t in &threads {
                    self.blocked[t] = true;
                }
                let a = Arrive {
                    warp: w,
                    mask,
                    pc: Pc(100 + id),
                    id,
                    count: count.map(|c| c * shape.width()),
                    form,
                    aligned: false,
                    trues: 0,
                };
                self.barriers
                    .arrive(&a, &mut self.clocks, &mut wake)
                    .map_err(|_| ())?;
            }
        }
        for wake in wake {
            for l in lanes(wake.mask) {
                self.blocked[shape.tid(wake.warp, l).0 as usize] = false;
            }
        }
        Ok(())
    }
}

fn round_robin(p: &Program) -> Verdict {
    let n = p.threads.len();
    let clocks = Clocks::new(p.shape);
    let shadow = Shadow::new(RegionId(0), &clocks);
    let mut run = Run {
        p,
        clocks,
        barriers: Barriers::new(),
        shadow,
        report: Report::default(),
        next: vec![0; n],
        blocked: vec![false; n],
        copies: vec![Vec::new(); n],
        same: false,
    };
    if run.run().is_err() {
        return Verdict {
            misuse: true,
            ..Verdict::default()
        };
    }
    let found: BTreeSet<Conflict> = run.report.findings().map(|f| f.conflict).collect();
    let over = (0..p.shape.warps()).all(|w| run.clocks.live(w) == 0);
    Verdict {
        race: found.contains(&Conflict::Race),
        same: run.same,
        strong: found.contains(&Conflict::Strong),
        deadlock: !over,
        pending: over && !run.barriers.pending().is_empty(),
        misuse: false,
    }
}

// Random programs.

fn kind() -> impl Strategy<Value = Kind> {
    let ty = NumTy::Int(IntTy {
        width: 32,
        signed: false,
    });
    let atomic = move |op, used| Kind::Atomic { op, ty, used };
    prop_oneof![
        3 => Just(Kind::Read),
        4 => Just(Kind::Write),
        1 => Just(Kind::StrongRead),
        1 => Just(Kind::StrongWrite),
        1 => Just(atomic(AtomOp::Add, false)),
        1 => Just(atomic(AtomOp::Add, true)),
        1 => Just(atomic(AtomOp::Exch, false)),
    ]
}

fn place() -> impl Strategy<Value = (u64, u8)> {
    prop_oneof![
        5 => (0u64..2).prop_map(|i| (i * 4, 4)),
        1 => Just((0, 8)),
        1 => (0u64..4).prop_map(|i| (i * 2, 2)),
        1 => (0u64..8).prop_map(|i| (i, 1)),
    ]
}

fn op(warps: u32, width: u32, counted: bool) -> impl Strategy<Value = Op> {
    let form = prop_oneof![4 => Just(Form::Sync), 2 => Just(Form::Arrive), 1 => Just(Form::And)];
    let count = prop_oneof![
        2 => Just(None),
        if counted { 3 } else { 0 } => (1..=warps).prop_map(Some),
    ];
    let full = (1u64 << width) - 1;
    prop_oneof![
        8 => (kind(), place()).prop_map(|(kind, (offset, size))| Op::Access { kind, offset, size }),
        1 => place().prop_map(|(offset, size)| Op::Copy { offset, size }),
        1 => Just(Op::Wait),
        5 => (0u32..2, count, form).prop_map(move |(id, count, form)| Op::Bar {
            id: if counted { id } else { 0 },
            // An arrive needs a count.
            count: if form == Form::Arrive { count.or(Some(warps)) } else { count },
            form,
        }),
        if width > 1 { 2 } else { 0 } => (1..=full as u32).prop_map(Op::WarpSync),
        if width > 1 { 2 } else { 0 } => Just(Op::WarpSync(full as u32)),
    ]
}

/// Threads that do mostly the same, so that barriers meet, with a few changes.
fn program() -> impl Strategy<Value = Program> {
    (2u32..5, 0u32..3, any::<bool>()).prop_flat_map(|(n, shift, counted)| {
        let shape = Shape::with_width(n, 1 << shift).unwrap();
        let (warps, width) = (shape.warps(), shape.width());
        let common = prop::collection::vec(op(warps, width, counted), 0..5);
        let change = (
            0usize..4,
            0usize..6,
            prop::option::of(op(warps, width, counted)),
        );
        (common, prop::collection::vec(change, 0..5)).prop_map(move |(common, changes)| {
            let mut threads = vec![common; n as usize];
            for (t, at, op) in changes {
                let list = &mut threads[t % n as usize];
                match op {
                    Some(op) => list.insert(at.min(list.len()), op),
                    None if at < list.len() => {
                        list.remove(at);
                    }
                    None => {}
                }
                list.truncate(7);
            }
            // A lane that executes a warp synchronisation is one of its members.
            for (t, list) in threads.iter_mut().enumerate() {
                let t = Tid(t as u32);
                let lane = shape.lane(t);
                list.retain(|op| !matches!(op, Op::WarpSync(m) if m >> lane & 1 == 0));
            }
            Program { shape, threads }
        })
    })
}

/// The round-robin verdict holds for every interleaving, and no interleaving shows more.
fn agrees(p: &Program) -> Result<Verdict, TestCaseError> {
    let (all, one) = (judge(p), round_robin(p));
    if all.misuse || one.misuse {
        prop_assert_eq!(all.misuse, one.misuse, "{:?} {:?}", all, one);
        return Ok(all);
    }
    let arrives = |op: &Op| {
        matches!(
            op,
            Op::Bar {
                form: Form::Arrive,
                ..
            }
        )
    };
    if p.shape.width() > 1 && p.threads.iter().flatten().any(arrives) {
        let both = Verdict {
            race: all.race || one.race,
            same: all.same || one.same,
            strong: all.strong || one.strong,
            ..all
        };
        prop_assert_eq!(both, one, "{:?}", all);
        return Ok(all);
    }
    prop_assert_eq!(all, one);
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_schedule_stands_for_all(p in program()) {
        agrees(&p)?;
    }
}
