//! Integer, float, comparison and conversion families.

use super::{check_table, listing};

#[test]
fn integers() {
    check_table(
        "add.s32 %r1, %r2, -1; => int Add.s32 %r1, %r2, 0xffffffff
         add.u16 %h1, %h2, 0x12345; => int Add.u16 %h1, %h2, 0x2345
         add.sat.s32 %r1, %r2, %r3; => int AddSat.s32 %r1, %r2, %r3
         add.s16x2 %r1, %r2, %r3; => int Add.s16x2 %r1, %r2, %r3
         sub.u64 %rd1, %rd2, %rd3; => int Sub.u64 %rd1, %rd2, %rd3
         mul.lo.s32 %r1, %r2, %r3; => int MulLo.s32 %r1, %r2, %r3
         mul.hi.u64 %rd1, %rd2, %rd3; => int MulHi.u64 %rd1, %rd2, %rd3
         mul.wide.s32 %rd1, %r2, 4; => int MulWide.s32 %rd1, %r2, 4
         mad.wide.u16 %r1, %h2, 4, %r3; => int MadWide.u16 %r1, %h2, 4, %r3
         mad.hi.sat.s32 %r1, %r2, %r3, %r4; => int MadHiSat.s32 %r1, %r2, %r3, %r4
         mul24.hi.u32 %r1, %r2, %r3; => int Mul24Hi.u32 %r1, %r2, %r3
         mad24.lo.s32 %r1, %r2, %r3, 1; => int Mad24Lo.s32 %r1, %r2, %r3, 1
         sad.u32 %r1, %r2, %r3, %r4; => int Sad.u32 %r1, %r2, %r3, %r4
         div.s32 %r1, %r2, 7; => int Div.s32 %r1, %r2, 7
         rem.u64 %rd1, %rd2, 7; => int Rem.u64 %rd1, %rd2, 7
         abs.s16 %h1, %h2; => int Abs.s16 %h1, %h2
         neg.s64 %rd1, %rd2; => int Neg.s64 %rd1, %rd2
         min.relu.s32 %r1, %r2, %r3; => int MinRelu.s32 %r1, %r2, %r3
         min.s16x2.relu %r1, %r2, %r3; => int MinRelu.s16x2 %r1, %r2, %r3
         max.u16x2 %r1, %r2, %r3; => int Max.u16x2 %r1, %r2, %r3
         popc.b64 %r1, %rd2; => int Popc.u64 %r1, %rd2
         clz.b32 %r1, %r2; => int Clz.u32 %r1, %r2
         bfind.shiftamt.s64 %r1, %rd2; => int BfindShift.s64 %r1, %rd2
         fns.b32 %r1, %r2, %r3, -1; => int Fns.u32 %r1, %r2, %r3, 0xffffffff
         brev.b64 %rd1, %rd2; => int Brev.u64 %rd1, %rd2
         bfe.s64 %rd1, %rd2, 3, %r4; => int Bfe.s64 %rd1, %rd2, 3, %r4
         bfi.b32 %r1, %r2, %r3, 3, 4; => int Bfi.u32 %r1, %r2, %r3, 3, 4
         szext.wrap.s32 %r1, %r2, 5; => int SzextWrap.s32 %r1, %r2, 5
         bmsk.clamp.b32 %r1, %r2, 5; => int BmskClamp.u32 %r1, %r2, 5
         dp4a.s32.u32 %r1, %r2, %r3, %r4; => int Dp4a(true, false).s32 %r1, %r2, %r3, %r4
         dp2a.hi.u32.u32 %r1, %r2, %r3, %r4; => int Dp2aHi(false, false).u32 %r1, %r2, %r3, %r4",
    );
}

