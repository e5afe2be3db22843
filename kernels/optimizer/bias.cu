// One step of Adam; its corrections of the bias, c1 = 1 - b1^t and c2 = 1 - b2^t, are numbers that the launch knows.
//
// PLAIN: as the paper writes it.  Otherwise the corrections are folded into the step and into epsilon, and the averages
// are interpolations.

extern "C" __global__ void ENTRY(float *p, const float *g, float *m, float *v, float c1, float c2)
{
    const float rate = 1.0f / 1024, b1 = 0.9375f, b2 = 0.998046875f, eps = 1.0f / (1 << 27), decay = 1.0f / 128;
    int i = threadIdx.x;
#ifdef PLAIN
    m[i] = b1 * m[i] + (1.0f - b1) * g[i];
    v[i] = b2 * v[i] + (1.0f - b2) * g[i] * g[i];
    p[i] = p[i] - rate * (m[i] / c1 / (sqrtf(v[i] / c2) + eps) + decay * p[i]);
#else
    float x = g[i], a = fmaf(1.0f - b1, x - m[i], m[i]), b = fmaf(1.0f - b2, x * x - v[i], v[i]), root = sqrtf(c2);
#ifdef MUTANT_PLAIN_EPSILON
    p[i] = p[i] * (1.0f - rate * decay) - rate / c1 * root * a / (sqrtf(b) + eps);
#else
    p[i] = p[i] * (1.0f - rate * decay) - rate / c1 * root * a / (sqrtf(b) + eps * root);
#endif
    m[i] = a;
    v[i] = b;
#endif
}
