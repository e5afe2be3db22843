//! The verdict of one round-robin run against all interleavings, for tiny programs.
//!
//! The run steps whole warps through the machinery of the simulator; the judge in `judge/mod.rs`
//! shares no code with it.

use std::collections::BTreeSet;

use super::judge::{Op, Program, Verdict, judge};
use proptest::prelude::*;
use volta::kernel::{AtomOp, IntTy, NumTy, Pc};
use volta::sim::Tid;
use volta::sim::barrier::{Arrive, Barriers, Form, Wake};
use volta::sim::clock::{Actor, Clocks, RankShape, lanes};
use volta::sim::race::{AccessKind, Conflict, RegionId, Report};
use volta::sim::shadow::{Shadow, WarpAccess};

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

    fn access(&mut self, w: u32, mask: u32, a: (AccessKind, u64, u8), agent: Option<Actor>) {
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
            by: volta::sim::race::By::Lanes,
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
                self.access(w, mask, (AccessKind::Write, offset, size), Some(base));
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
        pending: over && run.barriers.pending().next().is_some(),
        misuse: false,
    }
}

// Random programs.

fn kind() -> impl Strategy<Value = AccessKind> {
    let ty = NumTy::Int(IntTy {
        width: 32,
        signed: false,
    });
    let atomic = move |op, used| AccessKind::Atomic {
        op,
        ty,
        used,
        operand: None,
    };
    prop_oneof![
        3 => Just(AccessKind::Read),
        4 => Just(AccessKind::Write),
        1 => Just(AccessKind::StrongRead),
        1 => Just(AccessKind::StrongWrite),
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
        let shape = RankShape::with_width(n, 1 << shift).unwrap();
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
