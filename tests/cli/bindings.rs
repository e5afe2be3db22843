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

const SIZED: &str =
    "--threads 4 --grid {ceildiv(n,4)} --arg 0=in:f32[{n}] --arg 1=out:f32[{n}] --arg 2={n}";

#[test]
fn a_command_is_run_for_each_size() {
    let [right, wrong] = pair("sizes");
    let (code, object) = run(&["race", &right], &format!("{SIZED} --for n=1,2..4,9"));
    assert_eq!(
        (code, object["verdict"].as_str()),
        (0, Some("clean")),
        "{object}"
    );
    let sizes = |object: &Value| -> Vec<i64> {
        let all = object["instances"].as_array().into_iter().flatten();
        all.filter_map(|i| i["for"]["n"].as_i64()).collect()
    };
    assert_eq!(sizes(&object), [1, 2, 3, 9]);
    assert_eq!(object["instances"][3]["result"]["kernel"]["grid"][0], 3);
    // Element 3 is wrong, which sizes up to 3 do not show; the file of the candidate has a size too.
    let by_name = wrong.replace("wrong", "{min(n,3)}");
    for (name, text) in [
        ("1.ptx", "0f40000000"),
        ("2.ptx", "0f40000000"),
        ("3.ptx", "0f40400000"),
    ] {
        scratch("sizes", name, scale("k", text).as_bytes());
    }
    for other in [wrong, by_name] {
        let with = |list: &str| {
            run(
                &["check", &right, &other],
                &format!("{SIZED} --for n={list}"),
            )
        };
        let (code, object) = with("1..4");
        assert_eq!(
            (code, object["verdict"].as_str()),
            (0, Some("equivalent")),
            "{object}"
        );
        let (code, object) = with("1..6");
        assert_eq!(
            (code, object["verdict"].as_str()),
            (1, Some("not-equivalent")),
            "{object}"
        );
        assert_eq!(object["for"]["n"], 4, "{object}");
        assert_eq!(object["instances"][2]["result"]["verdict"], "equivalent");
        assert_eq!(
            object["instances"][4]["result"]["verdict"],
            "not-equivalent"
        );
    }
    // An array of no elements is one that no thread may touch.
    let args = "--threads 4 --for n=0 --arg 0=in:f32[{n}] --arg 1=out:f32[{n}] --arg 2={n}";
    let (code, object) = run(&["race", &right], args);
    assert_eq!(
        (code, object["verdict"].as_str()),
        (0, Some("clean")),
        "{object}"
    );
    // Without a value for n every size but 4 leaves its array: the worst verdict is that of a defect.
    let args = "--threads 4 --for n=4,1 --arg 0=in:f32[{n}] --arg 1=out:f32[{n}] --arg 2=4";
    let (code, object) = run(&["race", &right], args);
    assert_eq!(
        (code, object["verdict"].as_str()),
        (1, Some("defective")),
        "{object}"
    );
    assert_eq!(object["for"]["n"], 1, "{object}");
}

#[test]
fn sizes_that_cannot_be_run_are_errors() {
    let [right, _] = pair("sizes-bad");
    for bad in [
        "--for n=",
        "--for n=3..3",
        "--for n=1 --for n=2",
        "--for min=1",
        "--for n=0..20000",
        "--for n=1..200 --for m=1..200",
        "--for m=1",
        "--for n=0..2",
        "--for n=1 --output {n}.json --output {m}",
        "--for n=1,2 --output /tmp/{n}.json",
    ] {
        let (code, object) = run(&["race", &right], &format!("{SIZED} {bad}"));
        assert_eq!(code, 2, "{bad}: {object}");
        assert!(object["error"]["message"].is_string(), "{bad}: {object}");
    }
    // An instance that is an input error comes first, and the others are reported.
    let (code, object) = run(&["race", &right], &format!("{SIZED} --for n=4,0"));
    assert_eq!(code, 2, "{object}");
    let results = &object["instances"];
    assert_eq!(results[0]["result"]["verdict"], "clean", "{object}");
    assert!(
        results[1]["result"]["error"]["message"].is_string(),
        "{object}"
    );
}

#[test]
fn files_give_sizes_as_flags_do() {
    let [right, wrong] = pair("sizes-files");
    let base = "args = { \"0\" = \"in:f32[{n}]\", \"1\" = \"out:f32[{n}]\", \"2\" = \"{n}\" }\n";
    scratch(
        "sizes-files",
        "base.toml",
        format!("{base}for = {{ n = 2 }}\n").as_bytes(),
    );
    let spec = "include = [\"base.toml\"]\nthreads = \"{n}\"\nfor = { n = [1, \"3..5\"] }\n";
    let spec = scratch("sizes-files", "spec.toml", spec.as_bytes());
    let spec = spec.to_str().expect("a name in UTF-8");
    let (code, object) = run(&["check", &right, &wrong, "--spec", spec], "");
    assert_eq!(
        (code, &object["for"]["n"]),
        (1, &Value::from(4)),
        "{object}"
    );
    assert_eq!(
        object["instances"].as_array().map(Vec::len),
        Some(3),
        "{object}"
    );
    let (code, object) = run(&["check", &right, &wrong, "--spec", spec], "--for n=2,3");
    assert_eq!(code, 0, "{object}");

    let manifest = format!(
        "[defaults]\nfor = {{ n = \"1..6\" }}\n{base}
         [[check]]\nname = \"small\"\nreference = \"ref.ptx\"\noptimized = \"wrong.ptx\"\n\
         threads = \"{{n}}\"\nfor = {{ n = \"1..4\" }}
         [[check]]\nname = \"all\"\nreference = \"ref.ptx\"\noptimized = \"wrong.ptx\"\n\
         threads = \"{{n}}\"\nexpect = \"not-equivalent\"
         [[race]]\nname = \"outside\"\nkernel = \"ref.ptx\"\nthreads = \"{{n}}\"\n\
         args = {{ \"2\" = 4, \"1\" = \"out:f32[{{max(n-1,1)}}]\" }}\nexpect = \"defective\"\ndefects = [\"out-of-bounds\"]\n"
    );
    let manifest = scratch("sizes-files", "volta.toml", manifest.as_bytes());
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let (code, object) = run(&["gate", manifest, "--no-cache"], "");
    assert_eq!(code, 0, "{object}");
    let all = &object["entries"][1]["result"];
    assert_eq!(
        all["instances"].as_array().map(Vec::len),
        Some(5),
        "{object}"
    );
    let bad = scratch(
        "sizes-files",
        "bad.toml",
        b"[[race]]\nkernel = \"ref.ptx\"\nthreads = \"{n+k}\"\nfor = { n = 1 }\n",
    );
    let (code, object) = run(&["gate", bad.to_str().expect("a name in UTF-8")], "");
    assert_eq!(
        (code, &object["error"]["sites"][0]["line"]),
        (2, &Value::from(3)),
        "{object}"
    );
}
