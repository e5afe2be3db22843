// A matrix product whose depth is a parameter, for measuring how time and memory grow: C = A B, A is 64 x depth, B is
// depth x 64, all row-major.  PLAIN computes one output element after the other; else 64 x BK and BK x 64 tiles are
// staged and each thread computes TM x TN elements.  BK is 16 and divides depth.  The block is (64 / TM * 64 / TN, 1).

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, int depth)
{
#ifdef PLAIN
    for (int e = threadIdx.x; e < 64 * 64; e += blockDim.x) {
        float sum = 0.0f;
        for (int k = 0; k < depth; ++k)
            sum += A[e / 64 * depth + k] * B[k * 64 + e % 64];
        C[e] = sum;
    }
#else
    const int BK = 16, threads = 64 / TM * 64 / TN;
    __shared__ float a[BK][64], b[BK][64];
    int tid = threadIdx.x, row = tid / (64 / TN) * TM, column = tid % (64 / TN) * TN;
    float sums[TM][TN] = {{0.0f}};
#pragma unroll 1
    for (int k0 = 0; k0 < depth; k0 += BK) {
        for (int e = tid; e < 64 * BK; e += threads) {
            a[e % BK][e / BK] = A[e / BK * depth + k0 + e % BK];
            b[e / 64][e % 64] = B[(k0 + e / 64) * 64 + e % 64];
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sums[i][j] += a[k][row + i] * b[k][column + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            C[(row + i) * 64 + column + j] = sums[i][j];
#endif
}
