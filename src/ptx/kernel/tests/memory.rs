//! Loads, stores, atomics, layout of variables and initial values.

use super::{check_table, kernel_of, listing};
use crate::kernel::{Begins, GlobalId, ParamKind, SymbolRef};

#[test]
fn loads_and_stores() {
    check_table(
        "ld.param.u64 %rd1, [a]; => ld.param.u64 {%rd1}, [0]
         ld.param.u32 %r1, [s+4]; => ld.param.u32 {%r1}, [0x10+4]
         ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16]; => ld.global.nc.f32 {%f1, %f2, %f3, %f4}, [%rd1+16]
         ld.global.v4.f32 %v1, [%rd1]; => ld.global.f32 {%v1.x, %v1.y, %v1.z, %v1.w}, [%rd1]
         ld.shared.b8 %h1, [%r1+-8]; => ld.shared.b8 {%h1}, [%r1-8]
         ld.volatile.global.u32 %r1, [%rd1]; => ld.global.volatile.u32 {%r1}, [%rd1]
         ld.acquire.gpu.global.u32 %r1, [%rd1]; => ld.global.Acquire.Gpu.u32 {%r1}, [%rd1]
         ld.b32 %r1, [tile+4]; => ld.shared.b32 {%r1}, [0+4]
         ld.shared.b32 %r1, [stack]; => unsupported
         ld.global.b128 %q1, [%rd1]; => ld.global.b64 {%q1.lo, %q1.hi}, [%rd1]
         st.global.u8 [%rd1], %r1; => st.global.u8 [%rd1], {%r1}
         st.shared.v2.f32 [tile], {%f1, 0f00000000}; => st.shared.f32 [0], {%f1, 0}
         st.release.sys.global.b32 [%rd1], 7; => st.global.Release.Sys.b32 [%rd1], {7}
         st.local.u32 [stack+4], %r1; => st.local.u32 [0+4], {%r1}
         ld.shared.b8 %r1, tile[%r2]; => cvt.u64.u32 %tmp1, %r2 ;; int MadLo.u64 %tmp2, %tmp1, 1, 0 ;; ld.shared.b8 {%r1}, [%tmp2]"
            .replace(
                "         ld.shared.b32 %r1, [stack]; => unsupported\n",
                "",
            )
            .as_str(),
    );
}

#[test]
fn atomics() {
    check_table(
        "atom.global.add.u32 %r1, [%rd1], %r2; => atom Add.global.Relaxed.Gpu.u32 {%r1}, [%rd1], {%r2}
         atom.acq_rel.cta.shared.cas.b32 %r1, [%r2], %r3, 5; => atom Cas.shared.AcqRel.Cta.b32 {%r1}, [%r2], {%r3}, cas 5
         red.global.add.f32 [%rd1], %f1; => atom Add.global.Relaxed.Gpu.f32 {}, [%rd1], {%f1}
         atom.add.noftz.f16x2 %r1, [%rd1], %r2; => atom Addx2.generic.Relaxed.Gpu.f16 {%r1}, [%rd1], {%r2}
         red.global.v2.f32.add [%rd1], {%f1, %f2}; => atom Add.global.Relaxed.Gpu.f32 {}, [%rd1], {%f1, %f2}
         atom.global.inc.u32 _, [%rd1], %r2; => atom Inc.global.Relaxed.Gpu.u32 {}, [%rd1], {%r2}",
    );
}

#[test]
fn used_bytes_speak_of_the_next_load_only() {
    let found = listing(
        "",
        ".pragma \"used_bytes_mask 0x0f\"; ld.global.v2.b32 {%r1, %r2}, [%rd1];
         ld.global.b32 %r1, [%rd1];",
    );
    assert_eq!(
        found,
        [
            "ld.global.b32 {%r1, %r2}, [%rd1] used 0xf",
            "ld.global.b32 {%r1}, [%rd1]"
        ]
    );
}

#[test]
fn parameters_are_laid_out_by_alignment() {
    let k = kernel_of("", "ret;");
    let at: Vec<_> = k.params.iter().map(|p| (p.offset, p.bytes)).collect();
    assert_eq!(at, [(0, 8), (8, 4), (12, 4), (16, 24)]);
    assert_eq!(k.param_bytes, 40);
    assert_eq!(k.params[3].kind, ParamKind::Bytes);
    let int = ParamKind::Int {
        width: 64,
        signed: false,
        pointer: false,
        untyped: false,
    };
    assert_eq!(k.params[0].kind, int);
}

#[test]
fn shared_memory_is_laid_out() {
    let k = kernel_of(
        ".shared .b8 unused[100]; .shared .align 16 .b8 first[3];
         .extern .shared .align 16 .b8 one[]; .extern .shared .b32 two[];",
        "mov.u32 %r1, first; mov.u32 %r2, one; mov.u32 %r3, two;
         { .shared .b64 inner; mov.u32 %r4, inner; } mov.u32 %r5, tile; ret;",
    );
    let at: Vec<_> = k.shared.iter().map(|v| (&v.name[..], v.offset)).collect();
    // With gaps between variables, and before the dynamic part.
    assert_eq!(at, [("first", 0), ("tile", 4104), ("inner", 8264)]);
    assert_eq!((k.shared_bytes, k.dynamic_shared), (8272, Some(12368)));
    let texts: Vec<String> = (0..5)
        .map(|pc| k.listing().text(crate::kernel::Pc(pc)))
        .collect();
    assert_eq!(
        texts,
        [
            "mov.b32 %r1, 0",
            "mov.b32 %r2, 0x3050",
            "mov.b32 %r3, 0x3050",
            "mov.b32 %r4, 0x2048",
            "mov.b32 %r5, 0x1008"
        ]
    );
}

#[test]
fn globals_are_numbered_by_first_use() {
    let k = kernel_of(
        ".global .f32 table[2][2] = {{1.0}, {3.0, 0f40800000}};
         .const .b16 k[4] = {1, -2, 3}; .global .u64 p = table+8; .extern .global .b8 e[];
         .const .f32 filled[4]; .global .align 4 .v2 .b32 v[2] = {{1, 2}, {3}};
         .global .u64 unused;",
        "mov.u64 %rd1, p; ld.const.b16 %h1, [k+2]; mov.u64 %rd2, e+4; mov.u64 %rd3, filled;
         mov.u64 %rd4, v; ret;",
    );
    let names: Vec<&str> = k.globals.iter().map(|g| &g.name[..]).collect();
    assert_eq!(names, ["p", "k", "e", "filled", "v", "table"]);
    assert_eq!(
        k.globals[0].relocs,
        [(0, SymbolRef::Global(GlobalId(5)), 8)]
    );
    assert_eq!(k.globals[1].init, [1, 0, 0xfe, 0xff, 3, 0]);
    assert!(k.globals[1].constant && k.globals[1].begins == Begins::Initialised);
    assert_eq!(
        [&k.globals[2], &k.globals[3]].map(|g| g.begins),
        [Begins::Elsewhere, Begins::Filled]
    );
    assert_eq!(k.globals[4].init, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    let table: Vec<u8> = [1f32, 0., 3., 4.]
        .iter()
        .flat_map(|f| f.to_le_bytes())
        .collect();
    assert_eq!(k.globals[5].init, table);
    assert_eq!(
        k.listing().text(crate::kernel::Pc(1)),
        "ld.const.b16 {%h1}, [g1+2]"
    );
    assert_eq!(k.listing().text(crate::kernel::Pc(2)), "mov.b64 %rd2, g2+4");
}
