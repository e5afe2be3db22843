// out[i] = 2 * in[i].  The first warp tells the second that it is done; the second waits for that.
//
// MUTANT_NOBODY_WAITS: the second warp does not wait: an arrival is left pending when the kernel ends.
// MUTANT_TOO_MANY: the first warp arrives twice, the second waits once.

#include "named.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    out[threadIdx.x] = 2.0f * in[threadIdx.x];
    if (threadIdx.x < 32) {
        barrier_arrive(1, 64);
#ifdef MUTANT_TOO_MANY
        barrier_arrive(1, 64);
#endif
    }
#ifndef MUTANT_NOBODY_WAITS
    if (threadIdx.x >= 32)
        barrier_sync(1, 64);
#endif
}
