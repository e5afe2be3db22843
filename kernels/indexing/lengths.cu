// Attention over lengths that are data: sequences of a batch one after the other, and a cache of pages of two rows.
#include <math.h>
#define KERNEL extern "C" __global__ void

// One thread a token looks for its sequence.
KERNEL sequences(const float* q, const float* k, const float* v, const int* starts, float* o) {
    int t = threadIdx.x, b = 0;
    while (t >= starts[b + 1]) b++;
    int s = starts[b], e = starts[b + 1];
    float m = -INFINITY, z = 0, a[4] = {0, 0, 0, 0};
    for (int j = s; j < e; j++) {
        float d = 0;
        for (int c = 0; c < 4; c++) d += q[t * 4 + c] * k[j * 4 + c];
        m = fmaxf(m, d * 0.5f);
    }
    for (int j = s; j < e; j++) {
        float d = 0;
        for (int c = 0; c < 4; c++) d += q[t * 4 + c] * k[j * 4 + c];
        float p = expf(d * 0.5f - m);
        z += p;
        for (int c = 0; c < 4; c++) a[c] += p * v[j * 4 + c];
    }
    for (int c = 0; c < 4; c++) o[t * 4 + c] = a[c] / z;
}

// One CTA a sequence, with a running maximum.
template <bool RESCALED>
__device__ void online(const float* q, const float* k, const float* v, const int* starts, float* o) {
    int s = starts[blockIdx.x], e = starts[blockIdx.x + 1];
    for (int t = s + threadIdx.x; t < e; t += blockDim.x) {
        float m = -INFINITY, z = 0, a[4] = {0, 0, 0, 0};
        for (int j = s; j < e; j++) {
            float d = 0;
            for (int c = 0; c < 4; c++) d += q[t * 4 + c] * k[j * 4 + c];
            d *= 0.5f;
            float n = fmaxf(m, d), r = __expf(m - n), p = __expf(d - n);
            z = RESCALED ? z * r + p : z + p;
            for (int c = 0; c < 4; c++) a[c] = a[c] * r + p * v[j * 4 + c];
            m = n;
        }
        for (int c = 0; c < 4; c++) o[t * 4 + c] = a[c] / z;
    }
}
KERNEL sequences_online(const float* q, const float* k, const float* v, const int* starts, float* o) {
    online<true>(q, k, v, starts, o);
}
KERNEL sequences_scale(const float* q, const float* k, const float* v, const int* starts, float* o) {
    online<false>(q, k, v, starts, o);
}

// One query, a channel a thread; how many rows there are is in memory.
KERNEL pages(const float* q, const float* k, const float* v, const int* table, const int* length, float* o) {
    int n = length[0], c = threadIdx.x;
    float m = -INFINITY, z = 0, a = 0;
    for (int j = 0; j < n; j++) {
        float d = 0;
        for (int x = 0; x < 4; x++) d += q[x] * k[(table[j / 2] * 2 + j % 2) * 4 + x];
        m = fmaxf(m, d);
    }
    for (int j = 0; j < n; j++) {
        int row = table[j / 2] * 2 + j % 2;
        float d = 0;
        for (int x = 0; x < 4; x++) d += q[x] * k[row * 4 + x];
        float w = expf(d - m);
        z += w;
        a += w * v[row * 4 + c];
    }
    o[c] = a / z;
}
template <int LESS>
__device__ void running(const float* q, const float* k, const float* v, const int* table, int n, float* o) {
    int c = threadIdx.x;
    float m = -INFINITY, z = 0, a = 0;
    for (int j = 0; j + LESS < n; j++) {
        int row = table[j / 2] * 2 + j % 2;
        float d = 0;
        for (int x = 0; x < 4; x++) d += q[x] * k[row * 4 + x];
        float g = fmaxf(m, d), r = expf(m - g), w = expf(d - g);
        z = z * r + w;
        a = a * r + w * v[row * 4 + c];
        m = g;
    }
    o[c] = a / z;
}
KERNEL pages_online(const float* q, const float* k, const float* v, const int* table, const int* length, float* o) {
    running<0>(q, k, v, table, length[0], o);
}
KERNEL pages_last(const float* q, const float* k, const float* v, const int* table, const int* length, float* o) {
    running<1>(q, k, v, table, length[0], o);
}
