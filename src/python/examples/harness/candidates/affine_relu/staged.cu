// proved: through shared memory
extern "C" __global__ void k(const float *x, const float *w, float *y, int n)
{
    __shared__ float s[16];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? w[i] : 0.0f;
    __syncthreads();
    if (i < n)
        y[i] = fmaxf(fmaf(s[t], x[i], x[i]), 0.0f);
}
