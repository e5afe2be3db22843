//! Input that games its checker, or that is made to hang or crash it: every run ends within its
//! limits, in an error, in `unknown`, or in a finding, and writes nothing but what it was told to.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// What the runs here may take: each is told to end after a few seconds, and a debug build on a
/// busy machine looks at its limits less often.
const SOON: Duration = Duration::from_secs(100);

const HEAD: &str = ".version 9.0\n.target sm_80\n.address_size 64\n";

fn folder(name: &str) -> PathBuf {
    super::folder("untrusted", name)
}

fn volta(dir: &Path, args: &[&str]) -> Output {
    let start = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args(args)
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .output()
        .expect("volta starts");
    assert!(start.elapsed() < SOON, "{args:?}: {:?}", start.elapsed());
    output
}

/// Runs with JSON output: the exit status and the object.
fn run(dir: &Path, args: &[&str]) -> (i32, Value) {
    let limits = ["--timeout", "1", "--memory-limit", "4000000000", "--json"];
    let output = volta(dir, &[args, &limits].concat());
    let code = output.status.code().expect("no signal");
    let text = String::from_utf8_lossy(&output.stdout);
    let object = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}: {text}"));
    (code, object)
}

/// A kernel of this body, with `%d0` and `%d1` its two pointers.
fn kernel(dir: &Path, name: &str, body: &str) {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 p, .param .u64 q)\n{{\n.reg .u32 %r<9>; .reg .f32 %f<9>; \
         .reg .u64 %d<9>; .reg .pred %p<9>;\nld.param.u64 %d0, [p]; ld.param.u64 %d1, [q];\n{body}\nret;\n}}\n"
    );
    std::fs::write(dir.join(name), text).expect("a file for the test");
}

fn repeat(times: u32, start: &str, step: &str) -> String {
    format!(
        "{start} mov.u32 %r1, 0;\nL: {step} add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, {times}; @%p1 bra L;\n\
         st.global.f32 [%d1], %f0;"
    )
}

