//! Kernels of our own in Triton, each with a twin that has one slip: `kernels/triton/corpus/corpus.zst`, made by
//! `kernels/triton/corpus/corpus.py pack`. It holds a manifest and its PTX, each behind a line `//@ name`.

use std::io::Read;
use std::path::Path;

use volta::gate::{Ledgers, Request, gate};

use super::kernels;
use super::manifest::folder;

/// Writes what an archive holds into a folder.
fn unpack(archive: &Path, folder: &Path) {
    let packed = std::fs::read(archive).expect("a readable archive");
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).expect("zstd");
    let mut text = String::new();
    decoder.read_to_string(&mut text).expect("text");
    for part in text.split("//@ ").skip(1) {
        let (name, text) = part.split_once('\n').expect("a name");
        std::fs::write(folder.join(name), text).expect("writable");
    }
}

/// Each kernel and each twin gets its verdict, and costs what the ledger says; with `VOLTA_BLESS` the ledger is written.
#[test]
fn the_corpus_gets_its_verdicts() {
    let folder = folder("corpus");
    let corpus = kernels().join("triton/corpus");
    unpack(&corpus.join("corpus.zst"), &folder);
    let request = Request {
        ledgers: Some(Ledgers {
            path: corpus.join("corpus.ledger"),
            bless: std::env::var_os("VOLTA_BLESS").is_some(),
        }),
        ..Request::default()
    };
    let report = gate(&folder.join("corpus.toml"), &request, &|_, _, _| {}).expect("a manifest");
    let failed = report
        .entries
        .iter()
        .filter_map(|e| Some((&e.name, e.why.as_ref()?)));
    let mut wrong: Vec<String> = failed.map(|(name, why)| format!("{name}: {why}")).collect();
    wrong.extend(report.ledger);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
