// Is any element above the limit?  All threads that see one write the same value: a warning.  MUTANT_INDEX writes
// which, so that the last writer decides; MUTANT_LATE_CLEAR lacks the barrier after the flag is cleared.
extern "C" __global__ void ENTRY(const float *in, float limit, int *out)
{
    __shared__ int any;
    int t = threadIdx.x;
    if (t == 0) any = 0;
#ifndef MUTANT_LATE_CLEAR
    __syncthreads();
#endif
#ifdef MUTANT_INDEX
    if (in[t] > limit) any = t + 1;
#else
    if (in[t] > limit) any = 1;
#endif
    __syncthreads();
    out[t] = any;
}
