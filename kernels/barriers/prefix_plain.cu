// out[i] = in[0] + ... + in[i], each thread adds up what it needs.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    float sum = 0.0f;
    for (int j = 0; j <= threadIdx.x; ++j)
        sum += in[j];
    out[threadIdx.x] = sum;
}
