// A product of 8-bit integer matrices whose results are the 32-bit sums themselves: A is 16 x 32, B is 32 x 8 and stored by
// columns.
//
//     C[r][c] = sum over k of A[r][k] * B[k][c]      modulo 2^32
//
// METHOD 1: one by one.  METHOD 2: the words of a dot product shared by four threads.  METHOD 3: by tensor cores.

#include <stdint.h>

const int rows = 16, columns = 8, depth = 32;

extern "C" __global__ void ENTRY(const int8_t *A, const int8_t *B, int *C)
{
#if METHOD == 1
    int r = threadIdx.x / columns, c = threadIdx.x % columns, sum = 0;
#pragma unroll 1
    for (int k = 0; k < depth; ++k)
        sum += int(A[r * depth + k]) * int(B[c * depth + k]);
    C[threadIdx.x] = sum;
#elif METHOD == 2
    int of = (blockIdx.x * blockDim.x + threadIdx.x) / 4, part = threadIdx.x % 4, sum = 0;
    const int *a = reinterpret_cast<const int *>(A + of / columns * depth);
    const int *b = reinterpret_cast<const int *>(B + of % columns * depth);
    for (int k = part; k < depth / 4; k += 4)
        sum = __dp4a(a[k], b[k], sum);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
#ifdef MUTANT_WRONG_LANE
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
#else
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
#endif
    if (part == 0)
        C[of] = sum;
#else
    int group = threadIdx.x / 4, pair = threadIdx.x % 4;
    const int8_t *a = A + group * depth + pair * 4, *b = B + group * depth + pair * 4;
    auto word = [](const int8_t *p) { return *reinterpret_cast<const uint32_t *>(p); };
    int d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(word(a)), "r"(word(a + 8 * depth)), "r"(word(a + 16)), "r"(word(a + 8 * depth + 16)), "r"(word(b)),
                   "r"(word(b + 16)));
    for (int e = 0; e < 4; ++e)
        C[(group + e / 2 * 8) * columns + pair * 2 + e % 2] = d[e];
#endif
}
