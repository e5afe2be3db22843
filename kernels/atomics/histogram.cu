// How often each of eight residues occurs among the elements that are not negative. One version counts in
// shared memory first and adds up at the end, the other (DIRECT) updates global memory at once.
extern "C" __global__ void ENTRY(const int *in, int *bins)
{
    int t = threadIdx.x;
#ifdef DIRECT
    if (in[t] >= 0) atomicAdd(&bins[in[t] & 7], 1);
#else
    __shared__ int count[8];
    if (t < 8) count[t] = 0;
#ifndef MUTANT_NO_FIRST_BARRIER
    __syncthreads();
#endif
#ifdef MUTANT_POSITIVE
    if (in[t] > 0)
#else
    if (in[t] >= 0)
#endif
        atomicAdd(&count[in[t] & 7], 1);
#ifndef MUTANT_NO_LAST_BARRIER
    __syncthreads();
#endif
    if (t < 8) atomicAdd(&bins[t], count[t]);
#endif
}
