//! Expansion of calls.

use super::{check, kernel_of, listing, lower_text, module_of};
use crate::kernel::indirect::NO_TARGET;
use crate::kernel::{LowerError, Op};

#[test]
fn param_variables_are_shared_with_the_callee() {
    let found = listing(
        ".func (.param .b32 out) twice(.param .b32 in) {
            .reg .b32 %r<3>; ld.param.u32 %r1, [in]; add.u32 %r2, %r1, %r1;
            st.param.b32 [out], %r2; ret; }",
        "{ .param .b32 p0; st.param.b32 [p0], %r1; .param .b32 r0;
           call.uni (r0), twice, (p0); ld.param.b32 %r2, [r0]; } ret;",
    );
    assert_eq!(
        found,
        [
            "st.local.b32 [0x20], {%r1}",
            "ld.local.u32 {%r1@twice.1}, [0x20]",
            "int Add.u32 %r2@twice.1, %r1@twice.1, %r1@twice.1",
            "st.local.b32 [0x24], {%r2@twice.1}",
            "bra 5",
            "ld.local.b32 {%r2}, [0x24]"
        ]
    );
}

#[test]
fn registers_are_moved() {
    let found = listing(
        ".func (.reg .f32 out) inc(.reg .f32 in, .reg .b32 k) {
            @%p bra done; add.f32 out, in, 0f3F800000; done: ret; }"
            .replace("{\n", "{ .reg .pred %p;\n")
            .as_str(),
        "@!%p1 call (%f1), inc, (%f2, 5); ret;",
    );
    assert_eq!(
        found,
        [
            "@%p1 bra 7",
            "mov.b32 in@inc.1, %f2",
            "mov.b32 k@inc.1, 5",
            "@%p@inc.1 bra 5",
            "float Add.f32 out@inc.1, in@inc.1, 0x3f800000",
            "bra 6",
            "mov.b32 %f1, out@inc.1"
        ]
    );
}

#[test]
fn an_addressed_parameter_is_copied() {
    let found = listing(
        ".func change(.param .align 4 .b8 in[6]) { .reg .b64 %rd<2>; mov.b64 %rd1, in;
            st.local.b8 [%rd1], 1; ret; }",
        "{ .param .align 4 .b8 p0[6]; call change, (p0); } ret;",
    );
    assert_eq!(
        found[..5],
        [
            "ld.local.b32 {%tmp0}, [0x20]",
            "st.local.b32 [0x28], {%tmp0}",
            "ld.local.b16 {%tmp1}, [0x20+4]",
            "st.local.b16 [0x28+4], {%tmp1}",
            "mov.b64 %rd1@change.1, 0x28"
        ]
    );
}

#[test]
fn recursion_ends_in_call_depth() {
    let down = ".func down(.reg .b32 n) { .reg .pred %p; .reg .b32 %m; setp.eq.u32 %p, n, 0;
        @%p ret; sub.u32 %m, n, 1; call down, (%m); ret; }";
    let k = kernel_of(down, "call down, (%r1); ret;");
    check(&k);
    let deep = k.insts.iter().filter(|i| i.op == Op::CallDepth);
    assert_eq!(deep.count(), 1);
    assert_eq!(
        k.insts
            .iter()
            .filter(|i| matches!(i.op, Op::Setp { .. }))
            .count(),
        24
    );
    // A tree of calls is cut where it would become too large.
    let fib = ".func fib(.reg .b32 n) { .reg .pred %p; setp.eq.u32 %p, n, 0;
        @%p call fib, (n); @!%p call fib, (n); ret; }";
    let k = kernel_of(fib, "call fib, (%r1); ret;");
    check(&k);
    assert!(k.insts.len() < 1 << 18);
    assert!(k.insts.iter().any(|i| i.op == Op::CallDepth));
}

