// Labels of 64 bits, as frameworks have them, and the largest scores of a row.
#include <math.h>
#define KERNEL extern "C" __global__ void

// Cross entropy with smoothed labels; rows with the label -100 count as 0.
KERNEL smoothed(const float* x, const long long* labels, float* y) {
    int t = threadIdx.x;
    long long c = labels[t];
    if (c == -100) {
        y[t] = 0;
        return;
    }
    float m = -INFINITY, s = 0, u = 0;
    for (int i = 0; i < 8; i++) m = fmaxf(m, x[t * 8 + i]);
    for (int i = 0; i < 8; i++) {
        s += expf(x[t * 8 + i] - m);
        u += x[t * 8 + i];
    }
    float total = m + logf(s);
    y[t] = 0.9f * (total - x[t * 8 + c]) + 0.1f * (total - u / 8.f);
}

// The label is read as an int.
template <int IGNORED>
__device__ void by_warp(const float* x, const long long* labels, float* y) {
    int t = blockIdx.x, i = threadIdx.x;
    float v = x[t * 8 + i], m = v;
    for (int o = 4; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xff, m, o));
    float s = __expf(v - m), u = v;
    for (int o = 4; o; o >>= 1) {
        s += __shfl_xor_sync(0xff, s, o);
        u += __shfl_xor_sync(0xff, u, o);
    }
    if (i == 0) {
        int c = (int)labels[t];
        float r = 0;
        if (c != IGNORED) r = __logf(s) + m - 0.9f * x[t * 8 + c] - 0.0125f * u;
        y[t] = r;
    }
}
KERNEL smoothed_int(const float* x, const long long* labels, float* y) { by_warp<-100>(x, labels, y); }
KERNEL smoothed_first(const float* x, const long long* labels, float* y) { by_warp<0>(x, labels, y); }

// The two experts of a token with the largest scores, and their weights; of equal scores the first.
KERNEL two(const float* g, float* w, int* ids) {
    const float* r = g + threadIdx.x * 4;
    int a = 0;
    for (int e = 1; e < 4; e++)
        if (r[e] > r[a]) a = e;
    int b = a == 0 ? 1 : 0;
    for (int e = 0; e < 4; e++)
        if (e != a && r[e] > r[b]) b = e;
    float x = expf(r[a] - r[a]), y = expf(r[b] - r[a]);
    w[threadIdx.x * 2] = x / (x + y);
    w[threadIdx.x * 2 + 1] = y / (x + y);
    ids[threadIdx.x * 2] = a;
    ids[threadIdx.x * 2 + 1] = b;
}
template <bool LAST>
__device__ void insert(const float* g, float* w, int* ids) {
    float first = -INFINITY, second = -INFINITY;
    int i = 0, j = 0;
    for (int e = 0; e < 4; e++) {
        float x = g[threadIdx.x * 4 + e];
        if (x > first) {
            second = first;
            j = i;
            first = x;
            i = e;
        } else if (LAST ? x >= second : x > second) {
            second = x;
            j = e;
        }
    }
    float p = 1.f / (1.f + expf(second - first));
    w[threadIdx.x * 2] = p;
    w[threadIdx.x * 2 + 1] = 1.f - p;
    ids[threadIdx.x * 2] = i;
    ids[threadIdx.x * 2 + 1] = j;
}
KERNEL two_inserted(const float* g, float* w, int* ids) { insert<false>(g, w, ids); }
KERNEL two_last(const float* g, float* w, int* ids) { insert<true>(g, w, ids); }
