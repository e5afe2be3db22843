// Sum of the values of one CTA, step 2: interleaved addressing, the active threads are neighbours.
//
//     out[ctaid] = in[ctaid * blockDim] + ... + in[ctaid * blockDim + blockDim - 1]
//
// One value a thread.  In round s thread t works on position 2st, so that whole warps stay together.

#define MAX_THREADS 128

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[MAX_THREADS];
    unsigned tid = threadIdx.x;

    s[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();

    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned index = 2 * stride * tid;
        if (index < blockDim.x)
#ifdef MUTANT_OFF_BY_ONE
            s[index] += s[index + stride - 1];
#else
            s[index] += s[index + stride];
#endif
        __syncthreads();
    }

    if (tid == 0)
        out[blockIdx.x] = s[0];
}
