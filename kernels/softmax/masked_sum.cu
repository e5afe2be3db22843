// The mean of N values with softmax weights, of which a mask takes out some: with minus infinity in their place and the
// maximum subtracted, by branches without, or online, where a maximum of nothing is taken to be 0.

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
#elif defined(ONLINE)
    float m = -INFINITY;
    for (int j = 0; j < N; ++j) {
        float score = keep[j] ? in[j] : -INFINITY;
        float next = fmaxf(m, score);
#ifdef MUTANT_UNGUARDED
        float base = next;
#else
        float base = next == -INFINITY ? 0.0f : next;
#endif
#ifdef MUTANT_NO_RESCALE
        float scale = 1.0f;
#else
        float scale = expf(m - base);
#endif
        float e = expf(score - base);
        sum = sum * scale + e;
        mean = mean * scale + e * value[j];
        m = next;
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
