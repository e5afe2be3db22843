// Sums, variances, softmax and products as they are written with and without care: one function of the reals for each
// family, and what floating point makes of it is told by --rounding.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define N 32

extern "C" __global__ void ENTRY(const float *x, float *y)
{
#if defined(SUM_SERIAL)
    float s = 0.0f;
    for (int i = 0; i < N; ++i)
        s += x[i];
    y[0] = s;
#elif defined(SUM_TREE)
    float v[N];
    for (int i = 0; i < N; ++i)
        v[i] = x[i];
    for (int o = N / 2; o > 0; o /= 2)
        for (int i = 0; i < o; ++i)
            v[i] += v[i + o];
    y[0] = v[0];
#elif defined(SUM_HALF)
    __half s = __float2half(0.0f);
    for (int i = 0; i < N; ++i)
        s = __hadd_rn(s, __float2half(x[i]));
    y[0] = __half2float(s);
#elif defined(SUM_KAHAN)
    float s = 0.0f, c = 0.0f;
    for (int i = 0; i < N; ++i) {
        float v = __fsub_rn(x[i], c), t = __fadd_rn(s, v);
        c = __fsub_rn(__fsub_rn(t, s), v);
        s = t;
    }
    y[0] = s;
#elif defined(SUM_KAHAN_WRONG)
    float s = 0.0f, c = 0.0f;
    for (int i = 0; i < N; ++i) {
        float v = __fadd_rn(x[i], c), t = __fadd_rn(s, v);
        c = __fadd_rn(__fsub_rn(t, s), v);
        s = t;
    }
    y[0] = s;
#elif defined(VARIANCE_TWO_PASSES)
    float m = 0.0f, s = 0.0f;
    for (int i = 0; i < N; ++i)
        m += x[i];
    m *= 1.0f / N;
    for (int i = 0; i < N; ++i)
        s += (x[i] - m) * (x[i] - m);
    y[0] = s * (1.0f / N);
#elif defined(VARIANCE_WELFORD)
    float m = 0.0f, s = 0.0f;
    for (int i = 0; i < N; ++i) {
        float d = x[i] - m;
        m += d / (float)(i + 1);
        s += d * (x[i] - m);
    }
    y[0] = s * (1.0f / N);
#elif defined(VARIANCE_MOMENTS)
    float m = 0.0f, s = 0.0f;
    for (int i = 0; i < N; ++i) {
        m += x[i];
        s += x[i] * x[i];
    }
    m *= 1.0f / N;
    y[0] = s * (1.0f / N) - m * m;
#elif defined(SOFTMAX_PLAIN)
    float s = 0.0f;
    for (int i = 0; i < 8; ++i)
        s += expf(x[i]);
    y[threadIdx.x] = expf(x[threadIdx.x]) / s;
#elif defined(SOFTMAX_MAXIMUM)
    float m = x[0], s = 0.0f;
    for (int i = 1; i < 8; ++i)
        m = fmaxf(m, x[i]);
    for (int i = 0; i < 8; ++i)
        s += expf(x[i] - m);
    y[threadIdx.x] = expf(x[threadIdx.x] - m) / s;
#elif defined(PRODUCT_SINGLE)
    float s = 0.0f;
    for (int i = 0; i < 16; ++i)
        s += x[i] * x[16 + i];
    y[0] = s;
#elif defined(PRODUCT_BF16)
    float s = 0.0f;
    for (int i = 0; i < 16; ++i)
        s += __bfloat162float(__float2bfloat16(x[i])) * __bfloat162float(__float2bfloat16(x[16 + i]));
    y[0] = s;
#elif defined(PRODUCT_BF16X3)
    float s = 0.0f;
    for (int i = 0; i < 16; ++i) {
        float a = __bfloat162float(__float2bfloat16(x[i])), b = __bfloat162float(__float2bfloat16(x[16 + i]));
        float c = __bfloat162float(__float2bfloat16(x[i] - a)), d = __bfloat162float(__float2bfloat16(x[16 + i] - b));
        s += c * b;
        s += a * d;
        s += a * b;
    }
    y[0] = s;
#endif
}
