// Sum of n values, step 7: each thread first sums several of them, a grid apart, into a register.
//
//     out[ctaid] = the sum of in[i] over the i < n that this CTA visits; with one CTA, of all
//
// n is a multiple of 2 * THREADS * gridDim; THREADS is fixed at compile time, at least 32.

#include "last_warp.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out, unsigned n)
{
    // The unguarded rounds let every lane of the last warp read up to half a warp past its own value.
    __shared__ float s[THREADS < 64 ? 64 : THREADS];
    unsigned tid = threadIdx.x;
    unsigned step = 2 * THREADS * gridDim.x;

    float sum = 0.0f;
    for (unsigned i = blockIdx.x * (2 * THREADS) + tid; i < n; i += step)
#ifdef MUTANT_WRONG_COEFFICIENT
        sum += in[i] - in[i + THREADS];
#else
        sum += in[i] + in[i + THREADS];
#endif
    s[tid] = sum;
    if (THREADS == 32)
        s[tid + 32] = 0.0f;
    __syncthreads();

    if (THREADS >= 128) {
        if (tid < 64)
            s[tid] += s[tid + 64];
        __syncthreads();
    }
    if (tid < 32)
        reduce_last_warp<THREADS>(s, tid);

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
