//! Small kernels, and where they round.

use std::sync::Arc;

use super::compare::{More, Rounded, compare};
use super::*;
use crate::diag::Source;
use crate::kernel::{lower, select_entry};

/// Declarations that every body may use.
const DECLARED: &str = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %rd<19>; .reg .f32 %f<9>; \
                        .reg .f64 %fd<9>; .shared .align 8 .b8 tile[64]; .local .align 16 .b8 stack[32];";

/// The kernel with this body, and what stands before it in the module.
pub(crate) fn kernel_of(before: &str, body: &str) -> Kernel {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n{before}\n.visible .entry main(.param .u64 a, .param .u32 n, \
         .param .f32 x)\n{{{DECLARED}{body}\n}}\n"
    );
    let source = Arc::new(Source::new("test.ptx", text).expect("short"));
    let module = volta_ptx::ptx::parse(&source).expect("a module");
    let name = module.entries().nth(1).map(|_| "main");
    let entry = select_entry(&module, name).expect("an entry");
    match lower(&module, &source, entry) {
        Ok(lowered) => lowered.kernel,
        Err(errors) => panic!("{body}: {errors:?}"),
    }
}

/// Loads `%f1` to `%f3` and `%rd1`, the address of the output.
const START: &str = "ld.param.u64 %rd1, [a]; ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; \
                     ld.global.f32 %f3, [%rd1+8];";

/// Format, kind and use of the roundings of a body.
fn found(body: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    let kernel = kernel_of("", &format!("{START}{body}"));
    let all = roundings(&kernel);
    all.iter()
        .map(|r| (r.fmt.name(), r.kind.name(), r.then.name()))
        .collect()
}

#[test]
fn only_what_reaches_an_output() {
    assert_eq!(
        found("cvt.rn.f16.f32 %h1, %f1; cvt.rn.bf16.f32 %h2, %f2; st.global.b16 [%rd1], %h1;"),
        [("f16", "conversion", "stored")]
    );
    // What is stored in local memory and never loaded goes nowhere.
    assert_eq!(
        found("cvt.rn.f16.f32 %h1, %f1; st.local.b16 [stack], %h1; st.global.f32 [%rd1], %f1;"),
        []
    );
    assert_eq!(
        found(
            "cvt.rn.f16.f32 %h1, %f1; st.local.b16 [stack+4], %h1; ld.local.b16 %h2, [stack+4]; \
             st.global.b16 [%rd1], %h2;"
        ),
        [("f16", "conversion", "stored")]
    );
    // It decides what is stored.
    assert_eq!(
        found(
            "cvt.rn.f16.f32 %h1, %f1; setp.lt.f16 %p1, %h1, %h1; @%p1 bra end; \
             st.global.f32 [%rd1], %f1; end: ret;"
        ),
        [("f16", "conversion", "stored")]
    );
}

#[test]
fn what_is_exact_is_no_rounding() {
    assert_eq!(
        found(
            "cvt.rn.f16.f32 %h1, %f1; neg.f16 %h2, %h1; max.f16 %h3, %h2, %h1; \
             cvt.f32.f16 %f4, %h3; st.global.f32 [%rd1], %f4;"
        ),
        [("f16", "conversion", "stored")]
    );
    assert_eq!(
        found("ld.global.u8 %h1, [%rd1]; cvt.rn.f16.u8 %h2, %h1; st.global.b16 [%rd1], %h2;"),
        []
    );
    assert_eq!(
        found("ld.global.u32 %r1, [%rd1]; cvt.rn.f16.u32 %h2, %r1; st.global.b16 [%rd1], %h2;"),
        [("f16", "conversion", "stored")]
    );
    assert_eq!(
        found("ld.global.f64 %fd1, [%rd1]; cvt.rn.f32.f64 %f4, %fd1; st.global.f32 [%rd1], %f4;"),
        []
    );
}