#[test]
fn logic() {
    check_table(
        "and.pred %p1, %p2, %p3; => int And.u1 %p1, %p2, %p3
         not.pred %p1, %p2; => int Not.u1 %p1, %p2
         xor.b16 %h1, %h2, -1; => int Xor.u16 %h1, %h2, 0xffff
         cnot.b32 %r1, %r2; => int Cnot.u32 %r1, %r2
         shl.b64 %rd1, %rd2, 3; => int Shl.u64 %rd1, %rd2, 3
         shr.s16 %h1, %h2, %r3; => int Shr.s16 %h1, %h2, %r3
         shr.b32 %r1, %r2, 31; => int Shr.u32 %r1, %r2, 0x1f
         shf.r.wrap.b32 %r1, %r2, %r3, 5; => int ShfRWrap.u32 %r1, %r2, %r3, 5
         shf.l.clamp.b32 %r1, %r2, %r3, %r4; => int ShfLClamp.u32 %r1, %r2, %r3, %r4
         prmt.b32 %r1, %r2, %r3, 0x7531; => int Prmt.u32 %r1, %r2, %r3, 0x7531
         prmt.b32.rc16 %r1, %r2, %r3, %r4; => int PrmtMode(Rc16).u32 %r1, %r2, %r3, %r4
         lop3.b32 %r1, %r2, %r3, %r4, 0x80; => int Lop3(128).u32 %r1, %r2, %r3, %r4
         lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x80, !%p2; => lop3 0x80 %r1|%p1, %r2, %r3, %r4 Or !%p2",
    );
}

#[test]
fn carry_chains_share_one_hidden_flag() {
    check_table(
        "add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r4, %r5, 0; addc.u32 %r6, %r7, 0; => \
            int AddCarry.u32 %r1|%cc, %r2, %r3, 0 ;; \
            int AddCarry.u32 %r4|%cc, %r5, 0, %cc ;; \
            int AddCarry.u32 %r6, %r7, 0, %cc
         sub.cc.u64 %rd1, %rd2, %rd3; subc.u64 %rd1, %rd2, %rd3; => \
            int SubBorrow.u64 %rd1|%cc, %rd2, %rd3, 0 ;; int SubBorrow.u64 %rd1, %rd2, %rd3, %cc
         mad.lo.cc.u32 %r1, %r2, %r3, %r4; madc.hi.u32 %r5, %r2, %r3, %r6; => \
            int MadLoCarry.u32 %r1|%cc, %r2, %r3, %r4, 0 ;; \
            int MadHiCarry.u32 %r5, %r2, %r3, %r6, %cc",
    );
}

#[test]
fn floats() {
    check_table(
        "add.f32 %f1, %f2, 0f3F800000; => float Add.f32 %f1, %f2, 0x3f800000
         add.rz.ftz.sat.f32 %f1, %f2, 1.5; => float Add.f32.Rz.sat.ftz %f1, %f2, 0x3fc00000
         sub.f64 %fd1, %fd2, 0d3FF0000000000000; => float Sub.f64 %fd1, %fd2, 0x3ff0000000000000
         mul.rn.f16x2 %r1, %r2, %r3; => float Mul.f16x2.Rn %r1, %r2, %r3
         fma.rn.f32x2 %rd1, %rd2, %rd3, %rd4; => float Fma.f32x2.Rn %rd1, %rd2, %rd3, %rd4
         fma.rn.relu.bf16 %h1, %h2, %h3, %h4; => float Fma.bf16.Rn.relu %h1, %h2, %h3, %h4
         mad.rn.f64 %fd1, %fd2, %fd3, %fd4; => float Fma.f64.Rn %fd1, %fd2, %fd3, %fd4
         div.full.f32 %f1, %f2, %f3; => float Div.f32.approx %f1, %f2, %f3
         div.rn.f64 %fd1, %fd2, %fd3; => float Div.f64.Rn %fd1, %fd2, %fd3
         rcp.approx.ftz.f64 %fd1, %fd2; => float Rcp.f64.ftz.approx %fd1, %fd2
         sqrt.rn.f32 %f1, %f2; => float Sqrt.f32.Rn %f1, %f2
         rsqrt.approx.f32 %f1, %f2; => float Rsqrt.f32.approx %f1, %f2
         ex2.approx.ftz.f32 %f1, %f2; => float Ex2.f32.ftz.approx %f1, %f2
         ex2.approx.f16x2 %r1, %r2; => float Ex2.f16x2.approx %r1, %r2
         tanh.approx.bf16 %h1, %h2; => float Tanh.bf16.approx %h1, %h2
         neg.f16x2 %r1, %r2; => float Neg.f16x2 %r1, %r2
         abs.ftz.f32 %f1, %f2; => float Abs.f32.ftz %f1, %f2
         max.NaN.f32 %f1, %f2, %f3; => float Max.f32.NaN %f1, %f2, %f3
         max.f32 %f1, %f2, %f3, %f4; => float Max3.f32 %f1, %f2, %f3, %f4
         min.xorsign.abs.f16 %h1, %h2, %h3; => float Min.f16.xorsign.abs %h1, %h2, %h3
         copysign.f32 %f1, %f2, %f3; => float Copysign.f32 %f1, %f2, %f3
         testp.subnormal.f32 %p1, %f2; => testp Subnormal.f32 %p1, %f2
         add.f32.f16 %f1, %h2, %f3; => cvt.f32.f16 %tmp2, %h2 ;; float Add.f32 %f1, %tmp2, %f3",
    );
}

