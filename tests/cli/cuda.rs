//! CUDA files in the place of PTX. A script stands in for nvcc, so that what volta asks of it, keeps and says is seen without
//! CUDA; the tests of the Python package compile with the real one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::json;

/// Logs how it is called; `-E` gives the text with its headers, a compilation the PTX that stands in the text behind `PTX`.
const NVCC: &str = r##"#!/bin/sh
echo "$*" >> "$LOG"
for last; do :; done
while [ "$1" != -o ]; do shift; done
if grep -q '^broken' "$last"; then
  echo "$last(2): error: expected a \";\""
  exit 1
fi
case "$(tail -n 1 "$LOG")" in
  *" -E "*) cat "$last" "${last%/*}/header.h" > "$2";;
  *) sed '1,/PTX/d;/\*\//,$d' "$last" > "$2";;
esac
"##;

/// A kernel of CUDA with the PTX that the script makes of it.
fn cuda(entry: &str, file: &str, value: &str) -> String {
    format!(
        "__global__ void {entry}(float *out, int n) {{\n  out[threadIdx.x] = {value};\n}}\n/* PTX\n.version 9.0\n.target sm_80\n\
         .address_size 64\n{}.file 1 \"{file}\"\n*/\n",
        entry_of(entry, value)
    )
}

fn entry_of(entry: &str, value: &str) -> String {
    format!(
        ".visible .entry {entry}(.param .u64 {entry}_param_0, .param .u32 {entry}_param_1) {{\n.reg .u32 %r; .reg .u64 %d<3>; .reg .pred %p;\n\
         .loc 1 1 0\n.loc 1 2 1\nld.param.u64 %d0, [{entry}_param_0]; ld.param.u32 %r, [{entry}_param_1]; setp.eq.u32 %p, %r, 0;\n@%p ret;\n\
         mov.u32 %r, %tid.x; mul.wide.u32 %d1, %r, 4; add.u64 %d2, %d0, %d1;\nst.global.f32 [%d2], {value};\nret;\n}}\n"
    )
}

struct Place {
    dir: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let dir = super::folder("cuda", name);
        let place = Place { dir };
        place.write("nvcc", NVCC);
        place.write("header.h", "");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(place.dir.join("nvcc"), mode).expect("a script");
        }
        place.write("one.cu", &cuda("one", "one.cu", "0f3F800000"));
        place.write("same.cu", &cuda("same", "same.cu", "0f3F800000"));
        place.write("two.cu", &cuda("two", "two.cu", "0f40000000"));
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.join(name), text).expect("a file for the test");
    }

    fn command(&self, nvcc: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
        command.current_dir(&self.dir);
        command.env("XDG_CACHE_HOME", self.dir.join("cache"));
        command.env("VOLTA_CACHE_KEY", "a key of this test alone");
        command.env("NVCC", nvcc);
        command.env("LOG", self.dir.join("log"));
        command
    }

    fn volta(&self, args: &[&str]) -> Output {
        let mut command = self.command(&self.dir.join("nvcc"));
        command.args(args).output().expect("volta starts")
    }

    /// The times that it was asked for PTX, not for a text with its headers.
    fn compilations(&self) -> usize {
        let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        log.lines().filter(|l| !l.contains(" -E ")).count()
    }
}

const LAUNCH: [&str; 6] = ["--threads", "4", "--arg", "out=out:f32[4]", "--arg", "n=4"];

