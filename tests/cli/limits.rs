//! Limits: whatever takes long ends with its budget, loops that data end are told at once, and a loop that leaves its
//! array ends where it does. Units of work take the place of time, which no two machines share; the binary counts
//! them wherever it looks at its clock.

use serde_json::Value;

use super::{json, scratch, volta};

/// A kernel of two arrays and a number; `%rd4` and `%rd5` are the elements of the thread, in as many CTAs as there are.
fn kernel(name: &str, body: &str) -> String {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<999>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n\
         ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r2, [n];\n\
         mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r1, %r3, %r4, %r1;\n\
         mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n\
         {body}\nret;\n}}\n"
    );
    let path = scratch("limits", &format!("{name}.ptx"), text.as_bytes());
    path.to_str().expect("a name in UTF-8").to_string()
}

/// The report of a command with more arguments.
fn report(args: &[&str], more: &[&str]) -> Value {
    json(&volta(&[args, more, &["--json"]].concat()))
}

fn work(report: &Value) -> u64 {
    report["stats"]["work"].as_u64().expect("units")
}

fn kinds<'a>(report: &'a Value, list: &str) -> Vec<&'a str> {
    let found = report[list].as_array().expect("findings");
    found.iter().filter_map(|f| f["kind"].as_str()).collect()
}

/// Loops in loops, each up to the number of the launch.
fn nest(depth: usize) -> String {
    let open = |i: usize| {
        format!(
            "mov.u32 %r{r}, 0;\nA{i}: setp.ge.u32 %p1, %r{r}, %r2; @%p1 bra B{i};\n",
            r = 20 + i
        )
    };
    let close = |i: usize| format!("add.u32 %r{r}, %r{r}, 1; bra A{i};\nB{i}:\n", r = 20 + i);
    let body = "mad.lo.u32 %r7, %r7, %r3, %r20; mul.wide.u32 %rd6, %r7, 4; add.u64 %rd7, %rd2, %rd6;\n\
                st.global.u32 [%rd7], %r7;\n";
    let (before, after): (String, String) = (
        (0..depth).map(open).collect(),
        (0..depth).rev().map(close).collect(),
    );
    before + "mov.u32 %r7, 0;\n" + body + &after
}

/// An index whose polynomial has more terms each time that it is made.
fn polynomial(steps: usize) -> String {
    let step = "mad.lo.u32 %r7, %r7, %r8, %r9; add.u32 %r8, %r8, %r7;\n";
    "mov.u32 %r7, %r1; mov.u32 %r8, %ntid.x; mov.u32 %r9, %ctaid.x;\n".to_string()
        + &step.repeat(steps)
        + "mul.wide.u32 %rd6, %r7, 4; add.u64 %rd7, %rd1, %rd6; ld.global.u32 %r6, [%rd7];\n\
           st.global.u32 [%rd5], %r6;\n"
}

#[test]
fn a_question_about_every_launch_spends_no_more_than_its_budget() {
    const BUDGET: u64 = 1_000_000;
    let budget = BUDGET.to_string();
    let cases = [
        kernel("nest", &nest(14)),
        kernel("deep", &nest(200)),
        kernel("polynomial", &polynomial(40)),
        kernel("polynomials", &polynomial(900)),
    ];
    for file in &cases {
        let found = report(&["race", "--any", file], &["--budget", &budget]);
        assert!(work(&found) < 2 * BUDGET, "{file}: {}", work(&found));
        assert!(found["verdict"] != "clean", "{file}: {found}");
        // The same without a budget, where the proof has one of its own.
        let late = report(&["race", "--any", file], &["--timeout", "0.2"]);
        assert!(late["verdict"] != "clean", "{file}: {late}");
        let seconds = late["stats"]["seconds"]["total"].as_f64();
        assert!(seconds.expect("seconds") < 10.0, "{file}: {seconds:?}");
    }
}

const LAUNCH: &[&str] = &["--threads", "32", "--arg", "2=33", "--arg", "1=out:f32[64]"];
const FLOATS: &[&str] = &["--arg", "0=in:f32[64]"];
const WORDS: &[&str] = &["--arg", "0=in:u32[64]"];

