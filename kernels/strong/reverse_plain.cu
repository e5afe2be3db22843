extern "C" __global__ void ENTRY(const float *x, float *out)
{
    out[threadIdx.x] = 2 * x[blockDim.x - 1 - threadIdx.x];
}
