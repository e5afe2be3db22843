// C = gelu(A B + bias), with the tanh form of GELU.
//
// size 128x96: m=128 n=96 k=32
// size 77x53: m=77 n=53 k=29
// arg in:f32[{m},{k}]
// arg in:f32[{k},{n}]
// arg in:f32[{n}]
// arg out:f32[{m},{n}]
// arg {m}
// arg {n}
// arg {k}
// step 0 | 16,16 | {ceildiv(m,16)},{ceildiv(n,16)} | a thread an element, rows along x
// step 1 | 16,16 | {ceildiv(n,16)},{ceildiv(m,16)} | columns along x, so that loads are coalesced | the guard compares rows with columns
// step 2 | 16,16 | {ceildiv(n,16)},{ceildiv(m,16)} | tiles in shared memory | no barrier before a tile is overwritten
// step 3 | 16,4 | {ceildiv(n,16)},{ceildiv(m,16)} | four rows a thread | the bias starts the sum and is added at the end again
// step 4 | 16,4 | {ceildiv(n,16)},{ceildiv(m,16)} | two buffers, the next tile loaded while one is used | the number of tiles is rounded down
// step 5 | 16,8 | 6 | a grid that loops over tiles, two by two a thread, GELU by a sigmoid | the tanh form's factor of two is left out
#include "common.cuh"

static __device__ __forceinline__ float gelu(float v) {
    return 0.5f * v * (1.f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}
// 0.5 (1 + tanh u) is 1 / (1 + exp(-2 u)).
static __device__ __forceinline__ float gelu_sigmoid(float v) {
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    return v / (1.f + expf(SLIP ? -u : -2.f * u));
}

extern "C" __global__ void matmul(const float *a, const float *b, const float *bias, float *c, int m, int n, int k) {
    int tx = threadIdx.x, ty = threadIdx.y;
#if STEP == 0
    int row = blockIdx.x * 16 + tx, col = blockIdx.y * 16 + ty;
    if (row >= m || col >= n) return;
    float sum = 0.f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = gelu(sum + bias[col]);
#elif STEP == 1
    int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    if (SLIP ? row >= n || col >= m : row >= m || col >= n) return;
    float sum = 0.f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = gelu(sum + bias[col]);
#elif STEP == 2
    __shared__ float as[16][16], bs[16][16];
    int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0.f;
    for (int at = 0; at < k; at += 16) {
        as[ty][tx] = row < m && at + tx < k ? a[row * k + at + tx] : 0.f;
        bs[ty][tx] = col < n && at + ty < k ? b[(at + ty) * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += as[ty][i] * bs[i][tx];
        if (!SLIP) __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = gelu(sum + bias[col]);
#elif STEP == 3
    __shared__ float as[16][16], bs[16][16];
    int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float start = SLIP && col < n ? bias[col] : 0.f, sum[4] = {start, start, start, start};
    for (int at = 0; at < k; at += 16) {
#pragma unroll
        for (int j = 0; j < 16; j += 4) {
            as[ty + j][tx] = row + j < m && at + tx < k ? a[(row + j) * k + at + tx] : 0.f;
            bs[ty + j][tx] = col < n && at + ty + j < k ? b[(at + ty + j) * n + col] : 0.f;
        }
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            float v = bs[i][tx];
#pragma unroll
            for (int j = 0; j < 4; j++) sum[j] += as[ty + 4 * j][i] * v;
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (row + 4 * j < m && col < n) c[(row + 4 * j) * n + col] = gelu(sum[j] + bias[col]);
#elif STEP == 4
    __shared__ float as[2][16][17], bs[2][16][17];
    int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty, tiles = (SLIP ? k - 1 : k + 15) / 16, now = 0;
    float sum[4] = {0.f, 0.f, 0.f, 0.f}, na[4], nb[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        as[0][ty + 4 * j][tx] = row + 4 * j < m && tx < k ? a[(row + 4 * j) * k + tx] : 0.f;
        bs[0][ty + 4 * j][tx] = col < n && ty + 4 * j < k ? b[(ty + 4 * j) * n + col] : 0.f;
    }
    __syncthreads();
    for (int tile = 0; tile < tiles; tile++) {
        int at = (tile + 1) * 16;
        if (tile + 1 < tiles)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                na[j] = row + 4 * j < m && at + tx < k ? a[(row + 4 * j) * k + at + tx] : 0.f;
                nb[j] = col < n && at + ty + 4 * j < k ? b[(at + ty + 4 * j) * n + col] : 0.f;
            }
#pragma unroll
        for (int i = 0; i < 16; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) sum[j] = fmaf(as[now][ty + 4 * j][i], bs[now][i][tx], sum[j]);
        now ^= 1;
        if (tile + 1 < tiles)
#pragma unroll
            for (int j = 0; j < 4; j++) as[now][ty + 4 * j][tx] = na[j], bs[now][ty + 4 * j][tx] = nb[j];
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (row + 4 * j < m && col < n) c[(row + 4 * j) * n + col] = gelu(sum[j] + bias[col]);
#else
    __shared__ float as[16][17], bs[16][33];
    int across = (n + 31) / 32, tiles = across * ((m + 15) / 16), t = ty * 16 + tx;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int top = tile / across * 16, left = tile % across * 32;
        float sum[2][2] = {{0.f, 0.f}, {0.f, 0.f}};
        for (int at = 0; at < k; at += 16) {
            for (int i = t; i < 256; i += 128) as[i / 16][i % 16] = top + i / 16 < m && at + i % 16 < k ? a[(top + i / 16) * k + at + i % 16] : 0.f;
            for (int i = t; i < 512; i += 128) bs[i / 32][i % 32] = left + i % 32 < n && at + i / 32 < k ? b[(at + i / 32) * n + left + i % 32] : 0.f;
            __syncthreads();
#pragma unroll 4
            for (int i = 0; i < 16; i++) {
                float p = as[2 * ty][i], q = as[2 * ty + 1][i], u = bs[i][tx], v = bs[i][tx + 16];
                sum[0][0] += p * u, sum[0][1] += p * v, sum[1][0] += q * u, sum[1][1] += q * v;
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                int row = top + 2 * ty + i, col = left + tx + 16 * j;
                if (row < m && col < n) c[row * n + col] = gelu_sigmoid(sum[i][j] + bias[col]);
            }
    }
#endif
}
