//! Known contents of arrays, and kernels that are executed on them.

use super::{json, scratch, volta};

const COUNTS: &str = "kernels/indexing/counts_shared.ptx";
const GATHER: &str = "kernels/indexing/gather_plain.ptx";

#[test]
fn what_contents_cannot_be_is_an_input_error() {
    for (contents, said) in [
        ("in:s32[4]=[1,2]", "2 numbers"),
        ("in:u8[4]=256", "cannot hold"),
        ("in:s32[4]=@no.npy", "cannot read"),
        ("in:s32[4]=@/dev/zero", "pipe or a device"),
        ("in:s32[4]=@kernels", "folder"),
        ("in:u32[4]=@kernels/indexing/pages.npy", "`<i4`"),
        ("in:s32[2,2]=@kernels/indexing/pages.npy", "shape"),
        ("in:f32[4]=normal", "only `run`"),
        ("out:s32[4]=0", "no content"),
    ] {
        let arg = format!("0={contents}");
        let output = volta(&["race", GATHER, "--threads", "4", "--arg", &arg, "--json"]);
        assert_eq!(output.status.code(), Some(2), "{contents}");
        let message = json(&output)["error"]["message"].to_string();
        assert!(message.contains(said), "{contents}: {message}");
    }
}

/// The kernel with these arguments, executed.
fn run(kernel: &str, args: &[&str]) -> (Option<i32>, serde_json::Value) {
    let mut all = vec!["run", kernel, "--json"];
    all.extend(args);
    let output = volta(&all);
    (output.status.code(), json(&output))
}

const KEYS: &str = "0=in:s32[10]=[0,1,2,7,7,7,3,0,5,5]";

#[test]
fn a_kernel_is_executed_over_its_whole_grid() {
    let file = scratch("run", "counts.npy", b"");
    let save = format!("1={}", file.display());
    let args = ["--threads", "8", "--grid", "2", "--arg", KEYS, "--arg"];
    let rest = ["1=inout:s32[8]=0", "--arg", "2=10", "--save", &save];
    let (status, object) = run(COUNTS, &[&args[..], &rest].concat());
    assert_eq!(
        (status, &object["verdict"]),
        (Some(0), &"ran".into()),
        "{object}"
    );
    let output = &object["outputs"][0];
    assert_eq!(output["type"], "s32");
    assert_eq!(output["shape"], serde_json::json!([8]));
    assert_eq!(
        output["values"],
        serde_json::json!([2, 1, 1, 1, 0, 2, 0, 3])
    );
    let saved = std::fs::read(&file).expect("a file");
    let words = saved[saved.len() - 32..].chunks_exact(4);
    let words: Vec<u8> = words.map(|w| w[0]).collect();
    assert_eq!(words, [2, 1, 1, 1, 0, 2, 0, 3]);
}

#[test]
fn everything_that_has_no_value_is_named() {
    let (status, object) = run(COUNTS, &["--threads", "8", "--arg", "0=in:s32[8]"]);
    assert_eq!(status, Some(2));
    let message = object["error"]["message"].to_string();
    for flag in ["--arg 0=in:s32[8]=CONTENTS", "--arg 1=", "--arg 2=VALUE"] {
        assert!(message.contains(flag), "{flag}: {message}");
    }
}

/// CTAs that overwrite each other's counters.
#[test]
fn a_race_of_the_run_comes_with_the_values() {
    let kernel = "kernels/indexing/counts_shared_overwrite.ptx";
    let args = ["--threads", "8", "--grid", "2", "--arg", KEYS, "--arg"];
    let (status, object) = run(
        kernel,
        &[&args[..], &["1=inout:s32[8]=0", "--arg", "2=10"]].concat(),
    );
    assert_eq!((status, &object["verdict"]), (Some(1), &"defective".into()));
    assert_eq!(object["defects"][0]["kind"], "data-race");
    assert_eq!(object["outputs"][0]["values"][5], 2, "{object}");
}

