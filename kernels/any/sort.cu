// Sorting in shared memory: partners by exclusive or, and neighbours in turns.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[1024];
    int t = threadIdx.x, n = blockDim.x;
    s[t] = x[n * blockIdx.x + t];
    __syncthreads();
#if defined(ODD_EVEN)
    for (int p = 0; p < n; p++) {
        if ((t & 1) == (p & 1) && t + 1 < n) {
            float a = s[t], b = s[t + 1];
            s[t] = fminf(a, b);
            s[t + 1] = fmaxf(a, b);
        }
#ifndef NO_BARRIER
        __syncthreads();
#endif
    }
#elif defined(ALL_NEIGHBOURS)
    for (int p = 0; p < n; p++) {
        if (t + 1 < n) {
            float a = s[t], b = s[t + 1];
            s[t] = fminf(a, b);
            s[t + 1] = fmaxf(a, b);
        }
        __syncthreads();
    }
#else
    for (int k = 2; k <= n; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            int other = t ^ j;
#ifdef BOTH_SWAP
            if (other < n) {
#else
            if (other > t && other < n) {
#endif
                float a = s[t], b = s[other];
                bool up = (t & k) == 0;
                s[t] = up ? fminf(a, b) : fmaxf(a, b);
                s[other] = up ? fmaxf(a, b) : fminf(a, b);
            }
#ifndef BARRIER_OUTSIDE
            __syncthreads();
#endif
        }
#ifdef BARRIER_OUTSIDE
        __syncthreads();
#endif
    }
#endif
    y[n * blockIdx.x + t] = s[t];
}
