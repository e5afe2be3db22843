//! The output formats from outside: JSON by its schema, the others by their shape; the cache of
//! `gate`; limits and interrupts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn volta() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_volta"));
    c.current_dir(root());
    c.env("XDG_CACHE_HOME", folder("cache"));
    c.env("XDG_CONFIG_HOME", folder("config"));
    c.env("COLUMNS", "1000");
    c
}

fn run(args: &[&str]) -> Output {
    volta().args(args).output().expect("volta starts")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("formats")
        .join(name);
    std::fs::create_dir_all(&dir).expect("a directory for the test");
    dir
}

/// The part of JSON Schema that the schema uses: the first place that does not fit.
fn validate(schema: &Value, s: &Value, v: &Value, at: &str) -> Result<(), String> {
    if let Some(to) = s["$ref"].as_str() {
        let target = schema
            .pointer(to.trim_start_matches('#'))
            .expect("a definition");
        return validate(schema, target, v, at);
    }
    let known = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "description",
        "format",
        "default",
        "maximum",
        "minimum",
        "minItems",
        "maxItems",
        "$schema",
        "$id",
        "title",
        "$defs",
    ];
    for key in s.as_object().into_iter().flatten().map(|(k, _)| k) {
        assert!(
            known.contains(&key.as_str()),
            "the test does not know `{key}`"
        );
    }
    for key in ["anyOf", "oneOf"] {
        let Some(options) = s[key].as_array() else {
            continue;
        };
        let tried: Vec<_> = options.iter().map(|o| validate(schema, o, v, at)).collect();
        if tried.iter().all(Result::is_err) {
            return Err(format!("{at}: fits none of {tried:?}"));
        }
    }
    let is = |t: &Value| match t.as_str() {
        Some("object") => v.is_object(),
        Some("array") => v.is_array(),
        Some("string") => v.is_string(),
        Some("boolean") => v.is_boolean(),
        Some("null") => v.is_null(),
        Some("integer") => v.is_u64() || v.is_i64(),
        Some("number") => v.is_number(),
        other => panic!("type {other:?}"),
    };
    let fits = match &s["type"] {
        Value::Null => true,
        Value::Array(list) => list.iter().any(is),
        one => is(one),
    };
    if !fits {
        return Err(format!("{at}: {v} is not of type {}", s["type"]));
    }
    if let Some(list) = s["enum"].as_array()
        && !list.contains(v)
    {
        return Err(format!("{at}: {v} is not one of {list:?}"));
    }
    if let Some(c) = s.get("const")
        && c != v
    {
        return Err(format!("{at}: {v} is not {c}"));
    }
    if let (Some(m), Some(n)) = (s["minimum"].as_f64(), v.as_f64())
        && n < m
    {
        return Err(format!("{at}: {n} < {m}"));
    }
    if let Some(object) = v.as_object() {
        for key in s["required"].as_array().into_iter().flatten() {
            if !object.contains_key(key.as_str().expect("a key")) {
                return Err(format!("{at}: {key} is missing"));
            }
        }
        for (key, value) in object {
            let at = format!("{at}.{key}");
            match (&s["properties"][key], &s["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => return Err(format!("{at}: is not known")),
                (Value::Null, Value::Null | Value::Bool(true)) => {}
                (Value::Null, other) => validate(schema, other, value, &at)?,
                (known, _) => validate(schema, known, value, &at)?,
            }
        }
    }
    if let Some(list) = v.as_array() {
        let n = list.len() as u64;
        if s["minItems"].as_u64().is_some_and(|m| n < m)
            || s["maxItems"].as_u64().is_some_and(|m| n > m)
        {
            return Err(format!("{at}: has {n} items"));
        }
        if !s["items"].is_null() {
            for (i, item) in list.iter().enumerate() {
                validate(schema, &s["items"], item, &format!("{at}[{i}]"))?;
            }
        }
    }
    Ok(())
}

