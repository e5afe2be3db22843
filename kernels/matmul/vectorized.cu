// Matrix product with 16-byte accesses: like registers_2d, but tiles are copied four values at a time, the tile of A
// is transposed while it is stored, so that a thread's column of A is contiguous, and results are written four at a
// time.  TN is 4; BK, BN, N and K are multiples of 4, and so is TM.  The block is (BM / TM * BN / TN, 1).

#include "tile.cuh"

#define THREADS (BM / TM * BN / TN)

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    __shared__ __align__(16) float a[BK * BM];
    __shared__ __align__(16) float b[BK * BN];
    int tid = threadIdx.x;
    int row = tid / (BN / TN) * TM, column = tid % (BN / TN) * TN;

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    float sums[TM][TN] = {{0.0f}};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = 4 * tid; e < BM * BK; e += 4 * THREADS) {
            int i = e / BK, k = e % BK;
            float4 v = *reinterpret_cast<const float4 *>(&A[i * K + k0 + k]);
            a[(k + 0) * BM + i] = v.x;
#ifdef MUTANT_SWAPPED_COMPONENTS
            a[(k + 1) * BM + i] = v.z;
            a[(k + 2) * BM + i] = v.y;
#else
            a[(k + 1) * BM + i] = v.y;
            a[(k + 2) * BM + i] = v.z;
#endif
            a[(k + 3) * BM + i] = v.w;
        }
        for (int e = 4 * tid; e < BK * BN; e += 4 * THREADS)
            *reinterpret_cast<float4 *>(&b[e]) =
                *reinterpret_cast<const float4 *>(&B[(k0 + e / BN) * N + e % BN]);
        __syncthreads();

        for (int k = 0; k < BK; ++k) {
            float left[TM], right[TN];
            for (int i = 0; i < TM; ++i)
                left[i] = a[k * BM + row + i];
            for (int j = 0; j < TN; ++j)
                right[j] = b[k * BN + column + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        float4 *c = reinterpret_cast<float4 *>(&C[(row + i) * N + column]);
        float4 v = *c;
        v.x = RESULT(sums[i][0], v.x);
        v.y = RESULT(sums[i][1], v.y);
        v.z = RESULT(sums[i][2], v.z);
        v.w = RESULT(sums[i][3], v.w);
        *c = v;
    }
}