#[test]
fn loops_without_end() {
    let dir = folder("loops");
    kernel(&dir, "empty.ptx", "L: bra L;");
    kernel(
        &dir,
        "store.ptx",
        "mov.u32 %r1, 0;\nL: st.global.u32 [%d1], %r1; add.u32 %r1, %r1, 1; bra L;",
    );
    kernel(
        &dir,
        "further.ptx",
        "mov.u32 %r1, 0;\nL: st.global.u32 [%d1], %r1; add.u64 %d1, %d1, 4; bra L;",
    );
    kernel(&dir, "barrier.ptx", "L: bar.sync 0; bra L;");
    let terms = "ld.global.f32 %f0, [%d0];\nL: fma.rn.f32 %f0, %f0, %f0, %f0; bra L;";
    kernel(&dir, "terms.ptx", terms);
    for file in ["empty", "store", "further", "barrier", "terms"] {
        let (code, object) = run(&dir, &["race", &format!("{file}.ptx"), "--threads", "1"]);
        assert_eq!(code, 3, "{file}: {object}");
        assert_eq!(object["unknown"][0]["kind"], "limit", "{file}");
    }
    // Without a limit of its own an idle loop is seen to be one.
    let output = volta(&dir, &["race", "empty.ptx", "--threads", "32"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn forms_that_grow() {
    let dir = folder("forms");
    let load = "ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d0+4];";
    let square = repeat(30, load, "fma.rn.f32 %f0, %f0, %f0, %f0;");
    kernel(&dir, "square.ptx", &square);
    let two = "mov.f32 %f0, 0f40000000;";
    kernel(
        &dir,
        "power.ptx",
        &repeat(60, two, "mul.f32 %f0, %f0, %f0;"),
    );
    let divide = "add.f32 %f2, %f0, %f1; div.approx.f32 %f0, %f1, %f2;";
    kernel(&dir, "divide.ptx", &repeat(2000, load, divide));
    let invert = "add.f32 %f2, %f1, %f0; rcp.approx.f32 %f3, %f2; mul.f32 %f0, %f3, %f1;";
    kernel(&dir, "invert.ptx", &repeat(2000, load, invert));
    let select = "add.f32 %f1, %f0, %f0; setp.gt.f32 %p2, %f1, %f0; selp.f32 %f0, %f1, %f0, %p2;";
    kernel(&dir, "select.ptx", &repeat(60, load, select));
    for (a, b) in [
        ("square", "power"),
        ("divide", "invert"),
        ("select", "square"),
        ("power", "divide"),
    ] {
        let (a, b) = (format!("{a}.ptx"), format!("{b}.ptx"));
        let (code, object) = run(&dir, &["check", &a, &b, "--threads", "1"]);
        assert!([1, 3].contains(&code), "{a} {b}: {object}");
    }
}

#[test]
fn sizes() {
    let dir = folder("sizes");
    kernel(
        &dir,
        "k.ptx",
        "ld.global.f32 %f0, [%d0]; st.global.f32 [%d1], %f0;",
    );
    let launch = |more: &[&str]| run(&dir, &[&["check", "k.ptx", "k.ptx"], more].concat());
    let (code, _) = launch(&["--threads", "1", "--arg", "0=in:f32[1000000000000]"]);
    assert_eq!(code, 0);
    let (code, _) = launch(&["--threads", "1", "--arg", "0=in:f32[4611686018427387904,8]"]);
    assert_eq!(code, 2);
    for grid in ["2147483647", "2147483647,65535,65535"] {
        let (code, object) = launch(&["--threads", "1", "--grid", grid, "--all-ctas"]);
        assert_eq!(code, 3);
        assert_eq!(object["unknown"][0]["kind"], "limit");
    }
    for block in ["4294967295", "0"] {
        assert_eq!(launch(&["--threads", block]).0, 2);
    }
    let deep = 100_000;
    let open = |a: &str, b: &str| format!("{}1{}", a.repeat(deep), b.repeat(deep));
    let texts = [
        (
            "const.ptx",
            format!(
                "{HEAD}.const .u32 c = {};\n.visible .entry k() {{ ret; }}",
                open("(", ")")
            ),
        ),
        (
            "minus.ptx",
            format!(
                "{HEAD}.const .u32 c = {}1;\n.visible .entry k() {{ ret; }}",
                "-".repeat(deep)
            ),
        ),
        (
            "shared.ptx",
            format!("{HEAD}.visible .entry k() {{ .shared .f32 s[1000000000000]; ret; }}"),
        ),
        ("zeros.ptx", "\0".repeat(deep)),
    ];
    for (name, text) in texts {
        std::fs::write(dir.join(name), text).expect("a file for the test");
        assert_eq!(run(&dir, &["race", name, "--threads", "1"]).0, 2, "{name}");
    }
    for (name, text) in [("tables", open("{a=", "}")), ("lists", open("[", "]"))] {
        let spec = format!("{name}.toml");
        std::fs::write(dir.join(&spec), format!("args = {text}\n")).expect("a file");
        assert_eq!(
            run(&dir, &["race", "k.ptx", "--spec", &spec]).0,
            2,
            "{name}"
        );
    }
}

#[cfg(unix)]
#[test]
fn paths() {
    let dir = folder("paths");
    kernel(&dir, "k.ptx", "");
    let pipe = Command::new("mkfifo").arg(dir.join("pipe")).status();
    assert!(pipe.expect("mkfifo runs").success());
    std::os::unix::fs::symlink("loop", dir.join("loop")).expect("a link");
    for path in [
        "pipe",
        "/dev/zero",
        "/dev/stdin",
        ".",
        "loop",
        "../../../no/such",
        "/",
        "k.ptx/",
    ] {
        for text in [
            format!("[[race]]\nname = \"a\"\nkernel = \"{path}\"\nthreads = 1\n"),
            format!("include = [\"{path}\"]\n"),
        ] {
            std::fs::write(dir.join("volta.toml"), text).expect("a file for the test");
            let (code, _) = run(&dir, &["gate", "volta.toml"]);
            assert_eq!(code, 2, "{path}");
        }
        // A pipe is fine on the command line, where it is the user who named it.
        if path != "pipe" {
            assert_eq!(run(&dir, &["race", path, "--threads", "1"]).0, 2, "{path}");
        }
    }
    // One that nobody writes to is an error of every command that reads it, and soon.
    let begun = std::time::Instant::now();
    for args in [
        &["check", "pipe", "k.ptx", "--threads", "1"][..],
        &["check", "--formula", "@pipe", "k.ptx", "--threads", "1"],
        &["race", "k.ptx", "--threads", "1", "--spec", "pipe"],
        &[
            "run",
            "k.ptx",
            "--threads",
            "1",
            "--arg",
            "0=in:f32[4]=@pipe",
        ],
        &["lift", "pipe", "--threads", "1"],
        &["classes", "pipe", "k.ptx", "--threads", "1"],
        &["gate", "pipe"],
        &["gate", "volta.toml", "--ledger", "pipe"],
        &["steps", "pipe"],
    ] {
        if args.contains(&"--ledger") {
            let text = "[[race]]\nname = \"a\"\nkernel = \"k.ptx\"\nthreads = 1\n";
            std::fs::write(dir.join("volta.toml"), text).expect("a file for the test");
        }
        let (code, object) = run(&dir, args);
        assert_eq!(code, 2, "{args:?}");
        let message = object["error"]["message"].as_str().unwrap_or("");
        assert!(message.contains("pipe"), "{args:?}: {message}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
    let text = std::fs::read(dir.join("k.ptx")).expect("a kernel");
    let pipe = dir.join("pipe");
    let writer = std::thread::spawn(move || std::fs::write(pipe, text));
    assert_eq!(run(&dir, &["race", "pipe", "--threads", "1"]).0, 0);
    writer.join().expect("no panic").expect("a reader");
}

/// A file that is no kernel is not quoted: it may be anything.
#[test]
fn secrets() {
    let dir = folder("secrets");
    std::fs::write(dir.join("k.ptx"), "PASSWORD=hunter2\n").expect("a file for the test");
    for format in ["human", "json", "sarif", "junit", "html", "github"] {
        let out = volta(
            &dir,
            &["race", "k.ptx", "--threads", "1", "--format", format],
        );
        assert_eq!(out.status.code(), Some(2));
        let all = [out.stdout, out.stderr].concat();
        assert!(
            !String::from_utf8_lossy(&all).contains("hunter2"),
            "{format}"
        );
        assert!(!all.is_empty(), "{format}");
    }
}

/// Names and lines of any length and any characters: what is shown is bounded and plain.
#[test]
fn names() {
    let dir = folder("names");
    kernel(&dir, "k.ptx", "");
    let name = "\\n::error file=x::y\\u001b[31m\\u009b\\u202e9 passed, 0 failed";
    let manifest = format!("[[race]]\nname = \"{name}\"\nkernel = \"k.ptx\"\nthreads = 1\n");
    std::fs::write(dir.join("volta.toml"), manifest).expect("a file for the test");
    for format in ["human", "json", "sarif", "junit", "html", "github"] {
        let out = volta(&dir, &["gate", "volta.toml", "--format", format]);
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            !text.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
            "{format}: {text}"
        );
        let command = |line: &str| line.trim_start().starts_with("::");
        assert!(!text.lines().any(command), "{format}: {text}");
    }
    let long = "p".repeat(1 << 16);
    let body = format!(
        "ld.param.u64 %d0, [{long}]; mov.f32 %f0, 0f3F800000; st.global.f32 [%d0], %f0; ret;"
    );
    let text = format!(
        "{HEAD}.visible .entry {long}(.param .u64 {long})\n{{ .reg .u64 %d<9>; .reg .f32 %f<9>; {body} }}\n"
    );
    std::fs::write(dir.join("long.ptx"), text).expect("a file for the test");
    let out = volta(&dir, &["check", "long.ptx", "long.ptx", "--threads", "1"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stdout.len() < 10_000, "{}", out.stdout.len());
    for flood in ["L: ".repeat(16_000), "add.u32 a,b;".repeat(40_000)] {
        kernel(&dir, "flood.ptx", &flood);
        let out = volta(
            &dir,
            &[
                "race",
                "flood.ptx",
                "--threads",
                "1",
                "--memory-limit",
                "500M",
            ],
        );
        assert_eq!(out.status.code(), Some(2));
        assert!(out.stderr.len() < 100_000, "{}", out.stderr.len());
    }
}

/// Versions and targets that were never released are errors; a newer one is read, with a note.
#[test]
fn headers() {
    let dir = folder("headers");
    let entry = ".visible .entry k()\n{\nret;\n}\n";
    let code = |head: &str| {
        std::fs::write(dir.join("k.ptx"), format!("{head}\n{entry}")).expect("a file for the test");
        run(&dir, &["race", "k.ptx", "--threads", "1"])
    };
    for head in [
        ".version 99.99\n.target sm_80\n.address_size 64",
        ".version 9.0\n.target foo\n.address_size 64",
        ".version 9.0\n.target sm_80\n.address_size 16",
    ] {
        assert_eq!(code(head).0, 2, "{head}");
    }
    let (status, object) = code(".version 9.3\n.target sm_130a\n.address_size 64");
    assert_eq!(
        (status, object["warnings"][0]["kind"].as_str()),
        (0, Some("note"))
    );
}

/// A folder of results that came with the kernels proves nothing: only the user's own key makes it count.
#[test]
fn forged_results() {
    let dir = folder("forged");
    kernel(&dir, "k.ptx", "");
    let manifest = "[[race]]\nname = \"a\"\nkernel = \"k.ptx\"\nthreads = 1\n";
    std::fs::write(dir.join("volta.toml"), manifest).expect("a file for the test");
    let cached = |secret: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_volta"))
            .args(["gate", "volta.toml", "--json", "--cache-dir", "results"])
            .current_dir(&dir)
            .env("VOLTA_CACHE_KEY", secret)
            .output()
            .expect("volta starts");
        let object: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        object["entries"][0]["cached"] == true
    };
    let (own, other) = ("the key of the user", "the key of a stranger");
    assert_eq!(
        [own, own, other, own].map(cached),
        [false, true, false, false]
    );
    assert_eq!([own, "short", "short"].map(cached), [true, false, false]);
}

#[test]
fn includes() {
    let dir = folder("includes");
    kernel(&dir, "k.ptx", "");
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(dir.join("sub")).expect("a folder");
        std::fs::write(dir.join(name), text).expect("a file for the test");
    };
    let race =
        |name: &str, kernel: &str| format!("[[race]]\nname = \"{name}\"\nkernel = \"{kernel}\"\n");
    let message = || {
        let (code, object) = run(&dir, &["gate", "volta.toml"]);
        assert_eq!(code, 2);
        // What is wrong with one entry is said there.
        let entries = object["entries"].as_array().into_iter().flatten();
        let errors = entries.map(|e| &e["result"]["error"]);
        let messages = errors.chain([&object["error"]]).map(|e| &e["message"]);
        let messages: Vec<&str> = messages.filter_map(Value::as_str).collect();
        messages.join("\n")
    };
    write(
        "sub/b.toml",
        &format!("[defaults]\nthreads = 64\n{}", race("b", "../k.ptx")),
    );
    let head = "include = [\"sub/b.toml\"]\n";
    write(
        "volta.toml",
        &format!("{head}[defaults]\nthreads = 32\n{}", race("a", "k.ptx")),
    );
    let (code, object) = run(&dir, &["gate", "volta.toml"]);
    assert_eq!(code, 0);
    let blocks: Vec<&Value> = ["a", "b"]
        .iter()
        .zip(object["entries"].as_array().expect("entries"))
        .inspect(|(name, entry)| assert_eq!(entry["name"], **name))
        .map(|(_, entry)| &entry["result"]["kernel"]["block"][0])
        .collect();
    assert_eq!(blocks, [32, 64]);
    write("volta.toml", &format!("{head}{}", race("b", "k.ptx")));
    assert!(message().contains("has the name of another entry"));
    write(
        "volta.toml",
        "include = [\"sub/b.toml\", \"sub/../sub/b.toml\"]\n",
    );
    assert!(message().contains("included twice"));
    write("sub/b.toml", "include = [\"../volta.toml\"]\n");
    write("volta.toml", head);
    assert!(message().contains("includes itself"));
    write("volta.toml", "include = [\"no.toml\"]\n");
    assert!(message().contains("no.toml"));
}

#[test]
fn a_narrower_format_is_noted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        "kernels/activation/shortcut_plain.ptx",
        "kernels/activation/shortcut_low_precision.ptx",
    ];
    let (code, object) = run(root, &["check", files[0], files[1], "--threads", "64"]);
    assert_eq!(code, 0);
    let notes = object["warnings"].as_array().expect("warnings");
    let notes: Vec<&Value> = notes.iter().filter(|w| w["kind"] == "narrower").collect();
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0]["message"]
            .as_str()
            .is_some_and(|m| m.contains("computes with values rounded to f16"))
    );
    let (_, object) = run(root, &["check", files[1], files[0], "--threads", "64"]);
    assert_eq!(object["warnings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn only_the_output_is_written() {
    let dir = folder("output");
    kernel(&dir, "k.ptx", "");
    let output = volta(
        &dir,
        &[
            "race",
            "k.ptx",
            "--threads",
            "1",
            "--json",
            "--output",
            "out.json",
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    let output = volta(
        &dir,
        &[
            "race",
            "k.ptx",
            "--threads",
            "1",
            "--output",
            "no/such/out.json",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    let mut names: Vec<_> = std::fs::read_dir(&dir)
        .expect("a folder")
        .map(|e| e.expect("a file").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["k.ptx", "out.json"]);
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let dir = folder("large");
    let body = "ld.global.f32 %f0, [%d0]; st.global.f32 [%d1], %f0;";
    kernel(&dir, "k.ptx", body);
    let sparse = |name: &str, start: &[u8]| {
        std::fs::write(dir.join(name), start).expect("a file for the test");
        let file = std::fs::File::options().write(true).open(dir.join(name));
        let file = file.expect("the file that was written");
        file.set_len(8 << 30).expect("a file with a hole");
    };
    sparse("a.npy", b"\x93NUMPY\x01\x00");
    sparse("large.ptx", HEAD.as_bytes());
    let launch = |input: &str, output: &str| {
        let args = [
            "run",
            "k.ptx",
            "--threads",
            "1",
            "--arg",
            input,
            "--arg",
            output,
        ];
        run(&dir, &args)
    };
    let (code, object) = launch("0=in:f32[4]=@a.npy", "1=out:f32[4]");
    assert_eq!((code, &object["error"]["kind"]), (2, &"contents".into()));
    let (code, object) = run(&dir, &["race", "large.ptx", "--threads", "1"]);
    assert_eq!((code, &object["error"]["kind"]), (2, &"file".into()));
    // Zeros take no room, and are not all shown.
    let (code, object) = launch("0=in:f32[1000000000000]=0", "1=out:f32[1000000000000]");
    assert_eq!((code, &object["unknown"][0]["kind"]), (3, &"limit".into()));
    // A million launches: a text of 50 MB.
    let launch = "{file=\"k.ptx\",threads=1,args={\"0\"=\"$x\",\"1\"=\"$y\"}},".repeat(1_000_000);
    let text = format!(
        "[[check]]\nname=\"s\"\nbuffers={{x=\"in:f32[4]\",y=\"out:f32[4]\"}}\n\
         reference=[{launch}]\noptimized=[{launch}]\n"
    );
    std::fs::write(dir.join("volta.toml"), text).expect("a manifest for the test");
    let (code, object) = run(&dir, &["gate", "volta.toml", "--no-cache"]);
    assert_eq!((code, &object["error"]["kind"]), (2, &"file".into()));
}

#[test]
fn sizes_of_memory_have_units() {
    let dir = folder("units");
    kernel(&dir, "k.ptx", "st.global.f32 [%d1], 0f00000000;");
    for (text, code) in [
        ("1G", 0),
        ("512M", 0),
        ("4000000K", 0),
        ("1T", 2),
        ("G", 2),
        ("99999999999G", 2),
    ] {
        let args = ["race", "k.ptx", "--threads", "1", "--memory-limit", text];
        assert_eq!(volta(&dir, &args).status.code(), Some(code), "{text}");
    }
}
