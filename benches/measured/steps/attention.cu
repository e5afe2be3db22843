// Attention of one head: softmax(scale Q K') V.
//
// size 128x96: queries=128 keys=96
// size 77x53: queries=77 keys=53
// arg in:f32[{queries},16]
// arg in:f32[{keys},16]
// arg in:f32[{keys},16]
// arg out:f32[{queries},16]
// arg {queries}
// arg {keys}
// step 0 | 64 | {ceildiv(queries,64)} | a thread a query, scores computed twice
// step 1 | 128 | {ceildiv(queries,4)} | a warp a query, scores in shared memory | no barrier of the warp before the scores are read
// step 2 | 64 | {ceildiv(queries,64)} | a thread a query, one pass with a running maximum | the output keeps the old maximum
// step 3 | 64 | {ceildiv(queries,64)} | keys and values staged in tiles of 32 | no barrier before a tile is overwritten
// step 4 | 64 | {ceildiv(queries,64)} | a maximum for eight keys, base 2 | the scale lacks the factor of base 2
// step 5 | 128 | {ceildiv(queries,32)} | four lanes a query, merged by shuffles, a reciprocal | the output of the other lane is not rescaled
#include "common.cuh"
#define D 16
#define SCALE 0.25f

static __device__ __forceinline__ float dot(const float *a, const float *b) {
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < D; i++) s += a[i] * b[i];
    return s;
}

extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *o, int queries, int keys) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= queries) return;
    float m = NEVER, sum = 0.f, acc[D] = {};
    for (int j = 0; j < keys; j++) m = fmaxf(m, dot(q + r * D, k + j * D) * SCALE);
    for (int j = 0; j < keys; j++) {
        float p = expf(dot(q + r * D, k + j * D) * SCALE - m);
        sum += p;
        for (int i = 0; i < D; i++) acc[i] += p * v[j * D + i];
    }
    for (int i = 0; i < D; i++) o[r * D + i] = acc[i] / sum;
#elif STEP == 1
    __shared__ float scores[4][128];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, r = blockIdx.x * 4 + warp;
    if (r >= queries) return;
    float m = NEVER, sum = 0.f;
    for (int j = lane; j < keys; j += 32) {
        float s = dot(q + r * D, k + j * D) * SCALE;
        scores[warp][j] = s;
        m = fmaxf(m, s);
    }
    m = warp_max(m);
    for (int j = lane; j < keys; j += 32) {
        float p = expf(scores[warp][j] - m);
        scores[warp][j] = p;
        sum += p;
    }
    sum = warp_sum(sum);
    if (!SLIP) __syncwarp();
    // Half of the keys for each half of the warp.
    float acc = 0.f;
    for (int j = lane / D; j < keys; j += 2) acc += scores[warp][j] * v[j * D + lane % D];
    acc += __shfl_xor_sync(ALL, acc, 16);
    if (lane < D) o[r * D + lane] = acc / sum;
#elif STEP <= 4
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float m = NEVER, sum = 0.f, acc[D] = {}, mine[D];
#if STEP == 2
    if (r >= queries) return;
    for (int i = 0; i < D; i++) mine[i] = q[r * D + i];
    for (int j = 0; j < keys; j++) {
        float s = dot(mine, k + j * D) * SCALE, most = fmaxf(m, s), old = expf(m - most), p = expf(s - most);
        sum = sum * old + p;
        for (int i = 0; i < D; i++) acc[i] = (SLIP ? acc[i] : acc[i] * old) + p * v[j * D + i];
        m = most;
    }
#else
    __shared__ float ks[32][D], vs[32][D];
    for (int i = 0; i < D; i++) mine[i] = r < queries ? q[r * D + i] : 0.f;
    for (int at = 0; at < keys; at += 32) {
        int here = min(32, keys - at);
        for (int i = threadIdx.x; i < here * D; i += blockDim.x) {
            ks[i / D][i % D] = k[at * D + i];
            vs[i / D][i % D] = v[at * D + i];
        }
        __syncthreads();
#if STEP == 3
        for (int j = 0; j < here; j++) {
            float s = dot(mine, ks[j]) * SCALE, most = fmaxf(m, s), old = expf(m - most), p = expf(s - most);
            sum = sum * old + p;
            for (int i = 0; i < D; i++) acc[i] = acc[i] * old + p * vs[j][i];
            m = most;
        }
        if (!SLIP) __syncthreads();
#else
        for (int j = 0; j < here; j += 8) {
            float s[8], most = m;
#pragma unroll
            for (int u = 0; u < 8; u++) {
                s[u] = j + u < here ? dot(mine, ks[j + u]) * (SLIP ? SCALE : SCALE * LOG2E) : NEVER;
                most = fmaxf(most, s[u]);
            }
            float old = exp2f(m - most);
            sum *= old;
            for (int i = 0; i < D; i++) acc[i] *= old;
#pragma unroll
            for (int u = 0; u < 8; u++)
                if (j + u < here) {
                    float p = exp2f(s[u] - most);
                    sum += p;
                    for (int i = 0; i < D; i++) acc[i] += p * vs[j + u][i];
                }
            m = most;
        }
        __syncthreads();
#endif
    }
    if (r >= queries) return;
#endif
    for (int i = 0; i < D; i++) o[r * D + i] = acc[i] / sum;
#else
    int r = blockIdx.x * 32 + threadIdx.x / 4, part = threadIdx.x % 4;
    float m = NEVER, sum = 0.f, acc[D] = {}, mine[D];
    for (int i = 0; i < D; i++) mine[i] = r < queries ? q[r * D + i] * (SCALE * LOG2E) : 0.f;
    for (int j = part; j < keys; j += 4) {
        float s = dot(mine, k + j * D), most = fmaxf(m, s), old = exp2f(m - most), p = exp2f(s - most);
        sum = fmaf(sum, old, p);
#pragma unroll
        for (int i = 0; i < D; i++) acc[i] = fmaf(acc[i], old, p * v[j * D + i]);
        m = most;
    }
#pragma unroll
    for (int w = 1; w < 4; w *= 2) {
        float other = __shfl_xor_sync(ALL, m, w), most = fmaxf(m, other), a = exp2f(m - most), b = exp2f(other - most);
        sum = sum * a + __shfl_xor_sync(ALL, sum, w) * b;
#pragma unroll
        for (int i = 0; i < D; i++) acc[i] = acc[i] * a + __shfl_xor_sync(ALL, acc[i], w) * (SLIP ? a : b);
        m = most;
    }
    float inverse = 1.f / sum;
#pragma unroll
    for (int i = 0; i < D; i++)
        if (r < queries && i / 4 == part) o[r * D + i] = acc[i] * inverse;
#endif
}
