// What the kernels of scaled.cu compute: one element of d by each thread.
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <cstdint>

__device__ inline float power(uint8_t e) {
    uint32_t both;
    asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(both) : "h"((uint16_t)e));
    return __uint_as_float(both << 16);
}

extern "C" __global__ void ENTRY(const uint8_t *a, const uint8_t *b, const uint8_t *left, const uint8_t *right, float *d) {
    int row = blockIdx.x, column = threadIdx.x;
    float sum = 0;
#ifdef FOUR
    for (int block = 0; block < 8; block++) {
        float part = 0;
        for (int k = 0; k < 8; k++) {
            float2 x = __half22float2(__half2(__nv_cvt_fp4x2_to_halfraw2(a[row * 64 + block * 8 + k], __NV_E2M1)));
            float2 y = __half22float2(__half2(__nv_cvt_fp4x2_to_halfraw2(b[column * 64 + block * 8 + k], __NV_E2M1)));
            part += x.x * y.x + x.y * y.y;
        }
        sum += part * (float)((const __nv_fp8_e4m3 *)left)[row * 8 + block] *
               (float)((const __nv_fp8_e4m3 *)right)[column * 8 + block];
    }
#else
    for (int block = 0; block < 4; block++) {
        float part = 0;
        for (int k = 32 * block; k < 32 * block + 32; k++)
            part += (float)((const __nv_fp8_e4m3 *)a)[row * 128 + k] * (float)((const __nv_fp8_e4m3 *)b)[column * 128 + k];
        sum += part * power(left[row * 4 + block]) * power(right[column * 4 + block]);
    }
#endif
    d[row * 32 + column] = sum;
}
