// Sum of the values of one CTA, step 6: every round is unrolled, for THREADS threads fixed at compile time.
//
//     out[ctaid] = in[2 * ctaid * THREADS] + ... + in[2 * ctaid * THREADS + 2 * THREADS - 1]

#include "last_warp.cuh"

template <unsigned COUNT> __device__ void reduce(float *s, unsigned tid)
{
    if (COUNT >= 512) {
        if (tid < 256)
            s[tid] += s[tid + 256];
        __syncthreads();
    }
    if (COUNT >= 256) {
        if (tid < 128)
            s[tid] += s[tid + 128];
        __syncthreads();
    }
    if (COUNT >= 128) {
        if (tid < 64)
            s[tid] += s[tid + 64];
        __syncthreads();
    }
    if (tid < 32)
        reduce_last_warp<COUNT>(s, tid);
}

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (2 * THREADS) + tid;

#ifdef MUTANT_DROPPED_ELEMENT
    s[tid] = in[i] + (tid == THREADS - 1 ? 0.0f : in[i + THREADS]);
#else
    s[tid] = in[i] + in[i + THREADS];
#endif
    __syncthreads();

    reduce<THREADS>(s, tid);

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
