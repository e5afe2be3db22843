//! The executable from outside: errors, formats, files, and that nothing makes it panic.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[path = "cli/bindings.rs"]
mod bindings;
#[path = "cli/contents.rs"]
mod contents;
#[path = "cli/formulas.rs"]
mod formulas;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn volta(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_volta"))
        .args(args)
        .current_dir(root())
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("volta starts")
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// A file of this test in a directory of its own.
fn scratch(test: &str, name: &str, text: &[u8]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&dir).expect("a directory for the test");
    let path = dir.join(name);
    std::fs::write(&path, text).expect("a file for the test");
    path
}

const NAIVE: &str = "kernels/softmax/naive_4.ptx";
const ONLINE: &str = "kernels/softmax/online_4.ptx";

#[test]
fn usage_errors_are_json_where_asked() {
    for args in [
        &["check", NAIVE, "--format", "json"][..],
        &["check", NAIVE, ONLINE, "--threads", "x", "--json"],
        &["race", NAIVE, "--format=json", "--nonsense"],
        &[
            "race",
            "no/such/file.ptx",
            "--threads",
            "4",
            "--format",
            "json",
        ],
        &["race", NAIVE, "--format", "json"],
        &["gate", "no/such/volta.toml", "--format", "json"],
    ] {
        let output = volta(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let object = json(&output);
        assert_eq!(object["schema"], "volta/1", "{args:?}");
        assert_eq!(object["command"], args[0], "{args:?}");
        assert!(object["error"]["message"].is_string(), "{args:?}");
        assert!(object["error"]["sites"].is_array(), "{args:?}");
        assert!(object["verdict"].is_null(), "{args:?}");
    }
}

#[test]
fn errors_in_a_file_have_a_place() {
    let path = scratch(
        "place",
        "bad.ptx",
        b".version 9.0\n.target sm_80\n.entry ?\n",
    );
    let path = path.to_str().expect("a name in UTF-8");
    let object = json(&volta(&["race", path, "--threads", "4", "--json"]));
    let site = &object["error"]["sites"][0];
    assert_eq!(site["line"], 3, "{object}");
    assert_eq!(site["text"], ".entry ?", "{object}");
}

#[test]
fn check_has_the_documented_shape() {
    let output = volta(&["check", NAIVE, ONLINE, "--threads", "4", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let object = json(&output);
    let keys: Vec<&String> = object.as_object().expect("an object").keys().collect();
    let expected = [
        "schema",
        "command",
        "verdict",
        "scope",
        "reference",
        "optimized",
        "inputs",
        "defects",
        "warnings",
        "unknown",
        "counterexample",
        "outputs",
        "probabilistic",
        "assumptions",
        "precision",
        "stats",
    ];
    assert_eq!(keys, expected);
    assert_eq!(object["verdict"], "equivalent");
    assert_eq!(object["scope"]["whole_grid"], true);
    assert_eq!(object["scope"]["reference_ctas"][0][0], 0);
    assert_eq!(object["outputs"][0]["elements"], 4);
    assert_eq!(object["outputs"][0]["proved"], 4);
}

#[test]
fn a_counterexample_has_its_parts() {
    let mutant = "kernels/softmax/online_4_no_rescale.ptx";
    let output = volta(&["check", NAIVE, mutant, "--threads", "4", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let object = json(&output);
    assert_eq!(object["verdict"], "not-equivalent");
    let example = &object["counterexample"];
    assert!(example["output"].is_string(), "{object}");
    assert!(example["element"].is_array(), "{object}");
    assert!(example["reference"]["text"].is_string(), "{object}");
    assert!(example["optimized"]["text"].is_string(), "{object}");
    assert!(example["inputs"].is_object(), "{object}");
}

#[test]
fn a_race_names_both_places() {
    let kernel = "kernels/softmax/naive_32_no_barrier.ptx";
    let output = volta(&["race", kernel, "--threads", "32", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let object = json(&output);
    let defect = &object["defects"][0];
    assert_eq!(defect["kind"], "data-race");
    let sites = defect["sites"].as_array().expect("sites");
    assert_eq!(sites.len(), 2, "{defect}");
    for site in sites {
        assert_eq!(site["file"], kernel);
        assert!(site["line"].as_u64() > Some(0));
        assert!(!site["text"].as_str().unwrap_or("").is_empty());
        assert!(site["threads"][0].is_array());
    }
}

#[test]
fn the_report_does_not_depend_on_the_number_of_threads() {
    for pair in [
        [
            "kernels/softmax/naive_32.ptx",
            "kernels/softmax/online_32.ptx",
        ],
        [
            "kernels/softmax/naive_32.ptx",
            "kernels/softmax/online_32_no_rescale.ptx",
        ],
        [
            "kernels/softmax/naive_32.ptx",
            "kernels/softmax/naive_32_no_barrier.ptx",
        ],
    ] {
        let run = |jobs: &str| {
            let args = [
                "check",
                pair[0],
                pair[1],
                "--threads",
                "32",
                "--json",
                "--jobs",
                jobs,
            ];
            let mut object = json(&volta(&args));
            object["stats"]["seconds"] = Value::Null;
            object.to_string()
        };
        assert_eq!(run("1"), run("4"), "{pair:?}");
    }
}

#[test]
fn a_report_goes_to_a_file_without_colour() {
    let path = scratch("output", "report.txt", b"");
    let name = path.to_str().expect("a name in UTF-8");
    let output = volta(&["check", NAIVE, ONLINE, "--threads", "4", "--output", name]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    let text = std::fs::read_to_string(&path).expect("the report");
    assert!(text.starts_with("equivalent: "), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_spec_file_is_a_layer_below_the_flags() {
    let text = b"threads = 4\n[args]\n0 = \"in:f32[4]\"\n1 = \"out:f32[3]\"\n";
    let spec = scratch("spec", "spec.toml", text);
    let spec = spec.to_str().expect("a name in UTF-8");
    let output = volta(&["race", NAIVE, "--spec", spec, "--json"]);
    assert_eq!(json(&output)["defects"][0]["kind"], "out-of-bounds");
    let output = volta(&["race", NAIVE, "--spec", spec, "--arg", "1=out:f32[4]"]);
    assert_eq!(output.status.code(), Some(0));
    let bad = scratch("spec", "bad.toml", b"threads = 4\nblok = 3\n");
    let bad = bad.to_str().expect("a name in UTF-8");
    let object = json(&volta(&["race", NAIVE, "--spec", bad, "--json"]));
    assert_eq!(object["error"]["sites"][0]["line"], 2, "{object}");
}

#[test]
fn gate_reports_every_entry() {
    let manifest = root().join("kernels/softmax");
    let entry = |name: &str, optimized: &str, expect: &str| {
        let dir = manifest.display();
        format!(
            "[[check]]\nname = \"{name}\"\nreference = '{dir}/naive_4.ptx'\n\
             optimized = '{dir}/{optimized}'\nexpect = \"{expect}\"\n"
        )
    };
    let head = "[defaults]\nthreads = 4\n";
    let right = entry("right", "online_4.ptx", "equivalent");
    let wrong = entry("wrong", "online_4_no_rescale.ptx", "equivalent");
    let text = format!("{head}{right}{wrong}");
    let path = scratch("gate", "volta.toml", text.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let output = volta(&["gate", path, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let object = json(&output);
    assert_eq!(
        (&object["passed"], &object["failed"]),
        (&1.into(), &1.into())
    );
    assert_eq!(object["entries"][0]["ok"], true);
    assert_eq!(object["entries"][1]["result"]["verdict"], "not-equivalent");
    let output = volta(&["gate", path, "--filter", "right", "--stats", "--fail-fast"]);
    assert_eq!(output.status.code(), Some(0));
    let output = volta(&["gate", path, "--filter", "neither"]);
    assert_eq!(output.status.code(), Some(2));
    let missing = format!("{head}{}", entry("gone", "no_such_file.ptx", "equivalent"));
    let path = scratch("gate", "missing.toml", missing.as_bytes());
    let output = volta(&["gate", path.to_str().expect("a name in UTF-8")]);
    assert_eq!(output.status.code(), Some(2));
    for bad in [
        "[[check]]\nreference = 'a'\noptimized = 'b'\nexpect = \"clean\"\n",
        "[[race]]\nkernel = 'a'\ndefects = [\"data-rase\"]\n",
        "[[race]]\nkernel = 'a'\nreference = 'b'\n",
        "[defaults]\nexpect = \"clean\"\n",
        "[[race]]\nkernel = { file = 'a', thread = 3 }\n",
        "no toml",
    ] {
        let path = scratch("gate", "bad.toml", bad.as_bytes());
        let output = volta(&["gate", path.to_str().expect("a name in UTF-8")]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn a_manifest_from_init_can_be_run() {
    let kernel = root().join("tests/golden/race/pass/barrier.ptx");
    let output = volta(&["init", kernel.to_str().expect("a name in UTF-8")]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).replace("threads = 128", "threads = 32");
    let path = scratch("init", "volta.toml", text.as_bytes());
    let output = volta(&["gate", path.to_str().expect("a name in UTF-8")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}\n{said}");
}

#[test]
fn stages_can_be_printed() {
    for args in [
        &["dump", "--stage", "ast", NAIVE, ONLINE][..],
        &["dump", "--stage", "kernel", NAIVE],
        &["dump", "--stage", "terms", NAIVE, "--threads", "4"],
        &["dump", "--stage", "canon", NAIVE, "--threads", "4"],
    ] {
        let output = volta(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
    let twice = volta(&["dump", "--stage", "ast", NAIVE]).stdout;
    let path = scratch("dump", "printed.ptx", &twice);
    let again = volta(&[
        "dump",
        "--stage",
        "ast",
        path.to_str().expect("a name in UTF-8"),
    ]);
    assert_eq!(again.stdout, twice);
}

#[test]
fn a_limit_is_unknown() {
    let args = [
        "check",
        NAIVE,
        ONLINE,
        "--threads",
        "4",
        "--timeout",
        "0",
        "--json",
    ];
    let output = volta(&args);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json(&output)["unknown"][0]["kind"], "limit");
}

/// Whatever is cut from or put into a kernel, the answer is one of the contract.
#[test]
fn damaged_files_do_not_panic() {
    let text = std::fs::read(root().join(NAIVE)).expect("a kernel");
    let check = |name: &str, bytes: &[u8]| {
        let path = scratch("damaged", name, bytes);
        let path = path.to_str().expect("a name in UTF-8");
        let output = volta(&["race", path, "--threads", "4"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        assert!(matches!(code, Some(0..=3)), "{name}: {code:?} {said}");
        assert!(!said.contains("internal error"), "{name}: {said}");
    };
    for i in 0..24 {
        let at = text.len() * i / 24;
        check("cut.ptx", &text[..at]);
        for byte in [b';', b'{', 0, 0xff, b'9'] {
            let mut changed = text.clone();
            changed[at] = byte;
            check("changed.ptx", &changed);
        }
    }
    check("deep.ptx", "{".repeat(100_000).as_bytes());
    check("empty.ptx", b"");
}
