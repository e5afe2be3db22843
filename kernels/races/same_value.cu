// out[i] = in[i] * scale, where scale = in[0] and a count of zero are put into shared memory by every thread.
// All write the same values without any order: harmless, but worth a warning.
//
// MUTANT_DIFFERENT_VALUE: the last thread writes another value.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float scale;
    __shared__ float offset;
    int i = threadIdx.x;

    scale = in[0];
#ifdef MUTANT_DIFFERENT_VALUE
    offset = i == blockDim.x - 1 ? 1.0f : 0.0f;
#else
    offset = 0.0f;
#endif
    __syncthreads();
    out[i] = in[i] * scale + offset;
}
