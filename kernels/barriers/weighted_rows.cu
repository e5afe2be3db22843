// out[i] = sum over t of (t + 1) * (in[t][31 - i] + in[t][(i + 1) % 32]), one thread for each of 32 outputs.

extern "C" __global__ void ENTRY(const float *in, float *out)
{
    int lane = threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < ROWS; ++t)
        sum += float(t + 1) * in[t * 32 + 31 - lane] + float(t + 1) * in[t * 32 + (lane + 1) % 32];
    out[lane] = sum;
}
