// Two arrays one after the other; zeros.

extern "C" __global__ void ENTRY(const float *a, const float *b, float *z, int n, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef ZEROS
    if (i < n + m)
        z[i] = 0.0f;
#else
    if (i < n + m)
        z[i] = i < n ? a[i] : b[i - n];
#endif
}
