// out[i] = out[n - 1 - i] * in[i]: the threads of a CTA exchange values through global memory.
//
// MUTANT_NO_BARRIER: out is overwritten while others still read it.

const int n = 64;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;
    float other = out[n - 1 - i];
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    out[i] = other * in[i];
}
