//! The way into a pipeline: `init` writes a manifest that runs, `gate` finds it, and what fails is told where services show it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::{folder, json, root};

/// A kernel with the races of two accesses to one array, whose code is said to stand in a file of CUDA.
const RACY: &str = "\
.version 9.0
.target sm_80
.address_size 64
.shared .f32 s[64];
.visible .entry k(.param .u64 p)
{
.reg .f32 %f<9>; .reg .u64 %d<9>; .reg .u32 %r<9>;
.loc 1 3 1
ld.param.u64 %d0, [p];
mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;
.loc 1 7 1
st.shared.f32 [%r3], 0f3F800000;
.loc 1 8 1
ld.shared.f32 %f0, [s+4];
.loc 1 9 1
ld.shared.f32 %f1, [s+8];
add.f32 %f2, %f0, %f1;
mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;
st.global.f32 [%d2], %f2;
ret;
}
.file 1 \"NAME\"
";

fn volta(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    command.args(args).current_dir(dir);
    command.env("XDG_CACHE_HOME", dir.join("cache"));
    command
        .env_remove("GITHUB_WORKSPACE")
        .env_remove("GITHUB_STEP_SUMMARY");
    command.output().expect("volta starts")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A folder with the racy kernel.
fn racy(name: &str, source: &str) -> std::path::PathBuf {
    let dir = folder("ci", name);
    std::fs::write(dir.join("k.ptx"), RACY.replace("NAME", source)).expect("a file");
    dir
}

#[test]
fn gate_takes_the_manifest_of_the_folder() {
    let dir = folder("ci", "gate");
    let output = volta(&dir, &["gate", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let error = &json(&output)["error"];
    assert_eq!(error["kind"], "file", "{error}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("volta init"), "{error}");

    let kernel = root().join("kernels/softmax/naive_4.ptx");
    let entry = format!("[[race]]\nkernel = '{}'\nthreads = 4\n", kernel.display());
    std::fs::write(dir.join("volta.toml"), entry).expect("a file");
    assert_eq!(volta(&dir, &["gate"]).status.code(), Some(0));
    // A manifest that is named is taken, though there is one here.
    assert_eq!(volta(&dir, &["gate", "other.toml"]).status.code(), Some(2));
}

/// What `init` writes runs: the entries are judged, and right pairs and kernels are found right.
#[test]
fn init_writes_a_manifest_that_runs() {
    let pairs = [
        (["guide/mean.ptx", "guide/mean_warp.ptx"], "equivalent"),
        (
            ["matmul/naive_16.ptx", "matmul/coalesced_16.ptx"],
            "equivalent",
        ),
        (
            ["softmax/naive_4.ptx", "softmax/online_4_no_rescale.ptx"],
            "not-equivalent",
        ),
        (["bits/sum_serial.ptx", "bits/sum_tree.ptx"], "equivalent"),
        (
            [
                "loss/cross_entropy_plain.ptx",
                "loss/cross_entropy_online.ptx",
            ],
            "equivalent",
        ),
    ];
    for (files, verdict) in pairs {
        let dir = folder("ci", "init");
        for (file, name) in files.iter().zip(["a b.ptx", "b.ptx"]) {
            std::fs::copy(root().join("kernels").join(file), dir.join(name)).expect("a copy");
        }
        let made = volta(&dir, &["init", "a b.ptx", "b.ptx"]);
        assert_eq!(made.status.code(), Some(0), "{files:?}");
        let made = text(&made);
        std::fs::write(dir.join("volta.toml"), &made).expect("a file");
        let output = volta(&dir, &["gate", "--json", "--no-cache"]);
        let object = json(&output);
        let entries = object["entries"].as_array().expect("entries");
        let verdicts: Vec<&Value> = entries.iter().map(|e| &e["result"]["verdict"]).collect();
        assert_eq!(verdicts, [verdict, "clean", "clean"], "{made}");
        let reference = &entries[0]["result"]["reference"]["file"];
        assert_eq!(reference, "a b.ptx", "{files:?}");
        // Whatever stands in the entries and not in the files is marked.
        let is_marked = |line: &str| {
            let mut guesses = ["threads", "block", "args."]
                .iter()
                .map(|word| line.find(word));
            !guesses.any(|at| at.is_some()) || line.contains("# guessed: ")
        };
        let active = made.lines().filter(|l| !l.starts_with('#'));
        active.for_each(|line| assert!(is_marked(line), "{line}"));
    }
}

#[test]
fn init_of_one_file_with_two_kernels_compares_them() {
    let dir = folder("ci", "init-two");
    let kernel = |name: &str, threads: &str| {
        format!(
            ".visible .entry {name}(.param .u64 p, .param .u32 n) {threads}\n{{ .reg .u64 %d<3>; .reg .u32 %r<5>; .reg .pred %q;\n\
             ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %q, %r1, %r0; @%q ret;\n\
             mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1; st.global.u32 [%d2], %r1; ret; }}\n"
        )
    };
    let head = ".version 9.0\n.target sm_80\n.address_size 64\n";
    let two = format!(
        "{head}{}{}",
        kernel("x", ".maxntid 128, 1, 1"),
        kernel("y", ".reqntid 128, 1, 1")
    );
    std::fs::write(dir.join("two.ptx"), &two).expect("a file");
    let made = text(&volta(&dir, &["init", "two.ptx"]));
    for line in [
        "threads = 128  # guessed: what .maxntid allows",
        "args.\"1\" = \"64\"  # guessed: ",
        "args.\"0\" = \"out:u32[64]\"  # guessed: ",
        "optimized = { file = \"two.ptx\", entry = \"y\" }\n",
    ] {
        assert!(made.contains(line), "{line}: {made}");
    }
    std::fs::write(dir.join("volta.toml"), &made).expect("a file");
    let object = json(&volta(&dir, &["gate", "--json"]));
    assert_eq!(object["passed"], 3, "{object}");
    // Of three kernels none is the reference; of one there is no pair.
    std::fs::write(dir.join("one.ptx"), format!("{head}{}", kernel("z", ""))).expect("a file");
    let made = text(&volta(&dir, &["init", "two.ptx", "one.ptx"]));
    assert!(
        made.contains("\n# [[check]]\n") && !made.contains("\n[[check]]"),
        "{made}"
    );
    let made = text(&volta(&dir, &["init", "one.ptx"]));
    assert!(
        !made.contains("[[check]]") && made.contains("\n[[race]]"),
        "{made}"
    );
    // A parameter that is an array in one kernel and an integer in the other cannot be paired: the entry says so.
    let swapped = two.replacen("p, .param .u32 n", "p, .param .u32 n, .param .u64 m", 1);
    let swapped = swapped.replacen(
        "[p]; ld.param.u32 %r0, [n]",
        "[m]; ld.param.u32 %r0, [n]",
        1,
    );
    std::fs::write(dir.join("two.ptx"), swapped).expect("a file");
    std::fs::write(
        dir.join("volta.toml"),
        text(&volta(&dir, &["init", "two.ptx"])),
    )
    .expect("a file");
    assert_ne!(volta(&dir, &["gate"]).status.code(), Some(2));
}

/// Names with their values.
type Properties = Vec<(String, String)>;

/// The commands of an output, as GitHub reads them: the command, its properties, its message.
fn annotations(text: &str) -> Vec<(String, Properties, String)> {
    let unescaped = |value: &str| {
        let value = value
            .replace("%3A", ":")
            .replace("%2C", ",")
            .replace("%0D", "\r");
        value.replace("%0A", "\n").replace("%25", "%")
    };
    let commands = text.lines().filter_map(|l| l.strip_prefix("::"));
    let command = |line: &str| {
        let (head, message) = line.split_once("::").expect("a message");
        let (word, properties) = head.split_once(' ').expect("properties");
        let properties = properties
            .split(',')
            .map(|p| p.split_once('=').expect("a value"));
        let properties = properties.map(|(name, value)| (name.to_string(), unescaped(value)));
        (word.to_string(), properties.collect(), unescaped(message))
    };
    commands.map(command).collect()
}

fn property<'a>(properties: &'a [(String, String)], name: &str) -> &'a str {
    let found = properties.iter().find(|p| p.0 == name);
    found.map_or("", |p| &p.1)
}

const RACE: [&str; 4] = ["race", "k.ptx", "--threads", "64"];

#[test]
fn one_annotation_a_cause_stands_at_the_line_of_the_source() {
    let dir = racy("annotations", "a, b: 100%.cu");
    let output = volta(&dir, &[&RACE[..], &["--format", "github"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let all = text(&output);
    let errors = annotations(&all);
    let [(word, properties, message)] = &errors[..] else {
        panic!("{all}");
    };
    assert_eq!(word, "error");
    assert_eq!(property(properties, "file"), "a, b: 100%.cu");
    assert_eq!(property(properties, "title"), "volta: data-race");
    assert!(
        ["7", "8", "9"].contains(&property(properties, "line")),
        "{all}"
    );
    let (_, others) = message
        .split_once("\nof the same cause:\n- ")
        .expect("the other race");
    assert!(others.contains("data-race: "), "{message}");
    assert!(
        all.ends_with("\ndefective: data-race, block 64, grid 1\n"),
        "{all}"
    );

    // Without a line of the source it is that of the PTX, with its columns.
    let plain = RACY.lines().filter(|l| !l.starts_with(".loc"));
    let plain: Vec<&str> = plain.collect();
    std::fs::write(dir.join("k.ptx"), plain.join("\n")).expect("a file");
    let all = text(&volta(&dir, &[&RACE[..], &["--format", "github"]].concat()));
    let errors = annotations(&all);
    assert_eq!(property(&errors[0].1, "file"), "k.ptx");
    assert!(!property(&errors[0].1, "col").is_empty(), "{all}");
    // From a folder of the repository, files are those of the repository.
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    command
        .args(RACE)
        .args(["--format", "github"])
        .current_dir(&dir);
    command.env("GITHUB_WORKSPACE", dir.parent().expect("a folder"));
    let all = text(&command.output().expect("volta starts"));
    assert_eq!(
        property(&annotations(&all)[0].1, "file"),
        "annotations/k.ptx"
    );
}

/// GitHub shows ten annotations of a level: no more are written, the worst first, and the end says how many more there are.
#[test]
fn no_more_annotations_than_are_shown() {
    let dir = racy("many", "k.cu");
    let mut manifest = String::from("[defaults]\nthreads = 64\n");
    for i in 0..14 {
        std::fs::write(
            dir.join(format!("k{i}.ptx")),
            RACY.replace("NAME", &format!("{i}.cu")),
        )
        .expect("a file");
        manifest += &format!("[[race]]\nname = \"e{i}\"\nkernel = \"k{i}.ptx\"\n");
    }
    manifest += "[[race]]\nname = \"gone\"\nkernel = \"none.ptx\"\n";
    manifest += "[[race]]\nname = \"twice\"\nkernel = \"k0.ptx\"\n";
    manifest += "[[race]]\nname = \"met\"\nkernel = \"k.ptx\"\nexpect = \"defective\"\n";
    manifest += "[[race]]\nname = \"unmet\"\nkernel = \"k.ptx\"\nexpect = \"unknown\"\n";
    std::fs::write(dir.join("volta.toml"), manifest).expect("a file");
    let page = dir.join("also.txt");
    let also = format!("github={}", page.display());
    let output = volta(
        &dir,
        &["gate", "--no-cache", "--format", "github", "--also", &also],
    );
    assert_eq!(output.status.code(), Some(2));
    let all = text(&output);
    assert_eq!(std::fs::read_to_string(page).expect("a file"), all);
    let found = annotations(&all);
    let errors = found.iter().filter(|a| a.0 == "error").count();
    assert_eq!((errors, found.len()), (10, 11), "{all}");
    let last = all.lines().last().expect("a line");
    assert!(
        last.starts_with("::notice title=volta::6 more errors"),
        "{last}"
    );
    let (_, _, first) = &found[0];
    assert!(
        first.starts_with("e0: ") && first.ends_with("\nalso in twice"),
        "{first}"
    );
    assert!(!all.contains("met: read"), "{all}");

    // What lacks a defect says so beside the one that it has.
    let lacks = "[[race]]\nname = \"lacks\"\nkernel = \"k.ptx\"\nthreads = 64\nexpect = \"defective\"\ndefects = [\"deadlock\"]\n";
    std::fs::write(dir.join("volta.toml"), lacks).expect("a file");
    let all = text(&volta(&dir, &["gate", "--no-cache", "--format", "github"]));
    let found = annotations(&all);
    assert_eq!(property(&found[1].1, "file"), "volta.toml");
    assert_eq!(found[1].2, "lacks: no deadlock was found", "{all}");

    // What is told apart by its words alone is not lost: two entries that cannot be run, two accesses of one line.
    let gone =
        "[[race]]\nname = \"a\"\nkernel = \"a.ptx\"\n[[race]]\nname = \"b\"\nkernel = \"b.ptx\"\n";
    std::fs::write(dir.join("volta.toml"), gone).expect("a file");
    let all = text(&volta(&dir, &["gate", "--format", "github"]));
    let told: Vec<bool> = annotations(&all)
        .iter()
        .map(|a| a.2.contains("cannot read"))
        .collect();
    assert_eq!(told, [true, true], "{all}");
    let outside = RACY.replace("shl.b32 %r1, %r0, 2", "shl.b32 %r1, %r0, 3");
    let outside = outside
        .replace(".loc 1 8 1", ".loc 1 7 1")
        .replace("[s+4]", "[s+256]");
    std::fs::write(dir.join("k.ptx"), outside).expect("a file");
    let object = json(&volta(&dir, &[&RACE[..], &["--json"]].concat()));
    let messages = object["defects"].as_array().into_iter().flatten();
    let messages: Vec<&str> = messages.filter_map(|d| d["message"].as_str()).collect();
    let all = text(&volta(&dir, &[&RACE[..], &["--format", "github"]].concat()));
    assert!(messages.len() > 1, "{object}");
    messages
        .iter()
        .for_each(|m| assert!(all.contains(*m), "{m}: {all}"));
}

#[test]
fn the_summary_is_added_to_the_file_that_github_names() {
    let dir = racy("summary", "k.cu");
    let entries = "[[race]]\nname = \"a|b <c> [d](e) `f`\"\nkernel = \"k.ptx\"\nthreads = 64\n\
                   [[race]]\nname = \"met\"\nkernel = \"k.ptx\"\nthreads = 64\nexpect = \"defective\"\n";
    std::fs::write(dir.join("volta.toml"), entries).expect("a file");
    let file = dir.join("summary.md");
    std::fs::write(&file, "before\n").expect("a file");
    let run = |args: &[&str], file: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
        command.args(args).current_dir(&dir);
        command.env("GITHUB_STEP_SUMMARY", file);
        command.output().expect("volta starts").status.code()
    };
    let read = || std::fs::read_to_string(&file).expect("a summary");
    // Another format writes none.
    assert_eq!(run(&["gate", "--no-cache", "--json"], &file), Some(1));
    assert_eq!(read(), "before\n");
    assert_eq!(
        run(&["gate", "--no-cache", "--format", "github"], &file),
        Some(1)
    );
    let summary = read();
    assert!(
        summary.starts_with("before\n### volta gate\n\n**1 passed, 1 failed**\n"),
        "{summary}"
    );
    let rows: Vec<&str> = summary
        .lines()
        .filter(|l| l.starts_with('|'))
        .skip(2)
        .collect();
    let [failed, met] = &rows[..] else {
        panic!("{summary}");
    };
    let name = "| **fail** | a\\|b \\<c\\> \\[d\\]\\(e\\) \\`f\\` | defective | clean | ";
    assert!(
        failed.starts_with(name) && failed.contains("data-race"),
        "{failed}"
    );
    assert!(
        met.starts_with("| ok | met | defective | defective | "),
        "{met}"
    );
    assert_eq!(
        run(&[&RACE[..], &["--format", "github"]].concat(), &file),
        Some(1)
    );
    let more = read();
    let more = more.strip_prefix(&summary).expect("it is added to");
    assert!(
        more.contains("k\\: block 64,1,1, grid 1,1,1, all CTAs"),
        "{more}"
    );
    // A usage error is told there too; a folder, a device or a file that is not there is not written to.
    assert_eq!(
        run(&["gate", "none.toml", "--format", "github"], &file),
        Some(2)
    );
    assert!(read().contains("**file error**: cannot read"), "{}", read());
    for other in [dir.as_path(), Path::new("/dev/null"), &dir.join("none.md")] {
        assert_eq!(
            run(&["gate", "--no-cache", "--format", "github"], other),
            Some(2)
        );
    }
    assert!(!dir.join("none.md").exists());
}

#[test]
fn one_result_of_sarif_a_cause_links_to_the_others() {
    let dir = racy("sarif", "k.cu");
    let sarif = |args: &[&str]| {
        json(&volta(
            &dir,
            &[&RACE[..], args, &["--format", "sarif"]].concat(),
        ))
    };
    let log = sarif(&[]);
    let results = log["runs"][0]["results"].as_array().expect("results");
    let races: Vec<&Value> = results
        .iter()
        .filter(|r| r["ruleId"] == "data-race")
        .collect();
    assert_eq!(races.len(), 1, "{log}");
    let message = races[0]["message"]["text"].as_str().expect("a message");
    assert!(
        message.contains("; of the same cause: [data-race at "),
        "{message}"
    );
    let related = races[0]["relatedLocations"].as_array().expect("places");
    let ids: Vec<u64> = related.iter().filter_map(|p| p["id"].as_u64()).collect();
    assert!(
        !ids.is_empty() && ids.iter().all(|id| message.contains(&format!("]({id})"))),
        "{message}"
    );
    let object = json(&volta(&dir, &[&RACE[..], &["--json"]].concat()));
    assert_eq!(
        object["defects"].as_array().map(Vec::len),
        Some(2),
        "{object}"
    );
    // What it is known by outlives an edit above it.
    let print = |log: &Value| log["runs"][0]["results"][0]["partialFingerprints"].clone();
    let moved = format!("// one line more\n{}", RACY.replace("NAME", "k.cu"));
    let moved = moved.replace(".loc 1 ", ".loc 1 1");
    std::fs::write(dir.join("k.ptx"), moved).expect("a file");
    let after = sarif(&[]);
    assert_eq!(print(&after), print(&log));
    assert_ne!(after["runs"][0]["results"][0], log["runs"][0]["results"][0]);
}

#[test]
fn a_case_of_junit_says_where() {
    let dir = racy("junit", "k.cu");
    let message = |args: &[&str]| {
        let all = text(&volta(&dir, &[args, &["--format", "junit"]].concat()));
        let (_, rest) = all
            .split_once(" message=\"")
            .unwrap_or_else(|| panic!("{all}"));
        rest.split('"').next().expect("an end").to_string()
    };
    let single = message(&RACE);
    let begins = |text: &str| {
        ["7", "8", "9"]
            .iter()
            .any(|n| text.starts_with(&format!("defective: k.cu:{n}: data-race: ")))
    };
    assert!(begins(&single), "{single}");
    let entry = |more: &str| {
        let text = format!("[[race]]\nkernel = \"k.ptx\"\nthreads = 64\n{more}");
        std::fs::write(dir.join("volta.toml"), text).expect("a file");
        message(&["gate", "--no-cache"])
    };
    let entry_said = entry("");
    assert!(
        begins(&entry_said) && entry_said.ends_with("; volta.toml:1: defective instead of clean"),
        "{entry_said}"
    );
    let wrong = entry("args = { \"0\" = \"x\" }");
    assert!(wrong.starts_with("error: "), "{wrong}");
    std::fs::write(dir.join("k.ptx"), ".version 9.0\n.target sm_80\n.entry ?\n").expect("a file");
    let syntax = message(&RACE);
    assert!(syntax.starts_with("error: k.ptx:3: syntax: "), "{syntax}");
}
