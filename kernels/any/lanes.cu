// Lanes of a warp through shared memory, kept in order by barriers of the warp.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[1024];
    int t = threadIdx.x, lane = t & 31;
    s[t] = x[blockIdx.x * blockDim.x + t];
#ifndef NO_FIRST
    __syncwarp();
#endif
#if defined(NEIGHBOUR)
    float v = s[t ^ 1];
#elif defined(OTHER_WARP)
    float v = s[t ^ 32];
#else
    for (int k = 16; k > 0; k >>= 1) {
        if (lane < k) s[t] += s[t + k];
#ifndef NO_BARRIER
        __syncwarp();
#endif
    }
    float v = s[t & ~31];
#endif
    y[blockIdx.x * blockDim.x + t] = v;
}
