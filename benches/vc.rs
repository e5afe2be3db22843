//! Time of verification conditions: `cargo bench --bench vc`.
//!
//! A tile of a matrix product and a row of a softmax have many conditions that share their inputs.
//! The time is from the additions, in the order in which a kernel makes them, to the answer: a
//! system that keeps sums canonical does its work while they are built, and volta when it decides.
//! The same conditions are decided with SymEngine by `benches/compare.py`, which runs this. A line
//! is: kind, number of terms, seconds for each condition (the median of several runs), on the
//! processor where Linux tells that, so that other work on the machine does not count.

use std::time::Instant;

use volta::kernel::Fmt;
use volta::norm::{Equality, Limits, Normalizer};
use volta::term::{ArrayId, Fun, TermId, TermStore};

const SIZES: [u64; 4] = [512, 1024, 2048, 4096];
/// Rows and columns of the tile, and outputs of the row.
const TILE: u64 = 8;
const RUNS: usize = 5;
/// Seconds of a run, at least.
const LEAST: f64 = 0.2;

type Pairs = Vec<(TermId, TermId)>;
type Make = fn(&mut TermStore, u64) -> Pairs;

fn elem(s: &mut TermStore, array: u32, i: u64) -> TermId {
    s.elem(ArrayId(array), Fmt::F32, 4 * i)
}

/// A chain of multiply-adds, and four interleaved chains that are added.
fn products(s: &mut TermStore, n: u64) -> Pairs {
    let mut out = Pairs::new();
    for (row, column) in (0..TILE * TILE).map(|e| (e / TILE, e % TILE)) {
        let mut chain = |first: u64, step: usize| {
            // The simulator appends the products of an accumulator to a list, and then closes it.
            let mut open = Pairs::new();
            for k in (first..n).step_by(step) {
                open.push((elem(s, 0, row * n + k), elem(s, 1, k * TILE + column)));
            }
            s.sum(&open)
        };
        let (whole, parts) = (chain(0, 1), [0, 1, 2, 3].map(|k| chain(k, 4)));
        let parts = parts.into_iter().reduce(|a, b| s.add(a, b));
        out.push((whole, parts.unwrap_or(whole)));
    }
    out
}

/// 2^x[i] over the sum of all 2^x[j], and the same with m subtracted from every exponent.
fn softmax(s: &mut TermStore, n: u64) -> Pairs {
    let m = elem(s, 1, 0);
    let minus = s.neg(m);
    let mut row = |shifted: bool| {
        let mut terms = Vec::new();
        let mut sum = s.integer(0);
        for i in 0..n {
            let x = elem(s, 0, i);
            let x = if shifted { s.add(x, minus) } else { x };
            let e = s.fun(Fun::Exp2, x);
            sum = s.add(sum, e);
            terms.push(e);
        }
        let outputs = terms.iter().take((TILE * TILE) as usize);
        outputs.map(|&t| s.div(t, sum)).collect::<Vec<_>>()
    };
    let (plain, shifted) = (row(false), row(true));
    plain.into_iter().zip(shifted).collect()
}

/// Time of this thread on the processor in nanoseconds.
fn on_processor() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

struct Clock(Instant, Option<u64>);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now(), on_processor())
    }

    fn seconds(&self) -> f64 {
        match (self.1, on_processor()) {
            (Some(from), Some(to)) => to.saturating_sub(from) as f64 * 1e-9,
            _ => self.0.elapsed().as_secs_f64(),
        }
    }
}

/// Builds and decides all conditions of a kind; the result is their number.
fn decide(make: Make, n: u64) -> usize {
    let mut store = TermStore::new();
    let pairs = make(&mut store, n);
    let mut norm = Normalizer::new(&store, Limits::default());
    for &(a, b) in &pairs {
        assert_eq!(norm.equal(a, b), Equality::Equal);
    }
    pairs.len()
}

fn main() {
    let kinds: [(&str, Make); 2] = [("products", products), ("softmax", softmax)];
    for (kind, make) in kinds {
        for n in SIZES {
            let mut times: Vec<f64> = (0..RUNS)
                .map(|_| {
                    // The clock of the processor may be as coarse as a tick of the scheduler.
                    let (clock, mut decided) = (Clock::start(), 0);
                    while clock.seconds() < LEAST {
                        decided += decide(make, n);
                    }
                    clock.seconds() / decided as f64
                })
                .collect();
            times.sort_by(f64::total_cmp);
            println!("{kind} {n} {:.9}", times[RUNS / 2]);
        }
    }
}
