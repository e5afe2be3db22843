// Matrix product, one output element after the other: threads that are neighbours in x work on neighbouring rows,
// so that their accesses to A and C are far apart.  The block has two dimensions and any size.

#include "tile.cuh"

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    for (int i = threadIdx.x; i < BM; i += blockDim.x) {
        for (int j = threadIdx.y; j < BN; j += blockDim.y) {
            int row = blockIdx.y * BM + i;
            int column = blockIdx.x * BN + j;
            float sum = 0.0f;
            for (int k = 0; k < DEPTH; ++k)
                sum += A[row * K + k] * B[k * N + column];
            C[row * N + column] = RESULT(sum, C[row * N + column]);
        }
    }
}
