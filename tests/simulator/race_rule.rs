//! The shadow against a list of all accesses, byte by byte; and the cases of the race rule.

use std::collections::BTreeSet;

use proptest::prelude::*;
use volta::kernel::{AtomOp, IntTy, NumTy, Pc};
use volta::sim::Tid;
use volta::sim::clock::{Actor, Clocks, RankShape, Tick, lanes};
use volta::sim::race::{AccessKind, By, Conflict, RegionId, Report, Rule, rule};
use volta::sim::shadow::{Shadow, WarpAccess};

struct Rig {
    clocks: Clocks,
    shadow: Shadow,
    report: Report,
}

impl Rig {
    fn new(shape: RankShape) -> Rig {
        let clocks = Clocks::new(shape);
        let shadow = Shadow::new(RegionId(7), &clocks);
        Rig {
            clocks,
            shadow,
            report: Report::default(),
        }
    }

    /// Two full warps.
    fn pair() -> Rig {
        Rig::new(RankShape::new(64).unwrap())
    }

    fn access(&mut self, warp: u32, mask: u32, pc: u32, kind: AccessKind, size: u8, at: &[u64]) {
        let mut offsets = [0; 32];
        for (i, l) in lanes(mask).enumerate() {
            offsets[l as usize] = at[i.min(at.len() - 1)];
        }
        let access = WarpAccess {
            warp,
            agent: None,
            mask,
            pc: Pc(pc),
            offsets: &offsets,
            elem: size,
            count: 1,
            kind,
            conditional: false,
            by: By::Lanes,
        };
        self.shadow.access(&self.clocks, &access, &mut self.report);
    }

    fn barrier(&mut self) {
        let none = self.clocks.shape().none();
        self.clocks.rendezvous(&[0, 1], &[], &none);
    }

    fn found(&self) -> Vec<(Conflict, u32, u32, u64)> {
        let one =
            |f: &volta::sim::race::Finding| (f.conflict, f.earlier.pc.0, f.later.pc.0, f.offset);
        self.report.findings().map(one).collect()
    }
}

#[test]
fn lanes_of_one_store_that_share_a_word_are_compared() {
    let mut r = Rig::pair();
    r.access(0, 0b111, 1, AccessKind::Write, 4, &[16]);
    assert!(r.report.is_empty());
    let pairs: Vec<(u32, u32, bool)> = r
        .report
        .same
        .iter()
        .map(|s| (s.earlier.thread.0, s.later.thread.0, s.within))
        .collect();
    assert_eq!(pairs, [(0, 1, true), (0, 2, true)]);
    r.report.same.clear();
    // Another warp writes there too: one comparison with what memory holds for each lane.
    r.access(1, 0b1, 2, AccessKind::Write, 4, &[16]);
    let s = r.report.same[0];
    assert!(!s.within && s.current && s.size == 4 && s.offset == 16);
    assert_eq!((s.earlier.thread, s.later.thread), (Tid(0), Tid(32)));
    r.report.same.clear();
    // A later reader races with each of them.
    r.access(1, 0b10, 3, AccessKind::Read, 4, &[16]);
    assert_eq!(
        r.found(),
        [(Conflict::Race, 1, 3, 16), (Conflict::Race, 2, 3, 16)]
    );
}

#[test]
fn lanes_of_one_store_that_overlap_apart_are_compared() {
    let mut r = Rig::pair();
    r.access(0, 0b111, 1, AccessKind::Write, 4, &[0, 4, 0]);
    let pairs: Vec<(u32, u32, bool)> = r
        .report
        .same
        .iter()
        .map(|s| (s.earlier.thread.0, s.later.thread.0, s.within))
        .collect();
    assert_eq!(pairs, [(0, 2, true)]);
    r.report.same.clear();
    r.access(0, 0b11, 2, AccessKind::Write, 4, &[8, 10]);
    assert_eq!(r.found(), [(Conflict::Race, 2, 2, 10)]);
}

#[test]
fn bytes_conflict_not_words() {
    let mut r = Rig::pair();
    r.access(0, 0b1, 1, AccessKind::Write, 4, &[0]);
    r.barrier();
    r.access(0, 0b1, 2, AccessKind::Write, 1, &[1]);
    r.access(1, 0b1, 3, AccessKind::Write, 1, &[2]);
    r.access(1, 0b1, 4, AccessKind::Read, 1, &[0]);
    assert!(r.report.is_empty() && r.report.same.is_empty());
    r.access(1, 0b1, 5, AccessKind::Read, 4, &[0]);
    assert_eq!(r.found(), [(Conflict::Race, 2, 5, 1)]);
    // The elements of different size overlap: no comparison of values can excuse that.
    let mut r = Rig::pair();
    r.access(0, 0b1, 1, AccessKind::Write, 8, &[0]);
    r.access(1, 0b1, 2, AccessKind::Write, 4, &[4]);
    assert_eq!(r.found(), [(Conflict::Race, 1, 2, 4)]);
}

