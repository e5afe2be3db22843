// out[i] = in[63 - i].

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    out[threadIdx.x] = in[63 - threadIdx.x];
}
