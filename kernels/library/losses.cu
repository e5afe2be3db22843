// Losses and activations as they are written with the functions of the library, plainly and otherwise.  One element each.
#define KERNEL extern "C" __global__ void

KERNEL softplus(const float* x, float* y) { y[threadIdx.x] = logf(1.f + expf(x[threadIdx.x])); }
KERNEL softplus_stable(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = fmaxf(v, 0.f) + log1pf(expf(-fabsf(v)));
}
KERNEL softplus_sign(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = fmaxf(v, 0.f) + log1pf(expf(fabsf(v)));
}

KERNEL mish(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = v * tanhf(log1pf(expf(v)));
}
KERNEL mish_quotient(const float* x, float* y) {
    float v = x[threadIdx.x], e = expf(v), n = e * e + 2.f * e;
    y[threadIdx.x] = v * n / (n + 2.f);
}
KERNEL mish_one(const float* x, float* y) {
    float v = x[threadIdx.x], e = expf(v), n = e * e + 2.f * e;
    y[threadIdx.x] = v * n / (n + 1.f);
}

KERNEL log_sigmoid(const float* x, float* y) { y[threadIdx.x] = -log1pf(expf(-x[threadIdx.x])); }
KERNEL log_sigmoid_stable(const float* x, float* y) {
    float v = x[threadIdx.x];
    y[threadIdx.x] = fminf(v, 0.f) - log1pf(expf(-fabsf(v)));
}

KERNEL cross_entropy(const float* x, const float* t, float* y) {
    float z = t[threadIdx.x], s = 1.f / (1.f + expf(-x[threadIdx.x]));
    y[threadIdx.x] = -(z * logf(s) + (1.f - z) * logf(1.f - s));
}
KERNEL cross_entropy_logits(const float* x, const float* t, float* y) {
    float v = x[threadIdx.x], z = t[threadIdx.x];
    y[threadIdx.x] = fmaxf(v, 0.f) - v * z + log1pf(expf(-fabsf(v)));
}
KERNEL cross_entropy_sign(const float* x, const float* t, float* y) {
    float v = x[threadIdx.x], z = t[threadIdx.x];
    y[threadIdx.x] = fmaxf(v, 0.f) + v * z + log1pf(expf(-fabsf(v)));
}

KERNEL log_cosh(const float* x, float* y) { y[threadIdx.x] = logf(coshf(x[threadIdx.x])); }
KERNEL log_cosh_stable(const float* x, float* y) {
    float v = fabsf(x[threadIdx.x]);
    y[threadIdx.x] = v + log1pf(expf(-2.f * v)) - 0.69314718f;
}

KERNEL log_square(const float* x, float* y) { y[threadIdx.x] = logf(x[threadIdx.x] * x[threadIdx.x]); }
KERNEL log_square_size(const float* x, float* y) { y[threadIdx.x] = 2.f * logf(fabsf(x[threadIdx.x])); }
KERNEL log_square_plain(const float* x, float* y) { y[threadIdx.x] = 2.f * logf(x[threadIdx.x]); }

KERNEL log_root(const float* x, float* y) { y[threadIdx.x] = logf(sqrtf(x[threadIdx.x])); }
KERNEL log_root_half(const float* x, float* y) { y[threadIdx.x] = 0.5f * logf(x[threadIdx.x]); }
KERNEL log_root_third(const float* x, float* y) { y[threadIdx.x] = 0.3f * logf(x[threadIdx.x]); }

KERNEL log_size(const float* x, float* y) { y[threadIdx.x] = fabsf(logf(x[threadIdx.x])); }
KERNEL log_size_max(const float* x, float* y) {
    float l = logf(x[threadIdx.x]);
    y[threadIdx.x] = fmaxf(l, -l);
}
KERNEL log_size_min(const float* x, float* y) {
    float l = logf(x[threadIdx.x]);
    y[threadIdx.x] = fminf(l, -l);
}

KERNEL cosine(const float* a, const float* b, float* y) {
    float d = 0, u = 0, v = 0;
    for (int i = 0; i < 8; i++) { d += a[i] * b[i]; u += a[i] * a[i]; v += b[i] * b[i]; }
    *y = d / (sqrtf(u) * sqrtf(v));
}
KERNEL cosine_once(const float* a, const float* b, float* y) {
    float d = 0, u = 0, v = 0;
    for (int i = 0; i < 8; i++) { d += a[i] * b[i]; u += a[i] * a[i]; v += b[i] * b[i]; }
    *y = d * rsqrtf(u * v);
}
KERNEL cosine_sum(const float* a, const float* b, float* y) {
    float d = 0, u = 0, v = 0;
    for (int i = 0; i < 8; i++) { d += a[i] * b[i]; u += a[i] * a[i]; v += b[i] * b[i]; }
    *y = d * rsqrtf(u + v);
}
