// d = a * b by a pair of CTAs that is fed by copies: a is 128 x 192, b is 32 x 192, both in boxes of 64 columns; each
// CTA copies its halves of both, and one thread of the first CTA multiplies. Two buffers take three steps.
//
// BYTES: what a step brings into both CTAs. FREE: whose mbarriers say that a buffer is free. PARITY: of the first wait
// for a free buffer.
#include "tensor.cuh"

#ifndef BYTES
#define BYTES (2 * (64 + 16) * 128)
#endif
#ifndef FREE
#define FREE 3
#endif
#ifndef PARITY
#define PARITY 1
#endif

constexpr int N = 32, STEPS = 3;
struct alignas(64) Map {
    char bytes[128];
};

// A matrix with rows of 128 bytes, swizzled.
__device__ inline uint64_t swizzled(const void *p) {
    uint64_t at = shared(p) & 0x3ffff;
    return at >> 4 | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 46 | 2ull << 61;
}
__device__ inline void copy(const Map *map, const void *to, uint32_t object, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(shared(to)),
        "l"(map), "r"(x), "r"(y), "r"(object)
        : "memory");
}
__device__ inline void commit(uint64_t *object, uint16_t mask) {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            shared(object)),
        "h"(mask)
        : "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
    ENTRY(const __grid_constant__ Map a, const __grid_constant__ Map b, float *d) {
    __shared__ alignas(1024) uint8_t as[2][64 * 128];
    __shared__ alignas(1024) uint8_t bs[2][16 * 128];
    __shared__ alignas(8) uint64_t full[2], empty[2], done;
    __shared__ uint32_t held;
    int t = threadIdx.x, warp = t / 32;
    uint32_t rank = rank_in_cluster();
    if (t == 0) {
        for (int i = 0; i < 2; i++) {
            init(&full[i], 1);
            init(&empty[i], 1);
        }
        init(&done, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (warp == 2)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared(&held)) : "memory");
    fence_before();
    __syncthreads();
    cluster_sync();
    fence_after();
    uint32_t at = held;
    if (t == 0) {
        for (int step = 0; step < STEPS; step++) {
            int s = step % 2;
#ifndef NO_EMPTY
            wait(&empty[s], PARITY ^ step / 2 & 1);
#endif
            // The mbarrier of the first CTA counts the bytes of both.
            uint32_t object = shared(&full[s]) & 0xfeffffff;
            if (rank == 0)
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&full[s])), "r"(BYTES)
                             : "memory");
            copy(&a, as[s], object, step * 64, rank * 64);
            copy(&b, bs[s], object, step * 64, rank * 16);
        }
    } else if (t == 32 && rank == 0) {
        uint32_t about = 1 << 4 | N / 8 << 17 | 128 / 16 << 24;
        for (int step = 0; step < STEPS; step++) {
            int s = step % 2;
            wait(&full[s], step / 2 & 1);
            fence_after();
            for (int k = 0; k < 4; k++)
                asm volatile(
                    "{\n .reg .pred p;\n setp.ne.u32 p, %4, 0;\n"
                    " tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(at),
                    "l"(swizzled(as[s]) + 2 * k), "l"(swizzled(bs[s]) + 2 * k), "r"(about), "r"(step + k)
                    : "memory");
            commit(&empty[s], FREE);
        }
        commit(&done, 3);
    }
    __syncwarp();
    wait(&done, 0);
    fence_after();
    for (int j = 0; j < N / 2; j += 8) {
        uint32_t v[8];
        load8(at + (warp * 32 << 16) + j, v);
        loaded();
        for (int i = 0; i < 8; i++) d[(rank * 64 + t % 64) * N + t / 64 * (N / 2) + j + i] = __uint_as_float(v[i]);
    }
    fence_before();
    __syncthreads();
    cluster_sync();
    if (warp == 2) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(at));
}
