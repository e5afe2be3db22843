//! What `race --any` says of each kind of defect, of each memory, and of launches that facts alone lead to.

use serde_json::Value;
use volta::answer::DefectKind;
use volta::any::decides::{About, Decided, decided};

use super::{json, scratch, volta};

/// A kernel of one array `y` and a parameter of 64 bytes: `%d1` is `y`, `%r1` the thread, `%d3` its own element of `y`, `%p1`
/// is true of thread 777 alone.
fn kernel(outside: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n{outside}\n\
         .visible .entry k(.param .u64 y, .param .align 4 .b8 t[64], .param .u32 n)\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %d<16>;\n\
         ld.param.u64 %d1, [y];\ncvta.to.global.u64 %d1, %d1;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\n\
         mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, %r2, %r1;\nmul.wide.u32 %d2, %r4, 4;\nadd.u64 %d3, %d1, %d2;\n\
         setp.eq.u32 %p1, %r1, 777;\nsetp.lt.u32 %p2, %r1, 16;\nmul.wide.u32 %d4, %r1, 4;\n{body}\nret;\n}}\n"
    )
}

fn asked(name: &str, text: &str, more: &[&str]) -> Value {
    let path = scratch("every_launch", &format!("{name}.ptx"), text.as_bytes());
    let path = path.to_str().expect("a name in UTF-8");
    json(&volta(&[&["race", "--any", path, "--json"], more].concat()))
}

fn assumes_written(answer: &Value) -> bool {
    let all = answer["assumptions"].as_array().expect("assumptions");
    all.iter().any(|a| a["kind"] == "written")
}

