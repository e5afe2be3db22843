// out[i] = in[63 - i], exchanged through shared memory by two warps.
//
// MUTANT_SKIPPED_BY_WARP: the first warp goes through one barrier more.  That one pairs with the other warp's only
// barrier, and what the first warp writes after it is not ordered with the other warp's reads.
// MUTANT_SKIPPED_BY_LANES: half of the lanes of each warp skip a barrier that whole warps must go through together.
// MUTANT_SKIPPED_NAMED: the first warp waits at barrier 1 for the second, which waits at barrier 2 for the first.

#include "named.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[64];
    int i = threadIdx.x;

#if defined(MUTANT_SKIPPED_BY_WARP)
    s[i] = 0.0f;
    if (i < 32)
        __syncthreads();
    s[i] = in[i];
    __syncthreads();
#elif defined(MUTANT_SKIPPED_BY_LANES)
    s[i] = in[i];
    if (i % 32 < 16)
        barrier_sync(1, 64);
    barrier_sync(2, 64);
#elif defined(MUTANT_SKIPPED_NAMED)
    s[i] = in[i];
    if (i < 32)
        barrier_sync(1, 64);
    barrier_sync(2, 64);
#else
    s[i] = in[i];
    __syncthreads();
#endif
    out[i] = s[63 - i];
}