/// A loop whose end numbers decide is told at once, with its line and what to do, by every command.
#[test]
fn a_loop_that_data_end_is_no_matter_of_time() {
    let halved = "ld.global.f32 %f1, [%rd4];\nL: mul.f32 %f1, %f1, 0f3F000000; setp.gt.f32 %p1, %f1, 0f3DCCCCCD;\n\
                  @%p1 bra L;\nst.global.f32 [%rd5], %f1;";
    let counted = "ld.global.u32 %r5, [%rd4]; mov.u32 %r6, 0; mov.u32 %r7, 0;\n\
                   L: add.u32 %r7, %r7, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r5;\n\
                   @%p1 bra L;\nst.global.u32 [%rd5], %r7;";
    let across = "ld.global.f32 %f1, [%rd4];\nL: add.f32 %f1, %f1, 0f3F800000; bar.sync 0;\n\
                  setp.lt.f32 %p1, %f1, 0f41200000;\n@%p1 bra L;\nst.global.f32 [%rd5], %f1;";
    for (name, body, bound) in [
        ("halved", halved, FLOATS),
        ("counted", counted, WORDS),
        ("across", across, FLOATS),
    ] {
        let file = kernel(name, body);
        for command in [
            &["race", &file][..],
            &["lift", &file],
            &["check", &file, &file],
        ] {
            let found = report(&[command, LAUNCH, bound].concat(), &[]);
            assert_eq!(found["verdict"], "unknown", "{command:?}: {found}");
            let kinds = kinds(&found, "unknown");
            assert!(
                kinds.contains(&"data-dependent-branch"),
                "{command:?}: {found}"
            );
            assert!(!kinds.contains(&"limit"), "{command:?}: {found}");
            let told = found["unknown"].as_array().and_then(|all| {
                let mut all = all.iter();
                all.find(|f| f["kind"] == "data-dependent-branch")
            });
            let told = told.expect("the branch");
            assert!(
                told["sites"][0]["text"]
                    .as_str()
                    .is_some_and(|t| t.contains("bra L"))
            );
            assert!(
                told["hint"]
                    .as_str()
                    .is_some_and(|h| h.contains("--assume"))
            );
            assert!(work(&found) < 3_000_000, "{command:?}: {}", work(&found));
        }
    }
}

/// Loops that facts, widths or the launch end are run, whatever data choose in them.
#[test]
fn a_loop_that_has_a_bound_is_run() {
    let few = "ld.global.u32 %r5, [%rd4]; mov.u32 %r6, 0; mov.u32 %r7, 0;\n\
               L: add.u32 %r7, %r7, %r6; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r5;\n\
               @%p1 bra L;\nst.global.u32 [%rd5], %r7;";
    let bits = "ld.global.u32 %r5, [%rd4]; mov.u32 %r7, 0;\nL: add.u32 %r7, %r7, %r5; shr.u32 %r5, %r5, 1;\n\
                setp.ne.u32 %p1, %r5, 0; @%p1 bra L;\nst.global.u32 [%rd5], %r7;";
    let sizes = "mov.u32 %r6, 0; mov.u32 %r7, 0;\nL: add.u32 %r7, %r7, %r6; add.u32 %r6, %r6, 1;\n\
                 setp.lt.u32 %p1, %r6, %r2; @%p1 bra L;\nst.global.u32 [%rd5], %r7;";
    let halved = "ld.global.f32 %f1, [%rd4];\nL: mul.f32 %f1, %f1, 0f3F000000; setp.gt.f32 %p1, %f1, 0f3DCCCCCD;\n\
                  @%p1 bra L;\nst.global.f32 [%rd5], %f1;";
    let counter = "ld.global.f32 %f1, [%rd4]; mov.u32 %r6, 0;\nL: setp.le.f32 %p1, %f1, 0f3F800000; @%p1 bra E;\n\
                   mul.f32 %f1, %f1, 0f3F000000; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 40; @%p2 bra L;\n\
                   E: st.global.u32 [%rd5], %r6;";
    for (name, body, bound) in [
        ("counter", counter, FLOATS),
        (
            "few",
            few,
            &["--arg", "0=in:u32[64]", "--assume", "0 in 0..5"][..],
        ),
        ("bits", bits, WORDS),
        ("sizes", sizes, WORDS),
        (
            "bounded",
            halved,
            &["--arg", "0=in:f32[64]", "--assume", "0 in 1..2"][..],
        ),
    ] {
        let file = kernel(name, body);
        let found = report(&[&["race", &file], LAUNCH, bound].concat(), &[]);
        assert_eq!(found["verdict"], "clean", "{name}: {found}");
    }
}

/// A loop that leaves its array for good ends with that defect, whatever its limit, and so does one that races.
#[test]
fn a_runaway_loop_ends_where_it_leaves_its_array() {
    let start = "mov.u64 %rd6, %rd5; mov.u32 %r6, 0;\n";
    let store = "L: st.global.u32 [%rd6], %r6; add.u64 %rd6, %rd6, 128; add.u32 %r6, %r6, 2;\n";
    let load = "L: ld.global.u32 %r7, [%rd6]; add.u64 %rd6, %rd6, 128; add.u32 %r6, %r6, 2;\n";
    let both =
        "L: st.global.u32 [%rd6], %r6; add.u64 %rd6, %rd6, 128; ld.global.u32 %r7, [%rd4];\n";
    let missed = "setp.ne.u32 %p1, %r6, 9; @%p1 bra L;";
    for (name, body) in [
        ("always", format!("{start}{store}bra L;")),
        ("missed", format!("{start}{store}{missed}")),
        ("read", format!("{start}{load}{missed}")),
        ("barrier", format!("{start}{store}bar.sync 0; bra L;")),
        ("both", format!("{start}{both}bra L;")),
    ] {
        let file = kernel(name, &body);
        for (command, bound) in [("race", FLOATS), ("run", &["--arg", "0=in:f32[64]=1"])] {
            let found = report(&[&[command, &file], LAUNCH, bound].concat(), &[]);
            assert_eq!(found["verdict"], "defective", "{name}: {found}");
            assert!(
                kinds(&found, "defects").contains(&"out-of-bounds"),
                "{name}: {found}"
            );
            assert!(work(&found) < 20_000_000, "{name}: {}", work(&found));
        }
    }
}