#[test]
fn comparisons() {
    check_table(
        "setp.lt.s32 %p1, %r1, 5; => setp Lt.s32 %p1, %r1, 5
         setp.hs.u64 %p1, %rd1, %rd2; => setp Ge.u64 %p1, %rd1, %rd2
         setp.ne.and.b16 %p1|%p2, %h1, 0, !%p3; => setp Ne.u16 %p1|%p2, %h1, 0 And !%p3
         setp.gtu.ftz.f32 %p1, %f1, 0f00000000; => setp Gtu.f32.ftz %p1, %f1, 0
         setp.nan.f64 %p1, %fd1, %fd1; => setp Nan.f64 %p1, %fd1, %fd1
         setp.eq.f16x2 %p1|%p2, %r1, %r2; => setp Eq.f16x2 %p1|%p2, %r1, %r2
         set.lt.u32.f32 %r1, %f1, %f2; => set Lt.u32.f32 %r1, %f1, %f2
         set.ge.f32.s32 %f1, %r1, %r2; => set Ge.f32.s32 %f1, %r1, %r2
         set.eq.f16x2.f16x2 %r1, %r2, %r3; => set Eq.f16.f16x2 %r1, %r2, %r3
         set.eq.u32.f16x2 %r1, %r2, %r3; => set Eq.u16.f16x2 %r1, %r2, %r3
         selp.f32 %f1, 0f3F800000, %f2, %p1; => selp.b32 %f1, 0x3f800000, %f2, %p1
         selp.b32 %r1, 1, 0, 1; => mov.b1 %tmp1, 1 ;; selp.b32 %r1, 1, 0, %tmp1
         slct.b64.f32 %rd1, %rd2, %rd3, %f1; => slct.b64.f32 %rd1, %rd2, %rd3, %f1",
    );
}

