//! Proves two kernels equivalent with the library: online softmax against its naive form.
//!
//!     cargo run --release --example check_pair

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use volta::answer::Verdict;
use volta::check::check;
use volta::input::Files;
use volta::report::human;
use volta::spec::{Layers, Settings};

const SPEC: &str = r#"
    reference = "softmax/naive_32.ptx"
    optimized = "softmax/online_32.ptx"
    threads = 32
    args = { "0" = "in:f32[32]", "1" = "out:f32[32]" }
"#;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut settings: Settings = toml::from_str(SPEC)?;
    settings.rebase(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels"));
    let report = match check(Layers(&[&settings]), &Files::new()) {
        Ok(report) => report,
        Err(failure) => {
            anstream::eprint!("{}", failure.render());
            return Ok(ExitCode::from(2));
        }
    };
    anstream::print!("{}", human::report(&report));
    // What a program would look at instead of the text.
    let proved: u64 = report.outputs.compared().iter().map(|o| o.proved).sum();
    println!("{proved} elements proved");
    assert_eq!(
        report.verdict == Verdict::Equivalent,
        report.verdict.exit() == 0
    );
    Ok(ExitCode::from(report.verdict.exit()))
}
