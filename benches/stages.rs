//! Time of each stage on kernels of `kernels/`: `cargo bench`.

use std::path::Path;
use std::sync::Arc;

use divan::{Bencher, black_box};

use volta::diag::Source;
use volta::input::{self, File, Files};
use volta::kernel::Kernel;
use volta::sim::{self, Outcome, Side};
use volta::spec::{self, KernelSpec, Layers, Limits, Resolved, Settings, Setup, Which};
use volta::{decide, explain, grid, ptx};

fn main() {
    divan::main();
}

const PAIRS: [&str; 4] = [
    r#"reference = "softmax/naive_128.ptx"
       optimized = "softmax/online_128.ptx"
       threads = 128"#,
    r#"reference = "reduction/step1.ptx"
       optimized = "reduction/step3.ptx"
       threads = 128"#,
    r#"reference = { file = "matmul/naive_32.ptx", block = [16, 16, 1] }
       optimized = { file = "matmul/coalesced_32.ptx", block = [256, 1, 1] }"#,
    r#"reference = { file = "attention/half_plain.ptx", threads = 1 }
       optimized = { file = "attention/blocks_1.ptx", threads = 128 }"#,
];

/// A pair, read and lowered.
struct Pair {
    specs: [KernelSpec; 2],
    kernels: [Kernel; 2],
}

const LIMITS: Limits = Limits {
    deadline: None,
    memory: None,
};

impl Pair {
    fn open(text: &str) -> Pair {
        let mut settings: Settings = toml::from_str(text).expect("valid settings");
        settings.rebase(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels"));
        let layers = [&settings];
        let spec = |which| Layers(&layers).kernel(which).expect("a kernel");
        let specs = [spec(Which::Reference), spec(Which::Optimized)];
        let files = Files::new();
        let kernels = specs
            .each_ref()
            .map(|spec| input::lower(&files, spec).expect("it lowers").kernel);
        Pair { specs, kernels }
    }

    fn setup(&self) -> Setup {
        let pair = [
            (&self.kernels[0], &self.specs[0]),
            (&self.kernels[1], &self.specs[1]),
        ];
        spec::resolve(&pair, &[]).expect("valid bindings")
    }

    fn run(&self, setup: &Setup, i: usize) -> Outcome {
        let Resolved {
            launch,
            bindings,
            arrays,
            ..
        } = &setup.kernels[i];
        let side = [Side::Reference, Side::Optimized][i];
        sim::run(&self.kernels[i], launch, bindings, arrays, side, &LIMITS)
    }
}

fn source(text: &str) -> Arc<Source> {
    let pair = Pair::open(text);
    pair.kernels[1].source.clone()
}

#[divan::bench(args = PAIRS)]
fn parse(bencher: Bencher, pair: &str) {
    let source = source(pair);
    let bytes = divan::counter::BytesCount::new(source.text.len());
    bencher
        .counter(bytes)
        .bench(|| ptx::parse(black_box(&source)).is_ok());
}

#[divan::bench(args = PAIRS)]
fn lower(bencher: Bencher, pair: &str) {
    let source = source(pair);
    let Ok(module) = ptx::parse(&source) else {
        return;
    };
    let file = File {
        source,
        module,
        path: None,
    };
    bencher.bench(|| input::lower_all(black_box(&file)).is_ok());
}

#[divan::bench(args = PAIRS)]
fn simulate(bencher: Bencher, pair: &str) {
    let pair = Pair::open(pair);
    let setup = pair.setup();
    let steps = pair.run(&setup, 1).stats.thread_instructions;
    let steps = divan::counter::ItemsCount::new(steps);
    bencher.counter(steps).bench(|| pair.run(&setup, 1));
}

#[divan::bench(args = PAIRS)]
fn decide(bencher: Bencher, pair: &str) {
    let pair = Pair::open(pair);
    let setup = pair.setup();
    let options = decide::Options::default();
    let clean = |i| {
        let mut outcome = pair.run(&setup, i);
        grid::discharge(&mut outcome, &setup.arrays, &options);
        outcome.into_clean(true).expect("a clean run")
    };
    bencher
        .with_inputs(|| (clean(0), clean(1)))
        .bench_values(|(a, b)| explain::decide(a, b, &setup.arrays, &options));
}
