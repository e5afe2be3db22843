// Steps of optimizers, which write in place, and quantisation of rows.
#include "common.h"

// The corrections of the moments come from the host: 1 - 0.9^t and 1 - 0.999^t.
template <int WRONG> __device__ void adam(OUT p, IN g, OUT m, OUT v, float of_m, float of_v, int n) {
    int i = element();
    if (i >= n) return;
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
    float m_hat = m[i] / of_m, v_hat = v[i] / of_v;
    p[i] -= 0.001f * m_hat / (WRONG ? sqrtf(v_hat + 1e-8f) : sqrtf(v_hat) + 1e-8f);
}
PLAIN(adam, (OUT p, IN g, OUT m, OUT v, float of_m, float of_v, int n), (p, g, m, v, of_m, of_v, n))
__device__ __forceinline__ void adam_step(float& p, float g, float& m, float& v, float rate, float of_v) {
    m = fmaf(0.1f, g - m, m);
    v = fmaf(0.001f, g * g - v, v);
    p = fmaf(-rate, m / (sqrtf(v / of_v) + 1e-8f), p);
}
KERNEL adam_tuned(OUT p, IN g, OUT m, OUT v, float of_m, float of_v, int n) {
    float rate = 0.001f / of_m;
    int step = gridDim.x * blockDim.x;
    for (int i = element(); i < n / 4; i += step) {
        float4 a = reinterpret_cast<float4*>(p)[i], b = reinterpret_cast<const float4*>(g)[i];
        float4 c = reinterpret_cast<float4*>(m)[i], d = reinterpret_cast<float4*>(v)[i];
        adam_step(a.x, b.x, c.x, d.x, rate, of_v), adam_step(a.y, b.y, c.y, d.y, rate, of_v);
        adam_step(a.z, b.z, c.z, d.z, rate, of_v), adam_step(a.w, b.w, c.w, d.w, rate, of_v);
        reinterpret_cast<float4*>(p)[i] = a, reinterpret_cast<float4*>(m)[i] = c, reinterpret_cast<float4*>(v)[i] = d;
    }
    for (int i = n / 4 * 4 + element(); i < n; i += step) adam_step(p[i], g[i], m[i], v[i], rate, of_v);
}
// The corrections of the moments by the step: computed by each thread, and by the compiler for the third step.
template <int WRONG> __device__ void adam_by_step(OUT p, IN g, OUT m, OUT v, int t, int n) {
    adam<0>(p, g, m, v, 1.f - powf(0.9f, WRONG ? t - 1 : t), 1.f - powf(0.999f, t), n);
}
PLAIN(adam_by_step, (OUT p, IN g, OUT m, OUT v, int t, int n), (p, g, m, v, t, n))
KERNEL adam_by_step_tuned(OUT p, IN g, OUT m, OUT v, int t, int n) { adam<0>(p, g, m, v, 1.f - powf(0.9f, 3.f), 1.f - powf(0.999f, 3.f), n); }

// Nesterov's momentum, with decay of the weights.
template <int WRONG> __device__ void sgd_momentum(OUT p, IN g, OUT m, int n) {
    int i = element();
    if (i >= n) return;
    float d = g[i] + 0.01f * p[i];
    m[i] = 0.9f * m[i] + d;
    p[i] -= 0.1f * (WRONG ? m[i] : d + 0.9f * m[i]);
}
PLAIN(sgd_momentum, (OUT p, IN g, OUT m, int n), (p, g, m, n))
KERNEL sgd_momentum_tuned(OUT p, IN g, OUT m, int n) {
    for (int i = element(); i < n; i += gridDim.x * blockDim.x) {
        float w = p[i], d = fmaf(0.01f, w, g[i]), u = fmaf(0.9f, m[i], d);
        m[i] = u;
        p[i] = fmaf(-0.1f, fmaf(0.9f, u, d), w);
    }
}

// Bytes with a scale for each row.  UNGUARDED leaves a row of zeros to a quotient of zeros.
template <int WRONG, bool UNGUARDED = false> __device__ void quantise(IN x, signed char* q, OUT scale, int rows, int n) {
    int r = element();
    if (r >= rows) return;
    float m = UNGUARDED ? 0.f : 1e-8f;
    for (int j = 0; j < n; ++j) m = fmaxf(m, WRONG ? x[r * n + j] : fabsf(x[r * n + j]));
    float s = m / 127.f;
    scale[r] = s;
    for (int j = 0; j < n; ++j) q[r * n + j] = (signed char)fminf(fmaxf(rintf(x[r * n + j] / s), -127.f), 127.f);
}
PLAIN(quantise, (IN x, signed char* q, OUT scale, int rows, int n), (x, q, scale, rows, n))
template <bool UNGUARDED> __device__ void quantise_warp(IN x, signed char* __restrict__ q, OUT scale, int n) {
    IN row = x + blockIdx.x * n;
    float m = UNGUARDED ? 0.f : 1e-8f;
    for (int j = threadIdx.x; j < n; j += 32) m = fmaxf(m, fabsf(row[j]));
    float s = max_of_warp(m) / 127.f;
    for (int j = threadIdx.x; j < n / 4; j += 32) {
        float4 v = reinterpret_cast<const float4*>(row)[j];
        char4 bytes;
        bytes.x = max(min(__float2int_rn(v.x / s), 127), -127), bytes.y = max(min(__float2int_rn(v.y / s), 127), -127);
        bytes.z = max(min(__float2int_rn(v.z / s), 127), -127), bytes.w = max(min(__float2int_rn(v.w / s), 127), -127);
        reinterpret_cast<char4*>(q + blockIdx.x * n)[j] = bytes;
    }
    if (threadIdx.x == 0) scale[blockIdx.x] = s;
}
KERNEL quantise_tuned(IN x, signed char* __restrict__ q, OUT scale, int rows, int n) { quantise_warp<false>(x, q, scale, n); }
KERNEL quantise_unguarded_naive(IN x, signed char* q, OUT scale, int rows, int n) { quantise<0, true>(x, q, scale, rows, n); }
KERNEL quantise_unguarded_wrong(IN x, signed char* q, OUT scale, int rows, int n) { quantise<1, true>(x, q, scale, rows, n); }
KERNEL quantise_unguarded_tuned(IN x, signed char* __restrict__ q, OUT scale, int rows, int n) { quantise_warp<true>(x, q, scale, n); }
