// Rows quantised to signed bytes by their largest magnitude, with the scale of each row.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{cols}]
// arg out:s8[{rows},{cols}]
// arg out:f32[{rows}]
// arg {rows}
// arg {cols}
// step 0 | 64 | {ceildiv(rows,64)} | a thread a row
// step 1 | 128 | {ceildiv(rows,4)} | a warp a row, shuffles | the largest value in place of the largest magnitude
// step 2 | 128 | {ceildiv(rows,4)} | a reciprocal for each row | truncation in place of rounding
// step 3 | 128 | {rows} | a CTA a row, atomic maximum of the bits in shared memory | no barrier after the maximum is set to 0
// step 4 | 128 | {ceildiv(rows,4)} | float4 in and four bytes out where rows are aligned | the bytes in reverse | 128x96
// step 5 | 128 | 8 | rows in registers, two at a time, a grid that loops | the inverse of the scale is stored
#include "common.cuh"
#define LEAST 1e-8f

static __device__ __forceinline__ signed char rounded(float v) { return (signed char)__float2int_rn(v); }

extern "C" __global__ void quantize_rows(const float *x, signed char *y, float *scales, int rows, int cols) {
#if STEP == 0
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = LEAST;
    for (int c = 0; c < cols; c++) m = fmaxf(m, fabsf(x[r * cols + c]));
    float scale = m / 127.f;
    for (int c = 0; c < cols; c++) y[r * cols + c] = rounded(x[r * cols + c] / scale);
    scales[r] = scale;
#elif STEP == 3
    __shared__ int most;
    int r = blockIdx.x;
    if (threadIdx.x == 0) most = __float_as_int(LEAST);
    if (!SLIP) __syncthreads();
    float m = LEAST;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, fabsf(x[r * cols + c]));
    // Floats that are not negative are ordered as their bits.
    atomicMax(&most, __float_as_int(m));
    __syncthreads();
    float scale = __int_as_float(most) / 127.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[r * cols + c] = rounded(x[r * cols + c] / scale);
    if (threadIdx.x == 0) scales[r] = scale;
#elif STEP <= 4
    int r = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (r >= rows) return;
    const float *in = x + r * cols;
    float m = LEAST;
#if STEP == 1
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, SLIP ? in[c] : fabsf(in[c]));
    float scale = warp_max(m) / 127.f;
    for (int c = lane; c < cols; c += 32) y[r * cols + c] = rounded(in[c] / scale);
    if (lane == 0) scales[r] = scale;
#else
#if STEP == 4
    if (cols % 4 == 0) {
        for (int c = lane; c < cols / 4; c += 32) {
            float4 v = ((const float4 *)in)[c];
            m = fmaxf(fmaxf(m, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
        }
        m = warp_max(m);
        float inverse = 127.f / m;
        for (int c = lane; c < cols / 4; c += 32) {
            float4 v = ((const float4 *)in)[c];
            char4 q = make_char4(rounded(v.x * inverse), rounded(v.y * inverse), rounded(v.z * inverse), rounded(v.w * inverse));
            ((char4 *)(y + r * cols))[c] = SLIP ? make_char4(q.w, q.z, q.y, q.x) : q;
        }
        if (lane == 0) scales[r] = m / 127.f;
        return;
    }
#endif
    for (int c = lane; c < cols; c += 32) m = fmaxf(m, fabsf(in[c]));
    m = warp_max(m);
    float inverse = 127.f / m;
    for (int c = lane; c < cols; c += 32)
        y[r * cols + c] = STEP == 2 && SLIP ? (signed char)(int)(in[c] * inverse) : rounded(in[c] * inverse);
    if (lane == 0) scales[r] = m / 127.f;
#endif
#else
    int lane = threadIdx.x % 32, step = gridDim.x * 8;
    for (int r = (blockIdx.x * 4 + threadIdx.x / 32) * 2; r < rows; r += step) {
        float v[2][4], m[2] = {LEAST, LEAST};
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int c = lane + 32 * k;
                v[i][k] = r + i < rows && c < cols ? x[(r + i) * cols + c] : 0.f;
                m[i] = fmaxf(m[i], fabsf(v[i][k]));
            }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            m[i] = warp_max(m[i]);
            float inverse = 127.f / m[i];
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (r + i < rows && lane + 32 * k < cols) y[(r + i) * cols + lane + 32 * k] = rounded(v[i][k] * inverse);
            if (r + i < rows && lane == 0) scales[r + i] = SLIP ? inverse : m[i] * (1.f / 127.f);
        }
    }
#endif
}
