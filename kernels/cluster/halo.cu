// A stencil of three points over 256 numbers: the halo is read from the neighbouring CTAs of a cluster of four.
// PTX by hand: split arrive and wait, work between.
#include <cuda_runtime.h>

#ifdef RELAXED
#define ARRIVE "barrier.cluster.arrive.relaxed.aligned;"
#else
#define ARRIVE "barrier.cluster.arrive.release.aligned;"
#endif
#ifdef UNWAITED
#define WAIT ""
#else
#define WAIT "barrier.cluster.wait.acquire.aligned;"
#endif
#ifndef LEFT
#define LEFT (rank - 1)
#endif
#ifdef GONE
#define END ""
#else
#define END "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
#endif

__device__ float remote(const float *p, unsigned rank) {
    unsigned at = (unsigned)__cvta_generic_to_shared(p), there;
    float v;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
    return v;
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) ENTRY(const float *x, float *y) {
    __shared__ float tile[64];
    unsigned rank, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    float own = x[i];
    tile[t] = own;
    asm volatile(ARRIVE ::: "memory");
    float twice = 2 * own;
    asm volatile(WAIT ::: "memory");
    float a = t > 0 ? tile[t - 1] : rank > 0 ? remote(&tile[63], LEFT) : 0;
    float b = t < 63 ? tile[t + 1] : rank + 1 < size ? remote(&tile[0], rank + 1) : 0;
    asm volatile(END ::: "memory");
    y[i] = a + twice + b;
}
