// out[i] = in[0] + ... + in[i]: each warp scans its 32 values, then the sum of all warps before it is handed from warp
// to warp.  Warp w waits on barrier w for warp w - 1, and arrives on barrier w + 1 for warp w + 1.
//
// MUTANT_ONE_BARRIER: all of them use barrier 1.  Which two warps meet there depends on the schedule.

#include "named.cuh"

const int warps = 4;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float carry;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float sum = in[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        float below = __shfl_up_sync(0xffffffffu, sum, d);
        sum += lane >= d ? below : 0.0f;
    }

    if (warp > 0) {
#ifdef MUTANT_ONE_BARRIER
        barrier_sync(1, 64);
#else
        barrier_sync(warp, 64);
#endif
        sum += carry;
    }
    if (warp + 1 < warps) {
        // The other lanes have to read the old value before the last one replaces it.
        __syncwarp();
        if (lane == 31)
            carry = sum;
        __syncwarp();
#ifdef MUTANT_ONE_BARRIER
        barrier_arrive(1, 64);
#else
        barrier_arrive(warp + 1, 64);
#endif
    }
    out[threadIdx.x] = sum;
}