#[test]
fn what_becomes_of_a_value() {
    // A product of rounded values is computed from them, and is stored.
    assert_eq!(
        found(
            "cvt.rn.f16.f32 %h1, %f1; mul.f16 %h2, %h1, %h1; fma.rn.f16 %h3, %h2, %h1, %h1; \
             st.global.b16 [%rd1], %h3;"
        ),
        [
            ("f16", "conversion", "computed"),
            ("f16", "arithmetic", "computed"),
            ("f16", "arithmetic", "stored"),
        ]
    );
    // A sum in the format, in a row and in a loop.
    assert_eq!(
        found(
            "cvt.rn.f16.f32 %h1, %f1; add.f16 %h2, %h1, %h1; add.f16 %h3, %h2, %h1; \
             st.global.b16 [%rd1], %h3;"
        )[1..],
        [
            ("f16", "arithmetic", "summed"),
            ("f16", "arithmetic", "stored"),
        ]
    );
    assert_eq!(
        found(
            "mov.b16 %h2, 0; mov.u32 %r1, 0; next: cvt.rn.f16.f32 %h1, %f1; \
             fma.rn.f16 %h3, %h1, %h1, %h2; mov.b16 %h2, %h3; add.u32 %r1, %r1, 1; \
             setp.lt.u32 %p1, %r1, 4; @%p1 bra next; st.global.b16 [%rd1], %h2;"
        ),
        [
            ("f16", "conversion", "computed"),
            ("f16", "arithmetic", "summed"),
        ]
    );
    // A sum in f32 that is rounded to bf16 between additions, and one that is not.
    assert_eq!(
        found(
            "add.f32 %f4, %f1, %f2; cvt.rn.bf16.f32 %h1, %f4; cvt.f32.bf16 %f5, %h1; \
             add.f32 %f6, %f5, %f3; cvt.rn.bf16.f32 %h2, %f6; st.global.b16 [%rd1], %h2;"
        ),
        [
            ("bf16", "conversion", "summed"),
            ("bf16", "conversion", "stored"),
        ]
    );
    assert_eq!(
        found(
            "cvt.rn.bf16.f32 %h1, %f1; cvt.f32.bf16 %f5, %h1; \
             add.f32 %f6, %f5, %f3; cvt.rn.bf16.f32 %h2, %f6; st.global.b16 [%rd1], %h2;"
        ),
        [
            ("bf16", "conversion", "computed"),
            ("bf16", "conversion", "stored"),
        ]
    );
}

#[test]
fn a_tile_that_is_written_last_is_not_read_before() {
    // The tile is filled with inputs, and used once more for the results.
    let staged = |order: &str| format!("mov.u32 %r1, tile; {order}");
    let results = staged(
        "ld.shared.b16 %h1, [%r1]; cvt.f32.f16 %f4, %h1; mul.f32 %f5, %f4, %f4; \
         cvt.rn.f16.f32 %h2, %f5; st.shared.b16 [%r1], %h2; bar.sync 0; \
         ld.shared.b16 %h3, [%r1]; st.global.b16 [%rd1], %h3;",
    );
    assert_eq!(found(&results), [("f16", "conversion", "stored")]);
    let inputs = staged(
        "cvt.rn.f16.f32 %h2, %f1; st.shared.b16 [%r1], %h2; bar.sync 0; \
         ld.shared.b16 %h1, [%r1]; cvt.f32.f16 %f4, %h1; mul.f32 %f5, %f4, %f4; \
         st.global.f32 [%rd1], %f5;",
    );
    assert_eq!(found(&inputs), [("f16", "conversion", "computed")]);
    // Another thread may read what stands later in the code.
    let apart = staged(
        "ld.shared.b16 %h1, [%r1]; st.global.b16 [%rd1], %h1; \
         cvt.rn.f16.f32 %h2, %f1; st.shared.b16 [%r1], %h2;",
    );
    assert_eq!(found(&apart), [("f16", "conversion", "stored")]);
}

#[test]
fn a_register_is_written_again() {
    // What is stored is not what was rounded.
    assert_eq!(
        found("cvt.rn.f16.f32 %h1, %f1; mov.b16 %h1, 0; st.global.b16 [%rd1], %h1;"),
        []
    );
    // It may be, under a guard and in a loop.
    assert_eq!(
        found(
            "setp.lt.f32 %p1, %f2, %f3; cvt.rn.f16.f32 %h1, %f1; @%p1 mov.b16 %h1, 0; \
             st.global.b16 [%rd1], %h1;"
        ),
        [("f16", "conversion", "stored")]
    );
    assert_eq!(
        found(
            "mov.b16 %h1, 0; mov.u32 %r1, 0; next: st.global.b16 [%rd1], %h1; \
             cvt.rn.f16.f32 %h1, %f1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 4; \
             @%p1 bra next;"
        ),
        [("f16", "conversion", "stored")]
    );
}

