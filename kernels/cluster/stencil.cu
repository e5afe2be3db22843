// What halo.cu computes.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int i = blockIdx.x * 64 + threadIdx.x, c = i / 256;
    float a = i > c * 256 ? x[i - 1] : 0, b = i < c * 256 + 255 ? x[i + 1] : 0;
    y[i] = a + 2 * x[i] + b;
}
