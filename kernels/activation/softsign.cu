// Softsign, x / (1 + |x|), and its derivative times what comes from behind.
//
// STYLE 1: from the definition.  STYLE 2: by cases, each with a denominator that is not 0 where the case holds.

extern "C" __global__ void ENTRY(const float *x, const float *dy, float *y, float *dx)
{
    int i = threadIdx.x;
    float z = x[i];
#if STYLE == 1
    float d = 1.0f + fabsf(z);
    y[i] = z / d;
    dx[i] = dy[i] / (d * d);
#else
#ifdef MUTANT_ONE_CASE
    y[i] = 1.0f - 1.0f / (1.0f + fabsf(z));
#else
    y[i] = z >= 0.0f ? 1.0f - 1.0f / (1.0f + z) : 1.0f / (1.0f - z) - 1.0f;
#endif
    dx[i] = dy[i] / (1.0f + 2.0f * fabsf(z) + z * z);
#endif
}
