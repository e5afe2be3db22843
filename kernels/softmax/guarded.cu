// Softmax of a row of 4 under a mask that is data; a row without a score is all 0.
//
// STYLE 1: masked scores are minus infinity.  STYLE 2: the maximum starts at a large negative number, which is not used
// where there is a score.

#define n 4
#if STYLE == 1
#define LOW -__int_as_float(0x7f800000)
#else
#define LOW -1e30f
#endif

extern "C" __global__ void ENTRY(const float *x, const int *keep, float *y)
{
    float m = LOW, sum = 0.0f;
    for (int i = 0; i < n; ++i)
        m = fmaxf(m, keep[i] ? x[i] : LOW);
    for (int i = 0; i < n; ++i) {
#ifdef MUTANT_MASKED_COUNT
        sum += keep[i] ? expf(x[i] - m) : 1.0f;
#else
        sum += keep[i] ? expf(x[i] - m) : 0.0f;
#endif
    }
    for (int i = 0; i < n; ++i)
        y[i] = sum == 0.0f ? 0.0f : keep[i] ? expf(x[i] - m) / sum : 0.0f;
}
