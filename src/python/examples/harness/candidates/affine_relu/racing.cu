// race: without a barrier
extern "C" __global__ void k(const float *x, const float *w, float *y, int n)
{
    __shared__ float s[16];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[15 - t] = i < n ? w[i] : 0.0f;
    float u = s[t];
    if (i < n)
        y[i] = fmaxf(u * x[i] + x[i], 0.0f);
}
