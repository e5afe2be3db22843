// Sum of the values of one CTA, step 4: the first addition happens while loading.
//
//     out[ctaid] = in[2 * ctaid * blockDim] + ... + in[2 * ctaid * blockDim + 2 * blockDim - 1]
//
// Two values a thread, so half as many threads as in step 3.

#define MAX_THREADS 64

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[MAX_THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (2 * blockDim.x) + tid;

#ifdef MUTANT_DROPPED_ELEMENT
    s[tid] = tid == 0 ? in[i] : in[i] + in[i + blockDim.x];
#else
    s[tid] = in[i] + in[i + blockDim.x];
#endif
    __syncthreads();

    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride)
            s[tid] += s[tid + stride];
        __syncthreads();
    }

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
