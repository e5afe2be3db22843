// The gradient of a layer normalisation of 32 values with respect to its input.  With xhat[i] = (x[i] - mean) * rstd
// and h[i] = gamma[i] * dy[i]:
//
//     dx[i] = rstd * (h[i] - sum over j of h[j] / n - xhat[i] * sum over j of h[j] * xhat[j] / n)
//
// PLAIN: each thread works out mean, variance and both sums in loops.
// Else:  one warp, all sums by shuffles, the sum of products with x - mean instead of xhat.

#define n 32

__device__ __forceinline__ float warp_sum(float value)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, d);
    return value;
}

extern "C" __global__ void ENTRY(const float *x, const float *gamma, const float *dy, float *dx)
{
    int i = threadIdx.x;
#ifdef PLAIN
    float mean = 0.0f, var = 0.0f, first = 0.0f, second = 0.0f;
    for (int j = 0; j < n; ++j)
        mean += x[j];
    mean /= n;
    for (int j = 0; j < n; ++j)
        var += (x[j] - mean) * (x[j] - mean);
    float rstd = 1.0f / sqrtf(var / n + 1e-5f);
    for (int j = 0; j < n; ++j) {
        float h = gamma[j] * dy[j];
        first += h;
        second += h * ((x[j] - mean) * rstd);
    }
    float xhat = (x[i] - mean) * rstd;
    dx[i] = rstd * (gamma[i] * dy[i] - first / n - xhat * second / n);
#else
    float value = x[i], h = gamma[i] * dy[i];
    float mean = warp_sum(value) / n, centred = value - mean;
    float rstd = rsqrtf(warp_sum(centred * centred) / n + 1e-5f);
    float first = warp_sum(h), second = warp_sum(h * centred);
#ifdef MUTANT_MISSING_POWER
    dx[i] = rstd * (h - (first + centred * rstd * second) / n);
#else
    dx[i] = rstd * (h - (first + centred * rstd * rstd * second) / n);
#endif
#endif
}
