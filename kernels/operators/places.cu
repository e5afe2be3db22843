// Operators that move elements or choose among them.
#include "common.h"

template <int WRONG> __device__ void embedding(IN table, const int* ids, OUT y, int count, int width) {
    int i = element();
    if (i < count * width) y[i] = table[ids[i / width] * width + (WRONG ? i % (width - 1) : i % width)];
}
PLAIN(embedding, (IN table, const int* ids, OUT y, int count, int width), (table, ids, y, count, width))
KERNEL embedding_tuned(IN table, const int* __restrict__ ids, OUT y, int count, int width) {
    const float4* row = reinterpret_cast<const float4*>(table + (long)ids[blockIdx.x] * width);
    for (int j = threadIdx.x; j < width / 4; j += blockDim.x) reinterpret_cast<float4*>(y + blockIdx.x * width)[j] = row[j];
}

template <int WRONG> __device__ void cumsum(IN x, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float s = 0.f;
    for (int j = 0; j < n; ++j) {
        float before = s;
        s += x[r * n + j];
        y[r * n + j] = WRONG ? before : s;
    }
}
PLAIN(cumsum, (IN x, OUT y, int rows, int n), (x, y, rows, n))
KERNEL cumsum_tuned(IN x, OUT y, int rows, int n) {
    int lane = threadIdx.x;
    float carry = 0.f;
    for (int start = 0; start < n; start += 32) {
        float v = start + lane < n ? x[blockIdx.x * n + start + lane] : 0.f;
        for (int o = 1; o < 32; o *= 2) {
            float below = __shfl_up_sync(~0u, v, o);
            if (lane >= o) v += below;
        }
        if (start + lane < n) y[blockIdx.x * n + start + lane] = v + carry;
        carry += __shfl_sync(~0u, v, 31);
    }
}

// The first of the largest elements.
template <int WRONG> __device__ void argmax(IN x, int* y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    int best = 0;
    for (int j = 1; j < n; ++j)
        if (WRONG ? x[r * n + j] >= x[r * n + best] : x[r * n + j] > x[r * n + best]) best = j;
    y[r] = best;
}
PLAIN(argmax, (IN x, int* y, int rows, int n), (x, y, rows, n))
__device__ __forceinline__ void first_of_largest(IN row, int n, float& v, int& at) {
    v = -INFINITY, at = 0;
    for (int j = threadIdx.x; j < n; j += 32)
        if (row[j] > v) v = row[j], at = j;
    for (int o = 16; o > 0; o >>= 1) {
        float other = __shfl_down_sync(~0u, v, o);
        int place = __shfl_down_sync(~0u, at, o);
        if (other > v || (other == v && place < at)) v = other, at = place;
    }
}
KERNEL argmax_tuned(IN x, int* __restrict__ y, int rows, int n) {
    float v;
    int at;
    first_of_largest(x + blockIdx.x * n, n, v, at);
    if (threadIdx.x == 0) y[blockIdx.x] = at;
}

template <int WRONG> __device__ void max_with_index(IN x, OUT y, int* at, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float m = x[r * n];
    int best = 0;
    for (int j = 1; j < n; ++j)
        if (x[r * n + j] > m) {
            m = x[r * n + j];
            best = WRONG ? j - 1 : j;
        }
    y[r] = m, at[r] = best;
}
PLAIN(max_with_index, (IN x, OUT y, int* at, int rows, int n), (x, y, at, rows, n))
KERNEL max_with_index_tuned(IN x, OUT y, int* __restrict__ at, int rows, int n) {
    float v;
    int place;
    first_of_largest(x + blockIdx.x * n, n, v, place);
    if (threadIdx.x == 0) y[blockIdx.x] = v, at[blockIdx.x] = place;
}

// Halves of a head that turn by the angle of a position: x[position, head, width].
template <int WRONG> __device__ void rope(IN x, IN cosine, IN sine, OUT y, int positions, int heads, int width) {
    int i = element();
    if (i >= positions * heads * width) return;
    int half = width / 2, d = i % width, p = i / (heads * width);
    float c = cosine[p * half + d % half], s = sine[p * half + d % half];
    float other = d < half ? (WRONG ? x[i + half] : -x[i + half]) : x[i - half];
    y[i] = x[i] * c + other * s;
}
PLAIN(rope, (IN x, IN cosine, IN sine, OUT y, int positions, int heads, int width), (x, cosine, sine, y, positions, heads, width))
KERNEL rope_tuned(IN x, IN cosine, IN sine, OUT y, int positions, int heads, int width) {
    // A thread two pairs.
    int half = width / 2, p = blockIdx.x, h = threadIdx.y, d = threadIdx.x;
    int at = (p * heads + h) * width / 2 + d;
    float2 a = reinterpret_cast<const float2*>(x)[at], b = reinterpret_cast<const float2*>(x)[at + half / 2];
    float2 c = reinterpret_cast<const float2*>(cosine)[p * half / 2 + d], s = reinterpret_cast<const float2*>(sine)[p * half / 2 + d];
    float2 *out = reinterpret_cast<float2*>(y) + at;
    out[0] = make_float2(a.x * c.x - b.x * s.x, a.y * c.y - b.y * s.y);
    out[half / 2] = make_float2(b.x * c.x + a.x * s.x, b.y * c.y + a.y * s.y);
}

