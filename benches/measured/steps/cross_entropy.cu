// The cross-entropy loss of each row: log of the sum of exponentials, less the logit of the target.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{cols}]
// arg in:s32[{rows}]
// arg out:f32[{rows}]
// arg {rows}
// arg {cols}
// assume 1 in 0..{cols}
// step 0 | 64 | {ceildiv(rows,64)} | a thread a row, two passes
// step 1 | 128 | {ceildiv(rows,4)} | a warp a row, shuffles | the target's logit of the first row
// step 2 | 128 | {rows} | a CTA a row, partial results of its warps in shared memory | no barrier before they are read
// step 3 | 128 | {ceildiv(rows,4)} | maximum and sum in one pass | the sum keeps the old maximum
// step 4 | 128 | {ceildiv(rows,4)} | base 2 | the logarithm stays in base 2
// step 5 | 128 | {ceildiv(rows,4)} | two columns a lane, the target's logit kept as it passes | it is looked for in the first column alone
#include "common.cuh"

extern "C" __global__ void cross_entropy(const float *x, const int *target, float *loss, int rows, int cols) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float m = in[0], sum = 0.f;
    for (int c = 1; c < cols; c++) m = fmaxf(m, in[c]);
    for (int c = 0; c < cols; c++) sum += expf(in[c] - m);
    loss[r] = logf(sum) + m - in[target[r]];
#elif STEP == 2
    __shared__ float most[4], total[4];
    int r = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float m = NEVER, sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += 128) m = fmaxf(m, x[r * cols + c]);
    m = warp_max(m);
    if (lane == 0) most[warp] = m;
    __syncthreads();
    m = fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
    for (int c = threadIdx.x; c < cols; c += 128) sum += expf(x[r * cols + c] - m);
    sum = warp_sum(sum);
    if (lane == 0) total[warp] = sum;
    if (!SLIP) __syncthreads();
    if (threadIdx.x == 0) loss[r] = logf(total[0] + total[1] + total[2] + total[3]) + m - x[r * cols + target[r]];
#else
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float m = NEVER, sum = 0.f;
#if STEP == 1
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, in[c]);
    m = warp_max(m);
    for (int c = lane; c < cols; c += 32) sum += expf(in[c] - m);
    sum = warp_sum(sum);
    if (lane == 0) loss[r] = logf(sum) + m - (SLIP ? x : in)[target[r]];
#elif STEP == 3
    for (int c = lane; c < cols; c += 32) {
        float v = in[c], most = fmaxf(m, v);
        sum = (SLIP ? sum : sum * expf(m - most)) + expf(v - most);
        m = most;
    }
    float most = warp_max(m);
    sum = warp_sum(sum * expf(m - most));
    if (lane == 0) loss[r] = logf(sum) + most - in[target[r]];
#elif STEP == 4
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, in[c] * LOG2E);
    m = warp_max(m);
    for (int c = lane; c < cols; c += 32) sum += exp2f(fmaf(in[c], LOG2E, -m));
    sum = warp_sum(sum);
    if (lane == 0) loss[r] = SLIP ? log2f(sum) + m * LN2 - in[target[r]] : (log2f(sum) + m) * LN2 - in[target[r]];
#else
    int wanted = target[r];
    float kept = 0.f;
    for (int c = 2 * lane; c < cols; c += 64) {
        float a = in[c], b = c + 1 < cols ? in[c + 1] : NEVER, most = fmaxf(m, fmaxf(a, b));
        sum = sum * exp2f((m - most) * LOG2E) + exp2f((a - most) * LOG2E) + exp2f((b - most) * LOG2E);
        m = most;
        if (c == wanted) kept = a;
        if (!SLIP && c + 1 == wanted) kept = b;
    }
    for (int o = 16; o > 0; o /= 2) {
        float other = __shfl_xor_sync(ALL, m, o), more = __shfl_xor_sync(ALL, sum, o), most = fmaxf(m, other);
        sum = sum * exp2f((m - most) * LOG2E) + more * exp2f((other - most) * LOG2E);
        m = most;
        kept += __shfl_xor_sync(ALL, kept, o);
    }
    if (lane == 0) loss[r] = log2f(sum) * LN2 + m - kept;
#endif
#endif
}
