// Guards of indices: what is out of range counts as nothing, or as the first element.
#define K 16

// A negative index is padding.
extern "C" __global__ void padded(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    out[i] = k[i] < 0 ? 0.f : t[k[i]];
}

// The same without a branch: the first element is read and dropped.
extern "C" __global__ void padded_select(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    bool valid = k[i] >= 0;
    int at = valid ? k[i] : 0;
    float v = t[at];
    out[i] = valid ? v : 0.f;
}

// Clamped from below.
extern "C" __global__ void padded_clamped(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    float v = t[max(k[i], 0)];
    out[i] = k[i] < 0 ? 0.f : v;
}

// Wrong: the guard lets the index past the last element in.
extern "C" __global__ void bounded(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    out[i] = k[i] >= 0 && k[i] < K ? t[k[i]] : 0.f;
}
extern "C" __global__ void bounded_over(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    out[i] = k[i] >= 0 && k[i] <= K ? t[k[i]] : 0.f;
}
// The same by unsigned comparison.
extern "C" __global__ void bounded_unsigned(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    out[i] = (unsigned)k[i] < K ? t[k[i]] : 0.f;
}
// Clamped to both ends, and dropped.
extern "C" __global__ void bounded_clamped(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    float v = t[min(max(k[i], 0), K - 1)];
    out[i] = k[i] < 0 || k[i] >= K ? 0.f : v;
}
// Wrong: clamped to one past the end.
extern "C" __global__ void bounded_far(const int* k, const float* t, float* out) {
    int i = threadIdx.x;
    float v = t[min(max(k[i], 0), K)];
    out[i] = k[i] < 0 || k[i] >= K ? 0.f : v;
}
