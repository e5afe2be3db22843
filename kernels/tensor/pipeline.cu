// The product of two matrices by mma.sync: 32 x 32 x K, two warps, each 16 rows; K in steps of 16 through STAGES buffers that
// cp.async fills. Rows of a buffer are swizzled: 16-byte piece p of row r lies at p ^ (r / 2 & MASK), so that ldmatrix meets no bank
// twice.
#include <cuda_fp16.h>

__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void copy(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
}

extern "C" __global__ void ENTRY(const __half *a, const __half *b, float *c) {
    __shared__ __align__(128) __half as[STAGES][32 * 16];
    __shared__ __align__(128) __half bs[STAGES][16 * 32];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    auto load = [&](int step) {
        if (step < K / 16) {
            int s = step % STAGES;
            // 32 rows of two pieces, 16 rows of four.
            int row = t / 2, piece = t % 2;
            copy(&as[s][row * 16 + (piece ^ (row >> 2 & 1)) * 8], a + row * K + step * 16 + piece * 8);
            row = t / 4, piece = t % 4;
            copy(&bs[s][row * 32 + (piece ^ (row >> 1 & 3)) * 8], b + (step * 16 + row) * 32 + piece * 8);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum[4][4] = {};
    for (int s = 0; s < STAGES - 1; s++) {
        load(s);
    }
    for (int step = 0; step < K / 16; step++) {
#ifdef MUTANT_EARLY_REFILL
        load(step + STAGES - 1);
#endif
#ifdef MUTANT_WAIT_COUNT
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
#elif !defined(MUTANT_NO_WAIT)
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
#endif
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
#ifndef MUTANT_EARLY_REFILL
        load(step + STAGES - 1);
#endif
        int s = step % STAGES;
        unsigned x[4], y[4][2];
        int row = warp * 16 + lane % 16, piece = lane / 16;
#ifdef MUTANT_SWIZZLE
        unsigned at = address(&as[s][row * 16 + piece * 8]);
#else
        unsigned at = address(&as[s][row * 16 + (piece ^ (row >> 2 & 1)) * 8]);
#endif
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(at)
                     : "memory");
        for (int n = 0; n < 4; n++) {
            row = lane % 16;
            at = address(&bs[s][row * 32 + (n ^ (row >> 1 & 3)) * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                         : "=r"(y[n][0]), "=r"(y[n][1])
                         : "r"(at)
                         : "memory");
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+f"(sum[n][0]), "+f"(sum[n][1]), "+f"(sum[n][2]), "+f"(sum[n][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[n][0]), "r"(y[n][1]));
        }
    }
    for (int n = 0; n < 4; n++) {
        for (int i = 0; i < 4; i++) {
            c[(warp * 16 + lane / 4 + 8 * (i / 2)) * 32 + n * 8 + lane % 4 * 2 + i % 2] = sum[n][i];
        }
    }
}
