// Atomic operations of every width, scope and order; fences.
#include <cuda_fp16.h>
extern "C" __global__ void atomics(int *a, unsigned *b, unsigned long long *c, float *f, double *d, __half2 *h, int *out) {
    __shared__ int s[64];
    __shared__ float g[64];
    int t = threadIdx.x, r = 0;
    s[t & 63] = t; g[t & 63] = 0; __syncthreads();
    r += atomicAdd(&s[t & 31], 1) + atomicSub(a, 2) + atomicExch(&s[3], t) + atomicMin(a + 1, t) + atomicMax(&s[5], t) + atomicInc(b, 77) + atomicDec(b + 1, 9);
    r += atomicCAS(a + 2, t, r) + atomicAnd(b, 0xff) + atomicOr(b + 1, 4u) + atomicXor(&s[7], 3);
    r += (int)atomicAdd(c, 5ull) + (int)atomicCAS(c + 1, 3ull, 4ull) + (int)atomicMax(c + 2, 9ull) + (int)atomicExch(c + 3, 1ull) + (int)atomicAnd(c + 4, 15ull);
    r += (int)atomicAdd(f, 1.5f) + (int)atomicAdd(&g[t & 3], 2.0f) + (int)atomicAdd(d, 2.5) + (int)atomicExch(f + 1, 3.0f);
    atomicAdd(h, __float2half2_rn(1.0f)); atomicAdd(a + 9, 1); atomicMax(b + 9, 3u); atomicAdd_block(a + 3, 1); atomicAdd_system(a + 4, 2);
    __threadfence_block(); __threadfence(); __threadfence_system();
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(a + 5), "r"(r) : "memory");
    asm volatile("atom.acq_rel.cta.global.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "l"(a + 6), "r"(r), "r"(t) : "memory");
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n\tst.release.sys.global.u32 [%1], %0;\n\tfence.sc.gpu;\n\tfence.acq_rel.cta;" : "=r"(r) : "l"(a + 7) : "memory");
    volatile int *v = a; v[t] = v[t + 1]; volatile int *w = s; w[t & 63] += 1;
    __syncthreads(); out[t] = r + s[t & 63] + (int)g[t & 3] + __syncthreads_count(r > 3) + __syncthreads_and(r) + __syncthreads_or(t);
}
