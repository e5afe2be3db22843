// Threads of a CTA that read what others wrote to shared memory.
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    __shared__ float s[1026];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
#if defined(EARLY_RETURN)
    if (i >= n) return;
    s[t] = x[i];
    __syncthreads();
    y[i] = 2.0f * s[t];
#elif defined(DIVERGENT)
    if (i < n) {
        s[t] = x[i];
        __syncthreads();
        y[i] = s[t];
    }
#elif defined(REVERSED)
    s[t] = i < n ? x[i] : 0.0f;
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (i < n) y[i] = s[blockDim.x - 1 - t];
#elif defined(STENCIL)
    s[t + 1] = i < n ? x[i] : 0.0f;
    if (t == 0) s[0] = i > 0 && i - 1 < n ? x[i - 1] : 0.0f;
    if (t == blockDim.x - 1) s[t + 2] = i + 1 < n ? x[i + 1] : 0.0f;
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2];
#elif defined(WARP)
    s[t] = i < n ? x[i] : 0.0f;
    float v = s[t ^ 1];  // Right where a CTA is one thread.
    if (i < n) y[i] = v;
#elif defined(BROADCAST)
    if (t == 0) s[0] = x[blockIdx.x];
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (i < n) y[i] = s[0];
#elif defined(REUSED)
    for (int k = 0; k < 8; k++) {
        s[t] = x[8 * i + k];
        __syncthreads();
        y[8 * i + k] = s[(t + 1) % blockDim.x];
#ifndef NO_BARRIER
        __syncthreads();
#endif
    }
#endif
}
