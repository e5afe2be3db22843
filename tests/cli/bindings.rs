//! Names of parameters, parts of outputs, sizes: flags of the launch and the bindings.

use serde_json::Value;

use super::{json, scratch, volta};

/// `y[i] = x[i] * 2` for i < n, with `last` in place of the factor of thread 3.
fn scale(entry: &str, last: &str) -> String {
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry {entry}(.param .u64 {entry}_x, .param .u64 {entry}_y, .param .u32 {entry}_n)
{{
  .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<8>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [{entry}_x]; ld.param.u64 %rd2, [{entry}_y]; ld.param.u32 %r1, [{entry}_n];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
  mad.lo.s32 %r5, %r3, %r4, %r2;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra END;
  cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;
  mul.wide.s32 %rd5, %r5, 4; add.s64 %rd6, %rd3, %rd5; add.s64 %rd7, %rd4, %rd5;
  ld.global.f32 %f1, [%rd6];
  setp.eq.s32 %p2, %r5, 3;
  selp.f32 %f2, {last}, 0f40000000, %p2;
  mul.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
END: ret;
}}
"
    )
}

/// The paths of a right kernel and of one whose element 3 is wrong.
fn pair(test: &str) -> [String; 2] {
    let file = |name: &str, last| {
        let path = scratch(test, name, scale("k", last).as_bytes());
        path.to_str().expect("a name in UTF-8").to_string()
    };
    [
        file("ref.ptx", "0f40000000"),
        file("wrong.ptx", "0f40400000"),
    ]
}

fn run(args: &[&str], more: &str) -> (i32, Value) {
    let args: Vec<&str> = args
        .iter()
        .copied()
        .chain(more.split_whitespace())
        .collect();
    let output = volta(&[&args[..], &["--json"]].concat());
    (output.status.code().unwrap_or(-1), json(&output))
}

const BOUND: &str = "--threads 4 --arg 0=in:f32[4] --arg 1=out:f32[2,2] --arg 2=4";

#[test]
fn reports_use_the_names_that_were_given() {
    let [right, wrong] = pair("names");
    let named =
        "--threads 4 --name 0=x --name k_y=out --arg x=in:f32[4] --arg out=out:f32[4] --arg 2=4";
    let (code, object) = run(&["check", &right, &wrong], named);
    assert_eq!(code, 1, "{object}");
    assert_eq!(object["counterexample"]["output"], "out", "{object}");
    assert_eq!(object["outputs"][0]["name"], "out", "{object}");
    assert!(
        object["counterexample"]["inputs"]["x"].is_array(),
        "{object}"
    );
    for bad in [
        "--name 7=x",
        "--name 0=x --name 1=x",
        "--name 0=x --name k_x=z",
        "--name 0=k_y",
        "--name 0=12",
        "--name 0=",
        "--name 0=a[b]",
        "--name 0=x --arg z=in:f32[4]",
    ] {
        let (code, object) = run(
            &["check", &right, &wrong],
            &format!("--threads 4 --arg 2=4 {bad}"),
        );
        assert_eq!(code, 2, "{bad}: {object}");
    }
    // The PTX name of a parameter that has another name is free.
    let swapped =
        "--threads 4 --name 0=k_y --name 1=k_x --arg k_y=in:f32[4] --arg k_x=out:f32[4] --arg 2=4";
    let (_, object) = run(&["check", &right, &wrong], swapped);
    assert_eq!(object["counterexample"]["output"], "k_x", "{object}");
}

#[test]
fn a_part_of_an_output_is_compared() {
    let [right, wrong] = pair("only");
    let with = |only: &str| run(&["check", &right, &wrong], &format!("{BOUND} {only}"));
    assert_eq!(with("").0, 1);
    let (code, object) = with("--only 1[0..1,0..2] --only 1[1..2,0..1]");
    assert_eq!(code, 0, "{object}");
    assert_eq!(object["outputs"][0]["elements"], 3, "{object}");
    let assumed = object["assumptions"].to_string();
    assert!(
        assumed.contains("k_y[0..1,0..2], k_y[1..2,0..1]"),
        "{assumed}"
    );
    let (code, object) = with("--only 1[0..2,1..2]");
    assert_eq!(code, 1, "{object}");
    for bad in [
        "--only 1[0..3,0..2]",
        "--only 1[0..2]",
        "--only 0[0..2]",
        "--only 2[0..1]",
        "--only 5[0..1]",
        "--only 1[1..1,0..2]",
        "--only 1",
    ] {
        let (code, object) = with(bad);
        assert_eq!(code, 2, "{bad}: {object}");
    }
}
