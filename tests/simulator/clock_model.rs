//! The compressed clocks against the definition: for each thread the set of accesses that
//! happen before what it does now.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use volta::sim::Tid;
use volta::sim::clock::{Actor, Clocks, RankShape, Snapshot, Tick, lanes};

/// One step of a random history; numbers are reduced to what exists.
#[derive(Clone, Debug)]
enum Step {
    Access(u32),
    WarpSync(u32, u32),
    /// Bits of warps that wait, bits of warps that only arrive.
    Barrier(u32, u32),
    FullBarrier,
    Publish(u32),
    Acquire(u32, usize),
    Exit(u32, u32),
    Fork(u32),
    Join(usize, u32),
    JoinBy(usize, u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<u32>().prop_map(Step::Access),
        3 => any::<(u32, u32)>().prop_map(|(w, m)| Step::WarpSync(w, m)),
        3 => any::<(u32, u32)>().prop_map(|(w, m)| Step::Barrier(w, m)),
        1 => Just(Step::FullBarrier),
        2 => any::<u32>().prop_map(Step::Publish),
        2 => any::<(u32, usize)>().prop_map(|(t, s)| Step::Acquire(t, s)),
        1 => any::<(u32, u32)>().prop_map(|(w, m)| Step::Exit(w, m)),
        1 => any::<u32>().prop_map(Step::Fork),
        1 => any::<(usize, u32)>().prop_map(|(b, m)| Step::Join(b, m)),
        1 => any::<(usize, u32, u32)>().prop_map(|(b, l, t)| Step::JoinBy(b, l, t)),
    ]
}

/// What a thread knows: by happens-before, and with the edges of exits.
#[derive(Clone, Debug, Default)]
struct Known {
    strong: BTreeSet<usize>,
    weak: BTreeSet<usize>,
}

impl Known {
    fn join(&mut self, other: &Known) {
        self.strong.extend(&other.strong);
        self.weak.extend(&other.weak);
    }
}

struct Model {
    shape: RankShape,
    clocks: Clocks,
    known: Vec<Known>,
    live: Vec<bool>,
    accesses: Vec<(Actor, Tick)>,
    snapshots: Vec<(Arc<Snapshot>, Known)>,
    /// First id of the block, its warp, and the access of each lane's agent.
    blocks: Vec<(Actor, u32, Vec<usize>)>,
}

impl Model {
    fn new(shape: RankShape) -> Model {
        Model {
            shape,
            clocks: Clocks::new(shape),
            known: vec![Known::default(); shape.threads() as usize],
            live: vec![true; shape.threads() as usize],
            accesses: Vec::new(),
            snapshots: Vec::new(),
            blocks: Vec::new(),
        }
    }

    fn live_of(&self, warp: u32) -> Vec<u32> {
        lanes(self.clocks.live(warp))
            .map(|l| self.shape.tid(warp, l).0)
            .collect()
    }

    fn union(&self, of: &[u32]) -> Known {
        let mut all = Known::default();
        for &t in of {
            all.join(&self.known[t as usize]);
        }
        all
    }

    fn give(&mut self, to: &[u32], what: &Known) {
        for &t in to {
            self.known[t as usize].join(what);
        }
    }

    /// Whole warps wait, others only arrived before; exits of warps that take no part count if
    /// `released`.
    fn barrier(&mut self, wait: u32, arrive: u32, released: bool) {
        let warps = self.shape.warps();
        let mut snaps = Vec::new();
        let (mut all, mut exited) = (Known::default(), self.clocks.shape().none());
        let mut members = Vec::new();
        for w in 0..warps {
            let here = (wait | arrive) >> w & 1 != 0;
            if here || (released && self.clocks.live(w) == 0) {
                exited[w as usize] = self.shape.members(w) & !self.clocks.live(w);
            }
            if arrive >> w & 1 != 0 {
                snaps.push(self.clocks.publish_warp(w));
                all.join(&self.union(&self.live_of(w)));
            }
            if wait >> w & 1 != 0 {
                members.extend(self.live_of(w));
            }
        }
        all.join(&self.union(&members));
        for w in 0..warps {
            for l in lanes(exited[w as usize]) {
                let t = self.shape.tid(w, l).0 as usize;
                all.weak.extend(&self.known[t].weak);
            }
        }
        if wait != 0 {
            self.clocks
                .rendezvous(&lanes(wait).collect::<Vec<_>>(), &snaps, &exited);
            self.give(&members, &all);
        }
    }

