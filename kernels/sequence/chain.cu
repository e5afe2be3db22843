// Stages of common chains, each a launch of its own, and kernels that do a whole chain in one launch.
#include <cuda_runtime.h>

// Layer normalisation of rows in three launches.
extern "C" __global__ void row_mean(const float *x, float *mean, int n) {
    float s = 0;
    for (int j = 0; j < n; ++j) s += x[threadIdx.x * n + j];
    mean[threadIdx.x] = s / n;
}
extern "C" __global__ void row_variance(const float *x, const float *mean, float *var, int n) {
    float s = 0;
    for (int j = 0; j < n; ++j) {
        float d = x[threadIdx.x * n + j] - mean[threadIdx.x];
        s += d * d;
    }
    var[threadIdx.x] = s / n;
}
extern "C" __global__ void row_normalise(const float *x, const float *mean, const float *var, const float *g, const float *b, float *y, int n) {
    int row = blockIdx.x, j = threadIdx.x;
    y[row * n + j] = (x[row * n + j] - mean[row]) * rsqrtf(var[row] + 1e-5f) * g[j] + b[j];
}
extern "C" __global__ void layernorm(const float *x, const float *g, const float *b, float *y) {
    __shared__ float s[32], q[32];
    int n = blockDim.x, j = threadIdx.x;
    float v = x[blockIdx.x * n + j];
    s[j] = v;
    q[j] = v * v;
    for (int d = n / 2; d > 0; d /= 2) {
        __syncthreads();
        if (j < d) { s[j] += s[j + d]; q[j] += q[j + d]; }
    }
    __syncthreads();
    float m = s[0] / n, w = q[0] / n - m * m;
    y[blockIdx.x * n + j] = (v - m) * rsqrtf(w + 1e-5f) * g[j] + b[j];
}

// Softmax of rows: a maximum, exponentials with their sums, and a quotient.
extern "C" __global__ void row_max(const float *x, float *m, int n) {
    float v = x[threadIdx.x * n];
    for (int j = 1; j < n; ++j) v = fmaxf(v, x[threadIdx.x * n + j]);
    m[threadIdx.x] = v;
}
extern "C" __global__ void row_exp(const float *x, const float *m, float *e, float *sum, int n) {
    float s = 0;
    for (int j = 0; j < n; ++j) {
        float v = __expf(x[threadIdx.x * n + j] - m[threadIdx.x]);
        e[threadIdx.x * n + j] = v;
        s += v;
    }
    sum[threadIdx.x] = s;
}
extern "C" __global__ void row_divide(const float *e, const float *sum, float *y, int n) {
    y[blockIdx.x * n + threadIdx.x] = e[blockIdx.x * n + threadIdx.x] / sum[blockIdx.x];
}
extern "C" __global__ void softmax(const float *x, float *y, int n) {
    float m = -INFINITY, s = 0;
    for (int j = 0; j < n; ++j) {
        float v = x[blockIdx.x * n + j], k = fmaxf(m, v);
        s = s * __expf(m - k) + __expf(v - k);
        m = k;
    }
    y[blockIdx.x * n + threadIdx.x] = __expf(x[blockIdx.x * n + threadIdx.x] - m) / s;
}

// Attention as scores, softmax and product; the fused kernel never stores the scores.
extern "C" __global__ void scores(const float *q, const float *k, float *s, int n, int d) {
    float v = 0;
    for (int i = 0; i < d; ++i) v += q[blockIdx.x * d + i] * k[threadIdx.x * d + i];
    s[blockIdx.x * n + threadIdx.x] = v * 0.5f;
}
extern "C" __global__ void product(const float *p, const float *v, float *o, int n, int d) {
    float s = 0;
    for (int j = 0; j < n; ++j) s += p[blockIdx.x * n + j] * v[j * d + threadIdx.x];
    o[blockIdx.x * d + threadIdx.x] = s;
}
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *o, int n, int d) {
    float m = -INFINITY, l = 0, a = 0;
    for (int j = 0; j < n; ++j) {
        float s = 0;
        for (int i = 0; i < d; ++i) s += q[blockIdx.x * d + i] * k[j * d + i];
        s *= 0.5f;
        float top = fmaxf(m, s), c = __expf(m - top), p = __expf(s - top);
        l = l * c + p;
        a = a * c + p * v[j * d + threadIdx.x];
        m = top;
    }
    o[blockIdx.x * d + threadIdx.x] = a / l;
}

