// Losses of a whole batch: one thread, and one block whose threads share the elements.
#include "common.h"

// The negative logarithm of the probability of a label, of which a tenth is spread over all classes.
template <int WRONG> __device__ void cross_entropy(IN x, const int* t, OUT y, int rows, int n) {
    float loss = 0.f;
    for (int r = 0; r < rows; ++r) {
        float m = -INFINITY, s = 0.f, all = 0.f;
        for (int j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
        for (int j = 0; j < n; ++j) s += expf(x[r * n + j] - m);
        for (int j = 0; j < n; ++j) all += x[r * n + j] - m - logf(s);
        loss -= 0.9f * (x[r * n + t[r]] - m - logf(s)) + 0.1f * (WRONG ? all : all / n);
    }
    y[0] = loss / rows;
}
PLAIN(cross_entropy, (IN x, const int* t, OUT y, int rows, int n), (x, t, y, rows, n))
KERNEL cross_entropy_tuned(IN x, const int* __restrict__ t, OUT y, int rows, int n) {
    // A warp a row.
    __shared__ float losses[8];
    int r = threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = lane < n ? x[r * n + lane] : -INFINITY, m = max_of_warp(v);
    float logs = logf(sum_of_warp(lane < n ? expf(v - m) : 0.f));
    float all = sum_of_warp(lane < n ? v - m : 0.f);
    float picked = __shfl_sync(~0u, v, t[r]) - m;
    if (lane == 0) losses[r] = logs - 0.9f * picked - 0.1f * all / n;
    __syncthreads();
    if (threadIdx.x == 0) {
        float loss = 0.f;
        for (int i = 0; i < rows; ++i) loss += losses[i];
        y[0] = loss / rows;
    }
}

// Rows whose label is -100 do not count.
template <int WRONG> __device__ void cross_entropy_ignored(IN x, const int* t, OUT y, int rows, int n) {
    float loss = 0.f, kept = 0.f;
    for (int r = 0; r < rows; ++r) {
        if (t[r] == -100) continue;
        float m = -INFINITY, s = 0.f;
        for (int j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
        for (int j = 0; j < n; ++j) s += expf(x[r * n + j] - m);
        loss += logf(s) + m - x[r * n + t[r]];
        kept += 1.f;
    }
    y[0] = loss / (WRONG ? rows : kept);
}
PLAIN(cross_entropy_ignored, (IN x, const int* t, OUT y, int rows, int n), (x, t, y, rows, n))
KERNEL cross_entropy_ignored_tuned(IN x, const int* __restrict__ t, OUT y, int rows, int n) {
    float loss = 0.f, kept = 0.f;
    for (int r = threadIdx.x / 32; r < rows; r += blockDim.x / 32) {
        int lane = threadIdx.x % 32, label = t[r];
        float v = lane < n ? x[r * n + lane] : -INFINITY, m = max_of_warp(v);
        float logs = logf(sum_of_warp(expf(v - m))) + m;
        if (lane == 0 && label != -100) loss += logs - x[r * n + label], kept += 1.f;
    }
    loss = sum_of_block(loss), kept = sum_of_block(kept);
    if (threadIdx.x == 0) y[0] = loss / kept;
}

// A mean over elements of a term of two arrays.
template <int WRONG> struct mse {
    static __device__ float plain(float v, float t) { return (v - t) * (v - t); }
    static __device__ float tuned(float v, float t) {
        float d = v - t;
        return d * d;
    }
};
template <int WRONG> struct huber {
    static __device__ float plain(float v, float t) {
        float d = fabsf(v - t);
        return d <= 1.5f ? 0.5f * d * d : 1.5f * (d - (WRONG ? 1.5f : 0.75f));
    }
    static __device__ float tuned(float v, float t) {
        float d = fabsf(v - t), c = fminf(d, 1.5f);
        return c * (d - 0.5f * c);
    }
};
template <int WRONG> struct bce_with_logits {
    static __device__ float plain(float v, float t) {
        return fmaxf(v, 0.f) - v * t + log1pf(expf(WRONG ? fabsf(v) : -fabsf(v)));
    }
    static __device__ float tuned(float v, float t) { return (1.f - t) * v + fmaxf(-v, 0.f) + __logf(1.f + __expf(-fabsf(v))); }
};
template <int WRONG> struct focal_loss {
    static __device__ float plain(float v, float t) {
        float p = 1.f / (1.f + expf(-v)), of_label = p * t + (1.f - p) * (1.f - t);
        float entropy = fmaxf(v, 0.f) - v * t + log1pf(expf(-fabsf(v)));
        float weight = WRONG ? 0.25f : 0.25f * t + 0.75f * (1.f - t);
        return weight * (1.f - of_label) * (1.f - of_label) * entropy;
    }
    static __device__ float tuned(float v, float t) {
        float p = __frcp_rn(1.f + __expf(-v)), wrong = p + t - 2.f * p * t;
        float entropy = fmaxf(v, 0.f) - v * t + log1pf(__expf(-fabsf(v)));
        return fmaf(-0.5f, t, 0.75f) * wrong * wrong * entropy;
    }
};

#define MEAN(name)                                                             \
    template <int WRONG> __device__ void mean_of_##name(IN x, IN t, OUT y, int n) { \
        float s = 0.f;                                                         \
        for (int i = 0; i < n; ++i) s += name<WRONG>::plain(x[i], t[i]);       \
        y[0] = s / n;                                                          \
    }                                                                          \
    KERNEL name##_naive(IN x, IN t, OUT y, int n) { mean_of_##name<0>(x, t, y, n); } \
    KERNEL name##_wrong(IN x, IN t, OUT y, int n) { mean_of_##name<1>(x, t, y, n); } \
    KERNEL name##_tuned(IN x, IN t, OUT y, int n) {                            \
        float s = 0.f;                                                         \
        for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {                \
            float4 v = reinterpret_cast<const float4*>(x)[i], u = reinterpret_cast<const float4*>(t)[i]; \
            s += name<0>::tuned(v.x, u.x) + name<0>::tuned(v.y, u.y);          \
            s += name<0>::tuned(v.z, u.z) + name<0>::tuned(v.w, u.w);          \
        }                                                                      \
        for (int i = n / 4 * 4 + threadIdx.x; i < n; i += blockDim.x) s += name<0>::tuned(x[i], t[i]); \
        s = sum_of_block(s);                                                   \
        if (threadIdx.x == 0) y[0] = s * (1.f / n);                            \
    }

