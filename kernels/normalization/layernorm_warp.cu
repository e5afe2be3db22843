// Layer normalisation of a row of 32 * PER_LANE values by one warp that exchanges its sums by shuffles.
//
//     y[i] = (x[i] - mean) / sqrt(var + eps) * gamma[i] + beta[i],   var = sum over j of (x[j] - mean)^2 / n

const int n = 32 * PER_LANE;

__device__ float warp_sum(float value)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, d);
    return value;
}

extern "C" __global__ void ENTRY(const float *x, const float *gamma, const float *beta, float *y)
{
    int lane = threadIdx.x;
    float values[PER_LANE], sum = 0.0f, squares = 0.0f;

    for (int j = 0; j < PER_LANE; ++j) {
        values[j] = x[lane + 32 * j];
        sum += values[j];
    }
    float mean = warp_sum(sum) / n;
    for (int j = 0; j < PER_LANE; ++j)
        squares += (values[j] - mean) * (values[j] - mean);
    float scale = 1.0f / sqrtf(warp_sum(squares) / n + 1e-5f);

    for (int j = 0; j < PER_LANE; ++j) {
        int i = lane + 32 * j;
#ifdef MUTANT_NO_BETA
        y[i] = (values[j] - mean) * scale * gamma[i];
#else
        y[i] = (values[j] - mean) * scale * gamma[i] + beta[i];
#endif
    }
}