#[test]
fn an_index_beyond_the_end_is_found() {
    let ids = ["--threads", "64", "--arg", "0=in:s32[4]=[0,1,2,9]", "--arg"];
    let rest = [
        "1=in:f32[8,16]=iota",
        "--arg",
        "2=out:f32[4,16]",
        "--arg",
        "3=4",
    ];
    let (status, object) = run(GATHER, &[&ids[..], &rest].concat());
    assert_eq!(status, Some(1));
    assert_eq!(object["defects"][0]["kind"], "out-of-bounds");
}

#[test]
fn what_is_drawn_follows_from_the_seed() {
    let values = |seed: &str| {
        let ids = [
            "--threads",
            "64",
            "--seed",
            seed,
            "--arg",
            "0=in:s32[4]=iota",
            "--arg",
        ];
        let rest = [
            "1=in:f32[4,16]=normal",
            "--arg",
            "2=out:f32[4,16]",
            "--arg",
            "3=4",
        ];
        run(GATHER, &[&ids[..], &rest].concat()).1["outputs"].clone()
    };
    assert_eq!(values("1"), values("1"));
    assert_ne!(values("1"), values("2"));
}

const PADDED: &str = "kernels/indexing/guards.ptx";

/// The status of `race` on a kernel of four threads that reads where its first array says, with a fact; and what it says.
fn with_fact(keys: &str, fact: &str) -> (Option<i32>, serde_json::Value) {
    let keys = format!("0={keys}");
    let args = [
        "race",
        PADDED,
        "--entry",
        "padded",
        "--threads",
        "4",
        "--json",
    ];
    let rest = [
        "--arg",
        &keys,
        "--arg",
        "1=in:f32[16]",
        "--arg",
        "2=out:f32[4]",
    ];
    let all = [&args[..], &rest, &["--assume", fact]].concat();
    let output = volta(&all);
    (output.status.code(), json(&output))
}

#[test]
fn facts_are_listed_where_they_hold() {
    for fact in [
        "0 in 0..16",
        "0 distinct",
        "0 sorted",
        "0 pow2",
        "1 in -1.5..2",
        "1 in 2..2",
        "no-overflow",
        "block.x == 4",
        "4 <= 2*block.x - grid.x",
        "block.x % 2 != 1",
    ] {
        let (status, object) = with_fact("in:i32[4]", fact);
        assert_eq!(status, Some(0), "{fact}: {object}");
        let listed = object["assumptions"].as_array().expect("a list");
        assert!(
            listed.iter().any(|a| a["kind"] == "fact"),
            "{fact}: {object}"
        );
    }
}

#[test]
fn a_fact_that_cannot_be_is_an_input_error() {
    for (keys, fact) in [
        ("in:i32[4]", "0 in 3..3"),
        ("in:u8[4]", "0 in -9..0"),
        ("in:i32[4]=[1,2,3,4]", "0 in 0..4"),
        ("in:i32[4]=[1,2,3,1]", "0 distinct"),
        ("in:i32[4]=[1,2,1,4]", "0 sorted"),
        ("in:i32[4]=[1,2,3,4]", "0 pow2"),
        ("in:u32[4]", "0 sorted"),
        ("in:i32[4]", "0 in 0.5..3"),
        ("in:i32[4]", "1 in 2..1.5"),
        ("in:i32[4]", "1 in 0..nan"),
        ("in:i32[4]", "1 distinct"),
        ("in:i32[4]", "7 distinct"),
        ("in:i32[4]", "0 unique"),
        ("in:i32[4]", "block.x == 5"),
        ("in:i32[4]", "block.x =< 5"),
        ("in:i32[4]", "m < 5"),
        ("in:i32[4]", "pure f"),
        ("in:i32[4]", "arg(0) < 5"),
        ("in:i32[4]", "block.x / 0 < 5"),
    ] {
        let (status, object) = with_fact(keys, fact);
        assert_eq!(status, Some(2), "{fact}: {object}");
        assert_eq!(object["error"]["kind"], "fact", "{fact}: {object}");
    }
}

