//! The executable from outside: errors, formats, files, and that nothing makes it panic.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

mod any;
mod bindings;
mod budget;
mod cases;
mod certificates;
mod ci;
mod contents;
mod coverage;
mod cuda;
mod docs;
mod every_launch;
mod foreign;
mod formats;
mod formulas;
mod ledger;
mod limits;
mod same_bits;
mod sequences;
mod serve;
mod slack;
mod spare_lanes;
mod steps;
mod terminal;
mod untrusted;
mod variables;

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

/// An empty directory of this test.
fn folder(test: &str, name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a directory for the test");
    dir
}

/// Four threads, an input and an output of an element for each.
const FOUR: [&str; 6] = [
    "--threads",
    "4",
    "--arg",
    "0=in:f32[4]",
    "--arg",
    "1=out:f32[4]",
];

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
        assert_eq!(object["schema"], "volta/2", "{args:?}");
        assert_eq!(object["command"], args[0], "{args:?}");
        assert!(object["error"]["message"].is_string(), "{args:?}");
        assert!(object["error"]["sites"].is_array(), "{args:?}");
        assert!(object["error"]["kind"].is_string(), "{args:?}");
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
        "volta",
        "command",
        "verdict",
        "values",
        "scope",
        "reference",
        "optimized",
        "inputs",
        "defects",
        "warnings",
        "denied",
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
    let by = object["outputs"][0]["by"].as_object().expect("tactics");
    assert_eq!(by.values().filter_map(Value::as_u64).sum::<u64>(), 4);
    assert_eq!(object["values"], "equal");
    assert_eq!(object["volta"], env!("CARGO_PKG_VERSION"));
    let digest = object["inputs"]["files"][NAIVE].as_str().expect("a digest");
    assert_eq!(digest.len(), 64);
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

#[test]
fn errors_have_kinds() {
    let text = std::fs::read_to_string(root().join(NAIVE)).expect("a kernel");
    let one = scratch("kinds", "one.ptx", text.as_bytes());
    let one = one.to_str().expect("a name in UTF-8");
    let bad = scratch(
        "kinds",
        "bad.ptx",
        b".version 9.0\n.target sm_80\n.entry ?\n",
    );
    let bad = bad.to_str().expect("a name in UTF-8");
    let manifest = scratch("kinds", "bad.toml", b"[[check]]\nthread = 4\n");
    let manifest = manifest.to_str().expect("a name in UTF-8");
    for (args, kind, which) in [
        (&["race", one][..], "launch", None),
        (&["race", one, "--threads", "x"], "usage", None),
        (
            &["check", one, "no.ptx", "--threads", "4"],
            "file",
            Some("optimized"),
        ),
        (
            &["check", bad, one, "--threads", "4"],
            "syntax",
            Some("reference"),
        ),
        (
            &["race", one, "--threads", "4", "--entry", "none"],
            "entry",
            Some("kernel"),
        ),
        (
            &["race", one, "--threads", "4", "--arg", "0=3"],
            "binding",
            None,
        ),
        (&["race", one, "--threads", "4096"], "launch", None),
        (&["gate", manifest], "manifest", None),
    ] {
        let object = json(&volta(&[args, &["--json"]].concat()));
        assert_eq!(object["error"]["kind"], kind, "{object}");
        if let Some(which) = which {
            assert_eq!(object["error"]["which"], which, "{object}");
        }
    }
}

const SAME_VALUE: &str = ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
    .reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\n\
    st.global.u32 [%rd1], %r1;\nret;\n}\n";

