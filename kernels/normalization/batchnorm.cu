// Batch normalisation with fixed statistics, of 4 channels of 8 values.
//
// PLAIN:  y[c][p] = (x[c][p] - mean[c]) / sqrt(var[c] + eps) * gamma[c] + beta[c]
// Else:   y[c][p] = x[c][p] * scale + shift,   scale = gamma[c] / sqrt(var[c] + eps),   shift = beta[c] - mean[c] * scale

const int pixels = 8;

extern "C" __global__ void ENTRY(const float *x, const float *mean, const float *var, const float *gamma,
                                 const float *beta, float *y)
{
    int i = threadIdx.x, c = i / pixels;
#ifdef PLAIN
    y[i] = (x[i] - mean[c]) / sqrtf(var[c] + 1e-5f) * gamma[c] + beta[c];
#else
    float scale = gamma[c] * rsqrtf(var[c] + 1e-5f);
#ifdef MUTANT_WRONG_SHIFT
    float shift = beta[c] + mean[c] * scale;
#else
    float shift = beta[c] - mean[c] * scale;
#endif
    y[i] = x[i] * scale + shift;
#endif
}
