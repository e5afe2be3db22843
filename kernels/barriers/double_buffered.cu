// A warp that brings rows into shared memory and three warps that use them, with two buffers:
//
//     out[i] = sum over t of (t + 1) * (in[t][31 - i] + in[t][(i + 1) % 32])
//
// Warp 0 fills the buffers in turn.  Warps 1 to 3 each take every third row, all of them wait for every row, and the
// partial sums are added at the end.  Each buffer has a barrier FULL + its index and a barrier EMPTY + its index.
// MUTANT_EARLY_REFILL: the consumers release a buffer before they have read all of it.
// MUTANT_WRONG_BUFFER: they release the other buffer.  Their arrivals at its barrier run ahead of the producer's waits,
// so that arrivals that were meant for two generations can be counted in one.

#include "named.cuh"

const int rows = 6, full = 1, empty = 3, consumers = 3, everyone = 32 * (consumers + 1);

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float buffer[2][32];
    __shared__ float sums[consumers][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    if (warp == 0) {
        for (int t = 0; t < rows; ++t) {
            if (t >= 2)
                barrier_sync(empty + t % 2, everyone);
            buffer[t % 2][lane] = in[t * 32 + lane];
            barrier_arrive(full + t % 2, everyone);
        }
    } else {
        float sum = 0.0f;
        for (int t = 0; t < rows; ++t) {
            barrier_sync(full + t % 2, everyone);
            float x = buffer[t % 2][31 - lane];
#ifdef MUTANT_EARLY_REFILL
            if (t + 2 < rows)
                barrier_arrive(empty + t % 2, everyone);
#endif
            float y = buffer[t % 2][(lane + 1) % 32];
            if (t % consumers == warp - 1)
                sum += float(t + 1) * (x + y);
#ifdef MUTANT_WRONG_BUFFER
            if (t + 2 < rows)
                barrier_arrive(empty + (t + 1) % 2, everyone);
#elif !defined(MUTANT_EARLY_REFILL)
            if (t + 2 < rows)
                barrier_arrive(empty + t % 2, everyone);
#endif
        }
        sums[warp - 1][lane] = sum;
    }
    __syncthreads();

    if (warp == 0)
        out[lane] = sums[0][lane] + sums[1][lane] + sums[2][lane];
}
