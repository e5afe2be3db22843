// What kernels of this folder compute, one thread for each element of the result.
#include <cuda_fp16.h>

#ifdef BYTES
extern "C" __global__ void ENTRY(const signed char* a, const signed char* b, const float* left, const float* right,
                                 float* c) {
    int row = blockIdx.x, column = threadIdx.x, sum = 0;
    for (int k = 0; k < 64; k++) sum += a[row * 64 + k] * b[k * 16 + column];
    c[row * 16 + column] = float(sum) * left[row] * right[column];
}
#endif

#ifdef GELU
extern "C" __global__ void ENTRY(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = 0.5f * v * (1.0f + erff(v * 0.7071067811865476f));
}
#endif

#ifdef GATED
extern "C" __global__ void ENTRY(const half* x, const half* gate, const half* up, float* out) {
    int row = blockIdx.x, column = threadIdx.x;
    float g = 0, u = 0;
    for (int k = 0; k < 32; k++) {
        g += float(x[row * 32 + k]) * float(gate[k * 16 + column]);
        u += float(x[row * 32 + k]) * float(up[k * 16 + column]);
    }
    out[row * 16 + column] = g / (1.0f + expf(-g)) * u;
}
#endif

#ifdef GROUPED
extern "C" __global__ void ENTRY(const half* q, const half* k, const half* v, half* o) {
    int head = blockIdx.x, row = 16 * head + threadIdx.x;
    float total = 0, sum[16] = {0};
    for (int j = 20 * head; j < 20 * head + 20; j++) {
        float score = 0;
        for (int d = 0; d < 16; d++) score += float(q[row * 16 + d]) * float(k[j * 16 + d]);
        float e = expf(score * 0.25f);
        total += e;
        for (int d = 0; d < 16; d++) sum[d] += e * float(v[j * 16 + d]);
    }
    for (int d = 0; d < 16; d++) o[row * 16 + d] = half(sum[d] / total);
}
#endif
