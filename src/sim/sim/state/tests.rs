//! Lists of states: what is numbered as it comes, and what clocks say.

use std::hash::{Hash, Hasher};

use crate::kernel::Pc;
use crate::sim::Tid;
use crate::sim::clock::{Actor, Clocks, RankShape, Tick};
use crate::sim::race::{AccessKind, By, RegionId, Report};
use crate::sim::shadow::{Shadow, WarpAccess};

use super::State;

fn state(part: &impl Hash) -> State {
    let mut state = State {
        first_agent: 64,
        ..State::default()
    };
    state.add("part", part);
    state.ranked()
}

#[test]
fn numbers_of_what_is_new_count_by_their_order_alone() {
    let one = state(&(Tick(3), Tick(9), Actor(70), Actor(65), 7u64));
    assert_eq!(one, state(&(Tick(5), Tick(6), Actor(99), Actor(98), 7u64)));
    assert_ne!(one, state(&(Tick(9), Tick(3), Actor(70), Actor(65), 7u64)));
    assert_ne!(one, state(&(Tick(3), Tick(3), Actor(70), Actor(65), 7u64)));
    assert_ne!(one, state(&(Tick(3), Tick(9), Actor(65), Actor(70), 7u64)));
    assert_ne!(one, state(&(Tick(3), Tick(9), Actor(70), Actor(65), 8u64)));
    assert_ne!(state(&Actor(3)), state(&Actor(4)));
}

/// Clocks of four warps, and what was accessed.
struct Run {
    clocks: Clocks,
    shadow: Shadow,
}

impl Hash for Run {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.clocks.hash(h);
        self.shadow.record(&self.clocks, h);
    }
}

impl Run {
    fn new() -> Run {
        let clocks = Clocks::new(RankShape::new(128).expect("a CTA"));
        let shadow = Shadow::new(RegionId(0), &clocks);
        Run { clocks, shadow }
    }

    /// All lanes of a warp access words of their own, from a byte on.
    fn access(&mut self, warp: u32, kind: AccessKind, from: u64) {
        let offsets: [u64; 32] = std::array::from_fn(|lane| from + 4 * lane as u64);
        let access = WarpAccess {
            warp,
            agent: None,
            mask: u32::MAX,
            pc: Pc(warp),
            offsets: &offsets,
            elem: 4,
            count: 1,
            kind,
            conditional: false,
            by: By::Lanes,
        };
        let mut report = Report::default();
        self.shadow.access(&self.clocks, &access, &mut report);
    }

    /// A round of a loop: some warps write and meet, a thread hands something to another, and all meet where that is said.
    fn round(&mut self, all: bool) {
        self.access(0, AccessKind::Write, 0);
        self.access(1, AccessKind::Write, 128);
        let nobody = self.clocks.shape().none();
        self.clocks.rendezvous(&[0, 1], &[], &nobody);
        self.access(0, AccessKind::Read, 128);
        let handed = self.clocks.publish(Tid(3));
        self.clocks.acquire(Tid(70), &handed);
        if all {
            self.clocks.collapse(&nobody);
        }
    }
}

#[test]
fn rounds_that_differ_in_ticks_alone_have_one_state() {
    for all in [false, true] {
        let mut run = Run::new();
        let mut states = Vec::new();
        for _ in 0..4 {
            run.round(all);
            states.push(state(&run));
        }
        assert_eq!(states[1], states[2], "all: {all}");
        assert_eq!(states[2], states[3], "all: {all}");
    }
}

#[test]
fn an_access_that_all_know_is_in_no_state() {
    let (mut run, mut other) = (Run::new(), Run::new());
    for run in [&mut run, &mut other] {
        run.access(2, AccessKind::Write, 512);
    }
    other.access(3, AccessKind::Read, 1024);
    assert_ne!(state(&run), state(&other), "of a read that nobody knows");
    for run in [&mut run, &mut other] {
        let nobody = run.clocks.shape().none();
        run.clocks.collapse(&nobody);
    }
    let places = |run: &Run| {
        let mut recorder = super::Recorder::default();
        run.shadow.record(&run.clocks, &mut recorder);
        recorder.0.len()
    };
    // Who ever accessed something is all that is left.
    assert_eq!(places(&run), places(&other));
}

#[test]
fn who_knows_an_access_is_part_of_a_state() {
    let (mut run, mut other) = (Run::new(), Run::new());
    for run in [&mut run, &mut other] {
        run.access(0, AccessKind::Write, 0);
    }
    let handed = run.clocks.publish(Tid(3));
    let same = other.clocks.publish(Tid(3));
    run.clocks.acquire(Tid(70), &handed);
    other.clocks.acquire(Tid(71), &same);
    assert_ne!(state(&run), state(&other));
}
