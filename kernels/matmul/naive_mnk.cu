// Matrix product with the sizes as parameters, one output element a thread, for any block of two dimensions.
//
//     C = alpha * A * B + beta * C      A is m x k, B is k x n, C is m x n, all row-major
//
// Threads outside of C do nothing.

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;

    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
        sum += A[row * k + i] * B[i * n + column];
    C[row * n + column] = alpha * sum + beta * C[row * n + column];
}
