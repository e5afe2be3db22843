extern "C" __global__ void ENTRY(const float *a, const float *b, float *c)
{
    float s = 0;
    for (int k = 0; k < N; k++)
        s += a[threadIdx.x * N + k] * b[k];
    c[threadIdx.x] = s;
}
