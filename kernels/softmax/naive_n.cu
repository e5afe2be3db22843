// The naive softmax with the number of values as a parameter: shared memory is dynamic, n floats.
//
//     out[i] = exp(in[i]) / (exp(in[0]) + ... + exp(in[n-1])),   one thread for each i < n

extern "C" __global__ void ENTRY(const float *in, float *out, int n)
{
    extern __shared__ float e[];
    int i = threadIdx.x;

    if (i < n)
        e[i] = expf(in[i]);
    __syncthreads();

    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < n; ++j)
            sum += e[j];
        out[i] = e[i] / sum;
    }
}
