// A product of numbers of four bits with a factor for each sixteen of them: a is 16 x 64, b 8 x 64, c 16 x 8, the
// factors of a row are four bytes. One warp of sm_120.
#include <cuda_fp4.h>
#include <cuda_fp8.h>

extern "C" __global__ void ENTRY(const unsigned char *a, const unsigned char *b, const __nv_fp8_e4m3 *left,
                                 const __nv_fp8_e4m3 *right, float *c) {
#ifdef PLAIN
    int row = threadIdx.x / 8, column = threadIdx.x % 8;
    float sum = 0;
    for (int block = 0; block < 4; block++) {
        float part = 0;
        for (int k = 0; k < 8; k++) {
            float2 x = __half22float2(__half2(__nv_cvt_fp4x2_to_halfraw2(a[row * 32 + block * 8 + k], __NV_E2M1)));
            float2 y = __half22float2(__half2(__nv_cvt_fp4x2_to_halfraw2(b[column * 32 + block * 8 + k], __NV_E2M1)));
            part += x.x * y.x + x.y * y.y;
        }
        sum += part * (float)left[row * 4 + block] * (float)right[column * 4 + block];
    }
    c[threadIdx.x] = sum;
#else
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned x[4], y[2];
    for (int i = 0; i < 4; i++) {
        x[i] = *(const unsigned *)(a + (g + 8 * (i & 1)) * 32 + 4 * t + 16 * (i >> 1));
    }
    for (int i = 0; i < 2; i++) {
        y[i] = *(const unsigned *)(b + g * 32 + 4 * t + 16 * i);
    }
#ifdef MUTANT_ROWS
    unsigned scale = *(const unsigned *)(left + 4 * g);
#else
    unsigned scale = *(const unsigned *)(left + 4 * (g + 8 * (t & 1)));
#endif
    unsigned other = *(const unsigned *)(right + 4 * g);
#ifdef MUTANT_BLOCKS
    other = __byte_perm(other, 0, 0x3201);
#endif
    float sum[4] = {};
    asm volatile("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {0, 0}, %11, {0, 1};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(scale), "r"(other));
    for (int i = 0; i < 4; i++) {
        c[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = sum[i];
    }
#endif
}
