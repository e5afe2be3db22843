//! A CTA of 1024 threads with many shared accesses and named barriers: `cargo bench --bench cta`.
//!
//! With 500 rounds: 10 million shared accesses, 8,000 barrier generations. Twice the rounds take
//! twice the time.

use std::path::Path;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

use volta::input::{self, Files};
use volta::sim::{self, Side};
use volta::spec::{self, Layers, Limits, Settings, Which};

fn main() {
    divan::main();
}

#[divan::bench(args = [250, 500, 1000], sample_count = 5)]
fn rounds(bencher: Bencher, rounds: u32) {
    let text = format!(
        r#"kernel = "barriers/rounds.ptx"
           threads = 1024
           args = {{ "1" = "{rounds}" }}"#
    );
    let mut settings: Settings = toml::from_str(&text).expect("valid settings");
    settings.rebase(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels"));
    let spec = Layers(&[&settings])
        .kernel(Which::Kernel)
        .expect("a kernel");
    let kernel = input::lower(&Files::new(), &spec)
        .expect("it lowers")
        .kernel;
    let setup = spec::resolve(&[(&kernel, &spec)], &[]).expect("valid bindings");
    let k = &setup.kernels[0];
    let limits = Limits {
        deadline: None,
        memory: None,
    };
    let run = || {
        let side = Side::Reference;
        sim::run(&kernel, &k.launch, &k.bindings, &k.arrays, side, &limits)
    };
    let outcome = run();
    assert!(outcome.defects.is_empty() && outcome.unknowns.is_empty());
    bencher
        .counter(ItemsCount::new(outcome.stats.accesses))
        .bench(|| black_box(run()));
}
