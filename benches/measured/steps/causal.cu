// Causal attention of one head: query i sees keys 0 to i.
//
// size 128x96: n=96
// size 77x53: n=53
// arg in:f32[{n},16]
// arg in:f32[{n},16]
// arg in:f32[{n},16]
// arg out:f32[{n},16]
// arg {n}
// step 0 | 32 | {ceildiv(n,32)} | a thread a query over all keys, masked by minus infinity
// step 1 | 32 | {ceildiv(n,32)} | the loop ends at the diagonal | the diagonal is masked too, but for the first query
// step 2 | 32 | {ceildiv(n,32)} | one pass with a running maximum | the sum keeps the old maximum
// step 3 | 32 | {ceildiv(n,32)} | tiles of 16 in shared memory, those above the diagonal skipped | tiles are skipped that the first query of the CTA does not need
// step 4 | 128 | {ceildiv(n,4)} | a warp a query, a running maximum for each lane | one key beyond the diagonal is seen
// step 5 | 32 | {ceildiv(n,64)} | two queries a thread share keys, base 2 | the second query has the mask of the first
#include "common.cuh"
#define D 16
#define SCALE 0.25f

static __device__ __forceinline__ float dot(const float *a, const float *b) {
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < D; i++) s += a[i] * b[i];
    return s;
}

extern "C" __global__ void causal(const float *q, const float *k, const float *v, float *o, int n) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float m = NEVER, sum = 0.f, acc[D] = {};
    for (int j = 0; j < n; j++) m = fmaxf(m, j <= r ? dot(q + r * D, k + j * D) * SCALE : NEVER);
    for (int j = 0; j < n; j++) {
        float p = expf((j <= r ? dot(q + r * D, k + j * D) * SCALE : NEVER) - m);
        sum += p;
        for (int i = 0; i < D; i++) acc[i] += p * v[j * D + i];
    }
    for (int i = 0; i < D; i++) o[r * D + i] = acc[i] / sum;
#elif STEP <= 3
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float m = NEVER, sum = 0.f, acc[D] = {}, mine[D];
#if STEP == 1
    if (r >= n) return;
    int end = SLIP && r > 0 ? r : r + 1;
    for (int j = 0; j < end; j++) m = fmaxf(m, dot(q + r * D, k + j * D) * SCALE);
    for (int j = 0; j < end; j++) {
        float p = expf(dot(q + r * D, k + j * D) * SCALE - m);
        sum += p;
        for (int i = 0; i < D; i++) acc[i] += p * v[j * D + i];
    }
#elif STEP == 2
    if (r >= n) return;
    for (int i = 0; i < D; i++) mine[i] = q[r * D + i] * SCALE;
    for (int j = 0; j <= r; j++) {
        float s = dot(mine, k + j * D), most = fmaxf(m, s), old = expf(m - most), p = expf(s - most);
        sum = (SLIP ? sum : sum * old) + p;
        for (int i = 0; i < D; i++) acc[i] = acc[i] * old + p * v[j * D + i];
        m = most;
    }
#else
    __shared__ float ks[16][D], vs[16][D];
    for (int i = 0; i < D; i++) mine[i] = r < n ? q[r * D + i] * SCALE : 0.f;
    int last = min((int)(blockIdx.x * 32 + 31), n - 1);
    for (int at = 0; at <= (SLIP ? (int)(blockIdx.x * 32) : last); at += 16) {
        for (int i = threadIdx.x; i < 16 * D; i += 32) {
            bool in = at * D + i < n * D;
            ks[i / D][i % D] = in ? k[at * D + i] : 0.f;
            vs[i / D][i % D] = in ? v[at * D + i] : 0.f;
        }
        __syncthreads();
        for (int j = 0; j < 16 && at + j <= r; j++) {
            float s = dot(mine, ks[j]), most = fmaxf(m, s), old = expf(m - most), p = expf(s - most);
            sum = sum * old + p;
            for (int i = 0; i < D; i++) acc[i] = acc[i] * old + p * vs[j][i];
            m = most;
        }
        __syncthreads();
    }
    if (r >= n) return;
#endif
    for (int i = 0; i < D; i++) o[r * D + i] = acc[i] / sum;
#elif STEP == 4
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= n) return;
    float m = NEVER, sum = 0.f, acc[D] = {};
    for (int j = lane; j <= (SLIP ? min(r + 1, n - 1) : r); j += 32) {
        float s = dot(q + r * D, k + j * D) * SCALE, most = fmaxf(m, s), old = expf(m - most), p = expf(s - most);
        sum = sum * old + p;
#pragma unroll
        for (int i = 0; i < D; i++) acc[i] = acc[i] * old + p * v[j * D + i];
        m = most;
    }
    // A lane without keys has a weight of 0.
    float most = warp_max(m), weight = expf(m - most);
    sum = warp_sum(sum * weight);
#pragma unroll
    for (int i = 0; i < D; i++) {
        float all = warp_sum(acc[i] * weight);
        if (lane == i) o[r * D + i] = all / sum;
    }
#else
    int r = blockIdx.x * 64 + threadIdx.x, s = r + 32;
    float ma = NEVER, mb = NEVER, sa = 0.f, sb = 0.f, qa[D], qb[D], a[D] = {}, b[D] = {};
    if (r >= n) return;
    for (int i = 0; i < D; i++) {
        qa[i] = q[r * D + i] * (SCALE * LOG2E);
        qb[i] = s < n ? q[s * D + i] * (SCALE * LOG2E) : 0.f;
    }
    for (int j = 0; j <= min(s, n - 1); j++) {
        if (j <= r) {
            float d = dot(qa, k + j * D), most = fmaxf(ma, d), old = exp2f(ma - most), p = exp2f(d - most);
            sa = sa * old + p;
            for (int i = 0; i < D; i++) a[i] = a[i] * old + p * v[j * D + i];
            ma = most;
        }
        if (!SLIP || j <= r) {
            float d = dot(qb, k + j * D), most = fmaxf(mb, d), old = exp2f(mb - most), p = exp2f(d - most);
            sb = sb * old + p;
            for (int i = 0; i < D; i++) b[i] = b[i] * old + p * v[j * D + i];
            mb = most;
        }
    }
    for (int i = 0; i < D; i++) {
        o[r * D + i] = a[i] / sa;
        if (s < n) o[s * D + i] = b[i] / sb;
    }
#endif
}
