// What a whole block computes: sums and maxima over shuffles, rows of any length, counts, gathers.
#define ALL 0xffffffffu

__device__ float over_warp(float v) {
    for (int step = 16; step > 0; step >>= 1) v += __shfl_xor_sync(ALL, v, step);
    return v;
}

// For blocks of whole warps.
__device__ float over_block(float v, float *part) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    v = over_warp(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? part[lane] : 0.0f;
    if (warp == 0) v = over_warp(v);
    if (threadIdx.x == 0) part[0] = v;
    __syncthreads();
    v = part[0];
#ifndef NO_LAST_BARRIER
    __syncthreads();
#endif
    return v;
}

#if defined(NORMALIZE)
extern "C" __global__ void ENTRY(const float *x, const float *scale, float *y, int n) {
    __shared__ float part[32];
    const float *from = x + (size_t)blockIdx.x * n;
    float *to = y + (size_t)blockIdx.x * n;
    float s = 0.0f, q = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += from[i];
    float mean = over_block(s, part) / n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) q += (from[i] - mean) * (from[i] - mean);
    float r = rsqrtf(over_block(q, part) / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = (from[i] - mean) * r * scale[i];
}
#elif defined(STRIDE)
extern "C" __global__ void ENTRY(const float *x, float *y, int n) {
    __shared__ float part[32];
    float s = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
    s = over_block(s, part);
#ifdef ATOMIC
    if (threadIdx.x == 0) atomicAdd(y, s);
#elif defined(ONE_PLACE)
    if (threadIdx.x == 0) *y += s;
#else
    if (threadIdx.x == 0) y[blockIdx.x] = s;
#endif
}
#elif defined(COUNTS)
extern "C" __global__ void ENTRY(const unsigned char *x, unsigned *y, int n) {
    __shared__ unsigned count[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) count[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&count[x[i]], 1u);
#ifndef NO_BARRIER
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&y[i], count[i]);
}
#elif defined(GATHER)
extern "C" __global__ void ENTRY(const int *row, const float *table, float *y, int n, int d) {
    int r = blockIdx.x;
    if (r >= n) return;
    for (int j = threadIdx.x; j < d; j += blockDim.x)
#ifdef OVERLAP
        y[(size_t)r * (d - 1) + j] = table[(size_t)row[r] * d + j] + r;
#else
        y[(size_t)r * d + j] = table[(size_t)row[r] * d + j];
#endif
}
#elif defined(TICKET)
extern "C" __global__ void ENTRY(unsigned *next, unsigned *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = atomicAdd(next, 1u);
}
#elif defined(SPACE)
extern "C" __global__ void ENTRY(const float *x, float *y, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < nx && j < ny && k < nz) y[(k * ny + j) * nx + i] = x[(k * ny + j) * nx + i];
}
#endif