// Pairs that are neighbours, and angles that the kernel computes: x[position, pair, 2].
template <int WRONG> __device__ void rope_computed(IN x, OUT y, int positions, int pairs) {
    int i = element();
    if (i >= positions * pairs) return;
    float angle = i / pairs * powf(10000.f, -(float)(i % pairs) / (WRONG ? 2 * pairs : pairs)), c = cosf(angle), s = sinf(angle);
    float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = a * c - b * s, y[2 * i + 1] = b * c + a * s;
}
PLAIN(rope_computed, (IN x, OUT y, int positions, int pairs), (x, y, positions, pairs))
KERNEL rope_computed_tuned(IN x, OUT y, int positions, int pairs) {
    float c, s, angle = blockIdx.x * exp2f(-13.287712379549449f * threadIdx.x / pairs);
    __sincosf(angle, &s, &c);
    int i = blockIdx.x * pairs + threadIdx.x;
    float2 v = reinterpret_cast<const float2*>(x)[i];
    reinterpret_cast<float2*>(y)[i] = make_float2(v.x * c - v.y * s, v.y * c + v.x * s);
}

// The upper triangle of a matrix, the diagonal too.
template <int WRONG> __device__ void triu(IN x, OUT y, int rows, int n) {
    int i = element();
    if (i < rows * n) y[i] = (WRONG ? i % n > i / n : i % n >= i / n) ? x[i] : 0.f;
}
PLAIN(triu, (IN x, OUT y, int rows, int n), (x, y, rows, n))
KERNEL triu_tuned(IN x, OUT y, int rows, int n) {
    for (int j = threadIdx.x; j < n / 4; j += blockDim.x) {
        int at = blockIdx.x, c = 4 * j;
        float4 v = reinterpret_cast<const float4*>(x + at * n)[j];
        v.x *= c >= at, v.y *= c + 1 >= at, v.z *= c + 2 >= at, v.w *= c + 3 >= at;
        reinterpret_cast<float4*>(y + at * n)[j] = v;
    }
}

template <int WRONG> __device__ void transpose(IN x, OUT y, int rows, int n) {
    int i = element();
    if (i < rows * n) y[WRONG ? i % n * n + i / n : i % n * rows + i / n] = x[i];
}
KERNEL transpose_naive(IN x, OUT y, int rows, int n) { transpose<0>(x, y, rows, n); }
KERNEL transpose_tuned(IN x, OUT y, int rows, int n) {
    __shared__ float tile[8][9];
    int left = blockIdx.x * 8, top = blockIdx.y * 8;
    for (int i = threadIdx.y; i < 8; i += blockDim.y)
        if (top + i < rows && left + threadIdx.x < n) tile[i][threadIdx.x] = x[(top + i) * n + left + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 8; i += blockDim.y)
        if (left + i < n && top + threadIdx.x < rows) y[(left + i) * rows + top + threadIdx.x] = tile[threadIdx.x][i];
}
// Rows and columns of the last tile change places, which a square matrix of whole tiles would not show.
KERNEL transpose_wrong(IN x, OUT y, int rows, int n) {
    int i = element();
    if (i < rows * n) y[i % rows * n + i / rows] = x[i];
}

// Twice the height and the width, corners not aligned.
template <int WRONG> __device__ void bilinear(IN x, OUT y, int height, int width) {
    int q = threadIdx.x, p = blockIdx.x, c = blockIdx.y;
    float at = fmaxf(WRONG ? p * 0.5f : (p + 0.5f) * 0.5f - 0.5f, 0.f), along = fmaxf((q + 0.5f) * 0.5f - 0.5f, 0.f);
    int i = (int)at, j = (int)along, below = min(i + 1, height - 1), right = min(j + 1, width - 1);
    float u = at - i, v = along - j;
    IN plane = x + c * height * width;
    float above = (1.f - v) * plane[i * width + j] + v * plane[i * width + right];
    float under = (1.f - v) * plane[below * width + j] + v * plane[below * width + right];
    y[(c * 2 * height + p) * 2 * width + q] = (1.f - u) * above + u * under;
}
PLAIN(bilinear, (IN x, OUT y, int height, int width), (x, y, height, width))
KERNEL bilinear_tuned(IN x, OUT y, int height, int width) {
    // A thread four outputs: weights are a quarter and three quarters, and edges repeat.
    int j = threadIdx.x, i = threadIdx.y, c = blockIdx.x;
    IN plane = x + c * height * width;
    float sums[3][2];
#pragma unroll
    for (int u = 0; u < 3; ++u) {
        IN row = plane + min(max(i + u - 1, 0), height - 1) * width;
        float here = 0.75f * row[j];
        sums[u][0] = here + 0.25f * row[max(j - 1, 0)];
        sums[u][1] = here + 0.25f * row[min(j + 1, width - 1)];
    }
    float2* out = reinterpret_cast<float2*>(y + (c * 2 * height + 2 * i) * 2 * width) + j;
    out[0] = make_float2(0.75f * sums[1][0] + 0.25f * sums[0][0], 0.75f * sums[1][1] + 0.25f * sums[0][1]);
    out[width] = make_float2(0.75f * sums[1][0] + 0.25f * sums[2][0], 0.75f * sums[1][1] + 0.25f * sums[2][1]);
}
