// out[0] += in[0] + ... + in[n - 1] by one thread; the others do nothing.

const int n = 128;

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    if (threadIdx.x != 0)
        return;
    float sum = out[0];
    for (int i = 0; i < n; ++i)
        sum += in[i];
    out[0] = sum;
}
