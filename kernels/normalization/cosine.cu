// The cosine of the angle between two vectors of 8.
//
// STYLE 1: divided by two lengths, each kept from 0 (ADDED: by what is added to its square, else by a least length).
// STYLE 2: multiplied by one reciprocal root of a product.

#define n 8
#define least 0.0009765625f

extern "C" __global__ void ENTRY(const float *x, const float *y, float *cosine)
{
    float a = 0.0f, b = 0.0f, dot = 0.0f;
    for (int i = 0; i < n; ++i) {
        a += x[i] * x[i];
        b += y[i] * y[i];
        dot += x[i] * y[i];
    }
#ifdef ADDED
    const float e = 1e-8f;
#if STYLE == 1
    cosine[0] = dot / (sqrtf(a + e) * sqrtf(b + e));
#elif defined(MUTANT_ADDED_ONCE)
    cosine[0] = dot * rsqrtf(a * b + e);
#else
    cosine[0] = dot * rsqrtf((a + e) * (b + e));
#endif
#else
#if STYLE == 1
    cosine[0] = dot / (fmaxf(sqrtf(a), least) * fmaxf(sqrtf(b), least));
#elif defined(MUTANT_NOT_SQUARED)
    cosine[0] = dot * rsqrtf(fmaxf(a, least) * fmaxf(b, least));
#else
    cosine[0] = dot * rsqrtf(fmaxf(a, least * least) * fmaxf(b, least * least));
#endif
#endif
}
