// An 8 by 8 product whose result goes through the shared memory that held the first factor.
//
// MUTANT_NO_REUSE_BARRIER: results are written while slower threads still read the factor.

const int n = 8;

extern "C" __global__ void ENTRY(const float *a, const float *b, float *out)
{
    __shared__ union {
        float factor[n * n];
        float result[n * n];
    } u;
    int i = threadIdx.x;
    u.factor[i] = a[i];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += u.factor[i / n * n + k] * b[k * n + i % n];
#ifndef MUTANT_NO_REUSE_BARRIER
    __syncthreads();
#endif
    u.result[i] = sum;
    __syncthreads();
    out[i] = u.result[i ^ (n - 1)];
}
