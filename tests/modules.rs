//! Modules that compilers made: each parses, prints, parses again to the same tree, and every entry of
//! it lowers without an error or a warning.
//!
//! `corpus/modules.zst` holds PTX of nvcc, clang, Triton, TileLang and Numba for our own sources
//! (`corpus/make.py`), one after the other, each behind a line `//@ name`; `corpus/modules.tsv` says what
//! ptxas thought of each, and of what volta printed for it. The modules are also broken in
//! every way that a hand slips (`Mutator`), and read with the allocator counting: nothing panics, and
//! the memory for
//! reading and printing stays within 50 times the text.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use volta::answer::WarningKind;
use volta::diag::{Diagnostic, Source};
use volta::{kernel, ptx};

#[path = "fuzz/target.rs"]
mod fuzz_target;

/// Counts what is allocated, and the most that was at one time.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn corpus(name: &str) -> String {
    format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Name and text of each module.
fn modules() -> Vec<(String, String)> {
    let packed = fs::read(corpus("modules.zst")).expect("readable corpus");
    let mut text = String::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).expect("zstd");
    decoder.read_to_string(&mut text).expect("text");
    let parts = text.split("//@ ").skip(1);
    let module = |part: &str| {
        let (name, text) = part.split_once('\n').expect("a name");
        (name.to_string(), text.to_string())
    };
    parts.map(module).collect()
}

/// Reads, prints, reads again and lowers a module; the printed text, or what is wrong.
fn there_and_back(name: &str, text: &str) -> Result<String, String> {
    let source = Arc::new(Source::new(name, text.to_string()).expect("short"));
    let shown = |errors: &[ptx::ParseError], source: &Source| {
        let all = errors
            .iter()
            .map(|e| Diagnostic::from(e).render(source, false));
        all.collect::<Vec<_>>().join("\n")
    };
    let mut module = ptx::parse(&source).map_err(|e| shown(&e, &source))?;
    if let Some(warning) = ptx::check(&module).first() {
        return Err(Diagnostic::from(warning).render(&source, false));
    }
    for (entry, _) in module.entries() {
        let lowered = kernel::lower(&module, &source, entry).map_err(|errors| {
            let all = errors.iter().map(|e| e.diagnostic().render(&source, false));
            all.collect::<Vec<_>>().join("\n")
        })?;
        // A module of a newer compiler is noted, and the rest is asked of it all the same.
        if let Some(warning) = lowered
            .warnings
            .iter()
            .find(|w| w.kind() != WarningKind::Note)
        {
            return Err(warning.diagnostic().render(&source, false));
        }
    }
    let printed = ptx::print(&module);
    let again = Source::new("printed", printed.clone()).expect("short");
    let mut second = ptx::parse(&again).map_err(|e| shown(&e, &again))?;
    module.erase_spans();
    second.erase_spans();
    if module != second {
        return Err("it changes when it is printed".to_string());
    }
    Ok(printed)
}

#[test]
fn every_module_round_trips_and_lowers() {
    let _alone = ALONE.lock();
    let modules = modules();
    assert!(modules.len() >= 300, "{} modules", modules.len());
    let folder = std::env::var_os("VOLTA_PRINT");
    let mut wrong = Vec::new();
    for (name, text) in &modules {
        match there_and_back(name, text) {
            Ok(printed) => {
                if let Some(folder) = &folder {
                    fs::create_dir_all(folder).expect("a folder");
                    let path = std::path::Path::new(folder).join(format!("{name}.ptx"));
                    fs::write(path, printed).expect("writable");
                }
            }
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} modules:\n{}",
        wrong.len(),
        modules.len(),
        wrong
            .iter()
            .take(20)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
    let table = fs::read_to_string(corpus("modules.tsv")).expect("readable table");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), modules.len());
    for (row, (name, _)) in rows.iter().zip(&modules) {
        assert_eq!(*row, format!("{name}\taccepted\taccepted"));
    }
}

/// Damages a text the way editing does: bytes changed, pieces cut out, doubled, moved, nested.
struct Mutator(u64);

