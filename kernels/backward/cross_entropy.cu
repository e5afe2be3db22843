// The gradient of a cross-entropy of 32 scores with the class `target`, times a gradient g that comes from above:
//
//     dx[i] = g * (softmax(x)[i] - (i == target))
//
// PLAIN: from the definition.  Else: with a running maximum and a rescaled sum, and the class subtracted at the end.

#define n 32

extern "C" __global__ void ENTRY(const float *x, float *dx, float g, int target)
{
    int i = threadIdx.x;
#ifdef PLAIN
    float sum = 0.0f;
    for (int j = 0; j < n; ++j)
        sum += expf(x[j]);
    dx[i] = g * (expf(x[i]) / sum - (i == target ? 1.0f : 0.0f));
#else
    float m = x[0], d = 1.0f;
    for (int j = 1; j < n; ++j) {
        float larger = fmaxf(m, x[j]);
        d = d * expf(m - larger) + expf(x[j] - larger);
        m = larger;
    }
    float result = g / d * expf(x[i] - m);
#ifdef MUTANT_WRONG_CLASS
    if (i == target + 1)
#else
    if (i == target)
#endif
        result -= g;
    dx[i] = result;
#endif
}
