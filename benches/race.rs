//! Shadow memory and clocks: lane accesses and barriers per second.
//!
//! The items of a counter are lane accesses; a target of 100 M/s is 320 ns for each access of a
//! warp.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

use volta::kernel::Pc;
use volta::sim::barrier::{Arrive, Barriers, Form};
use volta::sim::clock::{Actor, Clocks, Lanes, MAX_WARPS, RankShape};
use volta::sim::race::{AccessKind, RegionId, Report};
use volta::sim::shadow::{Shadow, WarpAccess};

fn main() {
    divan::main();
}

const WARPS: u32 = 8;

struct Rig {
    clocks: Clocks,
    shadow: Shadow,
    report: Report,
}

impl Rig {
    /// All warps come to a barrier, and none has exited.
    fn meet(&mut self) {
        let all: [u32; WARPS as usize] = std::array::from_fn(|w| w as u32);
        let none = Lanes::from_elem(0, MAX_WARPS);
        self.clocks.rendezvous(&all, &[], &none);
    }

    fn new() -> Rig {
        let clocks = Clocks::new(RankShape::new(WARPS * 32).expect("a CTA has up to 1024 threads"));
        let shadow = Shadow::new(RegionId(0), &clocks);
        Rig {
            clocks,
            shadow,
            report: Report::default(),
        }
    }

    fn access(
        &mut self,
        warp: u32,
        kind: AccessKind,
        elem: u8,
        count: u8,
        agent: Option<Actor>,
        at: impl Fn(u64) -> u64,
    ) {
        let offsets: [u64; 32] = std::array::from_fn(|l| at(l as u64));
        let access = WarpAccess {
            warp,
            agent,
            mask: self.clocks.live(warp),
            pc: Pc(warp),
            offsets: &offsets,
            elem,
            count,
            kind,
            conditional: false,
            by: volta::sim::race::By::Lanes,
        };
        self.shadow
            .access(&self.clocks, black_box(&access), &mut self.report);
        assert!(self.report.is_empty());
    }
}

/// A tile of 16 KiB: each warp writes its rows, a barrier, each warp reads all of it, a barrier.
fn tile(bencher: Bencher, exits: bool) {
    let mut rig = Rig::new();
    if exits {
        rig.clocks.exit(WARPS - 1, 1 << 31);
    }
    let words = 4096u64;
    let lanes = words as u32 * (1 + WARPS);
    bencher.counter(ItemsCount::new(lanes)).bench_local(|| {
        for w in 0..WARPS {
            for row in 0..words / 32 / u64::from(WARPS) {
                let base = (u64::from(w) * words / u64::from(WARPS) + row * 32) * 4;
                rig.access(w, AccessKind::Write, 4, 1, None, |l| base + l * 4);
            }
        }
        rig.meet();
        for w in 0..WARPS {
            for row in 0..words / 32 {
                rig.access(w, AccessKind::Read, 4, 1, None, |l| row * 128 + l * 4);
            }
        }
        rig.meet();
    });
}

#[divan::bench]
fn shared_tile(bencher: Bencher) {
    tile(bencher, false);
}

#[divan::bench]
fn shared_tile_after_an_exit(bencher: Bencher) {
    tile(bencher, true);
}

/// Reads of 16 bytes by each lane, as tiled kernels load them.
#[divan::bench]
fn vector_reads(bencher: Bencher) {
    let mut rig = Rig::new();
    bencher
        .counter(ItemsCount::new(64u32 * 32))
        .bench_local(|| {
            for row in 0..64 {
                rig.access(row as u32 % WARPS, AccessKind::Read, 4, 4, None, |l| {
                    row * 512 + l * 16
                });
            }
            rig.meet();
        });
}

/// All lanes of a warp read one word, and neighbours read the next.
#[divan::bench]
fn broadcast_reads(bencher: Bencher) {
    let mut rig = Rig::new();
    bencher
        .counter(ItemsCount::new(512u32 * 32))
        .bench_local(|| {
            for k in 0..512 {
                rig.access(k as u32 % WARPS, AccessKind::Read, 4, 1, None, |_| {
                    k / 8 * 4
                });
            }
            rig.meet();
        });
}

