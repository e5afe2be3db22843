//! `steps`: the steps of one operator against its naive kernel and against each other.

use std::fmt::Write;
use std::process::Output;

use serde_json::Value;

use super::{json, scratch, volta};

/// A kernel of row sums that begins with the row and the first element of each thread, and the stride of its elements.
fn row_sums(name: &str, [row, first, stride]: [&str; 3], rest: &str) -> String {
    let bytes = 4 * stride.parse::<u32>().expect("a number");
    format!(
        ".visible .entry {name}(.param .u64 x, .param .u64 y, .param .u32 n)
{{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %q<6>;
  ld.param.u64 %q1, [x]; ld.param.u64 %q2, [y]; ld.param.u32 %r1, [n];
  mov.u32 %r2, {row}; mov.u32 %r3, {first};
  mad.lo.u32 %r4, %r2, %r1, %r3;
  mul.wide.u32 %q3, %r4, 4; add.u64 %q3, %q1, %q3;
  mul.wide.u32 %q4, %r2, 4; add.u64 %q4, %q2, %q4;
  mov.f32 %f1, 0f00000000;
  setp.ge.u32 %p1, %r3, %r1;
  @%p1 bra DONE;
NEXT:
  ld.global.f32 %f2, [%q3]; add.f32 %f1, %f1, %f2;
  add.u64 %q3, %q3, {bytes}; add.u32 %r3, %r3, {stride};
  setp.lt.u32 %p2, %r3, %r1;
  @%p2 bra NEXT;
DONE:
  {rest}
  st.global.f32 [%q4], %f1;
END:
  ret;
}}
"
    )
}

/// A row a warp, whose sums the shuffles of some offsets add up.
fn warp(name: &str, offsets: &[u32]) -> String {
    let mut rest = String::new();
    for offset in offsets {
        let _ = writeln!(
            rest,
            "shfl.sync.down.b32 %f2, %f1, {offset}, 31, -1; add.f32 %f1, %f1, %f2;"
        );
    }
    rest += "mov.u32 %r5, %tid.x; setp.ne.u32 %p3, %r5, 0; @%p3 bra END;";
    row_sums(name, ["%ctaid.x", "%tid.x", "32"], &rest)
}

const SIZES: &str = "for = { rows = [2, 3], cols = [5, 40] }\n";

/// The answer to a file of steps, each with its entry; `keys` stand at the top.
fn steps(test: &str, keys: &str, steps: &[(&str, &str)], flags: &[&str]) -> Output {
    let ptx = [
        ".version 8.0\n.target sm_80\n.address_size 64\n".to_string(),
        row_sums("naive", ["%tid.x", "0", "1"], ""),
        warp("warp", &[16, 8, 4, 2, 1]),
        warp("reversed", &[1, 2, 4, 8, 16]),
        warp("slip", &[16, 8, 4, 2]),
        warp("slip_reversed", &[2, 4, 8, 16]),
    ];
    let folder = format!("steps_{test}");
    scratch(&folder, "sums.ptx", ptx.concat().as_bytes());
    let mut text = format!(
        "{keys}[defaults]\nargs = {{ x = 'in:f32[{{rows}},{{cols}}]', y = 'out:f32[{{rows}}]', n = '{{cols}}' }}\n\
         [naive]\nfile = 'sums.ptx'\nentry = 'naive'\nblock = '{{rows}}'\n"
    );
    for (name, entry) in steps {
        let _ = writeln!(
            text,
            "[[step]]\nname = '{name}'\nentry = '{entry}'\nblock = 32\ngrid = '{{rows}}'"
        );
    }
    let file = scratch(&folder, "op.toml", text.as_bytes());
    let file = file.to_str().expect("a name in UTF-8");
    volta(&[&["steps", file], flags].concat())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The name of each step, with its verdicts.
fn verdicts(object: &Value) -> Vec<[String; 3]> {
    let all = object["steps"].as_array().expect("steps").iter();
    let words = |s: &'_ Value| {
        let words = [&s["name"], &s["naive"]["verdict"], &s["before"]["verdict"]];
        words.map(|v| v.as_str().unwrap_or("-").to_string())
    };
    all.map(words).collect()
}