impl Mutator {
    /// A xorshift step.
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    fn damage(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = text.to_vec();
        for _ in 0..1 + self.next(4) {
            let at = self.next(out.len());
            let span = at..(at + 1 + self.next(40)).min(out.len());
            match self.next(7) {
                0 => out[at] = b" ;{}()[],.:@!|-+/*\"#\n_%$0x9<>=~\0\xc3"[self.next(33)],
                1 => drop(out.drain(span)),
                2 => {
                    let piece = out[span].to_vec();
                    out.splice(at..at, piece);
                }
                3 => {
                    let piece = out[span].to_vec();
                    let to = self.next(out.len());
                    out.splice(to..to, piece);
                }
                4 => out.truncate(at),
                5 => {
                    let deep = b"{([-+~!(@"[self.next(9)];
                    let many = 1 << self.next(14);
                    out.splice(at..at, std::iter::repeat_n(deep, many));
                }
                _ => {
                    let words: &[&[u8]] = &[
                        b".reg .b32 %r<4294967295>;",
                        b"99999999999999999999",
                        b".b8 x[1000000000];",
                        b"call f, (",
                        b"0f",
                        b"%r1",
                        b".entry k(",
                        b"bra L;",
                    ];
                    out.splice(at..at, words[self.next(words.len())].iter().copied());
                }
            }
            if out.is_empty() {
                break;
            }
        }
        out
    }
}

/// Memory is counted for the whole process, so these two run alone.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn broken_modules_neither_panic_nor_swell() {
    let modules = modules();
    let _alone = ALONE.lock();
    // Time is bounded, not the number of mutants: a slow machine tries fewer.
    let small: Vec<_> = modules
        .iter()
        .filter(|(_, text)| text.len() < 60_000)
        .collect();
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seconds = Duration::from_secs(number("VOLTA_FUZZ_SECONDS").unwrap_or(4));
    let seed = number("VOLTA_FUZZ_SEED").unwrap_or(0);
    let mut mutator = Mutator(0x9e37_79b9_7f4a_7c15 ^ seed);
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed() < seconds {
        let (_, text) = small[mutator.next(small.len())];
        let damaged = mutator.damage(text.as_bytes());
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let module = fuzz_target::read(&damaged);
        let most = MOST.load(Ordering::Relaxed).saturating_sub(before);
        // The table of forms and other fixed tables take a few hundred kilobytes of their own.
        let bound = 50 * damaged.len() + (1 << 20);
        if most > bound {
            let text = String::from_utf8_lossy(&damaged);
            panic!("{most} bytes for {} of text:\n{text}", damaged.len());
        }
        // Calls are expanded in each place, so a lowered entry has no bound in its text.
        if let Some(module) = module {
            fuzz_target::lower(&module);
        }
        runs += 1;
    }
    println!("{runs} mutants");
    assert!(runs > 20, "{runs} mutants");
}

/// The formulas of all manifests.
fn formulas() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path().join("volta.toml");
        if let Ok(text) = fs::read_to_string(path) {
            let parts = text.split("formula = \"").skip(1);
            out.extend(parts.filter_map(|p| Some(p.split_once('"')?.0.to_string())));
        }
    }
    out.sort_unstable();
    out
}

#[test]
fn damaged_formulas_are_read_or_refused() {
    let _alone = ALONE.lock();
    let formulas = formulas();
    assert!(formulas.len() > 200, "{} formulas", formulas.len());
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        text.parse::<u64>().ok()
    };
    let seconds = Duration::from_secs(number("VOLTA_FUZZ_SECONDS").unwrap_or(2));
    let mut mutator = Mutator(0x5851_f42d_4c95_7f2d ^ number("VOLTA_FUZZ_SEED").unwrap_or(0));
    let start = Instant::now();
    let (mut runs, mut slowest) = (0, Duration::ZERO);
    while start.elapsed() < seconds {
        let mut text = formulas[mutator.next(formulas.len())].as_bytes().to_vec();
        for _ in 0..1 + mutator.next(4) {
            text = mutator.damage(&[&text[..], b" "].concat());
        }
        let from = Instant::now();
        fuzz_target::formula(&String::from_utf8_lossy(&text));
        slowest = slowest.max(from.elapsed());
        runs += 1;
    }
    println!("{runs} formulas, the slowest took {slowest:?}");
    assert!(runs > 20, "{runs} formulas");
}

#[test]
fn nothing_is_too_deep() {
    let _alone = ALONE.lock();
    for open in [
        "{", "(", "[", "-", "~", "!", "(.s64)", ".x", "|", "{{", "1?", "1+(",
    ] {
        for head in [
            "",
            ".entry k() { add.s32 %r1, ",
            ".global .b32 x = ",
            ".global .b32 x[] = {",
            ".section .d {",
        ] {
            let text = format!(
                ".version 9.0\n.target sm_90\n{head}{}",
                open.repeat(100_000)
            );
            if let Some(module) = fuzz_target::read(text.as_bytes()) {
                fuzz_target::lower(&module);
            }
        }
    }
}
