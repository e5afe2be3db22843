// A long run of two named barriers: two warps pass a value back and forth ROUNDS times, each adds one of its inputs.
//
//     out[i] = sum over t of in[t % 2][i], t from 0 to 2 * ROUNDS - 1

#include "named.cuh"

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    __shared__ float value[32];
    int lane = threadIdx.x % 32;
    float mine = in[threadIdx.x];

    if (threadIdx.x < 32) {
        float sum = 0.0f;
        for (int t = 0; t < ROUNDS; ++t) {
            value[lane] = sum + mine;
            barrier_arrive(1, 64);
            barrier_sync(2, 64);
            sum = value[lane];
        }
        out[lane] = sum;
    } else {
        for (int t = 0; t < ROUNDS; ++t) {
            barrier_sync(1, 64);
            value[lane] += mine;
            barrier_arrive(2, 64);
        }
    }
}
