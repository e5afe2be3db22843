//! `volta serve` from outside: what it answers, and that nothing a client or an accident does costs more than one request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(120);

/// A server with its answers.
pub(super) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Server {
    pub(super) fn start(args: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_volta"))
            .arg("serve")
            .args(args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("volta starts");
        let stdout = child.stdout.take().expect("piped");
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("an answer is JSON");
                if send.send(value).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Server {
            child,
            stdin,
            lines,
        }
    }

    fn line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(line).expect("the server reads");
        stdin.write_all(b"\n").expect("the server reads");
    }

    fn send(&mut self, request: &Value) {
        self.line(request.to_string().as_bytes());
    }

    fn next(&self) -> Value {
        self.lines.recv_timeout(LONG).expect("an answer")
    }

    pub(super) fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        let answer = self.next();
        assert_eq!(answer["id"], request["id"], "{answer}");
        answer
    }

    fn prepare(&mut self) -> String {
        let request =
            json!({"id": "p", "op": "prepare", "reference": path(NAIVE), "launch": launch()});
        let answer = self.ask(&request);
        answer["handle"].as_str().expect("a handle").to_string()
    }

    /// Process ids of its workers.
    fn workers(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).expect("proc").flatten();
        let children = tasks.map(|t| std::fs::read_to_string(t.path().join("children")));
        let children: Vec<String> = children.map(Result::unwrap_or_default).collect();
        let pids = children.iter().flat_map(|c| c.split_whitespace());
        pids.map(str::to_string).collect()
    }

    /// Closes the input; the server must end by itself.
    pub(super) fn end(mut self) -> Vec<Value> {
        self.stdin = None;
        let rest = self.lines.iter().collect();
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}");
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const NAIVE: &str = "kernels/softmax/naive_4.ptx";
const ONLINE: &str = "kernels/softmax/online_4.ptx";
const WRONG: &str = "kernels/softmax/online_4_no_rescale.ptx";

/// It never ends, and looks at the clock in between.
const ENDLESS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 x, .param .u64 y) {
    .reg .u32 %r<2>;
    mov.u32 %r1, 0;
L:  add.u32 %r1, %r1, 1;
    bra L;
}";

fn path(file: &str) -> Value {
    json!({"path": file})
}

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(path).expect("a kernel")
}

fn launch() -> Value {
    json!({"threads": 4, "args": {"0": "in:f32[4]", "1": "out:f32[4]"}})
}

fn signal(name: &str, pid: &str) {
    let done = Command::new("kill")
        .args([name, pid])
        .status()
        .expect("kill");
    assert!(done.success());
}

fn is_limit(answer: &Value) -> bool {
    answer["ok"] == true
        && answer["result"]["verdict"] == "unknown"
        && answer["result"]["unknown"][0]["kind"] == "limit"
}

