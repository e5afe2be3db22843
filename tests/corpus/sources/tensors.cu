// Matrix instructions and asynchronous copies of each generation.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
extern "C" __global__ void tensors(const __half *a, const __half *b, float *c, const signed char *p, int *o, const float *g, double *dd) {
    __shared__ __align__(128) __half tile[1024]; __shared__ __align__(16) float buf[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x; wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y; wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
    wmma::fill_fragment(z, 0.5f); wmma::load_matrix_sync(x, a, 16); wmma::load_matrix_sync(y, b, 16); wmma::mma_sync(z, x, y, z); wmma::store_matrix_sync(c, z, 16, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> i; wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> j; wmma::fragment<wmma::accumulator, 32, 8, 16, int> k;
    wmma::load_matrix_sync(i, p, 16); wmma::load_matrix_sync(j, p + 512, 16); wmma::fill_fragment(k, 1); wmma::mma_sync(k, i, j, k); wmma::store_matrix_sync(o, k, 8, wmma::mem_col_major);
    unsigned s = (unsigned)__cvta_generic_to_shared(tile), r0, r1, r2, r3; float f0 = 0, f1 = 1, f2 = 2, f3 = 3; int i0 = 0, i1 = 1, i2 = 2, i3 = 3;
    for (int q = threadIdx.x; q < 1024; q += 32) tile[q] = a[q];
    __syncthreads();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(s + (threadIdx.x & 31) * 16));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r2), "=r"(r3) : "r"(s + (threadIdx.x & 15) * 16));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r3));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(i0), "+r"(i1) : "r"(r0), "r"(r1));
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%5, %6}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%5, %6}, {%0, %1, %2, %3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%5, %6}, {%0, %1, %2, %3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%5, %6}, {%0, %1, %2, %3};" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));
    double d0 = dd[0], d1 = dd[1]; asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d0), "+d"(d1) : "d"(dd[2]), "d"(dd[3])); dd[0] = d0 + d1;
    asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %4, 0x0;" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3));
    unsigned t = (unsigned)__cvta_generic_to_shared(buf) + threadIdx.x * 16;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n\tcp.async.ca.shared.global [%0], [%1], 4, %2;\n\tcp.async.commit_group;\n\tcp.async.wait_group 1;\n\tcp.async.wait_all;" :: "r"(t), "l"(g), "r"(r0) : "memory");
    unsigned long long policy; asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy)); asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(f3) : "l"(g), "l"(policy));
    asm volatile("mbarrier.init.shared.b64 [%0], 32;\n\t{ .reg .b64 st; .reg .pred q; mbarrier.arrive.shared.b64 st, [%0];\n\tW: mbarrier.test_wait.shared.b64 q, [%0], st;\n\t@!q bra W; }\n\tmbarrier.inval.shared.b64 [%0];" :: "r"(s) : "memory");
#endif
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(s), "r"(r0), "r"(r1) : "memory");
    asm volatile("fence.proxy.async.shared::cta;\n\tfence.mbarrier_init.release.cluster;\n\tgriddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("{ .reg .pred q; .reg .b32 l; elect.sync l|q, 0xffffffff; @q mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64; @q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 64, [%0]; }" :: "r"(s), "r"(t), "l"(g) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;\n\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;\n\tcp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 16;" :: "l"(c), "r"(t) : "memory");
    unsigned rank; asm volatile("mov.u32 %0, %%cluster_ctarank;\n\tmapa.shared::cluster.u32 %0, %1, %0;\n\tst.shared::cluster.u32 [%0], 3;" : "=r"(rank) : "r"(s));
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], 1, [%1];" :: "r"(rank), "r"(s) : "memory");
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    unsigned long long desc = s >> 4;
    asm volatile("wgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\n\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;\n\tsetmaxnreg.dec.sync.aligned.u32 40;" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "l"(desc));
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;\n\ttcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" :: "r"(s) : "memory");
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %2, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %1, %2, q; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%2]; }" :: "r"(r0), "l"((unsigned long long)s), "r"(s) : "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];\n\ttcgen05.wait::ld.sync.aligned;\n\ttcgen05.fence::before_thread_sync;\n\ttcgen05.fence::after_thread_sync;\n\ttcgen05.dealloc.cta_group::1.sync.aligned.b32 %2, 64;" : "=r"(r1), "=r"(r2) : "r"(r0));
    asm volatile("{ .reg .b64 v; mov.b64 v, {%0, %1}; fma.rn.f32x2 v, v, v, v; mov.b64 {%0, %1}, v; }" : "+f"(f0), "+f"(f1));
#endif
    c[threadIdx.x] = f0 + f1 + f2 + f3; o[threadIdx.x] = i0 + i1 + i2 + i3 + r0 + r1 + r2 + r3;
}
