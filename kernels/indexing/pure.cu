// Calls of functions that are defined elsewhere.
extern "C" __device__ float weight(float);
extern "C" __device__ float mixed(float, float, int);
extern "C" __device__ double wide(double, long long);
struct Pair { float a, b; };
extern "C" __device__ Pair both(float);
extern "C" __device__ int bucket(int);

extern "C" __global__ void twice(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = weight(x[i]) + weight(x[i]);
}

extern "C" __global__ void once(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = 2.0f * weight(x[i]);
}

extern "C" __global__ void shifted(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = weight(x[i]) + weight(x[(i + 1) % 4]);
}

extern "C" __global__ void product(const float* x, float* y) {
    int i = threadIdx.x;
    float v = x[i] * x[0];
    y[i] = weight(v) * weight(v);
}

extern "C" __global__ void product_kept(const float* x, float* y) {
    int i = threadIdx.x;
    float w = weight(x[0] * x[i]);
    y[i] = w * w;
}

extern "C" __global__ void mix(const float* x, float* y) {
    int i = threadIdx.x;
    float s = 0;
    for (int k = 0; k < 4; k++) s += mixed(x[i], x[k], k);
    y[i] = s;
}

extern "C" __global__ void mix_back(const float* x, float* y) {
    int i = threadIdx.x;
    float s = 0;
    for (int k = 3; k >= 0; k--) s += mixed(x[i], x[k], k);
    y[i] = s;
}

extern "C" __global__ void mix_exchanged(const float* x, float* y) {
    int i = threadIdx.x;
    float s = 0;
    for (int k = 0; k < 4; k++) s += mixed(x[k], x[i], k);
    y[i] = s;
}

extern "C" __global__ void mix_index(const float* x, float* y) {
    int i = threadIdx.x;
    float s = 0;
    for (int k = 0; k < 4; k++) s += mixed(x[i], x[k], 3 - k);
    y[i] = s;
}

extern "C" __global__ void wides(const double* x, const long long* n, double* y) {
    int i = threadIdx.x;
    y[i] = wide(x[i], n[i]) - wide(x[0], n[i]);
}

extern "C" __global__ void wides_negated(const double* x, const long long* n, double* y) {
    int i = threadIdx.x;
    y[i] = -(wide(x[0], n[i]) - wide(x[i], n[i]));
}

extern "C" __global__ void wides_upper(const double* x, const long long* n, double* y) {
    int i = threadIdx.x;
    y[i] = wide(x[i], n[i] & 0xffffffff) - wide(x[0], n[i]);
}

extern "C" __global__ void pairs(const float* x, float* y) {
    int i = threadIdx.x;
    Pair p = both(x[i]);
    y[i] = p.a * p.b;
}

extern "C" __global__ void pairs_twice(const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = both(x[i]).b * both(x[i]).a;
}

extern "C" __global__ void pairs_first(const float* x, float* y) {
    int i = threadIdx.x;
    Pair p = both(x[i]);
    y[i] = p.a * p.a;
}

extern "C" __global__ void chosen(const int* k, const float* x, float* y) {
    int i = threadIdx.x;
    y[i] = x[bucket(k[i]) & 3];
}

extern "C" __global__ void chosen_early(const int* k, const float* x, float* y) {
    int i = threadIdx.x;
    int b = bucket(k[i]);
    float v = b & 1 ? (b & 2 ? x[3] : x[1]) : (b & 2 ? x[2] : x[0]);
    y[i] = v;
}

extern "C" __global__ void chosen_wrong(const int* k, const float* x, float* y) {
    int i = threadIdx.x;
    int b = bucket(k[i]);
    y[i] = x[b & 1];
}
