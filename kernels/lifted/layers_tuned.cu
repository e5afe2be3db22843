// The same layers as tuned kernels write them: a warp for a row, tiles in shared memory, online forms.

#include <math.h>
#include <stdint.h>

#define SUM(v) \
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o)
#define MAX(v) \
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o))
#define LANES(j) for (int j = threadIdx.x; j < n; j += 32)

#if defined(INSTANCE_NORM)
// A block for each instance; moments in one pass.
extern "C" __global__ void ENTRY(const float *x, const float *g, const float *b, float *y, int c, int n)
{
    const float *p = x + blockIdx.x * n;
    int k = blockIdx.x % c;
    float s = 0, q = 0;
    LANES(j) {
        s += p[j];
        q += p[j] * p[j];
    }
    SUM(s);
    SUM(q);
    float m = s / n, r = rsqrtf(q / n - m * m + 1e-5f);
    LANES(j) y[blockIdx.x * n + j] = (p[j] - m) * (r * g[k]) + b[k];
}
#elif defined(RMS_NORM_BACKWARD)
extern "C" __global__ void ENTRY(const float *x, const float *w, const float *d, float *dx, int n)
{
    int r = blockIdx.x * n;
    float q = 0, s = 0;
    LANES(j) {
        q += x[r + j] * x[r + j];
        s += x[r + j] * w[j] * d[r + j];
    }
    SUM(q);
    SUM(s);
    float k = rsqrtf(q / n + 1e-6f), c = s * (k * k * k) / n;
    LANES(j) dx[r + j] = w[j] * d[r + j] * k - x[r + j] * c;
}
#elif defined(CROSS_ENTROPY_BACKWARD)
extern "C" __global__ void ENTRY(const float *x, const int *t, float *dx, int n, float scale)
{
    int r = blockIdx.x * n;
    float m = -INFINITY, s = 0;
    LANES(j) m = fmaxf(m, x[r + j]);
    MAX(m);
    LANES(j) s += exp2f((x[r + j] - m) * 1.4426950408889634f);
    SUM(s);
    LANES(j) {
        float v = exp2f((x[r + j] - m) * 1.4426950408889634f) / s * scale;
        dx[r + j] = j == t[blockIdx.x] ? v - scale : v;
    }
}
#elif defined(DEPTHWISE)
// A tile with its border in shared memory.
extern "C" __global__ void ENTRY(const float *x, const float *w, float *y, int h, int s)
{
    __shared__ float tile[8][8];
    int c = blockIdx.x, row = threadIdx.y, col = threadIdx.x;
    for (int t = row * s + col; t < 64; t += h * s) {
        int p = t / 8 - 1, q = t % 8 - 1;
        tile[t / 8][t % 8] = p >= 0 && p < h && q >= 0 && q < s ? x[(c * h + p) * s + q] : 0.0f;
    }
    __syncthreads();
    float v = 0;
#pragma unroll
    for (int a = 0; a < 9; ++a)
        v = fmaf(tile[row + a / 3][col + a % 3], w[c * 9 + a], v);
    y[(c * h + row) * s + col] = v;
}
#elif defined(SCAN_PRODUCT)
// One warp, by doubling.
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    float v = x[threadIdx.x];
    for (int o = 1; o < 32; o *= 2) {
        float other = __shfl_up_sync(~0u, v, o);
        if (threadIdx.x >= o)
            v *= other;
    }
    y[threadIdx.x] = v;
}
#elif defined(ATTENTION)
// Online softmax over the keys, one thread for each row.
#ifndef GROUP
#define GROUP 1
#endif
#ifndef WINDOW
#define WINDOW s
#endif
extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, const float *slope, float *y, int s, int d)
{
    int h = blockIdx.x, i = threadIdx.x;
    q += (h * s + i) * d;
    k += h / GROUP * s * d;
    v += h / GROUP * s * d;
    float m = -INFINITY, sum = 0, out[4] = {};
    for (int j = max(i + 1 - WINDOW, 0); j <= i; ++j) {
        float w = 0;
        for (int c = 0; c < 4; ++c)
            w += q[c] * k[j * d + c];
        w *= 0.5f;
#ifdef BIAS
        w += slope[h] * (j - i);
#endif
        float next = fmaxf(m, w), old = __expf(m - next), own = __expf(w - next);
        sum = sum * old + own;
        for (int c = 0; c < 4; ++c)
            out[c] = out[c] * old + own * v[j * d + c];
        m = next;
    }
    for (int c = 0; c < 4; ++c)
        y[(h * s + i) * d + c] = out[c] / sum;
}
#elif defined(INT8_MATMUL)
// The zero points are taken off the sum.
extern "C" __global__ void ENTRY(const float *x, const int8_t *w, const float *scale, const int8_t *zero, float *y, int n, int k)
{
    int i = blockIdx.x, j = threadIdx.x;
    float v = 0, rest = 0;
    for (int l = 0; l < k; ++l) {
        v += x[i * k + l] * (float)w[l * n + j];
        rest += x[i * k + l];
    }
    y[i * n + j] = (v - rest * (float)zero[j]) * scale[j];
}
#elif defined(DIVERGENCE)
extern "C" __global__ void ENTRY(const float *p, const float *q, float *y, int n)
{
    int r = blockIdx.x * n;
    float v = 0;
    LANES(j) v += __expf(q[r + j]) * (q[r + j] - p[r + j]);
    SUM(v);
    if (threadIdx.x == 0)
        y[blockIdx.x] = v;
}
#elif defined(COSINE)
extern "C" __global__ void ENTRY(const float *a, const float *b, float *y, int n)
{
    int r = blockIdx.x * n;
    float s = 0, p = 0, q = 0;
    LANES(j) {
        s += a[r + j] * b[r + j];
        p += a[r + j] * a[r + j];
        q += b[r + j] * b[r + j];
    }
    SUM(s);
    SUM(p);
    SUM(q);
    if (threadIdx.x == 0)
        y[blockIdx.x] = s / (fmaxf(sqrtf(p), 1e-8f) * fmaxf(sqrtf(q), 1e-8f));
}
#elif defined(DISTANCES)
// A square of a difference as squares less a product.
extern "C" __global__ void ENTRY(const float *a, const float *b, float *y, int n, int m)
{
    int i = blockIdx.x, j = threadIdx.x;
    float p = 0, q = 0, s = 0;
    for (int k = 0; k < n; ++k) {
        p += a[i * n + k] * a[i * n + k];
        q += b[j * n + k] * b[j * n + k];
        s += a[i * n + k] * b[j * n + k];
    }
    y[i * m + j] = sqrtf(fmaxf(p + q - 2 * s, 0.0f));
}
#elif defined(BATCH_NORM_BACKWARD)
// A warp for each channel; one pass over the data for all four sums.
extern "C" __global__ void ENTRY(const float *x, const float *g, const float *d, float *dx, int n, int c)
{
    int k = blockIdx.x;
    float s = 0, v = 0, p = 0, q = 0;
    LANES(i) {
        float a = x[i * c + k], b = d[i * c + k];
        s += a;
        v += a * a;
        p += b;
        q += a * b;
    }
    SUM(s);
    SUM(v);
    SUM(p);
    SUM(q);
    float m = s / n, r = rsqrtf(v / n - m * m + 1e-5f), t = (q - m * p) * r / n;
    LANES(i) dx[i * c + k] = g[k] * r * (d[i * c + k] - p / n - (x[i * c + k] - m) * r * t);
}
#elif defined(GATE)
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    float m = -INFINITY, s = 0;
    LANES(j) m = fmaxf(m, x[blockIdx.x * n + j]);
    MAX(m);
    LANES(j) s += __expf(x[blockIdx.x * n + j] - m);
    SUM(s);
    if (threadIdx.x == 0)
        y[blockIdx.x] = __expf(m - m) / s;
}
#endif
