// FlashAttention 1 without tensor cores (Dao et al., "FlashAttention", algorithm 1), with little shared memory: of a tile
// of TILE keys, and then of its values, CHUNK columns are staged at a time, with a barrier before and after each.
// Two threads share a query: each computes the scores of every second key, which the other reads from shared memory, and
// half of the columns of every chunk of the result.  The block is 2 * QUERIES threads.
//
//     m' = max(m, max over j of s[j]),   d' = d * exp(m - m') + sum over j of exp(s[j] - m'),
//     o' = (o * d * exp(m - m') + sum over j of exp(s[j] - m') * v[j]) / d'

const int threads = 2 * QUERIES, half_chunk = CHUNK / 2;

extern "C" __global__ void ENTRY(const float *q, const float *k, const float *v, float *o, float scale)
{
    __shared__ float staged[TILE][CHUNK], weights[QUERIES][TILE + 1];
    int tid = threadIdx.x, i = tid / 2, side = tid % 2;
    q += i * DIM;
    o += i * DIM;

    float acc[DIM / 2] = {0.0f}, m = -__builtin_huge_valf(), total = 0.0f;
#pragma unroll 1
    for (int j0 = 0; j0 < KEYS; j0 += TILE) {
        float s[TILE / 2] = {0.0f};
        for (int c = 0; c < DIM; c += CHUNK) {
            for (int e = tid; e < TILE * CHUNK; e += threads)
                staged[e / CHUNK][e % CHUNK] = k[(j0 + e / CHUNK) * DIM + c + e % CHUNK];
            __syncthreads();
            for (int j = 0; j < TILE / 2; ++j)
                for (int d = 0; d < CHUNK; ++d)
                    s[j] += q[c + d] * staged[2 * j + side][d];
            __syncthreads();
        }
        float larger = m;
        for (int j = 0; j < TILE / 2; ++j)
            larger = fmaxf(larger, s[j] * scale);
        larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, 1));
        float part = 0.0f;
        for (int j = 0; j < TILE / 2; ++j) {
            float p = expf(s[j] * scale - larger);
            weights[i][2 * j + side] = p;
            part += p;
        }
        part += __shfl_xor_sync(0xffffffffu, part, 1);
        __syncwarp();
        float next = total * expf(m - larger) + part;
#ifdef MUTANT_NO_RESCALE
        float rescale = total / next;
#else
        float rescale = total * expf(m - larger) / next;
#endif
        for (int c = 0; c < DIM; c += CHUNK) {
            for (int e = tid; e < TILE * CHUNK; e += threads)
                staged[e / CHUNK][e % CHUNK] = v[(j0 + e / CHUNK) * DIM + c + e % CHUNK];
            __syncthreads();
            for (int d = 0; d < half_chunk; ++d) {
                float sum = 0.0f;
                for (int j = 0; j < TILE; ++j)
                    sum += weights[i][j] * staged[j][side * half_chunk + d];
                float *a = &acc[c / 2 + d];
                *a = *a * rescale + sum / next;
            }
#ifndef MUTANT_NO_BARRIER
            __syncthreads();
#endif
        }
#ifdef MUTANT_NO_BARRIER
        __syncwarp();
#endif
        m = larger;
        total = next;
    }
    for (int c = 0; c < DIM; c += CHUNK)
        for (int d = 0; d < half_chunk; ++d)
            o[c + side * half_chunk + d] = acc[c / 2 + d];
}
