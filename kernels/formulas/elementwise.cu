// Operators of one element: OP says which, of x and y (where it takes two).

#include <math.h>

extern "C" __global__ void ENTRY(const float *x, const float *y, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = y ? y[i] : 0.0f;
    z[i] = OP;
}
