// C = f(A * B + bias) for 8 x 8 matrices, with one bias for each column and 64 threads.
//
// RELU: f(x) = max(x, 0).  SILU: f(x) = x / (1 + exp(-x)).
//
// UNFUSED: three steps, each over a matrix in a scratch array.  Else: in registers, with A and B in shared memory.

const int n = 8;

#ifdef RELU
__device__ float activate(float x) { return fmaxf(x, 0.0f); }
__device__ float activate_again(float x) { return x > 0.0f ? x : 0.0f; }
#else
__device__ float activate(float x) { return x / (1.0f + expf(-x)); }
__device__ float activate_again(float x) { return x * (1.0f / (1.0f + expf(-x))); }
#endif

extern "C" __global__ void ENTRY(const float *A, const float *B, const float *bias, float *C, float *scratch)
{
    int i = threadIdx.x, r = i / n, c = i % n;
#ifdef UNFUSED
    float sum = 0.0f;
    for (int k = 0; k < n; ++k)
        sum += A[r * n + k] * B[k * n + c];
    scratch[i] = sum;
    __syncthreads();
    // The second and the third step are done by other threads than the first.
    int j = n * n - 1 - i;
    scratch[j] = scratch[j] + bias[j % n];
    __syncthreads();
    C[i] = activate(scratch[i]);
#else
    __shared__ float a[n][n], b[n][n + 1];
    a[r][c] = A[i];
    b[r][c] = B[i];
    __syncthreads();
#ifdef MUTANT_BIAS_AFTER
    float sum = 0.0f;
#else
    float sum = bias[c];
#endif
#pragma unroll
    for (int k = 0; k < n; ++k)
        sum += a[r][k] * b[k][c];
#ifdef MUTANT_BIAS_AFTER
    C[i] = activate_again(sum) + bias[c];
#elif defined(MUTANT_NO_ACTIVATION)
    C[i] = sum;
#else
    C[i] = activate_again(sum);
#endif
#endif
}
