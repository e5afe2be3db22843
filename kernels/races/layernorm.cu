// Layer normalisation of a row of n values by n threads: the warps exchange their sums through shared memory.
//
//     mean = sum of x / n,   var = sum of x^2 / n - mean^2,   y[i] = (x[i] - mean) / sqrt(var + eps) * gamma[i] + beta[i]
//
// MUTANT_NO_BARRIER: the sums are read without waiting for the other warps.

const int n = 128, warps = n / 32;

extern "C" __global__ void ENTRY(const float *x, const float *gamma, const float *beta, float *y)
{
    __shared__ float sums[warps], squares[warps];
    int i = threadIdx.x, warp = i / 32, lane = i % 32;

    float value = x[i], sum = value, square = value * value;
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
        square += __shfl_xor_sync(0xffffffffu, square, d);
    }
    if (lane == 0) {
        sums[warp] = sum;
        squares[warp] = square;
    }
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    sum = square = 0.0f;
    for (int w = 0; w < warps; ++w) {
        sum += sums[w];
        square += squares[w];
    }
    float mean = sum / n;
    float var = square / n - mean * mean;
    y[i] = (value - mean) * rsqrtf(var + 1e-5f) * gamma[i] + beta[i];
}