#[test]
fn warnings_can_be_denied() {
    let path = scratch("deny", "k.ptx", SAME_VALUE.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let race =
        |more: &[&str]| volta(&[&["race", path, "--threads", "64", "--json"], more].concat());
    assert_eq!(race(&[]).status.code(), Some(0));
    for kinds in ["same-value-write", "warnings", "narrower,same-value-write"] {
        let output = race(&["--deny", kinds]);
        assert_eq!(output.status.code(), Some(1), "{kinds}");
        let object = json(&output);
        assert_eq!(object["verdict"], "clean");
        assert_eq!(object["denied"], serde_json::json!(["same-value-write"]));
    }
    let output = race(&["--deny", "narrower"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json(&output)["denied"], serde_json::json!([]));
    let output = race(&["--deny", "same-value"]);
    assert_eq!(output.status.code(), Some(2));
    let object = json(&output);
    assert_eq!(object["error"]["kind"], "usage");
    let message = object["error"]["message"].as_str().expect("text");
    assert!(message.contains("same-value-write"), "{message}");
    // Denied comes before unknown, and after defects.
    let output = race(&["--deny", "warnings", "--strict"]);
    assert_eq!(json(&output)["verdict"], "defective");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn entries_deny_and_expect_what_is_denied() {
    let path = scratch("denied", "k.ptx", SAME_VALUE.as_bytes());
    let entry = |name: &str, more: &str| {
        let path = path.display();
        format!("[[race]]\nname = '{name}'\nkernel = '{path}'\nthreads = 64\n{more}")
    };
    let text = [
        "[defaults]\ndeny = ['same-value-write']\n",
        &entry("red", ""),
        &entry("expected", "denied = ['same-value-write']\n"),
        &entry("missing", "denied = ['same-value-write', 'narrower']\n"),
        &entry("wrong", "deny = ['narower']\n"),
    ]
    .concat();
    let manifest = scratch("denied", "volta.toml", text.as_bytes());
    let output = volta(&[
        "gate",
        manifest.to_str().expect("a name in UTF-8"),
        "--json",
    ]);
    // The wrong entry is an input error; the others are run all the same.
    assert_eq!(output.status.code(), Some(2));
    let object = json(&output);
    let ok: Vec<&Value> = object["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|e| &e["ok"])
        .collect();
    assert_eq!(ok, [false, true, false, false]);
    let error = &object["entries"][3]["result"]["error"];
    assert_eq!(error["kind"], "manifest");
    assert!(
        error["message"]
            .as_str()
            .expect("text")
            .contains("narrower"),
        "{error}"
    );
}

#[test]
fn values_are_said_beside_a_defect() {
    let path = scratch("values", "k.ptx", SAME_VALUE.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let other = scratch(
        "values",
        "o.ptx",
        SAME_VALUE.replace("%r1, 7", "%r1, 8").as_bytes(),
    );
    let other = other.to_str().expect("a name in UTF-8");
    let check = |optimized: &str| {
        let args = [
            "check",
            path,
            optimized,
            "--threads",
            "64",
            "--strict",
            "--json",
        ];
        let object = json(&volta(&args));
        assert_eq!(object["verdict"], "defective");
        object["values"].clone()
    };
    assert_eq!(check(path), "equal");
    assert_eq!(check(other), "different");
}

#[test]
fn one_run_writes_several_formats() {
    let sarif = scratch("also", "volta.sarif", b"");
    let page = scratch("also", "volta.html", b"");
    let (s, p) = (
        format!("sarif={}", sarif.display()),
        format!("html={}", page.display()),
    );
    let output = volta(&[
        "check",
        NAIVE,
        ONLINE,
        "--threads",
        "4",
        "--json",
        "--also",
        &s,
        "--also",
        &p,
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json(&output)["verdict"], "equivalent");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a report");
    assert!(read(&sarif).contains("2.1.0"));
    assert!(read(&page).starts_with("<!DOCTYPE html>"));
    // An input error is written in each format as well.
    let output = volta(&["gate", "no/such.toml", "--also", &s, "--nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(read(&sarif).contains("nonsense"));
    let output = volta(&["gate", "no/such.toml", "--also", &p]);
    assert_eq!(output.status.code(), Some(2));
    assert!(read(&page).contains("no/such.toml"));
    let output = volta(&["race", NAIVE, "--also", "pdf=x.pdf"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn shards_are_parts_of_a_manifest() {
    let manifest = "kernels/races/volta.toml";
    let names = |shard: &str| {
        let args = [
            "gate",
            manifest,
            "--filter",
            "reduction",
            "--json",
            "--shard",
            shard,
        ];
        let output = volta(&args);
        assert_eq!(output.status.code(), Some(0), "{shard}");
        let object = json(&output);
        let entries = object["entries"].as_array().expect("entries").iter();
        entries
            .map(|e| e["name"].to_string())
            .collect::<Vec<String>>()
    };
    let all = names("1/1");
    let mut parts: Vec<String> = ["1/3", "2/3", "3/3"].into_iter().flat_map(names).collect();
    parts.sort();
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(parts, sorted);
    for bad in ["0/3", "4/3", "1", "a/b", "1/0"] {
        let output = volta(&["gate", manifest, "--shard", bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn every_kind_can_be_explained() {
    let list = volta(&["explain"]);
    assert_eq!(list.status.code(), Some(0));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let words = list
        .lines()
        .filter_map(|l| l.strip_prefix("  ")?.split_whitespace().next());
    for word in words.step_by(7) {
        let output = volta(&["explain", word]);
        assert_eq!(output.status.code(), Some(0), "{word}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("Example:"),
            "{word}"
        );
    }
    let output = volta(&["explain", "data-rase"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("data-race"));
}
