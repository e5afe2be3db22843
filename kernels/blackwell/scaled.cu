// d = a * b with scales: a is 128 x 128, b is 32 x 128. Numbers of eight bits have a power of two for each 32 of a row;
// with FOUR they have four bits, two in a byte, and a number of eight bits for each 16. The scales go to tensor memory by
// copies of tcgen05, 32 rows of 16 bytes each: word c of row i is for row 32 c + i.
//
// A_ID, B_ID: which byte of a word holds the scales of a step.
#include "tensor.cuh"

#ifndef A_ID
#define A_ID step
#endif
#ifndef B_ID
#define B_ID step
#endif

constexpr int M = 128, N = 32;
#ifdef FOUR
constexpr int WIDTH = 64, STEPS = 2, SCALES = 8;
#else
constexpr int WIDTH = 128, STEPS = 4, SCALES = 4;
#endif

__device__ inline void copy_scales(uint32_t to, const void *from) {
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(descriptor(from, 16)) : "memory");
}

extern "C" __global__ void __launch_bounds__(128)
    ENTRY(const uint8_t *a, const uint8_t *b, const uint8_t *left, const uint8_t *right, float *d) {
    __shared__ alignas(1024) uint8_t as[M * WIDTH];
    __shared__ alignas(1024) uint8_t bs[N * WIDTH];
    __shared__ alignas(1024) uint8_t of_a[2][32 * 16], of_b[2][32 * 16];
    __shared__ alignas(8) uint64_t full;
    __shared__ uint32_t held;
    int t = threadIdx.x, warp = t / 32;
    for (int i = t; i < M * WIDTH; i += 128) as[place(i / WIDTH, i % WIDTH, WIDTH)] = a[i];
    for (int i = t; i < N * WIDTH; i += 128) bs[place(i / WIDTH, i % WIDTH, WIDTH)] = b[i];
    for (int i = t; i < M * SCALES; i += 128) {
        int row = i / SCALES, k = i % SCALES;
        of_a[k / 4][row % 32 * 16 + row / 32 * 4 + k % 4] = left[i];
    }
    for (int i = t; i < N * SCALES; i += 128) of_b[i % SCALES / 4][i / SCALES * 16 + i % 4] = right[i];
    // The copies bring three more words of a row of b than it has.
    for (int i = t; i < SCALES / 4 * 32 * 12; i += 128) of_b[i / 384][i % 384 / 12 * 16 + 4 + i % 12] = 0;
    if (t == 0) init(&full, 1);
    fence_async();
    if (warp == 0)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(shared(&held)) : "memory");
    fence_before();
    __syncthreads();
    fence_after();
    uint32_t at = held;
    if (t == 0) {
        for (int s = 0; s < SCALES / 4; s++) {
            copy_scales(at + 32 + 4 * s, of_a[s]);
            copy_scales(at + 40 + 4 * s, of_b[s]);
        }
        for (int step = 0; step < STEPS; step++) {
            uint64_t x = descriptor(as, WIDTH) + 16 * step, y = descriptor(bs, WIDTH) + 16 * step;
#ifdef FOUR
            uint32_t about = 1 << 7 | 1 << 10 | N / 8 << 17 | M / 128 << 27;
            asm volatile(
                "{\n .reg .pred p;\n setp.ne.u32 p, %6, 0;\n"
                " tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(at),
                "l"(x), "l"(y), "r"(about), "r"(at + 32 + 4 * step), "r"(at + 40 + 4 * (B_ID)), "r"(step)
                : "memory");
#else
            uint32_t about = (B_ID) << 4 | N / 8 << 17 | 1 << 23 | M / 128 << 27 | (A_ID) << 29;
            asm volatile(
                "{\n .reg .pred p;\n setp.ne.u32 p, %6, 0;\n"
                " tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(at),
                "l"(x), "l"(y), "r"(about), "r"(at + 32), "r"(at + 40), "r"(step)
                : "memory");
#endif
        }
#ifndef UNCOMMITTED
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared(&full))
                     : "memory");
#else
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(&full)) : "memory");
#endif
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
    if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(at));
}
