// Each CTA of a pair sends 256 floats to the other, which waits on an mbarrier of its own.
//
// WAY 0: cp.async.bulk from shared to shared memory of the cluster; 1: st.async; 2: plain stores and a remote arrival.
#include <cuda_runtime.h>
#include <cstdint>

#ifndef WAY
#define WAY 0
#endif
#ifndef BYTES
#define BYTES 1024
#endif
#ifdef EARLY
#define START ""
#else
#define START "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
#endif
#ifdef GONE
#define END ""
#else
#define END "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
#endif
#ifdef RELAXED
#define ARRIVE "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];"
#else
#define ARRIVE "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
#endif
#ifndef OBJECT
#define OBJECT map(full, peer)
#endif
#ifdef UNFENCED
#define FENCE ""
#else
#define FENCE "fence.proxy.async.shared::cta;"
#endif
#ifndef COUNT
#if WAY == 2
#define COUNT 256
#else
#define COUNT 1
#endif
#endif

__device__ uint32_t addr(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ uint32_t map(uint32_t a, uint32_t rank) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(a), "r"(rank));
    return there;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) ENTRY(const float *x, float *y) {
    __shared__ alignas(128) float out[256];
    __shared__ alignas(128) float in[256];
    __shared__ alignas(8) uint64_t object;
    int t = threadIdx.x;
    uint32_t rank, full = addr(&object);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    uint32_t peer = rank ^ 1;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(full), "r"(COUNT) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#if WAY != 2
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(BYTES) : "memory");
#endif
    }
    float v = x[blockIdx.x * 256 + t];
#if WAY == 0
    out[t] = v;
    asm volatile(FENCE ::: "memory");
#endif
    asm volatile(START ::: "memory");
#if WAY == 0
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         map(addr(in), peer)),
                     "r"(addr(out)), "r"(1024), "r"(OBJECT)
                     : "memory");
#elif WAY == 1
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(map(addr(&in[t]), peer)),
                 "f"(v), "r"(OBJECT)
                 : "memory");
#else
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(map(addr(&in[t]), peer)), "f"(v) : "memory");
    asm volatile(ARRIVE ::"r"(OBJECT) : "memory");
#endif
    asm volatile(
        "{\n .reg .pred p;\nAGAIN:\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n @p bra "
        "DONE;\n bra AGAIN;\nDONE:\n}" ::"r"(full),
        "r"(0)
        : "memory");
    y[blockIdx.x * 256 + t] = in[t] + 1;
    asm volatile(END ::: "memory");
}
