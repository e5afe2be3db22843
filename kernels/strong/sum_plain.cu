// out[0] = x[0] + ... + x[N - 1], by one thread.
extern "C" __global__ void ENTRY(const float *x, float *out)
{
    float a = 0;
    for (int i = 0; i < N; i++)
        a += x[i];
    out[0] = a;
}
