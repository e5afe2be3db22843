// Cross-entropy of 4 rows of 8 scores with target probabilities t:
//
//     loss[r] = -sum over j of t[r][j] * log_softmax(x[r])[j]
//
// PLAIN: one thread a row, -sum of t[j] * log(exp(x[j]) / sum).
// Else:  one thread a row, sum of t[j] * (m + log(d) - x[j]) with a running maximum m and a rescaled sum d.

const int n = 8;

extern "C" __global__ void ENTRY(const float *x, const float *t, float *loss)
{
    int r = threadIdx.x;
    x += r * n;
    t += r * n;
    float result = 0.0f;
#ifdef PLAIN
    float sum = 0.0f;
    for (int j = 0; j < n; ++j)
        sum += expf(x[j]);
    for (int j = 0; j < n; ++j)
        result -= t[j] * logf(expf(x[j]) / sum);
#else
    float m = x[0], d = 1.0f;
    for (int j = 1; j < n; ++j) {
        float larger = fmaxf(m, x[j]);
        d = d * expf(m - larger) + expf(x[j] - larger);
        m = larger;
    }
    float lse = m + logf(d);
#ifdef MUTANT_UNIT_MASS
    for (int j = 0; j < n; ++j)
        result -= t[j] * x[j];
    result += lse;
#else
    for (int j = 0; j < n; ++j)
        result += t[j] * (lse - x[j]);
#endif
#endif
    loss[r] = result;
}
