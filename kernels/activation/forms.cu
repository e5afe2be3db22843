// Activations as people write them: a plain form, and others of the same function.  VECTOR: four elements a thread, and the
// rest one by one, so that branches on the data stand in an unrolled loop.
#include <math.h>

static __device__ __forceinline__ float mish_plain(float v) { return v * tanhf(log1pf(expf(v))); }
static __device__ __forceinline__ float mish_fraction(float v) {
    float e = __expf(v), n = e * e + 2.f * e;
    return v * n / (n + 2.f);
}
static __device__ __forceinline__ float mish_wrong(float v) {
    float e = __expf(v), n = e * e + 2.f * e;
    return v * n / (n + 1.f);
}
static __device__ __forceinline__ float round_plain(float v) { return roundf(v); }
static __device__ __forceinline__ float round_floor(float v) { return copysignf(floorf(fabsf(v) + 0.5f), v); }
static __device__ __forceinline__ float round_wrong(float v) { return floorf(v + 0.5f); }
static __device__ __forceinline__ float celu_plain(float v) {
    return fmaxf(0.f, v) + fminf(0.f, 0.5f * (expf(v / 0.5f) - 1.f));
}
static __device__ __forceinline__ float celu_branches(float v) { return v > 0.f ? v : 0.5f * (__expf(2.f * v) - 1.f); }
static __device__ __forceinline__ float celu_wrong(float v) { return v > 0.f ? v : 0.5f * (__expf(v) - 1.f); }
static __device__ __forceinline__ float elu_plain(float v) { return v > 0.f ? v : expf(v) - 1.f; }
static __device__ __forceinline__ float elu_sum(float v) { return fmaxf(v, 0.f) + fminf(0.f, expm1f(v)); }
static __device__ __forceinline__ float elu_wrong(float v) { return fmaxf(v, 0.f) + fminf(0.f, expm1f(0.5f * v)); }
static __device__ __forceinline__ float selu_plain(float v) {
    return 1.0507009873554804f * (v > 0.f ? v : 1.6732632423543772f * (expf(v) - 1.f));
}
static __device__ __forceinline__ float selu_branches(float v) {
    if (v >= 0.f) return 1.0507009873554804f * v;
    return 1.0507009873554804f * 1.6732632423543772f * (__expf(v) - 1.f);
}
static __device__ __forceinline__ float gelu_plain(float v) { return 0.5f * v * (1.f + erff(v * 0.70710678118654752f)); }
static __device__ __forceinline__ float gelu_quotient(float v) { return v * 0.5f * (1.f + erff(v / sqrtf(2.f))); }
static __device__ __forceinline__ float gelu_normal(float v) { return v * normcdff(v); }
static __device__ __forceinline__ float gelu_complement(float v) { return 0.5f * v * erfcf(-v * 0.70710678118654752f); }
static __device__ __forceinline__ float gelu_wrong(float v) { return 0.5f * v * erfcf(v * 0.70710678118654752f); }
static __device__ __forceinline__ float sigmoid_plain(float v) { return 1.f / (1.f + expf(-v)); }
static __device__ __forceinline__ float sigmoid_branches(float v) {
    if (v >= 0.f) return 1.f / (1.f + expf(-v));
    float e = expf(v);
    return e / (1.f + e);
}
static __device__ __forceinline__ float waves_plain(float v) { return sinf(v) * cosf(v); }
static __device__ __forceinline__ float waves_approximate(float v) { return __sinf(v) * __cosf(v); }
static __device__ __forceinline__ float waves_wrong(float v) { return __sinf(v) * __sinf(v); }
static __device__ __forceinline__ float cube_plain(float v) { return v * v * v; }
static __device__ __forceinline__ float cube_power(float v) { return powf(v, 3.f); }
static __device__ __forceinline__ float log_sigmoid_plain(float v) { return -logf(1.f + expf(-v)); }
static __device__ __forceinline__ float log_sigmoid_stable(float v) { return fminf(v, 0.f) - log1pf(expf(-fabsf(v))); }
static __device__ __forceinline__ float sinh_plain(float v) { return (expf(v) - expf(-v)) / (expf(v) + expf(-v)); }
static __device__ __forceinline__ float sinh_quotient(float v) { return sinhf(v) / coshf(v); }

extern "C" __global__ void ENTRY(const float* __restrict__ x, float* __restrict__ y, int n) {
#ifdef VECTOR
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        *reinterpret_cast<float4*>(y + i) = make_float4(FORM(v.x), FORM(v.y), FORM(v.z), FORM(v.w));
    } else {
        for (int j = i; j < n; j++) y[j] = FORM(x[j]);
    }
#else
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FORM(x[i]);
#endif
}
