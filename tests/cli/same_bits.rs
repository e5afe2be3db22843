//! `check --bits` and `classes` from outside: what must not change a verdict, what is no witness, and what `check --bits --sass` reads
//! of built code (its programs are scripts here, which say what they were told to say).

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use super::{json, root, scratch, volta};

/// Joins the sum of `mul_add` and of `fused` or leaves it, for programs that say so.
fn sass(test: &str, made: &str) -> Value {
    let text = std::fs::read_to_string(root().join("kernels/bits/joined.ptx")).expect("the PTX");
    let lines: Vec<&str> = text.lines().collect();
    let entry = lines
        .iter()
        .position(|l| l.contains("mul_add("))
        .expect("the entry");
    let sum = lines[entry..]
        .iter()
        .position(|l| l.contains("add.f32"))
        .expect("the sum");
    let number = entry + sum + 1;
    let scripts = [
        (
            "ptxas",
            "#!/bin/sh\necho 'tools, release 1.0, V1.0.0'\n".to_string(),
        ),
        (
            "nvdisasm",
            format!(
                "#!/bin/sh\ncat <<'END'\n.text.mul_add:\n//## File \".nv_debug_ptx_txt\", line {number}\n\
                 /*0010*/ {made} R0, R1, R2, R3 ;\nEND\n"
            ),
        ),
    ];
    let mut folder = None;
    for (name, script) in scripts {
        let path = scratch(test, name, script.as_bytes());
        std::fs::set_permissions(&path, Permissions::from_mode(0o755))
            .expect("a script that can be run");
        folder = path.parent().map(|p| p.to_path_buf());
    }
    let path = format!("{}:/usr/bin:/bin", folder.expect("a folder").display());
    let out = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args([
            "check",
            "--bits",
            "--sass=sm_99",
            "--threads",
            "1",
            "--json",
        ])
        .args(["--arg", "0=in:f32[3]", "--arg", "1=out:f32[1]"])
        .args(["--ref-entry", "mul_add", "--opt-entry"])
        .arg(if made == "FFMA" {
            "fused"
        } else {
            "mul_rn_add_rn"
        })
        .args(["kernels/bits/joined.ptx"; 2])
        .current_dir(root())
        .env_clear()
        .env("PATH", path)
        .output()
        .expect("volta starts");
    json(&out)
}

#[test]
fn a_sum_that_was_joined_is_one_operation() {
    let report = sass("sass-joined", "FFMA");
    assert_eq!(report["verdict"], "equivalent");
    assert_eq!(report["sass"]["contracted"], 1);
    assert_eq!(report["sass"]["target"], "sm_99");
    assert_eq!(report["sass"]["pairs"][0]["text"], "add.f32 f9, f4, f2;");
}

#[test]
fn a_sum_that_was_left_is_rounded_twice() {
    let report = sass("sass-apart", "FADD");
    assert_eq!(report["verdict"], "equivalent");
    assert_eq!(report["sass"]["contracted"], 0);
}

#[test]
fn built_code_is_read_for_bits_alone() {
    let file = "kernels/bits/joined.ptx";
    let out = volta(&["check", file, file, "--sass", "--threads", "1"]);
    assert_eq!(out.status.code(), Some(2));
}

/// A kernel in which a thread reads two floats and a word, and stores one word, behind other computations.
fn kernel([x, y, w, out]: [&str; 4], before: &str, body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 {x}, .param .u64 {y}, .param .u64 {w}, .param .u64 {out})\n{{\n\
         .reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .b64 %rd<8>;\nmov.u32 %r0, %tid.x;\n\
         ld.param.u64 %rd0, [{x}];\nld.param.u64 %rd1, [{y}];\nld.param.u64 %rd2, [{w}];\n\
         ld.param.u64 %rd3, [{out}];\nmul.wide.u32 %rd4, %r0, 4;\nadd.u64 %rd0, %rd0, %rd4;\n\
         add.u64 %rd1, %rd1, %rd4;\nadd.u64 %rd2, %rd2, %rd4;\nadd.u64 %rd3, %rd3, %rd4;\n{before}\
         ld.global.f32 %f0, [%rd0];\nld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2];\n{body}\
         st.global.f32 [%rd3], %f9;\nret;\n}}\n"
    )
}

