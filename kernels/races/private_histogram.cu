// A histogram with a copy for each warp, added up at the end.
//
// MUTANT_NO_BARRIER: the copies are added up while slower warps still count.
// MUTANT_ONE_CLEARED: only the first copy is cleared.

const int n = 64, bins = 4;

extern "C" __global__ void ENTRY(const unsigned char *in, unsigned *out)
{
    __shared__ unsigned h[2][bins];
    int i = threadIdx.x;
#ifdef MUTANT_ONE_CLEARED
    if (i < bins)
        h[0][i] = 0;
#else
    if (i < 2 * bins)
        h[i / bins][i % bins] = 0;
#endif
    __syncthreads();
#pragma unroll 1
    for (int j = i; j < 2 * n; j += n)
        atomicAdd(&h[i / 32][in[j] % bins], 1);
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    if (i < bins)
        out[i] = h[0][i] + h[1][i];
}
