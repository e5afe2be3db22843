// Softmax of 32 values by one warp in one pass: each lane holds a pair (m, d) of a maximum and a sum of exponentials
// relative to it, and pairs are merged by shuffles:
//
//     m = max(m1, m2),   d = d1 * exp(m1 - m) + d2 * exp(m2 - m),   out[i] = exp(in[i] - m) / d
//
// With LOG the logarithm of that.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int lane = threadIdx.x;
    float x = in[lane];

    float m = x, d = 1.0f;
    for (int distance = 16; distance > 0; distance /= 2) {
        float m2 = __shfl_xor_sync(0xffffffffu, m, distance);
        float d2 = __shfl_xor_sync(0xffffffffu, d, distance);
        float larger = fmaxf(m, m2);
#ifdef MUTANT_NO_RESCALE
        d = d * expf(m - larger) + d2;
#else
        d = d * expf(m - larger) + d2 * expf(m2 - larger);
#endif
        m = larger;
    }

#ifdef LOG
    out[lane] = x - (m + logf(d));
#else
    out[lane] = expf(x - m) / d;
#endif
}
