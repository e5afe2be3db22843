// Neighbours: through shared memory with a halo, in turns between two buffers, and in global memory.
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    int t = threadIdx.x, b = blockDim.x, i = blockIdx.x * b + t;
#if defined(HALO)
    __shared__ float s[1026];
    s[t + 1] = i < n ? x[i] : 0.0f;
    if (t == 0) s[0] = i > 0 && i - 1 < n ? x[i - 1] : 0.0f;
#ifdef HALO_OVERWRITES
    if (t == b - 1) s[b] = 0.0f;
#else
    if (t == b - 1) s[b + 1] = i + 1 < n ? x[i + 1] : 0.0f;
#endif
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2];
#elif defined(TURNS)
    // Two buffers and one barrier for each step, which is enough; with one buffer it is not.
    __shared__ float s[2][1026];
    s[0][t + 1] = i < n ? x[i] : 0.0f;
    s[1][t + 1] = 0.0f;
    if (t < 2) {
        s[t][0] = 0.0f;
        s[t][b + 1] = 0.0f;
    }
    if (b == 1) {
        s[1][0] = 0.0f;
        s[1][2] = 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < 10; k++) {
#ifdef ONE_BUFFER
        s[0][t + 1] = s[0][t] + s[0][t + 2];
#else
        s[(k + 1) & 1][t + 1] = s[k & 1][t] + s[k & 1][t + 2];
#endif
#ifdef EVERY_SECOND
        if (k & 1)
#endif
        __syncthreads();
    }
    if (i < n) y[i] = s[0][t + 1];
#elif defined(FILLED_BY_STRIDE)
    // A window of 16 on both sides, filled by as many threads as there are.
    __shared__ float s[1056];
    int first = blockIdx.x * b - 16;
    for (int j = t; j < b + 32; j += b) s[j] = first + j >= 0 && first + j < n ? x[first + j] : 0.0f;
#ifndef NO_BARRIER
    __syncthreads();
#endif
    float sum = 0.0f;
    for (int j = 0; j <= 32; j++) sum += s[t + j];
    if (i < n) y[i] = sum;
#elif defined(IN_PLACE)
    if (i > 0 && i + 1 < n) y[i] = y[i - 1] + y[i + 1];
#else
    if (i > 0 && i + 1 < n) y[i] = x[i - 1] + x[i] + x[i + 1];
#endif
}
