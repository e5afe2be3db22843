// Three warps, each pair of which exchanges values and meets at a barrier of its own: out[i] = the sum of in[i % 32]
// over the three warps.  Warps 0 and 1 meet at barrier 1, warps 1 and 2 at barrier 2, warps 0 and 2 at barrier 3.
//
// Every warp visits its barriers in ascending order, so they cannot wait in a circle.
// MUTANT_CYCLE: warp 0 goes to 1 and then 3, warp 1 to 2 and then 1, warp 2 to 3 and then 2: nobody gets any further.

#include "named.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[3][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    s[warp][lane] = in[threadIdx.x];
    if (warp == 0) {
        barrier_sync(1, 64);
        barrier_sync(3, 64);
    } else if (warp == 1) {
#ifdef MUTANT_CYCLE
        barrier_sync(2, 64);
        barrier_sync(1, 64);
#else
        barrier_sync(1, 64);
        barrier_sync(2, 64);
#endif
    } else {
#ifdef MUTANT_CYCLE
        barrier_sync(3, 64);
        barrier_sync(2, 64);
#else
        barrier_sync(2, 64);
        barrier_sync(3, 64);
#endif
    }
    out[threadIdx.x] = s[0][lane] + s[1][lane] + s[2][lane];
}
