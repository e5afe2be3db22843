// Counts of keys in counters that a memset cleared before the launch.
#define BINS 8

#ifdef DIRECT
extern "C" __global__ void ENTRY(const int *keys, int *counts, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) atomicAdd(&counts[keys[t]], 1);
}
#endif

#ifdef SHARED
// Each CTA counts in shared memory first.
extern "C" __global__ void ENTRY(const int *keys, int *counts, int n) {
    __shared__ int mine[BINS];
    if (threadIdx.x < BINS) mine[threadIdx.x] = 0;
    __syncthreads();
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) atomicAdd(&mine[keys[t]], 1);
    __syncthreads();
#ifdef OVERWRITE
    if (threadIdx.x < BINS) counts[threadIdx.x] = mine[threadIdx.x];
#else
    if (threadIdx.x < BINS) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
#endif
}
#endif

#ifdef SERIAL
// One thread, which needs no counters that are cleared.
extern "C" __global__ void ENTRY(const int *keys, int *counts, int n) {
    if (blockIdx.x == 0 && threadIdx.x < BINS) {
        int sum = 0;
        for (int k = 0; k < n; ++k) sum += keys[k] == threadIdx.x;
        counts[threadIdx.x] = sum;
    }
}
#endif
