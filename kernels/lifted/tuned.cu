// Operators as tuned kernels write them: vectors of four, warp shuffles, tiles in shared memory and registers, running
// maxima, split sums. One kernel for each of the macros.

#include <math.h>

#if defined VECTOR
// Four elements a thread.
extern "C" __global__ void ENTRY(const float4 *x, const float4 *y, float4 *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4)
        return;
    float4 a = x[i], b = y[i], c;
    auto op = [](float a, float b) { return OP; };
    c.x = op(a.x, b.x);
    c.y = op(a.y, b.y);
    c.z = op(a.z, b.z);
    c.w = op(a.w, b.w);
    z[i] = c;
}
#elif defined ROWS
// A warp for each row; each lane has its columns, and the lanes meet in shuffles.
static __device__ float total(float v)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

static __device__ float largest(float v)
{
    for (int d = 16; d > 0; d /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

extern "C" __global__ void ENTRY(const float *x, const float *w, float *z, int columns)
{
    int lane = threadIdx.x;
    x += blockIdx.x * columns;
#if defined SUM || defined MAXIMUM
#if defined SUM
    float v = 0.0f;
    for (int j = lane; j < columns; j += 32)
        v += x[j];
    v = total(v);
#else
    float v = -INFINITY;
    for (int j = lane; j < columns; j += 32)
        v = fmaxf(v, x[j]);
    v = largest(v);
#endif
    if (lane == 0)
        z[blockIdx.x] = v;
#else
    z += blockIdx.x * columns;
#if defined SOFTMAX || defined LOG_SOFTMAX
    // One pass: the maximum so far, and the sum of what is relative to it.
    float m = -INFINITY, s = 0.0f;
    for (int j = lane; j < columns; j += 32) {
        float next = fmaxf(m, x[j]);
        s = s * expf(m - next) + expf(x[j] - next);
        m = next;
    }
    float all = largest(m);
    s = total(s * expf(m - all));
    for (int j = lane; j < columns; j += 32)
#ifdef SOFTMAX
        z[j] = expf(x[j] - all) / s;
#else
        z[j] = x[j] - all - logf(s);
#endif
#elif defined LAYER_NORM
    float s = 0.0f, q = 0.0f;
    for (int j = lane; j < columns; j += 32) {
        s += x[j];
        q += x[j] * x[j];
    }
    float mean = total(s) / columns;
    float r = rsqrtf(total(q) / columns - mean * mean + 1e-5f);
    for (int j = lane; j < columns; j += 32)
        z[j] = (x[j] - mean) * r * w[j] + w[columns + j];
#else
    float q = 0.0f;
    for (int j = lane; j < columns; j += 32)
        q += x[j] * x[j];
    float r = rsqrtf(total(q) / columns + 1e-6f);
    for (int j = lane; j < columns; j += 32)
        z[j] = x[j] * r * w[j];
#endif
#endif
}
#elif defined TREE
// A sum of one block by a tree in shared memory.
extern "C" __global__ void ENTRY(const float *x, float *z, int n)
{
    __shared__ float part[32];
    int t = threadIdx.x;
    part[t] = (t < n ? x[t] : 0.0f) + (t + 32 < n ? x[t + 32] : 0.0f);
    __syncthreads();
    for (int d = 16; d > 0; d /= 2) {
        if (t < d)
            part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0)
        z[0] = part[0];
}
#elif defined MATMUL
// Tiles of 8 by 8 in shared memory, two by two results in the registers of a thread.
extern "C" __global__ void ENTRY(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[8][8], bs[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 8, column = blockIdx.x * 8;
    float r[2][2] = {};
    for (int k = 0; k < n; k += 8) {
        for (int p = 0; p < 2; ++p)
            for (int q = 0; q < 2; ++q) {
                int u = ty + 4 * p, v = tx + 4 * q;
                as[u][v] = row + u < n && k + v < n ? a[(row + u) * n + k + v] : 0.0f;
                bs[u][v] = k + u < n && column + v < n ? b[(k + u) * n + column + v] : 0.0f;
            }
        __syncthreads();
        for (int l = 0; l < 8; ++l)
            for (int p = 0; p < 2; ++p)
                for (int q = 0; q < 2; ++q)
                    r[p][q] += as[ty + 4 * p][l] * bs[l][tx + 4 * q];
        __syncthreads();
    }
    for (int p = 0; p < 2; ++p)
        for (int q = 0; q < 2; ++q)
            if (row + ty + 4 * p < n && column + tx + 4 * q < n)
                c[(row + ty + 4 * p) * n + column + tx + 4 * q] = r[p][q];
}
#elif defined FLASH
// Attention with a running maximum, one row of queries for each thread, keys in tiles of two.
extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, float *z, int n)
{
    int i = threadIdx.x;
    __shared__ float ks[2][D], vs[2][D];
    float m = -INFINITY, s = 0.0f, out[D] = {};
    for (int t = 0; t < n; t += 2) {
        for (int e = threadIdx.x; e < 2 * D; e += blockDim.x) {
            ks[e / D][e % D] = k[t * D + e];
            vs[e / D][e % D] = v[t * D + e];
        }
        __syncthreads();
        for (int u = 0; u < 2; ++u) {
#ifdef CAUSAL
            if (t + u > i)
                continue;
#endif
            float score = 0.0f;
            for (int l = 0; l < D; ++l)
                score += q[i * D + l] * ks[u][l];
            score *= 0.5f;
            float next = fmaxf(m, score);
            float scale = expf(m - next), e = expf(score - next);
            s = s * scale + e;
            for (int l = 0; l < D; ++l)
                out[l] = out[l] * scale + e * vs[u][l];
            m = next;
        }
        __syncthreads();
    }
    for (int l = 0; l < D; ++l)
        z[i * D + l] = out[l] / s;
}
#elif defined BYTES
// Products of bytes, four at a time, scaled.
extern "C" __global__ void ENTRY(const int *x, const int *y, float *z, float scale)
{
    int i = threadIdx.x;
    int r = 0;
    for (int k = 0; k < 2; ++k)
        r = __dp4a(x[2 * i + k], y[k], r);
    z[i] = r * scale;
}
#elif defined WRAPS
// An index permutation without a rule.
extern "C" __global__ void ENTRY(const float *x, float *z)
{
    const unsigned long long order = 0x3a1f76c82d94be05ull;
    int i = threadIdx.x;
    z[i] = x[(order >> (4 * i)) & 15];
}
#elif defined ROPE
// Halves of a row turned by an angle for each pair.
extern "C" __global__ void ENTRY(const float *x, const float *c, const float *s, float *z, int d)
{
    int i = blockIdx.x, j = threadIdx.x, h = d / 2;
    float a = x[i * d + j % h], b = x[i * d + j % h + h];
    int at = i * h + j % h;
    z[i * d + j] = j < h ? a * c[at] - b * s[at] : a * s[at] + b * c[at];
}
#elif defined POOL
// The largest of windows of two by two, which do not overlap.
extern "C" __global__ void ENTRY(const float *x, float *z, int n)
{
    int i = threadIdx.y, j = threadIdx.x;
    float m = -INFINITY;
    for (int u = 0; u < 2; ++u)
        for (int v = 0; v < 2; ++v)
            m = fmaxf(m, x[(2 * i + u) * n + 2 * j + v]);
    z[i * (n / 2) + j] = m;
}
#elif defined TRANSPOSE
// A transpose through shared memory.
extern "C" __global__ void ENTRY(const float *x, float *z, int n)
{
    __shared__ float tile[8][9];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    z[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
#endif
