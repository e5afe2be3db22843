// Reductions over rows: a thread a row in several passes, and a warp or a block a row.
#include "common.h"

template <int WRONG> __device__ void softmax(IN x, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float m = -INFINITY, s = 0.f;
    for (int j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
    for (int j = WRONG; j < n; ++j) s += expf(x[r * n + j] - m);
    for (int j = 0; j < n; ++j) y[r * n + j] = expf(x[r * n + j] - m) / s;
}
PLAIN(softmax, (IN x, OUT y, int rows, int n), (x, y, rows, n))

// Joins two running maxima, each with a sum relative to it.
__device__ __forceinline__ void join(float& m, float& s, float other_m, float other_s) {
    float high = fmaxf(m, other_m);
    s = s * __expf(m - high) + other_s * __expf(other_m - high);
    m = high;
}
__device__ __forceinline__ void running(IN row, int n, float& m, float& s) {
    m = row[threadIdx.x], s = 1.f;
    for (int j = threadIdx.x + 32; j < n; j += 32) join(m, s, row[j], 1.f);
    for (int o = 16; o > 0; o >>= 1) {
        float other_m = __shfl_xor_sync(~0u, m, o), other_s = __shfl_xor_sync(~0u, s, o);
        join(m, s, other_m, other_s);
    }
}
KERNEL softmax_tuned(IN x, OUT y, int rows, int n) {
    IN row = x + blockIdx.x * n;
    float m, s;
    running(row, n, m, s);
    float over = __frcp_rn(s);
    for (int j = threadIdx.x; j < n; j += 32) y[blockIdx.x * n + j] = __expf(row[j] - m) * over;
}

template <int WRONG> __device__ void log_softmax(IN x, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float m = -INFINITY, s = 0.f;
    for (int j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
    for (int j = 0; j < n; ++j) s += expf(x[r * n + j] - m);
    for (int j = 0; j < n; ++j) y[r * n + j] = x[r * n + j] - (WRONG ? 0.f : m) - logf(s);
}
PLAIN(log_softmax, (IN x, OUT y, int rows, int n), (x, y, rows, n))
KERNEL log_softmax_tuned(IN x, OUT y, int rows, int n) {
    IN row = x + blockIdx.x * n;
    float m, s;
    running(row, n, m, s);
    float shift = m + __logf(s);
    for (int j = threadIdx.x; j < n; j += 32) y[blockIdx.x * n + j] = row[j] - shift;
}

template <int WRONG> __device__ void logsumexp(IN x, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float m = -INFINITY, s = 0.f;
    for (int j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
    for (int j = 0; j < n; ++j) s += expf(x[r * n + j] - m);
    y[r] = WRONG ? logf(s + m) : logf(s) + m;
}
PLAIN(logsumexp, (IN x, OUT y, int rows, int n), (x, y, rows, n))
KERNEL logsumexp_tuned(IN x, OUT y, int rows, int n) {
    float m, s;
    running(x + blockIdx.x * n, n, m, s);
    if (threadIdx.x == 0) y[blockIdx.x] = m + logf(s);
}

template <int WRONG> __device__ void layer_norm(IN x, IN w, IN b, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float mean = 0.f, variance = 0.f;
    for (int j = 0; j < n; ++j) mean += x[r * n + j];
    mean /= n;
    for (int j = 0; j < n; ++j) variance += (x[r * n + j] - mean) * (x[r * n + j] - mean);
    variance /= n - WRONG;
    for (int j = 0; j < n; ++j) y[r * n + j] = (x[r * n + j] - mean) / sqrtf(variance + 1e-5f) * w[j] + b[j];
}
PLAIN(layer_norm, (IN x, IN w, IN b, OUT y, int rows, int n), (x, w, b, y, rows, n))
KERNEL layer_norm_tuned(IN x, IN w, IN b, OUT y, int rows, int n) {
    IN row = x + blockIdx.x * n;
    float s = 0.f, q = 0.f;
    for (int j = threadIdx.x; j < n; j += 32) s += row[j], q += row[j] * row[j];
    float mean = sum_of_warp(s) / n, scale = rsqrtf(sum_of_warp(q) / n - mean * mean + 1e-5f);
    for (int j = threadIdx.x; j < n; j += 32) y[blockIdx.x * n + j] = fmaf((row[j] - mean) * scale, w[j], b[j]);
}

template <int WRONG> __device__ void rms_norm(IN x, IN w, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float q = 0.f;
    for (int j = 0; j < n; ++j) q += x[r * n + j] * x[r * n + j];
    float root = WRONG ? sqrtf(q / n) + 1e-6f : sqrtf(q / n + 1e-6f);
    for (int j = 0; j < n; ++j) y[r * n + j] = x[r * n + j] / root * w[j];
}
PLAIN(rms_norm, (IN x, IN w, OUT y, int rows, int n), (x, w, y, rows, n))
KERNEL rms_norm_tuned(IN x, IN w, OUT y, int rows, int n) {
    const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * n);
    float q = 0.f;
    for (int j = threadIdx.x; j < n / 4; j += blockDim.x) {
        float4 v = row[j];
        q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float scale = rsqrtf(sum_of_block(q) / n + 1e-6f);
    for (int j = threadIdx.x; j < n / 4; j += blockDim.x) {
        float4 v = row[j], u = reinterpret_cast<const float4*>(w)[j];
        v.x *= scale * u.x, v.y *= scale * u.y, v.z *= scale * u.z, v.w *= scale * u.w;
        reinterpret_cast<float4*>(y + blockIdx.x * n)[j] = v;
    }
}

// Channels of `area` elements, in batches of `channels`.
template <int WRONG> __device__ void batch_norm(IN x, IN mean, IN var, IN w, IN b, OUT y, int size, int channels, int area) {
    int i = element();
    if (i >= size) return;
    int c = WRONG ? i % channels : i / area % channels;
    y[i] = (x[i] - mean[c]) / sqrtf(var[c] + 1e-5f) * w[c] + b[c];
}
PLAIN(batch_norm, (IN x, IN mean, IN var, IN w, IN b, OUT y, int size, int channels, int area),
      (x, mean, var, w, b, y, size, channels, area))
KERNEL batch_norm_tuned(IN x, IN mean, IN var, IN w, IN b, OUT y, int size, int channels, int area) {
    int c = blockIdx.x % channels;
    float scale = w[c] * rsqrtf(var[c] + 1e-5f), shift = b[c] - mean[c] * scale;
    for (int j = threadIdx.x; j < area / 4; j += blockDim.x) {
        float4 v = reinterpret_cast<const float4*>(x + blockIdx.x * area)[j];
        v.x = fmaf(v.x, scale, shift), v.y = fmaf(v.y, scale, shift);
        v.z = fmaf(v.z, scale, shift), v.w = fmaf(v.w, scale, shift);
        reinterpret_cast<float4*>(y + blockIdx.x * area)[j] = v;
    }
}

// Groups of `n` elements, which are channels of `area`.
template <int WRONG> __device__ void group_norm(IN x, IN w, IN b, OUT y, int groups, int n, int area, int channels) {
    int g = element();
    if (g >= groups) return;
    float mean = 0.f, variance = 0.f;
    for (int j = 0; j < n; ++j) mean += x[g * n + j];
    mean /= n;
    for (int j = 0; j < n; ++j) variance += (x[g * n + j] - mean) * (x[g * n + j] - mean);
    for (int j = 0; j < n; ++j) {
        int c = WRONG ? j / area : (g * n + j) / area % channels;
        y[g * n + j] = (x[g * n + j] - mean) / sqrtf(variance / n + 1e-5f) * w[c] + b[c];
    }
}
PLAIN(group_norm, (IN x, IN w, IN b, OUT y, int groups, int n, int area, int channels), (x, w, b, y, groups, n, area, channels))

// Joins two means with their counts and sums of squares of differences.
__device__ __forceinline__ void welford(float& count, float& mean, float& square, float c, float m, float q) {
    float all = count + c, d = m - mean;
    if (all == 0.f) return;
    mean += d * c / all;
    square += q + d * d * count * c / all;
    count = all;
}
__device__ __forceinline__ void moments(IN row, int n, float& mean, float& square) {
    float count = 0.f;
    mean = 0.f, square = 0.f;
    for (int j = threadIdx.x; j < n; j += 32) {
        float d = row[j] - mean;
        count += 1.f;
        mean += d / count;
        square += d * (row[j] - mean);
    }
    for (int o = 16; o > 0; o >>= 1) {
        float c = __shfl_xor_sync(~0u, count, o), m = __shfl_xor_sync(~0u, mean, o), q = __shfl_xor_sync(~0u, square, o);
        welford(count, mean, square, c, m, q);
    }
}
KERNEL group_norm_tuned(IN x, IN w, IN b, OUT y, int groups, int n, int area, int channels) {
    IN row = x + blockIdx.x * n;
    float mean, square;
    moments(row, n, mean, square);
    float scale = rsqrtf(square / n + 1e-5f);
    for (int j = threadIdx.x; j < n; j += 32) {
        int c = (blockIdx.x * n + j) / area % channels;
        y[blockIdx.x * n + j] = (row[j] - mean) * scale * w[c] + b[c];
    }
}

template <int WRONG> __device__ void l2_normalise(IN x, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float q = 0.f;
    for (int j = 0; j < n; ++j) q += x[r * n + j] * x[r * n + j];
    for (int j = 0; j < n; ++j) y[r * n + j] = x[r * n + j] / fmaxf(WRONG ? q : sqrtf(q), 1e-12f);
}
PLAIN(l2_normalise, (IN x, OUT y, int rows, int n), (x, y, rows, n))
KERNEL l2_normalise_tuned(IN x, OUT y, int rows, int n) {
    IN row = x + blockIdx.x * n;
    float q = 0.f;
    for (int j = threadIdx.x; j < n; j += blockDim.x) q += row[j] * row[j];
    float over = 1.f / fmaxf(sqrtf(sum_of_block(q)), 1e-12f);
    for (int j = threadIdx.x; j < n; j += blockDim.x) y[blockIdx.x * n + j] = row[j] * over;
}

template <int WRONG> __device__ void deviation(IN x, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float mean = 0.f, variance = 0.f;
    for (int j = 0; j < n; ++j) mean += x[r * n + j];
    mean /= n;
    for (int j = 0; j < n; ++j) variance += (x[r * n + j] - mean) * (x[r * n + j] - mean);
    y[r] = sqrtf(variance / (WRONG ? n : n - 1));
}
PLAIN(deviation, (IN x, OUT y, int rows, int n), (x, y, rows, n))
KERNEL deviation_tuned(IN x, OUT y, int rows, int n) {
    float mean, square;
    moments(x + blockIdx.x * n, n, mean, square);
    if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(square / (n - 1));
}

template <int WRONG> __device__ void cosine_similarity(IN a, IN b, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float ab = 0.f, aa = 0.f, bb = 0.f;
    for (int j = 0; j < n; ++j) {
        ab += a[r * n + j] * b[r * n + j];
        aa += a[r * n + j] * a[r * n + j];
        bb += b[r * n + j] * b[r * n + j];
    }
    y[r] = ab / fmaxf(WRONG ? aa * bb : sqrtf(aa) * sqrtf(bb), 1e-8f);
}
PLAIN(cosine_similarity, (IN a, IN b, OUT y, int rows, int n), (a, b, y, rows, n))
KERNEL cosine_similarity_tuned(IN a, IN b, OUT y, int rows, int n) {
    float ab = 0.f, aa = 0.f, bb = 0.f;
    for (int j = threadIdx.x; j < n; j += 32) {
        float u = a[blockIdx.x * n + j], v = b[blockIdx.x * n + j];
        ab = fmaf(u, v, ab), aa = fmaf(u, u, aa), bb = fmaf(v, v, bb);
    }
    ab = sum_of_warp(ab), aa = sum_of_warp(aa), bb = sum_of_warp(bb);
    if (threadIdx.x == 0) y[blockIdx.x] = ab / fmaxf(sqrtf(aa * bb), 1e-8f);
}
