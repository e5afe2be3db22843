// The product of two matrices, element by element: c = a * b, 32 x 32 x K, without tensor cores.
#include <cuda_fp16.h>

#ifdef INTEGER
typedef signed char Input;
typedef int Sum;
#else
typedef __half Input;
typedef float Sum;
#endif

extern "C" __global__ void ENTRY(const Input *a, const Input *b, Sum *c) {
    for (int e = threadIdx.x; e < 32 * 32; e += blockDim.x) {
        int row = e / 32, col = e % 32;
        Sum sum = 0;
        for (int k = 0; k < K; k++) {
#ifdef B_BY_COLUMNS
            sum += (Sum)a[row * K + k] * (Sum)b[col * K + k];
#else
            sum += (Sum)a[row * K + k] * (Sum)b[k * 32 + col];
#endif
        }
        c[e] = sum;
    }
}
