// Matrix product, each thread computes TM output elements of one column: a value of B is read from shared memory
// once and used TM times.  The block is (BM / TM * BN, 1).

#include "tile.cuh"

#define THREADS (BM / TM * BN)

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    __shared__ float a[BM * BK];
    __shared__ float b[BK * BN];
    int tid = threadIdx.x;
    int column = tid % BN, row = tid / BN * TM;

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    float sums[TM] = {0.0f};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += THREADS)
            a[e] = A[e / BK * K + k0 + e % BK];
        for (int e = tid; e < BK * BN; e += THREADS)
            b[e] = B[(k0 + e / BN) * N + e % BN];
        __syncthreads();

        for (int k = 0; k < BK; ++k) {
            float right = b[k * BN + column];
            for (int i = 0; i < TM; ++i)
#ifdef MUTANT_OFF_BY_ONE
                sums[i] += a[(row + i) * BK + (k + 1) % BK] * right;
#else
                sums[i] += a[(row + i) * BK + k] * right;
#endif
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        float *c = &C[(row + i) * N + column];
        *c = RESULT(sums[i], *c);
    }
}
