// Softmax of one row of N values by one thread, with a running maximum and a sum relative to it.
//
// PLAIN takes three passes over the row. The others take one before the last, and say the step in as many ways as kernels do:
//   LARGER   with fmaxf           BRANCH  by a branch that rescales or adds      SELECTED  by choices of the two factors
//   RECORD   by an operator that takes two records and starts from the record of nothing, as reductions over groups do
//   RESCALED by a branch that only rescales, before the value is added
// FIRST is the maximum of nothing for the record.

#ifndef FIRST
#define FIRST -3.402823466e38f
#endif

struct Running {
    float largest, sum;
};

__device__ __forceinline__ Running join(Running a, Running b)
{
    bool first = a.largest > b.largest;
    Running large = first ? a : b;
    Running small = first ? b : a;
#ifdef MUTANT_SMALL_SUM
    return {large.largest, small.sum + large.sum * expf(small.largest - large.largest)};
#else
    return {large.largest, large.sum + small.sum * expf(small.largest - large.largest)};
#endif
}

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    float m, s;
#if defined(PLAIN)
    m = in[0];
    for (int i = 1; i < N; i++) m = fmaxf(m, in[i]);
    s = 0.0f;
    for (int i = 0; i < N; i++) s += expf(in[i] - m);
#elif defined(RECORD)
    Running all = {FIRST, 0.0f};
    for (int i = 0; i < N; i++) all = join(all, Running{in[i], 1.0f});
    m = all.largest;
    s = all.sum;
#else
    m = in[0];
    s = 1.0f;
    for (int i = 1; i < N; i++) {
        float v = in[i];
#if defined(LARGER)
        float n = fmaxf(m, v);
        s = s * expf(m - n) + expf(v - n);
        m = n;
#elif defined(SELECTED)
        float old = v > m ? expf(m - v) : 1.0f;
        float now = v > m ? 1.0f : expf(v - m);
        s = s * old + now;
        m = v > m ? v : m;
#elif defined(RESCALED)
        if (v > m) {
            s *= expf(m - v);
            m = v;
        }
        s += expf(v - m);
#else
        if (v > m) {
#ifdef MUTANT_NO_RESCALE
            s = s + 1.0f;
#else
            s = s * expf(m - v) + 1.0f;
#endif
            m = v;
#ifdef MUTANT_TIES_LOST
        } else if (v < m) {
#else
        } else {
#endif
            s += expf(v - m);
        }
#endif
    }
#endif
    for (int i = 0; i < N; i++) out[i] = expf(in[i] - m) / s;
}
