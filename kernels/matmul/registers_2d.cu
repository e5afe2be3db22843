// Matrix product, each thread computes TM x TN output elements as a sum of outer products of a column of TM values
// of A and a row of TN values of B, both held in registers.  The block is (BM / TM * BN / TN, 1).

#include "tile.cuh"

#define THREADS (BM / TM * BN / TN)

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    __shared__ float a[BM * BK];
    __shared__ float b[BK * BN];
    int tid = threadIdx.x;
    int row = tid / (BN / TN) * TM, column = tid % (BN / TN) * TN;

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    float sums[TM][TN] = {{0.0f}};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += THREADS)
            a[e] = A[e / BK * K + k0 + e % BK];
        for (int e = tid; e < BK * BN; e += THREADS)
            b[e] = B[(k0 + e / BN) * N + e % BN];
        __syncthreads();

        for (int k = 0; k < BK; ++k) {
            float left[TM], right[TN];
            for (int i = 0; i < TM; ++i)
                left[i] = a[(row + i) * BK + k];
            for (int j = 0; j < TN; ++j)
                right[j] = b[k * BN + column + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sums[i][j] += left[i] * right[j];
        }
#ifndef MUTANT_NO_BARRIER_AFTER_USE
        __syncthreads();
#endif
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            float *c = &C[(row + i) * N + column + j];
            *c = RESULT(sums[i][j], *c);
        }
}
