// What several CTAs write to one place, which nothing orders.
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(FLAG)
    y[0] = 1.0f;
#elif defined(CLEARED)
    // The total is the same, but a CTA may clear what another one has written.
    if (threadIdx.x == 0) {
        y[0] = 0.0f;
        __threadfence_block();
        y[0] = x[0];
    }
#elif defined(LAST)
    if (threadIdx.x == 0) {
        y[0] = 0.0f;
        __threadfence_block();
        y[0] = x[i];
    }
#endif
}