const CALLS: &[&[&str]] = &[
    &[
        "check",
        "kernels/softmax/naive_4.ptx",
        "kernels/softmax/online_4.ptx",
        "--threads",
        "4",
    ],
    &[
        "check",
        "kernels/softmax/naive_4.ptx",
        "no/such.ptx",
        "--threads",
        "4",
    ],
    &[
        "check",
        "tests/golden/grid/fail/split.ptx",
        "tests/golden/grid/fail/split.ptx",
        "--ref-entry",
        "sum_of_4",
        "--opt-entry",
        "split_sum",
        "--threads",
        "32",
        "--opt-grid",
        "3",
        "--all-ctas",
    ],
    &[
        "race",
        "tests/golden/grid/fail/between_ctas.ptx",
        "--entry",
        "neighbour",
        "--threads",
        "32",
        "--grid",
        "4",
        "--all-ctas",
    ],
    &[
        "race",
        "tests/golden/grid/unknown/between_ctas.ptx",
        "--entry",
        "ticket",
        "--threads",
        "32",
        "--grid",
        "4",
        "--all-ctas",
    ],
    &[
        "race",
        "tests/golden/grid/pass/between_ctas.ptx",
        "--entry",
        "same",
        "--threads",
        "32",
        "--grid",
        "4",
        "--all-ctas",
    ],
    &["gate", "kernels/races/volta.toml", "--filter", "reduction"],
    &["gate", "no/such.toml"],
    &["steps", "kernels/guide/steps.toml"],
];

#[test]
fn json_fits_its_schema() {
    let output = run(&["schema"]);
    let schema: Value = serde_json::from_str(&text(&output)).expect("the schema is JSON");
    for args in CALLS {
        let output = run(&[args, &["--format", "json"][..]].concat());
        let object: Value = serde_json::from_str(&text(&output)).expect("JSON");
        if let Err(why) = validate(&schema, &schema, &object, "$") {
            panic!("{args:?}: {why}");
        }
    }
}

#[test]
fn other_formats_are_complete() {
    for args in CALLS
        .iter()
        .filter(|a| !a.iter().any(|p| p.contains("no/such")))
    {
        let with = |format: &str| run(&[args, &["--format", format][..]].concat());
        let json = with("json");
        let sarif = with("sarif");
        let log: Value = serde_json::from_str(&text(&sarif)).expect("SARIF is JSON");
        assert_eq!(log["version"], "2.1.0");
        assert!(log["runs"][0]["results"].is_array());
        let junit = text(&with("junit"));
        assert!(junit.starts_with("<?xml") && junit.trim_end().ends_with("</testsuites>"));
        assert_eq!(junit.matches("<testcase").count() as u64, cases(&json));
        let github = with("github");
        assert!(!text(&github).is_empty());
        let html = with("html");
        let page = text(&html);
        assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
        for outside in ["<script", "src=", "http:", "https:", "@import", "url("] {
            assert!(!page.contains(outside), "{args:?}: {outside}");
        }
        for o in [&sarif, &html, &github] {
            assert_eq!(o.status.code(), json.status.code(), "{args:?}");
        }
    }
}

fn cases(json: &Output) -> u64 {
    let object: Value = serde_json::from_str(&text(json)).expect("JSON");
    match (&object["entries"], &object["steps"]) {
        (Value::Array(entries), _) => entries.len() as u64,
        // The first step is compared once.
        (_, Value::Array(steps)) => 2 * steps.len() as u64 - 1,
        _ => 1,
    }
}

#[test]
fn the_cache_gives_the_same_answers() {
    let dir = folder("answers");
    let _ = std::fs::remove_dir_all(&dir);
    let dir = dir.display().to_string();
    let gate = |more: &[&str]| {
        let args = [
            "gate",
            "kernels/races/volta.toml",
            "--filter",
            "reduction",
            "--json",
            "--cache-dir",
            &dir,
        ];
        let output = run(&[&args, more].concat());
        assert_eq!(output.status.code(), Some(0));
        let object: Value = serde_json::from_str(&text(&output)).expect("JSON");
        let entries = object["entries"].as_array().expect("entries").clone();
        let cached = entries.iter().filter(|e| e["cached"] == true).count();
        let results: Vec<Value> = entries.iter().map(|e| e["result"].clone()).collect();
        (results, cached)
    };
    let (first, none) = gate(&[]);
    assert_eq!(none, 0);
    let (second, all) = gate(&[]);
    assert_eq!(all, first.len());
    assert_eq!(first, second);
    assert_eq!(gate(&["--no-cache"]).1, 0);
    // Damaged entries are none.
    for sub in std::fs::read_dir(&dir).expect("a cache") {
        for file in std::fs::read_dir(sub.expect("an entry").path()).expect("a folder") {
            let path = file.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("text");
            std::fs::write(&path, text.replace("verdict", "vendict")).expect("written");
        }
    }
    let (third, cached) = gate(&[]);
    assert_eq!(cached, 0);
    assert_eq!(third.len(), first.len());
}

