// Softmax of N values by N threads in one pass over the input, without shared memory.
// Each thread keeps a running maximum m and a running sum d of exponentials relative to it;
// when the maximum grows, the sum is rescaled:
//
//     m' = max(m, x),   d' = d * exp(m - m') + exp(x - m'),   out[i] = exp(in[i] - m) / d
//
// With FROM_INFINITY the pass starts from m = -infinity and d = 0, else from the first value.

#ifndef UNROLL
#define UNROLL N
#endif
constexpr int unroll_count = UNROLL;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;

#ifdef FROM_INFINITY
    const int first = 0;
    float m = -__builtin_huge_valf(), d = 0.0f;
#else
    const int first = 1;
    float m = in[0], d = 1.0f;
#endif
#ifdef MUTANT_DROPPED_ELEMENT
    const int count = N - 1;
#else
    const int count = N;
#endif

#pragma unroll unroll_count
    for (int j = first; j < count; ++j) {
        float x = in[j];
        float larger = fmaxf(m, x);
#ifdef MUTANT_NO_RESCALE
        d = d + expf(x - larger);
#else
        d = d * expf(m - larger) + expf(x - larger);
#endif
        m = larger;
    }

#ifdef MUTANT_OUT_OF_BOUNDS
    out[i] = expf(in[i + 1] - m) / d;
#else
    out[i] = expf(in[i] - m) / d;
#endif
}
