//! `check --certificate`: what is written, and where there is none.

use serde_json::Value;

use super::{NAIVE, ONLINE, json, scratch, volta};

const BOUND: [&str; 6] = [
    "--threads",
    "4",
    "--arg",
    "0=in:f32[4]",
    "--arg",
    "1=out:f32[4]",
];

/// The answer of a check with a certificate, and the certificate if there is one.
fn certified(name: &str, files: [&str; 2], flags: &[&str]) -> (Value, Option<String>) {
    let path = scratch("certificates", name, b"");
    std::fs::remove_file(&path).expect("the file goes");
    let file = path.to_str().expect("a path of text");
    let mut args = vec!["check", files[0], files[1], "--certificate", file, "--json"];
    args.extend(BOUND);
    args.extend(flags);
    (json(&volta(&args)), std::fs::read_to_string(&path).ok())
}

#[test]
fn a_proof_is_certified_in_the_same_bytes() {
    let (report, one) = certified("one.json", [NAIVE, ONLINE], &["--jobs", "1"]);
    let (_, two) = certified("two.json", [NAIVE, ONLINE], &["--jobs", "2"]);
    let one = one.expect("a certificate");
    assert_eq!(Some(&one), two.as_ref());
    let certificate: Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(certificate["schema"], "volta-certificate/1");
    assert_eq!(
        certificate["reference"]["sha256"],
        report["inputs"]["files"][NAIVE]
    );
    assert_eq!(certificate["matched"][0]["bytes"], "0..16");
    let samples = certificate["regions"]["samples"].as_array();
    assert_eq!(
        samples.map(|s| s.len() as u64),
        report["certificate"]["regions"].as_u64()
    );
    // The tests of a maximum go both ways.
    let reached = certificate["regions"]["reached"].as_str().expect("text");
    assert!(
        !reached.is_empty() && reached.bytes().all(|b| b == b'b'),
        "{reached}"
    );
}

#[test]
fn nothing_else_is_certified() {
    let wrong = "kernels/softmax/online_4_no_rescale.ptx";
    let (report, none) = certified("wrong.json", [NAIVE, wrong], &[]);
    assert_eq!(none, None);
    assert_eq!(
        report["certificate"]["none"],
        "the verdict is not-equivalent"
    );
    for (flags, says) in [
        (&["--bits"][..], "over the reals"),
        (&["--for", "n=1,2"], "one instance"),
    ] {
        let (report, none) = certified("refused.json", [NAIVE, ONLINE], flags);
        assert_eq!(none, None);
        let message = report["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{message}");
    }
}