/// Distinct integers of a range have room in it.
#[test]
fn facts_that_contradict_each_other_are_an_input_error() {
    let args = [
        "race",
        PADDED,
        "--entry",
        "padded",
        "--threads",
        "4",
        "--json",
    ];
    let rest = [
        "--arg",
        "0=in:i32[4]",
        "--arg",
        "1=in:f32[16]",
        "--arg",
        "2=out:f32[4]",
    ];
    for (a, b, status) in [
        ("0 in 0..4", "0 distinct", Some(0)),
        ("0 in 0..3", "0 distinct", Some(2)),
        ("0 distinct", "0 in 0..3", Some(2)),
        ("0 in 5..8", "0 pow2", Some(2)),
        ("0 in 0..4", "0 in 4..8", Some(2)),
        ("1 in 0..1", "1 in 1..2", Some(0)),
        ("1 in 0..1", "1 in 1.5..2", Some(2)),
    ] {
        let facts = ["--assume", a, "--assume", b];
        let output = volta(&[&args[..], &rest, &facts].concat());
        assert_eq!(output.status.code(), status, "{a}, {b}");
    }
}

/// Two lanes store one place in one instruction: the same sum in another order, or without its last operand.
fn sums_of_two_lanes(last: &str) -> String {
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry sums(.param .u64 x, .param .u64 y)
{{
.reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<8>;
.shared .align 4 .f32 s[1];
ld.param.u64 %rd0,[x]; ld.param.u64 %rd1,[y]; mov.u32 %r0,%tid.x; xor.b32 %r1,%r0,1;
mul.wide.u32 %rd2,%r0,4; add.s64 %rd2,%rd0,%rd2; mul.wide.u32 %rd3,%r1,4; add.s64 %rd3,%rd0,%rd3;
ld.global.f32 %f0,[%rd2]; ld.global.f32 %f1,[%rd3]; ld.global.f32 %f2,[%rd0+8];
add.f32 %f3,%f0,%f2; {last}
st.shared.f32 [s],%f3; bar.sync 0; ld.shared.f32 %f4,[s]; st.global.f32 [%rd1],%f4; ret;
}}
"
    )
}

#[test]
fn lanes_that_store_one_real_with_other_bits_are_executed() {
    let executed = |name: &str, last: &str, x: &str| {
        let file = scratch("lanes", name, sums_of_two_lanes(last).as_bytes());
        let x = format!("0=in:f32[3]={x}");
        let args = ["--threads", "2", "--arg", &x, "--arg", "1=out:f32[1]"];
        run(&file.display().to_string(), &args)
    };
    let (code, report) = executed("sums.ptx", "add.f32 %f3,%f3,%f1;", "[0.1,0.7,0.003]");
    assert_eq!(code, Some(0), "{report}");
    let warned = report["warnings"].as_array().expect("warnings");
    assert!(
        warned.iter().any(|w| w["kind"] == "real-equal-write"),
        "{report}"
    );
    let value = report["outputs"][0]["values"][0]
        .as_f64()
        .expect("a number");
    assert!((value - 0.803).abs() < 1e-6, "{report}");
    // Another real.
    let (code, report) = executed("one_less.ptx", "", "[0.1,0.7,0.003]");
    assert_eq!(code, Some(1), "{report}");
    // What is no number in either order is the same word.
    let (code, report) = executed("sums.ptx", "add.f32 %f3,%f3,%f1;", "[inf,0.7,-inf]");
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(
        report["warnings"][0]["kind"], "same-value-write",
        "{report}"
    );
    // In one order only: the infinity stays.
    let (code, report) = executed("one_less.ptx", "", "[inf,0.7,-inf]");
    assert_eq!(code, Some(1), "{report}");
}
