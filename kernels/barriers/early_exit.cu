// out[i] = in[63 - i] for i < 64, by 96 threads of which the last warp returns before the barrier: a barrier of the
// whole CTA does not wait for threads that are gone.
//
// MUTANT_TOO_EARLY: the second warp returns as well, before it has stored what the first one reads.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[64];
    int i = threadIdx.x;

#ifdef MUTANT_TOO_EARLY
    if (i >= 32)
        return;
#else
    if (i >= 64)
        return;
#endif
    s[i] = in[i];
    __syncthreads();
    out[i] = s[63 - i];
}
