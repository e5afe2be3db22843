// Softmax of N scores of which a mask, which is data, takes out some:
//
//     out[i] = keep[i] exp(in[i] - m) / sum over j of keep[j] exp(in[j] - m),   m = max of in[j] over keep[j]
//
// with minus infinity in the place of what is taken out, or by branches, or by a warp.  Where all are taken out there is no
// result; the branches then write zeros.

#include <math.h>

#if defined(WARP)

extern "C" __global__ void ENTRY(const float *in, const int *keep, float *out)
{
    int i = threadIdx.x;
    float v = keep[i] ? in[i] : -INFINITY;
    float m = v;
    for (int k = 16; k; k /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
#ifdef MUTANT_MASK_FORGOTTEN
    float e = expf(in[i] - m);
#else
    float e = expf(v - m);
#endif
    float sum = e;
    for (int k = 16; k; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    out[i] = e / sum;
}

#elif defined(BRANCHES)

extern "C" __global__ void ENTRY(const float *in, const int *keep, float *out)
{
    float m = -INFINITY;
    for (int j = 0; j < N; ++j)
        if (keep[j])
            m = fmaxf(m, in[j]);
    float sum = 0.0f;
    for (int j = 0; j < N; ++j)
        if (keep[j])
            sum += expf(in[j] - m);
    for (int j = 0; j < N; ++j)
        out[j] = keep[j] ? expf(in[j] - m) / sum : 0.0f;
}

#else

extern "C" __global__ void ENTRY(const float *in, const int *keep, float *out)
{
    float m = -INFINITY;
    for (int j = 0; j < N; ++j)
        m = fmaxf(m, keep[j] ? in[j] : -INFINITY);
    float sum = 0.0f;
    for (int j = 0; j < N; ++j)
        sum += expf((keep[j] ? in[j] : -INFINITY) - m);
    for (int j = 0; j < N; ++j)
        out[j] = expf((keep[j] ? in[j] : -INFINITY) - m) / sum;
}

#endif