    fn run(&mut self, step: &Step) {
        let n = self.shape.threads();
        let warps = self.shape.warps();
        match *step {
            Step::Access(t) => {
                let t = t % n;
                if self.live[t as usize] {
                    let id = self.accesses.len();
                    let at = self.clocks.stamp(self.shape.warp(Tid(t)));
                    self.accesses.push((Actor(t), at));
                    self.known[t as usize].strong.insert(id);
                    self.known[t as usize].weak.insert(id);
                }
            }
            Step::WarpSync(w, m) => {
                let w = w % warps;
                let m = m & self.clocks.live(w);
                if m != 0 {
                    self.clocks.warp_sync(w, m);
                    let who: Vec<u32> = lanes(m).map(|l| self.shape.tid(w, l).0).collect();
                    let all = self.union(&who);
                    self.give(&who, &all);
                }
            }
            Step::Barrier(a, b) => {
                let live = (0..warps).filter(|&w| self.clocks.live(w) != 0);
                let live = live.fold(0, |m, w| m | 1 << w);
                self.barrier(a & live, b & live & !a, false);
            }
            Step::FullBarrier => {
                let live = (0..warps).filter(|&w| self.clocks.live(w) != 0);
                let live = live.fold(0, |m, w| m | 1 << w);
                if live != 0 {
                    self.barrier(live, 0, true);
                }
            }
            Step::Publish(t) => {
                let t = t % n;
                if self.live[t as usize] {
                    let s = self.clocks.publish(Tid(t));
                    self.snapshots.push((s, self.known[t as usize].clone()));
                }
            }
            Step::Acquire(t, s) => {
                let t = t % n;
                if self.live[t as usize] && !self.snapshots.is_empty() {
                    let (s, k) = self.snapshots[s % self.snapshots.len()].clone();
                    self.clocks.acquire(Tid(t), &s);
                    self.known[t as usize].join(&k);
                }
            }
            Step::Exit(w, m) => {
                let w = w % warps;
                let m = m & self.clocks.live(w);
                self.clocks.exit(w, m);
                for l in lanes(m) {
                    self.live[self.shape.tid(w, l).0 as usize] = false;
                }
            }
            Step::Fork(w) => {
                let w = w % warps;
                let base = self.clocks.fork(w);
                let first = self.accesses.len();
                let width = self.shape.width();
                for l in 0..width {
                    self.accesses
                        .push((Actor(base.0 + l), self.clocks.stamp(w)));
                }
                self.blocks
                    .push((base, w, (first..first + width as usize).collect()));
            }
            Step::Join(b, m) => {
                if let Some((base, w, ids)) = pick(&self.blocks, b) {
                    let m = m & self.clocks.live(w);
                    self.clocks.join(base, m);
                    for l in lanes(m) {
                        let k = &mut self.known[self.shape.tid(w, l).0 as usize];
                        k.strong.insert(ids[l as usize]);
                        k.weak.insert(ids[l as usize]);
                    }
                }
            }
            Step::JoinBy(b, l, t) => {
                let (l, t) = (l % self.shape.width(), t % n);
                if let Some((base, _, ids)) = pick(&self.blocks, b)
                    && self.live[t as usize]
                {
                    self.clocks.join_by(Actor(base.0 + l), Tid(t));
                    self.known[t as usize].strong.insert(ids[l as usize]);
                    self.known[t as usize].weak.insert(ids[l as usize]);
                }
            }
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        for (id, &(who, at)) in self.accesses.iter().enumerate() {
            let mut all = true;
            for t in (0..self.shape.threads()).filter(|&t| self.live[t as usize]) {
                let k = &self.known[t as usize];
                let strong = k.strong.contains(&id);
                all &= strong;
                let got = self.clocks.ordered(who, at, Tid(t));
                prop_assert_eq!(got, strong, "{:?} {:?} before {}", who, at, t);
                let got = self.clocks.exit_ordered(who, at, Tid(t));
                prop_assert_eq!(got, k.weak.contains(&id), "exit: {:?} {:?} {}", who, at, t);
            }
            // Settled may be late, never early.
            prop_assert!(
                !self.clocks.settled(who, at) || all,
                "settled {:?} {:?}",
                who,
                at
            );
        }
        Ok(())
    }
}

fn pick(blocks: &[(Actor, u32, Vec<usize>)], i: usize) -> Option<(Actor, u32, Vec<usize>)> {
    (!blocks.is_empty()).then(|| blocks[i % blocks.len()].clone())
}

fn agrees(shape: RankShape, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new(shape);
    for step in steps {
        model.run(step);
        model.check()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every pair of an access and a thread is ordered exactly if the definition says so.
    #[test]
    fn clocks_are_vector_clocks(
        threads in 1u32..9,
        shift in 0u32..3,
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let shape = RankShape::with_width(threads, 1 << shift).unwrap();
        agrees(shape, &steps)?;
    }
}

/// Barriers of all threads discard everything but one number.
#[test]
fn a_full_barrier_orders_all_and_an_exit_does_not() {
    let shape = RankShape::new(64).unwrap();
    let mut c = Clocks::new(shape);
    let (early, at) = (Actor(3), c.stamp(0));
    c.exit(0, 1 << 3);
    let none = c.shape().none();
    c.rendezvous(&[0, 1], &[], &none);
    assert!(!c.ordered(early, at, Tid(40)));
    assert!(!c.exit_ordered(early, at, Tid(40)));
    assert!(c.ordered(Actor(4), at, Tid(40)));
    let mut exited = c.shape().none();
    exited[0] = 1 << 3;
    c.rendezvous(&[0, 1], &[], &exited);
    assert!(!c.ordered(early, at, Tid(40)));
    assert!(c.exit_ordered(early, at, Tid(40)));
}
