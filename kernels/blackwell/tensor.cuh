// What the kernels of this folder share: matrices in shared memory without a swizzle, tensor memory, mbarriers.
#pragma once
#include <cstdint>
#include <cuda_fp16.h>

__device__ inline uint32_t shared(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ inline uint32_t rank_in_cluster() {
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A matrix of `columns` bytes in a row: eight rows of 16 bytes after each other, 128 bytes on to the next 16 bytes of
// them, and all of that on to the next eight rows.
__device__ inline int place(int row, int byte, int columns) {
    return row / 8 * 8 * columns + byte / 16 * 128 + row % 8 * 16 + byte % 16;
}
__device__ inline uint64_t descriptor(const void *p, int columns) {
    uint64_t at = shared(p) & 0x3ffff;
    return at >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(8 * columns >> 4) << 32 | 1ull << 46;
}

__device__ inline void init(uint64_t *object, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(object)), "r"(count) : "memory");
}
__device__ inline void wait(uint64_t *object, uint32_t parity) {
    asm volatile(
        "{\n .reg .pred p;\nAGAIN:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @p bra DONE;\n bra "
        "AGAIN;\nDONE:\n}" ::"r"(shared(object)),
        "r"(parity)
        : "memory");
}
__device__ inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ inline void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ inline void fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ inline void fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
__device__ inline void load8(uint32_t at, uint32_t *v) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
                 : "r"(at));
}
__device__ inline void loaded() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
