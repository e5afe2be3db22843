// Binary cross-entropy of a score with a label, and its focal form, which weighs it by the square of the error.
//
// STYLE 1: from the definition, by logarithms of the probability and of what it leaves of 1.
// STYLE 2: stable for scores of any size, by log1p of exp(-|x|).

extern "C" __global__ void ENTRY(const float *x, const float *y, float *loss)
{
    int i = threadIdx.x;
    float z = x[i], label = y[i];
#if STYLE == 1
    float p = 1.0f / (1.0f + expf(-z));
    float entropy = -(label * logf(p) + (1.0f - label) * logf(1.0f - p));
    float hit = p * label + (1.0f - p) * (1.0f - label);
    float error = 1.0f - hit;
#else
    float e = expf(-fabsf(z));
    float entropy = fmaxf(z, 0.0f) - z * label + log1pf(
#ifdef MUTANT_NO_MAGNITUDE
        expf(-z)
#else
        e
#endif
    );
    float p = z >= 0.0f ? 1.0f / (1.0f + e) : e / (1.0f + e);
#ifdef MUTANT_HALF_ERROR
    float error = p + label - p * label;
#else
    float error = p + label - 2.0f * p * label;
#endif
#endif
#ifdef FOCAL
    loss[i] = 0.25f * error * error * entropy;
#else
    loss[i] = entropy;
#endif
}
