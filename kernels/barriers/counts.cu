// out[i] = in[63 - i], exchanged through shared memory by two warps that meet at a named barrier of COUNT threads.
// 64 is right.
//
// 96 waits for a warp that does not exist.  32 lets each warp pass alone, as its own generation of the barrier.
// 48 is not a multiple of the warp size.

#include "named.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[64];
    int i = threadIdx.x;

    s[i] = in[i];
    barrier_sync(1, COUNT);
    out[i] = s[63 - i];
}
