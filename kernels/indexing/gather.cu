// Rows of a table by indices: y[i][j] = table[ids[i]][j].
#ifndef COLUMNS
#define COLUMNS 16
#endif

#ifdef PLAIN
// A thread for each element.
extern "C" __global__ void ENTRY(const int *ids, const float *table, float *y, int rows) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < rows * COLUMNS) y[t] = table[ids[t / COLUMNS] * COLUMNS + t % COLUMNS];
}
#endif

#ifdef VECTOR
// Four columns for each thread, the indices from shared memory.
#ifndef SHIFT
#define SHIFT 0
#endif
extern "C" __global__ void ENTRY(const int *ids, const float *table, float *y, int rows) {
    __shared__ int mine[32];
    if (threadIdx.x < rows) mine[threadIdx.x] = ids[threadIdx.x];
    __syncthreads();
    int part = threadIdx.x % (COLUMNS / 4);
    for (int row = threadIdx.x / (COLUMNS / 4); row < rows; row += blockDim.x / (COLUMNS / 4)) {
        const float4 *from = (const float4 *)(table + (mine[row] + SHIFT) * COLUMNS);
        ((float4 *)(y + row * COLUMNS))[part] = from[part];
    }
}
#endif

#ifdef PAGED
// The same rows, each in a page of two that a table names.
extern "C" __global__ void ENTRY(const int *, const float *cache, float *y, int rows, const int *pages) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= rows * COLUMNS) return;
    int row = t / COLUMNS;
    y[t] = cache[(pages[row / 2] * 2 + row % 2) * COLUMNS + t % COLUMNS];
}
#endif
