// One element for each thread, in ways that keep threads apart for every launch, or only for some.
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(SHIFT)
    if (i + 1 < n) y[i] = y[i + 1];  // Reads what the neighbour writes.
#elif defined(BLOCK_ONLY)
    i = threadIdx.x;
    if (i < n) y[i] += x[i];  // Every CTA has the same elements.
#elif defined(PAIRS)
    if (2 * i + 1 < n) {
        y[2 * i] = x[2 * i];
        y[2 * i + 1] = x[i];
    }
#elif defined(PAIRS_OVERLAP)
    if (i + 1 < n) {
        y[i] = x[i];
        y[i + 1] = 2.0f * x[i];
    }
#elif defined(WRONG_WIDTH)
    i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] += x[i];  // Right for blocks of at most 64 threads.
#elif defined(REVERSE)
    if (i < n) y[n - 1 - i] = x[i];
#elif defined(MODULO)
    if (i < n) y[i % 32] += x[i];  // Right for at most 32 threads.
#elif defined(HALF)
    if (i < n) y[i / 2] += x[i];
#else
    if (i < n) y[i] = 2.0f * x[i] + y[i];
#endif
}
