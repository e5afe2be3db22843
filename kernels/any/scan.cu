// A sum of all elements before each.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int t = threadIdx.x, n = blockDim.x;
#if defined(BLELLOCH)
    __shared__ float s[2048];
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    int offset = 1;
    for (int d = n; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    __syncthreads();
    y[2 * n * blockIdx.x + 2 * t] = s[2 * t];
    y[2 * n * blockIdx.x + 2 * t + 1] = s[2 * t + 1];
#elif defined(IN_PLACE)
    __shared__ float s[1024];
    s[t] = x[n * blockIdx.x + t];
    __syncthreads();
    for (int k = 1; k < n; k *= 2) {
        float v = t >= k ? s[t - k] : 0.0f;
#ifndef ONE_BARRIER
        __syncthreads();
#endif
        s[t] += v;
        __syncthreads();
    }
    y[n * blockIdx.x + t] = s[t];
#else
    __shared__ float s[2][1024];
    int from = 0;
    s[0][t] = x[n * blockIdx.x + t];
    __syncthreads();
    for (int k = 1; k < n; k *= 2) {
        int to = 1 - from;
        s[to][t] = s[from][t] + (t >= k ? s[from][t - k] : 0.0f);
#ifndef NO_BARRIER
        __syncthreads();
#endif
        from = to;
    }
    y[n * blockIdx.x + t] = s[from][t];
#endif
}
