//! Accesses by a lane that the manual does not name, against every choice of that lane.

use proptest::prelude::*;
use volta::kernel::Pc;
use volta::sim::clock::{Actor, Clocks, RankShape, Tick, lanes};
use volta::sim::race::{AccessKind, By, Conflict, RegionId, Report};
use volta::sim::shadow::{Shadow, WarpAccess};

/// Lanes of a warp.
const WIDTH: u32 = 4;
/// Numbers of unnamed lanes.
const NUMBERS: u32 = 2;

#[derive(Clone, Debug)]
enum Step {
    Access(u32, u32, bool, By),
    Full,
    Warp(u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let by = prop_oneof![Just(By::Lanes), (0..NUMBERS).prop_map(By::OneOf),];
    prop_oneof![
        6 => (0u32..2, 1u32..16, any::<bool>(), by).prop_map(|(w, m, writes, by)| {
            Step::Access(w, if by == By::Lanes { m } else { 15 }, writes, by)
        }),
        1 => Just(Step::Full),
        2 => (0u32..2, 1u32..16).prop_map(|(w, m)| Step::Warp(w, m)),
    ]
}

/// An access of one lane, under one choice.
struct Past {
    who: Actor,
    at: Tick,
    writes: bool,
}

/// Is the access a race with earlier ones, where these lanes are the unnamed ones?
fn races(c: &Clocks, past: &mut Vec<Past>, step: (u32, u32, bool, By), chosen: &[u32]) -> bool {
    let (warp, mask, writes, by) = step;
    let mask = match by {
        By::Lanes => mask,
        By::OneOf(k) => 1 << chosen[k as usize],
    };
    let mut found = false;
    for lane in lanes(mask) {
        let t = c.shape().tid(warp, lane);
        let apart = |p: &Past| p.who != t.into() && !c.ordered(p.who, p.at, t);
        found |= past.iter().any(|p| (p.writes || writes) && apart(p));
        past.push(Past {
            who: t.into(),
            at: c.stamp(warp),
            writes,
        });
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A race is one for every choice; without a finding there is none for any.
    #[test]
    fn a_race_is_one_for_every_choice(
        warps in 1u32..3,
        steps in prop::collection::vec(step(), 1..14),
    ) {
        let shape = RankShape::with_width(warps * WIDTH, WIDTH).unwrap();
        let mut clocks = Clocks::new(shape);
        let mut shadow = Shadow::new(RegionId(7), &clocks);
        let mut report = Report::default();
        let choices: Vec<[u32; 2]> = (0..16).map(|i| [i / 4, i % 4]).collect();
        let mut past: Vec<Vec<Past>> = choices.iter().map(|_| Vec::new()).collect();
        for (i, step) in steps.iter().enumerate() {
            match *step {
                Step::Full => {
                    let all = (1 << warps) - 1;
                    let none = clocks.shape().none();
                    clocks.rendezvous(&lanes(all).collect::<Vec<_>>(), &[], &none);
                }
                Step::Warp(w, m) => clocks.warp_sync(w % warps, m),
                Step::Access(w, mask, writes, by) => {
                    let warp = w % warps;
                    let kind = if writes { AccessKind::Write } else { AccessKind::Read };
                    let access = WarpAccess {
                        warp,
                        agent: None,
                        mask,
                        pc: Pc(i as u32),
                        offsets: &[64; 32],
                        elem: 4,
                        count: 1,
                        kind,
                        conditional: false,
                        by,
                    };
                    let under: Vec<bool> = choices
                        .iter()
                        .zip(&mut past)
                        .map(|(c, p)| races(&clocks, p, (warp, mask, writes, by), c))
                        .collect();
                    shadow.access(&clocks, &access, &mut report);
                    let later = report.findings().filter(|f| f.later.pc == access.pc);
                    let mut found: Vec<Conflict> = later.map(|f| f.conflict).collect();
                    found.extend(report.same.drain(..).map(|s| s.otherwise));
                    prop_assert!(
                        !found.contains(&Conflict::Race) || under.iter().all(|r| *r),
                        "step {}: {:?} {:?}", i, found, under
                    );
                    prop_assert!(
                        !found.is_empty() || under.iter().all(|r| !*r),
                        "step {}: {:?}", i, under
                    );
                }
            }
        }
    }
}
