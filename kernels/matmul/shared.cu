// Matrix product through shared memory: tiles of A (BM x BK) and B (BK x BN) are staged, each thread then
// computes output elements of one column from them, ROWS rows apart.  The block is (BN, ROWS); ROWS divides BM.

#include "tile.cuh"

#ifndef ROWS
#define ROWS BM
#endif

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    __shared__ float a[BM][BK];
    __shared__ float b[BK][BN];
    int x = threadIdx.x, y = threadIdx.y;
    int tid = y * BN + x;
    int top = blockIdx.y * BM, left = blockIdx.x * BN;

    float sums[BM / ROWS] = {0.0f};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += ROWS * BN)
            a[e / BK][e % BK] = A[(top + e / BK) * K + k0 + e % BK];
        for (int e = tid; e < BK * BN; e += ROWS * BN)
            b[e / BN][e % BN] = B[(k0 + e / BN) * N + left + e % BN];
#ifndef MUTANT_NO_BARRIER_BEFORE_USE
        __syncthreads();
#endif
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < BM / ROWS; ++i)
                sums[i] += a[y + i * ROWS][k] * b[k][x];
#ifndef MUTANT_NO_BARRIER_AFTER_USE
        __syncthreads();
#endif
    }

    for (int i = 0; i < BM / ROWS; ++i) {
        float *c = &C[(top + y + i * ROWS) * N + left + x];
        *c = RESULT(sums[i], *c);
    }
}
