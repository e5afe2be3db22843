// Operators of integers: ELEMENT is the type of the elements of x and y, OP says what is stored of a and b.

typedef signed char byte;

extern "C" __global__ void ENTRY(const ELEMENT *x, const ELEMENT *y, int *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#ifdef DOT
    int sum = 0;
    for (int k = 0; k < 8; ++k)
        sum += (int)x[8 * i + k] * (int)y[k];
    z[i] = sum;
#else
    long long a = x[i], b = y[i];
    z[i] = OP;
#endif
}