#[test]
fn a_read_before_one_of_two_equal_writes_races_with_the_other() {
    let mut r = Rig::pair();
    r.access(0, 0b1, 1, AccessKind::Read, 4, &[0]);
    r.clocks.warp_sync(0, u32::MAX);
    r.access(0, 0b10, 2, AccessKind::Write, 4, &[0]);
    assert!(r.report.is_empty());
    r.access(1, 0b1, 3, AccessKind::Write, 4, &[0]);
    assert_eq!(r.report.same.len(), 1);
    assert_eq!(r.found(), [(Conflict::Race, 1, 3, 0)]);
}

#[test]
fn an_exit_alone_orders_nothing_for_sure() {
    let mut r = Rig::pair();
    r.access(0, 0b1, 1, AccessKind::Write, 4, &[0]);
    r.clocks.exit(0, 0b1);
    let mut exited = r.clocks.shape().none();
    exited[0] = 1;
    r.clocks.rendezvous(&[0, 1], &[], &exited);
    r.access(1, 0b1, 2, AccessKind::Read, 4, &[0]);
    assert_eq!(r.found(), [(Conflict::ByExit, 1, 2, 0)]);
}

#[test]
fn lock_step_orders_instructions_and_not_lanes_of_one() {
    let mut r = Rig::pair();
    r.clocks.warp_sync(0, u32::MAX);
    r.access(0, 0b11, 1, AccessKind::Write, 4, &[0, 4]);
    r.clocks.warp_sync(0, u32::MAX);
    r.access(0, 0b11, 2, AccessKind::Read, 4, &[4, 0]);
    assert!(r.report.is_empty());
    r.clocks.warp_sync(0, u32::MAX);
    r.access(0, 0b11, 3, AccessKind::Write, 4, &[8, 8]);
    assert_eq!(r.report.same.len(), 1);
}

#[test]
fn pairs_of_instructions_are_counted_once_each() {
    let mut r = Rig::pair();
    for word in 0..10 {
        r.access(0, 0b1, 1, AccessKind::Write, 4, &[word * 4]);
        r.access(1, 0b1, 2, AccessKind::Read, 4, &[word * 4]);
    }
    let all: Vec<_> = r.report.findings().collect();
    assert_eq!(all.len(), 1);
    assert_eq!(
        (all[0].count, all[0].offset, all[0].region),
        (10, 0, RegionId(7))
    );
}

// All accesses in a list.

#[derive(Clone, Debug)]
struct Past {
    who: Actor,
    at: Tick,
    start: u64,
    elem: u8,
    count: u8,
    kind: AccessKind,
    conditional: bool,
}

/// Sorts of trouble of one access of a warp; `None` for writes to compare.
type Trouble = BTreeSet<Option<Conflict>>;

/// Where something is a race, a weaker finding beside it says nothing more.
fn strongest(mut t: Trouble) -> Trouble {
    if t.contains(&Some(Conflict::Race)) {
        t.retain(|c| !matches!(c, Some(Conflict::Conditional | Conflict::ByExit)));
    }
    t
}

struct Naive {
    past: Vec<Past>,
}

impl Naive {
    fn access(&mut self, c: &Clocks, a: &WarpAccess) -> Trouble {
        let mut out = Trouble::new();
        let at = c.stamp(a.warp);
        for lane in lanes(a.mask) {
            let t = c.shape().tid(a.warp, lane);
            let who = Actor(a.agent.map_or(t.0, |b| b.0 + lane));
            let new = Past {
                who,
                at,
                start: a.offsets[lane as usize],
                elem: a.elem,
                count: a.count,
                kind: a.kind,
                conditional: a.conditional,
            };
            for old in &self.past {
                if old.who == who || c.ordered(old.who, old.at, t) {
                    continue;
                }
                for (x, y) in elements(old).flat_map(|x| elements(&new).map(move |y| (x, y))) {
                    let (xs, ys) = (x + u64::from(old.elem), y + u64::from(new.elem));
                    if x >= ys || y >= xs {
                        continue;
                    }
                    let conflict = match rule(old.kind, new.kind, x == y && xs == ys) {
                        Rule::Fine => continue,
                        Rule::SameBytes => None,
                        Rule::Bad(c) => Some(c),
                    };
                    let exit = c.exit_ordered(old.who, old.at, t);
                    out.insert(match conflict {
                        Some(_) if exit => Some(Conflict::ByExit),
                        Some(Conflict::Race) if old.conditional || new.conditional => {
                            Some(Conflict::Conditional)
                        }
                        c => c,
                    });
                }
            }
            self.past.push(new);
        }
        out
    }
}

fn elements(p: &Past) -> impl Iterator<Item = u64> + use<> {
    let (start, elem, count) = (p.start, u64::from(p.elem), u64::from(p.count));
    (0..count).map(move |i| start + i * elem)
}

#[derive(Clone, Debug)]
enum Step {
    Access {
        warp: u32,
        mask: u32,
        /// Offset of lane 0 and distance of lanes, in elements.
        place: (u64, u64),
        shape: (u8, u8),
        kind: AccessKind,
        conditional: bool,
        agent: bool,
    },
    Full,
    Some(u32, u32),
    Warp(u32, u32),
    Join(usize, u32),
    Exit(u32, u32),
}

