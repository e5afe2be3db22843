// Softmax of N values by N threads, straight from the definition:
//
//     out[i] = exp(in[i]) / (exp(in[0]) + ... + exp(in[N-1]))
//
// Each thread puts its exponential into shared memory, then sums all of them.
// N and the unroll count are fixed at compile time.

#ifndef UNROLL
#define UNROLL N
#endif
constexpr int unroll_count = UNROLL;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float e[N];
    int i = threadIdx.x;

    e[i] = expf(in[i]);
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif

    float sum = 0.0f;
#ifdef MUTANT_DROPPED_ELEMENT
    const int count = N - 1;
#else
    const int count = N;
#endif
#pragma unroll unroll_count
    for (int j = 0; j < count; ++j)
        sum += e[j];

    out[i] = e[i] / sum;
}
