//! Any bytes to a module and back, and each entry lowered.
//!
//!     cargo install cargo-fuzz
//!     cd tests/fuzz
//!     mkdir -p corpus/parse
//!     zstd -dc ../corpus/modules.zst | csplit -s -z -f corpus/parse/ -n 4 - '/^\/\/@ /' '{*}'
//!     find corpus/parse -size +15k -delete
//!     cargo +nightly fuzz run parse --fuzz-dir . -- -max_total_time=600 -max_len=20000 -timeout=120
//!
//! The seeds are the modules of the corpus below 16 KB and those of `tests/golden` (671 files). So run for ten minutes on
//! one core of a busy machine, with libFuzzer's address sanitizer: 199,771 inputs, 3,343 of them kept for new coverage,
//! 703 MB at most, no crash, no leak, no time-out. The slowest input took 15 s there and 0.5 s without the sanitizer: calls are
//! expanded in place up to a bound of 131,072 instructions for each entry, which is why the limit of one input is 120 s.
//!
//! The same code without cargo-fuzz, on damaged modules of the corpus, for as many seconds as one likes:
//!
//!     VOLTA_FUZZ_SECONDS=600 VOLTA_FUZZ_SEED=7 cargo test --test modules broken
//!
//! So run once, for these 600 s: no panic, and no text took more than 50 times its size in memory.
#![no_main]

include!("../target.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some(module) = read(bytes) {
        lower(&module);
    }
});