#[test]
fn products_of_matrices() {
    let loads = "mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0;";
    let f16 = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r5, %r6}, {%r1, %r2}, {%r3}, {%r5, %r6}; \
               st.global.b32 [%rd1], %r5;";
    assert_eq!(
        found(&format!("{loads} mov.u32 %r5, 0; mov.u32 %r6, 0; {f16}")),
        [("f16", "accumulator", "summed")]
    );
    let tf32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f4, %f5, %f6, %f7}, \
                {%r1, %r2, %r3, %r4}, {%r3, %r4}, {%f1, %f1, %f1, %f1}; st.global.f32 [%rd1], %f4;";
    assert_eq!(
        found(&format!("{loads} cvt.rna.tf32.f32 %r1, %f2; {tf32}")),
        [
            ("tf32", "conversion", "computed"),
            ("tf32", "factor", "computed"),
        ]
    );
    assert_eq!(
        found("red.global.add.noftz.f16 [%rd1], %h1;"),
        [("f16", "atomic", "summed")]
    );
}

#[test]
fn comparisons() {
    let stored = "add.f32 %f4, %f1, %f2; cvt.rn.f16.f32 %h1, %f4; st.global.b16 [%rd1], %h1;";
    let computed = "cvt.rn.f16.f32 %h1, %f1; mul.f16 %h2, %h1, %h1; st.global.b16 [%rd1], %h2;";
    let summed = "ld.global.b16 %h1, [%rd1]; add.f16 %h2, %h1, %h1; add.f16 %h3, %h2, %h1; \
                  st.global.b16 [%rd1], %h3;";
    let bytes = "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; st.global.b16 [%rd1], %h1;";
    let bf16 = "cvt.rn.bf16.f32 %h1, %f1; st.global.b16 [%rd1], %h1;";
    let plain = "st.global.f32 [%rd1], %f1;";
    let differ = |a: &str, b: &str| -> Vec<(More, &'static str)> {
        let [x, y] = [a, b].map(|body| kernel_of("", &format!("{START}{body}")));
        let [p, q] = [&x, &y].map(roundings);
        let [e, f] = [&x, &y].map(|k| vec![32u64; k.insts.len()]);
        let rounded = |roundings, executed| Rounded {
            roundings,
            executed,
            bytes: 64,
        };
        let found = compare(rounded(&p, &e), rounded(&q, &f));
        found.iter().map(|m| (m.kind, m.fmt.name())).collect()
    };
    // A number that the format holds is not rounded.
    let zero = "mov.f32 %f4, 0f00000000; cvt.rn.f16.f32 %h1, %f4; st.global.b16 [%rd1], %h1;";
    let tenth = "mov.f32 %f4, 0f3DCCCCCD; cvt.rn.f16.f32 %h1, %f4; st.global.b16 [%rd1], %h1;";
    assert_eq!(differ(plain, zero), []);
    assert_eq!(differ(plain, tenth), [(More::Narrower, "f16")]);
    for body in [plain, stored, computed, summed, bytes, bf16] {
        assert_eq!(differ(body, body), []);
        assert_eq!(differ(body, plain), []);
    }
    assert_eq!(differ(plain, stored), [(More::Narrower, "f16")]);
    assert_eq!(differ(stored, bytes), [(More::Narrower, "e4m3")]);
    assert_eq!(differ(stored, bf16), [(More::Narrower, "bf16")]);
    assert_eq!(differ(bf16, stored), [(More::Narrower, "f16")]);
    assert_eq!(differ(bytes, stored), []);
    assert_eq!(differ(stored, computed), [(More::Earlier, "f16")]);
    assert_eq!(differ(stored, summed), [(More::Sums, "f16")]);
    assert_eq!(differ(summed, computed), []);
    let twice = format!("{stored} cvt.rn.f16.f32 %h2, %f1; st.global.b16 [%rd1+4], %h2;");
    assert_eq!(differ(stored, &twice), [(More::Often, "f16")]);
}
