// Branches on data whose two ways cannot be merged: a CTA leaves early, or comes to barriers that others do not.

#include <math.h>

#define THREADS 64

// The sum of all threads, in shared memory; whoever calls it, all of the CTA do.
__device__ static float total(float v)
{
    __shared__ float s[THREADS];
    __syncthreads();
    s[threadIdx.x] = v;
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    return s[0];
}

// The loss of a row, and of one label nothing: each thread adds what it has, and nobody leaves.
extern "C" __global__ void loss_selected(const float *x, const int *label, float *loss, int n, int ignored)
{
    int row = blockIdx.x, t = label[row];
    float s = 0;
    for (int k = threadIdx.x; k < n; k += THREADS)
        s += expf(x[row * n + k]);
    s = total(s);
    float chosen = 0;
    if (t != ignored)
        chosen = x[row * n + t];
    if (threadIdx.x == 0)
        loss[row] = t == ignored ? 0.0f : logf(s) - chosen;
}

// The same, where a CTA whose row counts for nothing leaves at once.
extern "C" __global__ void loss_leaves(const float *x, const int *label, float *loss, int n, int ignored)
{
    int row = blockIdx.x, t = label[row];
    if (t == ignored) {
        if (threadIdx.x == 0)
            loss[row] = 0;
        return;
    }
    float s = 0;
    for (int k = threadIdx.x; k < n; k += THREADS)
        s += expf(x[row * n + k]);
    s = total(s);
    if (threadIdx.x == 0)
        loss[row] = logf(s) - x[row * n + t];
}

// A row that counts for nothing costs one.
extern "C" __global__ void loss_costs(const float *x, const int *label, float *loss, int n, int ignored)
{
    int row = blockIdx.x, t = label[row];
    if (t == ignored) {
        if (threadIdx.x == 0)
            loss[row] = 1;
        return;
    }
    float s = 0;
    for (int k = threadIdx.x; k < n; k += THREADS)
        s += expf(x[row * n + k]);
    s = total(s);
    if (threadIdx.x == 0)
        loss[row] = logf(s) - x[row * n + t];
}

// Each warp waits for the other one at another barrier.
extern "C" __global__ void loss_parts(const float *x, const int *label, float *loss, int n, int ignored)
{
    int row = blockIdx.x, t = label[row];
    if (t == ignored) {
        if (threadIdx.x == 0)
            loss[row] = 0;
        if (threadIdx.x < 32)
            asm volatile("bar.sync 1, 64;");
        else
            asm volatile("bar.sync 2, 64;");
        return;
    }
    float s = 0;
    for (int k = threadIdx.x; k < n; k += THREADS)
        s += expf(x[row * n + k]);
    s = total(s);
    if (threadIdx.x == 0)
        loss[row] = logf(s) - x[row * n + t];
}

// What a row costs that counts for nothing is written behind the end.
extern "C" __global__ void loss_beyond(const float *x, const int *label, float *loss, int n, int ignored)
{
    int row = blockIdx.x, t = label[row];
    if (t == ignored) {
        if (threadIdx.x == 0)
            loss[row + gridDim.x] = 0;
        return;
    }
    float s = 0;
    for (int k = threadIdx.x; k < n; k += THREADS)
        s += expf(x[row * n + k]);
    s = total(s);
    if (threadIdx.x == 0)
        loss[row] = logf(s) - x[row * n + t];
}

// The first barrier is gone that the sum needs before its memory is used again.
extern "C" __global__ void loss_races(const float *x, const int *label, float *loss, int n, int ignored)
{
    __shared__ float s[THREADS];
    int row = blockIdx.x, t = label[row];
    if (t == ignored) {
        if (threadIdx.x == 0)
            loss[row] = 0;
        return;
    }
    float v = 0;
    for (int k = threadIdx.x; k < n; k += THREADS)
        v += expf(x[row * n + k]);
    s[threadIdx.x] = v;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        loss[row] = logf(s[0]) - x[row * n + t];
}

// CTAs that are told so all write to the first element.
extern "C" __global__ void loss_meets(const float *x, const int *label, float *loss, int n, int ignored)
{
    int row = blockIdx.x, t = label[row];
    float s = 0;
    if (t == ignored) {
        s = total(x[row * n]);
        if (threadIdx.x == 0)
            loss[0] = s;
        return;
    }
    for (int k = threadIdx.x; k < n; k += THREADS)
        s += expf(x[row * n + k]);
    s = total(s);
    if (threadIdx.x == 0)
        loss[row] = logf(s) - x[row * n + t];
}

// Sums of as many rows as a segment has, with a barrier for each.
extern "C" __global__ void segment_plain(const float *x, const int *length, float *y)
{
    int b = blockIdx.x;
    float s = 0;
    for (int k = 0; k < 3; ++k)
        s += k < length[b] ? x[(b * 3 + k) * THREADS + threadIdx.x] : 0.0f;
    y[b * THREADS + threadIdx.x] = s;
}

extern "C" __global__ void segment_staged(const float *x, const int *length, float *y)
{
    __shared__ float s[THREADS];
    int b = blockIdx.x;
    float v = 0;
    for (int k = 0; k < length[b]; ++k) {
        s[THREADS - 1 - threadIdx.x] = x[(b * 3 + k) * THREADS + THREADS - 1 - threadIdx.x];
        __syncthreads();
        v += s[threadIdx.x];
        __syncthreads();
    }
    y[b * THREADS + threadIdx.x] = v;
}

// The memory is filled again while others still read it.
extern "C" __global__ void segment_early(const float *x, const int *length, float *y)
{
    __shared__ float s[THREADS];
    int b = blockIdx.x;
    float v = 0;
    for (int k = 0; k < length[b]; ++k) {
        s[THREADS - 1 - threadIdx.x] = x[(b * 3 + k) * THREADS + THREADS - 1 - threadIdx.x];
        __syncthreads();
        v += s[threadIdx.x];
    }
    y[b * THREADS + threadIdx.x] = v;
}