#[test]
fn right_steps_are_equivalent_at_every_size() {
    let right = [("a warp", "warp"), ("the other way", "reversed")];
    let output = steps("right", SIZES, &right, &["--json"]);
    let object = json(&output);
    assert_eq!(output.status.code(), Some(0), "{object}");
    assert_eq!(object["schema"], "volta/2");
    assert_eq!(
        (&object["command"], &object["verdict"]),
        (&"steps".into(), &"equivalent".into())
    );
    let rows = verdicts(&object);
    assert_eq!(rows[..4], [["a warp", "equivalent", "-"]; 4]);
    assert_eq!(
        rows[4..],
        [["the other way", "equivalent", "equivalent"]; 4]
    );
    let sizes = &object["steps"][5]["sizes"];
    assert_eq!((&sizes["rows"], &sizes["cols"]), (&3.into(), &5.into()));
    let before = &object["steps"][5]["before"]["reference"];
    assert_eq!(before["grid"][0], 3, "{before}");

    let table = text(&steps("right_table", SIZES, &right, &[]));
    let head: Vec<&str> = table
        .lines()
        .next()
        .expect("a line")
        .split_whitespace()
        .collect();
    assert_eq!(head.join(" "), "step size naive step before time");
    assert!(
        table.contains("ok    a warp         cols = 5, rows = 2 "),
        "{table}"
    );
    assert!(
        table.ends_with("12 of 12 comparisons are equivalent\n"),
        "{table}"
    );
    for format in ["sarif", "junit", "html"] {
        let output = steps("right_format", SIZES, &right, &["--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}");
    }
}

#[test]
fn a_step_that_inherits_a_fault_names_the_first_wrong_one() {
    let some = [
        ("a warp", "warp"),
        ("a slip", "slip"),
        ("more", "slip_reversed"),
        ("right again", "reversed"),
    ];
    let size = "for = { rows = 2, cols = 5 }\n";
    let output = steps("slip", size, &some, &["--json"]);
    let object = json(&output);
    assert_eq!(output.status.code(), Some(1), "{object}");
    assert_eq!(object["verdict"], "not-equivalent");
    let rows = [
        ["a warp", "equivalent", "-"],
        ["a slip", "not-equivalent", "not-equivalent"],
        ["more", "not-equivalent", "equivalent"],
        ["right again", "equivalent", "not-equivalent"],
    ];
    assert_eq!(verdicts(&object), rows);
    let inherited = [0, 1, 2, 3].map(|i| &object["steps"][i]["inherited"]);
    assert_eq!(inherited[2], "a slip");
    assert!(inherited[0].is_null() && inherited[1].is_null() && inherited[3].is_null());
    let table = text(&steps("slip_table", size, &some, &[]));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[2].starts_with("fail  a slip  "), "{table}");
    assert!(lines[3].starts_with("        against naive: y["), "{table}");
    assert!(lines[3].contains("in the reference"), "{table}");
    let last = lines
        .iter()
        .find(|l| l.contains("the first wrong step is `a slip`"));
    assert!(last.is_some_and(|l| l.ends_with("op.toml:13)")), "{table}");
}

#[test]
fn what_is_not_known_is_open() {
    let output = steps(
        "open",
        SIZES,
        &[("a warp", "warp")],
        &["--budget", "10", "--json"],
    );
    assert_eq!(output.status.code(), Some(3), "{}", json(&output));
    assert_eq!(json(&output)["verdict"], "unknown");
}

#[test]
fn a_wrong_file_is_an_input_error_with_its_place() {
    let one = [("a warp", "warp")];
    for (i, (keys, all, said, line)) in [
        ("assum = []\n", &one[..], "unknown field `assum`", Some(1)),
        (
            "map = { 0 = '1' }\n",
            &one,
            "`map` cannot be said of all steps",
            Some(1),
        ),
        (
            "",
            &[("a", "warp"), ("a", "slip")],
            "`a` is the name of the kernel on line 7 too",
            Some(13),
        ),
        (
            "",
            &[("naive", "warp")],
            "`naive` is the name of the kernel on line 3 too",
            Some(8),
        ),
        (
            "for = { rows = 2 }\n",
            &one,
            "`cols` is no name of --for, which gives rows",
            Some(3),
        ),
        ("", &[], "there is no [[step]]", None),
    ]
    .into_iter()
    .enumerate()
    {
        let output = steps(&format!("wrong_{i}"), keys, all, &["--json"]);
        let object = json(&output);
        assert_eq!(output.status.code(), Some(2), "{object}");
        assert_eq!(object["command"], "steps");
        assert_eq!(object["error"]["kind"], "manifest", "{object}");
        let message = object["error"]["message"].as_str().expect("a message");
        assert!(message.contains(said), "{message}");
        assert_eq!(
            object["error"]["sites"][0]["line"].as_u64(),
            line,
            "{object}"
        );
    }
}

#[test]
fn an_error_of_one_step_leaves_the_others() {
    let some = [
        ("a warp", "warp"),
        ("nothing", "wrap"),
        ("last", "reversed"),
    ];
    let size = "for = { rows = 2, cols = 5 }\n";
    let output = steps("missing", size, &some, &["--json"]);
    let object = json(&output);
    assert_eq!(output.status.code(), Some(2), "{object}");
    assert!(object["verdict"].is_null(), "{object}");
    let rows = [
        ["a warp", "equivalent", "-"],
        ["nothing", "-", "-"],
        ["last", "equivalent", "-"],
    ];
    assert_eq!(verdicts(&object), rows);
    // The step before the last one is what is wrong.
    for at in [&object["steps"][1]["naive"], &object["steps"][2]["before"]] {
        assert_eq!(at["error"]["kind"], "entry", "{at}");
        let message = at["error"]["message"].as_str().expect("a message");
        assert!(message.contains("op.toml:13: `nothing`: "), "{message}");
        assert!(message.contains("wrap"), "{message}");
    }
    let table = text(&steps("missing_table", size, &some, &[]));
    assert!(
        table.contains("fail  nothing  cols = 5, rows = 2  error "),
        "{table}"
    );

    let keys = format!("{size}args = {{ m = 3 }}\n");
    let object = json(&steps("parameter", &keys, &some[..1], &["--json"]));
    let error = &object["steps"][0]["naive"]["error"];
    assert_eq!(error["kind"], "binding", "{object}");
    assert!(
        error["message"].as_str().is_some_and(|m| m.contains("m=3")),
        "{object}"
    );
}
