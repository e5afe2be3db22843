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

#[test]
fn an_alignment_is_that_of_the_binding() {
    let text = ".version 8.0
.target sm_80
.address_size 64
.visible .entry v(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<3>; .reg .b64 %rd<8>; .reg .f32 %f<5>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];
  st.global.v2.f32 [%rd5], {%f1, %f2};
  st.global.v2.f32 [%rd5+8], {%f3, %f4};
  ret;
}
";
    let path = scratch("align", "v.ptx", text.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let with = |x: &str, y: &str| {
        let more = format!("--threads 2 --arg 0=in:i32[8]{x} --arg 1=out:f32[8]{y}");
        run(&["race", path], &more)
    };
    for (x, y, expected) in [
        ("", "", 0),
        ("/align16", "/align8", 0),
        ("/align8", "", 1),
        ("", "/align4", 1),
    ] {
        let (code, object) = with(x, y);
        assert_eq!(code, expected, "{x} {y}: {object}");
        let assumed = object["assumptions"].to_string();
        let said = assumed.contains("`x` begins at a multiple of 16 bytes")
            || assumed.contains("x[0] begins at a multiple of 16 bytes");
        assert_eq!(said, x == "/align16", "{assumed}");
        if code == 1 {
            assert_eq!(
                object["defects"][0]["kind"], "misaligned-access",
                "{object}"
            );
        } else if x.is_empty() {
            assert!(assumed.contains("multiples of 256 bytes"), "{assumed}");
        }
    }
    let (code, _) = with("/align3", "");
    assert_eq!(code, 2);
    // Bits of the address that the alignment does not tell decide nothing.
    let low = "and.b64 %rd6, %rd1, 31; cvt.u32.u64 %r2, %rd6; st.global.u32 [%rd5], %r2;\n  ret;";
    let low = text.replace("ret;", low);
    let path = scratch("align", "low.ptx", low.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let reference = scratch(
        "align",
        "zero.ptx",
        low.replace("%rd1, 31", "%rd1, 0").as_bytes(),
    );
    let pair = ["check", reference.to_str().expect("a name in UTF-8"), path];
    for (x, expected) in [("", 0), ("/align32", 0), ("/align16", 3)] {
        let more = format!("--threads 2 --arg 0=in:f32[8]{x} --arg 1=out:f32[8]");
        let (code, object) = run(&pair, &more);
        assert_eq!(code, expected, "{x}: {object}");
    }
}

/// `y[t] = sum of *p[k][t]` over some entries of an array of three pointers, null ones left out.
fn table(entries: [u32; 3]) -> String {
    let mut body = String::new();
    for at in entries {
        body += &format!(
            "  ld.global.u64 %rd5, [%rd1+{}];
  setp.ne.s64 %p1, %rd5, 0;
  add.s64 %rd6, %rd5, %rd4;
  mov.f32 %f1, 0f00000000;
  @%p1 ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f2, %f1;\n",
            8 * at
        );
    }
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 y)
{{
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd3, %rd2, %rd4;
  mov.f32 %f2, 0f00000000;
{body}  st.global.f32 [%rd3], %f2;
  ret;
}}
"
    )
}

#[test]
fn arrays_of_pointers_lead_to_buffers() {
    let file = |name: &str, entries| {
        let path = scratch("pointers", name, table(entries).as_bytes());
        path.to_str().expect("a name in UTF-8").to_string()
    };
    let reference = file("ref.ptx", [0, 1, 2]);
    let other = file("other.ptx", [2, 0, 1]);
    let twice = file("twice.ptx", [0, 1, 1]);
    let behind = file("behind.ptx", [0, 1, 3]);
    let buffers = "--threads 4 --buffer a=in:f32[4] --buffer b=in:f32[4] --buffer c=in:f32[20] --arg 1=out:f32[4]";
    let check = |other: &str, pointers: &str| {
        run(
            &["check", &reference, other],
            &format!("{buffers} --arg 0=in:ptr[3]={pointers}"),
        )
    };
    let (code, object) = check(&other, "[$a,$b,$c+64]");
    assert_eq!(code, 0, "{object}");
    let (code, object) = check(&twice, "[$a,$b,$c+64]");
    assert_eq!(
        (code, object["verdict"].as_str()),
        (1, Some("not-equivalent")),
        "{object}"
    );
    let read = &object["counterexample"]["inputs"]["c"][0]["element"][0];
    assert!(read.as_u64() >= Some(16), "{object}");
    // Two entries that are one pointer, and null.
    assert_eq!(check(&twice, "[$a,$b,$b]").0, 0);
    assert_eq!(check(&twice, "[$a,0,0]").0, 0);
    assert_eq!(check(&twice, "[$a,0,$b]").0, 1);
    let (code, object) = check(&behind, "[$a,$b,$c]");
    assert_eq!(
        (code, &object["defects"][0]["kind"]),
        (1, &Value::from("out-of-bounds")),
        "{object}"
    );
    let (code, object) = check(&other, "[$a,$b,$c+68]");
    assert_eq!(
        (code, &object["defects"][0]["kind"]),
        (1, &Value::from("out-of-bounds")),
        "{object}"
    );
    for bad in [
        "[$a,$b]",
        "[$a,$b,$d]",
        "[$a,$b,$c+84]",
        "[$a,$b,c]",
        "[$a,$b,1]",
    ] {
        let (code, object) = check(&other, bad);
        assert_eq!(code, 2, "{bad}: {object}");
    }
    let (code, object) = run(
        &["race", &reference],
        &format!("{buffers} --arg 0=in:ptr[3]"),
    );
    assert_eq!(code, 2, "{object}");
    let manifest = "[[check]]\nreference = \"ref.ptx\"\noptimized = \"other.ptx\"\nthreads = 4\n\
         buffers = { a = \"in:f32[4]\" }\nargs = { \"0\" = \"in:ptr[3]=[$a,0,$a]\", \"1\" = \"out:f32[4]\" }\n";
    let manifest = scratch("pointers", "volta.toml", manifest.as_bytes());
    let manifest = manifest.to_str().expect("a name in UTF-8");
    let (code, object) = run(&["gate", manifest, "--no-cache"], "");
    assert_eq!(code, 0, "{object}");
}

