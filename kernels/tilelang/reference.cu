// What the TileLang kernels of this folder compute, straight from the definitions.

#include <cuda_fp16.h>

#if defined(PRODUCT)
// c = a b of float16 matrices; K is the depth, SIZE the number of rows and columns.
extern "C" __global__ void ENTRY(const half *a, const half *b, float *c)
{
    for (int e = threadIdx.x; e < SIZE * SIZE; e += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k)
            sum += __half2float(a[e / SIZE * K + k]) * __half2float(b[k * SIZE + e % SIZE]);
#ifdef RELU
        sum = fmaxf(sum, 0.0f);
#endif
        c[e] = sum;
    }
}
#elif defined(SCALAR)
extern "C" __global__ void ENTRY(const float *a, const float *b, float *c)
{
    for (int e = threadIdx.x; e < SIZE * SIZE; e += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k)
            sum += a[e / SIZE * K + k] * b[k * SIZE + e % SIZE];
        c[e] = sum;
    }
}
#elif defined(CONVOLUTION)
// A 3 x 3 convolution of an image of SIZE x SIZE pixels with 16 channels, to 32.
extern "C" __global__ void ENTRY(const half *d, const half *k, float *o)
{
    int y = blockIdx.x / SIZE, x = blockIdx.x % SIZE;
    float sum = 0.0f;
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
            if (y + a > 0 && y + a <= SIZE && x + b > 0 && x + b <= SIZE)
                for (int c = 0; c < 16; ++c)
                    sum += __half2float(d[((y + a - 1) * SIZE + x + b - 1) * 16 + c]) *
                           __half2float(k[((a * 3 + b) * 16 + c) * 32 + threadIdx.x]);
    o[blockIdx.x * 32 + threadIdx.x] = sum;
}
#elif defined(RMS)
extern "C" __global__ void ENTRY(const float *x, float *y)
{
    x += blockIdx.x * SIZE;
    y += blockIdx.x * SIZE;
    float sum = 0.0f;
    for (int j = 0; j < SIZE; ++j)
        sum += x[j] * x[j];
    y[threadIdx.x] = x[threadIdx.x] / sqrtf(sum / SIZE + 1e-5f);
}
#elif defined(ABSOLUTE)
extern "C" __global__ void ENTRY(const float *x, float *y)
{
    x += blockIdx.x * SIZE;
    y += blockIdx.x * SIZE;
    float top = 0.0f;
    for (int j = 0; j < SIZE; ++j)
        top = fmaxf(top, fabsf(x[j]));
    y[threadIdx.x] = x[threadIdx.x] / (top + 1e-5f);
}
#else
// Attention of SIZE queries and keys of DIM values; a thread has a query.
extern "C" __global__ void ENTRY(const half *q, const half *k, const half *v, half *o)
{
    int i = threadIdx.x;
    float total = 0.0f, sum[DIM] = {0.0f};
    for (int j = 0; j < SIZE; ++j) {
        float s = 0.0f;
        for (int d = 0; d < DIM; ++d)
            s += __half2float(q[i * DIM + d]) * __half2float(k[j * DIM + d]);
        float e = expf(s * SCALE);
        total += e;
        for (int d = 0; d < DIM; ++d)
            sum[d] += e * __half2float(v[j * DIM + d]);
    }
    for (int d = 0; d < DIM; ++d)
        o[i * DIM + d] = __float2half(sum[d] / total);
}
#endif
