// One warp brings rows of 32 values into shared memory, another one uses them:
//
//     out[i] = sum over t of (t + 1) * (in[t][31 - i] + in[t][(i + 1) % 32])
//
// There is one buffer.  The consumer waits for FULL, the producer for EMPTY before it fills the buffer again.
// MUTANT_EARLY_REFILL: the consumer says EMPTY one read too early.
// MUTANT_NO_EMPTY: the producer does not wait at all, so that it also arrives at FULL for rows to come.

#include "named.cuh"

const int rows = 4, full = 1;
#ifndef MUTANT_NO_EMPTY
const int empty = 2;
#endif

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float buffer[32];
    int lane = threadIdx.x % 32;

    if (threadIdx.x < 32) {
        for (int t = 0; t < rows; ++t) {
#ifndef MUTANT_NO_EMPTY
            if (t > 0)
                barrier_sync(empty, 64);
#endif
            buffer[lane] = in[t * 32 + lane];
            barrier_arrive(full, 64);
        }
    } else {
        float sum = 0.0f;
        for (int t = 0; t < rows; ++t) {
            barrier_sync(full, 64);
            float x = buffer[31 - lane];
#ifdef MUTANT_EARLY_REFILL
            if (t + 1 < rows)
                barrier_arrive(empty, 64);
#endif
            float y = buffer[(lane + 1) % 32];
#if !defined(MUTANT_EARLY_REFILL) && !defined(MUTANT_NO_EMPTY)
            if (t + 1 < rows)
                barrier_arrive(empty, 64);
#endif
            sum += float(t + 1) * (x + y);
        }
        out[lane] = sum;
    }
}
