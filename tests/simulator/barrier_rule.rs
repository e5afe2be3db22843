//! Named barriers: what completes, what is misused, and what a deadlock report holds.

use volta::kernel::Pc;
use volta::sim::Tid;
use volta::sim::barrier::{Arrive, Barriers, Form, Misuse, MisuseKind, Wake};
use volta::sim::clock::{Actor, Clocks, RankShape};

struct Rig {
    clocks: Clocks,
    barriers: Barriers,
}

impl Rig {
    fn new(threads: u32) -> Rig {
        Rig {
            clocks: Clocks::new(RankShape::new(threads).unwrap()),
            barriers: Barriers::new(),
        }
    }

    fn run(&mut self, a: Arrive) -> Result<Vec<Wake>, Misuse> {
        let mut wake = Vec::new();
        self.barriers
            .arrive(&a, &mut self.clocks, &mut wake)
            .map(|()| wake)
    }

    /// All live lanes of a warp, with a pc that names the warp.
    fn arrive(
        &mut self,
        warp: u32,
        id: u32,
        count: Option<u32>,
        form: Form,
    ) -> Result<Vec<Wake>, Misuse> {
        let mask = self.clocks.live(warp);
        self.run(arrival(warp, mask, id, count, form))
    }

    fn exit(&mut self, warp: u32, mask: u32) -> Vec<Wake> {
        let mut wake = Vec::new();
        self.clocks.exit(warp, mask);
        self.barriers
            .exit(warp, &mut self.clocks, &mut wake)
            .unwrap();
        wake
    }
}

fn arrival(warp: u32, mask: u32, id: u32, count: Option<u32>, form: Form) -> Arrive {
    Arrive {
        warp,
        mask,
        pc: Pc(warp * 10 + id),
        id,
        count,
        form,
        aligned: false,
        trues: 0,
    }
}

fn warps(wake: &[Wake]) -> Vec<u32> {
    wake.iter().map(|w| w.warp).collect()
}

fn kind(r: Result<Vec<Wake>, Misuse>) -> MisuseKind {
    r.unwrap_err().kind
}

#[test]
fn a_barrier_of_the_cta_ignores_warps_that_have_exited() {
    let mut r = Rig::new(80);
    assert!(r.arrive(0, 0, None, Form::Sync).unwrap().is_empty());
    assert!(r.exit(1, 0xffff).is_empty());
    assert!(r.arrive(2, 0, None, Form::Sync).unwrap().is_empty());
    assert_eq!(warps(&r.exit(1, 0xffff_0000)), [0, 2]);
    assert!(r.arrive(0, 0, None, Form::Sync).unwrap().is_empty());
    assert_eq!(warps(&r.arrive(2, 0, None, Form::Sync).unwrap()), [0, 2]);
}

#[test]
fn lanes_that_arrive_apart_make_one_arrival() {
    let mut r = Rig::new(64);
    let part = |mask| arrival(0, mask, 3, Some(64), Form::Sync);
    assert!(r.run(part(0xff)).unwrap().is_empty());
    assert!(r.arrive(1, 3, Some(64), Form::Sync).unwrap().is_empty());
    assert_eq!(r.barriers.blocked(&r.clocks)[0].partial[0].mask, 0xff);
    assert!(r.run(part(0x00ff_ff00)).unwrap().is_empty());
    assert_eq!(warps(&r.exit(0, 0xff00_0000)), [1, 0]);
}

#[test]
fn producer_and_consumer_alternate() {
    let mut r = Rig::new(64);
    for _ in 0..3 {
        let at = r.clocks.stamp(0);
        assert_eq!(warps(&r.arrive(0, 1, Some(64), Form::Arrive).unwrap()), [0]);
        assert!(r.arrive(0, 2, Some(64), Form::Sync).unwrap().is_empty());
        assert_eq!(warps(&r.arrive(1, 1, Some(64), Form::Sync).unwrap()), [1]);
        assert!(r.clocks.ordered(Actor(0), at, Tid(40)));
        let back = r.clocks.stamp(1);
        assert!(!r.clocks.ordered(Actor(40), back, Tid(0)));
        assert_eq!(
            warps(&r.arrive(1, 2, Some(64), Form::Arrive).unwrap()),
            [1, 0]
        );
        assert!(r.clocks.ordered(Actor(40), back, Tid(0)));
    }
    assert_eq!(r.barriers.generations(1), 3);
    assert_eq!(r.barriers.pending().count(), 0);
}

#[test]
fn one_warp_may_have_a_barrier_of_its_own() {
    let mut r = Rig::new(128);
    assert_eq!(warps(&r.arrive(2, 5, Some(32), Form::Sync).unwrap()), [2]);
    assert_eq!(warps(&r.arrive(2, 5, Some(32), Form::Sync).unwrap()), [2]);
}

