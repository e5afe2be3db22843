//! Flow of parameters: roles, element types, and results that depend on a base address.

use super::kernel_of;
use crate::kernel::usage::results_used;
use crate::kernel::{Fmt, NumTy, Op, ParamUse, Space, param_uses};

fn uses(body: &str) -> Vec<ParamUse> {
    param_uses(&kernel_of("", body))
}

#[test]
fn a_pointer_and_an_index() {
    let found = uses(
        "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd2, %rd1;
         mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; ld.global.f32 %f1, [%rd4];
         st.global.f32 [%rd4+4], %f1; setp.lt.u32 %p1, %r2, %r1; ret;",
    );
    let [a, n] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((a.param, a.offset, a.bytes), (Some(0), 0, 8));
    assert!(a.pointer && !a.ambiguous && !a.decides);
    assert_eq!((a.reads.len(), a.writes.len(), a.atomics.len()), (1, 1, 0));
    assert_eq!(a.reads[0].ty, NumTy::Float(Fmt::F32));
    assert_eq!(a.reads[0].space, Space::Global);
    assert!(!n.pointer && n.decides);
}

#[test]
fn fields_of_structures_and_offsets() {
    let found = uses(
        "ld.param.v2.u64 {%rd1, %rd2}, [s+8]; cvta.to.global.u64 %rd3, %rd1;
         add.s64 %rd4, %rd3, %rd2; atom.global.add.u32 %r1, [%rd4], 1; ret;",
    );
    let [base, offset] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((base.param, base.offset), (Some(3), 8));
    assert_eq!((offset.param, offset.offset), (Some(3), 16));
    assert!(base.pointer && !offset.pointer);
    assert_eq!(base.atomics.len(), 1);
}

#[test]
fn spills_and_calls_keep_the_flow() {
    let found = uses(
        "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; st.local.u64 [stack], %rd1;
         st.local.u32 [stack+8], %r1; ld.local.u64 %rd2, [stack]; ld.global.f32 %f1, [%rd2];
         ld.local.u32 %r2, [stack+8]; setp.eq.u32 %p1, %r2, 0; ret;",
    );
    assert!(found[0].pointer && !found[0].decides);
    assert!(!found[1].pointer && found[1].decides);
}

#[test]
fn copies_and_variables() {
    let k = kernel_of(
        ".global .f32 g[8];",
        "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; cp.async.ca.shared.global [tile], [%rd1], 16;
         cvt.u64.u32 %rd2, %r1; mov.u64 %rd3, g; add.s64 %rd4, %rd3, %rd2;
         ld.global.f32 %f1, [%rd4]; mov.u32 %r2, tile; add.u32 %r3, %r2, %r1;
         ld.shared.f32 %f2, [%r3]; setp.lt.u32 %p1, %r1, 5; ret;",
    );
    let found = param_uses(&k);
    assert!(found[0].pointer && found[0].reads.len() == 1 && found[0].reads[0].untyped);
    // An offset from a variable, or into shared memory, is no pointer.
    assert!(!found[1].pointer && found[1].decides);
}

#[test]
fn results_of_atomics() {
    let before = ".func (.param .b32 o) f(.param .b64 p) { .reg .b32 %r<2>; .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [p]; atom.add.u32 %r1, [%rd1], 1; st.param.b32 [o], %r1; ret; }\n";
    let call = "ld.param.u64 %rd1, [a]; .param .b64 p0; .param .b32 r0; st.param.b64 [p0], %rd1;
        call (r0), f, (p0); ld.param.u32 %r1, [r0];";
    for (body, wanted) in [
        ("", false),
        ("mov.u32 %r2, %r1; st.local.u32 [stack], %r2;", false),
        ("st.global.u32 [%rd1], %r1;", true),
        (
            "st.local.u32 [stack], %r1; ld.local.u64 %rd2, [stack]; ld.global.u32 %r3, [%rd2];",
            true,
        ),
        (
            "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], 1;",
            true,
        ),
        (
            "setp.eq.u32 %p1, %r1, 0; @%p1 bra END; st.global.u32 [%rd1], 1; END:",
            true,
        ),
        (
            "mov.u64 %rd2, stack; cvta.local.u64 %rd3, %rd2; st.u32 [%rd3], %r1;
          ld.u32 %r4, [%rd1]; st.global.u32 [%rd1], %r4;",
            true,
        ),
        ("ld.u32 %r4, [%rd1]; st.global.u32 [%rd1], %r4;", false),
        ("atom.add.u32 %r5, [%rd1], %r1;", true),
    ] {
        let k = kernel_of(before, &format!("{call} {body} ret;"));
        let used = results_used(&k);
        let atom = k.insts.iter().position(|i| matches!(i.op, Op::Atom { .. }));
        assert_eq!(used[atom.expect("one")], wanted, "{body}");
    }
}