#[test]
fn each_operation_answers() {
    let mut server = Server::start(&["--jobs", "1"]);
    let version = server.ask(&json!({"id": 1, "op": "version"}));
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"), "{version}");
    let handle = server.prepare();
    let check = json!({"id": 2, "op": "check", "handle": handle, "optimized": path(ONLINE), "launch": {}, "timeout": 60,
        "formats": ["human", "html"]});
    let answer = server.ask(&check);
    assert_eq!(answer["result"]["verdict"], "equivalent", "{answer}");
    assert_eq!(answer["result"]["command"], "check", "{answer}");
    assert_eq!(answer["result"]["reference"]["file"], NAIVE, "{answer}");
    let human = answer["texts"]["human"].as_str().expect("a text");
    assert!(
        human.contains("equivalent") && !human.contains('\u{1b}'),
        "{human}"
    );
    assert!(
        answer["texts"]["html"]
            .as_str()
            .expect("a page")
            .contains("<html")
    );

    // Texts with names; a name of the reference's own does not make a kernel the reference.
    let wrong = text(WRONG);
    for name in [NAIVE, "reference", "\0reference", "h1"] {
        let optimized = json!({"text": wrong, "name": name});
        let answer =
            server.ask(&json!({"id": 3, "op": "check", "handle": handle, "optimized": optimized}));
        assert_eq!(answer["result"]["verdict"], "not-equivalent", "{answer}");
        let answer = server.ask(&json!({"id": 3, "op": "check", "reference": path(NAIVE), "optimized": optimized, "launch": launch()}));
        assert_eq!(answer["result"]["verdict"], "not-equivalent", "{answer}");
    }
    let hidden =
        json!({"id": 3, "op": "check", "handle": handle, "optimized": {"path": "\0reference"}});
    assert_eq!(server.ask(&hidden)["ok"], false);

    let race = json!({"id": "r", "op": "race", "kernel": path(NAIVE), "launch": launch()});
    let answer = server.ask(&race);
    assert_eq!(answer["result"]["verdict"], "clean", "{answer}");

    let contents = json!({"threads": 4, "args": {"0": "in:f32[4]=0", "1": "out:f32[4]"}});
    let run = json!({"id": "x", "op": "run", "kernel": path(NAIVE), "launch": contents});
    let answer = server.ask(&run);
    assert_eq!(answer["result"]["verdict"], "ran", "{answer}");
    assert_eq!(
        answer["result"]["outputs"][0]["values"],
        json!([0.25, 0.25, 0.25, 0.25]),
        "{answer}"
    );

    assert_eq!(
        server.ask(&json!({"id": 4, "op": "release", "handle": handle}))["ok"],
        true
    );
    let answer = server.ask(&check);
    assert_eq!(answer["ok"], false, "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("prepare it again"), "{message}");
    assert_eq!(server.end(), Vec::<Value>::new());
}

#[test]
fn a_prepared_reference_is_read_once() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("serve");
    std::fs::create_dir_all(&dir).expect("a directory");
    let file = dir.join("reference.ptx");
    std::fs::write(&file, text(NAIVE)).expect("a file");
    let mut server = Server::start(&["--jobs", "2"]);
    let request =
        json!({"id": 0, "op": "prepare", "reference": {"path": file}, "launch": launch()});
    let handle = server.ask(&request)["handle"].clone();
    std::fs::write(&file, "nothing").expect("a file");
    for id in 1..=6 {
        server.send(&json!({"id": id, "op": "check", "handle": handle, "optimized": path(ONLINE)}));
    }
    for _ in 1..=6 {
        let answer = server.next();
        assert_eq!(answer["result"]["verdict"], "equivalent", "{answer}");
    }
}

