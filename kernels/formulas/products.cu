// Matrix product, attention with and without a causal mask, and convolution with padding, one thread for each element.

#include <math.h>

extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, float *z, int n, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = threadIdx.y;
    if (i >= n || j >= d)
        return;
    float out = 0.0f;
#if defined MATMUL
    for (int l = 0; l < d; ++l)
        out += q[i * d + l] * k[l * d + j];
#elif defined CONVOLUTION
    for (int l = 0; l < d; ++l)
        if (i + l - d / 2 >= 0 && i + l - d / 2 < n)
            out += q[i + l - d / 2] * k[l * d + j];
#else
    float sum = 0.0f;
    for (int t = 0; t < n; ++t) {
        float score = 0.0f;
        for (int l = 0; l < d; ++l)
            score += q[i * d + l] * k[t * d + l];
#ifdef CAUSAL
        if (t > i)
            continue;
#endif
        float weight = expf(score * rsqrtf((float)d));
        sum += weight;
        out += weight * v[t * d + j];
    }
    out /= sum;
#endif
    z[i * d + j] = out;
}