/// Of the code of a row: what stands outside of the kernel, what breaks in some thread, and what never does.
type Row = (&'static str, &'static str, &'static str);

/// An address in `%d5` is read at the place that a thread below 16, or that thread 777 too, has in it.
const READS: [&str; 2] = [
    "or.pred %p2, %p2, %p1;\nadd.u64 %d6, %d5, %d4;\n@%p2 ld.SPACE.u32 %r5, [%d6];",
    "add.u64 %d6, %d5, %d4;\n@%p2 ld.SPACE.u32 %r5, [%d6];",
];
/// The same place is read, two bytes further by thread 777.
const ASIDE: [&str; 2] = [
    "selp.b64 %d6, 2, 0, %p1;\nadd.u64 %d6, %d5, %d6;\nld.SPACE.u32 %r5, [%d6];",
    "selp.b64 %d6, 4, 0, %p1;\nadd.u64 %d6, %d5, %d6;\nld.SPACE.u32 %r5, [%d6];",
];

/// Rows that have a kernel of their own.
const ROWS: &[(DefectKind, About, Row)] = &[
    (
        DefectKind::DataRace,
        About::Global,
        (
            "",
            "st.global.u32 [%d3], %r1;\n@%p1 st.global.u32 [%d1], %r1;",
            "st.global.u32 [%d3], %r1;",
        ),
    ),
    (
        DefectKind::DataRace,
        About::Shared,
        (
            ".shared .align 4 .b8 s[4096];",
            "mov.u64 %d5, s;\nadd.u64 %d6, %d5, %d4;\nst.shared.u32 [%d6], %r1;\n@%p1 st.shared.u32 [s], %r1;",
            "mov.u64 %d5, s;\nadd.u64 %d6, %d5, %d4;\nst.shared.u32 [%d6], %r1;",
        ),
    ),
    (
        DefectKind::Deadlock,
        About::Control,
        (
            "",
            "@%p1 bra L;\nbar.sync 0;\nbra M;\nL:\nbar.sync 1;\nM:",
            "bar.sync 0;",
        ),
    ),
    (
        DefectKind::BarrierMisuse,
        About::Control,
        ("", "@%p1 bar.warp.sync 1;", "bar.warp.sync 0xffffffff;"),
    ),
    (
        DefectKind::Assertion,
        About::Control,
        ("", "@%p1 trap;", "@%p2 st.global.u32 [%d3], 1;"),
    ),
    (
        DefectKind::OutOfBounds,
        About::Control,
        (
            "",
            "selp.b32 %r5, 2, 0, %p1;\nT: .branchtargets L, M;\nbrx.idx %r5, T;\nL:\nst.global.u32 [%d3], 1;\nM:",
            "selp.b32 %r5, 1, 0, %p1;\nT: .branchtargets L, M;\nbrx.idx %r5, T;\nL:\nst.global.u32 [%d3], 1;\nM:",
        ),
    ),
    (
        DefectKind::OutOfBounds,
        About::Global,
        (
            "",
            "selp.b64 %d5, -4, 0, %p1;\nadd.u64 %d6, %d1, %d5;\nld.global.u32 %r5, [%d6];",
            "selp.b64 %d5, 4, 0, %p1;\nadd.u64 %d6, %d1, %d5;\nld.global.u32 %r5, [%d6];",
        ),
    ),
    (
        DefectKind::UninitializedRead,
        About::Registers,
        (
            "",
            "@!%p1 mov.u32 %r7, 1;\nadd.u32 %r8, %r7, 1;\nst.global.u32 [%d3], %r8;",
            "@!%p1 mov.u32 %r7, 1;\nadd.u32 %r8, %r7, 1;\n@!%p1 st.global.u32 [%d3], %r8;",
        ),
    ),
    (
        DefectKind::UninitializedRead,
        About::Shared,
        (
            ".shared .align 4 .b8 s[4096];",
            "mov.u64 %d5, s;\nadd.u64 %d6, %d5, %d4;\n@!%p1 st.shared.u32 [%d6], %r1;\nld.shared.u32 %r5, [%d6];\nst.global.u32 [%d3], %r5;",
            "mov.u64 %d5, s;\nadd.u64 %d6, %d5, %d4;\nst.shared.u32 [%d6], %r1;\nld.shared.u32 %r5, [%d6];\nst.global.u32 [%d3], %r5;",
        ),
    ),
    (
        DefectKind::UninitializedRead,
        About::Local,
        (
            "",
            ".local .align 4 .b8 l[64];\n@!%p1 st.local.u32 [l], %r1;\nld.local.u32 %r5, [l];\nst.global.u32 [%d3], %r5;",
            ".local .align 4 .b8 l[64];\nst.local.u32 [l], %r1;\nld.local.u32 %r5, [l];\nst.global.u32 [%d3], %r5;",
        ),
    ),
    (
        DefectKind::UninitializedRead,
        About::Global,
        (
            "",
            "setp.ge.u32 %p3, %r4, 1048576;\n@%p3 ret;\n@!%p1 st.global.u32 [%d3], %r1;\nld.global.u32 %r5, [%d3];\nst.global.u32 [%d3], %r5;",
            "setp.ge.u32 %p3, %r4, 1048576;\n@%p3 ret;\nst.global.u32 [%d3], %r1;\nld.global.u32 %r5, [%d3];\nst.global.u32 [%d3], %r5;",
        ),
    ),
];

/// Nothing of these is followed, be it right or wrong.
const CLUSTER: &str = "mov.u32 %r6, s;\nld.shared::cluster.u32 %r5, [%r6];";
const AGENT: &str = "setp.eq.u32 %p3, %r1, 0;\n@%p3 mbarrier.init.shared.b64 [m], 1;";

/// A wrong and a right kernel for a row of the table.
fn example(kind: DefectKind, about: About) -> Option<(&'static str, [String; 2])> {
    let is = |row: &&(DefectKind, About, Row)| (row.0, row.1) == (kind, about);
    if let Some((_, _, (outside, wrong, right))) = ROWS.iter().find(is) {
        return Some((outside, [wrong.to_string(), right.to_string()]));
    }
    let bodies = match kind {
        DefectKind::OutOfBounds => READS,
        DefectKind::MisalignedAccess => ASIDE,
        _ => ["", ""],
    };
    let (outside, space, base) = match about {
        About::Cluster => {
            let outside = ".shared .align 4 .b8 s[64];";
            return Some((outside, [CLUSTER, ""].map(str::to_string)));
        }
        About::Agents => {
            let outside = ".shared .align 8 .b64 m;";
            return Some((outside, [AGENT, ""].map(str::to_string)));
        }
        About::Global => ("", "global", "mov.u64 %d5, %d1;"),
        About::Constant => (".const .align 4 .b8 c[64];", "const", "mov.u64 %d5, c;"),
        About::Shared => (".shared .align 4 .b8 s[64];", "shared", "mov.u64 %d5, s;"),
        About::Local => ("", "local", ".local .align 4 .b8 l[64];\nmov.u64 %d5, l;"),
        About::Parameters => ("", "param", "mov.b64 %d5, t;"),
        About::Registers | About::Control => return None,
    };
    let own = |body: &str| format!("{base}\n{}", body.replace("SPACE", space));
    Some((outside, bodies.map(own)))
}

#[test]
fn each_kind_of_defect_is_decided_as_the_table_says() {
    for &kind in DefectKind::ALL {
        for about in About::ALL {
            let how = decided(kind, about);
            let example = example(kind, about);
            if how == Decided::Impossible {
                continue;
            }
            let (outside, [wrong, right]) =
                example.unwrap_or_else(|| panic!("{kind:?} of {about:?} has no kernel"));
            let name = format!("{kind:?}_{about:?}");
            let out: &[&str] = match (kind, about) {
                (DefectKind::UninitializedRead, About::Global) => &["--arg", "0=out:u32[1048576]"],
                _ => &[],
            };
            let answer = asked(&format!("{name}_wrong"), &kernel(outside, &wrong), out);
            let verdict = answer["verdict"].as_str().expect("a verdict");
            match how {
                Decided::Launches => assert!(
                    verdict != "clean" || assumes_written(&answer),
                    "{name}: {answer}"
                ),
                _ => assert_ne!(verdict, "clean", "{name}: {answer}"),
            }
            if how == Decided::Unknown {
                assert_eq!(verdict, "unknown", "{name}: {answer}");
                continue;
            }
            let answer = asked(&format!("{name}_right"), &kernel(outside, &right), out);
            assert_eq!(answer["verdict"], "clean", "{name}: {answer}");
            let said = assumes_written(&answer);
            assert!(
                !said || kind != DefectKind::UninitializedRead,
                "{name}: {answer}"
            );
        }
    }
}

#[test]
fn a_warning_of_any_launch_that_is_run_is_in_the_answer() {
    // Only a block of one size reads what was never written, and nothing uses it.
    for threads in [1, 3, 5, 7, 33, 48, 128] {
        let body = format!(
            "setp.ne.u32 %p3, %r2, {threads};\n@%p3 bra L;\nld.shared.u32 %r5, [s+4];\nL:\nst.global.u32 [%d3], %r1;"
        );
        let text = kernel(".shared .align 4 .b8 s[64];", &body);
        let name = format!("warning_{threads}");
        let answer = asked(&name, &text, &["--deny", "uninitialized-read"]);
        assert_eq!(answer["verdict"], "clean", "{answer}");
        assert_eq!(answer["denied"][0], "uninitialized-read", "{answer}");
        let warnings = answer["warnings"].as_array().expect("warnings");
        let own = warnings
            .iter()
            .filter(|w| w["kind"] == "uninitialized-read");
        assert_eq!(own.count(), 1, "{answer}");
    }
}

#[test]
fn only_a_whole_address_leads_to_its_array() {
    // Each leaves the address of an element in %d6.
    let cut = [
        "cvt.u32.u64 %r6, %d1;\ncvt.u64.u32 %d5, %r6;\nadd.u64 %d6, %d5, %d2;",
        "cvt.u32.u64 %r6, %d1;\ncvt.s64.s32 %d5, %r6;\nadd.u64 %d6, %d5, %d2;",
        "cvt.u16.u64 %h1, %d1;\ncvt.u64.u16 %d5, %h1;\nadd.u64 %d6, %d5, %d2;",
        "mov.b64 {%r6, %r7}, %d1;\nmov.u32 %r8, 0;\nmov.b64 %d5, {%r6, %r8};\nadd.u64 %d6, %d5, %d2;",
        "mov.b64 {%r6, %r7}, %d1;\nmov.b64 %d5, {%r7, %r6};\nadd.u64 %d6, %d5, %d2;",
        "mov.b64 {%r6, %r7}, %d1;\nshl.b32 %r8, %r4, 2;\nadd.u32 %r6, %r6, %r8;\nmov.b64 %d6, {%r6, %r7};",
        "and.b64 %d5, %d1, 0xffffffff;\nadd.u64 %d6, %d5, %d2;",
        "shl.b64 %d5, %d1, 1;\nadd.u64 %d6, %d5, %d2;",
        "neg.s64 %d5, %d1;\nadd.u64 %d6, %d5, %d2;",
        "ld.param.u32 %r6, [y];\ncvt.u64.u32 %d5, %r6;\nadd.u64 %d6, %d5, %d2;",
        "add.u64 %d5, %d1, %d1;\nadd.u64 %d6, %d5, %d2;",
    ];
    let whole = [
        "mov.b64 {%r6, %r7}, %d1;\nmov.b64 %d5, {%r6, %r7};\nadd.u64 %d6, %d5, %d2;",
        "mov.b64 {%r6, %r7}, %d3;\nmov.b64 %d6, {%r6, %r7};",
        "mov.b64 {%h1, %h2, %h3, %h4}, %d1;\nmov.b64 %d5, {%h1, %h2, %h3, %h4};\nadd.u64 %d6, %d5, %d2;",
        "shr.u64 %d5, %d1, 32;\nshl.b64 %d5, %d5, 32;\ncvt.u32.u64 %r6, %d1;\ncvt.u64.u32 %d7, %r6;\nor.b64 %d5, %d5, %d7;\nadd.u64 %d6, %d5, %d2;",
        "and.b64 %d5, %d1, 0xffff;\nand.b64 %d7, %d1, 0xffffffffffff0000;\nadd.u64 %d5, %d5, %d7;\nadd.u64 %d6, %d5, %d2;",
        "ld.param.u32 %r6, [y];\nld.param.u32 %r7, [y+4];\nmov.b64 %d5, {%r6, %r7};\nadd.u64 %d6, %d5, %d2;",
        "sub.u64 %d5, %d3, %d1;\nadd.u64 %d6, %d1, %d5;",
        "cvta.global.u64 %d5, %d1;\ncvta.to.global.u64 %d5, %d5;\nadd.u64 %d6, %d5, %d2;",
    ];
    let all = cut.map(|b| (b, false)).into_iter();
    for (i, (address, right)) in all.chain(whole.map(|b| (b, true))).enumerate() {
        let body = format!("{address}\nst.global.u32 [%d6], %r1;");
        let answer = asked(&format!("address_{i}"), &kernel("", &body), &[]);
        assert_eq!(answer["verdict"] == "clean", right, "{address}: {answer}");
    }
    // Addresses in their own window have 32 bits, generic ones 64.
    let shared = [
        (
            "mov.u32 %r5, s;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r6, %r5, %r6;\nst.shared.u32 [%r6], %r1;",
            true,
        ),
        (
            "mov.u64 %d5, s;\ncvt.u32.u64 %r5, %d5;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r6, %r5, %r6;\nst.shared.u32 [%r6], %r1;",
            true,
        ),
        (
            "mov.u32 %r5, s;\ncvt.u64.u32 %d5, %r5;\ncvta.shared.u64 %d5, %d5;\nadd.u64 %d6, %d5, %d4;\nst.u32 [%d6], %r1;",
            true,
        ),
        (
            "mov.u64 %d5, s;\ncvta.shared.u64 %d5, %d5;\nadd.u64 %d6, %d5, %d4;\ncvta.to.shared.u64 %d6, %d6;\ncvt.u32.u64 %r6, %d6;\nst.shared.u32 [%r6], %r1;",
            true,
        ),
        (
            "mov.u64 %d5, s;\nadd.u64 %d6, %d5, %d4;\nst.u32 [%d6], %r1;",
            false,
        ),
        (
            "mov.u64 %d5, s;\ncvta.shared.u64 %d5, %d5;\nadd.u64 %d6, %d5, %d4;\nst.shared.u32 [%d6], %r1;",
            false,
        ),
        (
            "mov.u64 %d5, s;\ncvt.u16.u64 %h1, %d5;\ncvt.u32.u16 %r5, %h1;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r6, %r5, %r6;\nst.shared.u32 [%r6], %r1;",
            false,
        ),
    ];
    for (i, (body, right)) in shared.into_iter().enumerate() {
        let text = kernel(".shared .align 4 .b8 s[4096];", body);
        let answer = asked(&format!("shared_{i}"), &text, &[]);
        assert_eq!(answer["verdict"] == "clean", right, "{body}: {answer}");
    }
}

#[test]
fn facts_that_no_small_launch_satisfies_are_facts() {
    let body =
        "ld.param.u32 %r5, [n];\nsetp.ge.u32 %p3, %r4, %r5;\n@%p3 ret;\nst.global.u32 [%d3], %r1;";
    let racy =
        "ld.param.u32 %r5, [n];\nsetp.ge.u32 %p3, %r4, %r5;\n@%p3 ret;\nst.global.u32 [%d1], %r1;";
    for (i, facts) in [
        &["n > 1000000"][..],
        &["n == 123456789"],
        &["n > 1000000", "n % 7 == 3"],
        &["block.x == 777"],
        &["n == 1000 * block.x", "block.x > 700"],
        &["grid.x > 100000"],
    ]
    .into_iter()
    .enumerate()
    {
        let said: Vec<&str> = facts.iter().flat_map(|f| ["--assume", f]).collect();
        for (text, right) in [(body, true), (racy, false)] {
            let answer = asked(&format!("facts_{i}_{right}"), &kernel("", text), &said);
            assert_eq!(answer["verdict"] == "clean", right, "{facts:?}: {answer}");
        }
    }
    for facts in [["n > 5", "n < 3"], ["block.x == 777", "block.x < 700"]] {
        let said: Vec<&str> = facts.iter().flat_map(|f| ["--assume", f]).collect();
        let answer = asked("contradiction", &kernel("", body), &said);
        assert_eq!(answer["error"]["kind"], "fact", "{facts:?}: {answer}");
    }
}

#[test]
fn places_that_facts_bound_are_not_taken_for_granted() {
    let body = "ld.param.u64 %d5, [x];\nld.param.u64 %d6, [i];\nld.global.s32 %r5, [%d6];\nmul.wide.s32 %d7, %r5, 4;\n\
                add.u64 %d7, %d5, %d7;\nld.global.u32 %r6, [%d7];\nst.global.u32 [%d3], %r6;";
    let text = kernel("", body).replace(", .param .u32 n", ", .param .u64 i, .param .u64 x");
    for (i, (end, right)) in [("10", true), ("11", false), ("20", false)]
        .into_iter()
        .enumerate()
    {
        let fact = format!("i in 0..{end}");
        let said = [
            "--arg",
            "i=in:s32[1]",
            "--arg",
            "x=in:u32[10]",
            "--assume",
            fact.as_str(),
        ];
        let answer = asked(&format!("place_{i}"), &text, &said);
        assert_eq!(answer["verdict"] == "clean", right, "{fact}: {answer}");
    }
}
