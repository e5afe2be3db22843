//! A headless chromium that is told what to do by the Chrome DevTools Protocol.
//!
//! With `--remote-debugging-pipe` it reads commands from file 3 and writes answers and events to
//! file 4, each one JSON object that ends in a zero byte. A shell moves the standard files there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running browser.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
    events: Vec<Value>,
}

/// A page of it.
pub struct Tab<'b> {
    browser: &'b mut Browser,
    target: Value,
    session: Value,
}

/// Starts it with a profile below `dir`.
pub fn start(dir: &Path) -> Browser {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let name = names
        .iter()
        .find(|n| {
            let version = Command::new(n).arg("--version").output();
            version.is_ok_and(|o| o.status.success())
        })
        .expect("chromium is needed: apt-get install chromium");
    let script = format!(
        "exec {name} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
         --disable-background-networking --disable-component-update --hide-scrollbars \
         --user-data-dir=\"$1\" --remote-debugging-pipe 3<&0 4>&1 </dev/null >/dev/null 2>&1"
    );
    let mut child = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(dir.join("profile"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    let to = child.stdin.take().expect("a pipe");
    let from = BufReader::new(child.stdout.take().expect("a pipe"));
    Browser {
        child,
        to,
        from,
        calls: 0,
        events: Vec::new(),
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        let n = self.from.read_until(0, &mut bytes).expect("an answer");
        assert!(n > 0, "chromium ended");
        bytes.pop();
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn call(&mut self, session: Option<&Value>, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.clone();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("chromium listens");
        loop {
            let answer = self.receive();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// A new page of this size and with these preferred colours.
    pub fn tab(&mut self, width: u32, height: u32, colours: &str) -> Tab<'_> {
        let made = self.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let target = made["targetId"].clone();
        let attach = json!({"targetId": target, "flatten": true});
        let session = self.call(None, "Target.attachToTarget", attach)["sessionId"].clone();
        self.events.clear();
        let mut tab = Tab {
            browser: self,
            target,
            session,
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        tab.call("Emulation.setDeviceMetricsOverride", size);
        let feature = json!({"name": "prefers-color-scheme", "value": colours});
        tab.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
        tab
    }
}

impl Tab<'_> {
    /// One command of the protocol.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({"url": url}));
        let loaded = |e: &Value| e["method"] == "Page.loadEventFired";
        while !self.browser.events.iter().any(loaded) {
            let event = self.browser.receive();
            self.browser.events.push(event);
        }
    }

    /// The value of an expression.
    pub fn ask(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Writes a picture of the whole page.
    pub fn screenshot(&mut self, file: &Path) {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", params);
        let data = answer["data"].as_str().expect("a picture");
        std::fs::write(file, base64(data)).expect("written");
    }

    /// Closes the page; the result is every error, console message and outside request of it.
    pub fn close(mut self) -> Vec<Value> {
        self.call("Runtime.evaluate", json!({"expression": "0"}));
        let target = json!({"targetId": self.target});
        self.browser.call(None, "Target.closeTarget", target);
        let session = self.session.clone();
        let bad = |e: &Value| match e["method"].as_str() {
            Some(
                "Runtime.exceptionThrown"
                | "Runtime.consoleAPICalled"
                | "Log.entryAdded"
                | "Network.loadingFailed",
            ) => true,
            Some("Network.requestWillBeSent") => {
                let url = e["params"]["request"]["url"].as_str().unwrap_or("");
                !url.starts_with("file:")
            }
            _ => false,
        };
        let mut events = std::mem::take(&mut self.browser.events);
        events.retain(|e| e["sessionId"] == session && bad(e));
        events
    }
}

/// The bytes of a text in base 64 (RFC 4648, section 4).
fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for c in text.bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
