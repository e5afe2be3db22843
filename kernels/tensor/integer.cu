// The product of two matrices of bytes by mma.sync on integers: 32 x 32 x K, four warps, b by columns.
extern "C" __global__ void ENTRY(const signed char *a, const signed char *b, int *c) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int row = (warp >> 1) * 16, col = (warp & 1) * 16;
    int sum[2][4] = {};
    for (int k = 0; k < K; k += 32) {
        unsigned x[4];
        for (int i = 0; i < 4; i++) {
            x[i] = *(const unsigned *)(a + (row + g + 8 * (i & 1)) * K + k + 4 * t + 16 * (i >> 1));
        }
        for (int n = 0; n < 2; n++) {
            unsigned y[2];
            for (int i = 0; i < 2; i++) {
                y[i] = *(const unsigned *)(b + (col + 8 * n + g) * K + k + 4 * t + 16 * i);
            }
#ifdef MUTANT_SWAPPED
            unsigned z = y[0];
            y[0] = y[1], y[1] = z;
#endif
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                         "{%0, %1, %2, %3};"
                         : "+r"(sum[n][0]), "+r"(sum[n][1]), "+r"(sum[n][2]), "+r"(sum[n][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
    }
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 4; i++) {
            c[(row + g + 8 * (i / 2)) * 32 + col + 8 * n + 2 * t + i % 2] = sum[n][i];
        }
    }
}
