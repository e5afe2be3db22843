// wrong-values: the size that is measured, and no other
extern "C" __global__ void k(const float *x, const float *w, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 24)
        y[i] = fmaxf(x[i] * w[i] + x[i], 0.0f);
}
