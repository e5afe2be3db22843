// A warp hands two rows to another warp: out[i] = in[0][31 - i] * in[1][31 - i].
//
// Each row has a barrier of its own.
// MUTANT_SAME_BARRIER: both hand-overs use barrier 1.  The first warp never waits, so its second arrival may be
// counted together with its first one, and the other warp's second wait may then never end.
// RECYCLED: both use barrier 1, but the whole CTA meets in between: safe.

#include "named.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float rows[2][32];
    int lane = threadIdx.x % 32;
#if defined(MUTANT_SAME_BARRIER) || defined(RECYCLED)
    const int second = 1;
#else
    const int second = 2;
#endif

    float x = 0.0f;
    if (threadIdx.x < 32) {
        rows[0][lane] = in[lane];
        barrier_arrive(1, 64);
    } else {
        barrier_sync(1, 64);
        x = rows[0][31 - lane];
    }
#ifdef RECYCLED
    __syncthreads();
#endif
    if (threadIdx.x < 32) {
        rows[1][lane] = in[32 + lane];
        barrier_arrive(second, 64);
    } else {
        barrier_sync(second, 64);
        out[lane] = x * rows[1][31 - lane];
    }
}
