//! What is found on one of the contents that facts allow is in the answer about all of them.

use serde_json::Value;

use super::{json, scratch, volta};

/// A kernel that runs a loop of `n` turns with a barrier in each, and then does something more where `n` is one number, and
/// reads beyond its output where it is another.
fn kernel(test: &str, more: &str, at: u32, beyond: u32) -> String {
    let text = format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n, .param .u64 y, .param .u64 i, .param .u64 x)
{{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .b64 %q<12>; .shared .align 4 .b8 s[64];
  ld.param.u32 %r1, [n]; ld.param.u64 %q1, [y]; ld.param.u64 %q2, [i]; ld.param.u64 %q3, [x];
  mov.u32 %r0, %tid.x; mov.u32 %r2, 0;
TURN:
  add.u32 %r2, %r2, 1;
  bar.sync 0;
  setp.lt.u32 %p0, %r2, %r1;
  @%p0 bra TURN;
  setp.ne.u32 %p1, %r1, {at};
  @%p1 bra ON;
  {more}
ON:
  setp.ne.u32 %p2, %r1, {beyond};
  @%p2 bra END;
  ld.global.u32 %r5, [%q1+4096];
END:
  mul.wide.u32 %q4, %r0, 4; add.u64 %q4, %q1, %q4; st.global.u32 [%q4], %r2;
  ret;
}}
"
    );
    let path = scratch(test, &format!("{at}-{beyond}.ptx"), text.as_bytes());
    path.to_str().expect("a name in UTF-8").to_string()
}

const UNWRITTEN: &str = "ld.shared.u32 %r3, [s+4];";
const CHOSEN: &str = "ld.global.u32 %r4, [%q2]; mul.wide.u32 %q5, %r4, 4; add.u64 %q5, %q3, %q5; ld.global.f32 %f1, [%q5];";

const BOUND: &str = "--threads 2 --arg y=out:u32[2] --arg i=in:u32[1] --arg x=in:f32[4]";

fn run(command: &str, kernels: &[&str], more: &str) -> (i32, Value) {
    let mut args = vec![command];
    args.extend(kernels);
    args.extend(BOUND.split_whitespace());
    args.extend(["--assume", "n in 1..4", "--json"]);
    args.extend(more.split_whitespace());
    let output = volta(&args);
    (output.status.code().unwrap_or(-1), json(&output))
}

fn kinds(report: &Value, list: &str) -> Vec<String> {
    let all = report[list].as_array().expect("a list");
    let kind = |f: &Value| f["kind"].as_str().unwrap_or_default().to_string();
    all.iter().map(kind).collect()
}

#[test]
fn what_one_content_warns_of_is_in_the_answer() {
    for at in 1..4 {
        let file = kernel("case_warns", UNWRITTEN, at, 9);
        for (command, files, verdict) in [
            ("race", &[&*file][..], "clean"),
            ("check", &[&*file, &*file][..], "equivalent"),
        ] {
            let (exit, report) = run(command, files, "--deny uninitialized-read");
            assert_eq!(exit, 1, "{command} n = {at}: {report}");
            assert_eq!(report["verdict"], verdict, "{report}");
            assert_eq!(report["denied"][0], "uninitialized-read", "{report}");
        }
    }
    let file = kernel("case_warns", UNWRITTEN, 9, 9);
    let (exit, report) = run("race", &[&file], "--deny uninitialized-read");
    assert_eq!((exit, &report["verdict"]), (0, &"clean".into()), "{report}");
}

#[test]
fn what_one_content_takes_for_granted_is_in_the_answer() {
    let mut work = Vec::new();
    for at in [1, 2, 3, 9] {
        let file = kernel("case_assumes", CHOSEN, at, 9);
        let (exit, report) = run("race", &[&file], "");
        assert_eq!(exit, 0, "{report}");
        let listed = kinds(&report, "assumptions").contains(&"place".to_string());
        assert_eq!(listed, at < 4, "n = {at}: {report}");
        let counts = &report["stats"]["kernel"]["barrier_arrivals"];
        work.push(counts.as_u64().expect("a count"));
    }
    // Two threads, in 1 + 2 + 3 turns.
    assert_eq!(work, [12; 4]);
}

#[test]
fn a_content_that_is_left_out_warns_and_assumes_too() {
    for at in 1..4 {
        // The content on which the reference leaves its output is the one that warns.
        let file = kernel("case_left_out", UNWRITTEN, at, at);
        let (exit, report) = run("check", &[&file, &file], "--deny uninitialized-read");
        assert_eq!(exit, 1, "{report}");
        assert_eq!(report["verdict"], "equivalent", "{report}");
        let text = report["warnings"].to_string();
        let content = format!("with n = {at}: ");
        assert!(text.contains(&content), "{text}");
        assert!(text.contains("1 of the 3 contents"), "{text}");
        // Alone, the kernel leaves its output on a content that the facts allow.
        let (exit, report) = run("race", &[&file], "");
        assert_eq!(exit, 1, "{report}");
        assert_eq!(kinds(&report, "defects"), ["out-of-bounds"], "{report}");
        let text = report["warnings"].to_string();
        assert!(text.contains(&format!("n = {at}")), "{text}");
    }
}
