//! The tables of `kernels/tables.toml` end to end: `cargo bench --bench tables`.
//!
//! One run of each entry; `benches/stages.rs` has the stages of small pairs.

use std::path::Path;

use divan::Bencher;

use volta::gate::{Request, gate};
use volta::spec::Manifest;

fn main() {
    divan::main();
}

fn entries() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let text = std::fs::read_to_string(folder.join("tables.toml")).expect("a manifest");
    let manifest = Manifest::parse(&text, &folder).expect("a valid manifest");
    manifest.check.into_iter().filter_map(|s| s.name).collect()
}

#[divan::bench(args = entries(), sample_count = 1, sample_size = 1)]
fn entry(bencher: Bencher, name: &String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/tables.toml");
    let request = Request {
        filter: Some(name.clone()),
        ..Request::default()
    };
    bencher.bench(|| {
        let report = gate(&path, &request, &|_, _, _| {}).expect("a valid manifest");
        assert!(report.entries.iter().all(|e| e.why.is_none()));
    });
}
