// Flash attention by tensor cores where everything but one fragment lives in shared memory: the scores of a block of ROWS
// queries and TILE keys, their exponentials, the results and the running maximum and sum of each row.
//
// Both products are staged in slices of 16 columns, so that shared memory holds a block of the results instead of the
// operands: two barriers for each slice.  The four threads of a row exchange their parts through shared memory, and since
// they are of one warp, a barrier of the warp is enough.
//
// VERSION 1 walks over the keys and for each of their blocks over all queries, and keeps the results normalised (Dao et
// al., "FlashAttention", algorithm 1).  VERSION 2 walks over the queries and for each of their blocks over all keys, and
// divides once at the end (Dao, "FlashAttention-2", algorithm 1).

#include <cuda_fp16.h>
#include <stdint.h>

const int slice = 16, pitch = slice + 8, lanes_of_row = 128 / ROWS, columns = TILE / lanes_of_row;
// Rows that stay in shared memory from block to block.
const int kept = VERSION == 1 ? QUERIES : ROWS;

__device__ void multiply(float (&c)[4], const half *a, uint32_t b0, uint32_t b1, int pitch_a)
{
    uint32_t a0 = *reinterpret_cast<const uint32_t *>(a), a1 = *reinterpret_cast<const uint32_t *>(a + 8 * pitch_a);
    uint32_t a2 = *reinterpret_cast<const uint32_t *>(a + 8), a3 = *reinterpret_cast<const uint32_t *>(a + 8 * pitch_a + 8);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Copies 16 columns of some rows; each thread from `first` on has 8 of them.
__device__ void stage(half (*to)[pitch], const half *from, int rows, int first)
{
    int t = threadIdx.x - first;
    if (t >= 0 && t < rows * 2)
        *reinterpret_cast<uint4 *>(&to[t / 2][t % 2 * 8]) = *reinterpret_cast<const uint4 *>(from + t / 2 * DIM + t % 2 * 8);
}

extern "C" __global__ void __launch_bounds__(128)
    ENTRY(const half *__restrict__ q, const half *__restrict__ k, const half *__restrict__ v, half *__restrict__ o)
{
    __shared__ __align__(16) half qs[ROWS][pitch], ks[TILE][pitch], ps[ROWS][TILE + 8];
    __shared__ float scores[ROWS][TILE + 4], parts[ROWS][lanes_of_row], scale[ROWS];
    __shared__ float out[kept][DIM + 4], top[kept], total[kept];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, group = lane / 4, pair = lane % 4 * 2;
    // The fragment of this warp: 16 rows and 8 columns.
    int r0 = warp % (ROWS / 16) * 16 + group, c0 = warp / (ROWS / 16) * 8;
    // The row of this thread, and its columns of the scores.
    int row = tid / lanes_of_row, part = tid % lanes_of_row;

#if VERSION == 1
    for (int e = tid; e < QUERIES * DIM; e += 128)
        out[e / DIM][e % DIM] = 0.0f;
    if (tid < QUERIES)
        top[tid] = -INFINITY, total[tid] = 0.0f;
#pragma unroll 1
    for (int j0 = 0; j0 < KEYS; j0 += TILE)
#pragma unroll 1
        for (int i0 = 0; i0 < QUERIES; i0 += ROWS) {
            int base = i0;
#else
#pragma unroll 1
    for (int i0 = 0; i0 < QUERIES; i0 += ROWS) {
        for (int e = tid; e < ROWS * DIM; e += 128)
            out[e / DIM][e % DIM] = 0.0f;
        if (tid < ROWS)
            top[tid] = -INFINITY, total[tid] = 0.0f;
#pragma unroll 1
        for (int j0 = 0; j0 < KEYS; j0 += TILE) {
            const int base = 0;
#endif
            float s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (int d = 0; d < DIM; d += slice) {
                __syncthreads();
                stage(qs, q + i0 * DIM + d, ROWS, 0);
                stage(ks, k + j0 * DIM + d, TILE, ROWS * 2);
                __syncthreads();
                const half *key = &ks[c0 + group][pair];
                multiply(s, &qs[r0][pair], *reinterpret_cast<const uint32_t *>(key), *reinterpret_cast<const uint32_t *>(key + 8), pitch);
            }
            for (int e = 0; e < 4; ++e)
                scores[r0 + e / 2 * 8][c0 + pair + e % 2] = s[e];
            __syncthreads();

            float mine[columns], largest = -INFINITY;
            for (int c = 0; c < columns; ++c) {
                mine[c] = scores[row][part * columns + c];
                largest = fmaxf(largest, mine[c]);
            }
            parts[row][part] = largest;
            __syncwarp();
            float before = top[base + row], now = before;
            for (int p = 0; p < lanes_of_row; ++p)
                now = fmaxf(now, parts[row][p]);
            float factor = exp2f((before - now) * SCALE), sum = 0.0f;
            for (int c = 0; c < columns; ++c) {
                float e = exp2f((mine[c] - now) * SCALE);
                ps[row][part * columns + c] = __float2half(e);
                sum += e;
            }
#ifndef MUTANT_NO_WARP_BARRIER
            __syncwarp();
#endif
            parts[row][part] = sum;
            __syncwarp();
            if (part == 0) {
                float old = total[base + row], next = old;
#ifndef MUTANT_NO_RESCALE
                next *= factor;
#endif
                for (int p = 0; p < lanes_of_row; ++p)
                    next += parts[row][p];
                // In version 1 the result was divided by the old sum.
                scale[row] = VERSION == 1 ? factor * old : factor;
                total[base + row] = next;
                top[base + row] = now;
            }

            for (int d = 0; d < DIM; d += slice) {
                stage(ks, v + j0 * DIM + d, TILE, 0);
                __syncthreads();
                float *at = &out[base + r0][d + c0 + pair];
                float s0 = scale[r0], s1 = scale[r0 + 8];
                float acc[4] = {at[0] * s0, at[1] * s0, at[8 * (DIM + 4)] * s1, at[8 * (DIM + 4) + 1] * s1};
                for (int n = 0; n < TILE; n += 16) {
                    uint32_t b0, b1, where = __cvta_generic_to_shared(&ks[n + lane % 16][c0]);
                    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(where));
                    multiply(acc, &ps[r0][n + pair], b0, b1, TILE + 8);
                }
                for (int e = 0; e < 4; ++e)
                    at[e / 2 * 8 * (DIM + 4) + e % 2] = VERSION == 1 ? acc[e] / total[base + r0 + e / 2 * 8] : acc[e];
                __syncthreads();
            }
        }
#if VERSION == 2
        for (int e = tid; e < ROWS * DIM; e += 128)
            o[i0 * DIM + e] = __float2half(out[e / DIM][e % DIM] / total[e / DIM]);
        __syncthreads();
    }
#else
    for (int e = tid; e < QUERIES * DIM; e += 128)
        o[e] = __float2half(out[e / DIM][e % DIM]);
#endif
}
