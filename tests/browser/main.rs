//! The HTML pages in a browser: rendered, clicked, read, on a wide screen and on a phone, light and
//! dark. A step of its own after the other tests, since it needs chromium:
//!
//!     cargo test --test browser
//!
//! Every page is opened without a network; anything that it asks for, any message on its console
//! and any line that is wider than the screen is an error. Screenshots stay in `target/tmp/browser`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

mod chromium;

use chromium::Tab;

/// A page, how it is made, and the words that it must show.
struct Page {
    name: &'static str,
    args: &'static [&'static str],
    words: &'static [&'static str],
}

const PAGES: &[Page] = &[
    Page {
        name: "race",
        args: &["race", "kernels/reduction/step5.ptx", "--threads", "64"],
        words: &[
            "defective",
            "data-race",
            "kernels/reduction/step5.ptx:105",
            "last_warp.cuh:51",
            "thread (0,0,0)",
            "thread (1,0,0)",
            "ld.shared.f32",
            "st.shared.f32",
            "bar.sync",
            "step",
            "Assumptions",
        ],
    },
    Page {
        name: "counterexample",
        args: &[
            "check",
            "kernels/softmax/naive_4.ptx",
            "kernels/softmax/online_4_no_rescale.ptx",
            "--threads",
            "4",
        ],
        words: &[
            "not-equivalent",
            "Counterexample",
            "0.1748",
            "0.1092",
            "Outputs",
            "elements",
        ],
    },
    Page {
        name: "deadlock",
        args: &[
            "check",
            "tests/golden/deadlock/fail/different_barriers.ptx",
            "tests/golden/deadlock/fail/different_barriers.ptx",
            "--threads",
            "64",
        ],
        words: &[
            "defective",
            "deadlock",
            "64 threads wait",
            "thread (0,0,0)",
            "thread (32,0,0)",
            "25: bar.sync 2;",
            "22: bar.sync 1;",
        ],
    },
    Page {
        name: "barrier-misuse",
        args: &[
            "race",
            "tests/golden/deadlock/fail/count_not_of_warps.ptx",
            "--threads",
            "64",
        ],
        words: &[
            "barrier-misuse",
            "multiple of the warp size",
            "22: bar.sync 0, %r2;",
            "19: ld.global.f32",
        ],
    },
    Page {
        name: "out-of-bounds",
        args: &[
            "race",
            "tests/golden/structured/fail/shared_out_of_bounds.ptx",
            "--threads",
            "8",
        ],
        words: &[
            "out-of-bounds",
            "s[9], which has 32 bytes",
            "thread (7,0,0)",
            "24: st.shared.f32 [%r3+8], %f1;",
            "20: ld.global.f32",
        ],
    },
    Page {
        name: "uninitialized",
        args: &[
            "race",
            "tests/golden/structured/fail/uninitialized_shared.ptx",
            "--threads",
            "8",
        ],
        words: &[
            "uninitialized-read",
            "reaches y[0]",
            "24: ld.shared.f32 %f2, [%r3];",
            "20: ld.global.f32",
        ],
    },
    Page {
        name: "misaligned",
        args: &[
            "race",
            "tests/golden/structured/fail/misaligned.ptx",
            "--threads",
            "8",
        ],
        words: &[
            "misaligned-access",
            "thread (7,0,0)",
            "20: ld.global.f32 %f2, [%rd3+2];",
            "19: ld.global.f32",
        ],
    },
    Page {
        name: "between-ctas",
        args: &[
            "race",
            "tests/golden/grid/fail/between_ctas.ptx",
            "--entry",
            "neighbour",
            "--threads",
            "32",
            "--grid",
            "4",
            "--all-ctas",
        ],
        words: &[
            "data-race",
            "nothing orders different CTAs",
            "CTA (0,0,0), thread (",
            "CTA (1,0,0), thread (",
            "st.global",
        ],
    },
    Page {
        name: "gate",
        args: &[
            "gate",
            "kernels/activation/volta.toml",
            "--filter",
            "shortcut-",
            "--no-cache",
        ],
        words: &[
            "8 passed, 0 failed",
            "shortcut-nothing",
            "uninitialized-read",
            "not-equivalent",
        ],
    },
];

