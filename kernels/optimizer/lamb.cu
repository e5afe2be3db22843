// The step of LAMB on 32 parameters, which is scaled by the ratio of two norms unless one of them is 0.  PLAIN: one thread.
extern "C" __global__ void ENTRY(const float* p, const float* update, float* out) {
#ifdef PLAIN
    float a = 0.f, b = 0.f;
    for (int i = 0; i < 32; i++) {
        a += p[i] * p[i];
        b += update[i] * update[i];
    }
    a = sqrtf(a);
    b = sqrtf(b);
    float ratio = (a > 0.f && b > 0.f) ? a / b : 1.f;
    for (int i = 0; i < 32; i++) out[i] = p[i] - 0.01f * ratio * update[i];
#else
    float x = p[threadIdx.x], y = update[threadIdx.x], a = x * x, b = y * y;
    for (int step = 16; step > 0; step /= 2) {
        a += __shfl_xor_sync(0xffffffffu, a, step);
        b += __shfl_xor_sync(0xffffffffu, b, step);
    }
    float ratio = 1.f;
#ifdef MUTANT_INVERSE
    if (a > 0.f && b > 0.f) ratio = sqrtf(b) * rsqrtf(a);
#else
    if (a > 0.f && b > 0.f) ratio = sqrtf(a) * rsqrtf(b);
#endif
    out[threadIdx.x] = fmaf(-0.01f * ratio, y, x);
#endif
}
