// The product of two matrices on opaque fragments: four warps, each a 16 x 16 tile of 32 x 32; or split over K, two warps for
// a tile, whose sums meet in shared memory; or stored by the lanes themselves, which takes for granted how sm_80 lays them out.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda::wmma;

extern "C" __global__ void ENTRY(const __half *a, const __half *b, float *c) {
    int warp = threadIdx.x / 32;
    fragment<matrix_a, 16, 16, 16, __half, row_major> x;
    fragment<matrix_b, 16, 16, 16, __half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
#ifdef SPLIT
    __shared__ float part[2][32 * 32];
    int half = warp / 4, row = (warp >> 1 & 1) * 16, col = (warp & 1) * 16;
    for (int k = half * (K / 2); k < (half + 1) * (K / 2); k += 16) {
#else
    int row = (warp >> 1) * 16, col = (warp & 1) * 16;
    for (int k = 0; k < K; k += 16) {
#endif
        load_matrix_sync(x, a + row * K + k, K);
#ifdef MUTANT_WRONG_TILE
        load_matrix_sync(y, b + k * 32, 32);
#else
        load_matrix_sync(y, b + k * 32 + col, 32);
#endif
        mma_sync(sum, x, y, sum);
    }
#ifdef MUTANT_POSITION
    sum.x[0] = sum.x[0] + (float)threadIdx.x;
#endif
#ifdef SPLIT
    store_matrix_sync(part[half] + row * 32 + col, sum, 32, mem_row_major);
#ifndef MUTANT_NO_BARRIER
    __syncthreads();
#endif
    for (int e = threadIdx.x; e < 32 * 32; e += blockDim.x) {
        c[e] = part[0][e] + part[1][e];
    }
#else
#ifdef SCALED
    for (int i = 0; i < sum.num_elements; i++) {
        sum.x[i] = 2.0f * sum.x[i];
    }
    for (int i = 0; i < sum.num_elements; i++) {
        sum.x[i] = 0.5f * sum.x[i];
    }
#endif
#ifdef DIRECT
    // Each lane stores its own elements where sm_80 keeps them.
    for (int i = 0; i < sum.num_elements; i++) {
        int lane = threadIdx.x % 32;
        int r = lane / 4 + (i / 2 % 2) * 8, s = i / 4 * 8 + lane % 4 * 2 + i % 2;
        c[(row + r) * 32 + col + s] = sum.x[i];
    }
#else
    store_matrix_sync(c + row * 32 + col, sum, 32, mem_row_major);
#endif
#endif
}
