// What the other kernels compute: one element of d by each thread, from rows of a and of b.
#include <cuda_fp16.h>
#ifndef K
#define K 16
#endif
extern "C" __global__ void ENTRY(const __half *a, const __half *b, float *d) {
    int i = blockIdx.x, j = threadIdx.x, n = blockDim.x;
    float s = 0;
    for (int k = 0; k < K; k++) {
#ifdef LANES
        // The upper rows are those of the second half of b.
        int row = i < 64 ? j : n + j;
#else
        int row = j;
#endif
        s += __half2float(a[i * K + k]) * __half2float(b[row * K + k]);
    }
    d[i * n + j] = s;
}
