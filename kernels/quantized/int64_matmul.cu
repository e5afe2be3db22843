// A product of 64-bit integer matrices, modulo 2^64: A is 16 x 96, B is 96 x 16 and stored by columns.
//
//     C[r][c] = sum over k of A[r][k] * B[k][c]
//
// METHOD 1: one by one.  METHOD 2: by tiles in shared memory, each from its end, a sum for each half of the depth.

#include <stdint.h>

const int rows = 16, columns = 16, depth = 96, tile = 16;

extern "C" __global__ void ENTRY(const int64_t *A, const int64_t *B, int64_t *C)
{
    int r = threadIdx.x / columns, c = threadIdx.x % columns;
#if METHOD == 1
    int64_t sum = 0;
    for (int k = 0; k < depth; ++k)
        sum += A[r * depth + k] * B[c * depth + k];
    C[threadIdx.x] = sum;
#else
    __shared__ int64_t a[rows][tile + 1], b[columns][tile + 1];
    int64_t sum[2] = {0, 0};
    for (int half = 0; half < 2; ++half) {
        for (int from = half * depth / 2; from < (half + 1) * depth / 2; from += tile) {
            a[r][c] = A[r * depth + from + c];
            b[r][c] = B[r * depth + from + c];
            __syncthreads();
#ifdef MUTANT_OFF_BY_ONE
            for (int k = tile - 1; k > 0; --k)
#else
            for (int k = tile - 1; k >= 0; --k)
#endif
                sum[half] += a[r][k] * b[c][k];
            __syncthreads();
        }
    }
    C[threadIdx.x] = sum[0] + sum[1];
#endif
}
