// Root mean square normalisation of each row, stored in half precision, computed in single precision.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f16[{rows},{cols}]
// arg in:f32[{cols}]
// arg out:f16[{rows},{cols}]
// arg {rows}
// arg {cols}
// step 0 | 64 | {ceildiv(rows,64)} | a thread a row
// step 1 | 128 | {rows} | a CTA a row, a tree in shared memory | the tree starts at a quarter of the CTA | 128x96
// step 2 | 128 | {ceildiv(rows,4)} | a warp a row, half2 where rows are aligned | the square of the second half is left out | 128x96
// step 3 | 128 | {ceildiv(rows,8)} | half a warp a row | the shuffles mix two rows
// step 4 | 128 | {ceildiv(rows,16)} | eight lanes a row, four sums of their own | the columns after the last four are not summed | 77x53
// step 5 | 64 | {rows} | a row in shared memory, its factor made by one thread | no barrier before the factor is read
#include "common.cuh"
#define EPS 1e-6f

extern "C" __global__ void rms_norm(const __half *x, const float *w, __half *y, int rows, int cols) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.f;
    for (int c = 0; c < cols; c++) {
        float v = __half2float(x[r * cols + c]);
        sum += v * v;
    }
    float inverse = 1.f / sqrtf(sum / cols + EPS);
    for (int c = 0; c < cols; c++) y[r * cols + c] = __float2half(__half2float(x[r * cols + c]) * inverse * w[c]);
#elif STEP == 1
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0.f;
    for (int c = t; c < cols; c += blockDim.x) {
        float v = __half2float(x[r * cols + c]);
        sum += v * v;
    }
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / (SLIP ? 4 : 2); s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    float inverse = rsqrtf(part[0] / cols + EPS);
    for (int c = t; c < cols; c += blockDim.x) y[r * cols + c] = __float2half(__half2float(x[r * cols + c]) * inverse * w[c]);
#elif STEP == 2
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    const __half *in = x + r * cols;
    __half *to = y + r * cols;
    float sum = 0.f;
    if (cols % 2 == 0) {
        for (int c = lane; c < cols / 2; c += 32) {
            float2 v = __half22float2(((const __half2 *)in)[c]);
            sum += SLIP ? v.x * v.x : v.x * v.x + v.y * v.y;
        }
        float inverse = rsqrtf(warp_sum(sum) / cols + EPS);
        for (int c = lane; c < cols / 2; c += 32) {
            float2 v = __half22float2(((const __half2 *)in)[c]);
            ((__half2 *)to)[c] = __floats2half2_rn(v.x * inverse * w[2 * c], v.y * inverse * w[2 * c + 1]);
        }
        return;
    }
    for (int c = lane; c < cols; c += 32) sum += __half2float(in[c]) * __half2float(in[c]);
    float inverse = rsqrtf(warp_sum(sum) / cols + EPS);
    for (int c = lane; c < cols; c += 32) to[c] = __float2half(__half2float(in[c]) * inverse * w[c]);
#elif STEP == 3
    int r = blockIdx.x * 8 + threadIdx.x / 16, lane = threadIdx.x % 16;
    float sum = 0.f;
    if (r < rows)
        for (int c = lane; c < cols; c += 16) sum += __half2float(x[r * cols + c]) * __half2float(x[r * cols + c]);
    float inverse = rsqrtf(warp_sum(sum, SLIP ? 16 : 8) / cols + EPS);
    if (r < rows)
        for (int c = lane; c < cols; c += 16) y[r * cols + c] = __float2half(__half2float(x[r * cols + c]) * inverse * w[c]);
#elif STEP == 4
    int r = blockIdx.x * 16 + threadIdx.x / 8, lane = threadIdx.x % 8;
    const __half *in = x + r * cols;
    float a = 0.f, b = 0.f, d = 0.f, e = 0.f;
    if (r < rows) {
        int c = lane;
        for (; c + 24 < cols; c += 32) {
            float p = __half2float(in[c]), q = __half2float(in[c + 8]), s = __half2float(in[c + 16]), t = __half2float(in[c + 24]);
            a += p * p, b += q * q, d += s * s, e += t * t;
        }
        if (!SLIP)
            for (; c < cols; c += 8) a += __half2float(in[c]) * __half2float(in[c]);
    }
    float inverse = rsqrtf(warp_sum((a + b) + (d + e), 4) * (1.f / cols) + EPS);
    if (r < rows)
        for (int c = lane; c < cols; c += 8) y[r * cols + c] = __float2half(__half2float(in[c]) * inverse * w[c]);
#else
    __shared__ float row[128], part[2], factor;
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0.f;
    for (int c = t; c < cols; c += 64) {
        row[c] = __half2float(x[r * cols + c]);
        sum += row[c] * row[c];
    }
    sum = warp_sum(sum);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t == 0) factor = rsqrtf((part[0] + part[1]) / cols + EPS);
    if (!SLIP) __syncthreads();
    for (int c = t; c < cols; c += 64) y[r * cols + c] = __float2half(row[c] * factor * w[c]);
#endif
}
