// Writes at places that data choose: rows put where ids say, gradients of an embedding, histograms, segment sums.
#define D 4
#define N 6
#define ROWS 8
#define BINS 16

// Row i of the input goes to row ids[i].
extern "C" __global__ void put(const int* ids, const float* x, float* out) {
    int i = threadIdx.x / D, j = threadIdx.x % D;
    out[(long long)ids[i] * D + j] = x[i * D + j];
}

// One thread for each column, the last row first.
extern "C" __global__ void put_loop(const int* ids, const float* x, float* out) {
    if (threadIdx.x < D)
        for (int i = N - 1; i >= 0; i--) out[(long long)ids[i] * D + threadIdx.x] = x[i * D + threadIdx.x];
}

// Four columns at once.
extern "C" __global__ void put_vector(const int* ids, const float4* x, float4* out) {
    if (threadIdx.x < N) out[ids[threadIdx.x]] = x[threadIdx.x];
}

// For each element of the output, the row that goes there.
extern "C" __global__ void put_pull(const int* ids, const float* x, float* out) {
    for (int e = threadIdx.x; e < ROWS * D; e += blockDim.x) {
        float v = out[e];
        for (int i = 0; i < N; i++)
            if (ids[i] == e / D) v = x[i * D + e % D];
        out[e] = v;
    }
}

// Wrong: the next column.
extern "C" __global__ void put_column(const int* ids, const float* x, float* out) {
    int i = threadIdx.x / D, j = threadIdx.x % D;
    out[(long long)ids[i] * D + (j ^ 1)] = x[i * D + j];
}

// Wrong: one row further.
extern "C" __global__ void put_next(const int* ids, const float* x, float* out) {
    int i = threadIdx.x / D, j = threadIdx.x % D;
    out[((long long)ids[i] + 1) * D + j] = x[i * D + j];
}

// Gradient of an embedding by atomics.
extern "C" __global__ void grad(const int* ids, const float* g, float* table) {
    int i = threadIdx.x / D, j = threadIdx.x % D;
    atomicAdd(&table[(long long)ids[i] * D + j], g[i * D + j]);
}

// The same without atomics: each element of the table looks for its rows.
extern "C" __global__ void grad_pull(const int* ids, const float* g, float* table) {
    for (int e = threadIdx.x; e < ROWS * D; e += blockDim.x) {
        float sum = 0;
        for (int i = 0; i < N; i++)
            if (ids[i] == e / D) sum += g[i * D + e % D];
        table[e] += sum;
    }
}

// Wrong: not every row.
extern "C" __global__ void grad_short(const int* ids, const float* g, float* table) {
    for (int e = threadIdx.x; e < ROWS * D; e += blockDim.x) {
        float sum = 0;
        for (int i = 0; i < N - 1; i++)
            if (ids[i] == e / D) sum += g[i * D + e % D];
        table[e] += sum;
    }
}

// Wrong: rows that meet lose updates.
extern "C" __global__ void grad_plain(const int* ids, const float* g, float* table) {
    int i = threadIdx.x / D, j = threadIdx.x % D;
    table[(long long)ids[i] * D + j] += g[i * D + j];
}

// How many elements are in each bin.
extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins) {
    atomicAdd(&bins[x[threadIdx.x]], 1u);
}

// Counted in shared memory first.
extern "C" __global__ void histogram_shared(const unsigned char* x, unsigned* bins) {
    __shared__ unsigned own[BINS];
    if (threadIdx.x < BINS) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[x[threadIdx.x]], 1u);
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Wrong: no barrier before the counts are added.
extern "C" __global__ void histogram_early(const unsigned char* x, unsigned* bins) {
    __shared__ unsigned own[BINS];
    if (threadIdx.x < BINS) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[x[threadIdx.x]], 1u);
    if (threadIdx.x < BINS) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Wrong: the last bin is forgotten.
extern "C" __global__ void histogram_last(const unsigned char* x, unsigned* bins) {
    __shared__ unsigned own[BINS];
    if (threadIdx.x < BINS) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[x[threadIdx.x]], 1u);
    __syncthreads();
    if (threadIdx.x < BINS - 1) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Tokens to the places of their experts and back.
extern "C" __global__ void permute(const int* places, const float* x, float* out) {
    __shared__ float sorted[N * D];
    int i = threadIdx.x / D, j = threadIdx.x % D;
    sorted[places[i] * D + j] = 2 * x[i * D + j];
    __syncthreads();
    out[i * D + j] = sorted[places[i] * D + j];
}

// There and back is nothing.
extern "C" __global__ void permute_none(const int* places, const float* x, float* out) {
    out[threadIdx.x] = 2 * x[threadIdx.x];
}

// Wrong: back to the neighbour.
extern "C" __global__ void permute_other(const int* places, const float* x, float* out) {
    __shared__ float sorted[N * D];
    int i = threadIdx.x / D, j = threadIdx.x % D;
    sorted[places[i] * D + j] = 2 * x[i * D + j];
    __syncthreads();
    out[i * D + j] = sorted[places[i ^ 1] * D + j];
}

// One CTA for each row.
extern "C" __global__ void put_grid(const int* ids, const float* x, float* out) {
    int i = blockIdx.x, j = threadIdx.x;
    out[(long long)ids[i] * D + j] = x[i * D + j];
}

// Wrong: the row of the next id.
extern "C" __global__ void put_grid_next(const int* ids, const float* x, float* out) {
    int i = blockIdx.x, j = threadIdx.x;
    out[(long long)ids[(i + 1) % N] * D + j] = x[i * D + j];
}

// Gradient of an embedding, one CTA for each row.
extern "C" __global__ void grad_grid(const int* ids, const float* g, float* table) {
    int i = blockIdx.x, j = threadIdx.x;
    atomicAdd(&table[(long long)ids[i] * D + j], g[i * D + j]);
}

// Wrong without distinct ids: CTAs that meet lose updates.
extern "C" __global__ void grad_grid_plain(const int* ids, const float* g, float* table) {
    int i = blockIdx.x, j = threadIdx.x;
    table[(long long)ids[i] * D + j] += g[i * D + j];
}
