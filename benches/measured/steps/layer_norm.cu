// Layer normalisation of each row, with a gain and an offset for each column.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{cols}]
// arg in:f32[{cols}]
// arg in:f32[{cols}]
// arg out:f32[{rows},{cols}]
// arg {rows}
// arg {cols}
// step 0 | 64 | {ceildiv(rows,64)} | a thread a row, mean and then variance
// step 1 | 128 | {ceildiv(rows,4)} | a warp a row, shuffles | variance over one column less
// step 2 | 128 | {ceildiv(rows,4)} | sums of values and squares in one pass | epsilon outside of the root
// step 3 | 128 | {ceildiv(rows,4)} | Welford's recurrence, merged by shuffles | the merge weighs the difference by one count
// step 4 | 64 | {rows} | a row staged in shared memory, trees | no barrier after the row is staged
// step 5 | 128 | 8 | float4 in registers where rows are aligned, a grid that loops | the gain of the first of four columns | 128x96
#include "common.cuh"
#define EPS 1e-5f

extern "C" __global__ void layer_norm(const float *x, const float *gain, const float *offset, float *y, int rows, int cols) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float mean = 0.f, var = 0.f;
    for (int c = 0; c < cols; c++) mean += in[c];
    mean /= cols;
    for (int c = 0; c < cols; c++) var += (in[c] - mean) * (in[c] - mean);
    float inverse = 1.f / sqrtf(var / cols + EPS);
    for (int c = 0; c < cols; c++) y[r * cols + c] = (in[c] - mean) * inverse * gain[c] + offset[c];
#elif STEP <= 3
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float mean = 0.f, var = 0.f, inverse;
#if STEP == 1
    for (int c = lane; c < cols; c += 32) mean += in[c];
    mean = warp_sum(mean) / cols;
    for (int c = lane; c < cols; c += 32) var += (in[c] - mean) * (in[c] - mean);
    inverse = rsqrtf(warp_sum(var) / (SLIP ? cols - 1 : cols) + EPS);
#elif STEP == 2
    for (int c = lane; c < cols; c += 32) {
        mean += in[c];
        var += in[c] * in[c];
    }
    mean = warp_sum(mean) / cols;
    var = warp_sum(var) / cols - mean * mean;
    inverse = SLIP ? 1.f / (sqrtf(var) + EPS) : rsqrtf(var + EPS);
#else
    float n = 0.f;
    for (int c = lane; c < cols; c += 32) {
        n += 1.f;
        float d = in[c] - mean;
        mean += d / n;
        var += d * (in[c] - mean);
    }
    for (int o = 16; o > 0; o /= 2) {
        float m = __shfl_xor_sync(ALL, mean, o), v = __shfl_xor_sync(ALL, var, o), k = __shfl_xor_sync(ALL, n, o);
        float d = m - mean, all = n + k;
        // Both lanes use the same expression, so that they agree.
        mean = (n * mean + k * m) / all;
        var = var + v + d * d * (SLIP ? k : n * k / all);
        n = all;
    }
    inverse = rsqrtf(var / n + EPS);
#endif
    for (int c = lane; c < cols; c += 32) y[r * cols + c] = (in[c] - mean) * inverse * gain[c] + offset[c];
#elif STEP == 4
    __shared__ float row[128], sums[64], squares[64];
    int r = blockIdx.x, t = threadIdx.x;
    for (int c = t; c < cols; c += 64) row[c] = x[r * cols + c];
    if (!SLIP) __syncthreads();
    float s = 0.f, q = 0.f;
    for (int c = 2 * t; c < min(2 * t + 2, cols); c++) {
        s += row[c];
        q += row[c] * row[c];
    }
    sums[t] = s, squares[t] = q;
    __syncthreads();
    for (int o = 32; o > 0; o /= 2) {
        if (t < o) sums[t] += sums[t + o], squares[t] += squares[t + o];
        __syncthreads();
    }
    float mean = sums[0] / cols, inverse = rsqrtf(squares[0] / cols - mean * mean + EPS);
    for (int c = t; c < cols; c += 64) y[r * cols + c] = (row[c] - mean) * inverse * gain[c] + offset[c];
#else
    int lane = threadIdx.x % 32;
    float over = 1.f / cols;
    for (int r = blockIdx.x * 4 + threadIdx.x / 32; r < rows; r += gridDim.x * 4) {
        const float *in = x + r * cols;
        float *to = y + r * cols;
        if (cols % 4 == 0) {
            int c = 4 * lane;
            float4 v = c < cols ? *(const float4 *)(in + c) : make_float4(0.f, 0.f, 0.f, 0.f);
            float mean = warp_sum(v.x + v.y + v.z + v.w) * over;
            float square = warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) * over;
            float inverse = rsqrtf(square - mean * mean + EPS);
            if (c < cols) {
                float4 g = *(const float4 *)(gain + c), b = *(const float4 *)(offset + c);
                if (SLIP) g = make_float4(g.x, g.x, g.x, g.x);
                *(float4 *)(to + c) = make_float4((v.x - mean) * inverse * g.x + b.x, (v.y - mean) * inverse * g.y + b.y,
                                                  (v.z - mean) * inverse * g.z + b.z, (v.w - mean) * inverse * g.w + b.w);
            }
            continue;
        }
        float mean = 0.f, square = 0.f;
        for (int c = lane; c < cols; c += 32) mean += in[c], square += in[c] * in[c];
        mean = warp_sum(mean) * over;
        float inverse = rsqrtf(warp_sum(square) * over - mean * mean + EPS);
        for (int c = lane; c < cols; c += 32) to[c] = (in[c] - mean) * inverse * gain[c] + offset[c];
    }
#endif
}
