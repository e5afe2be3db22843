// Sum of the values of one CTA, step 5: the rounds of the last warp are unrolled.
//
//     out[ctaid] = in[2 * ctaid * blockDim] + ... + in[2 * ctaid * blockDim + 2 * blockDim - 1]
//
// Two values a thread; blockDim is at least 64.

#include "last_warp.cuh"

#define MAX_THREADS 64

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[MAX_THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (2 * blockDim.x) + tid;

    s[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();

    for (unsigned stride = blockDim.x / 2; stride > 32; stride /= 2) {
        if (tid < stride)
            s[tid] += s[tid + stride];
        __syncthreads();
    }

    if (tid < 32)
        reduce_last_warp<64>(s, tid);

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
