// Counts of values.
extern "C" __global__ void ENTRY(const unsigned char *x, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(SHARED)
    __shared__ int s[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) s[k] = 0;
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (i < n) atomicAdd(&s[x[i]], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], s[k]);
#elif defined(PLAIN)
    if (i < n) bins[i & 255] += 1;
#else
    if (i < n) atomicAdd(&bins[x[i]], 1);
#endif
}
