// Layer normalisation of a row of N values, one thread for each; every thread works out mean and variance itself.
//
//     y[i] = (x[i] - mean) / sqrt(var + eps) * gamma[i] + beta[i]
//
// FORM 1, two passes:          var = sum over j of (x[j] - mean)^2 / N
// FORM 2, moments:             var = sum over j of x[j]^2 / N - mean^2
// FORM 3, Welford's recurrence: mean_k = mean_(k-1) + (x_k - mean_(k-1)) / k,
//                               M_k = M_(k-1) + (x_k - mean_(k-1)) * (x_k - mean_k),   var = M_N / N

#ifndef UNROLL
#define UNROLL 1
#endif
constexpr int unroll_count = UNROLL;

#ifdef MUTANT_NO_EPSILON
#define EPS 0.0f
#else
#define EPS 1e-5f
#endif

extern "C" __global__ void ENTRY(const float *x, const float *gamma, const float *beta, float *y)
{
    int i = threadIdx.x;
#if FORM == 1
    float mean = 0.0f;
#pragma unroll unroll_count
    for (int j = 0; j < N; ++j)
        mean += x[j];
    mean /= N;
    float var = 0.0f;
#pragma unroll unroll_count
    for (int j = 0; j < N; ++j)
        var += (x[j] - mean) * (x[j] - mean);
#ifdef MUTANT_UNBIASED
    var /= N - 1;
#else
    var /= N;
#endif
#elif FORM == 2
    float mean = 0.0f, square = 0.0f;
#pragma unroll unroll_count
    for (int j = 0; j < N; ++j) {
        mean += x[j];
        square += x[j] * x[j];
    }
    mean /= N;
#ifdef MUTANT_WRONG_VARIANCE
    float var = square / N - mean;
#else
    float var = square / N - mean * mean;
#endif
#else
    float mean = 0.0f, m = 0.0f;
#pragma unroll unroll_count
    for (int j = 0; j < N; ++j) {
        float delta = x[j] - mean;
        mean += delta / (j + 1);
#ifdef MUTANT_STALE_MEAN
        m += delta * delta;
#else
        m += delta * (x[j] - mean);
#endif
    }
    float var = m / N;
#endif
    y[i] = (x[i] - mean) * rsqrtf(var + EPS) * gamma[i] + beta[i];
}
