// Attention over queries and keys that are brought to unit length first: 8 queries, 8 keys, 4 numbers each.
//
//     o[i] = sum over j of softmax(10 * q[i] . k[j] / (|q[i]| |k[j]|)) * v[j],  |x| = sqrt(x . x + eps)
//
// STYLE 1: one thread a query, from the definition, relative to the largest score.
// STYLE 2: keys are scaled once in shared memory, and the softmax is taken in one pass from -inf on.

#define T 8
#define D 4

extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, float *o)
{
    int i = threadIdx.x;
#if STYLE == 1
    float square = 0.0f, score[T], m = -INFINITY, sum = 0.0f;
    for (int d = 0; d < D; ++d)
        square += q[i * D + d] * q[i * D + d];
    float scale = rsqrtf(square + 1e-6f);
    for (int j = 0; j < T; ++j) {
        float own = 0.0f, dot = 0.0f;
        for (int d = 0; d < D; ++d) {
            own += k[j * D + d] * k[j * D + d];
            dot += q[i * D + d] * k[j * D + d];
        }
        score[j] = dot * scale * rsqrtf(own + 1e-6f) * 10.0f;
        m = fmaxf(m, score[j]);
    }
    for (int j = 0; j < T; ++j)
        sum += score[j] = expf(score[j] - m);
    for (int d = 0; d < D; ++d) {
        float a = 0.0f;
        for (int j = 0; j < T; ++j)
            a += score[j] * v[j * D + d];
        o[i * D + d] = a / sum;
    }
#else
    __shared__ float unit[T * D];
    float own = 0.0f, square = 0.0f;
    for (int d = 0; d < D; ++d) {
        own += k[i * D + d] * k[i * D + d];
        square += q[i * D + d] * q[i * D + d];
    }
    for (int d = 0; d < D; ++d)
        unit[i * D + d] = k[i * D + d] * rsqrtf(own + 1e-6f);
    __syncthreads();
    float scale = 10.0f * rsqrtf(square + 1e-6f), m = -INFINITY, sum = 0.0f, acc[D] = {};
    for (int j = 0; j < T; ++j) {
        float s = 0.0f;
        for (int d = 0; d < D; ++d)
            s += q[i * D + d] * unit[j * D + d];
        s *= scale;
        float larger = fmaxf(m, s), rescale = expf(m - larger), p = expf(s - larger);
        sum = sum * rescale + p;
        for (int d = 0; d < D; ++d)
#ifdef MUTANT_NO_RESCALE
            acc[d] = acc[d] + p * v[j * D + d];
#else
            acc[d] = acc[d] * rescale + p * v[j * D + d];
#endif
        m = larger;
    }
    for (int d = 0; d < D; ++d)
        o[i * D + d] = acc[d] / sum;
#endif
}
