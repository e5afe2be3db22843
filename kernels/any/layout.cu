// Elements of a thread in memory: chunks, channels, planes, vectors.
#ifdef VECTORS
extern "C" __global__ void ENTRY(const float4 *x, float4 *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef OVERLAP
    // Every thread begins two floats after the one before.
    if (2 * i + 4 <= n) {
        float2 *z = (float2 *)y;
        z[i] = make_float2(x[i].x, x[i].y);
        z[i + 1] = make_float2(x[i].z, x[i].w);
    }
#else
    if (i < n) y[i] = x[i];
#endif
}
#else
extern "C" __global__ void ENTRY(const float *x, float *y, int n, int c) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
#if defined(CHANNELS)
    if (i >= n) return;
    for (int k = 0; k < c; k++) y[i * c + k] = 2.0f * x[i * c + k];
#elif defined(CHANNELS_TOO_MANY)
    if (i >= n) return;
    for (int k = 0; k <= c; k++) y[i * c + k] = 2.0f * x[i * c + k] + i;
#elif defined(PLANES)
    if (i >= n) return;
    for (int k = 0; k < c; k++) y[k * n + i] = 2.0f * x[k * n + i];
#elif defined(TWO_DIMENSIONS)
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < c && j < n) y[j * c + i] = x[j * c + i] + 1.0f;
#elif defined(TWO_DIMENSIONS_NO_GUARD)
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < n) y[j * c + i] = x[j * c + i] + j;
#elif defined(ROWS)
    // One row for each CTA, one element after the other for each thread.
    for (int k = t; k < c; k += blockDim.x) y[blockIdx.x * c + k] = x[blockIdx.x * c + k] + 1.0f;
#elif defined(ROWS_PITCH)
    for (int k = t; k < c; k += blockDim.x) y[blockIdx.x * n + k] = x[blockIdx.x * n + k] + blockIdx.x;
#elif defined(SLOTS)
    // Right for blocks of at most 128 threads.
    y[blockIdx.x * 128 + t] = x[i];
#elif defined(POOL)
    if (2 * i + 1 < n) y[i] = fmaxf(x[2 * i], x[2 * i + 1]);
#elif defined(POOL_IN_PLACE)
    if (2 * i + 1 < n) y[i] = fmaxf(y[2 * i], y[2 * i + 1]);
#elif defined(TWICE)
    if (i < n) {
        y[2 * i] = x[i];
        y[2 * i + 1] = x[i];
    }
#elif defined(TWICE_WRONG)
    if (i < n) {
        y[2 * i] = x[i];
        y[2 * i + 2] = x[i] + 1.0f;
    }
#elif defined(CHUNK)
    // Eight neighbours for each thread, of a constant number.
    for (int k = 0; k < 8; k++) y[8 * i + k] = x[8 * i + k];
#elif defined(CHUNK_OF_NINE)
    for (int k = 0; k < 9; k++) y[8 * i + k] = x[8 * i + k] + i;
#elif defined(SWAPPED_HALVES)
    if (i < n) y[i ^ 1] = x[i];
#elif defined(GROUPS)
    // Groups of 32 in the other order.
    y[(i & ~31) + 31 - (i & 31)] = x[i];
#elif defined(GROUPS_WRONG)
    y[(i & ~31) + 15 - (i & 15)] = x[i];
#endif
}
#endif
