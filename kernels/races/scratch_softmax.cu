// Softmax of a block, whose scratch array has a place for each lane so that any number of warps can use it.
//
// MUTANT_NO_CLEAR: the places without a warp are not written.
// MUTANT_NO_CLEAR_BARRIER: the first warp clears the places while others already write theirs: minus infinity is the
//     result of no warp.
// MUTANT_NO_REUSE_BARRIER: it clears them for the sum while others still read the maximum.

const int n = 128;

__device__ float warp_sum(float v)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

__device__ float warp_max(float v)
{
    for (int d = 16; d > 0; d /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float scratch[32];
    int i = threadIdx.x, lane = i % 32, warp = i / 32;
    float x = in[i], largest = warp_max(x);
#ifndef MUTANT_NO_CLEAR
    if (warp == 0)
        scratch[lane] = -INFINITY;
#endif
#ifndef MUTANT_NO_CLEAR_BARRIER
    __syncthreads();
#endif
    if (lane == 0)
        scratch[warp] = largest;
    __syncthreads();
    largest = warp_max(scratch[lane]);
    float e = expf(x - largest), sum = warp_sum(e);
#ifndef MUTANT_NO_REUSE_BARRIER
    __syncthreads();
#endif
    if (warp == 0)
        scratch[lane] = 0.0f;
    __syncthreads();
    if (lane == 0)
        scratch[warp] = sum;
    __syncthreads();
    out[i] = e / warp_sum(scratch[lane]);
}
