//! What people read: widths, sources, warnings that are allowed, sizes that are covered.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{json, scratch, volta};

const KERNEL: &str = ".version 9.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .f32 %f<4>;\n\
    .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.u32 %r2, [n];\n\
    mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\nmad.lo.u32 %r1, %r3, %r4, %r5;\n\
    mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd3, %rd1, %rd5;\nadd.s64 %rd4, %rd2, %rd5;\n.loc 1 LINE 1\n\
    setp.ge.u32 %p1, %r1, %r2;\n@%p1 bra E;\nld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd4], %f1;\nE: ret;\n}\n\
    .file 1 \"FILE\"\n";

fn kernel(name: &str, file: &str, line: u32) -> String {
    let text = KERNEL
        .replace("FILE", file)
        .replace("LINE", &line.to_string());
    let path = scratch("reports", name, text.as_bytes());
    path.to_str().expect("a name in UTF-8").to_string()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a race without room in its arrays says, run in a folder.
fn beyond(folder: &Path, path: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args([
            "race",
            path,
            "--threads",
            "8",
            "--arg",
            "n=8",
            "--arg",
            "0=in:f32[7]",
        ])
        .current_dir(folder)
        .env("COLUMNS", "80")
        .output()
        .expect("volta starts");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    text(&output)
}

#[test]
fn only_sources_of_the_kernel_are_shown() {
    let secret = "password of somebody";
    let inside = scratch(
        "reports",
        "inside.cu",
        format!("one\n\t{secret};\n").as_bytes(),
    );
    let here = inside.parent().expect("a folder").to_path_buf();
    scratch(
        "reports",
        "inside.txt",
        format!("{secret}\n{secret}\n").as_bytes(),
    );
    let elsewhere = scratch(
        "reports-elsewhere",
        "away.cu",
        format!("{secret}\n{secret}\n").as_bytes(),
    );
    let empty = elsewhere.parent().expect("a folder").join("empty");
    fs::create_dir_all(&empty).expect("a folder");
    let away = elsewhere.to_str().expect("a name in UTF-8").to_string();
    let shows = |name: &str, file: &str, line| {
        let said = beyond(&empty, &kernel(name, file, line));
        // A long path of the scratch folder breaks the line anywhere.
        let joined: String = said
            .split(|c: char| c.is_whitespace() || c == '|')
            .collect();
        assert!(joined.contains("ld.global.f32%f1,[%rd3]"), "{said}");
        said.contains(secret)
    };
    assert!(shows("named", "inside.cu", 2));
    assert!(shows("built-elsewhere", "/nowhere/at/all/inside.cu", 2));
    assert!(!shows("ending", "inside.txt", 2));
    assert!(!shows("away", &away, 2));
    assert!(!shows("climbs", "../reports-elsewhere/away.cu", 2));
    assert!(!shows("system", "/proc/self/status", 2));
    assert!(!shows("folder", ".", 2));
    for line in [0, 3, 4, 4_000_000_000] {
        assert!(!shows("behind", "inside.cu", line), "{line}");
    }
    #[cfg(unix)]
    {
        let link = here.join("link.cu");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&elsewhere, &link).expect("a link");
        assert!(!shows("link", "link.cu", 2));
    }
    // Whoever stands above a source may see it.
    assert!(
        beyond(
            elsewhere.parent().expect("a folder"),
            &kernel("above", &away, 2)
        )
        .contains(secret)
    );
}

#[test]
fn allowed_warnings_are_counted_and_not_denied() {
    let path = kernel("allowed", "no.cu", 7);
    let race = |more: &[&str]| {
        let args = ["race", &path, "--threads", "8", "--arg", "n=8"];
        volta(&[&args[..], more].concat())
    };
    let denied = ["--deny", "warnings"];
    assert_eq!(race(&denied).status.code(), Some(1));
    for place in ["", "@no.cu", "@no.cu:7", "@allowed"] {
        let allow = format!("thin-coverage{place}");
        let output = race(&[&denied[..], &["--allow", &allow]].concat());
        assert_eq!(output.status.code(), Some(0), "{place}");
        let said = text(&output);
        assert!(
            said.contains("1 warning is allowed") && !said.contains("took one way"),
            "{said}"
        );
        let object = json(&race(&["--json", "--allow", &allow]));
        assert_eq!(object["warnings"][0]["allowed"], true, "{object}");
    }
    for place in ["@no.cu:8", "@o.cu", "@other.cu:7"] {
        let allow = format!("thin-coverage{place}");
        let output = race(&[&denied[..], &["--allow", &allow]].concat());
        assert_eq!(output.status.code(), Some(1), "{place}");
    }
    assert_eq!(race(&["--allow", "data-race"]).status.code(), Some(2));
}

