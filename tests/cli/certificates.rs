//! `check --certificate`: what is written, and where there is none.

use serde_json::Value;

use super::{FOUR as BOUND, NAIVE, ONLINE, json, scratch, volta};

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

#[test]
fn what_makes_the_claim_smaller_is_an_assumption() {
    let (report, text) = certified(
        "named.json",
        [NAIVE, ONLINE],
        &["--only", "1[0..2]", "--assume", "0 in 0..1"],
    );
    let certificate: Value =
        serde_json::from_str(&text.expect("a certificate")).expect("the certificate is JSON");
    let said = |v: &Value| -> Vec<String> {
        let all = v["assumptions"].as_array().into_iter().flatten();
        all.filter_map(|a| a["message"].as_str().map(String::from))
            .collect()
    };
    let own: Vec<String> = said(&certificate)
        .into_iter()
        .filter(|m| !said(&report).contains(m))
        .collect();
    let name = |i: usize| certificate["arrays"][i]["name"].as_str().expect("a name");
    assert_eq!(
        own,
        [
            format!("numbers of `{}` lie in 0.0..=1.0", name(0)),
            format!("of `{}` only the bytes 0..8 are compared", name(1)),
        ]
    );
}

#[test]
fn contents_scratch_arrays_and_lists_of_ctas_are_assumptions_too() {
    let path = scratch("certificates", "scratch.json", b"");
    let kernel = scratch(
        "certificates",
        "scratch.ptx",
        b".version 8.0\n.target sm_80\n.address_size 64\n\
          .visible .entry k(.param .u64 x, .param .u64 y, .param .u64 s) {\n\
          .reg .b64 %a<4>; .reg .b32 %r; .reg .f32 %f;\n\
          ld.param.u64 %a1, [x]; ld.param.u64 %a2, [y]; ld.param.u64 %a3, [s];\n\
          mov.u32 %r, %ctaid.x; mul.wide.u32 %a0, %r, 4; add.u64 %a2, %a2, %a0;\n\
          ld.global.f32 %f, [%a1]; add.f32 %f, %f, %f;\n\
          st.global.f32 [%a2], %f; ret; }\n",
    );
    let (file, kernel) = (path.to_str().expect("text"), kernel.to_str().expect("text"));
    let args = [
        "check",
        kernel,
        kernel,
        "--threads",
        "1",
        "--grid",
        "2",
        "--cta",
        "1",
        "--arg",
        "x=in:f32[1]=1",
        "--arg",
        "y=out:f32[2]",
        "--arg",
        "s=scratch:f32[2]",
        "--certificate",
        file,
    ];
    let ran = volta(&args);
    let text = std::fs::read_to_string(&path).expect("a certificate");
    let certificate: Value = serde_json::from_str(&text).expect("JSON");
    let all = certificate["assumptions"].as_array().expect("a list");
    for says in [
        "`x` holds the bytes 0000803f and zeros (4 bytes, SHA-256 ",
        "what `s` holds in the end is left out: it is scratch",
        "of the reference only the CTAs 1,0,0 are run",
        "of the optimized only the CTAs 1,0,0 are run",
    ] {
        let is_said = |a: &Value| a["message"].as_str().is_some_and(|m| m.starts_with(says));
        assert!(all.iter().any(is_said), "{says}: {all:?} {ran:?}");
    }
}
