// The mean of the rows of a table that a bag of indices names.
//
// size 128x96: rows=128 cols=96 bags=16 length=8
// size 77x53: rows=77 cols=53 bags=11 length=7
// arg in:f32[{rows},{cols}]
// arg in:s32[{bags},{length}]
// arg out:f32[{bags},{cols}]
// arg {bags}
// arg {length}
// arg {cols}
// assume 1 in 0..{rows}
// step 0 | 64 | {ceildiv(bags*cols,64)} | a thread an element
// step 1 | 64 | {bags} | a CTA a bag, indices in shared memory | no barrier after the indices are staged
// step 2 | 32 | {bags} | float4 where rows are aligned | the row's offset is in floats where the vectors are counted | 128x96
// step 3 | 64 | {bags} | two indices at a time, with two sums | the last of an odd number of indices is left out | 77x53
// step 4 | 128 | {ceildiv(bags,4)} | a warp a bag, sums in registers, a reciprocal | the reciprocal is an integer division
// step 5 | 64,2 | {bags} | the bag in two halves, added in shared memory | the second half starts one index late
#include "common.cuh"

extern "C" __global__ void embedding_bag(const float *table, const int *index, float *out, int bags, int length, int cols) {
#if STEP == 0
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= bags * cols) return;
    int bag = e / cols, c = e % cols;
    float sum = 0.f;
    for (int i = 0; i < length; i++) sum += table[index[bag * length + i] * cols + c];
    out[e] = sum / length;
#elif STEP == 1
    __shared__ int row[32];
    int bag = blockIdx.x;
    if (threadIdx.x < length) row[threadIdx.x] = index[bag * length + threadIdx.x];
    if (!SLIP) __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float sum = 0.f;
        for (int i = 0; i < length; i++) sum += table[row[i] * cols + c];
        out[bag * cols + c] = sum / length;
    }
#elif STEP == 2
    int bag = blockIdx.x;
    if (cols % 4 == 0) {
        for (int c = threadIdx.x; c < cols / 4; c += blockDim.x) {
            float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
            for (int i = 0; i < length; i++) {
                int row = index[bag * length + i];
                float4 v = ((const float4 *)table)[row * (SLIP ? cols : cols / 4) + c];
                sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
            }
            ((float4 *)out)[bag * (cols / 4) + c] = make_float4(sum.x / length, sum.y / length, sum.z / length, sum.w / length);
        }
        return;
    }
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float sum = 0.f;
        for (int i = 0; i < length; i++) sum += table[index[bag * length + i] * cols + c];
        out[bag * cols + c] = sum / length;
    }
#elif STEP == 3
    int bag = blockIdx.x;
    const int *row = index + bag * length;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float a = 0.f, b = 0.f;
        int i = 0;
        for (; i + 1 < length; i += 2) {
            a += table[row[i] * cols + c];
            b += table[row[i + 1] * cols + c];
        }
        if (!SLIP && i < length) a += table[row[i] * cols + c];
        out[bag * cols + c] = (a + b) / length;
    }
#elif STEP == 4
    int bag = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (bag >= bags) return;
    float sum[4] = {}, inverse = SLIP ? 1 / length : 1.f / length;
    for (int i = 0; i < length; i++) {
        const float *from = table + index[bag * length + i] * cols;
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (lane + 32 * j < cols) sum[j] += from[lane + 32 * j];
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (lane + 32 * j < cols) out[bag * cols + lane + 32 * j] = sum[j] * inverse;
#else
    __shared__ float half[64];
    int bag = blockIdx.x, first = threadIdx.y * (length / 2), end = threadIdx.y ? length : length / 2;
    if (SLIP && threadIdx.y) first++;
    for (int start = 0; start < cols; start += 64) {
        int c = start + threadIdx.x;
        float sum = 0.f;
        for (int i = first; c < cols && i < end; i++) sum += __ldg(table + index[bag * length + i] * cols + c);
        if (threadIdx.y) half[threadIdx.x] = sum;
        __syncthreads();
        if (!threadIdx.y && c < cols) out[bag * cols + c] = (sum + half[threadIdx.x]) / length;
        __syncthreads();
    }
#endif
}
