// Eight groups of 128 threads, each with a named barrier of its own, exchange values through shared memory for `rounds`
// rounds: ten writes, the barrier, ten reads of what a neighbour wrote, the barrier.  1024 threads.

#include "named.cuh"

extern "C" __global__ void ENTRY(unsigned *out, int rounds)
{
    const int group_size = 128, values = 10;
    __shared__ unsigned s[8][values][group_size];
    int group = threadIdx.x / group_size, t = threadIdx.x % group_size;
    unsigned kept = threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
        for (int i = 0; i < values; ++i)
            s[group][i][t] = kept + i;
        barrier_sync(group + 1, group_size);
        for (int i = 0; i < values; ++i)
            kept += s[group][i][(t + i + 1) % group_size];
#ifdef MUTANT_NO_BARRIER
        if (r != rounds / 2)
#endif
            barrier_sync(group + 1, group_size);
    }
    out[threadIdx.x] = kept;
}
