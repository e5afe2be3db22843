// A depthwise convolution along each row: five taps for each row, zeros beyond the ends, and an offset.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{cols}]
// arg in:f32[{rows},5]
// arg in:f32[{rows}]
// arg out:f32[{rows},{cols}]
// arg {rows}
// arg {cols}
// step 0 | 64 | {ceildiv(rows*cols,64)} | a thread an element
// step 1 | 32 | {ceildiv(cols,32)},{rows} | a segment of a row with its halo in shared memory | no barrier after the halo is staged
// step 2 | 32,4 | {ceildiv(cols,32)},{ceildiv(rows,4)} | taps in registers, the loop unrolled | the taps are reversed
// step 3 | 32 | {ceildiv(rows,32)},{ceildiv(cols,16)} | a window that slides along the row in registers | the window starts with zeros
// step 4 | 128 | {ceildiv(rows,4)} | a warp a row, four columns a lane, the halo by shuffles | the first lane keeps its own columns as the halo
// step 5 | 64 | 16 | a padded row in shared memory, no conditions in the loop, a grid that loops | no barrier before the row is overwritten
#include "common.cuh"

extern "C" __global__ void depthwise(const float *x, const float *taps, const float *offset, float *y, int rows, int cols) {
#if STEP == 0
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= rows * cols) return;
    int r = e / cols, c = e % cols;
    float sum = offset[r];
    for (int k = 0; k < 5; k++)
        if (c + k - 2 >= 0 && c + k - 2 < cols) sum += taps[r * 5 + k] * x[r * cols + c + k - 2];
    y[e] = sum;
#elif STEP == 1
    __shared__ float part[36];
    int r = blockIdx.y, start = blockIdx.x * 32, c = start + threadIdx.x;
    for (int i = threadIdx.x; i < 36; i += 32) part[i] = start + i - 2 >= 0 && start + i - 2 < cols ? x[r * cols + start + i - 2] : 0.f;
    if (!SLIP) __syncthreads();
    if (c >= cols) return;
    float sum = offset[r];
    for (int k = 0; k < 5; k++) sum += taps[r * 5 + k] * part[threadIdx.x + k];
    y[r * cols + c] = sum;
#elif STEP == 2
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (r >= rows || c >= cols) return;
    float w[5], sum = offset[r];
    const float *in = x + r * cols;
#pragma unroll
    for (int k = 0; k < 5; k++) w[k] = taps[r * 5 + (SLIP ? 4 - k : k)];
#pragma unroll
    for (int k = 0; k < 5; k++) sum = fmaf(w[k], (unsigned)(c + k - 2) < (unsigned)cols ? in[c + k - 2] : 0.f, sum);
    y[r * cols + c] = sum;
#elif STEP == 3
    int r = blockIdx.x * 32 + threadIdx.x, start = blockIdx.y * 16;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float w[5], a = 0.f, b = 0.f, c = in[start], d = start + 1 < cols ? in[start + 1] : 0.f, bias = offset[r];
    for (int k = 0; k < 5; k++) w[k] = taps[r * 5 + k];
    if (!SLIP && start > 0) a = in[start - 2], b = in[start - 1];
    for (int i = start; i < min(start + 16, cols); i++) {
        float e = i + 2 < cols ? in[i + 2] : 0.f;
        y[r * cols + i] = bias + w[0] * a + w[1] * b + w[2] * c + w[3] * d + w[4] * e;
        a = b, b = c, c = d, d = e;
    }
#elif STEP == 4
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32, c = 4 * lane;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float v[8], w[5], bias = offset[r];
    if (cols % 4 == 0) {
        float4 f = c < cols ? *(const float4 *)(in + c) : make_float4(0.f, 0.f, 0.f, 0.f);
        v[2] = f.x, v[3] = f.y, v[4] = f.z, v[5] = f.w;
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) v[2 + k] = c + k < cols ? in[c + k] : 0.f;
    }
    v[0] = __shfl_up_sync(ALL, v[4], 1), v[1] = __shfl_up_sync(ALL, v[5], 1);
    v[6] = __shfl_down_sync(ALL, v[2], 1), v[7] = __shfl_down_sync(ALL, v[3], 1);
    if (!SLIP && lane == 0) v[0] = v[1] = 0.f;
    if (lane == 31) v[6] = v[7] = 0.f;
#pragma unroll
    for (int k = 0; k < 5; k++) w[k] = taps[r * 5 + k];
    float out[4];
#pragma unroll
    for (int i = 0; i < 4; i++) out[i] = w[0] * v[i] + w[1] * v[i + 1] + w[2] * v[i + 2] + w[3] * v[i + 3] + w[4] * v[i + 4] + bias;
    if (cols % 4 == 0) {
        if (c < cols) *(float4 *)(y + r * cols + c) = make_float4(out[0], out[1], out[2], out[3]);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (c + k < cols) y[r * cols + c + k] = out[k];
    }
#else
    __shared__ float row[132];
    int t = threadIdx.x;
    if (t < 2) row[t] = row[cols + 2 + t] = 0.f;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        for (int c = t; c < cols; c += 64) row[c + 2] = x[r * cols + c];
        __syncthreads();
        float w0 = taps[r * 5], w1 = taps[r * 5 + 1], w2 = taps[r * 5 + 2], w3 = taps[r * 5 + 3], w4 = taps[r * 5 + 4];
        for (int c = t; c < cols; c += 64)
            y[r * cols + c] = fmaf(w4, row[c + 4], fmaf(w3, row[c + 3], fmaf(w2, row[c + 2], fmaf(w1, row[c + 1], w0 * row[c])))) + offset[r];
        if (!SLIP) __syncthreads();
    }
#endif
}
