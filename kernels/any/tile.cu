// Tiles of matrices in shared memory.
#define T 16
extern "C" __global__ void ENTRY(const float *a, const float *b, float *c, int n) {
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
#if defined(TRANSPOSE)
    __shared__ float s[T][T + 1];
    if (col < n && row < n) s[ty][tx] = a[row * n + col];
#ifndef NO_BARRIER
    __syncthreads();
#endif
    int to_col = blockIdx.y * T + tx, to_row = blockIdx.x * T + ty;
    if (to_col < n && to_row < n) c[to_row * n + to_col] = s[tx][ty];
#else
    __shared__ float s[T][T], r[T][T];
    float sum = 0.0f;
    for (int k = 0; k < n; k += T) {
        s[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0.0f;
        r[ty][tx] = col < n && k + ty < n ? b[(k + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int j = 0; j < T; j++) sum += s[ty][j] * r[j][tx];
#ifndef NO_BARRIER
        __syncthreads();
#endif
    }
    if (row < n && col < n) c[row * n + col] = sum;
#endif
}
