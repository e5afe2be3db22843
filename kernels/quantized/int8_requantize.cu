// A product of 8-bit integer matrices whose 32-bit sums are made 8-bit integers again: A is 32 x 128, B is 128 x 32 and
// stored by columns.
//
//     C[r][c] = clamp((sum over k of A[r][k] * B[k][c] + 2^9) >> 10, -128, 127)
//
// METHOD 1: one by one.  METHOD 2: four threads have a quarter of the words each, last ones first, and add up their parts.
// METHOD 3: by tensor cores whose sums saturate, which none of these does.

#include <stdint.h>

const int rows = 32, columns = 32, depth = 128;

__device__ int8_t narrow(int sum)
{
    int v = (sum + (1 << 9)) >> 10;
#ifndef MUTANT_NO_CLAMP
    v = min(max(v, -128), 127);
#endif
    return int8_t(v);
}

extern "C" __global__ void ENTRY(const int8_t *A, const int8_t *B, int8_t *C)
{
#if METHOD == 1
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
        int sum = 0;
#pragma unroll 1
        for (int k = 0; k < depth; ++k)
            sum += int(A[i / columns * depth + k]) * int(B[i % columns * depth + k]);
        C[i] = narrow(sum);
    }
#elif METHOD == 2
    int part = threadIdx.x % 4;
    for (int i = threadIdx.x / 4; i < rows * columns; i += blockDim.x / 4) {
        const int *a = reinterpret_cast<const int *>(A + i / columns * depth + part * (depth / 4));
        const int *b = reinterpret_cast<const int *>(B + i % columns * depth + part * (depth / 4));
        int sum = 0;
        for (int k = depth / 16 - 1; k >= 0; --k)
            sum = __dp4a(a[k], b[k], sum);
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (part == 0)
            C[i] = narrow(sum);
    }
#else
    int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
    int row = warp / 2 * 16 + group, first = warp % 2 * 16;
    auto word = [](const int8_t *p) { return *reinterpret_cast<const uint32_t *>(p); };
    for (int column = first; column < first + 16; column += 8) {
        int d[4] = {0, 0, 0, 0};
        for (int k = 0; k < depth; k += 32) {
            const int8_t *a = A + row * depth + k + pair * 4, *b = B + (column + group) * depth + k + pair * 4;
#ifdef MUTANT_UNSIGNED
#define TYPES "s32.u8.s8.s32"
#else
#define TYPES "s32.s8.s8.s32"
#endif
            asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite." TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                         "{%0,%1,%2,%3};"
                         : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                         : "r"(word(a)), "r"(word(a + 8 * depth)), "r"(word(a + 16)), "r"(word(a + 8 * depth + 16)),
                           "r"(word(b)), "r"(word(b + 16)));
        }
        for (int e = 0; e < 4; ++e)
            C[(row + e / 2 * 8) * columns + column + pair * 2 + e % 2] = narrow(d[e]);
    }
#endif
}
