//! Scopes, labels, jump tables, joins and source locations.

use super::{check, kernel_of, listing};
use crate::kernel::structured::reachable;
use crate::kernel::{Op, Pc};

#[test]
fn inner_scopes_shadow() {
    let found = listing(
        "",
        "mov.u32 %r5, 1;
         { .reg .b32 %r<6>; .reg .u32 local; mov.u32 %r5, 2; mov.u32 local, %r5; mov.u32 %r7, 7;
           { .reg .b32 %r5; mov.u32 %r5, 3; } mov.u32 %r5, 4; }
         mov.u32 %r5, %r7;",
    );
    let k = kernel_of(
        "",
        "mov.u32 %r5, 1; { .reg .b32 %r<6>; mov.u32 %r5, 2; } mov.u32 %r5, 3;",
    );
    let dst = |pc: usize| match k.insts[pc].op {
        Op::Mov { dst, .. } => dst,
        _ => panic!("a move"),
    };
    assert_eq!(dst(0), dst(2));
    assert_ne!(dst(0), dst(1));
    assert_eq!(found.len(), 7);
    assert_eq!(found[6], "mov.b32 %r5, %r7");
}

#[test]
fn labels_of_sibling_scopes_are_their_own() {
    let found = listing(
        "",
        "{ L: bra.uni L; } { bra L; L: @%p1 bra OUT; } OUT: bra L2; L2:",
    );
    assert_eq!(found, ["bra.uni 0", "bra 2", "@%p1 bra 3", "bra 4"]);
}

#[test]
fn joins_are_immediate_post_dominators() {
    // if/else, loop, early exit, and a branch whose ways meet only at the end.
    let k = kernel_of(
        "",
        "@%p1 bra ELSE; mov.u32 %r1, 1; bra.uni END; ELSE: mov.u32 %r1, 2; END:
         LOOP: add.u32 %r1, %r1, 1; @%p2 bra LOOP; @%p3 exit; @%p4 bra X; exit; X: ret;",
    );
    check(&k);
    assert_eq!(k.join[0], 4);
    assert_eq!(k.join[5], 6);
    assert_eq!(k.join[6], u32::MAX);
    assert_eq!(k.join[7], u32::MAX);
    assert!(matches!(k.insts[7].op, Op::Bra { target: Pc(9), .. }));
}

#[test]
fn endless_loops_have_no_join() {
    let k = kernel_of("", "@%p1 bra L; mov.u32 %r1, 1; L: bra L;");
    check(&k);
    assert_eq!(k.join[0], u32::MAX);
    assert_eq!(reachable(&k)[..3], [true, true, true]);
}

#[test]
fn long_chains_of_branches() {
    let body: String = (0..20_000)
        .map(|i| format!("@%p1 bra L{i}; mov.u32 %r1, {i}; L{i}:\n"))
        .collect();
    let k = kernel_of("", &body);
    check(&k);
    assert!((0..20_000).all(|i| k.join[2 * i] == 2 * i as u32 + 2));
    let nest: String = (0..5000).map(|i| format!("@%p1 bra N{i};\n")).collect();
    let ends: String = (0..5000).rev().map(|i| format!("N{i}:\n")).collect();
    let k = kernel_of("", &format!("{nest}{ends} ret;"));
    assert!((0..5000).all(|i| k.join[i] == 5000));
}

#[test]
fn jump_tables() {
    let k = kernel_of(
        "",
        "T: .branchtargets A, B, A; brx.idx.uni %r1, T; A: mov.u32 %r1, 1; B: ret;
         U: .branchtargets M<2>; @%p1 brx.idx %r2, U; M0: ret; M1: ret;",
    );
    check(&k);
    assert_eq!(k.tables, [vec![Pc(1), Pc(2), Pc(1)], vec![Pc(4), Pc(5)]]);
    assert_eq!(k.join[0], 2);
    assert_eq!(reachable(&k)[..4], [true, true, true, false]);
}

#[test]
fn unreachable_ends_and_empty_bodies() {
    let k = kernel_of("", "");
    assert_eq!(k.insts.len(), 1);
    let k = kernel_of("", "@%p1 ret;");
    assert_eq!(k.insts.len(), 2);
    let k = kernel_of("", "bra END; trap; END:");
    check(&k);
    assert!(matches!(k.insts[0].op, Op::Bra { target: Pc(2), .. }));
}

#[test]
fn source_locations() {
    let k = kernel_of(
        ".file 1 \"k.cu\" .file 2 \"h.cuh\"",
        "mov.u32 %r1, 1; .loc 1 7 3 mov.u32 %r1, 2;
         .loc 2 9 1, function_name $L__info_string0, inlined_at 1 8 5
         mov.u32 %r1, 3; .loc 1 7 9 mov.u32 %r1, 4; ret;",
    );
    let at: Vec<_> = (0..4)
        .map(|pc| k.loc(Pc(pc)).map(|loc| (loc.file.as_str(), loc.line)))
        .collect();
    assert_eq!(
        at,
        [
            None,
            Some(("k.cu", 7)),
            Some(("h.cuh", 9)),
            Some(("k.cu", 7))
        ]
    );
    assert_eq!(k.locs.len(), 2);
}
