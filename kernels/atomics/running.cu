// A running maximum that each thread compares with its element and replaces: a race on data that grows, where
// atomicMax is needed.
extern "C" __global__ void ENTRY(const int *in, int *out)
{
    __shared__ int most;
    int t = threadIdx.x;
    if (t == 0) most = 0;
    __syncthreads();
#ifdef MUTANT_PLAIN
    if (in[t] > most) most = in[t];
#else
    atomicMax(&most, in[t]);
#endif
    __syncthreads();
    out[t] = most;
}
