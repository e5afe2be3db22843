extern "C" __global__ void ENTRY(const float *x, float *out)
{
    if (threadIdx.x < 32)
        out[threadIdx.x] = 2 * x[31 - threadIdx.x];
}