/// Judges a pair of bodies, each behind other computations; the output is read as floats or as words.
fn judged(test: &str, names: [&str; 4], of: [(&str, &str); 2], out: &str) -> Value {
    let files: Vec<String> = (["a.ptx", "b.ptx"].iter().zip(of))
        .map(|(name, (before, body))| {
            let path = scratch(test, name, kernel(names, before, body).as_bytes());
            path.display().to_string()
        })
        .collect();
    let [x, y, w, o] = names;
    let args: Vec<String> = [
        format!("{x}=in:f32[4]"),
        format!("{y}=in:f32[4]"),
        format!("{w}=in:u32[4]"),
        format!("{o}=out:{out}[4]"),
    ]
    .into_iter()
    .flat_map(|a| ["--arg".into(), a])
    .collect();
    let mut line = vec!["check", "--bits", "--json", "--threads", "4"];
    line.extend(files.iter().chain(&args).map(String::as_str));
    json(&volta(&line))
}

#[test]
fn a_proof_does_not_depend_on_what_was_made_first() {
    // y - x, and the size of x + 0: a sign is at the one factor or at the other, and a sum becomes a number.
    let pairs = [
        (
            "sub.rn.f32 %f9, %f1, %f0;\n",
            "fma.rn.f32 %f9, %f0, 0fBF800000, %f1;\n",
        ),
        (
            "abs.f32 %f9, %f0;\n",
            "add.rn.f32 %f3, %f0, 0f00000000;\nabs.f32 %f9, %f3;\n",
        ),
    ];
    // The constants, the numbers and their negations may come first, and other threads have used them.
    let befores = [
        "",
        "ld.global.f32 %f5, [%rd2+0];\nmul.rn.f32 %f6, %f5, 0f3F800000;\n",
        "ld.global.f32 %f5, [%rd0];\nneg.f32 %f6, %f5;\nfma.rn.f32 %f7, %f6, 0f3F800000, 0fBF800000;\n",
    ];
    let names = [["a", "b", "c", "d"], ["w", "z", "x", "y"]];
    for (plain, other) in pairs {
        for before in befores {
            for (turned, names) in [(false, names[0]), (true, names[1])] {
                let mut of = [("", plain), (before, other)];
                if turned {
                    of.reverse();
                }
                let report = judged("bits-order", names, of, "f32");
                assert_eq!(report["verdict"], "equivalent", "{other} behind {before}");
                assert_eq!(report["outputs"][0]["proved"], 4);
            }
        }
    }
}

#[test]
fn which_nan_comes_out_is_no_witness() {
    // No manual says which NaN an operation makes of a NaN: words may hold one.
    let names = ["x", "y", "w", "o"];
    let set = "mov.b32 %r1, %f2;\nor.b32 %r1, %r1, 0x80000000;\nmov.b32 %f9, %r1;\n";
    let of = [("", "abs.f32 %f3, %f2;\nneg.f32 %f9, %f3;\n"), ("", set)];
    assert_eq!(judged("bits-nan", names, of, "u32")["verdict"], "unknown");
    assert_eq!(
        judged("bits-nan", names, of, "f32")["verdict"],
        "equivalent"
    );
}

#[test]
fn what_holds_for_numbers_alone_is_said() {
    let names = ["x", "y", "w", "o"];
    let of_input = [
        ("", "mov.f32 %f9, %f0;\n"),
        ("", "max.f32 %f9, %f0, 0fFF800000;\n"),
    ];
    let report = judged("bits-finite", names, of_input, "f32");
    assert_eq!(report["verdict"], "equivalent");
    let kinds = report["assumptions"].as_array().expect("assumptions");
    assert!(kinds.iter().any(|a| a["kind"] == "finite"));
    // A word may be a NaN, of which the larger with an infinity is that infinity.
    let of_word = of_input.map(|(before, body)| (before, body.replace("%f0", "%f2")));
    let of_word = [("", of_word[0].1.as_str()), ("", of_word[1].1.as_str())];
    let report = judged("bits-finite", names, of_word, "f32");
    assert_ne!(report["verdict"], "equivalent");
}

#[test]
fn identities_are_listed_with_condition_and_reason() {
    let out = volta(&["explain", "bits"]);
    assert_eq!(out.status.code(), Some(0));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let entries = text.split("\n\n").skip(1);
    assert!(entries.clone().count() > 30);
    for entry in entries {
        let said = entry.contains("\n  where ") && entry.contains("\n  because ");
        assert!(said, "{entry}");
    }
}
