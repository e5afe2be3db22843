// Loops over elements with a stride.
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
#if defined(BLOCK_STRIDE)
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) y[blockIdx.x * 4096 + i] = x[i];
#elif defined(WRONG_STRIDE)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) y[i] += x[i];
#elif defined(CHUNKS)
    // Four neighbours for each thread.
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 4; k++)
        if (first + k < n) y[first + k] += x[first + k];
#elif defined(CHUNKS_OF_FIVE)
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int k = 0; k < 5; k++)
        if (first + k < n) y[first + k] += x[first + k];
#elif defined(WIDE)
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) y[i] += x[i];
#else
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += x[i];
#endif
}
