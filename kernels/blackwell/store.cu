// y = 2 x + 1 in tiles of 64, stored by copies that all lanes of a warp execute, as some compilers leave it.
//
// OWN: each lane copies from a place of its own, all to one place.
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(64) ENTRY(const float *x, float *y) {
    __shared__ alignas(128) float tile[64];
    int t = threadIdx.x;
    tile[t] = 2 * x[blockIdx.x * 64 + t] + 1;
    fence_async();
    __syncthreads();
    if (t < 32) {
#ifdef OWN
        const float *from = tile + t % 2 * 32;
        uint32_t bytes = 128;
#else
        const float *from = tile;
        uint32_t bytes = 256;
#endif
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + blockIdx.x * 64),
                     "r"(shared(from)), "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
