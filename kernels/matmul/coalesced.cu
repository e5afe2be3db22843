// Matrix product, neighbouring threads work on neighbouring columns: their accesses to B and C are one transaction.
// The block has one dimension and any size that divides BM * BN.

#include "tile.cuh"

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    for (int e = threadIdx.x; e < BM * BN; e += blockDim.x) {
        int row = blockIdx.y * BM + e / BN;
        int column = blockIdx.x * BN + e % BN;
        float sum = 0.0f;
        for (int k = 0; k < DEPTH; ++k)
            sum += A[row * K + k] * B[k * N + column];
        C[row * N + column] = RESULT(sum, C[row * N + column]);
    }
}
