// Floats rounded to integers: OP says what is stored of a.

#define LIMITED(low) __float2int_rd(fminf(127.0f, fmaxf(low, a)))

extern "C" __global__ void ENTRY(const float *x, int *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i];
    z[i] = OP;
}