#[test]
fn formulas_and_runs_reach_what_pointers_point_to() {
    let kernel = scratch("pointers", "sums.ptx", table([0, 1, 2]).as_bytes());
    let kernel = kernel.to_str().expect("a name in UTF-8");
    let bound = "--threads 4 --arg 0=in:ptr[3]=[$a,$b,$c] --arg 1=out:f32[4]";
    let buffers = "--buffer a=in:f32[4] --buffer b=in:f32[4] --buffer c=in:f32[4]";
    for (formula, expected) in [
        ("y[i] = a[i] + b[i] + c[i]", 0),
        ("y[i] = a[i] + 2*b[i] + c[i]", 1),
        ("y[i] = a[i] + b[i] + d[i]", 2),
    ] {
        let flags = format!("{bound} {buffers}");
        let (code, object) = run(&["check", kernel, "--formula", formula], &flags);
        assert_eq!(code, expected, "{formula}: {object}");
    }
    let known = "--buffer a=in:f32[4]=1 --buffer b=in:f32[4]=[1,2,3,4] --buffer c=in:f32[4]=0.5";
    let (code, object) = run(&["run", kernel], &format!("{bound} {known}"));
    assert_eq!(code, 0, "{object}");
    assert_eq!(
        object["outputs"][0]["values"],
        serde_json::json!([2.5, 3.5, 4.5, 5.5]),
        "{object}"
    );
    // A buffer without contents is no number.
    let (code, object) = run(&["run", kernel], &format!("{bound} {buffers}"));
    assert_eq!(code, 2, "{object}");
    let message = object["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`a` with contents"), "{object}");
}

#[test]
fn every_format_tells_of_the_instances() {
    let [right, wrong] = pair("sizes-formats");
    let text = |format: &str| {
        let more = format!("{SIZED} --for n=3,4 --format {format}");
        let args: Vec<&str> = ["check", &right, &wrong]
            .into_iter()
            .chain(more.split_whitespace())
            .collect();
        String::from_utf8(volta(&args).stdout).expect("text")
    };
    let human = text("human");
    assert!(
        human.starts_with("not-equivalent: 1 of 2 instances"),
        "{human}"
    );
    assert!(human.contains("n = 4\n"), "{human}");
    let junit = text("junit");
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
    assert!(
        junit.contains("(n = 3)") && junit.contains("(n = 4)"),
        "{junit}"
    );
    let sarif: Value = serde_json::from_str(&text("sarif")).expect("JSON");
    let results = &sarif["runs"][0]["results"];
    let texts: Vec<&str> = results
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|r| r["message"]["text"].as_str())
        .collect();
    assert!(texts.iter().any(|t| t.starts_with("n = 4: ")), "{texts:?}");
    assert!(
        !texts.iter().any(|t| t.starts_with("n = 3: k_y")),
        "{texts:?}"
    );
    let html = text("html");
    assert!(
        html.contains("n = 3: equivalent") && html.contains("n = 4: not-equivalent"),
        "{html}"
    );
}

/// `y[i] = x[i] * s.a` with the field at byte 24 read through the address of the structure, and a remainder by the one at 4.
fn of_fields(test: &str) -> [String; 2] {
    let kernel = |name: &str, body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry k(.param .align 8 .b8 s[32], .param .u64 x, .param .u64 y)\n{{\n\
             .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n\
             ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; mov.u32 %r0, %tid.x; {body}\n\
             mul.wide.u32 %d4, %r0, 4; add.s64 %d5, %d1, %d4; st.global.f32 [%d5], %f0; ret;\n}}\n"
        );
        let path = scratch(test, name, text.as_bytes());
        path.to_str().expect("a name in UTF-8").to_string()
    };
    let load = "mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d0, %d2; ld.global.f32 %f0, [%d3];";
    [
        kernel(
            "product.ptx",
            &format!(
                "mov.u32 %r1, %r0; {load} mov.b64 %d6, s; add.s64 %d6, %d6, 16; \
                 ld.param.f32 %f1, [%d6+8]; mul.f32 %f0, %f0, %f1;"
            ),
        ),
        kernel(
            "remainder.ptx",
            &format!("ld.param.u32 %r2, [s+4]; rem.u32 %r1, %r0, %r2; {load}"),
        ),
    ]
}

#[test]
fn a_value_across_a_field_is_not_taken_for_it() {
    let [product, remainder] = of_fields("across");
    let bound = "--threads 4 --arg 1=in:f32[4] --arg 2=out:f32[4]";
    // Two bytes of the field are bound, and two are free: the kernel reads what it was given.
    let (code, object) = run(&["race", &product], &format!("{bound} --arg 0+22=1.5:f32"));
    assert_ne!(object["verdict"], "defective", "{object}");
    assert!([0, 2, 3].contains(&code), "{object}");
    let (code, object) = run(&["race", &remainder], bound);
    assert_eq!(
        (code, &object["unknown"][0]["kind"]),
        (3, &"missing-binding".into())
    );
    let message = object["unknown"][0]["message"].as_str().unwrap_or("");
    assert!(message.contains("--arg 0+4="), "{message}");
    let (code, _) = run(&["race", &remainder], &format!("{bound} --arg 0+4=4"));
    assert_eq!(code, 0);
}
