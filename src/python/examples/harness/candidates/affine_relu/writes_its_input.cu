// wrong-values: the next run gets another input
extern "C" __global__ void k(const float *x, const float *w, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = fmaxf(x[i] * w[i] + x[i], 0.0f);
        y[i] = v;
        ((float *)x)[i] = v;
    }
}
