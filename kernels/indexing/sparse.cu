// Sparse products, segment sums, rotary embeddings and losses by index.
#define ROWS 4
#define H 4

// y = A x, A in rows of column numbers (CSR).
extern "C" __global__ void csr(const int* rows, const int* cols, const float* a, const float* x, float* y) {
    int r = threadIdx.x;
    float sum = 0;
    for (int k = rows[r]; k < rows[r + 1]; k++) sum += a[k] * x[cols[k]];
    y[r] = sum;
}

// One thread for each element, by atomics in shared memory; `of` is the row of an element.
extern "C" __global__ void csr_flat(const int* rows, const int* cols, const float* a, const float* x, float* y) {
    __shared__ float sums[ROWS];
    if (threadIdx.x < ROWS) sums[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x < rows[ROWS]) {
        int r = 0;
        while (rows[r + 1] <= threadIdx.x) r++;
        atomicAdd(&sums[r], a[threadIdx.x] * x[cols[threadIdx.x]]);
    }
    __syncthreads();
    if (threadIdx.x < ROWS) y[threadIdx.x] = sums[threadIdx.x];
}

// Wrong: the rows end one element late.
extern "C" __global__ void csr_late(const int* rows, const int* cols, const float* a, const float* x, float* y) {
    int r = threadIdx.x;
    float sum = 0;
    for (int k = rows[r]; k <= rows[r + 1] && k < rows[ROWS]; k++) sum += a[k] * x[cols[k]];
    y[r] = sum;
}

// Sums of segments, by atomics.
extern "C" __global__ void segments(const int* of, const float* x, float* out) {
    atomicAdd(&out[of[threadIdx.x]], x[threadIdx.x]);
}

// Segments that ascend: each thread adds what its segment has, the last one of it stores.
extern "C" __global__ void segments_sorted(const int* of, const float* x, float* out) {
    int i = threadIdx.x;
    bool last = i + 1 == blockDim.x || of[i + 1] != of[i];
    float sum = 0;
    for (int k = 0; k <= i; k++)
        if (of[k] == of[i]) sum += x[k];
    if (last) out[of[i]] += sum;
}

// Wrong: the first one stores.
extern "C" __global__ void segments_first(const int* of, const float* x, float* out) {
    int i = threadIdx.x;
    bool first = i == 0 || of[i - 1] != of[i];
    float sum = 0;
    for (int k = 0; k <= i; k++)
        if (of[k] == of[i]) sum += x[k];
    if (first) out[of[i]] += sum;
}

// Rotary embedding at positions.
extern "C" __global__ void rotary(const int* pos, const float* c, const float* s, const float* x, float* y) {
    int i = threadIdx.x / H, j = threadIdx.x % H;
    int p = pos[i];
    float a = x[i * 2 * H + j], b = x[i * 2 * H + H + j];
    y[i * 2 * H + j] = a * c[p * H + j] - b * s[p * H + j];
    y[i * 2 * H + H + j] = b * c[p * H + j] + a * s[p * H + j];
}

// Rows of both tables are staged.
extern "C" __global__ void rotary_staged(const int* pos, const float* c, const float* s, const float* x, float* y) {
    __shared__ float both[2 * 4 * H];
    int i = threadIdx.x / H, j = threadIdx.x % H;
    both[i * 2 * H + j] = c[pos[i] * H + j];
    both[i * 2 * H + H + j] = s[pos[i] * H + j];
    __syncthreads();
    float a = x[i * 2 * H + j], b = x[i * 2 * H + H + j];
    float cos = both[i * 2 * H + j], sin = both[i * 2 * H + H + j];
    y[i * 2 * H + j] = fmaf(a, cos, -(b * sin));
    y[i * 2 * H + H + j] = fmaf(a, sin, b * cos);
}

// Wrong: the position of the next token.
extern "C" __global__ void rotary_next(const int* pos, const float* c, const float* s, const float* x, float* y) {
    int i = threadIdx.x / H, j = threadIdx.x % H;
    int p = pos[i ^ 1];
    float a = x[i * 2 * H + j], b = x[i * 2 * H + H + j];
    y[i * 2 * H + j] = a * c[p * H + j] - b * s[p * H + j];
    y[i * 2 * H + H + j] = b * c[p * H + j] + a * s[p * H + j];
}

// Cross entropy of rows, with ignored labels and label smoothing.
#define V 8
#define EPS 0.125f
extern "C" __global__ void loss(const float* x, const int* label, float* out) {
    int i = threadIdx.x;
    float s = 0, all = 0;
    for (int k = 0; k < V; k++) s += expf(x[i * V + k]);
    float z = logf(s);
    for (int k = 0; k < V; k++) all += z - x[i * V + k];
    int l = label[i];
    out[i] = l == -100 ? 0.f : (1 - EPS) * (z - x[i * V + l]) + EPS / V * all;
}

extern "C" __global__ void loss_online(const float* x, const int* label, float* out) {
    int i = threadIdx.x, l = label[i];
    float m = x[i * V], s = 0, all = 0;
    for (int k = 1; k < V; k++) m = fmaxf(m, x[i * V + k]);
    for (int k = 0; k < V; k++) {
        s += expf(x[i * V + k] - m);
        all += x[i * V + k];
    }
    float z = m + logf(s);
    bool valid = l != -100;
    float own = x[i * V + (valid ? l : 0)];
    out[i] = valid ? z - (1 - EPS) * own - EPS / V * all : 0.f;
}

// Wrong: the smoothing counts one label less.
extern "C" __global__ void loss_smooth(const float* x, const int* label, float* out) {
    int i = threadIdx.x, l = label[i];
    float m = x[i * V], s = 0, all = 0;
    for (int k = 1; k < V; k++) m = fmaxf(m, x[i * V + k]);
    for (int k = 0; k < V; k++) {
        s += expf(x[i * V + k] - m);
        all += x[i * V + k];
    }
    float z = m + logf(s);
    bool valid = l != -100;
    float own = x[i * V + (valid ? l : 0)];
    out[i] = valid ? z - (1 - EPS) * own - EPS / (V - 1) * all : 0.f;
}
