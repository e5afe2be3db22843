// Sum of the values of one CTA, step 3: sequential addressing.
//
//     out[ctaid] = in[ctaid * blockDim] + ... + in[ctaid * blockDim + blockDim - 1]
//
// One value a thread.  In each round the lower half of what is left adds the upper half.

#define MAX_THREADS 128

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[MAX_THREADS];
    unsigned tid = threadIdx.x;

    s[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();

    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride)
#ifdef MUTANT_WRONG_COEFFICIENT
            s[tid] += 2.0f * s[tid + stride];
#else
            s[tid] += s[tid + stride];
#endif
        __syncthreads();
    }

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