#[test]
fn errors_are_answers() {
    let mut server = Server::start(&["--jobs", "1"]);
    // A line that is no request has no id that could be trusted.
    for line in [
        &b"{"[..],
        b"[]",
        b"7",
        b"\xff\xfe",
        b"{\"id\": 1, \"op\": ",
        b"\"\\ud800\"",
        b"{\"id\": [1]}",
        b"{\"id\": null}",
        b"{\"id\": 1e999}",
        b"{\"id\": 1, \"op\": \"race\", \"kernel\": {\"text\": \"\\udc00\"}}",
        b"\0\0\0\0",
        &[b'['; 1 << 20],
        &[
            b"{\"id\": 1, \"a\": ".as_slice(),
            &[b'['; 200],
            &[b']'; 200],
            b"}",
        ]
        .concat(),
    ] {
        server.line(line);
        let answer = server.next();
        assert_eq!(
            (&answer["id"], &answer["ok"]),
            (&Value::Null, &json!(false)),
            "{answer}"
        );
        assert!(answer["error"]["message"].is_string(), "{answer}");
    }
    let bad = [
        (json!({"id": 1}), "op"),
        (json!({"id": 1, "op": "chek"}), "chek"),
        (
            json!({"id": 1, "op": "check", "optimized": path(ONLINE)}),
            "handle",
        ),
        (
            json!({"id": 1, "op": "check", "handle": "h77", "optimized": path(ONLINE)}),
            "h77",
        ),
        (
            json!({"id": 1, "op": "check", "reference": path(NAIVE), "optimized": {"txt": ""}}),
            "txt",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": {"path": "a", "text": "b"}}),
            "kernel",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path("no/such.ptx")}),
            "no/such.ptx",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path("/dev/zero")}),
            "/dev/zero",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": {"thread": 4}}),
            "thread",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": {"kernel": ONLINE}}),
            "launch",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": {"expect": "clean"}}),
            "expect",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": launch(), "formats": ["pdf"]}),
            "pdf",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": launch(), "timeout": -1}),
            "-1",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": {"text": "nonsense", "name": "mine.ptx"}}),
            ".version",
        ),
        (
            json!({"id": 1, "op": "prepare", "reference": {"text": "nonsense"}}),
            ".version",
        ),
        (
            json!({"id": 1, "op": "prepare", "reference": path(NAIVE), "launch": {"entry": "other"}}),
            "other",
        ),
        (json!({"id": 1, "op": "cancel", "target": 99}), "99"),
        (
            json!({"id": 1, "op": "race", "kernel": {"formula": "y[i] = x[i]"}}),
            "reference",
        ),
        (
            json!({"id": 1, "op": "prepare", "reference": {"formula": "@file"}}),
            "file",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": {"for": {"n": [1]}}}),
            "`for`",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": {"formula": "y[i] = 0"}}),
            "`formula`",
        ),
        (
            json!({"id": 1, "op": "race", "kernel": path(NAIVE), "launch": {"kernel": {"file": ONLINE}}}),
            "`kernel`",
        ),
        (json!({"id": 1, "op": "release", "handle": "x"}), "`x`"),
    ];
    for (request, needle) in &bad {
        let answer = server.ask(request);
        assert_eq!(answer["ok"], false, "{answer}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains(needle), "{message} for {request}");
    }
    // Blank lines are none, and a line beyond all bounds is one error.
    server.line(b"  ");
    let huge = vec![b'x'; (64 << 20) + 1];
    server.line(&huge);
    let answer = server.next();
    assert_eq!(
        (&answer["id"], &answer["ok"]),
        (&Value::Null, &json!(false)),
        "{answer}"
    );
    assert_eq!(server.ask(&json!({"id": 5, "op": "version"}))["ok"], true);
    assert_eq!(server.end(), Vec::<Value>::new());
}

/// A client that is gone reads no answers, whatever becomes of its end of the input.
#[cfg(unix)]
#[test]
fn nothing_is_left_of_a_client_that_is_gone() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args(["serve", "--jobs", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("volta starts");
    let mut stdin = child.stdin.take().expect("piped");
    let kernel = json!({"text": ENDLESS, "name": "endless"});
    for id in 0..4 {
        let race = json!({"id": id, "op": "race", "kernel": kernel, "launch": {"threads": 4}, "timeout": 300});
        writeln!(stdin, "{race}").expect("the server reads");
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("a child").is_none());
    drop(child.stdout.take());
    let ended = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().expect("a child").is_some()
    });
    let _ = child.kill();
    let _ = child.wait();
    assert!(ended, "it goes on");
    drop(stdin);
}

/// An answer that nobody takes holds a server that was told to end for a moment alone.
#[cfg(unix)]
#[test]
fn an_interrupt_waits_for_no_reader() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args(["serve", "--jobs", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("volta starts");
    let mut stdin = child.stdin.take().expect("piped");
    // Their answers are more than a pipe holds.
    for id in 0..200 {
        let race = json!({"id": id, "op": "race", "kernel": path(NAIVE), "launch": launch(), "formats": ["html"]});
        writeln!(stdin, "{race}").expect("the server reads");
    }
    std::thread::sleep(Duration::from_secs(5));
    signal("-TERM", &child.id().to_string());
    let ended = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().expect("a child").is_some()
    });
    let _ = child.kill();
    let _ = child.wait();
    assert!(ended, "it waits for a reader");
}