#[test]
fn conversions() {
    check_table(
        "cvt.u32.u64 %r1, %rd1; => cvt.u32.u64 %r1, %rd1
         cvt.s64.s8 %rd1, %r1; => cvt.s64.s8 %rd1, %r1
         cvt.sat.u8.s32 %r1, %r2; => cvt.u8.s32.sat %r1, %r2
         cvt.rzi.ftz.s32.f32 %r1, %f1; => cvt.s32.f32.Rzi.ftz %r1, %f1
         cvt.rn.f32.u32 %f1, %r1; => cvt.f32.u32.Rn %f1, %r1
         cvt.f32.f16 %f1, %h1; => cvt.f32.f16 %f1, %h1
         cvt.rn.bf16.f32 %h1, %f1; => cvt.bf16.f32.Rn %h1, %f1
         cvt.rna.tf32.f32 %r1, %f1; => cvt.tf32.f32.Rna %r1, %f1
         cvt.rmi.f32.f32 %f1, %f2; => cvt.f32.f32.Rmi %f1, %f2
         cvt.f32.f64.rn %f1, %fd1; => cvt.f32.f64.Rn %f1, %fd1
         cvt.rn.f16x2.f32 %r1, %f1, %f2; => cvt.f16x2.f32.Rn %r1, low first %f2, %f1
         cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; => cvt.e4m3x2.f32.Rn.satfinite %h1, low first %f2, %f1
         cvt.rs.relu.bf16x2.f32 %r1, %f1, %f2, %r2; => cvt.bf16x2.f32.Rs.relu %r1, low first %f2, %f1
         cvt.rs.satfinite.e2m1x4.f32 %h1, {%f1, %f2, %f3, %f4}, %r2; => cvt.e2m1x4.f32.Rs.satfinite %h1, low first %f4, %f3, %f2, %f1
         cvt.rn.f16x2.e5m2x2 %r1, %h1; => cvt.f16x2.e5m2x2 %r1, %h1
         cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4; => cvt.pack.sat.u8.s32 %r1, %r2, %r3, %r4
         cvt.u64.u32 %rd1, %tid.x; => special %tmp1, Tid(0) ;; cvt.u64.u32 %rd1, %tmp1",
    );
}

#[test]
fn moves() {
    check_table(
        "mov.u32 %r1, %tid.y; => special %r1, Tid(1)
         mov.u32 %r1, %ctaid.w; => mov.b32 %r1, 0
         mov.u64 %rd1, %clock64; => special %rd1, Volatile
         mov.pred %p1, -1; => mov.b1 %p1, 1
         mov.b32 %r1, 0f3F800000; => mov.b32 %r1, 0x3f800000
         mov.b32 %r1, WARP_SZ; => mov.b32 %r1, 0x20
         mov.u32 %r1, tile; => mov.b32 %r1, 0
         mov.u64 %rd1, tile+12; => mov.b64 %rd1, 0xc
         mov.u64 %rd1, n; => mov.b64 %rd1, 8
         mov.b64 %rd1, {%r1, %r2}; => pack.b32 %rd1, {%r1, %r2}
         mov.b32 {%h1, _}, %r1; => unpack.b16 {%h1, _}, %r1
         mov.b128 %q1, {%rd1, %rd2}; => mov.b64 %q1.lo, %rd1 ;; mov.b64 %q1.hi, %rd2
         mov.f32 %f1, %v1.z; => mov.b32 %f1, %v1.z
         cvta.to.global.u64 %rd1, %rd2; => cvta.to.global.b64 %rd1, %rd2
         cvta.shared.u64 %rd1, tile; => cvta.shared.b64 %rd1, 0
         isspacep.shared %p1, %rd1; => isspacep.shared %p1, %rd1",
    );
}

#[test]
fn what_is_not_modelled_says_so() {
    for (ptx, text) in [
        ("cvt.s32.f32 %r1, %f1;", "it lacks a rounding modifier"),
        ("add.f32.frob %f1, %f2, %f3;", "unknown modifier `.frob`"),
        ("mul.s32 %r1, %r2, %r3;", "no such form"),
        ("brev.b32.ftz %r1, %r2;", "no such form"),
        ("add.rn.approx.f32 %f1, %f2, %f3;", "modifier `.approx`"),
    ] {
        let found = listing("", ptx);
        assert_eq!(found.len(), 1, "{ptx}");
        assert!(found[0].starts_with("unsupported: "), "{ptx}: {found:?}");
        assert!(found[0].contains(text), "{ptx}: {found:?}");
    }
}