fn kind() -> impl Strategy<Value = AccessKind> {
    let ty = NumTy::Int(IntTy {
        width: 32,
        signed: false,
    });
    prop_oneof![
        4 => Just(AccessKind::Read),
        4 => Just(AccessKind::Write),
        1 => Just(AccessKind::StrongRead),
        1 => Just(AccessKind::StrongWrite),
        1 => any::<bool>().prop_map(move |used| AccessKind::Atomic { op: AtomOp::Add, ty, used, operand: None }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let shape = prop_oneof![
        4 => Just((4u8, 1u8)),
        1 => Just((4, 4)),
        1 => Just((8, 1)),
        1 => Just((16, 1)),
        1 => Just((2, 1)),
        1 => Just((1, 2)),
    ];
    let mask = prop_oneof![Just(u32::MAX), any::<u32>()];
    let stride = prop_oneof![2 => Just(1u64), 1 => Just(0), 1 => Just(2)];
    let access = (
        0u32..4,
        mask,
        (0u64..6, stride),
        shape,
        kind(),
        any::<(u8, u8)>(),
    );
    prop_oneof![
        12 => access.prop_map(|(warp, mask, place, shape, kind, (c, a))| Step::Access {
            warp,
            mask,
            place,
            shape,
            kind,
            conditional: c < 25,
            agent: a < 25 && kind == AccessKind::Write,
        }),
        1 => Just(Step::Full),
        2 => any::<(u32, u32)>().prop_map(|(a, b)| Step::Some(a, b)),
        2 => any::<(u32, u32)>().prop_map(|(w, m)| Step::Warp(w, m | m >> 5)),
        1 => any::<(usize, u32)>().prop_map(|(b, m)| Step::Join(b, m)),
        1 => any::<(u32, u32)>().prop_map(|(w, m)| Step::Exit(w, m)),
    ]
}

fn agrees(shape: RankShape, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut r = Rig::new(shape);
    let mut naive = Naive { past: Vec::new() };
    let mut agents: Vec<(Actor, u32)> = Vec::new();
    let warps = shape.warps();
    for (i, step) in steps.iter().enumerate() {
        let live = (0..warps).filter(|&w| r.clocks.live(w) != 0);
        let live = live.fold(0u32, |m, w| m | 1 << w);
        match *step {
            Step::Access {
                warp,
                mask,
                place,
                shape: (elem, count),
                kind,
                conditional,
                agent,
            } => {
                let warp = warp % warps;
                let base = agent.then(|| r.clocks.fork(warp));
                agents.extend(base.map(|b| (b, warp)));
                let size = u64::from(elem) * u64::from(count);
                let at = |l: u64| (place.0 + l * place.1) * size;
                let offsets: [u64; 32] = std::array::from_fn(|l| at(l as u64));
                let a = WarpAccess {
                    warp,
                    agent: base,
                    mask: mask & r.clocks.live(warp),
                    pc: Pc(i as u32),
                    offsets: &offsets,
                    elem,
                    count,
                    kind,
                    conditional,
                    by: By::Lanes,
                };
                let expect = naive.access(&r.clocks, &a);
                r.shadow.access(&r.clocks, &a, &mut r.report);
                let later = r.report.findings().filter(|f| f.later.pc == a.pc);
                let mut got: Trouble = later.map(|f| Some(f.conflict)).collect();
                got.extend(r.report.same.drain(..).map(|_| None));
                prop_assert_eq!(strongest(got), strongest(expect), "step {}", i);
            }
            Step::Full => {
                let mut exited = r.clocks.shape().none();
                for w in 0..warps {
                    exited[w as usize] = shape.members(w) & !r.clocks.live(w);
                }
                r.clocks
                    .rendezvous(&lanes(live).collect::<Vec<_>>(), &[], &exited);
            }
            Step::Some(wait, arrive) => {
                let snaps: Vec<_> = lanes(arrive & live & !wait)
                    .map(|w| r.clocks.publish_warp(w))
                    .collect();
                if wait & live != 0 {
                    let none = r.clocks.shape().none();
                    r.clocks
                        .rendezvous(&lanes(wait & live).collect::<Vec<_>>(), &snaps, &none);
                }
            }
            Step::Warp(w, m) => {
                let w = w % warps;
                if m & r.clocks.live(w) != 0 {
                    r.clocks.warp_sync(w, m);
                }
            }
            Step::Join(b, m) => {
                if !agents.is_empty() {
                    let (base, warp) = agents[b % agents.len()];
                    r.clocks.join(base, m & r.clocks.live(warp));
                }
            }
            Step::Exit(w, m) => r.clocks.exit(w % warps, m & m >> 7),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Each access of a warp meets the same sorts of trouble as in the list of all accesses.
    #[test]
    fn the_shadow_forgets_nothing_that_matters(
        threads in 1u32..17,
        shift in 0u32..4,
        steps in prop::collection::vec(step(), 1..30),
    ) {
        agrees(RankShape::with_width(threads, 1 << shift).unwrap(), &steps)?;
    }
}
