// Softmax of N values by N threads, with the maximum subtracted so that no exponential overflows:
//
//     m = max(in),   out[i] = exp(in[i] - m) / sum over j of exp(in[j] - m)
//
// The values, and then their exponentials, are shared by all threads through one array.

#ifndef UNROLL
#define UNROLL N
#endif
constexpr int unroll_count = UNROLL;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float s[N];
    int i = threadIdx.x;

    s[i] = in[i];
    __syncthreads();

    float m = s[0];
#pragma unroll unroll_count
    for (int j = 1; j < N; ++j)
        m = fmaxf(m, s[j]);
#ifndef MUTANT_NO_REUSE_BARRIER
    // The array is about to be overwritten: every thread must have read the maximum.
    __syncthreads();
#endif

#ifdef MUTANT_WRONG_COEFFICIENT
    s[i] = expf(2.0f * (s[i] - m));
#else
    s[i] = expf(s[i] - m);
#endif
    __syncthreads();

    float sum = 0.0f;
#pragma unroll unroll_count
    for (int j = 0; j < N; ++j)
        sum += s[j];

#ifdef MUTANT_OFF_BY_ONE
    out[i] = s[(i + 1) % N] / sum;
#else
    out[i] = s[i] / sum;
#endif
}
