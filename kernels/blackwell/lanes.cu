// d = a * b for the first 64 rows, a * c for the others, b and c one after the other: two products into one accumulator,
// each with the lanes of the other one switched off. a is 128 x 16, b and c are 32 x 16. The second product takes a from
// the collector buffer that the first one filled.
//
// OFF_1, OFF_3: which of the second and the fourth 32 lanes the second product leaves alone, a bit for each.
#include "tensor.cuh"

#ifndef OFF_1
#define OFF_1 ~0u
#endif
#ifndef OFF_3
#define OFF_3 0
#endif
#ifdef OTHER
#define SECOND other
#else
#define SECOND as
#endif
#ifndef FILL
#define FILL "fill"
#endif

constexpr int M = 128, N = 32, K = 16;

#define PRODUCT(COLLECTOR, A, B, M0, M1, M2, M3)                                                                    \
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, 0, 0;\n"                                                       \
                 " tcgen05.mma.cta_group::1.kind::f16.collector::a::" COLLECTOR                                    \
                 " [%0], %1, %2, %3, {%4, %5, %6, %7}, p;\n}" ::"r"(at),                                            \
                 "l"(descriptor(A, 2 * K)), "l"(descriptor(B, 2 * K)), "r"(about), "r"(M0), "r"(M1), "r"(M2), "r"(M3) \
                 : "memory")

extern "C" __global__ void __launch_bounds__(128) ENTRY(const __half *a, const __half *b, float *d) {
    __shared__ alignas(1024) uint8_t as[M * K * 2];
#ifdef OTHER
    __shared__ alignas(1024) uint8_t other[M * K * 2];
#endif
    __shared__ alignas(1024) uint8_t bs[2][N * K * 2];
    __shared__ alignas(8) uint64_t full;
    __shared__ uint32_t held;
    int t = threadIdx.x, warp = t / 32;
    for (int i = t; i < M * K; i += 128) {
        *(__half *)(as + place(i / K, i % K * 2, 2 * K)) = a[i];
#ifdef OTHER
        *(__half *)(other + place(i / K, i % K * 2, 2 * K)) = __float2half(0);
#endif
    }
    for (int i = t; i < 2 * N * K; i += 128) *(__half *)(bs[i / (N * K)] + place(i / K % N, i % K * 2, 2 * K)) = b[i];
    fence_async();
    if (t == 0) {
        init(&full, 1);
        fence_async();
    }
    if (warp == 0)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared(&held)) : "memory");
    fence_before();
    __syncthreads();
    fence_after();
    uint32_t at = held;
    if (t == 0) {
        uint32_t about = 1 << 4 | N / 8 << 17 | M / 16 << 24;
        PRODUCT(FILL, as, bs[0], 0, 0, ~0u, ~0u);
        PRODUCT("lastuse", SECOND, bs[1], ~0u, OFF_1, 0, OFF_3);
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(&full))
                     : "memory");
    }
    wait(&full, 0);
    fence_after();
    for (int j = 0; j < N; j += 8) {
        uint32_t v[8];
        load8(at + (warp * 32 << 16) + j, v);
        loaded();
        for (int i = 0; i < 8; i++) d[t * N + j + i] = __uint_as_float(v[i]);
    }
    fence_before();
    __syncthreads();
    if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(at));
}