// The wrong twin multiplies by the sum of both.
template <> struct mse<1> {
    static __device__ float plain(float v, float t) { return (v - t) * (v + t); }
};

MEAN(mse)
MEAN(huber)
MEAN(bce_with_logits)
MEAN(focal_loss)

// x holds logarithms of probabilities, t probabilities; the sum over classes, the mean over rows.
template <int WRONG> __device__ void kl_div(IN x, IN t, OUT y, int rows, int n) {
    float s = 0.f;
    for (int i = 0; i < rows * n; ++i) s += t[i] > 0.f ? t[i] * (logf(t[i]) - x[i]) : 0.f;
    y[0] = s / (WRONG ? rows * n : rows);
}
PLAIN(kl_div, (IN x, IN t, OUT y, int rows, int n), (x, t, y, rows, n))
KERNEL kl_div_tuned(IN x, IN t, OUT y, int rows, int n) {
    float s = 0.f;
    for (int i = threadIdx.x; i < rows * n; i += blockDim.x) {
        float p = t[i], entropy = p > 0.f ? p * __log2f(p) * 0.693147180559945f : 0.f;
        s += entropy - p * x[i];
    }
    s = sum_of_block(s);
    if (threadIdx.x == 0) y[0] = s / rows;
}

// A loss for each row.
template <int WRONG> __device__ void cross_entropy_rows(IN x, const int* t, OUT y, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float m = -INFINITY, s = 0.f;
    for (int j = 0; j < n; ++j) m = fmaxf(m, x[r * n + j]);
    for (int j = 0; j < n; ++j) s += expf(x[r * n + j] - m);
    y[r] = logf(s) + (WRONG ? 0.f : m) - x[r * n + t[r]];
}
PLAIN(cross_entropy_rows, (IN x, const int* t, OUT y, int rows, int n), (x, t, y, rows, n))
KERNEL cross_entropy_rows_tuned(IN x, const int* __restrict__ t, OUT y, int rows, int n) {
    // The lane that meets the label keeps its element.
    IN row = x + blockIdx.x * n;
    int label = t[blockIdx.x];
    float m = -INFINITY, s = 0.f, picked = 0.f;
    for (int j = threadIdx.x; j < n; j += 32) m = fmaxf(m, row[j]);
    m = max_of_warp(m);
    for (int j = threadIdx.x; j < n; j += 32) {
        s += expf(row[j] - m);
        if (j == label) picked = row[j];
    }
    s = sum_of_warp(s), picked = sum_of_warp(picked);
    if (threadIdx.x == 0) y[blockIdx.x] = logf(s) + m - picked;
}
