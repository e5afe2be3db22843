// c = a * b^T, 64 x 8 x 320, by a warpgroup that multiplies and a thread that copies boxes of 64 columns into a ring of stages.
//
// "full" says that the bytes of a stage have come, "empty" that the product that read it is over. One product stays in
// flight: a stage is released when the one after it has been issued and the one before that is waited for. The
// result leaves through shared memory by a bulk copy. PLAIN is one thread for each element.
#include <cuda_fp16.h>
#include <stdint.h>

const int ROUNDS = 5, WIDE = 64, COLUMNS = 8;

struct alignas(64) Map {
    char bytes[128];
};

__device__ uint32_t address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void init(uint64_t *at, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(at)), "r"(count) : "memory");
}

__device__ void wait(uint64_t *at, uint32_t parity) {
    asm volatile("{\n.reg .pred over;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n@over bra DONE;\n"
                 "bra AGAIN;\nDONE:\n}" ::"r"(address(at)),
                 "r"(parity)
                 : "memory");
}

__device__ void copy_box(void *to, const Map *map, int column, uint64_t *full) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     address(to)),
                 "l"(map), "r"(column), "r"(0), "r"(address(full))
                 : "memory");
}

// Rows of 128 bytes, swizzled; groups of eight rows are 1024 bytes apart.
__device__ uint64_t matrix(const void *at) {
    return (uint64_t)(address(at) & 0x3FFFF) >> 4 | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
}

#ifdef PLAIN
extern "C" __global__ void ENTRY(const half *a, const half *b, float *c) {
    int row = threadIdx.x / COLUMNS, column = threadIdx.x % COLUMNS;
    float sum = 0;
    for (int k = 0; k < ROUNDS * WIDE; k++) {
        sum += __half2float(a[row * ROUNDS * WIDE + k]) * __half2float(b[column * ROUNDS * WIDE + k]);
    }
    c[threadIdx.x] = sum;
}
#else
extern "C" __global__ void __launch_bounds__(160)
    ENTRY(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c) {
    __shared__ __align__(1024) half as[STAGES][64 * WIDE], bs[STAGES][COLUMNS * WIDE];
    __shared__ __align__(16) float out[64 * COLUMNS];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int tid = threadIdx.x;
    if (tid == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(&full[s], 1);
            init(&empty[s], 4);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (tid >= 128) {
        if (tid == 128) {
            for (int i = 0; i < ROUNDS; i++) {
                int s = i % STAGES;
#ifdef MUTANT_PARITY
                wait(&empty[s], i / STAGES & 1);
#elif !defined(MUTANT_NO_EMPTY)
                wait(&empty[s], (i / STAGES & 1) ^ 1);
#endif
#ifdef MUTANT_BYTES
                const int bytes = sizeof(as[0]);
#else
                const int bytes = sizeof(as[0]) + sizeof(bs[0]);
#endif
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&full[s])), "r"(bytes)
                             : "memory");
                copy_box(as[s], &a, i * WIDE, &full[s]);
                copy_box(bs[s], &b, i * WIDE, &full[s]);
            }
        }
        return;
    }
    float d[4] = {0, 0, 0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        int s = i % STAGES;
#ifdef MUTANT_STALE_PHASE
        wait(&full[s], 0);
#elif !defined(MUTANT_NO_FULL)
        wait(&full[s], i / STAGES & 1);
#endif
#ifdef MUTANT_NO_WGMMA_FENCE
        if (i > 0)
#endif
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < WIDE; k += 16) {
#ifdef MUTANT_COMMIT
            if (k == WIDE - 16) asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
#ifdef MUTANT_STEP
            multiply(d, matrix(&as[s][k]), matrix(&bs[s][k ^ 16]));
#else
            multiply(d, matrix(&as[s][k]), matrix(&bs[s][k]));
#endif
        }
#ifndef MUTANT_COMMIT
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
#ifdef MUTANT_EARLY_RELEASE
        if (tid % 32 == 0) {
#else
        if (i > 0 && tid % 32 == 0) {
            s = (i - 1) % STAGES;
#endif
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&empty[s])) : "memory");
        }
    }
#ifndef MUTANT_NO_LAST_WAIT
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
    int row = tid / 4, column = tid % 4 * 2;
    row = tid / 32 * 16 + tid % 32 / 4;
    for (int i = 0; i < 4; i++) out[(row + i / 2 * 8) * COLUMNS + column + i % 2] = d[i];
#ifndef MUTANT_NO_PROXY_FENCE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
#ifndef MUTANT_NO_BARRIER
    asm volatile("bar.sync 1, 128;" ::: "memory");
#endif
    if (tid == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;" ::"l"(c),
                     "r"(address(out)), "r"((int)sizeof(out))
                     : "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
#endif
