// Softmax of each row.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{cols}]
// arg out:f32[{rows},{cols}]
// arg {rows}
// arg {cols}
// step 0 | 64 | {ceildiv(rows,64)} | a thread a row, three passes
// step 1 | 128 | {rows} | a CTA a row, trees in shared memory | no barrier before the buffer is used again
// step 2 | 128 | {ceildiv(rows,4)} | a warp a row, shuffles | the sum leaves the halves of the warp apart
// step 3 | 128 | {ceildiv(rows,4)} | maximum and sum in one pass, merged by shuffles | the sum of the other lane is not rescaled
// step 4 | 128 | {ceildiv(rows,4)} | base 2, float4 where rows are aligned | no factor of base 2 in the last pass
// step 5 | 128 | 4 | rows in registers, a grid that loops, a reciprocal | columns beyond the end count as 0
#include "common.cuh"

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float m = in[0], sum = 0.f;
    for (int c = 1; c < cols; c++) m = fmaxf(m, in[c]);
    for (int c = 0; c < cols; c++) sum += expf(in[c] - m);
    for (int c = 0; c < cols; c++) y[r * cols + c] = expf(in[c] - m) / sum;
#elif STEP == 1
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float m = NEVER, sum = 0.f;
    for (int c = t; c < cols; c += blockDim.x) m = fmaxf(m, x[r * cols + c]);
    part[t] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) part[t] = fmaxf(part[t], part[t + s]);
        __syncthreads();
    }
    m = part[0];
    if (!SLIP) __syncthreads();
    for (int c = t; c < cols; c += blockDim.x) sum += expf(x[r * cols + c] - m);
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    for (int c = t; c < cols; c += blockDim.x) y[r * cols + c] = expf(x[r * cols + c] - m) / part[0];
#elif STEP == 2
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    float m = NEVER, sum = 0.f;
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, x[r * cols + c]);
    m = warp_max(m);
    for (int c = lane; c < cols; c += 32) sum += expf(x[r * cols + c] - m);
    sum = warp_sum(sum, SLIP ? 8 : 16);
    for (int c = lane; c < cols; c += 32) y[r * cols + c] = expf(x[r * cols + c] - m) / sum;
#elif STEP == 3
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    float m = NEVER, sum = 0.f;
    for (int c = lane; c < cols; c += 32) {
        float v = x[r * cols + c], most = fmaxf(m, v);
        sum = sum * expf(m - most) + expf(v - most);
        m = most;
    }
    for (int o = 16; o > 0; o /= 2) {
        float other = __shfl_xor_sync(ALL, m, o), more = __shfl_xor_sync(ALL, sum, o), most = fmaxf(m, other);
        sum = sum * expf(m - most) + more * (SLIP ? 1.f : expf(other - most));
        m = most;
    }
    for (int c = lane; c < cols; c += 32) y[r * cols + c] = expf(x[r * cols + c] - m) / sum;
#elif STEP == 4
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    float m = NEVER, sum = 0.f;
    if (cols % 4 == 0) {
        const float4 *in = (const float4 *)(x + r * cols);
        float4 *to = (float4 *)(y + r * cols);
        for (int c = lane; c < cols / 4; c += 32) {
            float4 v = in[c];
            m = fmaxf(fmaxf(fmaxf(m, v.x), v.y), fmaxf(v.z, v.w));
        }
        m = warp_max(m) * LOG2E;
        for (int c = lane; c < cols / 4; c += 32) {
            float4 v = in[c];
            sum += exp2f(v.x * LOG2E - m) + exp2f(v.y * LOG2E - m) + exp2f(v.z * LOG2E - m) + exp2f(v.w * LOG2E - m);
        }
        float inverse = 1.f / warp_sum(sum), k = SLIP ? 1.f : LOG2E;
        for (int c = lane; c < cols / 4; c += 32) {
            float4 v = in[c];
            to[c] = make_float4(exp2f(v.x * k - m) * inverse, exp2f(v.y * k - m) * inverse,
                                exp2f(v.z * k - m) * inverse, exp2f(v.w * k - m) * inverse);
        }
        return;
    }
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, x[r * cols + c]);
    m = warp_max(m) * LOG2E;
    for (int c = lane; c < cols; c += 32) sum += exp2f(x[r * cols + c] * LOG2E - m);
    float inverse = 1.f / warp_sum(sum), k = SLIP ? 1.f : LOG2E;
    for (int c = lane; c < cols; c += 32) y[r * cols + c] = exp2f(x[r * cols + c] * k - m) * inverse;
#else
    int lane = threadIdx.x % 32;
    for (int r = blockIdx.x * 4 + threadIdx.x / 32; r < rows; r += gridDim.x * 4) {
        float v[4], m = NEVER, sum = 0.f;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int c = lane + 32 * k;
            v[k] = c < cols ? x[r * cols + c] : SLIP ? 0.f : NEVER;
            m = fmaxf(m, v[k]);
        }
        m = warp_max(m);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            v[k] = exp2f((v[k] - m) * LOG2E);
            sum += v[k];
        }
        float inverse = __frcp_rn(warp_sum(sum));
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (lane + 32 * k < cols) y[r * cols + lane + 32 * k] = v[k] * inverse;
    }
#endif
}
