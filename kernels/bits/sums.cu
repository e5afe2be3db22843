// Sums of 256 numbers by 64 threads (or one), each in an order of its own.
#include <cuda_fp16.h>

#define N 256

#if ORDER == 0 // One thread, from the first to the last.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    if (threadIdx.x == 0) {
        float s = 0;
#pragma unroll 1
        for (int i = 0; i < N; i++) s += x[i];
        y[0] = s;
    }
}
#elif ORDER == 1 // The same, unrolled by four.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    if (threadIdx.x == 0) {
        float s = 0;
#pragma unroll 4
        for (int i = 0; i < N; i++) s += x[i];
        y[0] = s;
    }
}
#elif ORDER == 2 // From the last to the first.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    if (threadIdx.x == 0) {
        float s = 0;
#pragma unroll 1
        for (int i = N - 1; i >= 0; i--) s += x[i];
        y[0] = s;
    }
}
#elif ORDER == 3 // Two accumulators.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    if (threadIdx.x == 0) {
        float s = 0, t = 0;
#pragma unroll 1
        for (int i = 0; i < N; i += 2) {
            s += x[i];
            t += x[i + 1];
        }
        y[0] = s + t;
    }
}
#elif ORDER == 4 // A tree in shared memory: neighbours at a distance that halves.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = ((x[t] + x[t + 64]) + x[t + 128]) + x[t + 192];
    __syncthreads();
#pragma unroll
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}
#elif ORDER == 5 // The same tree, the last warp by shuffles down.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = ((x[t] + x[t + 64]) + x[t + 128]) + x[t + 192];
    s[t] = v;
    __syncthreads();
    if (t < 32) {
        v = s[t] + s[t + 32];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
        if (t == 0) y[0] = v;
    }
}
#elif ORDER == 6 // The same tree by a butterfly: lane 0 adds what it adds there.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = ((x[t] + x[t + 64]) + x[t + 128]) + x[t + 192];
    s[t] = v;
    __syncthreads();
    if (t < 32) {
        v = s[t + 32] + s[t];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
        if (t == 0) y[0] = v;
    }
}
#elif ORDER == 7 // A tree of another shape: the distance doubles.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = ((x[t] + x[t + 64]) + x[t + 128]) + x[t + 192];
    __syncthreads();
#pragma unroll
    for (int d = 1; d < 64; d *= 2) {
        if (t % (2 * d) == 0) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}
#elif ORDER == 8 // The first tree, but each thread begins with its last number.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = ((x[t + 192] + x[t + 128]) + x[t + 64]) + x[t];
    __syncthreads();
#pragma unroll
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}
#elif ORDER == 9 // Each of 64 threads adds atomically: the order is not the kernel's.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int t = threadIdx.x;
    atomicAdd(y, ((x[t] + x[t + 64]) + x[t + 128]) + x[t + 192]);
}
#elif ORDER == 10 // Two threads add atomically to what may be zero.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    int t = threadIdx.x;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < N / 2; i++) s += x[t * (N / 2) + i];
    atomicAdd(y, s);
}
#elif ORDER == 11 // The largest, from the first to the last.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    if (threadIdx.x == 0) {
        float m = x[0];
#pragma unroll 1
        for (int i = 1; i < N; i++) m = fmaxf(m, x[i]);
        y[0] = m;
    }
}
#elif ORDER == 12 // The largest, by a tree.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = fmaxf(fmaxf(x[t], x[t + 64]), fmaxf(x[t + 128], x[t + 192]));
    __syncthreads();
#pragma unroll
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    if (t == 0) y[0] = s[0];
}
#elif ORDER == 13 // The largest by comparison: another zero, another NaN.
extern "C" __global__ void ENTRY(const float *x, float *y) {
    if (threadIdx.x == 0) {
        float m = x[0];
#pragma unroll 1
        for (int i = 1; i < N; i++) m = x[i] > m ? x[i] : m;
        y[0] = m;
    }
}
#endif
