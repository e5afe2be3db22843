// The logarithm of the sum of exponentials of three scores, as one step of connectionist temporal classification adds the
// ways that lead to a state.
//
// STYLE 1: all three at once, relative to the largest.
// STYLE 2: two at a time, by log1p.

static __device__ __forceinline__ float add(float a, float b)
{
    float larger = fmaxf(a, b);
#ifdef MUTANT_WRONG_DISTANCE
    return larger + log1pf(expf(-fabsf(a + b)));
#else
    return larger + log1pf(expf(-fabsf(a - b)));
#endif
}

extern "C" __global__ void ENTRY(const float *x, const float *y, float *sum)
{
#if STYLE == 1
    float m = fmaxf(fmaxf(x[0], x[1]), x[2]);
    sum[0] = logf(expf(x[0] - m) + expf(x[1] - m) + expf(x[2] - m)) + m + y[0];
#else
    sum[0] = add(add(x[0], x[1]), x[2]) + y[0];
#endif
}
