// proved: the same by another formula
extern "C" __global__ void k(const float *x, const float *w, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i] * (w[i] + 1.0f);
        y[i] = v > 0.0f ? v : 0.0f;
    }
}
