// The online softmax with the number of values as a parameter; one thread for each i < n.
//
//     m' = max(m, x),   d' = d * exp(m - m') + exp(x - m'),   out[i] = exp(in[i] - m) / d

extern "C" __global__ void ENTRY(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i >= n)
        return;

    float m = in[0], d = 1.0f;
#ifdef MUTANT_OFF_BY_ONE
    for (int j = 2; j < n; ++j) {
#else
    for (int j = 1; j < n; ++j) {
#endif
        float x = in[j];
        float larger = fmaxf(m, x);
        d = d * expf(m - larger) + expf(x - larger);
        m = larger;
    }
    out[i] = expf(in[i] - m) / d;
}
