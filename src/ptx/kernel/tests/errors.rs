//! Input errors: what is said, and where; selection of entries.

use std::sync::Arc;

use super::{lower_text, module_of};
use crate::diag::Source;
use crate::kernel::{LowerError, select_entry};
use crate::ptx;

/// The messages of a body's errors, with the text that each points at.
fn errors_of(body: &str) -> Vec<String> {
    let text = module_of("", body);
    let errors = lower_text(&text).expect_err("wrong input");
    let source = Source::new("test.ptx", text).expect("short");
    errors
        .iter()
        .map(|error| {
            let at = error.span().map_or("", |span| source.slice(span));
            let help = error.diagnostic().help.unwrap_or_default();
            format!("{at}: {error}; {help}")
        })
        .collect()
}

#[test]
fn several_errors_in_one_run() {
    let found = errors_of(
        "add.u32 %r1, %r99, %r2;
         bra LOPP;
         LOOP: add.u32 %f1, %r1, %r2;
         .reg .b32 %r1;
         add.u32 %r1, %r2;
         add.f32 %f1, %f2, 5;
         st.shared.u32 [stack], %r1;
         setp.eq.u32 %r1, %r2, %r3;
         mov.u32 %r1, tyle;
         add.u32 %r1, tile, 4;
         @%r1 bra LOOP;
         ld.global.f32 %f1, %rd1;",
    );
    assert_eq!(
        found,
        [
            "%r99: `%r99` is not declared; `%r<19>` declares %r0 to %r18",
            "LOPP: there is no label `LOPP` in this scope; did you mean `LOOP`?",
            "%f1: `%f1` has type `.f32`, which does not fit `.u32` of `add.u32`; ",
            "%r1: `%r1` is declared twice in this scope; ",
            "add.u32: `add.u32` takes 3 operands, not 2; ",
            "5: this constant does not fit `.f32`; write a float constant, e.g. `1.0` or `0f3F800000`",
            "[stack]: `stack` is in another state space than the instruction accesses; ",
            "%r1: `%r1` has type `.b32`, which does not fit `.pred` of `setp.eq.u32`; ",
            "tyle: `tyle` is not declared; did you mean `tile`?",
            "tile: `tile` is a variable, but a register must stand here; ",
            "@%r1: `%r1` is a register, but a predicate register must stand here; ",
            "%rd1: an address in brackets must stand here; "
        ]
    );
}

#[test]
fn widths_are_checked() {
    let found =
        errors_of("shl.b64 %rd1, %rd2, %rd3; cvt.u32.u64 %r1, %r2; add.u32 %rd1, %r1, %r2;");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("`%rd3` has type `.b64`, which does not fit `.u32`"));
}

#[test]
fn entries_are_selected() {
    let text = ".version 9.0\n.target sm_80\n.address_size 64\n.entry ab() { ret; }\n\
                .entry abc() { ret; }\n.entry x() { ret; }\n";
    let source = Arc::new(Source::new("e.ptx", text).expect("short"));
    let module = ptx::parse(&source).expect("parses");
    let name =
        |wanted| select_entry(&module, wanted).map(|id| module.text(module[id].name).to_string());
    assert_eq!(name(Some("ab")), Ok("ab".to_string()));
    assert_eq!(name(Some("bc")), Ok("abc".to_string()));
    assert!(
        matches!(name(Some("a")), Err(LowerError::AmbiguousEntry { entries }) if entries.len() == 2)
    );
    assert!(matches!(
        name(Some("q")),
        Err(LowerError::UnknownEntry { .. })
    ));
    let error = name(None).expect_err("several");
    let shown = error.diagnostic().help.unwrap_or_default();
    assert_eq!(shown, "one of: --entry ab   --entry abc   --entry x");
}

#[test]
fn unknown_words_are_warnings() {
    let text = module_of(
        "",
        "fmaa.rn.f32 %f1, %f2, %f3, %f4; add.satt.s32 %r1, %r2, %r3; ret;",
    );
    let lowered = lower_text(&text).expect("only warnings");
    let shown: Vec<String> = lowered
        .warnings
        .iter()
        .map(|w| format!("{w}; {}", w.diagnostic().help.unwrap_or_default()))
        .collect();
    assert_eq!(
        shown,
        [
            "`fmaa.rn.f32` is not known: PTX ISA 9.0 has no such opcode; did you mean `fma`?",
            "`add.satt.s32` is not known: PTX ISA 9.0 has no modifier `.satt`; did you mean `.sat`?"
        ]
    );
    assert_eq!(lowered.kernel.texts.len(), 2);
}

#[test]
fn hostile_sizes_are_errors_or_cheap() {
    for body in [
        ".shared .b8 huge[4294967296]; mov.u32 %r1, huge;",
        ".local .b8 a[2147483647]; .local .b8 b[2147483647];",
        ".local .b8 c[18446744073709551615];",
        ".local .align 3 .b8 d[4];",
        ".local .b8 e[-1];",
        ".local .b8 f[2][];",
    ] {
        let found = errors_of(body);
        assert!(found[0].contains("cannot be used"), "{body}: {found:?}");
    }
    let text = module_of(
        "",
        ".reg .b32 %z<4000000000>; mov.u32 %z3999999999, %z0; ret;",
    );
    let lowered = lower_text(&text).expect("declared");
    assert_eq!(lowered.kernel.reg_name, ["%z0", "%z3999999999"]);
}
