// Embedding: row i of the output is the row of the table that ids[i] names.
#define D 64

extern "C" __global__ void embedding(const int* ids, const float* table, float* out, int n) {
    int i = blockIdx.x;
    int j = threadIdx.x;
    if (i < n) out[i * D + j] = table[ids[i] * D + j];
}

// Four columns for each thread.
extern "C" __global__ void embedding_vector(const int* ids, const float* table, float* out, int n) {
    int i = blockIdx.x * 4 + threadIdx.x / 16;
    int j = threadIdx.x % 16;
    if (i < n) {
        long long id = ids[i];
        ((float4*)out)[i * 16 + j] = ((const float4*)table)[id * 16 + j];
    }
}

// The row is staged in shared memory.
extern "C" __global__ void embedding_staged(const int* ids, const float* table, float* out, int n) {
    __shared__ float row[D];
    int i = blockIdx.x;
    int j = threadIdx.x;
    row[j] = table[(long long)ids[i] * D + j];
    __syncthreads();
    out[i * D + (j ^ 1)] = row[j ^ 1];
}

// Wrong: the next row.
extern "C" __global__ void embedding_next(const int* ids, const float* table, float* out, int n) {
    int i = blockIdx.x;
    int j = threadIdx.x;
    if (i < n) out[i * D + j] = table[(ids[i] + 1) * D + j];
}

// Wrong: the row of the neighbour.
extern "C" __global__ void embedding_neighbour(const int* ids, const float* table, float* out, int n) {
    int i = blockIdx.x;
    int j = threadIdx.x;
    if (i < n) out[i * D + j] = table[ids[i ^ 1] * D + j];
}

// Wrong: the stride of a row.
extern "C" __global__ void embedding_stride(const int* ids, const float* table, float* out, int n) {
    int i = blockIdx.x;
    int j = threadIdx.x;
    if (i < n) out[i * D + j] = table[ids[i] * (D - 1) + j];
}

// Wrong: one element of the row is that of the next column.
extern "C" __global__ void embedding_column(const int* ids, const float* table, float* out, int n) {
    int i = blockIdx.x;
    int j = threadIdx.x;
    if (i < n) out[i * D + j] = table[ids[i] * D + (j == 63 ? 62 : j)];
}
