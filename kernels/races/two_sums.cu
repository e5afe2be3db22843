// The sum and the sum of squares of n values, by a function that sums over the block through one scratch array.
//
//     out[0] = sum of in[i],   out[1] = sum of in[i]^2
//
// MUTANT_NO_REUSE_BARRIER: the second call writes the scratch array while a slower warp still reads the first result.

const int n = 128, warps = n / 32;

__device__ float block_sum(float value, float *scratch)
{
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < warps; ++w)
        sum += scratch[w];
    return sum;
}

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float scratch[warps];
    float x = in[threadIdx.x];

    float sum = block_sum(x, scratch);
#ifndef MUTANT_NO_REUSE_BARRIER
    __syncthreads();
#endif
    float squares = block_sum(x * x, scratch);

    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = squares;
    }
}
