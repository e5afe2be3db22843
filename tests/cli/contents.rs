//! Known contents of arrays, and kernels that are executed on them.

use super::{json, scratch, volta};

const COUNTS: &str = "kernels/contents/counts_shared.ptx";
const GATHER: &str = "kernels/contents/gather_plain.ptx";

#[test]
fn what_contents_cannot_be_is_an_input_error() {
    for (contents, said) in [
        ("in:s32[4]=[1,2]", "2 numbers"),
        ("in:u8[4]=256", "cannot hold"),
        ("in:s32[4]=@no.npy", "cannot read"),
        ("in:s32[4]=@/dev/zero", "pipe or a device"),
        ("in:s32[4]=@kernels", "folder"),
        ("in:u32[4]=@kernels/contents/pages.npy", "`<i4`"),
        ("in:s32[2,2]=@kernels/contents/pages.npy", "shape"),
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
    let kernel = "kernels/contents/counts_shared_overwrite.ptx";
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
