//! Text of others in every field and every format: whatever it is made of, an output has nothing but its lines of what
//! does not show, and no line is a command of a CI service. What is drawn at random is in `benches/measured/texts.py`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::FOUR as LAUNCH;

const FORMATS: [&str; 6] = ["human", "json", "sarif", "junit", "html", "github"];
const ALL: usize = FORMATS.len();

/// One of each kind of what a terminal, a reader, XML or a CI service takes for something else.
const HOSTILE: &str = "z\n::error file=x::y\r##[error]q##vso[t]\u{1b}[31m\u{1b}]0;t\u{7}\u{7f}\u{85}\u{9b}2J\u{61c}\u{200b}\u{200d}\u{200f}\
                       \u{2028}\u{202e}\u{2066}\u{feff}\u{fffe}\u{e0041}";

/// Pieces of it that stand in no name of a file, in no comment, or in no value of a flag that goes on.
const LINE: &str = "z##[error]q\u{1b}[31m\u{7f}\u{85}\u{9b}2J\u{61c}\u{200b}\u{200f}\u{2028}\u{202e}\u{2066}\u{feff}\u{fffe}\u{e0041}";

const BODY: &str = "ld.global.f32 %f0, [%d0]; add.f32 %f0, %f0, %f0; st.global.f32 [%d1], %f0;";

/// A race in shared memory.
const RACY: &str = "st.shared.f32 [s], %f0; ld.shared.f32 %f1, [s]; st.global.f32 [%d1], %f1;";

fn folder(name: &str) -> PathBuf {
    let dir = super::folder("foreign", name);
    write(&dir, "k.ptx", &kernel("", BODY));
    dir
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("a file for the test");
}

fn kernel(head: &str, body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_80\n.address_size 64\n{head}\n.visible .entry k(.param .u64 p, .param .u64 q)\n{{\n\
         .reg .f32 %f<9>; .reg .u64 %d<9>;\nld.param.u64 %d0, [p]; ld.param.u64 %d1, [q];\n{body}\nret;\n}}\n"
    )
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let units = text.chars().map(|c| format!("\\U{:08X}", u32::from(c)));
    format!("\"{}\"", units.collect::<String>())
}

fn volta(dir: &Path, args: &[&str], is_coloured: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    command.args(args).current_dir(dir);
    command
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("COLUMNS", "1000")
        .env_remove("NO_COLOR");
    if is_coloured {
        command.env("CLICOLOR_FORCE", "1");
    }
    command.output().expect("volta starts")
}

/// The text without the styles that volta has.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or("").to_string();
    for part in parts {
        match part.split_once('m') {
            Some((number, rest))
                if number.len() < 3 && number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                out.push_str(rest)
            }
            _ => out.push_str(&format!("\u{1b}{part}")),
        }
    }
    out
}