#[test]
fn an_allow_of_a_manifest_has_a_reason_and_reaches_its_entry_alone() {
    let path = kernel("gated", "no.cu", 7);
    let entry = |name: &str, allow: &str| {
        format!(
            "[[race]]\nname = \"{name}\"\nkernel = {path:?}\nthreads = 8\nargs = {{ n = \"8\" }}\ndeny = [\"warnings\"]\n{allow}\n"
        )
    };
    let gate = |name: &str, text: String| {
        let file = scratch("reports", name, text.as_bytes());
        let file = file.to_str().expect("a name in UTF-8").to_string();
        volta(&["gate", &file, "--no-cache", "--json"])
    };
    let told = "allow = [{ kind = \"thin-coverage\", line = 7, reason = \"looked at\" }]";
    let object = json(&gate("both.toml", entry("a", told) + &entry("b", "")));
    assert_eq!(
        (&object["entries"][0]["ok"], &object["entries"][1]["ok"]),
        (&true.into(), &false.into())
    );
    let silent = gate(
        "silent.toml",
        entry("a", "allow = [{ kind = \"thin-coverage\" }]"),
    );
    assert!(text(&silent).contains("needs a `reason`"), "{silent:?}");
    let all = gate(
        "all.toml",
        format!("[defaults]\n{told}\n{}", entry("a", "")),
    );
    assert_eq!(all.status.code(), Some(2));
}

#[test]
fn what_is_proposed_is_run() {
    let path = kernel("covered", "no.cu", 7);
    let race = |more: &[&str]| {
        let args = [
            "race",
            &path,
            "--threads",
            "8",
            "--grid",
            "2",
            "--arg",
            "n=16",
        ];
        volta(
            &[
                &args[..],
                &["--arg", "0=in:f32[16]", "--arg", "1=out:f32[16]"],
                more,
            ]
            .concat(),
        )
    };
    let before = json(&race(&["--json"]));
    let flags = before["warnings"][0]["sizes"][0]["flags"].to_string();
    assert!(
        flags.contains("in:f32[{n}]") && flags.contains("{ceildiv(n,8)}"),
        "{flags}"
    );
    let after = json(&race(&["--json", "--cover"]));
    assert_eq!(after["verdict"], "clean", "{after}");
    let instances = after["instances"].as_array().expect("instances");
    assert!(instances.len() > 2, "{after}");
    assert_eq!(instances[0]["for"]["n"], 16);
    assert!(instances.iter().any(|i| i["for"]["n"] == 15));
    assert_eq!(
        after["warnings"].as_array().map(Vec::len),
        Some(0),
        "{after}"
    );
    let same = [1, 2].map(|n| text(&race(&["--cover", "--jobs", &n.to_string(), "--quiet"])));
    assert_eq!(same[0], same[1]);
    let none = volta(&["race", &path, "--threads", "8", "--arg", "n=5", "--cover"]);
    assert!(
        text(&none).contains("no other size is proposed"),
        "{none:?}"
    );
    assert_eq!(race(&["--cover", "--for", "k=1,2"]).status.code(), Some(2));
}

#[test]
fn quiet_is_the_verdict_alone() {
    let path = kernel("quiet", "no.cu", 7);
    let args = ["race", &path, "--threads", "8", "--arg", "n=8"];
    let whole = text(&volta(&args));
    let quiet = volta(&[&args[..], &["--quiet"]].concat());
    assert_eq!(quiet.status.code(), Some(0));
    assert_eq!(
        text(&quiet),
        format!("{}\n", whole.lines().next().expect("a line"))
    );
}
