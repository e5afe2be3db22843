extern "C" __global__ void ENTRY(const float *x, float *out)
{
    float a = 0;
    for (int i = 0; i <= threadIdx.x; i++)
        a += x[i];
    out[threadIdx.x] = a;
}
