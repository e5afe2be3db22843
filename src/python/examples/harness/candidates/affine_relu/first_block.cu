// wrong-values: the first block only
extern "C" __global__ void k(const float *x, const float *w, float *y, int n)
{
    int i = threadIdx.x;
    if (blockIdx.x == 0 && i < n)
        y[i] = fmaxf(x[i] * w[i] + x[i], 0.0f);
}
