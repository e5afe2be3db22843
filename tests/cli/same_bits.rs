//! What `check --bits --sass` reads of built code: the programs are scripts here, which say what they were told to say.

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