#[test]
fn a_request_can_be_cancelled() {
    let mut server = Server::start(&["--jobs", "1"]);
    let kernel = json!({"text": ENDLESS, "name": "endless"});
    let race = |id: u32| json!({"id": id, "op": "race", "kernel": kernel, "launch": {"threads": 4}, "formats": ["human"]});
    server.send(&race(1));
    server.send(&race(2));
    std::thread::sleep(Duration::from_millis(300));
    // One waits and the other runs.
    for target in [2, 1] {
        assert_eq!(
            server.ask(&json!({"id": "c", "op": "cancel", "target": target}))["ok"],
            true
        );
        let answer = match target {
            2 => continue,
            _ => server.next(),
        };
        assert!(answer["id"] == 1 && is_limit(&answer), "{answer}");
        assert!(
            answer["texts"]["human"]
                .as_str()
                .expect("a text")
                .contains("cancelled")
        );
    }
    let answer = server.next();
    assert!(answer["id"] == 2 && is_limit(&answer), "{answer}");
    let answer =
        server.ask(&json!({"id": 3, "op": "race", "kernel": path(NAIVE), "launch": launch()}));
    assert_eq!(answer["result"]["verdict"], "clean", "{answer}");
}

/// A worker that is lost costs at most the request that it was at.
#[test]
fn workers_are_replaced() {
    let mut server = Server::start(&["--jobs", "1"]);
    let handle = server.prepare();
    let check = json!({"id": 2, "op": "check", "handle": handle, "optimized": path(ONLINE)});
    for name in ["-KILL", "-SEGV", "-TERM"] {
        // While it waits: nothing is lost.
        let workers = server.workers();
        assert_eq!(workers.len(), 1);
        signal(name, &workers[0]);
        std::thread::sleep(Duration::from_millis(100));
        if name != "-TERM" {
            let answer = server.ask(&check);
            assert_eq!(answer["result"]["verdict"], "equivalent", "{answer}");
        }
        // While it works.
        let kernel = json!({"text": ENDLESS, "name": "endless"});
        server.send(&json!({"id": 3, "op": "race", "kernel": kernel, "launch": {"threads": 4}}));
        std::thread::sleep(Duration::from_millis(400));
        signal(name, &server.workers()[0]);
        let answer = server.next();
        assert!(answer["id"] == 3 && is_limit(&answer), "{name}: {answer}");
        let answer = server.ask(&check);
        assert_eq!(
            answer["result"]["verdict"], "equivalent",
            "{name}: {answer}"
        );
    }
    // A new worker gets the reference with its first request, even one that is refused.
    signal("-KILL", &server.workers()[0]);
    std::thread::sleep(Duration::from_millis(100));
    let mut refused = check.clone();
    refused["launch"] = json!({"thread": 3});
    assert_eq!(server.ask(&refused)["ok"], false);
    assert_eq!(server.ask(&check)["result"]["verdict"], "equivalent");
    // One that does not even look at its limits any more.
    signal("-STOP", &server.workers()[0]);
    let mut limited = check.clone();
    limited["timeout"] = json!(0.5);
    let answer = server.ask(&limited);
    assert!(is_limit(&answer), "{answer}");
    assert_eq!(server.ask(&check)["result"]["verdict"], "equivalent");
    let workers = server.workers();
    server.end();
    for pid in workers {
        assert!(
            !Path::new(&format!("/proc/{pid}")).exists(),
            "{pid} lives on"
        );
    }
}

#[test]
fn memory_is_bounded() {
    let mut server = Server::start(&["--jobs", "1", "--memory-limit", "48000000"]);
    let mut long = ENDLESS.replace('}', "");
    for _ in 0..400_000 {
        long.push_str("add.u32 %r1, %r1, 1;\n");
    }
    let kernel = json!({"text": long + "}", "name": "long"});
    let race = json!({"id": 1, "op": "race", "kernel": kernel, "launch": {"threads": 4}});
    let answer = server.ask(&race);
    assert!(is_limit(&answer), "{answer}");
    let message = &answer["result"]["unknown"][0]["message"];
    assert!(
        message.as_str().expect("a message").contains("memory"),
        "{answer}"
    );
    let race = json!({"id": 2, "op": "race", "kernel": path(NAIVE), "launch": launch()});
    assert_eq!(server.ask(&race)["result"]["verdict"], "clean");
}

