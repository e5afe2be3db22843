//! What a person sees on a terminal: progress of what takes above a second, and an interrupt that
//! ends with what is known. The terminal is that of script(1), of util-linux.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LOOP: &str = ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nL: bar.sync 0;\nbra L;\n}\n";

/// Runs volta on a terminal, presses Ctrl-C after a while, and gives back what the screen showed
/// and the exit status.
fn on_a_terminal(arguments: &str, dir: &Path, interrupt_after: Duration) -> (String, i32) {
    let command = format!(
        "{} {arguments}; echo status $?",
        env!("CARGO_BIN_EXE_volta")
    );
    // An interrupt from the keyboard reaches everything on the terminal: the shell stays.
    let command = format!("trap : INT; stty rows 40 cols 120; {command}");
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(dir)
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script(1) starts");
    let mut keyboard = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = screen.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    std::thread::sleep(interrupt_after);
    let start = Instant::now();
    keyboard.write_all(b"\x03").expect("a key");
    keyboard.flush().expect("a key");
    child.wait().expect("script(1) ends");
    drop(keyboard);
    assert!(start.elapsed() < Duration::from_secs(60), "slow to end");
    let text = reader.join().expect("the screen");
    let status = text.rsplit("status ").next().unwrap_or("");
    let status = status.trim().parse().unwrap_or(-1);
    (text, status)
}

fn folder(name: &str) -> std::path::PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("terminal")
        .join(name);
    std::fs::create_dir_all(&dir).expect("a directory for the test");
    std::fs::write(dir.join("loop.ptx"), LOOP).expect("a file for the test");
    dir
}

#[test]
fn a_race_shows_progress_and_ends_cleanly() {
    let dir = folder("race");
    let (text, status) = on_a_terminal("race loop.ptx --threads 64", &dir, Duration::from_secs(4));
    assert!(
        text.contains("simulate"),
        "no stage on the screen: {text:?}"
    );
    assert!(text.contains("an interrupt came"), "{text:?}");
    assert_eq!(status, 3, "{text:?}");
}

#[test]
fn a_gate_shows_progress_and_ends_cleanly() {
    let dir = folder("gate");
    let race =
        |name: &str| format!("[[race]]\nname = \"{name}\"\nkernel = \"loop.ptx\"\nthreads = 64\n");
    let text = format!(
        "[[race]]\nname = \"quick\"\nkernel = \"quick.ptx\"\nthreads = 64\n{}",
        race("slow")
    );
    std::fs::write(dir.join("volta.toml"), text).expect("a file for the test");
    std::fs::write(dir.join("quick.ptx"), LOOP.replace("bra L;", "ret;")).expect("a file");
    let (text, status) = on_a_terminal("gate volta.toml --no-cache", &dir, Duration::from_secs(4));
    assert!(text.contains("1/2"), "no progress on the screen: {text:?}");
    assert!(text.contains("1 passed, 1 failed"), "{text:?}");
    assert_eq!(status, 1, "{text:?}");
}
