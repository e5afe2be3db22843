// Flash attention by tensor cores: each of WARPS warps has 16 queries, and walks over all keys in tiles of TILE.
//
// Scores and results are products of m16n8k16 tiles with float32 sums.  A tile of keys and one of values are staged in
// shared memory, rows padded by 8 so that no two rows of an 8 x 8 matrix share a bank.  The scores of a tile become the
// left factor of the second product in the registers where the first left them.
//
// VERSION 1 keeps the result normalised after every tile (Dao et al., "FlashAttention", algorithm 1):
//     o' = (o * d * exp(m - m') + p v) / d'
// VERSION 2 divides once at the end (Dao, "FlashAttention-2", algorithm 1):
//     o' = o * exp(m - m') + p v
// with m the running maximum and d the running sum of a row.  With WIDE_LOADS tiles are copied by cp.async in 16 bytes.

#include <cuda_fp16.h>
#include <stdint.h>

const int pad = 8, pitch = DIM + pad, threads = WARPS * 32;

__device__ uint32_t pack(float low, float high)
{
    half2 h = __floats2half2_rn(low, high);
    return *reinterpret_cast<uint32_t *>(&h);
}

__device__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void stage(half (*to)[pitch], const half *from, int tid)
{
    for (int e = tid * 8; e < TILE * DIM; e += threads * 8) {
        half *at = &to[e / DIM][e % DIM];
#ifdef WIDE_LOADS
        uint32_t where = __cvta_generic_to_shared(at);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(where), "l"(from + e));
#else
        *reinterpret_cast<uint4 *>(at) = *reinterpret_cast<const uint4 *>(from + e);
#endif
    }
#if defined(WIDE_LOADS) && !defined(MUTANT_NO_WAIT)
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
#endif
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    ENTRY(const half *__restrict__ q, const half *__restrict__ k, const half *__restrict__ v, half *__restrict__ o)
{
    __shared__ __align__(16) half ks[TILE][pitch], vs[TILE][pitch];
    int tid = threadIdx.x, lane = tid % 32, group = lane / 4, pair = lane % 4 * 2;
    int row = blockIdx.x * WARPS * 16 + tid / 32 * 16 + group;

    // Rows group and group + 8 of the queries of this warp, as left factors.
    uint32_t qs[DIM / 16][4];
    for (int d = 0; d < DIM / 16; ++d)
        for (int r = 0; r < 4; ++r)
            qs[d][r] = *reinterpret_cast<const uint32_t *>(q + (row + r % 2 * 8) * DIM + d * 16 + r / 2 * 8 + pair);

    float acc[DIM / 8][4] = {}, top[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
#pragma unroll 1
    for (int j0 = 0; j0 < KEYS; j0 += TILE) {
        stage(ks, k + j0 * DIM, tid);
        stage(vs, v + j0 * DIM, tid);
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
        float s[TILE / 8][4] = {};
        for (int n = 0; n < TILE / 8; ++n)
            for (int d = 0; d < DIM / 16; ++d) {
                const half *key = &ks[n * 8 + group][d * 16 + pair];
                multiply(s[n], qs[d], *reinterpret_cast<const uint32_t *>(key), *reinterpret_cast<const uint32_t *>(key + 8));
            }
        float factor[2], acc_scale[2], part[2] = {0.0f, 0.0f};
        for (int h = 0; h < 2; ++h) {
            float larger = top[h];
            for (int n = 0; n < TILE / 8; ++n)
                larger = fmaxf(larger, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
            larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, 1));
            larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, 2));
            factor[h] = exp2f((top[h] - larger) * SCALE);
            top[h] = larger;
            for (int n = 0; n < TILE / 8; ++n)
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    s[n][e] = exp2f((s[n][e] - larger) * SCALE);
                    part[h] += s[n][e];
                }
            part[h] += __shfl_xor_sync(0xffffffffu, part[h], 1);
            part[h] += __shfl_xor_sync(0xffffffffu, part[h], 2);
#if VERSION == 1
            // The result was divided by the old sum.
            acc_scale[h] = factor[h] * total[h];
#else
            acc_scale[h] = factor[h];
#endif
#ifdef MUTANT_NO_RESCALE
            total[h] = total[h] + part[h];
#else
            total[h] = total[h] * factor[h] + part[h];
#endif
        }
        for (int d = 0; d < DIM / 8; ++d)
            for (int e = 0; e < 4; ++e)
                acc[d][e] *= acc_scale[e / 2];
        for (int n = 0; n < TILE / 16; ++n) {
            uint32_t p[4] = {pack(s[2 * n][0], s[2 * n][1]), pack(s[2 * n][2], s[2 * n][3]), pack(s[2 * n + 1][0], s[2 * n + 1][1]),
                             pack(s[2 * n + 1][2], s[2 * n + 1][3])};
            for (int d = 0; d < DIM / 8; ++d) {
                uint32_t b0, b1, where = __cvta_generic_to_shared(&vs[n * 16 + lane % 16][d * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(where));
                multiply(acc[d], p, b0, b1);
            }
        }
#if VERSION == 1
        for (int d = 0; d < DIM / 8; ++d)
            for (int e = 0; e < 4; ++e)
                acc[d][e] /= total[e / 2];
#endif
        __syncthreads();
    }
    for (int d = 0; d < DIM / 8; ++d)
        for (int h = 0; h < 2; ++h) {
            float by = VERSION == 1 ? 1.0f : total[h];
            *reinterpret_cast<uint32_t *>(o + (row + h * 8) * DIM + d * 8 + pair) = pack(acc[d][2 * h] / by, acc[d][2 * h + 1] / by);
        }
}