#[test]
fn functions_without_a_body() {
    let found = listing(
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
         .extern .func __assertfail(.param .b64 a); .extern .func other();",
        "{ .param .b64 p; .param .b32 r; call.uni (r), vprintf, (p, p); }
         { .param .b64 p; @%p1 call.uni __assertfail, (p); } call other; call (%r1), %rd1, (%r2), c;
         c: .callprototype (.reg .b32 _) _ (.reg .b32 _); ret;",
    );
    assert_eq!(found[0], "printf result 40");
    assert_eq!(found[1], "@%p1 assertfail");
    let other = "unsupported: call (`other` has no body here (if it touches no memory and equal arguments give equal \
                 results, say --assume 'pure other'))";
    assert_eq!(found[2], other);
    assert_eq!(found[3], format!("unsupported: call ({NO_TARGET})"));
}

#[test]
fn targets_are_tested_one_by_one() {
    let functions = ".func (.reg .b32 r) one(.reg .b32 a) { mov.u32 r, 1; ret; }
         .func (.reg .b32 r) two(.reg .b32 a) { mov.u32 r, 2; ret; }
         .func (.reg .b32 r) wide(.reg .b64 a) { mov.u32 r, 3; ret; }
         .func (.reg .b32 r) named(.reg .b32 a) { mov.u32 r, 4; ret; }
         .global .u64 table[3] = {one, two, wide};";
    let found = listing(
        functions,
        "c: .callprototype (.reg .b32 _) _ (.reg .b32 _); mov.u64 %rd1, table; ld.global.u64 %rd2, [%rd1];
         @%p1 call (%r1), %rd2, (%r2), c; call (%r1), named, (%r2); ret;",
    );
    // What has another parameter, or whose address nobody takes, is no target.
    let moved = |n: u32| format!("mov.b32 r@{}.{n}, {n}", ["one", "two"][n as usize - 1]);
    let at = |text: &str| found.iter().position(|line| line == text);
    assert!(
        at(&moved(1)).is_some() && at(&moved(1)) < at(&moved(2)),
        "{found:?}"
    );
    assert!(found.iter().all(|line| !line.contains("wide")));
    assert_eq!(
        found
            .iter()
            .filter(|line| line.contains("unsupported"))
            .count(),
        1
    );
    assert!(found[2].starts_with("@!%p1 bra"));
}

#[test]
fn listed_targets_alone_are_tested() {
    let functions = ".func one() { ret; } .func two() { bar.sync 0; ret; } .func three() { ret; }
         .global .u64 table[3] = {one, two, three};";
    let found = listing(
        functions,
        "t: .calltargets one, three; mov.u64 %rd1, one; call %rd1, t; ret;",
    );
    assert!(found.iter().all(|line| !line.contains("bar")), "{found:?}");
    assert_eq!(
        found.iter().filter(|line| line.starts_with("setp")).count(),
        2
    );
}

#[test]
fn variables_keep_their_values_beside_functions() {
    let k = kernel_of(
        ".func one() { ret; } .global .u64 table[1] = {one}; .global .u32 seven = 7;",
        "mov.u64 %rd1, one; mov.u64 %rd1, table; mov.u64 %rd2, seven; ret;",
    );
    let names: Vec<&str> = k.globals.iter().map(|g| &g.name[..]).collect();
    assert_eq!(names, ["one", "table", "seven"]);
    assert_eq!(k.globals[2].init, [7, 0, 0, 0]);
    assert_eq!(k.globals[1].relocs.len(), 1);
}

#[test]
fn arguments_must_fit() {
    let f = ".func f(.param .b64 a) { ret; }";
    let text = module_of(f, "{ .param .b32 p; call f, (p); } call f; ret;");
    let errors = lower_text(&text).expect_err("wrong arguments");
    assert!(matches!(
        errors[..],
        [
            LowerError::ArgumentSize {
                found: 4,
                wanted: 8,
                ..
            },
            LowerError::CallArity {
                found: 0,
                wanted: 1,
                ..
            }
        ]
    ));
}

#[test]
fn aliases_and_shared_statics_of_functions() {
    let k = kernel_of(
        ".func body() { .reg .b32 %r; .shared .b32 once; mov.u32 %r, once; ret; } .func al();
         .alias al, body;",
        "call al; call body; ret;",
    );
    check(&k);
    assert_eq!(k.shared.len(), 2);
    let movs = k.insts.iter().filter(|i| matches!(i.op, Op::Mov { .. }));
    assert_eq!(movs.count(), 2);
}
