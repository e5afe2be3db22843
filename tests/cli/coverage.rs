//! What the sizes of a launch were too small to show.

use super::{json, scratch, volta};

/// Each lane that a condition of `BODY` lets through stores; `%r1` is the thread, `%r2` the parameter n.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y, .param .u32 n)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [y];\nld.param.u32 %r2, [n];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r3, 0;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{body}\nret;\n}}\n"
    )
}

/// The messages of thin coverage of a kernel whose n is bound, and the exit status where they are denied.
fn thin(name: &str, body: &str, n: &str, more: &[&str]) -> (Vec<String>, Option<i32>) {
    let path = scratch("coverage", &format!("{name}.ptx"), kernel(body).as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    let n = format!("1={n}");
    let mut args = vec!["race", path, "--threads", "8", "--arg", &n, "--json"];
    args.extend(["--deny", "thin-coverage"]);
    args.extend(more);
    let output = volta(&args);
    let object = json(&output);
    assert_eq!(object["verdict"], "clean", "{object}");
    let warnings = object["warnings"].as_array().expect("warnings");
    let said = warnings.iter().filter(|w| w["kind"] == "thin-coverage");
    let said = said.map(|w| w["message"].as_str().expect("text").to_string());
    (said.collect(), output.status.code())
}

const MASK: &str = "setp.lt.u32 %p1, %r1, %r2;\n@%p1 st.global.u32 [%rd3], %r3;";
const LITERAL: &str = "setp.lt.u32 %p1, %r3, 5;\n@%p1 st.global.u32 [%rd3], %r1;";
const LOOP: &str =
    "L: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r2;\n@%p1 bra L;\nst.global.u32 [%rd3], %r3;";
const BEFORE: &str = "L: setp.ge.u32 %p1, %r3, %r2;\n@%p1 bra E;\nadd.u32 %r3, %r3, 1;\nbra L;\nE: \
    st.global.u32 [%rd3], %r3;";
const INSIDE: &str = "L: setp.eq.u32 %p2, %r3, 5;\nselp.u32 %r4, 1, 2, %p2;\nadd.u32 %r3, %r3, 1;\n\
    setp.lt.u32 %p1, %r3, %r2;\n@%p1 bra L;\nst.global.u32 [%rd3], %r4;";
const BOTH: &str = "setp.lt.u32 %p1, %r1, %r2;\nsetp.gt.u32 %p2, %r1, 6;\nand.pred %p3, %p1, %p2;\n\
    @%p3 st.global.u32 [%rd3], %r3;";

#[test]
fn what_had_one_value_is_told_with_sizes() {
    for (name, body, n, said, size) in [
        ("mask", MASK, "8", "never false", "n = 7"),
        ("never", MASK, "0", "never true", "n = 1"),
        ("loop", LOOP, "1", "loop ran at most once", "n = 2 or 3"),
        ("before", BEFORE, "1", "loop ran at most once", "n = 2 or 3"),
        ("inside", INSIDE, "4", "never true", "n = 3, 5 or 9"),
        (
            "both",
            BOTH,
            "7",
            "the guard of this store was never true",
            "n = 8",
        ),
        (
            "block",
            "setp.gt.u32 %p1, %r1, 9;\n@%p1 st.global.u32 [%rd3], %r3;",
            "1",
            "never true",
            "the block = 17",
        ),
    ] {
        let (messages, code) = thin(name, body, n, &[]);
        assert_eq!(code, Some(1), "{name}");
        assert_eq!(messages.len(), 1, "{name}: {messages:?}");
        assert!(messages[0].contains(said), "{name}: {messages:?}");
        assert!(messages[0].contains(size), "{name}: {messages:?}");
    }
}

#[test]
fn what_no_size_changes_or_what_was_seen_both_ways_is_not_told() {
    let fixed = "setp.eq.u32 %p1, %r3, 0;\n@!%p1 bra E;\nst.global.u32 [%rd3], %r3;\nE:";
    for (name, body, n) in [
        ("split", MASK, "5"),
        ("literal", LITERAL, "5"),
        ("turns", LOOP, "3"),
        ("turns-before", BEFORE, "3"),
        ("fixed", fixed, "3"),
        (
            "pointer",
            "setp.ne.s64 %p1, %rd1, 0;\n@%p1 st.global.u32 [%rd3], %r3;",
            "3",
        ),
        (
            "parity",
            "and.b32 %r5, %r2, 2;\nor.b32 %r6, %r5, 2;\nsetp.eq.u32 %p1, %r6, 2;\n@%p1 st.global.u32 [%rd3], %r3;",
            "3",
        ),
    ] {
        let (messages, code) = thin(name, body, n, &[]);
        assert_eq!((messages, code), (Vec::new(), Some(0)), "{name}");
    }
}

#[test]
fn instances_show_together() {
    let sizes = |list: &str| {
        let list = format!("n={list}");
        thin("sizes", MASK, "{n}", &["--for", &list])
    };
    assert_eq!(sizes("7,8"), (Vec::new(), Some(0)));
    assert_eq!(sizes("0,8"), (Vec::new(), Some(0)));
    let (messages, code) = sizes("8,9");
    assert_eq!((messages.len(), code), (1, Some(1)));
}
