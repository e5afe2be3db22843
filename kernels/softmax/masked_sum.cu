// The mean of N values with softmax weights, of which a mask takes out some: with minus infinity in their place and the
// maximum subtracted, or by branches without.

#include <math.h>

extern "C" __global__ void ENTRY(const float *in, const float *value, const int *keep, float *out)
{
    float sum = 0.0f, mean = 0.0f;
#ifdef BRANCHES
    for (int j = 0; j < N; ++j)
        if (keep[j]) {
            float e = expf(in[j]);
            sum += e;
            mean += e * value[j];
        }
#else
    float m = -INFINITY;
    for (int j = 0; j < N; ++j)
        m = fmaxf(m, keep[j] ? in[j] : -INFINITY);
    for (int j = 0; j < N; ++j) {
        float e = expf((keep[j] ? in[j] : -INFINITY) - m);
        sum += e;
        mean += e * value[j];
    }
#endif
    out[0] = mean / sum;
}
