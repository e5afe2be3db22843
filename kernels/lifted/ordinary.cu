// Operators of networks in spellings that people write, one behind each flag.

#include <math.h>

#define LIMITED(v) fminf(fmaxf(v, 0.0f), 6.0f)
#define CLAMPED(v) fmaxf(-1.5f, fminf(v, 2.5f))
#define WARP_SUM(v) \
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o)
#define WARP_MAX(v) \
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o))

#if defined(ELEMENT)
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float a = x[i];
        y[i] = ELEMENT;
    }
}
#elif defined(LAYER_NORM)
extern "C" __global__ void ENTRY(const float *x, const float *g, const float *b, float *y, int n, float eps)
{
    const float *p = x + blockIdx.x * n;
    float s = 0, q = 0;
    for (int j = threadIdx.x; j < n; j += 32) {
        s += p[j];
        q += p[j] * p[j];
    }
    WARP_SUM(s);
    WARP_SUM(q);
    float m = s / n, k = rsqrtf(q / n - m * m + eps);
    for (int j = threadIdx.x; j < n; j += 32)
        y[blockIdx.x * n + j] = (p[j] - m) * k * g[j] + b[j];
}
#elif defined(SOFTMAX_BACKWARD)
extern "C" __global__ void ENTRY(const float *y, const float *d, float *x, int n)
{
    int r = blockIdx.x * n;
    float s = 0;
    for (int j = threadIdx.x; j < n; j += 32)
        s += y[r + j] * d[r + j];
    WARP_SUM(s);
    for (int j = threadIdx.x; j < n; j += 32)
        x[r + j] = y[r + j] * (d[r + j] - s);
}
#elif defined(CROSS_ENTROPY)
extern "C" __global__ void ENTRY(const float *x, const int *t, float *loss, int n)
{
    const float *p = x + blockIdx.x * n;
    float m = -INFINITY, s = 0;
    for (int j = threadIdx.x; j < n; j += 32)
        m = fmaxf(m, p[j]);
    WARP_MAX(m);
    for (int j = threadIdx.x; j < n; j += 32)
        s += expf(p[j] - m);
    WARP_SUM(s);
    if (threadIdx.x == 0) {
#ifdef IGNORED
        if (t[blockIdx.x] == -100)
            loss[blockIdx.x] = 0;
        else
#endif
            loss[blockIdx.x] = logf(s) + m - p[t[blockIdx.x]];
    }
}
#elif defined(LOSS)
extern "C" __global__ void ENTRY(const float *a, const float *b, float *y, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = 0;
    for (int j = t; j < n; j += 64) {
        float d = a[j] - b[j];
        v += LOSS;
    }
    s[t] = v;
    __syncthreads();
    for (int k = 32; k; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        *y = s[0] / n;
}
#elif defined(CONVOLUTION)
extern "C" __global__ void ENTRY(const float *x, const float *w, float *y, int c, int h, int k, int r, int pad, int stride)
{
    int out = (h + 2 * pad - r) / stride + 1, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= k * out * out)
        return;
    int q = i % out, p = i / out % out, o = i / out / out;
    float s = 0;
    for (int l = 0; l < c; ++l)
        for (int a = 0; a < r; ++a)
            for (int b = 0; b < r; ++b) {
                int u = p * stride + a - pad, v = q * stride + b - pad;
                if (u >= 0 && u < h && v >= 0 && v < h)
                    s += x[(l * h + u) * h + v] * w[((o * c + l) * r + a) * r + b];
            }
    y[i] = s;
}
#elif defined(POOL)
extern "C" __global__ void ENTRY(const float *x, float *y, int h, int r, int pad, int stride)
{
    int out = (h + 2 * pad - r) / stride + 1, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= out * out)
        return;
    float s = -INFINITY;
    for (int a = 0; a < r; ++a)
        for (int b = 0; b < r; ++b) {
            int u = i / out * stride + a - pad, v = i % out * stride + b - pad;
            if (u >= 0 && u < h && v >= 0 && v < h)
                s = fmaxf(s, x[u * h + v]);
        }
    y[i] = s;
}
#elif defined(ROPE_PAIRS)
extern "C" __global__ void ENTRY(const float *x, const float *c, const float *s, float *y, int d)
{
    int j = threadIdx.x, h = d / 2;
    if (j >= h)
        return;
    const float *p = x + blockIdx.x * d;
    float u = c[blockIdx.x * h + j], v = s[blockIdx.x * h + j];
    y[blockIdx.x * d + 2 * j] = p[2 * j] * u - p[2 * j + 1] * v;
    y[blockIdx.x * d + 2 * j + 1] = p[2 * j] * v + p[2 * j + 1] * u;
}
#elif defined(LARGEST)
extern "C" __global__ void ENTRY(const float *x, int *y, int n)
{
    const float *p = x + threadIdx.x * n;
    int at = 0;
    for (int j = 1; j < n; ++j)
        if (p[j] LARGEST p[at])
            at = j;
    y[threadIdx.x] = at;
}
#elif defined(EMBEDDING)
extern "C" __global__ void ENTRY(const int *id, const float *w, float *y, int d)
{
    for (int j = threadIdx.x; j < d; j += blockDim.x)
        y[blockIdx.x * d + j] = w[(id[blockIdx.x] - EMBEDDING) * d + j];
}
#elif defined(CHOICE)
extern "C" __global__ void ENTRY(const float *x, const int *m, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = CHOICE;
}
#elif defined(ROWS)
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    const float *p = x + threadIdx.x * n;
#if defined(VARIANCE)
    float m = 0, s = 0;
    for (int j = 0; j < n; ++j) {
        float d = p[j] - m;
        m += d / (j + 1);
        s += d * (p[j] - m);
    }
    y[threadIdx.x] = s / (n - 1);
#elif defined(LOG_SUM_EXP)
    float m = -INFINITY, s = 0;
    for (int j = 0; j < n; ++j) {
        float k = fmaxf(m, p[j]);
        s = s * expf(m - k) + expf(p[j] - k);
        m = k;
    }
    y[threadIdx.x] = m + logf(s);
#else
    float s = 0;
    for (int j = 0; j < n; ++j)
        s += p[j] * p[j];
    for (int j = 0; j < n; ++j)
        y[threadIdx.x * n + j] = p[j] / fmaxf(sqrtf(s), 1e-12f);
#endif
}
#endif