/// Halves of words.
#[divan::bench]
fn half_reads(bencher: Bencher) {
    let mut rig = Rig::new();
    bencher
        .counter(ItemsCount::new(64u32 * 32))
        .bench_local(|| {
            for row in 0..64 {
                rig.access(row as u32 % WARPS, AccessKind::Read, 2, 1, None, |l| {
                    row * 64 + l * 2
                });
            }
            rig.meet();
        });
}

/// Copies by agents of 16 bytes each, joined, and read by all after a barrier.
#[divan::bench]
fn async_copies(bencher: Bencher) {
    let mut rig = Rig::new();
    bencher
        .counter(ItemsCount::new(WARPS * 32 * 9))
        .bench_local(|| {
            for w in 0..WARPS {
                let agent = rig.clocks.fork(w);
                let base = u64::from(w) * 512;
                rig.access(w, AccessKind::Write, 16, 1, Some(agent), |l| base + l * 16);
                rig.clocks.join(agent, u32::MAX);
            }
            rig.meet();
            for w in 0..WARPS {
                for row in 0..8 {
                    rig.access(w, AccessKind::Read, 4, 1, None, |l| row * 512 + l * 16);
                }
            }
            rig.meet();
        });
}

/// A producer warp and seven consumers, on named barriers only.
#[divan::bench]
fn named_pipeline(bencher: Bencher) {
    let mut rig = Rig::new();
    let mut barriers = Barriers::new();
    bencher
        .counter(ItemsCount::new(64u32 * 32 * WARPS))
        .bench_local(|| {
            let mut wake = Vec::new();
            for row in 0..64 {
                rig.access(0, AccessKind::Write, 4, 1, None, |l| row * 128 + l * 4);
            }
            arrive(&mut rig, &mut barriers, 0, 1, Form::Arrive, &mut wake);
            for w in 1..WARPS {
                arrive(&mut rig, &mut barriers, w, 1, Form::Sync, &mut wake);
            }
            for w in 1..WARPS {
                for row in 0..64 {
                    rig.access(w, AccessKind::Read, 4, 1, None, |l| row * 128 + l * 4);
                }
                arrive(&mut rig, &mut barriers, w, 2, Form::Arrive, &mut wake);
            }
            arrive(&mut rig, &mut barriers, 0, 2, Form::Sync, &mut wake);
        });
}

fn arrive(
    rig: &mut Rig,
    barriers: &mut Barriers,
    warp: u32,
    id: u32,
    form: Form,
    wake: &mut Vec<volta::sim::barrier::Wake>,
) {
    let a = Arrive {
        warp,
        mask: u32::MAX,
        pc: Pc(0),
        id,
        count: Some(WARPS * 32),
        form,
        aligned: true,
        trues: 0,
    };
    barriers
        .arrive(&a, &mut rig.clocks, wake)
        .expect("the pipeline is well-synchronised");
}

/// A barrier of all threads of a CTA of 1024.
#[divan::bench]
fn full_barrier(bencher: Bencher) {
    let mut clocks = Clocks::new(RankShape::new(1024).expect("a CTA has up to 1024 threads"));
    let mut barriers = Barriers::new();
    bencher.counter(ItemsCount::new(1024u32)).bench_local(|| {
        let mut wake = Vec::new();
        for warp in 0..32 {
            let a = Arrive {
                warp,
                mask: u32::MAX,
                pc: Pc(0),
                id: 0,
                count: None,
                form: Form::Sync,
                aligned: true,
                trues: 0,
            };
            barriers
                .arrive(&a, &mut clocks, &mut wake)
                .expect("all arrive once");
        }
        wake
    });
}

/// Synchronisation of a part of a warp.
#[divan::bench]
fn partial_warp_sync(bencher: Bencher) {
    let mut clocks = Clocks::new(RankShape::new(64).expect("a CTA has up to 1024 threads"));
    bencher.bench_local(|| clocks.warp_sync(0, 0xffff));
}
