//! Flow of parameters: roles, element types, and results that depend on a base address.

use super::{kernel_of, listing};
use crate::kernel::usage::results_used;
use crate::kernel::{Fmt, NumTy, Op, ParamUse, Pc, Space, param_uses, pointer_bits};

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
    assert_eq!(pointer_bits(&k), []);
    let k = kernel_of(
        ".global .f32 g[8];",
        "mov.u64 %rd1, g; shr.u64 %rd2, %rd1, 4; ret;",
    );
    assert_eq!(pointer_bits(&k), [Pc(1)]);
}

#[test]
fn what_depends_on_a_base() {
    let load = "ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; ld.global.f32 %f1, [%rd2];
        ld.param.u64 %rd3, [s]; ld.global.f32 %f2, [%rd3]; add.s64 %rd4, %rd2, 16;";
    let start = listing("", load).len() as u32;
    for (body, wanted) in [
        ("add.s64 %rd5, %rd2, %rd6;", false),
        ("sub.s64 %rd5, %rd2, 8;", false),
        ("sub.s64 %rd5, %rd4, %rd2;", false),
        ("sub.s64 %rd5, %rd6, %rd2;", true),
        ("sub.s64 %rd5, %rd2, %rd3;", true),
        ("add.s64 %rd5, %rd2, %rd3;", true),
        ("mad.lo.s64 %rd5, %rd6, 4, %rd2;", false),
        ("mad.lo.s64 %rd5, %rd2, 4, %rd6;", true),
        ("setp.lt.u64 %p1, %rd2, %rd4;", false),
        ("setp.lt.u64 %p1, %rd2, %rd3;", true),
        ("setp.lt.u64 %p1, %rd2, %rd6;", true),
        ("setp.ne.s64 %p1, %rd2, 0;", false),
        ("and.b64 %rd5, %rd2, 15;", false),
        ("and.b64 %rd5, %rd2, -16;", false),
        ("and.b64 %rd5, %rd2, 256;", true),
        ("or.b64 %rd5, %rd2, 8;", false),
        ("or.b64 %rd5, %rd2, %rd6;", true),
        ("shr.u64 %rd5, %rd2, 4;", true),
        ("mul.lo.s64 %rd5, %rd2, 4;", true),
        ("mov.b64 {%r1, %r2}, %rd2;", false),
        (
            "mov.b64 {%r1, %r2}, %rd2; mov.b64 %rd5, {%r1, %r2}; ld.global.f32 %f1, [%rd5];",
            false,
        ),
        ("cvt.u32.u64 %r1, %rd2; and.b32 %r2, %r1, 15;", false),
        ("st.local.u64 [stack], %rd2;", false),
        ("st.global.u64 [%rd2], %rd2;", true),
        (
            "selp.b64 %rd5, %rd2, %rd3, %p1; ld.global.f32 %f1, [%rd5];",
            false,
        ),
        ("cvt.rn.f32.u64 %f1, %rd2;", true),
    ] {
        let k = kernel_of("", &format!("{load} {body} ret;"));
        let found = pointer_bits(&k);
        let here: Vec<&Pc> = found.iter().filter(|pc| pc.0 >= start).collect();
        assert_eq!(!here.is_empty(), wanted, "{body}: {found:?}");
        assert!(wanted || found.is_empty(), "{body}: {found:?}");
    }
    // The high half decides nothing that may be known.
    let k = kernel_of(
        "",
        &format!("{load} mov.b64 {{%r1, %r2}}, %rd2; and.b32 %r3, %r2, 15; ret;"),
    );
    assert_eq!(pointer_bits(&k).len(), 1);
    let k = kernel_of(
        "",
        &format!(
            "{load} cvt.u32.u64 %r1, %rd2; cvt.u64.u32 %rd7, %r1; ld.global.f32 %f1, [%rd7]; ret;"
        ),
    );
    assert_eq!(pointer_bits(&k).len(), 1);
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
