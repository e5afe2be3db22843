// The forward algorithm of a hidden Markov model with two states, over logarithms: the logarithm of the sum over all paths
// through four steps of the product of their weights.
//
// STYLE 1: relative to the larger of two.  STYLE 2: by log1p of the distance.  STYLE 3: by log1p, with a branch.
// STYLE 4: over probabilities, rescaled at each step.

static __device__ __forceinline__ float add(float a, float b)
{
#if STYLE == 1
    float m = fmaxf(a, b);
    return m + logf(expf(a - m) + expf(b - m));
#elif STYLE == 2
    return fmaxf(a, b) + log1pf(expf(-fabsf(a - b)));
#else
    return a > b ? a + log1pf(expf(b - a)) : b + log1pf(expf(a - b));
#endif
}

extern "C" __global__ void ENTRY(const float *t, const float *e, float *out)
{
#if STYLE == 4
    float a = expf(e[0]), b = expf(e[1]), sum = 0.0f;
    for (int i = 1; i < 4; ++i) {
        float c = (a * expf(t[0]) + b * expf(t[2])) * expf(e[2 * i]);
        float d = (a * expf(t[1]) + b * expf(t[3])) * expf(e[2 * i + 1]);
        sum += logf(c + d);
        a = c / (c + d);
        b = d / (c + d);
    }
    out[0] = logf(a + b) + sum;
#else
    float a = e[0], b = e[1];
    for (int i = 1; i < 4; ++i) {
#ifdef MUTANT_TRANSPOSED
        float c = add(a + t[0], b + t[1]) + e[2 * i];
        float d = add(a + t[2], b + t[3]) + e[2 * i + 1];
#else
        float c = add(a + t[0], b + t[2]) + e[2 * i];
        float d = add(a + t[1], b + t[3]) + e[2 * i + 1];
#endif
        a = c;
        b = d;
    }
    out[0] = add(a, b);
#endif
}
