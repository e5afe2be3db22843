//! Manifests of kernels that a test has written, and the tool that runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of its own for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Runs a manifest, all of which must pass; what it printed.
pub(crate) fn gate(folder: &Path, manifest: &[String], json: bool) -> String {
    let path = folder.join("volta.toml");
    std::fs::write(&path, manifest.concat()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    command.arg("gate").arg(&path).arg("--no-cache");
    if json {
        command.arg("--json");
    }
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let text = text + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    let count = format!("{} passed, 0 failed", manifest.len());
    assert!(json || text.contains(&count), "{text}");
    text
}
