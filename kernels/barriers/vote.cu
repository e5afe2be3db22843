// out[i] = in[i] * (number of threads whose index is a multiple of 3): a barrier that counts on the way.
//
// PLAIN: the number is worked out by arithmetic.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;
#ifdef PLAIN
    int count = (blockDim.x + 2) / 3;
#else
    int count = __syncthreads_count(i % 3 == 0);
#endif
    out[i] = in[i] * float(count);
}
