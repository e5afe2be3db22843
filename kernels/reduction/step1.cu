// Sum of the values of one CTA, step 1: interleaved addressing with divergent branches.
//
//     out[ctaid] = in[ctaid * blockDim] + ... + in[ctaid * blockDim + blockDim - 1]
//
// One value a thread.  In round s the threads whose index is a multiple of 2s add the value that lies s further.
// The steps follow the talk "Optimizing Parallel Reduction in CUDA" by Mark Harris.

#define MAX_THREADS 128

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[MAX_THREADS];
    unsigned tid = threadIdx.x;

    s[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();

    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0)
            s[tid] += s[tid + stride];
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
    }

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