/// What a run has found when a limit ends it is told; what a kernel does after a defect is looked at.
#[test]
fn defects_outlive_limits_and_do_not_hide_others() {
    let races = kernel(
        "races",
        "st.global.u32 [%rd2], %r1; mov.u32 %r6, 0;\nL: add.u32 %r6, %r6, 1; bra L;",
    );
    let launch = [LAUNCH, WORDS].concat();
    let found = report(
        &["race", &races],
        &[&launch[..], &["--budget", "5000000"]].concat(),
    );
    assert_eq!(found["verdict"], "defective", "{found}");
    assert_eq!(kinds(&found, "defects"), ["data-race"]);
    let twice = kernel(
        "twice",
        "st.global.u32 [%rd5+4096], %r1; mov.u32 %r6, 0;\nL: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 200;\n\
         @%p1 bra L;\nld.global.u32 %r7, [%rd4+8192]; st.global.u32 [%rd5], %r7;",
    );
    let found = report(&["race", &twice], &launch);
    assert_eq!(
        found["defects"].as_array().map(Vec::len),
        Some(2),
        "{found}"
    );
}

/// That what a racing load reads reaches nothing is shown by a run that ended, not by one that was cut.
#[test]
fn a_cut_run_says_nothing_of_what_a_racing_load_is_for() {
    let late = kernel(
        "late",
        ".shared .b32 s[32]; shl.b32 %r9, %r1, 2; mov.u32 %r8, s; add.u32 %r9, %r8, %r9; st.shared.u32 [%r9], %r1;\n\
         xor.b32 %r10, %r9, 4; ld.shared.u32 %r7, [%r10]; mov.u32 %r6, 0;\n\
         L: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 10000000; @%p1 bra L;\nst.global.u32 [%rd5], %r7;",
    );
    let launch = [LAUNCH, WORDS, &["--budget", "1000000"]].concat();
    let found = report(&["race", &late], &launch);
    assert!(kinds(&found, "unknown").contains(&"limit"), "{found}");
    assert!(
        !kinds(&found, "warnings").contains(&"unused-read"),
        "{found}"
    );
}

/// A run that a limit ends has no outputs, names the CTAs that it ran, and writes no file; a deadlock is one.
#[test]
fn a_run_that_a_limit_ends_leaves_no_output() {
    let slow = kernel(
        "slow",
        "st.global.u32 [%rd5], %r1;\nsetp.ne.u32 %p2, %r3, 2; @%p2 bra E;\nmov.u32 %r6, 0;\n\
         L: add.u32 %r6, %r6, 1; bra L;\nE:",
    );
    let saved = scratch("limits", "left.npy", b"");
    std::fs::remove_file(&saved).expect("a name that is free");
    let save = format!("1={}", saved.display());
    let launch = [
        "--threads",
        "32",
        "--grid",
        "4",
        "--arg",
        "0=in:u32[128]=0",
        "--arg",
        "1=out:u32[128]",
        "--arg",
        "2=1",
    ];
    let more = ["--budget", "100000", "--save", &save];
    let found = report(&["run", &slow], &[&launch[..], &more].concat());
    assert_eq!(found["verdict"], "unknown", "{found}");
    assert!(kinds(&found, "unknown").contains(&"limit"), "{found}");
    assert_eq!(
        found["outputs"].as_array().map(Vec::len),
        Some(0),
        "{found}"
    );
    assert_eq!(
        found["scope"]["ctas"].as_array().map(Vec::len),
        Some(3),
        "{found}"
    );
    assert!(!saved.exists());
    let stuck = kernel(
        "stuck",
        "setp.ne.u32 %p2, %r3, 2; @%p2 bra E;\nbarrier.sync 1, 64;\nE:",
    );
    let found = report(&["run", &stuck], &launch);
    assert_eq!(found["verdict"], "defective", "{found}");
    assert_eq!(kinds(&found, "defects"), ["deadlock"]);
}

/// An access as far from its array as an address can be is an error of the kernel like any other.
#[test]
fn an_access_half_of_all_addresses_away_is_a_defect() {
    let body = "and.b64 %rd6, %rd3, 4; shl.b64 %rd6, %rd6, 61; add.u64 %rd7, %rd1, %rd6;\n\
                ld.global.f32 %f1, [%rd7]; st.global.f32 [%rd5], %f1;";
    let file = kernel("far", body);
    let found = report(&[&["race", &file], LAUNCH, FLOATS].concat(), &[]);
    assert_eq!(found["verdict"], "defective", "{found}");
    let text = found["defects"][0]["message"].to_string();
    assert!(text.contains("9223372036854775808 bytes"), "{text}");
}
