// The gradient of a softmax of 32 values:
//
//     dx[i] = y[i] * (dy[i] - sum over j of dy[j] * y[j]),   y = softmax(x)
//
// PLAIN: 32 threads; each works out all of y, and sums the columns of the Jacobian y[i] * ((i == j) - y[j]).
// Else:  one warp, maximum, sum and product by shuffles.

#define n 32

extern "C" __global__ void ENTRY(const float *x, const float *dy, float *dx)
{
    int i = threadIdx.x;
#ifdef PLAIN
    float sum = 0.0f;
    for (int j = 0; j < n; ++j)
        sum += expf(x[j]);
    float result = 0.0f, mine = expf(x[i]) / sum;
    for (int j = 0; j < n; ++j)
        result += dy[j] * (mine * ((i == j ? 1.0f : 0.0f) - expf(x[j]) / sum));
    dx[i] = result;
#else
    float m = x[i];
    for (int d = 16; d > 0; d /= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    float e = expf(x[i] - m), sum = e;
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    float y = e / sum, dot = dy[i] * y;
    for (int d = 16; d > 0; d /= 2)
        dot += __shfl_xor_sync(0xffffffffu, dot, d);
#ifdef MUTANT_NO_DOT
    dx[i] = y * dy[i];
#else
    dx[i] = y * (dy[i] - dot);
#endif
#endif
}
