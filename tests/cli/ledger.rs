//! `gate --ledger`: what a manifest came to and cost before.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{json, root, volta};

/// A manifest of three small entries and its ledger, in a folder of their own.
fn blessed(name: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let kernels = root().join("kernels");
    let text = format!(
        "[[check]]\nname = \"online\"\nreference = {{ file = \"{0}/softmax/naive_4.ptx\", entry = \"softmax_naive\" }}\n\
         optimized = \"{0}/softmax/online_4.ptx\"\nthreads = 4\nargs = {{ \"0\" = \"in:f32[4]\", \"1\" = \"out:f32[4]\" }}\n\
         [[check]]\nname = \"itself\"\nreference = {{ file = \"{0}/softmax/naive_4.ptx\", entry = \"softmax_naive\" }}\n\
         optimized = {{ file = \"{0}/softmax/naive_4.ptx\", entry = \"softmax_naive\" }}\n\
         threads = 4\nargs = {{ \"0\" = \"in:f32[4]\", \"1\" = \"out:f32[4]\" }}\n",
        kernels.display()
    );
    let manifest = folder.join("volta.toml");
    std::fs::write(&manifest, text).expect("a manifest");
    let ledger = folder.join("volta.ledger");
    std::fs::remove_file(&ledger).ok();
    let (code, gate) = run(&manifest, &ledger, &["--bless"]);
    assert_eq!(code, 0, "{gate}");
    (manifest, ledger)
}

fn run(manifest: &Path, ledger: &Path, more: &[&str]) -> (i32, Value) {
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let ledger = ledger.to_str().expect("a name in UTF-8");
    let mut args = vec!["gate", manifest, "--no-cache", "--json", "--ledger", ledger];
    args.extend(more);
    let output = volta(&args);
    (output.status.code().expect("a status"), json(&output))
}

/// The fields of the line of an entry.
fn fields(text: &str, name: &str) -> Vec<String> {
    let line = text.lines().find(|l| l.starts_with(&format!("{name}\t")));
    let fields = line.expect("a line").split('\t');
    fields.map(str::to_string).collect()
}

/// Runs with one field of the line of `online` changed; the status, and why the entry fails.
fn doctored(name: &str, column: usize, change: impl Fn(&str) -> String) -> (i32, String) {
    let (manifest, ledger) = blessed(name);
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    let old = fields(&text, "online");
    let mut new = old.clone();
    new[column] = change(&old[column]);
    let text = text.replace(&old.join("\t"), &new.join("\t"));
    std::fs::write(&ledger, text).expect("a ledger");
    let (code, gate) = run(&manifest, &ledger, &[]);
    let why = gate["entries"][0]["why"].as_str().unwrap_or("").to_string();
    (code, why)
}

#[test]
fn what_was_blessed_passes_and_stays() {
    let (manifest, ledger) = blessed("ledger-same");
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    for more in [
        &[][..],
        &["--bless"],
        &["--jobs", "1"],
        &["--filter", "itself"],
    ] {
        let (code, gate) = run(&manifest, &ledger, more);
        assert_eq!(code, 0, "{gate}");
        let now = std::fs::read_to_string(&ledger).expect("a ledger");
        assert_eq!(now, text);
    }
}

#[test]
fn a_lost_proof_fails() {
    let (code, why) = doctored("ledger-proof", 1, |_| "not-equivalent".into());
    assert_eq!(code, 1);
    assert!(
        why.contains("ledger: equivalent instead of not-equivalent"),
        "{why}"
    );
    let (code, why) = doctored("ledger-tactic", 3, |_| "same-term:4".into());
    assert_eq!(code, 1);
    assert!(why.contains("instead of same-term:4"), "{why}");
}

#[test]
fn a_new_alarm_fails() {
    // The line lacks what the run finds, and has what it does not find.
    let (code, why) = doctored("ledger-alarm", 2, |_| "warning:data".into());
    assert_eq!(code, 1);
    assert!(
        why.contains("is new") && why.contains("warning:data is gone"),
        "{why}"
    );
}

#[test]
fn a_fifth_more_work_fails() {
    let less = |n: &str| (n.parse::<u64>().expect("units") * 5 / 6).to_string();
    let (code, why) = doctored("ledger-work", 4, less);
    assert_eq!(code, 1);
    assert!(why.contains("units of work instead of"), "{why}");
}

#[test]
fn no_blessing_takes_a_best_away() {
    let (manifest, ledger) = blessed("ledger-best");
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    let old = fields(&text, "online");
    let mut new = old.clone();
    let third = old[5].parse::<u64>().expect("units") / 3;
    new[5] = third.to_string();
    std::fs::write(&ledger, text.replace(&old.join("\t"), &new.join("\t"))).expect("a ledger");
    let (code, gate) = run(&manifest, &ledger, &["--bless"]);
    assert_eq!(code, 1);
    let why = gate["entries"][0]["why"].as_str().expect("why it fails");
    assert!(why.contains("times its best"), "{why}");
    assert!(
        gate["ledger"][0]
            .as_str()
            .is_some_and(|l| l.contains("sum of their bests")),
        "{gate}"
    );
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    let reset = format!("reset online because the test says so\n{text}");
    std::fs::write(&ledger, reset).expect("a ledger");
    assert_eq!(run(&manifest, &ledger, &["--bless"]).0, 0);
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    assert_eq!(fields(&text, "online")[5], old[5]);
    assert!(
        text.contains(&format!("says so [best {third} -> {}]", old[5])),
        "{text}"
    );
}

#[test]
fn lines_and_entries_belong_together() {
    let (manifest, ledger) = blessed("ledger-lines");
    let text = std::fs::read_to_string(&ledger).expect("a ledger");
    std::fs::write(&ledger, text.replace("itself\t", "another\t")).expect("a ledger");
    let (code, gate) = run(&manifest, &ledger, &[]);
    assert_eq!(code, 1);
    assert_eq!(gate["failed"], 1);
    assert!(
        gate["ledger"][0]
            .as_str()
            .is_some_and(|l| l.contains("`another` is no entry"))
    );
    std::fs::write(&ledger, "online equivalent\n").expect("a ledger");
    let (code, gate) = run(&manifest, &ledger, &[]);
    assert_eq!(code, 2);
    assert_eq!(gate["error"]["kind"], "file");
    std::fs::remove_file(&ledger).expect("no ledger");
    assert_eq!(run(&manifest, &ledger, &[]).0, 2);
    let output = volta(&["gate", "kernels/guide/volta.toml", "--bless"]);
    assert_eq!(output.status.code(), Some(2));
}
