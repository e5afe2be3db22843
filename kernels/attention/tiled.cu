// Attention in tiles of TILE keys with online softmax.  LANES threads share a query: each holds DIM / LANES values of
// it and of the result, and their partial products are added by shuffles.  Keys and values of a tile are staged in
// shared memory.  For each tile, with scores s[j]:
//
//     m' = max(m, max over j of s[j]),   d' = d * exp(m - m') + sum over j of exp(s[j] - m'),
//     o' = o * exp(m - m') + sum over j of exp(s[j] - m') * v[j],   and at the end o / d
//
// Keys that are not visible (see masks.cuh) have the score -infinity.  The block is QUERIES * LANES threads; with GROUPS,
// a CTA is one head, and head h uses the keys and values of head h / GROUPS.

#include "masks.cuh"

#ifndef GROUPS
#define GROUPS 1
#endif

const int part = DIM / LANES, threads = QUERIES * LANES;

extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, float *o, float scale, int length)
{
    __shared__ float ks[TILE][DIM], vs[TILE][DIM];
    int tid = threadIdx.x, i = tid / LANES, first = tid % LANES * part;
    int h = blockIdx.x;
#ifdef MUTANT_WRONG_HEAD
    k += h % GROUPS * KEYS * DIM;
#else
    k += h / GROUPS * KEYS * DIM;
#endif
    v += h / GROUPS * KEYS * DIM;
    q += (h * QUERIES + i) * DIM + first;
    o += (h * QUERIES + i) * DIM + first;

    float qs[part], acc[part];
    for (int d = 0; d < part; ++d) {
#ifdef MUTANT_NO_SCALE
        qs[d] = q[d];
#else
        qs[d] = q[d] * scale;
#endif
        acc[d] = 0.0f;
    }
    float m = -__builtin_huge_valf(), sum = 0.0f;

#pragma unroll 1
    for (int j0 = 0; j0 < KEYS; j0 += TILE) {
        for (int e = tid; e < TILE * DIM; e += threads) {
            ks[e / DIM][e % DIM] = k[j0 * DIM + e];
            vs[e / DIM][e % DIM] = v[j0 * DIM + e];
        }
        __syncthreads();

        float s[TILE], larger = m;
        for (int j = 0; j < TILE; ++j) {
            s[j] = 0.0f;
            for (int d = 0; d < part; ++d)
                s[j] += qs[d] * ks[j][first + d];
            for (int distance = LANES / 2; distance > 0; distance /= 2)
                s[j] += __shfl_xor_sync(0xffffffffu, s[j], distance);
            if (!visible(i, j0 + j, length))
                s[j] = -__builtin_huge_valf();
            larger = fmaxf(larger, s[j]);
        }
        float rescale = expf(m - larger);
        sum *= rescale;
#ifndef MUTANT_NO_RESCALE
        for (int d = 0; d < part; ++d)
            acc[d] *= rescale;
#endif
        for (int j = 0; j < TILE; ++j) {
            float p = expf(s[j] - larger);
            sum += p;
            for (int d = 0; d < part; ++d)
                acc[d] += p * vs[j][first + d];
        }
        m = larger;
#ifndef MUTANT_NO_BARRIER
        __syncthreads();
#endif
    }
    for (int d = 0; d < part; ++d)
        o[d] = acc[d] / sum;
}
