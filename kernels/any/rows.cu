// A row of a matrix for each CTA.
extern "C" __global__ void ENTRY(const float *x, float *y, int m, int n) {
    __shared__ float s[1024];
    int t = threadIdx.x, row = blockIdx.x;
    if (row >= m) return;
    float top = -1e30f;
    for (int j = t; j < n; j += blockDim.x) top = fmaxf(top, x[row * n + j]);
    s[t] = top;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    top = s[0];
#ifdef SECOND_PASS
#ifndef NO_BARRIER
    __syncthreads();
#endif
    float sum = 0.0f;
    for (int j = t; j < n; j += blockDim.x) sum += x[row * n + j] - top;
    s[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    top = s[0];
#endif
    for (int j = t; j < n; j += blockDim.x) y[row * n + j] = x[row * n + j] - top;
}
