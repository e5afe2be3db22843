//! Module variables: bindings whose key names one, counters that begin at 0, and contents that the host fills.

use super::{json, scratch, volta};

const WEIGHTED: &str = "kernels/atomics/weighted.ptx";
const LAUNCH: [&str; 4] = ["--threads", "32", "--grid", "4"];
const BOUND: [&str; 6] = [
    "--arg",
    "0=in:f32[4]",
    "--arg",
    "1=scratch:f32[4]",
    "--arg",
    "2=out:f32[1]",
];

fn asked(command: &str, files: &[&str], more: &[&str]) -> (Option<i32>, serde_json::Value) {
    let all = [&[command], files, &LAUNCH, &BOUND, more, &["--json"]].concat();
    let output = volta(&all);
    (output.status.code(), json(&output))
}

/// The assumptions of a kind, as text.
fn assumed(object: &serde_json::Value, kind: &str) -> String {
    let all = object["assumptions"].as_array().expect("assumptions");
    let of_kind = all.iter().filter(|a| a["kind"] == kind);
    of_kind.map(|a| a["message"].to_string()).collect()
}

#[test]
fn a_counter_without_an_initial_value_begins_at_0() {
    let (status, object) = asked("race", &[WEIGHTED], &[]);
    assert_eq!(status, Some(0), "{object}");
    let said = assumed(&object, "initial-value");
    for part in [
        "counters begin at 0: `count`",
        "any contents: `w`",
        "when a kernel starts: `scale`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // What data are stored in may hold anything before.
    let (status, object) = asked("race", &["kernels/atomics/weighted_from_data.ptx"], &[]);
    assert_eq!(status, Some(3), "{object}");
    assert!(assumed(&object, "initial-value").contains("any contents: `count`, `w`"));
}

#[test]
fn a_variable_is_bound_like_a_parameter() {
    for (file, count, expected) in [
        (WEIGHTED, "count=inout:u32[1]=0", 0),
        (WEIGHTED, "count=inout:u32[1]", 0),
        // Two CTAs end last where the count begins in the middle.
        (WEIGHTED, "count=inout:u32[1]=1", 1),
        (
            "kernels/atomics/weighted_from_data.ptx",
            "count=inout:u32[1]=0",
            0,
        ),
        (
            "kernels/atomics/weighted_no_fence.ptx",
            "count=inout:u32[1]=0",
            1,
        ),
    ] {
        let (status, object) = asked("race", &[file], &["--arg", count]);
        assert_eq!(status, Some(expected), "{file} {count}: {object}");
    }
    let known = [
        "--arg",
        "w=in:f32[4]=[1,2,3,4]",
        "--arg",
        "scale=inout:f32[1]=0.5",
    ];
    let names = ["--name", "0=x", "--name", "2=y"];
    for (formula, expected) in [
        ("y[] = 0.5 * (x[0] + 2*x[1] + 3*x[2] + 4*x[3])", 0),
        ("y[] = 2 * (x[0] + 2*x[1] + 3*x[2] + 4*x[3])", 1),
    ] {
        let more = [&["--formula", formula], &known[..], &names].concat();
        let (status, object) = asked("check", &[WEIGHTED], &more);
        assert_eq!(status, Some(expected), "{formula}: {object}");
    }
}

#[test]
fn contents_of_variables_stand_in_a_counterexample() {
    let text = std::fs::read_to_string(super::root().join(WEIGHTED)).expect("a kernel");
    // Each side has the initial value of its own module.
    let other = text.replace("0f40000000", "0f40400000");
    assert_ne!(other, text);
    let other = scratch("variables", "other.ptx", other.as_bytes());
    let other = other.display().to_string();
    let (status, object) = asked("check", &[WEIGHTED, &other], &[]);
    assert_eq!(status, Some(1), "{object}");
    let inputs = object["counterexample"]["inputs"].to_string();
    assert!(inputs.contains("\"w\""), "{inputs}");
}

#[test]
fn a_variable_may_be_named_as_in_its_source() {
    let text = std::fs::read_to_string(super::root().join(WEIGHTED)).expect("a kernel");
    let text = text
        .replace("scale", "_ZN5parts5scaleE")
        .replace("w[16]", "_ZL1w[16]");
    let text = text.replace(", w;", ", _ZL1w;").replace("[w", "[_ZL1w");
    let file = scratch("variables", "mangled.ptx", text.as_bytes());
    let file = file.display().to_string();
    let names = [
        "--arg",
        "parts::scale=inout:f32[1]=0",
        "--arg",
        "w=in:f32[4]=0",
    ];
    let more = [&["--formula", "y[] = 0", "--name", "2=y"], &names[..]].concat();
    let (status, object) = asked("check", &[&file], &more);
    assert_eq!(status, Some(0), "{object}");
}

#[test]
fn a_side_that_is_not_bound_keeps_its_initial_value() {
    for (flags, expected) in [
        (&["--arg", "scale=inout:f32[1]=1"][..], 0),
        (&["--ref-arg", "scale=inout:f32[1]=1"], 1),
        (&["--opt-arg", "scale=inout:f32[1]=1"], 1),
        (&["--opt-arg", "scale=inout:f32[1]=2"], 0),
        (&["--opt-arg", "scale=inout:f32[1]"], 1),
    ] {
        let (status, object) = asked("check", &[WEIGHTED, WEIGHTED], flags);
        assert_eq!(status, Some(expected), "{flags:?}: {object}");
    }
}

#[test]
fn what_a_variable_cannot_be_bound_to_is_an_input_error() {
    for (arg, said) in [
        ("count=0", "bound as an array, e.g. count=inout:u32[1]=0"),
        ("count=inout:u32[2]=0", "has 8 bytes"),
        ("count+0=inout:u32[1]=0", "as a whole"),
        ("w=out:f32[4]", "constant memory"),
        ("w=in:f32[4]/box[4]", "no tensor map"),
        (
            "weights=in:f32[4]",
            "its variables are count (.global of 4 bytes)",
        ),
    ] {
        let (status, object) = asked("race", &[WEIGHTED], &["--arg", arg]);
        assert_eq!(status, Some(2), "{arg}: {object}");
        let message = object["error"]["message"].to_string();
        assert!(message.contains(said), "{arg}: {message}");
    }
}

#[test]
fn a_run_needs_the_contents_of_variables_and_shows_those_that_are_bound_as_outputs() {
    let known = ["--arg", "w=in:f32[4]=iota", "--arg", "count=inout:u32[1]=0"];
    let layers = [
        "--threads",
        "32",
        "--grid",
        "4",
        "--arg",
        "0=in:f32[4]=iota",
    ];
    let rest = [
        "--arg",
        "1=scratch:f32[4]",
        "--arg",
        "2=out:f32[1]",
        "--json",
    ];
    let output = volta(&[&["run", WEIGHTED], &layers[..], &rest].concat());
    let object = json(&output);
    assert!(
        object["error"]["message"]
            .to_string()
            .contains("`w` with --arg w=in:"),
        "{object}"
    );
    let output = volta(&[&["run", WEIGHTED], &layers[..], &rest, &known].concat());
    let object = json(&output);
    // 2 * (0*0 + 1*1 + 2*2 + 3*3)
    assert_eq!(object["verdict"], "ran", "{object}");
    assert_eq!(object["outputs"][0]["values"], serde_json::json!([28.0]));
    assert_eq!(object["outputs"][1]["name"], "count");
    assert_eq!(object["outputs"][1]["values"], serde_json::json!([0]));
}

#[test]
fn a_run_of_threads_that_wait_for_each_other_is_a_deadlock_or_ends() {
    let kernel = |name: &str, first: &str| {
        format!(
            ".visible .entry {name}(.param .u64 y) {{\n.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>;\n\
             ld.param.u64 %rd0, [y]; mov.u32 %r0, %ctaid.x;\n{first}\
             setp.ne.u32 %p0, %r0, 0;\n@%p0 bra E;\n\
             L: ld.acquire.gpu.global.u32 %r1, [%rd0];\nsetp.ne.u32 %p1, %r1, 2;\n@%p1 bra L;\nE: ret;\n}}\n"
        )
    };
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let ends = kernel("ends", "red.release.gpu.global.add.u32 [%rd0], 1;\n");
    let text = format!("{head}{ends}{}", kernel("waits", ""));
    let file = scratch("variables", "wait.ptx", text.as_bytes());
    let file = file.display().to_string();
    for (entry, grid, verdict) in [
        ("ends", "2", "ran"),
        ("waits", "2", "defective"),
        ("waits", "1", "defective"),
    ] {
        let args = [
            "--threads",
            "1",
            "--grid",
            grid,
            "--arg",
            "y=inout:u32[1]=0",
            "--json",
        ];
        let output = volta(&[&["run", &file, "--entry", entry], &args[..]].concat());
        let object = json(&output);
        assert_eq!(object["verdict"], verdict, "{entry}: {object}");
        let ctas = object["scope"]["ctas"].as_array().map(Vec::len);
        assert_eq!(ctas, grid.parse().ok(), "{object}");
        if verdict == "defective" {
            assert_eq!(object["defects"][0]["kind"], "deadlock", "{object}");
        }
    }
}