// A product whose depth is split over CTAs, which leave parts that a second launch adds up.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    int i = blockIdx.x, j = threadIdx.x;
    float s = 0;
    for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
    c[i * n + j] = s;
}
extern "C" __global__ void split_product(const float *a, const float *b, float *parts, int m, int n, int k, int splits) {
    int i = blockIdx.x, j = threadIdx.x, z = blockIdx.y, depth = k / splits;
    float s = 0;
    for (int p = z * depth; p < (z + 1) * depth; ++p) s += a[i * k + p] * b[p * n + j];
    parts[(z * m + i) * n + j] = s;
}
extern "C" __global__ void add_parts(const float *parts, float *c, int mn, int splits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= mn) return;
    float s = 0;
    for (int z = 0; z < splits; ++z) s += parts[z * mn + i];
    c[i] = s;
}
// The same onto a zeroed result, by atomics.
extern "C" __global__ void split_atomic(const float *a, const float *b, float *c, int m, int n, int k, int splits) {
    int i = blockIdx.x, j = threadIdx.x, z = blockIdx.y, depth = k / splits;
    float s = 0;
    for (int p = z * depth; p < (z + 1) * depth; ++p) s += a[i * k + p] * b[p * n + j];
    atomicAdd(&c[i * n + j], s);
}
extern "C" __global__ void bias_relu(float *c, const float *bias, int n) {
    int i = blockIdx.x * n + threadIdx.x;
    c[i] = fmaxf(c[i] + bias[threadIdx.x], 0.0f);
}
extern "C" __global__ void matmul_bias_relu(const float *a, const float *b, const float *bias, float *c, int n, int k) {
    int i = blockIdx.x, j = threadIdx.x;
    float s = bias[j];
    for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
    c[i * n + j] = fmaxf(s, 0.0f);
}

// A sum in two passes, and in one.
extern "C" __global__ void partial_sums(const float *x, float *part) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) part[blockIdx.x] = s[0];
}
extern "C" __global__ void sum(const float *x, float *y, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) s += x[i];
    *y = s;
}

// An optimiser: momentum, then the step; and both at once.
extern "C" __global__ void momentum(const float *g, float *v, float beta) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    v[i] = beta * v[i] + g[i];
}
extern "C" __global__ void step(float *w, const float *v, float rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    w[i] -= rate * v[i];
}
extern "C" __global__ void sgd(const float *g, float *v, float *w, float beta, float rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = beta * v[i] + g[i];
    v[i] = m;
    w[i] -= rate * m;
}

// Integers of eight bits with a scale for each row, and a product of them.
extern "C" __global__ void row_scale(const float *x, float *scale, int n) {
    float m = 0;
    for (int j = 0; j < n; ++j) m = fmaxf(m, fabsf(x[threadIdx.x * n + j]));
    scale[threadIdx.x] = m / 127.0f;
}
extern "C" __global__ void quantise(const float *x, const float *scale, signed char *q, int n) {
    int i = blockIdx.x * n + threadIdx.x;
    q[i] = (signed char)__float2int_rn(x[i] / scale[blockIdx.x]);
}
extern "C" __global__ void integer_product(const signed char *q, const signed char *w, const float *scale, float *y, int n) {
    int s = 0;
    for (int j = 0; j < n; ++j) s += q[blockIdx.x * n + j] * w[j * blockDim.x + threadIdx.x];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s * scale[blockIdx.x];
}
extern "C" __global__ void quantised(const float *x, const signed char *w, float *y, int n) {
    float m = 0;
    for (int j = 0; j < n; ++j) m = fmaxf(m, fabsf(x[blockIdx.x * n + j]));
    float scale = m / 127.0f;
    int s = 0;
    for (int j = 0; j < n; ++j)
        s += (signed char)__float2int_rn(x[blockIdx.x * n + j] / scale) * w[j * blockDim.x + threadIdx.x];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s * scale;
}

// Copies, counters, and variables of the module.
extern "C" __global__ void copy4(const float4 *x, float4 *y) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
}
extern "C" __global__ void copy1(const unsigned *x, unsigned *y) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
}
extern "C" __global__ void twice(const float *x, float *y) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = 2 * x[blockIdx.x * blockDim.x + threadIdx.x];
}
extern "C" __global__ void count(int *counter, int *out) {
    int at = atomicAdd(counter, 1);
    (void)at;
    if (blockIdx.x == 0 && threadIdx.x == 0) out[0] = 1;
}
extern "C" __global__ void read_count(const int *counter, const float *x, float *y) {
    y[threadIdx.x] = x[threadIdx.x + *counter];
}
__device__ float kept;
extern "C" __global__ void keep(const float *x) { kept = x[0]; }
extern "C" __global__ void add_kept(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + kept; }
extern "C" __global__ void add_first(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + x[0]; }

// Stores that some inputs make, over what another launch left, and stores of parts of words.
extern "C" __global__ void cap(float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (y[i] > 1) y[i] = 1;
}
extern "C" __global__ void cap_by(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0.5f) y[i] = 1;
}
extern "C" __global__ void twice_capped(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = fminf(2 * x[i], 1.0f);
}
extern "C" __global__ void set_bytes(const unsigned char *x, unsigned char *y, int first) {
    int i = 2 * threadIdx.x + first;
    y[i] = x[i];
}