/// Several clients' worth of requests at once, right, wrong, malformed, hanging and cancelled ones among them.
#[test]
fn every_request_of_many_is_answered_once() {
    let mut server = Server::start(&["--jobs", "3"]);
    let handle = server.prepare();
    let wrong = text(WRONG);
    let mut expected: BTreeMap<u64, &str> = BTreeMap::new();
    let mut malformed = 0;
    for id in 0..300 {
        let check = |optimized: Value| json!({"id": id, "op": "check", "handle": handle, "optimized": optimized});
        let (request, verdict) = match id % 10 {
            0 | 1 => (
                check(json!({"text": wrong, "name": "wrong"})),
                "not-equivalent",
            ),
            2 => (check(json!({"text": "}{", "name": "bad"})), "error"),
            3 => (
                json!({"id": id, "op": "race", "kernel": path(NAIVE), "launch": launch()}),
                "clean",
            ),
            4 if id % 50 == 4 => {
                let kernel = json!({"text": ENDLESS, "name": "endless"});
                let race = json!({"id": id, "op": "race", "kernel": kernel, "launch": {"threads": 1}, "timeout": 0.2});
                (race, "unknown")
            }
            5 => {
                server.line(b"{\"id\": 5, \"op\"");
                malformed += 1;
                (json!({"id": id, "op": "version"}), "error-free")
            }
            _ => (check(path(ONLINE)), "equivalent"),
        };
        expected.insert(id, verdict);
        server.send(&request);
    }
    for answer in server.end() {
        let Some(id) = answer["id"].as_u64() else {
            malformed -= 1;
            continue;
        };
        let verdict = expected
            .remove(&id)
            .unwrap_or_else(|| panic!("answered twice: {answer}"));
        match verdict {
            "error" => assert_eq!(answer["ok"], false, "{answer}"),
            "error-free" => assert_eq!(answer["ok"], true, "{answer}"),
            _ => assert_eq!(answer["result"]["verdict"], verdict, "{answer}"),
        }
    }
    assert_eq!(malformed, 0);
    assert!(expected.is_empty(), "lost: {expected:?}");
}

/// Each element of a row is x * x + 1, without rounding modifiers, so that the assembler may join product and sum.
const ROWS: &str = "
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{
    .reg .f32 %f<4>;
    .reg .b32 %r<2>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d3, %r1, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f1, [%d4];
    mul.f32 %f2, %f1, %f1;
    add.f32 %f3, %f2, 0f3F800000;
    st.global.f32 [%d5], %f3;
    ret;
}
";

#[test]
fn rows_of_two_codes_may_be_joined_otherwise() {
    let mut server = Server::start(&["--jobs", "1"]);
    let launch = |rows: u32| {
        json!({
            "threads": rows,
            "rows": "y[i] of x[i]",
            "args": {"x": format!("in:f32[{rows}]"), "y": format!("out:f32[{rows}]")},
        })
    };
    let other = format!("{ROWS}// Another code.\n");
    for (small, verdict) in [(ROWS, "equivalent"), (other.as_str(), "unknown")] {
        let answer = server.ask(&json!({
            "id": 1,
            "op": "rows",
            "kernel": {"text": ROWS, "name": "k.ptx"},
            "launch": launch(4),
            "smallest": {"kernel": {"text": small, "name": "small.ptx"}, "launch": launch(1)},
        }));
        let result = &answer["result"];
        assert_eq!(result["verdict"], verdict, "{answer}");
        let kind = &result["unknown"][0]["kind"];
        assert!(verdict == "equivalent" || kind == "contraction", "{answer}");
    }
    server.end();
}
