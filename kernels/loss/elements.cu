// Losses that are a mean over 64 elements of a function with cases.  PLAIN: one thread, as the definition says.  Otherwise one
// warp, two elements a lane, without branches on the data.
static __device__ __forceinline__ float loss(float a, float b) {
#if defined(HUBER)
    float d = fabsf(a - b);
#ifdef PLAIN
    return d <= 1.5f ? 0.5f * (a - b) * (a - b) : 1.5f * (d - 0.75f);
#else
    float small = fminf(d, 1.5f);
#ifdef MUTANT_NO_HALF
    return small * small + 1.5f * (d - small);
#else
    return 0.5f * small * small + 1.5f * (d - small);
#endif
#endif
#elif defined(HINGE)
#ifdef PLAIN
    return fmaxf(0.f, 1.f - a * b) * fmaxf(0.f, 1.f - a * b);
#else
    float t = 1.f - a * b;
#ifdef MUTANT_NO_MARGIN
    return a * b < 0.f ? t * t : 0.f;
#else
    return t > 0.f ? t * t : 0.f;
#endif
#endif
#else
    // Binary cross-entropy of a logit.
#ifdef PLAIN
    return -(b * logf(1.f / (1.f + expf(-a))) + (1.f - b) * logf(1.f / (1.f + expf(a))));
#elif defined(MUTANT_NO_LABEL)
    return fmaxf(a, 0.f) - b + log1pf(expf(-fabsf(a)));
#else
    return fmaxf(a, 0.f) - a * b + log1pf(expf(-fabsf(a)));
#endif
#endif
}
extern "C" __global__ void ENTRY(const float* x, const float* y, float* out) {
#ifdef PLAIN
    float sum = 0.f;
    for (int i = 0; i < 64; i++) sum += loss(x[i], y[i]);
    out[0] = sum / 64.f;
#else
    float2 a = ((const float2*)x)[threadIdx.x], b = ((const float2*)y)[threadIdx.x];
    float sum = loss(a.x, b.x) + loss(a.y, b.y);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) out[0] = sum * 0.015625f;
#endif
}
