// denied: it adds up in f16
#include <cuda_fp16.h>

extern "C" __global__ void sums(const __half *x, float *y, int rows, int columns)
{
    x += blockIdx.x * columns;
    int t = threadIdx.x;
    __half s = __float2half(0.0f);
    for (int j = t; j < columns; j += 32)
        s = __hadd(s, x[j]);
    for (int d = 16; d > 0; d /= 2)
        s = __hadd(s, __shfl_down_sync(0xffffffffu, s, d));
    if (t == 0)
        y[blockIdx.x] = __half2float(s);
}
