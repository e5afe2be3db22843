// Products, convolutions, pooling and attention.
#include "common.h"

template <int WRONG> __device__ void matmul(IN a, IN b, OUT c, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    float s = 0.f;
    for (int l = 0; l < k - WRONG; ++l) s += a[i * k + l] * b[l * n + j];
    c[i * n + j] = s;
}
PLAIN(matmul, (IN a, IN b, OUT c, int m, int n, int k), (a, b, c, m, n, k))
KERNEL matmul_tuned(IN a, IN b, OUT c, int m, int n, int k) {
    const int T = 4;
    __shared__ float left[T][T + 1], right[T][T + 1];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * T + y, j = blockIdx.x * T + x;
    float s = 0.f;
    for (int l = 0; l < k; l += T) {
        left[y][x] = i < m && l + x < k ? a[i * k + l + x] : 0.f;
        right[y][x] = l + y < k && j < n ? b[(l + y) * n + j] : 0.f;
        __syncthreads();
#pragma unroll
        for (int o = 0; o < T; ++o) s = fmaf(left[y][o], right[o][x], s);
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = s;
}

template <int WRONG> __device__ void linear(IN x, IN w, IN b, OUT y, int rows, int outs, int ins) {
    int i = element();
    if (i >= rows * outs) return;
    int r = i / outs, o = i % outs;
    float s = WRONG ? b[r] : b[o];
    for (int k = 0; k < ins; ++k) s += x[r * ins + k] * w[o * ins + k];
    y[i] = s;
}
PLAIN(linear, (IN x, IN w, IN b, OUT y, int rows, int outs, int ins), (x, w, b, y, rows, outs, ins))
KERNEL linear_tuned(IN x, IN w, IN b, OUT y, int rows, int outs, int ins) {
    // A warp an output.
    int lane = threadIdx.x % 32, o = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, r = blockIdx.y;
    if (o >= outs) return;
    float s = 0.f;
    for (int k = lane; k < ins / 4; k += 32) {
        float4 u = reinterpret_cast<const float4*>(x + r * ins)[k], v = reinterpret_cast<const float4*>(w + o * ins)[k];
        s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    s = sum_of_warp(s);
    if (lane == 0) y[r * outs + o] = s + b[o];
}

// 3x3 with one row and column of zeros on each side.
template <int WRONG> __device__ void conv2d(IN x, IN w, IN b, OUT y, int channels, int outs, int height, int width) {
    int j = threadIdx.x, i = blockIdx.x, o = blockIdx.y;
    if (j >= width) return;
    float s = b[o];
    for (int c = 0; c < channels; ++c)
        for (int u = 0; u < 3; ++u)
            for (int v = 0; v < 3; ++v) {
                int p = i + u - 1, q = j + v - 1;
                if (p < 0 || p >= height || q < 0 || q >= width) continue;
                s += x[(c * height + p) * width + q] * w[((o * channels + c) * 3 + (WRONG ? 2 - u : u)) * 3 + (WRONG ? 2 - v : v)];
            }
    y[(o * height + i) * width + j] = s;
}
PLAIN(conv2d, (IN x, IN w, IN b, OUT y, int channels, int outs, int height, int width), (x, w, b, y, channels, outs, height, width))
KERNEL conv2d_tuned(IN x, IN w, IN b, OUT y, int channels, int outs, int height, int width) {
    // Tiles of 4x4 outputs, with their rim in shared memory.
    const int T = 4;
    __shared__ float tile[T + 2][T + 2], taps[9];
    int top = blockIdx.y * T, left = blockIdx.x * T, o = blockIdx.z;
    int i = threadIdx.y, j = threadIdx.x, at = i * T + j;
    float s = 0.f;
    for (int c = 0; c < channels; ++c) {
        for (int k = at; k < (T + 2) * (T + 2); k += T * T) {
            int p = top + k / (T + 2) - 1, q = left + k % (T + 2) - 1;
            bool inside = p >= 0 && p < height && q >= 0 && q < width;
            tile[k / (T + 2)][k % (T + 2)] = inside ? x[(c * height + p) * width + q] : 0.f;
        }
        if (at < 9) taps[at] = w[(o * channels + c) * 9 + at];
        __syncthreads();
#pragma unroll
        for (int u = 0; u < 3; ++u)
#pragma unroll
            for (int v = 0; v < 3; ++v) s = fmaf(tile[i + u][j + v], taps[u * 3 + v], s);
        __syncthreads();
    }
    if (top + i < height && left + j < width) y[(o * height + top + i) * width + left + j] = s + b[o];
}

template <int WRONG> __device__ void depthwise(IN x, IN w, OUT y, int height, int width) {
    int j = threadIdx.x, i = blockIdx.x, c = blockIdx.y;
    float s = 0.f;
    for (int u = 0; u < 3; ++u)
        for (int v = 0; v < 3; ++v) {
            int p = i + u - 1, q = j + v - 1;
            if (p >= 0 && p < height && q >= 0 && q < width - WRONG) s += x[(c * height + p) * width + q] * w[c * 9 + u * 3 + v];
        }
    y[(c * height + i) * width + j] = s;
}
PLAIN(depthwise, (IN x, IN w, OUT y, int height, int width), (x, w, y, height, width))
KERNEL depthwise_tuned(IN x, IN w, OUT y, int height, int width) {
    // A thread a column: three rows of three elements move down in registers.
    int j = threadIdx.x, c = blockIdx.x;
    IN plane = x + c * height * width;
    float k[9], rows[3][3] = {};
#pragma unroll
    for (int u = 0; u < 9; ++u) k[u] = w[c * 9 + u];
    for (int i = -1; i < height; ++i) {
#pragma unroll
        for (int v = 0; v < 3; ++v) {
            int q = j + v - 1;
            rows[0][v] = rows[1][v], rows[1][v] = rows[2][v];
            rows[2][v] = i + 1 < height && q >= 0 && q < width ? plane[(i + 1) * width + q] : 0.f;
        }
        if (i < 0) continue;
        float s = 0.f;
#pragma unroll
        for (int u = 0; u < 9; ++u) s = fmaf(rows[u / 3][u % 3], k[u], s);
        y[(c * height + i) * width + j] = s;
    }
}

// 2x2 with a step of 2.
template <int WRONG> __device__ void max_pool(IN x, OUT y, int size, int height, int width) {
    int i = element();
    if (i >= size) return;
    int c = i / (height * width), p = i / width % height, q = i % width;
    float m = WRONG ? 0.f : -INFINITY;
    for (int u = 0; u < 2; ++u)
        for (int v = 0; v < 2; ++v) m = fmaxf(m, x[(c * height * 2 + 2 * p + u) * width * 2 + 2 * q + v]);
    y[i] = m;
}
PLAIN(max_pool, (IN x, OUT y, int size, int height, int width), (x, y, size, height, width))
KERNEL max_pool_tuned(IN x, OUT y, int size, int height, int width) {
    for (int i = element(); i < size; i += gridDim.x * blockDim.x) {
        const float2* row = reinterpret_cast<const float2*>(x) + i / width * 2 * width + i % width;
        float2 above = row[0], below = row[width];
        y[i] = fmaxf(fmaxf(above.x, above.y), fmaxf(below.x, below.y));
    }
}

// 3x3 with a step of 2, and zeros around that count.
template <int WRONG> __device__ void average_pool(IN x, OUT y, int height, int width, int size) {
    int q = threadIdx.x, p = threadIdx.y, c = blockIdx.x;
    float s = 0.f, count = 0.f;
    for (int u = 0; u < 3; ++u)
        for (int v = 0; v < 3; ++v) {
            int i = 2 * p + u - 1, j = 2 * q + v - 1;
            if (i < 0 || i >= size || j < 0 || j >= size) continue;
            s += x[(c * size + i) * size + j], count += 1.f;
        }
    y[(c * height + p) * width + q] = s / (WRONG ? count : 9.f);
}
PLAIN(average_pool, (IN x, OUT y, int height, int width, int size), (x, y, height, width, size))
KERNEL average_pool_tuned(IN x, OUT y, int height, int width, int size) {
    // Sums of three rows in shared memory first.
    __shared__ float sums[8][16];
    int q = threadIdx.x, p = threadIdx.y, c = blockIdx.x;
    for (int j = q; j < size; j += blockDim.x) {
        float s = 0.f;
#pragma unroll
        for (int u = -1; u < 2; ++u) s += 2 * p + u >= 0 && 2 * p + u < size ? x[(c * size + 2 * p + u) * size + j] : 0.f;
        sums[p][j] = s;
    }
    __syncthreads();
    float left = q > 0 ? sums[p][2 * q - 1] : 0.f, right = 2 * q + 1 < size ? sums[p][2 * q + 1] : 0.f;
    y[(c * height + p) * width + q] = (left + sums[p][2 * q] + right) * (1.f / 9.f);
}

// A thread a query with its scores in local memory; a warp a query that goes over the keys once.
const int KEYS = 6, DEPTH = 8;
template <int WRONG> __device__ void attention(IN q, IN k, IN v, OUT y, int queries) {
    int r = element();
    if (r >= queries) return;
    float scores[KEYS], m = -INFINITY, s = 0.f;
    for (int j = 0; j < KEYS; ++j) {
        float dot = 0.f;
        for (int d = 0; d < DEPTH; ++d) dot += q[r * DEPTH + d] * k[j * DEPTH + d];
        scores[j] = WRONG ? dot / DEPTH : dot / sqrtf(DEPTH);
        m = fmaxf(m, scores[j]);
    }
    for (int j = 0; j < KEYS; ++j) scores[j] = expf(scores[j] - m), s += scores[j];
    for (int d = 0; d < DEPTH; ++d) {
        float o = 0.f;
        for (int j = 0; j < KEYS; ++j) o += scores[j] / s * v[j * DEPTH + d];
        y[r * DEPTH + d] = o;
    }
}
PLAIN(attention, (IN q, IN k, IN v, OUT y, int queries), (q, k, v, y, queries))
KERNEL attention_tuned(IN q, IN k, IN v, OUT y, int queries) {
    // Eight lanes a query, a lane an element of the depth; exponentials to the base 2.
    int r = threadIdx.x / DEPTH, d = threadIdx.x % DEPTH;
    const float scale = 0.35355339059327373f * 1.4426950408889634f;
    float own = q[r * DEPTH + d] * scale, m = -INFINITY, s = 0.f, o = 0.f;
    for (int j = 0; j < KEYS; ++j) {
        float dot = own * k[j * DEPTH + d];
        for (int step = DEPTH / 2; step > 0; step >>= 1) dot += __shfl_xor_sync(~0u, dot, step);
        float high = fmaxf(m, dot), shrink = exp2f(m - high), p = exp2f(dot - high);
        s = s * shrink + p;
        o = o * shrink + p * v[j * DEPTH + d];
        m = high;
    }
    y[r * DEPTH + d] = o / s;
}
