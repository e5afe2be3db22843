// A row for each CTA: its maximum or mean by a tree over the block, then every element.
#define SIZE 256
__device__ float tree(float *s, float v, int t) {
    s[t] = v;
    __syncthreads();
    for (int k = SIZE / 2; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
#ifndef NO_BARRIER_IN_TREE
        __syncthreads();
#endif
    }
    float sum = s[0];
#ifndef NO_LAST_BARRIER
    __syncthreads();
#endif
    return sum;
}
extern "C" __global__ void __launch_bounds__(SIZE) ENTRY(const float *x, float *y, int n) {
    __shared__ float s[SIZE];
    int t = threadIdx.x;
    const float *row = x + (long long)blockIdx.x * n;
    float *out = y + (long long)blockIdx.x * n;
    float v = 0.0f;
    for (int i = t; i < n; i += SIZE) v += row[i];
    float mean = tree(s, v, t) / n;
    v = 0.0f;
    for (int i = t; i < n; i += SIZE) v += (row[i] - mean) * (row[i] - mean);
    float deviation = tree(s, v, t) / n;
#ifdef OUT_BY_BLOCK
    for (int i = t; i < n; i += SIZE / 2) out[i] = (row[i] - mean) * rsqrtf(deviation + 1e-5f) + t;
#else
    for (int i = t; i < n; i += SIZE) out[i] = (row[i] - mean) * rsqrtf(deviation + 1e-5f);
#endif
}
