// Cross-entropy of one row of 32 scores with the class `target`:
//
//     loss[0] = log(sum over j of exp(x[j])) - x[target]
//
// STYLE 1: one thread, from the definition.
// STYLE 2: one thread, in one pass with a running maximum and a rescaled sum.
// STYLE 3: one warp; each lane holds a maximum and a sum relative to it, merged by shuffles.

#define n 32

extern "C" __global__ void ENTRY(const float *x, float *loss, int target)
{
#if STYLE == 1
    float sum = 0.0f;
    for (int j = 0; j < n; ++j)
        sum += expf(x[j]);
    loss[0] = logf(sum) - x[target];
#elif STYLE == 2
    float m = x[0], d = 1.0f;
    for (int j = 1; j < n; ++j) {
        float larger = fmaxf(m, x[j]);
#ifdef MUTANT_NO_RESCALE
        d = d + expf(x[j] - larger);
#else
        d = d * expf(m - larger) + expf(x[j] - larger);
#endif
        m = larger;
    }
    loss[0] = m + logf(d) - x[target];
#else
    int lane = threadIdx.x;
    float m = x[lane], d = 1.0f;
    for (int distance = 16; distance > 0; distance /= 2) {
        float m2 = __shfl_xor_sync(0xffffffffu, m, distance);
        float d2 = __shfl_xor_sync(0xffffffffu, d, distance);
        float larger = fmaxf(m, m2);
        d = d * expf(m - larger) + d2 * expf(m2 - larger);
        m = larger;
    }
#ifdef MUTANT_NO_MAXIMUM
    if (lane == 0)
        loss[0] = logf(d) - x[target];
#else
    if (lane == 0)
        loss[0] = m + logf(d) - x[target];
#endif
#endif
}
