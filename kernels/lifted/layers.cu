// Layers of networks and their gradients, one thread for each element or row, one layer behind each flag.

#include <math.h>
#include <stdint.h>

#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x
#define LOOP(v, n) for (int v = 0; v < (n); ++v)

#if defined(PIXEL_SHUFFLE)
// x[C*4, H, W] to y[C, 2H, 2W].
extern "C" __global__ void ENTRY(const float *x, float *y, int h, int w, int total)
{
    INDEX;
    if (i >= total)
        return;
    int col = i % (2 * w), row = i / (2 * w) % (2 * h), c = i / (4 * w * h);
    y[i] = x[((c * 4 + row % 2 * 2 + col % 2) * h + row / 2) * w + col / 2];
}
#elif defined(INSTANCE_NORM)
// x[N, C, S], one thread for each instance.
extern "C" __global__ void ENTRY(const float *x, const float *g, const float *b, float *y, int c, int s)
{
    int n = blockIdx.x, k = threadIdx.x;
    const float *p = x + (n * c + k) * s;
    float m = 0, v = 0;
    LOOP(j, s) m += p[j];
    m /= s;
    LOOP(j, s) v += (p[j] - m) * (p[j] - m);
    float r = rsqrtf(v / s + 1e-5f);
    LOOP(j, s) y[(n * c + k) * s + j] = (p[j] - m) * r * g[k] + b[k];
}
#elif defined(RMS_NORM_BACKWARD)
extern "C" __global__ void ENTRY(const float *x, const float *w, const float *d, float *dx, int n)
{
    int r = threadIdx.x * n;
    float q = 0, s = 0;
    LOOP(j, n) {
        q += x[r + j] * x[r + j];
        s += x[r + j] * w[j] * d[r + j];
    }
    float k = rsqrtf(q / n + 1e-6f);
    LOOP(j, n) dx[r + j] = k * (w[j] * d[r + j] - x[r + j] * k * k * s / n);
}
#elif defined(CROSS_ENTROPY_BACKWARD)
extern "C" __global__ void ENTRY(const float *x, const int *t, float *dx, int n, float scale)
{
    int r = threadIdx.x * n;
    float m = -INFINITY, s = 0;
    LOOP(j, n) m = fmaxf(m, x[r + j]);
    LOOP(j, n) s += expf(x[r + j] - m);
    LOOP(j, n) dx[r + j] = (expf(x[r + j] - m) / s - (t[threadIdx.x] == j ? 1.0f : 0.0f)) * scale;
}
#elif defined(SWIGLU_BACKWARD)
extern "C" __global__ void ENTRY(const float *a, const float *b, const float *d, float *da, float *db, int n)
{
    INDEX;
    if (i >= n)
        return;
    float s = 1 / (1 + expf(-a[i]));
    da[i] = d[i] * b[i] * s * (1 + a[i] * (1 - s));
    db[i] = d[i] * a[i] * s;
}
#elif defined(ROPE_BACKWARD)
// The halves of a row are the parts of complex numbers.
extern "C" __global__ void ENTRY(const float *d, const float *c, const float *s, float *dx, int n)
{
    int r = blockIdx.x * n, j = threadIdx.x, h = n / 2, k = j % h;
    float cos = c[blockIdx.x * h + k], sin = s[blockIdx.x * h + k];
    dx[r + j] = j < h ? d[r + j] * cos + d[r + j + h] * sin : d[r + j] * cos - d[r + j - h] * sin;
}
#elif defined(DEPTHWISE)
// x[C, H, W], w[C, 3, 3], zeros around.
extern "C" __global__ void ENTRY(const float *x, const float *w, float *y, int h, int s)
{
    int c = blockIdx.x, row = threadIdx.y, col = threadIdx.x;
    float v = 0;
    LOOP(a, 3) LOOP(b, 3) {
        int p = row + a - 1, q = col + b - 1;
        if (p >= 0 && p < h && q >= 0 && q < s)
            v += x[(c * h + p) * s + q] * w[(c * 3 + a) * 3 + b];
    }
    y[(c * h + row) * s + col] = v;
}
#elif defined(TRANSPOSED)
// x[C, S], w[C, O, 4], stride 2: y[O, 2*S + 2].
extern "C" __global__ void ENTRY(const float *x, const float *w, float *y, int channels, int s, int out)
{
    int o = blockIdx.x, j = threadIdx.x;
    float v = 0;
    LOOP(c, channels) LOOP(a, 4) {
        int p = j - a;
        if (p >= 0 && p % 2 == 0 && p / 2 < s)
            v += x[c * s + p / 2] * w[(c * gridDim.x + o) * 4 + a];
    }
    y[o * out + j] = v;
}
#elif defined(DILATED_POOL)
// The largest of three with two steps between, zeros nowhere.
extern "C" __global__ void ENTRY(const float *x, float *y, int s, int out)
{
    int c = blockIdx.x, j = threadIdx.x;
    float v = -INFINITY;
    LOOP(a, 3) v = fmaxf(v, x[c * s + j + 2 * a]);
    y[c * out + j] = v;
}
#elif defined(AVERAGE_POOL)
// Windows of 3 with one zero at each end; PAD counts the zeros.
extern "C" __global__ void ENTRY(const float *x, float *y, int s, int out)
{
    int c = blockIdx.x, j = threadIdx.x, n = 0;
    float v = 0;
    LOOP(a, 3) {
        int p = 2 * j + a - 1;
        if (p >= 0 && p < s) {
            v += x[c * s + p];
            ++n;
        }
    }
    y[c * out + j] = v / (PAD ? 3 : n);
}
#elif defined(BILINEAR)
// Twice as many rows and columns, edges repeated.
extern "C" __global__ void ENTRY(const float *x, float *y, int h, int w)
{
    int row = threadIdx.y, col = threadIdx.x;
    int r = max(row - 1, 0) / 2, c = max(col - 1, 0) / 2;
    int r1 = min(r + 1, h - 1), c1 = min(c + 1, w - 1);
    float a = row == 0 ? 0.0f : row % 2 ? 0.25f : 0.75f, b = col == 0 ? 0.0f : col % 2 ? 0.25f : 0.75f;
    float top = x[r * w + c] * (1 - b) + x[r * w + c1] * b;
    float bottom = x[r1 * w + c] * (1 - b) + x[r1 * w + c1] * b;
    y[row * 2 * w + col] = top * (1 - a) + bottom * a;
}
#elif defined(CUMULATIVE_PRODUCT)
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    float v = 1;
    LOOP(j, n) y[threadIdx.x * n + j] = v *= x[threadIdx.x * n + j];
}
#elif defined(LOG_CUMULATIVE)
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    const float *p = x + threadIdx.x * n;
    float m = p[0], s = 1;
    y[threadIdx.x * n] = m;
    for (int j = 1; j < n; ++j) {
        float next = fmaxf(m, p[j]);
        s = s * expf(m - next) + expf(p[j] - next);
        m = next;
        y[threadIdx.x * n + j] = m + logf(s);
    }
}
#elif defined(ATTENTION)
// q[H, S, D], k and v[H / GROUP, S, D]; a block for each head, a thread for each row. BIAS: slopes of each head times the
// distance; WINDOW: so many keys up to the own one.
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
    int first = max(i + 1 - WINDOW, 0);
    float m = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int j = first; j <= i; ++j) {
            float w = 0;
            LOOP(c, d) w += q[c] * k[j * d + c];
            w *= 0.5f;
#ifdef BIAS
            w += slope[h] * (j - i);
#endif
            if (pass == 0)
                m = fmaxf(m, w);
            else
                sum += expf(w - m);
        }
    LOOP(c, d) {
        float out = 0;
        for (int j = first; j <= i; ++j) {
            float w = 0;
            LOOP(e, d) w += q[e] * k[j * d + e];
            w *= 0.5f;
#ifdef BIAS
            w += slope[h] * (j - i);
#endif
            out += expf(w - m) / sum * v[j * d + c];
        }
        y[(h * s + i) * d + c] = out;
    }
}
#elif defined(INT8_MATMUL)
// Weights of 8 bits with a scale and a zero point for each column.
extern "C" __global__ void ENTRY(const float *x, const int8_t *w, const float *scale, const int8_t *zero, float *y, int n, int k)
{
    int i = blockIdx.x, j = threadIdx.x;
    float v = 0;
    LOOP(l, k) v += x[i * k + l] * (float)(w[l * n + j] - zero[j]);
    y[i * n + j] = v * scale[j];
}
#elif defined(NIBBLES)
// Two weights of 4 bits in a byte, a scale for each group of 8.
extern "C" __global__ void ENTRY(const uint8_t *w, const float *scale, float *y, int n)
{
    int i = blockIdx.x, j = threadIdx.x;
    int v = w[i * (n / 2) + j / 2];
    v = j % 2 ? v / 16 : v % 16;
    y[i * n + j] = (float)(v - 8) * scale[i * (n / 8) + j / 8];
}
#elif defined(HUBER)
extern "C" __global__ void ENTRY(const float *x, const float *t, float *y, int n)
{
    INDEX;
    if (i >= n)
        return;
    float e = fabsf(x[i] - t[i]);
    y[i] = e <= 1.5f ? 0.5f * e * e : 1.5f * (e - 0.75f);
}
#elif defined(DIVERGENCE)
// Of two rows of logarithms.
extern "C" __global__ void ENTRY(const float *p, const float *q, float *y, int n)
{
    float v = 0;
    LOOP(j, n) v += expf(q[threadIdx.x * n + j]) * (q[threadIdx.x * n + j] - p[threadIdx.x * n + j]);
    y[threadIdx.x] = v;
}
#elif defined(NEGATIVE_LOG)
extern "C" __global__ void ENTRY(const float *x, const int *t, const float *w, float *y, int n)
{
    y[threadIdx.x] = -w[t[threadIdx.x]] * x[threadIdx.x * n + t[threadIdx.x]];
}
#elif defined(COSINE)
extern "C" __global__ void ENTRY(const float *a, const float *b, float *y, int n)
{
    float s = 0, p = 0, q = 0;
    LOOP(j, n) {
        float u = a[threadIdx.x * n + j], v = b[threadIdx.x * n + j];
        s += u * v;
        p += u * u;
        q += v * v;
    }
    y[threadIdx.x] = s / (fmaxf(sqrtf(p), 1e-8f) * fmaxf(sqrtf(q), 1e-8f));
}
#elif defined(DISTANCES)
extern "C" __global__ void ENTRY(const float *a, const float *b, float *y, int n, int m)
{
    int i = blockIdx.x, j = threadIdx.x;
    float v = 0;
    LOOP(k, n) v += (a[i * n + k] - b[j * n + k]) * (a[i * n + k] - b[j * n + k]);
    y[i * m + j] = sqrtf(v);
}
#elif defined(ADAMW)
extern "C" __global__ void ENTRY(float *w, const float *g, float *m, float *v, int n)
{
    INDEX;
    if (i >= n)
        return;
    float a = 0.9f * m[i] + 0.1f * g[i], b = 0.999f * v[i] + 0.001f * (g[i] * g[i]);
    m[i] = a;
    v[i] = b;
    w[i] = w[i] - 0.01f * (0.125f * w[i] + a / 0.5f / (sqrtf(b / 0.25f) + 1e-8f));
}
#elif defined(MOVING_AVERAGE)
extern "C" __global__ void ENTRY(float *s, const float *x, float decay, int n)
{
    INDEX;
    if (i < n)
        s[i] = decay * s[i] + (1 - decay) * x[i];
}
#elif defined(GATE)
// The probability of the largest of some logits.
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    const float *p = x + threadIdx.x * n;
    float m = -INFINITY, s = 0;
    LOOP(j, n) m = fmaxf(m, p[j]);
    LOOP(j, n) s += expf(p[j] - m);
    y[threadIdx.x] = 1 / s;
}
#elif defined(ROUNDED)
// To the nearest of 255 steps, the even one of two.
extern "C" __global__ void ENTRY(const float *x, float *y, float scale, int n)
{
    INDEX;
    if (i < n)
        y[i] = fminf(fmaxf(rintf(x[i] / scale), -127.0f), 127.0f) * scale;
}
#elif defined(SOME_ROWS)
// Every second element of the first three rows; the others stay.
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    if (threadIdx.x % 2 == 0)
        y[blockIdx.x * n + threadIdx.x] = x[blockIdx.x * n + threadIdx.x] * 2;
}
#elif defined(NIBBLES_AND_SUMS)
// One output is made of bits, the other is not.
extern "C" __global__ void ENTRY(const uint8_t *w, int *y, float *z)
{
    int i = threadIdx.x;
    y[i] = (w[i] ^ 5) & 11;
    z[i] = 2.0f * w[i];
}
#elif defined(BATCH_NORM_BACKWARD)
// x[N, C], one thread for each channel.
extern "C" __global__ void ENTRY(const float *x, const float *g, const float *d, float *dx, int n, int c)
{
    int k = threadIdx.x;
    float m = 0, v = 0, p = 0, q = 0;
    LOOP(i, n) m += x[i * c + k];
    m /= n;
    LOOP(i, n) v += (x[i * c + k] - m) * (x[i * c + k] - m);
    float r = rsqrtf(v / n + 1e-5f);
    LOOP(i, n) {
        p += d[i * c + k];
        q += d[i * c + k] * (x[i * c + k] - m) * r;
    }
    LOOP(i, n) dx[i * c + k] = g[k] * r * (d[i * c + k] - p / n - (x[i * c + k] - m) * r * q / n);
}
#elif defined(TURNED)
extern "C" __global__ void ENTRY(const float *x, float *y, int n)
{
    int i = threadIdx.x;
    y[i] = x[(i + 5) % n] - x[n - 1 - i];
}
#endif