const LOOP: &str = ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nL: bar.sync 0;\nbra L;\n}\n";

#[test]
fn limits_and_interrupts_end_in_unknown() {
    let path = folder("loop").join("loop.ptx");
    std::fs::write(&path, LOOP).expect("a file for the test");
    let path = path.display().to_string();
    let args = ["race", &path, "--threads", "64", "--json"];
    let limited = |output: Output| {
        let object: Value = serde_json::from_str(&text(&output)).expect("JSON");
        assert_eq!(object["verdict"], "unknown");
        assert_eq!(object["unknown"][0]["kind"], "limit");
        assert_eq!(output.status.code(), Some(3));
    };
    limited(run(&[&args[..], &["--timeout", "0.3"]].concat()));
    let child = volta()
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("volta starts");
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
    limited(child.wait_with_output().expect("volta ends"));
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_name_may_start_with_a_hyphen() {
    let dir = folder("hyphen");
    std::fs::write(dir.join("k.ptx"), LOOP.replace("bra L;", "ret;")).expect("a file");
    let manifest = dir.join("volta.toml");
    let entry = "[[race]]\nname = \"tile-16-alone\"\nkernel = \"k.ptx\"\nthreads = 32\n";
    std::fs::write(&manifest, entry).expect("a file");
    let path = manifest.display().to_string();
    let output = run(&["gate", &path, "--filter", "-16-alone", "--json"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn shells_and_the_manual() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(&["completions", shell]);
        assert!(
            output.status.success() && text(&output).contains("all-ctas"),
            "{shell}"
        );
    }
    let page = text(&run(&["man"]));
    assert!(page.contains(".TH volta") && page.contains("SUBCOMMANDS"));
    assert!(text(&run(&["man", "check"])).contains("all\\-ctas"));
}

/// What GitHub's documentation of code scanning asks of a SARIF file ("SARIF support for code scanning"): without it
/// the upload is refused, or findings are not shown.
fn code_scanning_takes(log: &Value) -> Result<(), String> {
    let runs = log["runs"].as_array().ok_or("runs")?;
    if log["version"] != "2.1.0" || log["$schema"].is_null() || runs.len() > 20 {
        return Err("version, schema or number of runs".into());
    }
    let short = |v: &Value, most: usize| match v.as_str() {
        Some(text) => (1..=most).contains(&text.len()),
        None => false,
    };
    for run in runs {
        let driver = &run["tool"]["driver"];
        if !short(&driver["name"], 255) {
            return Err("tool.driver.name".into());
        }
        let rules = driver["rules"].as_array().ok_or("rules")?;
        for rule in rules {
            let fits = short(&rule["id"], 255)
                && short(&rule["name"], 255)
                && short(&rule["shortDescription"]["text"], 1024)
                && short(&rule["fullDescription"]["text"], 1024)
                && rule["help"]["text"].is_string()
                && rule["properties"]["tags"]
                    .as_array()
                    .is_none_or(|t| t.len() <= 20);
            if !fits {
                return Err(format!("{rule}"));
            }
        }
        let results = run["results"].as_array().ok_or("results")?;
        if results.len() > 25_000 || rules.len() > 25_000 {
            return Err("too many".into());
        }
        for result in results {
            let known = rules.iter().any(|r| r["id"] == result["ruleId"]);
            let levels = ["none", "note", "warning", "error"];
            let level = result["level"]
                .as_str()
                .is_some_and(|l| levels.contains(&l));
            let places = result["locations"].as_array().ok_or("locations")?;
            let related = result["relatedLocations"].as_array();
            let all: Vec<&Value> = places.iter().chain(related.into_iter().flatten()).collect();
            let placed = all.iter().all(|p| {
                let physical = &p["physicalLocation"];
                let uri = physical["artifactLocation"]["uri"].as_str();
                let region = &physical["region"];
                let from_one = |key: &str| region[key].as_u64().is_some_and(|n| n > 0);
                uri.is_some_and(|u| !u.is_empty() && !u.contains([' ', '\\']))
                    && ["startLine", "startColumn", "endLine", "endColumn"]
                        .into_iter()
                        .all(from_one)
                    && region["endColumn"].as_u64() > region["startColumn"].as_u64()
            });
            let text = short(&result["message"]["text"], 1 << 20) && links_lead_somewhere(result);
            if !(known
                && level
                && text
                && placed
                && (1..=1000).contains(&all.len())
                && !places.is_empty())
            {
                return Err(format!("{result}"));
            }
        }
    }
    Ok(())
}

/// Whether every link of a message is to a related place, and none of these has the number of another.
fn links_lead_somewhere(result: &Value) -> bool {
    let text = result["message"]["text"].as_str().unwrap_or("");
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|t| t.split_once(')')?.0.parse().ok());
    let links: Vec<u64> = links.collect();
    let related = result["relatedLocations"].as_array().into_iter().flatten();
    let ids: Vec<u64> = related.filter_map(|p| p["id"].as_u64()).collect();
    let count = text.matches("](").count();
    count == links.len() && links == ids
}

#[test]
fn code_scanning_takes_every_log() {
    // A red gate: an unmet entry without a finding, one with, one that cannot be run, one without a place.
    let dir = folder("red");
    let here = root().display();
    let entries = format!(
        "[defaults]\nthreads = 4\n\
         [[check]]\nname = 'met'\nreference = '{here}/kernels/softmax/naive_4.ptx'\n\
         optimized = '{here}/kernels/softmax/online_4.ptx'\nexpect = 'not-equivalent'\n\
         [[check]]\nname = 'differs'\nreference = '{here}/kernels/softmax/naive_4.ptx'\n\
         optimized = '{here}/kernels/softmax/online_4_no_rescale.ptx'\n\
         [[race]]\nname = 'gone'\nkernel = 'no such.ptx'\n\
         [[race]]\nname = 'partial'\nkernel = '{here}/kernels/softmax/naive_4.ptx'\ngrid = 2\ncta = 0\ndeny = ['partial-grid']\n"
    );
    let manifest = dir.join("volta.toml");
    std::fs::write(&manifest, entries).expect("a file for the test");
    let red = manifest.display().to_string();
    let red = ["gate", &red];
    for args in CALLS.iter().copied().chain([&red[..]]) {
        let output = run(&[args, &["--format", "sarif"][..]].concat());
        let log: Value = serde_json::from_str(&text(&output)).expect("SARIF is JSON");
        code_scanning_takes(&log).unwrap_or_else(|why| panic!("{args:?}: {why}"));
    }
    let output = run(&[&red[..], &["--format", "sarif"]].concat());
    let log: Value = serde_json::from_str(&text(&output)).expect("SARIF is JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let unmet: Vec<&Value> = results
        .iter()
        .filter(|r| r["ruleId"] == "unexpected-verdict")
        .collect();
    assert_eq!(unmet.len(), 3);
    let region = &unmet[0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 3, "{}", unmet[0]);
    // The check of the rules can fail.
    let mut none = log.clone();
    none["runs"][0]["results"][0]["locations"] = serde_json::json!([]);
    assert!(code_scanning_takes(&none).is_err());
}

#[test]
fn findings_stand_at_the_line_of_the_source() {
    let output = run(&[
        "race",
        "kernels/reduction/step5.ptx",
        "--threads",
        "64",
        "--format",
        "sarif",
    ]);
    let log: Value = serde_json::from_str(&text(&output)).expect("SARIF is JSON");
    let first = &log["runs"][0]["results"][0];
    let uri = |p: &Value| {
        p["physicalLocation"]["artifactLocation"]["uri"]
            .as_str()
            .map(str::to_string)
    };
    let at = uri(&first["locations"][0]).expect("a location");
    assert!(at.ends_with(".cu"), "{first}");
    let related = first["relatedLocations"]
        .as_array()
        .expect("related places");
    assert!(
        related
            .iter()
            .filter_map(uri)
            .any(|u| u.ends_with("step5.ptx")),
        "{first}"
    );
}

#[test]
fn a_lift_says_nothing_of_roundings_that_it_did_not_look_for() {
    let kernel = "kernels/softmax/online_4.ptx";
    let args = ["--precision", "--threads", "4"];
    let arrays = ["--arg", "0=in:f32[4]", "--arg", "1=out:f32[4]"];
    let run = |command: &str| {
        let out = volta()
            .args([&[command, kernel], &args[..], &arrays].concat())
            .output()
            .expect("volta starts");
        String::from_utf8(out.stdout).expect("a report is UTF-8")
    };
    assert!(run("race").contains("precision: "), "{}", run("race"));
    let lifted = run("lift");
    assert!(
        lifted.contains("lifted") && !lifted.contains("precision: "),
        "{lifted}"
    );
}