/// Panics where a text has what does not show, or a command.
fn judge(text: &str, what: &dyn std::fmt::Debug) {
    let is_raw = |c: char| {
        c.is_control() && c != '\n'
            || HOSTILE.contains(c) && !c.is_ascii()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(c) = text.chars().find(|&c| is_raw(c)) {
        panic!("{what:?}: {c:?} is raw in {text}");
    }
    let is_command = |l: &str| {
        let trimmed = l.trim_start();
        let is_place = l.starts_with(' ') && trimmed.starts_with("::: ");
        trimmed.starts_with("::") && !is_place || l.contains("##[") || l.contains("##vso[")
    };
    if let Some(line) = text.lines().find(|l| is_command(l)) {
        panic!("{what:?}: the command {line:?} in {text}");
    }
}

/// The text with each command of a workflow that volta means to give as its message: it begins its line, and no other command
/// or property stands in it.
fn without_commands(text: &str) -> String {
    let line = |line: &str| {
        let words = ["error", "warning", "notice"];
        let head = words
            .iter()
            .find_map(|w| line.strip_prefix(&format!("::{w} ")));
        let Some((properties, message)) = head.and_then(|h| h.split_once("::")) else {
            return format!("{line}\n");
        };
        let names = ["file", "line", "col", "endColumn", "title"];
        for property in properties.split(',') {
            let known = property.split_once('=').filter(|p| names.contains(&p.0));
            assert!(known.is_some_and(|p| !p.1.contains(':')), "{line}");
        }
        format!("{message}\n")
    };
    text.lines().map(line).collect()
}

/// Runs a command in each format and looks at all that it writes; the exit statuses.
fn in_every_format(dir: &Path, args: &[&str]) -> Vec<Option<i32>> {
    let of_format = |format: &&str| {
        let is_coloured = *format == "human";
        let all = [args, &["--format", *format]].concat();
        let out = volta(dir, &all, is_coloured);
        for stream in [&out.stdout, &out.stderr] {
            let text = String::from_utf8(stream.clone()).expect("text");
            let text = match *format {
                "human" => without_styles(&text),
                "github" => without_commands(&text),
                _ => text,
            };
            judge(&text, &all);
        }
        let text = String::from_utf8_lossy(&out.stdout);
        if ["json", "sarif"].contains(format) && !text.is_empty() {
            let object: serde_json::Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{all:?}: {e}: {text}"));
            for result in object["runs"][0]["results"]
                .as_array()
                .into_iter()
                .flatten()
            {
                judge(result["message"]["text"].as_str().expect("a message"), &all);
            }
        }
        assert!(
            !text.is_empty() || !out.stderr.is_empty(),
            "{all:?}: nothing is said"
        );
        out.status.code()
    };
    FORMATS.iter().map(of_format).collect()
}

#[test]
fn in_flags() {
    let dir = folder("flags");
    let flags = "--entry --arg --name --map --assume --only --alias --for --spec --deny --threads --block --grid --cta --timeout \
                 --wmma-layout --jobs --buffer --opt-arg --memory-limit --also --formula --nonsense";
    let forms = [
        "{}",
        "0={}",
        "{}=0",
        "1=out:f32[4]=@{}",
        "{} in 0..4",
        "q[i] = `{}`[i]",
    ];
    for (i, flag) in flags.split_whitespace().enumerate() {
        for form in [forms[0], forms[1 + i % (forms.len() - 1)]] {
            let value = form.replace("{}", HOSTILE);
            let both = format!("{flag}={value}");
            let codes = in_every_format(
                &dir,
                &[&["check", "k.ptx", "k.ptx", &both][..], &LAUNCH].concat(),
            );
            assert!(
                codes.iter().all(|&c| c == Some(2)),
                "{flag} {form}: {codes:?}"
            );
        }
    }
    let words = [
        &["explain", HOSTILE][..],
        &["man", HOSTILE],
        &["gate", HOSTILE],
        &[HOSTILE],
        &["race", "k.ptx", HOSTILE],
        &["dump", "--stage", HOSTILE],
    ];
    for args in words {
        let out = volta(&dir, args, false);
        judge(&String::from_utf8_lossy(&out.stderr), &args);
        assert_eq!(out.status.code(), Some(2));
    }
}

#[test]
fn in_names_of_files() {
    let dir = folder("files");
    write(&dir, HOSTILE, &kernel("", BODY));
    write(
        &dir,
        "racy\n::error x::y\u{202e}",
        &kernel(".shared .f32 s;", RACY),
    );
    write(
        &dir,
        "wrong\n::error x::y\u{202e}",
        &kernel("", "add.f32 %f0;"),
    );
    let codes = |args: &[&str]| in_every_format(&dir, &[args, &LAUNCH].concat());
    assert_eq!(codes(&["check", "k.ptx", HOSTILE]), [Some(0); ALL]);
    assert_eq!(codes(&["slack", HOSTILE]), [Some(0); ALL]);
    assert_eq!(
        codes(&["race", "racy\n::error x::y\u{202e}"]),
        [Some(1); ALL]
    );
    assert_eq!(
        codes(&["race", "wrong\n::error x::y\u{202e}"]),
        [Some(2); ALL]
    );
    assert_eq!(
        codes(&["race", "none\n::error x::y\u{202e}"]),
        [Some(2); ALL]
    );
    // What a program reads is the name itself.
    let out = volta(
        &dir,
        &[&["race", HOSTILE, "--json"][..], &LAUNCH].concat(),
        false,
    );
    let object: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(object["kernel"]["file"], HOSTILE);
    // So does a manifest that is to be run.
    let made = volta(&dir, &["init", HOSTILE, "k.ptx"], false).stdout;
    let made = String::from_utf8(made).expect("text");
    judge(&made, &"init");
    let made = made.replacen("# threads = N ", "threads = 4 # ", 1);
    write(&dir, "volta.toml", &made);
    assert_eq!(
        in_every_format(&dir, &["gate", "volta.toml"]),
        [Some(0); ALL]
    );
}

#[test]
fn in_manifests() {
    let dir = folder("manifests");
    let text = quoted(HOSTILE);
    let keys = "name expect kernel threads args assume deny denied defects only names for map entry nonsense";
    let values = [
        "{}",
        "[{}]",
        "{ {} = 1 }",
        "{ \"0\" = {} }",
        "{ file = {} }",
    ];
    for (i, key) in keys.split_whitespace().enumerate() {
        for value in [values[0], values[1 + i % 4]] {
            let kernel = if key == "kernel" {
                ""
            } else {
                "kernel = \"k.ptx\"\n"
            };
            let value = value.replace("{}", &text);
            write(
                &dir,
                "volta.toml",
                &format!("[[race]]\n{kernel}{key} = {value}\n"),
            );
            in_every_format(&dir, &["gate", "volta.toml", "--no-cache"]);
            write(&dir, "spec.toml", &format!("{kernel}{key} = {value}\n"));
            in_every_format(&dir, &["race", "k.ptx", "--spec", "spec.toml"]);
        }
    }
    for broken in [
        LINE,
        &format!("include = [{text}]"),
        &format!("[[race]]\nkernel = \"k.ptx\" {LINE}"),
        &format!("x = \"\"\"{HOSTILE}\"\"\""),
    ] {
        write(&dir, "volta.toml", broken);
        assert_eq!(
            in_every_format(&dir, &["gate", "volta.toml"]),
            [Some(2); ALL]
        );
    }
    // An entry that is not what it must be is shown with all that it says.
    write(
        &dir,
        "volta.toml",
        &format!(
            "[[race]]\nname = {text}\nkernel = \"k.ptx\"\nthreads = 4\nexpect = \"defective\"\n"
        ),
    );
    write(&dir, "l.ledger", &format!("{LINE}\n"));
    for more in [
        &[][..],
        &["--ledger", "l.ledger"],
        &["--filter", HOSTILE],
        &["--filter", "no\n::error such"],
    ] {
        in_every_format(
            &dir,
            &[&["gate", "volta.toml", "--no-cache"], more].concat(),
        );
    }
    write(&dir, "wrong.ptx", &kernel("", &BODY.replace("add", "mul")));
    let steps = format!(
        "threads = 4\nargs = {{ \"0\" = \"in:f32[4]\", \"1\" = \"out:f32[4]\" }}\n[naive]\nfile = \"k.ptx\"\n[[step]]\nname = {text}\n\
         file = \"wrong.ptx\"\n[[step]]\nname = \"last\"\nfile = \"wrong.ptx\"\n"
    );
    write(&dir, "steps.toml", &steps);
    assert_eq!(
        in_every_format(&dir, &["steps", "steps.toml"]),
        [Some(1); ALL]
    );
}

#[test]
fn in_kernels_and_formulas() {
    let dir = folder("kernels");
    let kernels = [
        (String::new(), format!("/* {LINE} */ frob;")),
        (String::new(), format!("{LINE} {BODY}")),
        (LINE.to_string(), BODY.to_string()),
        (
            ".shared .f32 s;".to_string(),
            format!("/* {LINE} */ {RACY} // {LINE}"),
        ),
        (
            format!(".file 1 \"{HOSTILE}\"\n.shared .f32 s;"),
            format!(".loc 1 3 1\n{RACY}"),
        ),
        (
            format!(".pragma \"{HOSTILE}\";"),
            format!(".pragma \"{HOSTILE}\";\n{BODY}"),
        ),
        (
            String::new(),
            format!("/* {LINE} */ ld.global.f32 %f0, [%d0+4000];"),
        ),
    ];
    for (head, body) in &kernels {
        write(&dir, "h.ptx", &kernel(head, body));
        for args in [
            &["race", "h.ptx"][..],
            &["check", "k.ptx", "h.ptx"],
            &["slack", "h.ptx"],
        ] {
            in_every_format(&dir, &[args, &LAUNCH].concat());
        }
        for args in [
            &["dump", "--stage", "ast", "h.ptx"][..],
            &["dump", "--stage", "kernel", "h.ptx"],
            &["init", "h.ptx"],
        ] {
            let out = volta(&dir, args, false);
            for stream in [&out.stdout, &out.stderr] {
                // Listings have tabs of their own.
                judge(&String::from_utf8_lossy(stream).replace('\t', " "), &args);
            }
        }
    }
    for formula in [
        format!("q[i] = 2*p[i] # {LINE}"),
        format!("q[i] = `{LINE}`[i]"),
        format!("q[i] = {LINE}"),
        format!("q[i] = p[i] # {LINE}"),
    ] {
        write(&dir, "f.txt", &formula);
        for given in ["@f.txt", &formula] {
            in_every_format(
                &dir,
                &[&["check", "--formula", given, "k.ptx"][..], &LAUNCH].concat(),
            );
        }
    }
}

/// The caret stands below the place, whatever stands before it.
#[test]
fn carets_follow_what_is_drawn() {
    let dir = folder("carets");
    write(
        &dir,
        "h.ptx",
        &kernel("", "/* \u{202e} \u{9b} */ frob.f32 %f0;"),
    );
    let out = volta(&dir, &["race", "h.ptx", "--threads", "4"], false);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .position(|l| l.contains("/* \\u{202e} \\u{9b} */ frob"))
        .unwrap_or_else(|| panic!("{text}"));
    assert_eq!(lines[at].find("frob"), lines[at + 1].find('^'), "{text}");
}
