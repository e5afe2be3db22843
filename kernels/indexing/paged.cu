// Decoding with a paged cache: page p of a sequence is page table[p] of the cache.
#define D 16
#define PAGE 4
#define T 8

// One thread for each key.
extern "C" __global__ void scores(const float* q, const float* cache, const int* table, float* out) {
    int t = threadIdx.x;
    int page = table[t / PAGE];
    const float* k = cache + (page * PAGE + t % PAGE) * D;
    float s = 0.0f;
    for (int d = 0; d < D; ++d) s += q[d] * k[d];
    out[t] = s;
}

// Four columns at a time, in 64 bits.
extern "C" __global__ void scores_vector(const float* q, const float* cache, const int* table, float* out) {
    int t = threadIdx.x;
    long long page = table[t / PAGE];
    const float4* k = (const float4*)(cache + page * (PAGE * D) + t % PAGE * D);
    float s = 0.0f;
    for (int d = 0; d < D / 4; ++d) {
        float4 v = k[d];
        s += q[4 * d] * v.x + q[4 * d + 1] * v.y + q[4 * d + 2] * v.z + q[4 * d + 3] * v.w;
    }
    out[t] = s;
}

// Wrong: the page of the next keys.
extern "C" __global__ void scores_page(const float* q, const float* cache, const int* table, float* out) {
    int t = threadIdx.x;
    int page = table[(t + 1) / PAGE % (T / PAGE)];
    const float* k = cache + (page * PAGE + t % PAGE) * D;
    float s = 0.0f;
    for (int d = 0; d < D; ++d) s += q[d] * k[d];
    out[t] = s;
}

// Wrong: the slots of a page are in another order.
extern "C" __global__ void scores_slot(const float* q, const float* cache, const int* table, float* out) {
    int t = threadIdx.x;
    int page = table[t / PAGE];
    const float* k = cache + (page * PAGE + (t + 1) % PAGE) * D;
    float s = 0.0f;
    for (int d = 0; d < D; ++d) s += q[d] * k[d];
    out[t] = s;
}
