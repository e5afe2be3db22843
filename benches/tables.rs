//! The entries of `benches/tables.toml`, end to end and by stage: `cargo bench --bench tables`.
//!
//!     cargo bench --bench tables -- table-5 --runs 1
//!
//! The first word that is no option restricts the entries; `--runs` (3 if not given) is how often each is run, of which
//! the median counts. Entries run one after the other, each with all cores. Reading and lowering are one column, since
//! for kernels of this size they are a thousandth of the rest; `benches/stages.rs` has them apart.

use std::path::Path;
use std::process::ExitCode;

use volta::answer::gate::EntryResult;
use volta::gate::{Request, gate};

fn main() -> ExitCode {
    let (mut runs, mut filter) = (3, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--runs" => runs = args.next().and_then(|n| n.parse().ok()).unwrap_or(1).max(1),
            _ => filter = Some(arg),
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tables.toml");
    let request = Request {
        filter,
        stats: true,
        ..Request::default()
    };
    let mut reports = Vec::new();
    for _ in 0..runs {
        match gate(&path, &request, &|_, _, _| {}) {
            Ok(report) => reports.push(report.entries),
            Err(failure) => {
                eprint!("{}", failure.render());
                return ExitCode::from(2);
            }
        }
    }
    println!("| entry | total | parse and lower | simulate | decide | peak memory |");
    println!("|---|---|---|---|---|---|");
    for (i, entry) in reports[0].iter().enumerate() {
        let all: Vec<&EntryResult> = reports.iter().map(|r| &r[i]).collect();
        if let Some(wrong) = all.iter().find_map(|e| e.why.as_ref()) {
            eprintln!("{}: {wrong}", entry.name);
            return ExitCode::FAILURE;
        }
        let stages = ["total", "parse", "simulate", "decide"].map(|s| median(&all, s));
        let peak = all.iter().filter_map(|e| e.peak).max().unwrap_or(0);
        let [total, parse, simulate, decide] = stages.map(|s| format!("{:.1} ms", s * 1e3));
        println!(
            "| {} | {total} | {parse} | {simulate} | {decide} | {} MiB |",
            entry.name,
            peak >> 20
        );
    }
    ExitCode::SUCCESS
}

/// The median time of a stage in seconds.
fn median(runs: &[&EntryResult], stage: &str) -> f64 {
    let seconds = |e: &&EntryResult| {
        let times = e.result.as_ref().ok()?.report.stats.seconds;
        Some(match stage {
            "parse" => times.parse,
            "simulate" => times.simulate,
            "decide" => times.decide,
            _ => times.total,
        })
    };
    let mut times: Vec<f64> = runs.iter().filter_map(seconds).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
