// Softmax of 32 values by one warp: maximum and sum travel between the lanes by shuffles.
//
//     m = max(in),   out[i] = exp(in[i] - m) / sum over j of exp(in[j] - m)
//
// With LOG the logarithm of that: out[i] = in[i] - m - log(sum over j of exp(in[j] - m)).

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int lane = threadIdx.x;
    float x = in[lane];

    float m = x;
    for (int d = 16; d > 0; d /= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    float e = expf(x - m);
    float sum = e;
#ifdef MUTANT_DROPPED_ROUND
    for (int d = 16; d > 1; d /= 2)
#else
    for (int d = 16; d > 0; d /= 2)
#endif
        sum += __shfl_xor_sync(0xffffffffu, sum, d);

#ifdef LOG
    out[lane] = x - m - logf(sum);
#else
    out[lane] = e / sum;
#endif
}
