//! Any text as a formula: it is read or refused, and what is wrong with it is shown.
//!
//!     cargo +nightly fuzz run formula --fuzz-dir . -- -max_total_time=600 -max_len=4000 -timeout=60
//!
//! The same code without cargo-fuzz, on damaged formulas of the manifests, for as many seconds as one likes:
//!
//!     VOLTA_FUZZ_SECONDS=600 VOLTA_FUZZ_SEED=7 cargo test --test modules damaged_formulas
#![no_main]

include!("../target.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    formula(&String::from_utf8_lossy(bytes));
});
