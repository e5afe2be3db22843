//! Barriers, fences and warp collectives.

use super::check_table;

#[test]
fn barriers() {
    check_table(
        "bar.sync 0; => bar.sync.aligned 0
         bar.sync %r1, 64; => bar.sync.aligned %r1, count 0x40
         bar.arrive 1, 64; => bar.arrive.aligned 1, count 0x40
         barrier.sync 3; => bar.sync 3
         barrier.cta.sync.aligned 3, %r1; => bar.sync.aligned 3, count %r1
         bar.red.popc.u32 %r1, 0, !%p1; => bar.red.aligned.popc %r1, !%p1, 0
         bar.red.and.pred %p1, 0, 64, %p2; => bar.red.aligned.and %p1, %p2, 0, count 0x40
         bar.warp.sync 0xffffffff; => bar.warp.sync 0xffffffff
         membar.gl; => fence Sc Gpu
         fence.acq_rel.cta; => fence AcqRel Cta
         fence.sc.sys; => fence Sc Sys",
    );
}

#[test]
fn warp_collectives() {
    check_table(
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1; => shfl Bfly %r1|%p1, %r2, 0x10, 0x1f, mask 0xffffffff
         shfl.sync.down.b32 %f1, %f2, %r3, 0x1f, %r4; => shfl Down %f1|_, %f2, %r3, 0x1f, mask %r4
         shfl.up.b32 %r1, %r2, 1, 0; => shfl Up %r1|_, %r2, 1, 0
         vote.sync.ballot.b32 %r1, !%p1, -1; => vote Ballot %r1, !%p1, mask 0xffffffff
         vote.sync.any.pred %p1, 1, -1; => mov.b1 %tmp1, 1 ;; vote Any %p1, %tmp1, mask 0xffffffff
         match.any.sync.b64 %r1, %rd1, %r2; => match.any.b64 %r1|_, %rd1, %r2
         match.all.sync.b32 %r1|%p1, %r3, %r2; => match.all.b32 %r1|%p1, %r3, %r2
         redux.sync.add.s32 %r1, %r2, -1; => redux Add.s32 %r1, %r2, 0xffffffff
         redux.sync.min.abs.NaN.f32 %f1, %f2, -1; => redux Min.f32.abs.nan %f1, %f2, 0xffffffff
         elect.sync %r1|%p1, -1; => elect %r1|%p1, 0xffffffff
         activemask.b32 %r1; => activemask %r1
         nanosleep.u32 20; => nop
         prefetch.global.L2 [%rd1]; => nop",
    );
}

#[test]
fn matrices_and_copies() {
    check_table(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f5,%f6,%f7,%f8}; => \
            mma.m16n8k8.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f5, %f6, %f7, %f8}
         ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3+16]; => ldmatrix.shared.trans {%r1, %r2}, [%r3+16]
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1}; => stmatrix.shared [%r3], {%r1}
         ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3]; => ldmatrix.shared.trans.m16n16 {%r1, %r2}, [%r3]
         ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 {%r1, %r2}, [%r3]; => ldmatrix.shared.b6 {%r1, %r2}, [%r3]
         stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r3], {%r1, %r2}; => stmatrix.shared.trans.m16n8 [%r3], {%r1, %r2}
         movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; => movmatrix %r1, %r2
         cp.async.cg.shared.global [%r1], [%rd1+32], 16, %r2; => cp.async [%r1], [%rd1+32], 16, read %r2
         cp.async.ca.shared.global [tile], [%rd1], 4, !%p1; => cp.async [0], [%rd1], 4, ignore !%p1
         cp.async.commit_group; => cp.async.commit_group
         cp.async.wait_group 2; => cp.async.wait_group pending 2
         cp.async.wait_all; => cp.async.wait_group",
    );
}

#[test]
fn agents() {
    check_table(
        "mbarrier.init.shared.b64 [%r1], 4; => mbarrier.init.shared [%r1], 4
         mbarrier.arrive.shared.b64 %rd1, [%r1]; => mbarrier.arrive.shared.release %rd1, [%r1]
         mbarrier.arrive_drop.shared.b64 _, [%r1], %r2; => mbarrier.arrive_drop.shared.release _, [%r1], count %r2
         mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2; => mbarrier.arrive.shared.release _, [%r1], expect %r2
         mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2; => mbarrier.try_wait.shared.acquire %p1, [%r1], Parity %r2
         cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]; => cp.async.mbarrier.arrive.shared.counted [%r1]
         fence.proxy.async.global; => fence.proxy.async.global
         wgmma.fence.sync.aligned; => wgmma.fence
         wgmma.wait_group.sync.aligned 1; => wgmma.wait_group 1
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 256, [%r2]; => \
            cp.async.bulk.fill shared::cluster[%r1], Run global [%rd1] 0x100, Object shared::cluster [%r2]
         cp.async.bulk.wait_group.read 2; => cp.async.bulk.wait_group.read 2
         barrier.cluster.arrive.aligned; => barrier.cluster.arrive.release.aligned
         mapa.shared::cluster.u32 %r1, %r2, 1; => mapa %r1, %r2, 1
         wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, [%r1], 20; => \
            wmma.load.C16x16.f32.shared [%r1], 0x14, {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}",
    );
}