#[test]
fn a_cuda_file_stands_wherever_ptx_does() {
    let place = Place::new("pair");
    let status = |args: &[&str]| place.volta(&[args, &LAUNCH].concat()).status.code();
    assert_eq!(status(&["check", "one.cu", "same.cu"]), Some(0));
    assert_eq!(place.compilations(), 2);
    assert_eq!(status(&["check", "one.cu", "two.cu"]), Some(1));
    assert_eq!(
        place.compilations(),
        3,
        "an unchanged file was compiled again"
    );
    // A header that changes changes what is compiled.
    place.write("header.h", "int changed;");
    assert_eq!(status(&["race", "one.cu"]), Some(0));
    assert_eq!(place.compilations(), 4);
    // So do flags.
    let flags = [
        "race",
        "one.cu",
        "--arch",
        "sm_90a",
        "--nvcc-flag=-DN=4",
        "--nvcc-flag",
        "-O1",
    ];
    assert_eq!(status(&flags), Some(0));
    let log = std::fs::read_to_string(place.dir.join("log")).expect("a log");
    let last = log.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("-ptx -arch=sm_90a -DN=4 -O1 -lineinfo -o "),
        "{last}"
    );
    // So do the flags of the environment.
    let mut command = place.command(&place.dir.join("nvcc"));
    command.args([&flags[..], &LAUNCH].concat());
    command.env("NVCC_APPEND_FLAGS", "-fmad=false");
    let before = place.compilations();
    assert_eq!(command.status().expect("volta starts").code(), Some(0));
    assert_eq!(place.compilations(), before + 1);
    // Parameters have the names of the source, and the PTX names stay keys.
    let object =
        json(&place.volta(&[&["check", "one.cu", "two.cu", "--json"], &LAUNCH[..]].concat()));
    assert_eq!(object["counterexample"]["output"], "out", "{object}");
    let args = [
        "--threads",
        "4",
        "--arg",
        "one_param_0=out:f32[4]",
        "--arg",
        "1=4",
    ];
    let output = place.volta(&[&["race", "one.cu"], &args[..]].concat());
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn one_file_with_two_kernels_is_a_pair() {
    let place = Place::new("alone");
    let both = |values: [&str; 2]| {
        let [first, second] =
            [("slow", values[0]), ("fast", values[1])].map(|(e, v)| entry_of(e, v));
        format!(
            "// A pair.\n/* PTX\n.version 9.0\n.target sm_80\n.address_size 64\n{first}{second}.file 1 \"both.cu\"\n*/\n"
        )
    };
    let launch = [
        "--threads",
        "4",
        "--arg",
        "0=out:f32[4]",
        "--arg",
        "1=4",
        "--json",
    ];
    let check = |more: &[&str]| place.volta(&[&["check", "both.cu"], more, &launch].concat());
    place.write("both.cu", &both(["0f3F800000", "0f3F800000"]));
    let object = json(&check(&[]));
    assert_eq!(object["verdict"], "equivalent", "{object}");
    assert_eq!(object["reference"]["entry"], "slow", "{object}");
    assert_eq!(object["optimized"]["entry"], "fast", "{object}");
    // The one that is not named is the other one.
    let object = json(&check(&["--ref-entry", "fast"]));
    assert_eq!(object["optimized"]["entry"], "slow", "{object}");
    place.write("both.cu", &both(["0f3F800000", "0f40000000"]));
    assert_eq!(check(&[]).status.code(), Some(1));
    // A kernel is not compared with itself where nobody asked for it.
    for args in [
        &["--ref-entry", "slow", "--opt-entry", "slow"][..],
        &["--ref-entry", "none"],
    ] {
        let output = check(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(json(&output)["error"]["kind"], "entry", "{args:?}");
    }
    let output = place.volta(&[&["check", "one.cu"], &launch[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json(&output)["error"]["kind"], "entry");
}

#[test]
fn a_file_that_does_not_compile_is_an_error_at_its_line() {
    let place = Place::new("errors");
    place.write("bad.cu", "\nbroken\n");
    let object = json(&place.volta(&["race", "bad.cu", "--json"]));
    assert_eq!(object["error"]["kind"], "syntax", "{object}");
    let site = &object["error"]["sites"][0];
    assert_eq!(
        (&site["file"], &site["line"]),
        (&"bad.cu".into(), &2.into()),
        "{object}"
    );
    place.write("none.cu", "/* PTX\n.version 9.0\n*/\n");
    let object = json(&place.volta(&["race", "none.cu", "--json"]));
    assert_eq!(object["error"]["kind"], "entry", "{object}");
    // Whoever has no nvcc is told how to get one.
    let mut command = place.command(Path::new(""));
    command
        .args(["race", "one.cu", "--json"])
        .env("PATH", &place.dir);
    command.env_remove("CUDA_HOME").env_remove("CUDA_PATH");
    std::fs::rename(place.dir.join("nvcc"), place.dir.join("hidden")).expect("a rename");
    let object = json(&command.output().expect("volta starts"));
    let message = object["error"]["message"].as_str().unwrap_or_default();
    let is_installed = Path::new("/usr/local/cuda/bin/nvcc").exists();
    assert!(
        message.contains("pip install nvidia-cuda-nvcc") || is_installed,
        "{object}"
    );
}

#[test]
fn a_manifest_of_others_runs_nothing_but_nvcc() {
    let place = Place::new("others");
    let entry = |file: &str, more: &str| {
        format!(
            "[[race]]\nname = 'k'\nkernel = '{file}'\nthreads = 4\nargs = {{ out = 'out:f32[4]', n = 4 }}\n{more}\n"
        )
    };
    let gate = |text: &str| {
        place.write("volta.toml", text);
        place.volta(&["gate", "volta.toml", "--json"])
    };
    assert_eq!(
        gate(&entry("one.cu", "nvcc-flag = ['-DN=1']"))
            .status
            .code(),
        Some(0)
    );
    for flag in ["-ccbin=x", "-DN=$(touch spoiled)", "-o", "-Xcompiler=x"] {
        let output = gate(&entry("one.cu", &format!("nvcc-flag = ['{flag}']")));
        assert_eq!(output.status.code(), Some(2), "{flag}");
    }
    // nvcc hands file names to a shell.
    let name = "a$(touch spoiled).cu";
    std::fs::copy(place.dir.join("one.cu"), place.dir.join(name)).expect("a copy");
    assert_eq!(gate(&entry(name, "")).status.code(), Some(2));
    assert!(!place.dir.join("spoiled").exists());
}

#[test]
fn a_server_compiles_where_it_was_told_to() {
    use std::io::Write;
    let place = Place::new("server");
    let serve = |more: &[&str]| {
        let mut command = place.command(&place.dir.join("nvcc"));
        command.args(["serve", "--jobs", "1"]).args(more);
        command.stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped());
        let mut child = command.spawn().expect("volta starts");
        let request = r#"{"id":1,"op":"race","kernel":{"path":"one.cu"},"launch":{"threads":4,"args":{"out":"out:f32[4]","n":4}}}"#;
        let mut stdin = child.stdin.take().expect("its input");
        writeln!(stdin, "{request}").expect("a request");
        drop(stdin);
        json(&child.wait_with_output().expect("an answer"))
    };
    let refused = serve(&[]);
    assert_eq!(refused["ok"], false, "{refused}");
    assert_eq!(place.compilations(), 0);
    let answer = serve(&["--compile"]);
    assert_eq!(answer["result"]["verdict"], "clean", "{answer}");
}

/// A name that means different parameters of a pair is an error, not one of them.
#[test]
fn names_that_stand_apart_are_not_bound() {
    let place = Place::new("apart");
    let text = cuda("one", "one.cu", "0f3F800000");
    place.write(
        "swapped.cu",
        &text
            .replace("float *out, int n", "float *n, int out")
            .replace("one.cu", "swapped.cu"),
    );
    let check = |args: &[&str]| {
        let all = ["check", "one.cu", "swapped.cu", "--threads", "4", "--json"];
        place.volta(&[&all, args].concat())
    };
    let output = check(&["--arg", "out=out:f32[4]"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json(&output)["error"]["kind"], "binding");
    assert_eq!(
        check(&["--arg", "0=out:f32[4]", "--arg", "1=4"])
            .status
            .code(),
        Some(0)
    );
}

/// Whoever knows the name of a size asks about the same sizes as whoever does not.
#[test]
fn names_of_parameters_change_no_answer() {
    let place = Place::new("every");
    let body = "__global__ void k(float *out, int n) {\n  int i = threadIdx.x;\n  if (i < n) out[i] = 1;\n}\n";
    place.write("k.cu", body);
    let text = |loc: &str| {
        format!(
            ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {{\n\
             .reg .u32 %r<3>; .reg .u64 %d<3>; .reg .pred %p;\n{loc}ld.param.u64 %d0, [k_param_0]; ld.param.u32 %r0, [k_param_1];\n\
             mov.u32 %r1, %tid.x; setp.ge.s32 %p, %r1, %r0;\n@%p ret;\nmul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1;\n\
             st.global.f32 [%d2], 0f3F800000;\nret;\n}}\n.file 1 \"k.cu\"\n"
        )
    };
    place.write("named.ptx", &text(".loc 1 1 0\n.loc 1 2 3\n"));
    place.write("plain.ptx", &text(""));
    let ask = |file: &str, more: &[&str]| {
        let all = ["race", file, "--json", "--arg", "0=out:f32[100]"];
        json(&place.volta(&[&all, more].concat()))
    };
    let named = |key: &str| {
        [
            "--any".to_string(),
            "--assume".into(),
            format!("{key} <= 100"),
        ]
    };
    for (keys, verdict) in [(Some(["n", "k_param_1"]), "clean"), (None, "defective")] {
        let more = keys.map(|keys| keys.map(named));
        let more = |i: usize| {
            more.as_ref()
                .map_or(vec!["--any"], |m| m[i].iter().map(String::as_str).collect())
        };
        let [named, plain] = [ask("named.ptx", &more(0)), ask("plain.ptx", &more(1))];
        assert_eq!(named["verdict"], verdict, "{named}");
        assert_eq!(plain["verdict"], verdict, "{plain}");
        let scope = named["scope"]["launches"]["text"].as_str();
        assert!(scope.is_none_or(|text| text.contains(" n")), "{named}");
    }
    let unbound = |file: &str| {
        let report = ask(file, &["--threads", "4"]);
        (
            report["verdict"].clone(),
            report["warnings"].as_array().map(Vec::len),
        )
    };
    assert_eq!(unbound("named.ptx"), unbound("plain.ptx"));
    // What is guessed of a size is guessed of it by any name.
    let init = |file: &str| {
        let text = String::from_utf8_lossy(&place.volta(&["init", file]).stdout).into_owned();
        text.lines().filter(|l| l.starts_with("args.")).count()
    };
    assert_eq!(init("named.ptx"), init("plain.ptx"));
}
