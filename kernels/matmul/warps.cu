// Matrix product in three levels: the tile of the CTA is divided among warps, WM x WN elements each, the tile of a
// warp among its lanes, which compute STEPS_M x STEPS_N blocks of TM x TN elements each.  The blocks of one lane are
// WM / STEPS_M rows and WN / STEPS_N columns apart, so that in each step the lanes of a warp cover a dense area:
// (WM / STEPS_M / TM) * (WN / STEPS_N / TN) = 32.  The block is (BM / WM * BN / WN * 32, 1).

#include "tile.cuh"

#define THREADS (BM / WM * BN / WN * 32)
#define AREA_M (WM / STEPS_M)
#define AREA_N (WN / STEPS_N)

static_assert(AREA_M / TM * (AREA_N / TN) == 32, "the lanes of a warp cover one area");

extern "C" __global__ void ENTRY(const float *A, const float *B, float *C, float alpha, float beta)
{
    __shared__ float a[BK * BM];
    __shared__ float b[BK * BN];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row = warp / (BN / WN) * WM + lane / (AREA_N / TN) * TM;
    int column = warp % (BN / WN) * WN + lane % (AREA_N / TN) * TN;

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;

    float sums[STEPS_M][STEPS_N][TM][TN] = {{{{0.0f}}}};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = tid; e < BM * BK; e += THREADS)
            a[e % BK * BM + e / BK] = A[e / BK * K + k0 + e % BK];
        for (int e = tid; e < BK * BN; e += THREADS)
            b[e] = B[(k0 + e / BN) * N + e % BN];
#ifdef MUTANT_WARP_BARRIER
        // Orders the lanes of a warp only, but the tiles are staged by all warps.
        __syncwarp();
#else
        __syncthreads();
#endif

        for (int k = 0; k < BK; ++k) {
            float left[STEPS_M][TM], right[STEPS_N][TN];
            for (int p = 0; p < STEPS_M; ++p)
                for (int i = 0; i < TM; ++i)
                    left[p][i] = a[k * BM + row + p * AREA_M + i];
            for (int q = 0; q < STEPS_N; ++q)
                for (int j = 0; j < TN; ++j)
                    right[q][j] = b[k * BN + column + q * AREA_N + j];
            for (int p = 0; p < STEPS_M; ++p)
                for (int q = 0; q < STEPS_N; ++q)
                    for (int i = 0; i < TM; ++i)
                        for (int j = 0; j < TN; ++j)
                            sums[p][q][i][j] += left[p][i] * right[q][j];
        }
        __syncthreads();
    }

    for (int p = 0; p < STEPS_M; ++p)
        for (int q = 0; q < STEPS_N; ++q)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) {
                    float *c = &C[(row + p * AREA_M + i) * N + column + q * AREA_N + j];
                    *c = RESULT(sums[p][q][i][j], *c);
                }
}
