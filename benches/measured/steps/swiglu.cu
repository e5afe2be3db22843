// SwiGLU: each row holds a gate and a value of `cols` columns each; the result is silu(gate) value.
//
// size 128x96: rows=128 cols=96
// size 77x53: rows=77 cols=53
// arg in:f32[{rows},{2*cols}]
// arg out:f32[{rows},{cols}]
// arg {rows}
// arg {cols}
// step 0 | 256 | {ceildiv(rows*cols,256)} | a thread an element
// step 1 | 128 | 16 | a grid that loops | the stride of a row is that of the result
// step 2 | 128 | {ceildiv(rows*cols,512)} | float4 where rows are aligned | the gate is taken as value | 128x96
// step 3 | 32,4 | {ceildiv(cols,32)},{ceildiv(rows,4)} | base 2 and a reciprocal, no division of indices | the sign of the exponent
// step 4 | 64 | {ceildiv(cols,64)},{ceildiv(rows,2)} | two rows a thread | the last of an odd number of rows is left out | 77x53
// step 5 | 128 | {rows} | the sigmoid by a hyperbolic tangent, a CTA a row, unrolled | the argument is not halved
#include "common.cuh"

static __device__ __forceinline__ float silu(float g) { return g / (1.f + expf(-g)); }

extern "C" __global__ void swiglu(const float *x, float *y, int rows, int cols) {
#if STEP == 0
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= rows * cols) return;
    int r = e / cols, c = e % cols;
    y[e] = silu(x[r * 2 * cols + c]) * x[r * 2 * cols + cols + c];
#elif STEP == 1
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < rows * cols; e += gridDim.x * blockDim.x) {
        const float *in = x + e / cols * (SLIP ? cols : 2 * cols) + e % cols;
        y[e] = silu(in[0]) * in[cols];
    }
#elif STEP == 2
    int e = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (cols % 4 == 0) {
        if (e >= rows * cols) return;
        const float *in = x + e / cols * 2 * cols + e % cols;
        float4 g = *(const float4 *)in, u = *(const float4 *)(SLIP ? in : in + cols);
        *(float4 *)(y + e) = make_float4(silu(g.x) * u.x, silu(g.y) * u.y, silu(g.z) * u.z, silu(g.w) * u.w);
        return;
    }
    for (int i = e; i < min(e + 4, rows * cols); i++) {
        const float *in = x + i / cols * 2 * cols + i % cols;
        y[i] = silu(in[0]) * in[cols];
    }
#elif STEP == 3
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (c >= cols || r >= rows) return;
    float g = x[r * 2 * cols + c], u = x[r * 2 * cols + cols + c];
    y[r * cols + c] = g * u * __frcp_rn(1.f + exp2f((SLIP ? g : -g) * LOG2E));
#elif STEP == 4
    int c = blockIdx.x * 64 + threadIdx.x, r = 2 * blockIdx.y;
    if (c >= cols || (SLIP && r + 1 >= rows)) return;
    const float *in = x + r * 2 * cols + c;
    bool second = r + 1 < rows;
    float g = in[0], u = in[cols], h = second ? in[2 * cols] : 0.f, v = second ? in[3 * cols] : 0.f;
    y[r * cols + c] = g * u / (1.f + __expf(-g));
    if (second) y[(r + 1) * cols + c] = h * v / (1.f + __expf(-h));
#else
    const float *in = x + blockIdx.x * 2 * cols;
#pragma unroll 4
    for (int c = threadIdx.x; c < cols; c += 128) {
        float g = in[c], half = 0.5f * g;
        y[blockIdx.x * cols + c] = half * (1.f + tanhf(SLIP ? g : half)) * in[cols + c];
    }
#endif
}
