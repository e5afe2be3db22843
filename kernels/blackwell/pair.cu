// d = a * b by a pair of CTAs: a is 2 ROWS x 16, b is 64 x 16; each CTA holds half of the rows of a and of b, and
// half of the rows of d.
//
// ROWS: rows of a CTA, 128 or 64. MASK: whose mbarriers the commit reaches. BSTEP: rows of b from one CTA to the next.
#include "tensor.cuh"

#ifndef ROWS
#define ROWS 128
#endif
#ifndef MASK
#define MASK 3
#endif
#ifndef BSTEP
#define BSTEP 32
#endif

constexpr int N = 64, K = 16;

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) ENTRY(const __half *a, const __half *b, float *d) {
    __shared__ alignas(1024) uint8_t as[ROWS * K * 2];
    __shared__ alignas(1024) uint8_t bs[N / 2 * K * 2];
    __shared__ alignas(8) uint64_t full;
    __shared__ uint32_t held;
    int t = threadIdx.x, warp = t / 32;
    uint32_t rank = rank_in_cluster();
    for (int i = t; i < ROWS * K; i += 128) *(__half *)(as + place(i / K, i % K * 2, 2 * K)) = a[rank * ROWS * K + i];
    for (int i = t; i < N / 2 * K; i += 128) *(__half *)(bs + place(i / K, i % K * 2, 2 * K)) = b[rank * BSTEP * K + i];
#ifndef UNFENCED
    fence_async();
#endif
    if (t == 0) {
        init(&full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#ifdef ONE_ALLOCATES
    if (rank == 0)
#endif
    if (warp == 0)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared(&held)) : "memory");
    fence_before();
    __syncthreads();
#ifdef RELAXED
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#elif !defined(UNSYNCED)
    cluster_sync();
#endif
    fence_after();
    uint32_t at = held;
    if (rank == 0 && t == 0) {
        uint32_t about = 1 << 4 | N / 8 << 17 | 2 * ROWS / 16 << 24;
        asm volatile(
            "{\n .reg .pred p;\n setp.ne.u32 p, 0, 0;\n"
            " tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(at),
            "l"(descriptor(as, 2 * K)), "l"(descriptor(bs, 2 * K)), "r"(about)
            : "memory");
        asm volatile(
            "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                shared(&full)),
            "h"((uint16_t)MASK)
            : "memory");
    }
    wait(&full, 0);
    fence_after();
    // With 64 rows the second half of the columns lies in the lanes from 64 on.
    int row = ROWS == 128 ? t : t % 64, first = ROWS == 128 ? 0 : t / 64 * (N / 2);
    for (int j = 0; j < (ROWS == 128 ? N : N / 2); j += 8) {
        uint32_t v[8];
        load8(at + (warp * 32 << 16) + j, v);
#ifndef UNWAITED
        loaded();
#endif
        for (int i = 0; i < 8; i++) d[(rank * ROWS + row) * N + first + j + i] = __uint_as_float(v[i]);
    }
    fence_before();
#ifdef RELEASE_FIRST
    // The first CTA waits for the second one in the barrier, and that for the first one to release.
    __syncthreads();
    if (warp == 0 && rank == 1) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(at));
    cluster_sync();
    if (warp == 0 && rank == 0) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(at));
#else
#ifdef HELD
    cluster_sync();
    if (warp == 0 && rank == 2) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(at));
#else
#ifndef EARLY
    cluster_sync();
#endif
    if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 64;" ::"r"(at));
#endif
#endif
}