/// Screens: name, width, height, colours.
const SCREENS: &[(&str, u32, u32, &str)] = &[
    ("wide-light", 1200, 900, "light"),
    ("wide-dark", 1200, 900, "dark"),
    ("phone-light", 360, 780, "light"),
    ("phone-dark", 360, 780, "dark"),
];

#[test]
fn pages_in_a_browser() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&dir).expect("a directory for the test");
    let mut browser = chromium::start(&dir);
    for page in PAGES {
        let file = render(page, &dir);
        for &(screen, width, height, colours) in SCREENS {
            let at = format!("{} on {screen}", page.name);
            let mut tab = browser.tab(width, height, colours);
            tab.open(&file);
            look(&mut tab, page, &at, width, colours);
            tab.screenshot(&dir.join(format!("{}-{screen}.png", page.name)));
            if page.name == "gate" {
                click(&mut tab, &at);
            }
            let complaints = tab.close();
            assert!(complaints.is_empty(), "{at}: {complaints:?}");
        }
    }
}

/// Writes a page.
fn render(page: &Page, dir: &Path) -> PathBuf {
    let file = dir.join(format!("{}.html", page.name));
    let output = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args(page.args)
        .args(["--format", "html", "--output"])
        .arg(&file)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("volta starts");
    assert_ne!(output.status.code(), Some(2), "{}: {output:?}", page.name);
    file
}

/// What is on the page, whether it fits, and whether it can be read.
fn look(tab: &mut Tab, page: &Page, at: &str, width: u32, colours: &str) {
    let text = tab.ask("document.body.textContent");
    let text = text.as_str().expect("text");
    for word in page.words {
        assert!(text.contains(word), "{at}: `{word}` is not on the page");
    }
    let wide = tab.ask("document.documentElement.scrollWidth");
    let wide = wide.as_u64().expect("a width");
    assert!(wide <= u64::from(width), "{at}: the page is {wide} wide");
    // Contrast of the Web Content Accessibility Guidelines, 4.5 or more for every text.
    let contrast = r"(() => {
        const light = c => {
            const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => v / 255)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = e => {
            for (; e; e = e.parentElement) {
                const c = getComputedStyle(e).backgroundColor;
                if (c !== 'rgba(0, 0, 0, 0)') return c;
            }
            return 'rgb(255, 255, 255)';
        };
        let least = [99, ''];
        for (const e of document.body.querySelectorAll('*')) {
            if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
            const style = getComputedStyle(e);
            const front = e.namespaceURI.endsWith('svg') ? style.fill : style.color;
            const a = light(front), b = light(behind(e));
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < least[0]) least = [ratio, e.outerHTML.slice(0, 120)];
        }
        return [least[0], least[1], light(behind(document.body))];
    })()";
    let found = tab.ask(contrast);
    let least = found[0].as_f64().expect("a ratio");
    assert!(least >= 4.5, "{at}: contrast {least} at {}", found[1]);
    let dark = found[2].as_f64().expect("a luminance") < 0.2;
    assert_eq!(dark, colours == "dark", "{at}: the background");
}

/// Opens an entry of the gate with the mouse.
fn click(tab: &mut Tab, at: &str) {
    let state = "(() => { const d = document.querySelector('details'); \
        return [d.open, d.getBoundingClientRect().height]; })()";
    let before = tab.ask(state);
    assert_eq!(before[0], false, "{at}: an entry that passed is open");
    let place = tab.ask(
        "(() => { const s = document.querySelector('summary'); s.scrollIntoView(); \
         const r = s.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()",
    );
    for what in ["mousePressed", "mouseReleased"] {
        tab.call(
            "Input.dispatchMouseEvent",
            json!({"type": what, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}),
        );
    }
    let after = tab.ask(state);
    assert_eq!(after[0], true, "{at}: a click opens nothing");
    let height = |v: &Value| v[1].as_f64().expect("a height");
    assert!(
        height(&after) > height(&before) + 50.0,
        "{at}: nothing came to light"
    );
}
