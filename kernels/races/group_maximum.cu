// Values divided by one more than the largest magnitude of their group of 32; the last group is not full.
//
// MUTANT_EARLY_RETURN: threads without a value return, and leave a part of the scratch array unwritten.
// MUTANT_NO_GUARD: they read beyond the input.

const int n = 100;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float magnitude[128];
    int i = threadIdx.x;
#ifdef MUTANT_EARLY_RETURN
    if (i >= n)
        return;
#endif
#ifdef MUTANT_NO_GUARD
    float x = in[i];
#else
    float x = i < n ? in[i] : 0.0f;
#endif
    magnitude[i] = fabsf(x);
    __syncthreads();
    float largest = 0.0f;
    for (int j = 0; j < 32; ++j)
        largest = fmaxf(largest, magnitude[i / 32 * 32 + j]);
    if (i < n)
        out[i] = x / (largest + 1.0f);
}
