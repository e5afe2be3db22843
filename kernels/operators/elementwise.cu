// Activations, an element a thread and four a thread in a loop over the grid.
#include "common.h"

template <int WRONG> struct leaky_relu {
    static __device__ float plain(float v) { return v > 0.f ? v : (WRONG ? 0.1f : 0.01f) * v; }
    static __device__ float tuned(float v) { return fmaxf(v, 0.f) + 0.01f * fminf(v, 0.f); }
};
template <int WRONG> struct elu {
    static __device__ float plain(float v) { return v > 0.f ? v : expf(v) - (WRONG ? 0.99f : 1.f); }
    static __device__ float tuned(float v) { return fmaxf(v, 0.f) + expm1f(fminf(v, 0.f)); }
};
template <int WRONG> struct selu {
    static constexpr float ALPHA = 1.6732632423543772f, SCALE = 1.0507009873554805f;
    static __device__ float plain(float v) { return SCALE * (v > 0.f ? v : (WRONG ? 1.f : ALPHA) * (expf(v) - 1.f)); }
    static __device__ float tuned(float v) { return v > 0.f ? SCALE * v : (SCALE * ALPHA) * expm1f(v); }
};
template <int WRONG> struct gelu {
    static __device__ float plain(float v) { return 0.5f * v * (1.f + erff(WRONG ? v : v / sqrtf(2.f))); }
    static __device__ float tuned(float v) {
        float half = 0.5f * v;
        return fmaf(half, erff(v * 0.70710678118654752f), half);
    }
};
template <int WRONG> struct gelu_tanh {
    static __device__ float plain(float v) {
        return 0.5f * v * (1.f + tanhf(0.7978845608028654f * (v + (WRONG ? 0.0447f : 0.044715f) * (WRONG ? v * v : v * v * v))));
    }
    // 1 + tanh u = 2 sigmoid(2u).
    static __device__ float tuned(float v) {
        float u = 0.7978845608028654f * v * fmaf(0.044715f * v, v, 1.f);
        return v / (1.f + __expf(-2.f * u));
    }
};
template <int WRONG> struct silu {
    static __device__ float plain(float v) { return v / (1.f + expf(WRONG ? v : -v)); }
    static __device__ float tuned(float v) { return v * __frcp_rn(1.f + __expf(-v)); }
};
template <int WRONG> struct softplus {
    static __device__ float plain(float v) { return v > (WRONG ? 2.f : 20.f) ? v : log1pf(expf(v)); }
    static __device__ float tuned(float v) { return v > 20.f ? v : fmaxf(v, 0.f) + log1pf(expf(-fabsf(v))); }
};
template <int WRONG> struct mish {
    static __device__ float plain(float v) { return v * tanhf(WRONG ? expf(v) : log1pf(expf(v))); }
    static __device__ float tuned(float v) {
        float e = __expf(v), n = e * (e + 2.f);
        return v * n / (n + 2.f);
    }
};
template <int WRONG> struct hardswish {
    static __device__ float plain(float v) { return v * fminf(fmaxf(v + 3.f, 0.f), WRONG ? 5.f : 6.f) / 6.f; }
    static __device__ float tuned(float v) { return v <= -3.f ? 0.f : v >= 3.f ? v : v * (v + 3.f) * (1.f / 6.f); }
};
template <int WRONG> struct log_sigmoid {
    static __device__ float plain(float v) { return -logf(1.f + expf(WRONG ? v : -v)); }
    static __device__ float tuned(float v) { return fminf(v, 0.f) - log1pf(expf(-fabsf(v))); }
};

#define ELEMENTWISE(name)                                                       \
    KERNEL name##_naive(IN x, OUT y, int n) {                                    \
        int i = element();                                                      \
        if (i < n) y[i] = name<0>::plain(x[i]);                                 \
    }                                                                           \
    KERNEL name##_wrong(IN x, OUT y, int n) {                                    \
        int i = element();                                                      \
        if (i < n) y[i] = name<1>::plain(x[i]);                                 \
    }                                                                           \
    KERNEL name##_tuned(IN x, OUT y, int n) {                                    \
        int step = gridDim.x * blockDim.x;                                      \
        for (int i = element(); i < n / 4; i += step) {                         \
            float4 v = reinterpret_cast<const float4*>(x)[i];                   \
            v.x = name<0>::tuned(v.x), v.y = name<0>::tuned(v.y);               \
            v.z = name<0>::tuned(v.z), v.w = name<0>::tuned(v.w);               \
            reinterpret_cast<float4*>(y)[i] = v;                                \
        }                                                                       \
        for (int i = n / 4 * 4 + element(); i < n; i += step) y[i] = name<0>::tuned(x[i]); \
    }

ELEMENTWISE(leaky_relu)
ELEMENTWISE(elu)
ELEMENTWISE(selu)
ELEMENTWISE(gelu)
ELEMENTWISE(gelu_tanh)
ELEMENTWISE(silu)
ELEMENTWISE(softplus)
ELEMENTWISE(mish)
ELEMENTWISE(hardswish)
ELEMENTWISE(log_sigmoid)

// A mask of bytes that are 0 or 1, and a tenth dropped.
template <int WRONG> __device__ void dropout(IN x, const unsigned char* mask, OUT y, int n) {
    int i = element();
    if (i < n) y[i] = x[i] * mask[i] * (WRONG ? 0.9f : 1.f / 0.9f);
}
PLAIN(dropout, (IN x, const unsigned char* mask, OUT y, int n), (x, mask, y, n))
KERNEL dropout_tuned(IN x, const unsigned char* __restrict__ mask, OUT y, int n) {
    const float scale = 1.f / 0.9f;
    int step = gridDim.x * blockDim.x;
    for (int i = element(); i < n / 4; i += step) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        uchar4 m = reinterpret_cast<const uchar4*>(mask)[i];
        v.x = m.x ? v.x * scale : 0.f, v.y = m.y ? v.y * scale : 0.f;
        v.z = m.z ? v.z * scale : 0.f, v.w = m.w ? v.w * scale : 0.f;
        reinterpret_cast<float4*>(y)[i] = v;
    }
    for (int i = n / 4 * 4 + element(); i < n; i += step) y[i] = mask[i] ? x[i] * scale : 0.f;
}
