// Sums of rows by a producer warp and consumer warps that hand buffers over through mbarriers: "full" says that a buffer holds
// a row, "empty" that it may be filled again. PLAIN is one thread for each column.
#include <cuda_runtime.h>

__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(unsigned long long *at, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(at)), "r"(count) : "memory");
}

__device__ void arrive(unsigned long long *at) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address(at)) : "memory");
}

__device__ void wait(unsigned long long *at, unsigned parity) {
    asm volatile("{\n.reg .pred over;\nAGAIN:\nmbarrier.test_wait.parity.shared.b64 over, [%0], %1;\n@over bra DONE;\n"
                 "bra AGAIN;\nDONE:\n}" ::"r"(address(at)),
                 "r"(parity)
                 : "memory");
}

extern "C" __global__ void ENTRY(const float *in, float *out) {
#ifdef PLAIN
    float sum = 0;
    for (int i = 0; i < ROWS; i++) {
        sum += in[i * 32 + threadIdx.x];
    }
    out[threadIdx.x] = sum;
#else
    __shared__ float buffer[2][32];
    __shared__ unsigned long long full[2], empty[2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) {
            init(&full[s], 32);
            init(&empty[s], 32);
        }
    }
#ifndef MUTANT_INIT_UNSEEN
    __syncthreads();
#endif
    if (warp == 0) {
        for (int i = 0; i < ROWS; i++) {
#ifndef MUTANT_EARLY_REFILL
#ifdef MUTANT_WRONG_PARITY
            wait(&empty[i % 2], i / 2 % 2);
#else
            wait(&empty[i % 2], (i / 2 + 1) % 2);
#endif
#endif
            buffer[i % 2][lane] = in[i * 32 + lane];
            arrive(&full[i % 2]);
        }
    } else {
        float sum = 0;
        for (int i = 0; i < ROWS; i++) {
#ifndef MUTANT_NO_WAIT
            wait(&full[i % 2], i / 2 % 2);
#endif
            sum += buffer[i % 2][31 - lane];
#ifndef MUTANT_NO_RELEASE
            arrive(&empty[i % 2]);
#endif
        }
        out[31 - lane] = sum;
    }
#endif
}
