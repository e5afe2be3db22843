// The mean and the variance of each row.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{cols}]
// arg out:f32[{rows}]
// arg out:f32[{rows}]
// arg {rows}
// arg {cols}
// step 0 | 64 | {ceildiv(rows,64)} | a thread a row, mean and then variance
// step 1 | 128 | {rows} | a CTA a row, a tree in shared memory | no barrier in the tree
// step 2 | 128 | {ceildiv(rows,4)} | a warp a row, shuffles down | the last round of shuffles is left out
// step 3 | 128 | {ceildiv(rows,4)} | sums of values and squares in one pass | the mean is not squared
// step 4 | 128 | {ceildiv(rows,4)} | sums about the first value of the row, four at a time | the first value is not added to the mean again
// step 5 | 32,4 | {rows} | four warps a row, merged by Chan's formula | the parts count as equally long | 77x53
#include "common.cuh"

static __device__ __forceinline__ float down(float v, int least = 1) {
    for (int o = 16; o >= least; o /= 2) v += __shfl_down_sync(ALL, v, o);
    return __shfl_sync(ALL, v, 0);
}

extern "C" __global__ void variance(const float *x, float *means, float *vars, int rows, int cols) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float mean = 0.f, var = 0.f;
    for (int c = 0; c < cols; c++) mean += x[r * cols + c];
    mean /= cols;
    for (int c = 0; c < cols; c++) var += (x[r * cols + c] - mean) * (x[r * cols + c] - mean);
    means[r] = mean;
    vars[r] = var / cols;
#elif STEP == 1
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float mean = 0.f;
    for (int pass = 0; pass < 2; pass++) {
        float sum = 0.f;
        for (int c = t; c < cols; c += 128) sum += pass ? (x[r * cols + c] - mean) * (x[r * cols + c] - mean) : x[r * cols + c];
        part[t] = sum;
        __syncthreads();
        for (int s = 64; s > 0; s /= 2) {
            if (t < s) part[t] += part[t + s];
            if (!SLIP) __syncthreads();
        }
        if (SLIP) __syncthreads();
        sum = part[0] / cols;
        __syncthreads();
        if (t == 0) (pass ? vars : means)[r] = sum;
        mean = sum;
    }
#elif STEP <= 4
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float mean = 0.f, var = 0.f;
#if STEP == 2
    for (int c = lane; c < cols; c += 32) mean += in[c];
    mean = down(mean, SLIP ? 2 : 1) / cols;
    for (int c = lane; c < cols; c += 32) var += (in[c] - mean) * (in[c] - mean);
    var = down(var) / cols;
#elif STEP == 3
    for (int c = lane; c < cols; c += 32) mean += in[c], var = fmaf(in[c], in[c], var);
    mean = down(mean) / cols;
    var = down(var) / cols - (SLIP ? mean : mean * mean);
#else
    float first = in[0];
    int c = lane;
    for (; c + 96 < cols; c += 128)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float d = in[c + 32 * k] - first;
            mean += d, var += d * d;
        }
    for (; c < cols; c += 32) {
        float d = in[c] - first;
        mean += d, var += d * d;
    }
    float over = 1.f / cols;
    mean = warp_sum(mean) * over;
    var = warp_sum(var) * over - mean * mean;
    if (!SLIP) mean += first;
#endif
    if (lane == 0) means[r] = mean, vars[r] = var;
#else
    __shared__ float ms[4], vs[4], ns[4];
    int r = blockIdx.x, lane = threadIdx.x, w = threadIdx.y, size = (cols + 3) / 4, from = w * size, to = min(from + size, cols);
    float mean = 0.f, var = 0.f, n = to - from;
    for (int c = from + lane; c < to; c += 32) mean += x[r * cols + c];
    mean = warp_sum(mean) / n;
    for (int c = from + lane; c < to; c += 32) var += (x[r * cols + c] - mean) * (x[r * cols + c] - mean);
    var = warp_sum(var);
    if (lane == 0) ms[w] = mean, vs[w] = var, ns[w] = SLIP ? cols / 4.f : n;
    __syncthreads();
    if (w == 0 && lane == 0) {
        float count = ns[0];
        mean = ms[0], var = vs[0];
#pragma unroll
        for (int i = 1; i < 4; i++) {
            float d = ms[i] - mean, all = count + ns[i];
            mean += d * ns[i] / all;
            var += vs[i] + d * d * count * ns[i] / all;
            count = all;
        }
        means[r] = mean, vars[r] = var / cols;
    }
#endif
}
