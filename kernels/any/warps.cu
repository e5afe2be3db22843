// Sums of warps by shuffles, then of the CTA.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[32];
    int t = threadIdx.x;
    float v = x[blockIdx.x * blockDim.x + t];
    for (int k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
    if (t % 32 == 0) s[t / 32] = v;
#ifndef NO_BARRIER
    __syncthreads();
#endif
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < blockDim.x / 32; k++) sum += s[k];
        y[blockIdx.x] = sum;
    }
}
