// A sum over the CTA in shared memory.
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    __shared__ float s[1024];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0.0f;
#ifndef NO_FIRST_BARRIER
    __syncthreads();
#endif
#if defined(INTERLEAVED)
    for (int k = 1; k < blockDim.x; k *= 2) {
        int j = 2 * k * t;
        if (j + k < blockDim.x) s[j] += s[j + k];
        __syncthreads();
    }
#else
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
#if defined(NO_GUARD)
        if (t + k < blockDim.x) s[t] += s[t + k];
#elif defined(OFF_BY_ONE)
        if (t <= k && t + k < blockDim.x) s[t] += s[t + k];
#else
        if (t < k) s[t] += s[t + k];
#endif
#if defined(NO_BARRIER)
#elif defined(GUARDED_BARRIER)
        if (t < k) __syncthreads();
#elif defined(BARRIER_ABOVE_WARP)
        if (k > 32) __syncthreads();
#else
        __syncthreads();
#endif
    }
#endif
    if (t == 0) y[blockIdx.x] = s[0];
}
