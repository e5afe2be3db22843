//! Any bytes to a module and back, and each entry lowered.
//!
//!     cargo install cargo-fuzz
//!     cd tests/fuzz && cargo +nightly fuzz run parse -- -max_total_time=600
//!
//! The same code without cargo-fuzz, on damaged modules of the corpus, for as many seconds as one likes:
//!
//!     VOLTA_FUZZ_SECONDS=600 VOLTA_FUZZ_SEED=7 cargo test --test modules broken
#![no_main]

include!("../target.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(module) = read(bytes) {
        lower(&module);
    }
});
