// Counts of values in shared memory, which as many threads clear and write out as there are.
extern "C" __global__ void ENTRY(const unsigned *x, unsigned *y, int n) {
    __shared__ unsigned bins[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    for (int k = t; k < 256; k += blockDim.x) bins[k] = 0;
#ifndef NO_FIRST_BARRIER
    __syncthreads();
#endif
#ifdef PLAIN
    if (i < n) bins[x[i] & 255]++;
#else
    if (i < n) atomicAdd(&bins[x[i] & 255], 1u);
#endif
#ifndef NO_SECOND_BARRIER
    __syncthreads();
#endif
#ifdef ONE_EACH
    y[blockIdx.x * 256 + t] = bins[t];
#else
    for (int k = t; k < 256; k += blockDim.x) atomicAdd(&y[k], bins[k]);
#endif
}