#[test]
fn reductions_count_lanes() {
    let mut r = Rig::new(48);
    let mut a = arrival(0, u32::MAX, 0, None, Form::Popc);
    a.trues = 0xf0;
    assert!(r.run(a).unwrap().is_empty());
    let mut a = arrival(1, 0xffff, 0, None, Form::Popc);
    a.trues = 0xffff_ffff;
    let wake = r.run(a).unwrap();
    assert_eq!(wake[0].red, Some((20, 48)));
    assert_eq!(warps(&wake), [0, 1]);
}

#[test]
fn misuse_is_named() {
    let mut r = Rig::new(96);
    assert_eq!(kind(r.arrive(0, 16, None, Form::Sync)), MisuseKind::Number);
    assert_eq!(kind(r.arrive(0, 0, Some(0), Form::Sync)), MisuseKind::Count);
    assert_eq!(
        kind(r.arrive(0, 0, Some(33), Form::Sync)),
        MisuseKind::Count
    );
    r.arrive(0, 0, Some(96), Form::Sync).unwrap();
    assert_eq!(
        kind(r.arrive(1, 0, Some(64), Form::Sync)),
        MisuseKind::Disagree
    );
    assert_eq!(kind(r.arrive(1, 0, None, Form::And)), MisuseKind::Mixed);
    r.arrive(1, 1, Some(96), Form::Arrive).unwrap();
    assert_eq!(
        kind(r.arrive(1, 1, Some(96), Form::Arrive)),
        MisuseKind::Twice
    );
    r.arrive(1, 2, None, Form::And).unwrap();
    assert_eq!(kind(r.arrive(2, 2, None, Form::Or)), MisuseKind::Reductions);
    let mut r = Rig::new(32);
    let mut a = arrival(0, 1, 0, None, Form::Sync);
    a.aligned = true;
    r.run(a).unwrap();
    let mut b = arrival(0, 2, 0, None, Form::Sync);
    b.pc = Pc(99);
    let m = r.run(b).unwrap_err();
    assert_eq!(m.kind, MisuseKind::Unaligned);
    assert_eq!((m.earlier.unwrap().pc, m.later.pc), (Pc(0), Pc(99)));
}

#[test]
fn generations_that_can_mix_are_misuse_with_both_arrivals() {
    let mut r = Rig::new(128);
    r.arrive(0, 1, Some(64), Form::Sync).unwrap();
    r.arrive(1, 1, Some(64), Form::Sync).unwrap();
    let m = r.arrive(2, 1, Some(64), Form::Sync).unwrap_err();
    assert_eq!(m.kind, MisuseKind::Generation);
    assert_eq!((m.earlier.unwrap().warp, m.later.warp), (0, 2));
    // With a barrier of all in between, the same two generations cannot mix.
    let mut r = Rig::new(128);
    r.arrive(0, 1, Some(64), Form::Sync).unwrap();
    r.arrive(1, 1, Some(64), Form::Sync).unwrap();
    for w in 0..4 {
        r.arrive(w, 0, None, Form::Sync).unwrap();
    }
    r.arrive(2, 1, Some(64), Form::Sync).unwrap();
    assert_eq!(r.arrive(3, 1, Some(64), Form::Sync).unwrap().len(), 2);
}

#[test]
fn a_deadlock_report_says_who_is_missing() {
    let mut r = Rig::new(96);
    r.arrive(0, 4, Some(96), Form::Sync).unwrap();
    r.exit(2, u32::MAX);
    let b = &r.barriers.blocked(&r.clocks)[0];
    assert_eq!(
        (b.barrier, b.expected, b.counted, b.unclear),
        (4, 96, true, false)
    );
    assert_eq!(b.arrived[0].pc, Pc(4));
    assert_eq!((b.missing[0], b.missing[1], b.missing[2]), (0, u32::MAX, 0));
    // Only exited threads are missing from a barrier that counts the whole CTA.
    r.arrive(1, 4, Some(96), Form::Sync).unwrap();
    assert!(r.barriers.blocked(&r.clocks)[0].unclear);
    // An arrival that nobody waits for is pending at the end.
    let mut r = Rig::new(64);
    r.arrive(0, 1, Some(64), Form::Arrive).unwrap();
    r.exit(0, u32::MAX);
    r.exit(1, u32::MAX);
    let pending: Vec<_> = r.barriers.pending().map(|(id, p)| (id, p.warp)).collect();
    assert_eq!(pending, [(1, 0)]);
}

#[test]
fn what_a_warp_published_before_it_exited_is_known() {
    let mut r = Rig::new(64);
    let at = r.clocks.stamp(0);
    r.arrive(0, 1, Some(64), Form::Arrive).unwrap();
    let late = r.clocks.stamp(0);
    r.exit(0, u32::MAX);
    r.arrive(1, 1, Some(64), Form::Sync).unwrap();
    assert!(r.clocks.ordered(Actor(3), at, Tid(32)));
    assert!(!r.clocks.ordered(Actor(3), late, Tid(32)));
    assert!(!r.clocks.exit_ordered(Actor(3), late, Tid(32)));
}
