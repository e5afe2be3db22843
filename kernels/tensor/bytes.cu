// A product of bytes whose result is bytes, transposed: a is 32 x 16 (by columns of the factor), b 8 x 32, c 8 x 16.
// One warp of sm_120: ldmatrix transposes a on its way, stmatrix the result.
extern "C" __global__ void ENTRY(const signed char *a, const signed char *b, signed char *c) {
#ifdef PLAIN
    int m = threadIdx.x % 16, n = threadIdx.x / 16, sum = 0;
    for (int k = 0; k < 32; k++) {
        sum += a[k * 16 + m] * b[n * 32 + k];
    }
    c[n * 16 + m] = sum >> 4;
#else
    __shared__ __align__(16) signed char rows[32][48];
    __shared__ __align__(16) signed char columns[8][32];
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    *(int4 *)rows[lane] = *(const int4 *)(a + lane * 16);
#ifndef MUTANT_NO_BARRIER
    __syncwarp();
#endif
    unsigned x[4], y[2];
    unsigned from = (unsigned)__cvta_generic_to_shared(rows[lane]);
    asm volatile("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from) : "memory");
    for (int i = 0; i < 2; i++) {
        y[i] = *(const unsigned *)(b + g * 32 + 4 * t + 16 * i);
    }
#ifdef MUTANT_ORDER
    unsigned z = x[1];
    x[1] = x[2], x[2] = z;
#endif
    int sum[4] = {};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    unsigned bytes = 0;
    for (int i = 0; i < 4; i++) {
        bytes |= (sum[i] >> 4 & 255) << 8 * i;
    }
    unsigned to = (unsigned)__cvta_generic_to_shared(columns[lane % 8]);
    asm volatile("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%0], {%1};" ::"r"(to), "r"(bytes) : "memory");
    __syncwarp();
    *(int *)(c + lane * 4) = *(const int *)&columns[lane / 4][4 * (lane % 4)];
#endif
}
