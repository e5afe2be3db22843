// A step of AdamW without correction of the moments.
//
// STYLE 1: the decayed weight is a product with a constant that the compiler folds, 1 - rate * decay.
// STYLE 2: what decays is subtracted, and the moments move by the weight of the new value.

extern "C" __global__ void ENTRY(float *p, const float *g, float *m, float *v)
{
    int i = threadIdx.x;
    const float rate = 1e-3f, decay = 0.01f, b1 = 0.9f, b2 = 0.999f;
#if STYLE == 1
    m[i] = b1 * m[i] + (1.0f - b1) * g[i];
    v[i] = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
    p[i] = p[i] * (1.0f - rate * decay) - rate * m[i] / (sqrtf(v[i]) + 1e-8f);
#else
    m[i] += (1.0f - b1) * (g[i] - m[i]);
    v[i] += (1.0f - b2) * (g[i] * g[i] - v[i]);
#ifdef MUTANT_DECAY_TWICE
    p[i] -= 2.0f * rate * decay * p[i];
#else
    p[i] -= rate * decay * p[i];
#endif
    p[i] -= rate * m[i] / (sqrtf(v[i]) + 1e-8f);
#endif
}
