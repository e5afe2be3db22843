// A sparse matrix in compressed rows times a vector.

#ifdef PLAIN
// A thread for each row.
extern "C" __global__ void ENTRY(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = starts[row]; k < starts[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}
#endif

#ifdef WARP
// A warp for each row.
#ifndef FIRST
#define FIRST 0
#endif
extern "C" __global__ void ENTRY(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows) {
    int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < rows; row += blockDim.x / 32) {
        float sum = 0.0f;
        for (int k = starts[row] + FIRST + lane; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
        if (lane == 0) y[row] = sum;
    }
}
#endif
