// The logarithm of the softmax of N values, each thread works from the input alone.
//
// STYLE 1, from the definition: out[i] = in[i] - log(sum over j of exp(in[j]))
// STYLE 2, the maximum m first: out[i] = in[i] - m - log(sum over j of exp(in[j] - m))
// STYLE 3, in one pass:         out[i] = in[i] - (m + log(d)), with a running maximum m and a rescaled sum d

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int i = threadIdx.x;
    float x = in[i];
#if STYLE == 1
    float sum = 0.0f;
    for (int j = 0; j < N; ++j)
        sum += expf(in[j]);
#ifdef MUTANT_LOG_OF_PRODUCT
    out[i] = x * logf(sum);
#else
    out[i] = x - logf(sum);
#endif
#elif STYLE == 2
    float m = in[0];
    for (int j = 1; j < N; ++j)
        m = fmaxf(m, in[j]);
    float sum = 0.0f;
#ifdef MUTANT_DROPPED_ELEMENT
    for (int j = 1; j < N; ++j)
#else
    for (int j = 0; j < N; ++j)
#endif
        sum += expf(in[j] - m);
    out[i] = x - m - logf(sum);
#else
    float m = in[0], d = 1.0f;
    for (int j = 1; j < N; ++j) {
        float y = in[j];
        float larger = fmaxf(m, y);
#ifdef MUTANT_NO_RESCALE
        d += expf(y - larger);
#else
        d = d * expf(m - larger) + expf(y - larger);
#endif
        m = larger;
    }
    out[i] = x - (m + logf(d));
#endif
}
